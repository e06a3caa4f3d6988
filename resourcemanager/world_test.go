package resourcemanager

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/rpc/master"
	"github.com/heddle-project/heddle/resourcemanager/rpc/tracker"
	"github.com/heddle-project/heddle/sim/rerun"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// TestMain finds goroutines that outlive the daemons of the tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of a test; nothing should come near it.
const patience = 60 * time.Second

// operator runs the daemons of the tests and is therefore their administrator.
const operator = "yarn"

// world is a running daemon, its configuration, and whoever calls it.
type world struct {
	t    testing.TB
	d    *Daemon
	dir  string // of capacity-scheduler.xml
	mu   sync.Mutex
	site map[string]string // yarn-site.xml, as the next load will find it
	log  *journalLog

	zk      *zookeepertest.Server // nil: there is none
	session zookeeper.Conn        // the last one with it

	records string     // directory of recordings
	audit   *audit.Log // nil where nobody looks at it
	audited journalLog
}

// term is the one that there is.
func (w *world) term() *term { return w.d.term.Load() }

// site is a configuration on free loopback ports.
func site(changes ...string) map[string]string {
	s := map[string]string{
		"hadoop.user.group.static.mapping.overrides": "alice=users,staff;bob=users;carol=guests;oozie=;yarn=;dr.who=;",
		"yarn.scheduler.minimum-allocation-mb":       "256",
	}
	for _, p := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		s["yarn.resourcemanager."+p] = "127.0.0.1:0"
	}
	for i := 0; i < len(changes); i += 2 {
		s[changes[i]] = changes[i+1]
	}
	return s
}

// twoQueues is a queue file with the leaves default and other.
const twoQueues = `
	root.queues                              default,other
	root.default.capacity                    50
	root.default.maximum-capacity            100
	root.default.user-limit-factor           10
	root.other.capacity                      50
	root.other.maximum-capacity              100
	maximum-am-resource-percent              1`

// queueFile is a capacity-scheduler.xml of lines that hold a name and a value.
func queueFile(lines string) string {
	values := map[string]string{}
	for line := range strings.Lines(lines) {
		if f := strings.Fields(line); len(f) >= 2 {
			values["yarn.scheduler.capacity."+f[0]] = strings.Replace(strings.Join(f[1:], " "), "NOBODY", " ", 1)
		}
	}
	return xml(values)
}

func xml(values map[string]string) string {
	var b strings.Builder
	b.WriteString("<configuration>")
	for name, value := range values {
		fmt.Fprintf(&b, "<property><name>%s</name><value>%s</value></property>", name, value)
	}
	return b.String() + "</configuration>"
}

func newWorld(t testing.TB, queues string, changes ...string) *world {
	t.Helper()
	return newWorldIn(t, nil, queues, changes...)
}

// newWorldIn has a world use a ZooKeeper in memory.
func newWorldIn(t testing.TB, zk *zookeepertest.Server, queues string, changes ...string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), records: t.TempDir(), site: site(append([]string{"yarn.resourcemanager.heddle.black-box.record", "true"}, changes...)...), log: &journalLog{}, zk: zk}
	w.audit = audit.New(&w.audited, audit.Options{Name: "resourcemanager.RMAuditLogger", Permissions: true})
	t.Cleanup(w.audit.Close)
	w.writeQueues(queueFile(queues))
	t.Cleanup(w.rerun)
	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	return w
}

// rerun plays again what every daemon of the test has done, which comes to the same state.
func (w *world) rerun() {
	files, err := filepath.Glob(filepath.Join(w.records, "*.blackbox"))
	if err != nil || len(files) == 0 && w.wasActive() {
		w.t.Errorf("no recordings: %v", err)
	}
	for _, file := range files {
		var out bytes.Buffer
		if code := rerun.Main([]string{file}, &out, &out); code != 0 {
			w.t.Errorf("%s is played again with %d\n%s", file, code, out.String())
		}
	}
}

// wasActive tells whether a daemon of the test has been the active one. A term that ends while it begins does not count: it may end
// before its commands are recorded.
func (w *world) wasActive() bool {
	if w.d != nil && w.d.settings.HA.Enabled {
		return strings.Contains(w.log.String(), "this ResourceManager is active")
	}
	return w.d == nil || w.d.latest != 0
}

func (w *world) start() (*Daemon, error) {
	o := Options{Recordings: w.records, Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil)), Audit: w.audit}
	if w.zk == nil {
		return Start(w.t.Context(), o)
	}
	d := newDaemon(o)
	d.openZooKeeper = func(o zookeeper.Options) (zookeeper.Conn, error) {
		c, err := w.zk.Open(o)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.session = c
		return c, err
	}
	if err := d.start(w.t.Context()); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

func (w *world) writeQueues(text string) {
	if err := os.WriteFile(filepath.Join(w.dir, "capacity-scheduler.xml"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// load reads the configuration as it is now; only yarn-site.xml exists.
func (w *world) load() (*conf.Properties, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := []byte(xml(w.site))
	return conf.Load(conf.Options{Dir: "memory", Read: func(path string) ([]byte, error) {
		if filepath.Base(path) == "yarn-site.xml" {
			return text, nil
		}
		return nil, fs.ErrNotExist
	}})
}

func (w *world) set(name, value string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site[name] = value
}

// journalLog keeps what the daemon logs.
type journalLog struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *journalLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *journalLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// The ports, in the order in which the daemon opens them.
const (
	adminPort = iota
	clientPort
	masterPort
	trackerPort
)

func (w *world) address(port int) string { return w.d.servers[port].Addr().String() }

// caller is somebody's connection to one protocol.
type caller struct {
	t        testing.TB
	client   *ipc.Client
	address  string
	protocol string
}

func (w *world) as(user string) caller { return w.caller(clientPort, client.Name, user, "") }

func (w *world) admin(user string) caller { return w.caller(adminPort, admin.Name, user, "") }

func (w *world) caller(port int, protocol, user, realUser string) caller {
	return w.login(port, protocol, ipc.Credentials{User: user, RealUser: realUser})
}

func (w *world) login(port int, protocol string, who ipc.Credentials) caller {
	c := ipc.NewClient(ipc.ClientConfig{Credentials: who, Timeout: patience})
	w.t.Cleanup(func() { c.Close() })
	return caller{w.t, c, w.address(port), protocol}
}

// raw makes a call and gives the answer's bytes.
func (c caller) raw(method string, request proto.Message) ([]byte, error) {
	c.t.Helper()
	body, err := proto.Marshal(request)
	if err != nil {
		c.t.Fatal(err)
	}
	return c.client.Call(context.Background(), c.address, c.protocol, method, body)
}

// try makes a call and reads the answer.
func try[R any, P interface {
	*R
	proto.Message
}](c caller, method string, request proto.Message, _ P) (P, error) {
	c.t.Helper()
	b, err := c.raw(method, request)
	if err != nil {
		return nil, err
	}
	out := P(new(R))
	if err := proto.Unmarshal(b, out); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return out, nil
}

// must is try for calls that cannot fail.
func must[R any, P interface {
	*R
	proto.Message
}](c caller, method string, request proto.Message, kind P) P {
	c.t.Helper()
	out, err := try(c, method, request, kind)
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return out
}

// refused checks that a call fails with that exception and a text that holds want.
func refused(t testing.TB, err error, class, want string) {
	t.Helper()
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) {
		t.Fatalf("want %s, got %v", class, err)
	}
	if remote.Class != class || !strings.Contains(remote.Message, want) {
		t.Fatalf("want %s with %q\n got %s: %s", class, want, remote.Class, remote.Message)
	}
}

// until waits for something that happens beside the test.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// newID takes the next application id.
func (c caller) newID() *pb.ApplicationId {
	return must(c, "getNewApplication", &pb.GetNewApplicationRequest{}, &pb.GetNewApplicationResponse{}).ApplicationId
}

// submission is a small managed application.
func submission(id *pb.ApplicationId, changes ...func(*pb.ApplicationSubmissionContext)) *pb.SubmitApplicationRequest {
	m := &pb.ApplicationSubmissionContext{
		ApplicationId: id, ApplicationName: proto.String("sleep"), Queue: proto.String("default"), Resource: size(512, 1),
		AmContainerSpec: &pb.ContainerLaunchContext{Command: []string{"true"}},
	}
	for _, change := range changes {
		change(m)
	}
	return &pb.SubmitApplicationRequest{ApplicationSubmissionContext: m}
}

func size(memory int64, cores int32) *pb.Resource {
	return &pb.Resource{Memory: &memory, VirtualCores: &cores}
}

// submit hands an application in and gives its id.
func (c caller) submit(changes ...func(*pb.ApplicationSubmissionContext)) yarn.ApplicationID {
	c.t.Helper()
	id := c.newID()
	must(c, "submitApplication", submission(id, changes...), &pb.SubmitApplicationResponse{})
	return convert.ApplicationID(id)
}

func (c caller) report(id yarn.ApplicationID) *pb.ApplicationReport {
	c.t.Helper()
	return must(c, "getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: convert.ToApplicationID(id)}, &pb.GetApplicationReportResponse{}).ApplicationReport
}

// reaches waits until the application is in a state, and gives its report then.
func (c caller) reaches(id yarn.ApplicationID, state pb.YarnApplicationState) (r *pb.ApplicationReport) {
	c.t.Helper()
	until(c.t, fmt.Sprintf("%s in %s", id, state), func() bool {
		r = c.report(id)
		return r.GetYarnApplicationState() == state
	})
	return r
}

func unmanaged(m *pb.ApplicationSubmissionContext) { m.UnmanagedAm = proto.Bool(true) }

func inQueue(q string) func(*pb.ApplicationSubmissionContext) {
	return func(m *pb.ApplicationSubmissionContext) { m.Queue = &q }
}

// names of protocols and exceptions, for short
const (
	trackerName   = tracker.Name
	masterName    = master.Name
	yarnException = serve.YarnException
)
