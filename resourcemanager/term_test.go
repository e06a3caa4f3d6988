package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// inFile has a world keep its applications.
func inFile(t testing.TB) []string {
	return []string{"yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
		"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store")}
}

// leads begins a term.
func (w *world) leads() {
	w.t.Helper()
	if err := w.d.lead(w.t.Context(), false); err != nil {
		w.t.Fatal(err)
	}
}

// patiently makes a call again as long as it is told that there is no active ResourceManager, as Hadoop's clients do, and
// counts how often it was.
func (c caller) patiently(told *atomic.Int64, method string, request, answer proto.Message) error {
	for end := time.Now().Add(patience); ; told.Add(1) {
		got, err := c.raw(method, request)
		var remote *ipc.RemoteError
		if err == nil {
			return proto.Unmarshal(got, answer)
		}
		if !errors.As(err, &remote) || remote.Class != ipc.ClassStandby || time.Now().After(end) {
			return fmt.Errorf("%s: %w", method, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Terms come and go while clients submit: what was acknowledged in one term is there in all later ones, no id is given
// twice, and no connection is lost.
func TestTermsUnderLoad(t *testing.T) {
	w := newWorld(t, twoQueues, inFile(t)...)
	const users, rounds = 4, 8
	var crowd sync.WaitGroup
	var done atomic.Bool
	var told, calls atomic.Int64
	acknowledged := make([][]*pb.ApplicationId, users)
	for i := range users {
		c := w.as("alice")
		crowd.Go(func() {
			for !done.Load() {
				fresh := &pb.GetNewApplicationResponse{}
				err := c.patiently(&told, "getNewApplication", &pb.GetNewApplicationRequest{}, fresh)
				if err == nil {
					err = c.patiently(&told, "submitApplication", submission(fresh.ApplicationId), &pb.SubmitApplicationResponse{})
				}
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged[i] = append(acknowledged[i], fresh.ApplicationId)
				calls.Add(1)
			}
		})
	}
	stamps := map[int64]bool{}
	for range rounds {
		stamps[w.term().started] = true
		before := calls.Load()
		until(t, "submissions", func() bool { return calls.Load() > before+20 })
		w.d.stepDown()
		before = told.Load()
		until(t, "clients that are told so", func() bool { return told.Load() > before })
		w.leads()
	}
	done.Store(true)
	crowd.Wait()
	alice := w.as("alice")
	seen := map[yarn.ApplicationID]bool{}
	for _, list := range acknowledged {
		for _, p := range list {
			id := convert.ApplicationID(p)
			if seen[id] {
				t.Errorf("%s was given twice", id)
			}
			seen[id] = true
			if s := alice.report(id).GetYarnApplicationState(); s != pb.YarnApplicationState_ACCEPTED {
				t.Errorf("%s is %s", id, s)
			}
		}
	}
	if len(stamps) != rounds {
		t.Errorf("%d terms had %d cluster timestamps", rounds, len(stamps))
	}
	if s := w.d.servers[clientPort].Stats(); s.Accepted != users+1 || s.Panics+s.AnsweredTwice != 0 {
		t.Errorf("the port of clients: %+v, want %d connections", s, users+1)
	}
	t.Logf("%d applications; %d calls were told that there is no term", len(seen), told.Load())
}

// What runs goes on in the next term, over the connections that there are.
func TestTermsKeepWhatRuns(t *testing.T) {
	w := newWorld(t, twoQueues, inFile(t)...)
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit()
	m := n.launched()
	m.register()
	got, _ := m.gets(n, 1, asks(1, 512))
	container := convert.ContainerID(got[0].Id)
	for range 3 {
		w.d.stepDown()
		_, err := n.tracker.raw("nodeHeartbeat", n.beats())
		refused(t, err, ipc.ClassStandby, "not active")
		_, err = m.raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
		refused(t, err, ipc.ClassStandby, "not active")
		w.leads()
		if r := n.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC {
			t.Fatalf("a node of an earlier term was told %v, want RESYNC", r.GetNodeAction())
		}
		n.register(8192, 8, reported(m.token.ID, m.token.Resource.MemoryMB()), reported(container, 512))
		_, err = m.raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
		refused(t, err, serve.NotRegistered, "re-register")
		m.register()
		alice.reaches(id, pb.YarnApplicationState_RUNNING)
		if u := alice.report(id).GetAppResource_Usage(); u.GetNumUsedContainers() != 2 {
			t.Errorf("the application holds %v, want its master and one container", u)
		}
	}
	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	n.finish(m.token.ID, 0)
	n.beat()
	alice.reaches(id, pb.YarnApplicationState_FINISHED)
}

// While there is no term the ports answer as a standby's: calls with the exception that makes clients look for another
// ResourceManager, pages with 503 but for those about the daemon itself.
func TestStandby(t *testing.T) {
	w := newWorld(t, twoQueues, inFile(t)...)
	alice, root, ha := w.as("alice"), w.admin(operator), w.caller(adminPort, admin.HAName, operator, "")
	id := alice.submit(unmanaged)
	login := w.term().grants.amrm.Issue(yarn.AttemptID{Application: id, Attempt: 1})
	status := func(want pb.HAServiceState) {
		t.Helper()
		if r := must(ha, "getServiceStatus", &pb.GetServiceStatusRequest{}, &pb.GetServiceStatusResponse{}); r.GetState() != want {
			t.Errorf("status %v, want %v", r.GetState(), want)
		}
	}
	status(pb.HAServiceState_ACTIVE)
	info := w.page("/ws/v1/cluster/info", 200)
	w.d.stepDown()
	status(pb.HAServiceState_STANDBY)
	for _, c := range []struct {
		who     caller
		method  string
		request proto.Message
	}{
		{alice, "getNewApplication", &pb.GetNewApplicationRequest{}},
		{alice, "getApplications", &pb.GetApplicationsRequest{}},
		{alice, "noMethod", &pb.GetApplicationsRequest{}},
		{root, "refreshQueues", &pb.RefreshQueuesRequest{}},
		{w.caller(trackerPort, trackerName, operator, ""), "registerNodeManager", &pb.RegisterNodeManagerRequest{}},
		{w.master(login), "allocate", &pb.AllocateRequest{}}, // who cannot log in: nobody knows the token
	} {
		_, err := c.who.raw(c.method, c.request)
		refused(t, err, ipc.ClassStandby, "not active")
	}
	must(ha, "monitorHealth", &pb.MonitorHealthRequest{}, &pb.MonitorHealthResponse{})
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/ws/v1/cluster/info":                       {200, `"haState":"STANDBY"`},
		"/ws/v1/cluster/apps":                       {503, "not active"},
		"/ws/v1/cluster/apps/" + id.String():        {503, "not active"},
		"/ws/v1/cluster/scheduler":                  {503, "not active"},
		"/ws/v1/cluster/metrics":                    {503, "not active"},
		"/ws/v1/cluster/queues/root.default/access": {503, "not active"},
		"/cluster":                    {503, "not active"},
		"/cluster/cluster":            {200, "STANDBY"},
		"/cluster/scheduler":          {503, "not active"},
		"/isActive":                   {405, ""},
		"/conf":                       {200, "yarn.resourcemanager.recovery.enabled"},
		"/jmx":                        {200, `"standby"`},
		"/proxy/" + id.String() + "/": {503, ""},
		"/ws/v1/cluster/recording?user.name=" + operator: {503, "not active"},
	} {
		if got := w.page(path, want.status); !strings.Contains(got, want.text) {
			t.Errorf("%s lacks %q:\n%s", path, want.text, got)
		}
	}
	r, err := http.NewRequest(http.MethodPut, "http://"+w.d.webAddr+"/ws/v1/cluster/apps/"+id.String()+"/state?user.name=alice", strings.NewReader(`{"state":"KILLED"}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a change is answered with %d\n%s", answer.StatusCode, body)
	}
	w.d.Reread(t.Context())
	w.leads()
	status(pb.HAServiceState_ACTIVE)
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	if _, err := w.master(login).raw("allocate", &pb.AllocateRequest{}); err == nil || strings.Contains(err.Error(), "not active") {
		t.Errorf("a master that has never registered: %v", err)
	}
	if again := w.page("/ws/v1/cluster/info", 200); again == info || !strings.Contains(again, `"haState":"ACTIVE"`) {
		t.Errorf("of the next term:\n%s\nof the first:\n%s", again, info)
	}
}

// The next term has the files as they are when it begins, and the lists and rights that were read without one.
func TestRereadWithoutTerm(t *testing.T) {
	exclude := filepath.Join(t.TempDir(), "exclude")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.nodes.exclude-path", exclude)
	w.d.stepDown()
	if err := os.WriteFile(exclude, []byte("127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.set("yarn.admin.acl", "alice")
	w.set("yarn.scheduler.minimum-allocation-mb", "512")
	w.writeQueues(queueFile(strings.Replace(twoQueues, "default,other", "default,third", 1) + "\nroot.third.capacity 50"))
	w.d.Reread(t.Context())
	w.leads()
	must(w.admin("alice"), "refreshNodes", &pb.RefreshNodesRequest{}, &pb.RefreshNodesResponse{})
	if r := w.unregistered().register(1024, 1); r.GetNodeAction() != pb.NodeAction_SHUTDOWN {
		t.Errorf("an excluded node is told %v", r.GetNodeAction())
	}
	w.as("bob").submit(inQueue("third"))
	if least := w.term().access.schedule.Load().Cluster.MinAllocation.MemoryMB(); least != 512 {
		t.Errorf("the least container has %d MiB, want the 512 that the file says", least)
	}
}

// open counts the files of this process.
func open(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// running counts goroutines; those that are ending get a moment.
func running(most int) bool {
	runtime.Gosched()
	return runtime.NumGoroutine() <= most
}

// A term leaves nothing behind: no goroutine, no file.
func TestTermsLeaveNothing(t *testing.T) {
	w := newWorld(t, twoQueues, append(inFile(t), "yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "file:"+t.TempDir())...)
	w.d.stepDown()
	files, routines := open(t), runtime.NumGoroutine()
	for range 10 {
		w.leads()
		w.d.stepDown()
	}
	until(t, "the goroutines of terms to end", func() bool { return running(routines) })
	if n := open(t); n > files {
		t.Errorf("%d files are open, %d were before", n, files)
	}
	w.leads()
}

// Each step may be asked for again, and none of them after the end begins anything.
func TestStopAgain(t *testing.T) {
	w := newWorld(t, twoQueues, inFile(t)...)
	w.leads() // it does already
	w.d.stepDown()
	w.d.stepDown()
	w.leads()
	var all sync.WaitGroup
	for range 4 {
		all.Go(w.d.Stop)
		all.Go(w.d.stepDown)
	}
	all.Wait()
	if err := w.d.lead(t.Context(), false); !errors.Is(err, errStopped) {
		t.Errorf("a stopped daemon leads: %v", err)
	}
}

// faulty is a world whose store fails by a script. Its daemon has not been started.
func faulty(t *testing.T, script string, changes ...string) (w *world, faults func() *storetest.Faults) {
	t.Helper()
	var last atomic.Pointer[storetest.Faults]
	w = &world{t: t, dir: t.TempDir(), records: t.TempDir(), site: site(append(inFile(t), changes...)...), log: &journalLog{}}
	w.writeQueues(queueFile(twoQueues))
	w.d = newDaemon(Options{Recordings: w.records, Load: w.load, Dir: w.dir, User: operator, Log: slog.New(slog.NewTextHandler(w.log, nil))})
	w.d.openBolt = func(path string, o bolt.Options) (bolt.Store, error) {
		s, err := bolt.Open(path, o)
		if err != nil {
			return nil, err
		}
		f, err := storetest.NewFaults(s, script)
		last.Store(f)
		return struct {
			store.Store
			store.Contexts
		}{f, s}, err
	}
	t.Cleanup(w.d.Stop)
	return w, last.Load
}

// A term that is beginning is given up when its time is over, or the daemon's, and leaves nothing.
func TestStopWhileStarting(t *testing.T) {
	for name, ends := range map[string]func(*Daemon, context.CancelFunc){
		"the start is called off": func(_ *Daemon, cancel context.CancelFunc) { cancel() },
		"the daemon is stopped":   func(d *Daemon, _ context.CancelFunc) { d.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			w, faults := faulty(t, "load * hold")
			files, routines := open(t), runtime.NumGoroutine()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed := make(chan error, 1)
			go func() { failed <- w.d.start(ctx) }()
			until(t, "the store to be loaded", func() bool { f := faults(); return f != nil && f.Calls("load") == 1 })
			ends(w.d, cancel)
			if err, ok := receive(failed); !ok || !errors.Is(err, context.Canceled) {
				t.Fatalf("it ended with %v", err)
			}
			until(t, "its goroutines to end", func() bool { return running(routines) })
			if n := open(t); n > files {
				t.Errorf("%d files are open, %d were before", n, files)
			}
			if w.d.active() {
				t.Error("it leads")
			}
		})
	}
}

// A start that fails leaves nothing, however far it has come, and the next one finds everything as it was.
func TestStartFails(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script  string
		change  []string
		queues  string
		records string // directory of recordings
		says    string
	}{
		"settings":       {change: []string{"yarn.nm.liveness-monitor.expiry-interval-ms", "x"}, says: "expiry-interval-ms"},
		"list":           {change: []string{"yarn.resourcemanager.nodes.exclude-path", filepath.Dir(file)}, says: "exclude"},
		"keys":           {change: []string{"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs", "1"}, says: "rolling"},
		"labels":         {change: []string{"yarn.node-labels.enabled", "true", "yarn.node-labels.fs-store.root-dir", "file:" + file}, says: "node labels"},
		"loading":        {script: "load 1 unavailable", says: "unavailable"},
		"queues":         {queues: strings.ReplaceAll(twoQueues, " 50", " 51"), says: "root"},
		"recording":      {change: []string{"yarn.resourcemanager.heddle.black-box.record", "true"}, records: file, says: "black-box.record"},
		"pages' port":    {change: []string{"yarn.resourcemanager.webapp.address", busy.Addr().String()}, says: "in use"},
		"clients' port":  {change: []string{"yarn.resourcemanager.address", busy.Addr().String()}, says: "in use"},
		"trackers' port": {change: []string{"yarn.resourcemanager.resource-tracker.address", busy.Addr().String()}, says: "in use"},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := faulty(t, c.script, c.change...)
			if c.queues != "" {
				w.writeQueues(queueFile(c.queues))
			}
			if c.records != "" {
				w.d.Recordings = c.records
			}
			files, routines := open(t), runtime.NumGoroutine()
			err := w.d.start(t.Context())
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Fatalf("it started or says something else: %v", err)
			}
			w.d.Stop()
			until(t, "its goroutines to end", func() bool { return running(routines) })
			if n := open(t); n > files {
				t.Errorf("%d files are open, %d were before", n, files)
			}
			for i := 0; i < len(c.change); i += 2 {
				delete(w.site, c.change[i])
			}
			for name, value := range site() {
				if _, ok := w.site[name]; !ok {
					w.site[name] = value
				}
			}
			w.writeQueues(queueFile(twoQueues))
			d, err := w.start()
			if err != nil {
				t.Fatalf("the next start: %v", err)
			}
			w.d = d
			w.as("alice").submit()
			d.Stop()
		})
	}
}

// A store that is lost in the middle of a term: nobody is told that anything is stored, and the daemon ends, saying why.
func TestLostInTerm(t *testing.T) {
	w, faults := faulty(t, "commit 6.. fenced")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	alice := w.as("alice")
	var kept []yarn.ApplicationID
	var failed sync.WaitGroup
	for faults().Calls("commit") < 6 {
		id := alice.newID()
		submitted := make(chan error, 1)
		failed.Go(func() {
			_, err := alice.raw("submitApplication", submission(id))
			submitted <- err
		})
		select {
		case err := <-submitted:
			if err != nil {
				t.Fatal(err)
			}
			kept = append(kept, convert.ApplicationID(id))
		case <-time.After(200 * time.Millisecond): // it waits for a store that is no more
		}
	}
	err := w.d.Wait(t.Context())
	var loss *loop.Loss
	if !errors.As(err, &loss) || loss.Kind != loop.Fenced || !strings.HasPrefix(err.Error(), "the state store is lost: it was taken over: ") {
		t.Errorf("it ended with %v", err)
	}
	w.d.stepDown() // who waits is told to go elsewhere
	failed.Wait()
	w.d.Stop()
	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	for _, id := range kept {
		w.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED)
	}
	if len(kept) == 0 {
		t.Error("nothing was stored before the end")
	}
}

// What a term says after it has been ended is no news: the next one goes on.
func TestEndedTermIsNotLost(t *testing.T) {
	w, faults := faulty(t, "commit * unavailable")
	if err := w.d.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	alice := w.as("alice")
	id := alice.newID()
	submitted := make(chan error, 1)
	go func() {
		_, err := alice.raw("submitApplication", submission(id))
		submitted <- err
	}()
	until(t, "a store that is away", func() bool { return faults().Calls("commit") >= 2 })
	w.d.stepDown()
	if err, ok := receive(submitted); !ok {
		t.Error("a submission that is not stored hangs")
	} else {
		refused(t, err, ipc.ClassStandby, "") // by the loop, which is stopping, or by the port, which is not active any more
		if !strings.Contains(err.Error(), "is stopping") && !strings.Contains(err.Error(), "is not active") {
			t.Error(err)
		}
	}
	w.leads()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := w.d.Wait(ctx); err != nil {
		t.Errorf("the daemon ends for a term that is over: %v", err)
	}
}
