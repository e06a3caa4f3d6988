package nodemanager

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/yarn"
)

// lifeVariable makes the test binary a daemon: it names the file with the daemon's settings.
const lifeVariable = "HEDDLE_TEST_NODEMANAGER"

func TestMain(m *testing.M) {
	if file := os.Getenv(lifeVariable); file != "" {
		fmt.Fprintln(os.Stderr, live(file))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// live is a daemon until its input ends, which it does at the latest with the test.
func live(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	site := map[string]string{}
	if err := json.Unmarshal(text, &site); err != nil {
		return err
	}
	d, err := Start(options(site, os.Stderr))
	if err != nil {
		return err
	}
	go func() {
		fmt.Fprintln(os.Stderr, "the daemon ends:", d.Wait(context.Background()))
		os.Exit(1)
	}()
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// testEnvironment is a setting with variables of the daemon's environment, separated by spaces.
const testEnvironment = "heddle.test.environment"

func options(site map[string]string, log io.Writer) Options {
	return Options{User: "yarn", Environ: append(strings.Fields(site[testEnvironment]), "PATH="+os.Getenv("PATH")), Log: slog.New(slog.NewTextHandler(log, nil)),
		Load: func() (*conf.Properties, error) {
			var all []conf.Override
			for _, name := range slices.Sorted(maps.Keys(site)) {
				all = append(all, conf.Override{Name: name, Value: site[name]})
			}
			return conf.Load(conf.Options{Dir: site["hadoop.tmp.dir"], Files: conf.NodeManagerFiles, Optional: true, Overrides: all})
		}}
}

// patience is how long anything is waited for that happens at once.
const patience = 60 * time.Second

// await returns when ok does, under the locks if there are any.
func await(t testing.TB, what string, ok func() bool, locks ...sync.Locker) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		for _, l := range locks {
			l.Lock()
		}
		yes := ok()
		for _, l := range locks {
			l.Unlock()
		}
		if yes {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// worlds makes the ids of every world's containers others: the end of a life without recovery is that of all that bear them.
var worlds atomic.Int64

// world is one node under a ResourceManager that the test plays, as it plays the masters. The node lives in the test's process
// or in one of its own.
type world struct {
	*testing.T
	dir  string
	site map[string]string
	rm   *manager
	app  yarn.ApplicationID
	log  *os.File

	audit *audit.Log // of a daemon in this process

	daemon *Daemon
	child  *exec.Cmd
	input  io.Closer // of the child
	last   atomic.Int64
}

// newWorld starts a node with such settings, name and value in turn.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	w := quietWorld(t, settings...)
	w.start()
	return w
}

// quietWorld is one in which the node has not been started.
func quietWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	stamp := time.Now().UnixMilli()*1000 + worlds.Add(1)
	w := &world{T: t, dir: t.TempDir(), rm: newManager(t, stamp), app: yarn.ApplicationID{ClusterTimestamp: stamp, Sequence: 1}}
	w.site = map[string]string{
		"yarn.resourcemanager.resource-tracker.address":                                 w.rm.port.Addr().String(),
		"yarn.nodemanager.address":                                                      "127.0.0.1:0",
		"yarn.nodemanager.localizer.address":                                            "127.0.0.1:0",
		"yarn.nodemanager.webapp.address":                                               "127.0.0.1:0",
		"yarn.nodemanager.local-dirs":                                                   w.path("local"),
		"yarn.nodemanager.log-dirs":                                                     w.path("logs"),
		"yarn.nodemanager.recovery.dir":                                                 w.path("recovery"),
		"yarn.nodemanager.remote-app-log-dir":                                           "file://" + w.path("collected"),
		"yarn.nodemanager.resource.memory-mb":                                           "4096",
		"yarn.nodemanager.container-executor.exit-code-file.timeout-ms":                 "5000",
		"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
		"yarn.nodemanager.disk-health-checker.disk-utilization-threshold.enabled":       "false",
		"yarn.nodemanager.heddle.disk-return-delay-ms":                                  "100",
		"fs.defaultFS":   "file:///",
		"hadoop.tmp.dir": w.path("tmp"),
	}
	for i := 0; i < len(settings); i += 2 {
		w.site[settings[i]] = settings[i+1]
	}
	var err error
	if w.log, err = os.Create(w.path("daemon.log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	return w
}

// path is one below the world's own directory.
func (w *world) path(parts ...string) string {
	return filepath.Join(append([]string{w.dir}, parts...)...)
}

func (w *world) close() {
	w.end()
	w.reap()
	if text, _ := os.ReadFile(w.log.Name()); w.Failed() {
		w.Logf("the daemon said:\n%s", text[max(len(text)-20_000, 0):])
	} else if strings.Contains(string(text), "panic") {
		w.Errorf("something panicked:\n%s", text)
	}
	w.log.Close()
}

// said is what the node has logged.
func (w *world) said() string {
	text, _ := os.ReadFile(w.log.Name())
	return string(text)
}

// start starts the node in this process.
func (w *world) start() {
	w.Helper()
	before := len(w.rm.registered())
	o := options(w.site, w.log)
	o.Audit = w.audit
	d, err := Start(o)
	if err != nil {
		w.Fatal(err)
	}
	w.daemon = d
	w.registered(before)
}

// spawn starts the node as a process of its own.
func (w *world) spawn() {
	w.Helper()
	before := len(w.rm.registered())
	text, err := json.Marshal(w.site)
	if err != nil {
		w.Fatal(err)
	}
	file := w.path("site.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		w.Fatal(err)
	}
	w.child = exec.Command(os.Args[0])
	w.child.Env = append(os.Environ(), lifeVariable+"="+file)
	w.child.Stdout, w.child.Stderr = w.log, w.log
	if w.input, err = w.child.StdinPipe(); err != nil {
		w.Fatal(err)
	}
	if err := w.child.Start(); err != nil {
		w.Fatal(err)
	}
	w.registered(before)
}

// registered waits for one registration more, and for the heartbeat after which containers can be started.
func (w *world) registered(before int) {
	w.Helper()
	await(w, "the node registers", func() bool { return len(w.rm.registrations) > before && w.rm.beats > 0 }, &w.rm.mu)
}

// end ends the node: in good order, or if it is a process of its own with kill -9.
func (w *world) end() {
	if d := w.daemon; d != nil {
		d.Stop()
		w.daemon = nil
	}
	if c := w.child; c != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
		w.input.Close()
		w.child = nil
	}
}

// processes are those of the world's containers that are still there: their environment names a file of this world.
func (w *world) processes() (out []int) {
	w.Helper()
	all, err := os.ReadDir("/proc")
	if err != nil {
		w.Fatal(err)
	}
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid <= 1 || pid == os.Getpid() {
			continue
		}
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if strings.Contains("\x00"+string(environ), "\x00HADOOP_TOKEN_FILE_LOCATION="+w.dir+"/") {
			out = append(out, pid)
		}
	}
	return out
}

// reap kills what containers are left, one by one.
func (w *world) reap() {
	await(w, "what is left ends", func() bool {
		left := w.processes()
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // more than 1, see processes
		}
		return len(left) == 0
	})
}

// node is the node as it has registered.
func (w *world) node() yarn.NodeID {
	all := w.rm.registered()
	return convert.NodeID(all[len(all)-1].GetNodeId())
}

// get asks the web port.
func (w *world) get(path string) (status int, body string, err error) {
	all := w.rm.registered()
	conn, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(all[len(all)-1].GetHttpPort()))), patience)
	if err != nil {
		return 0, "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n", path) // as it is: clients clean paths
	text, err := io.ReadAll(conn)
	head, body, _ := strings.Cut(string(text), "\r\n\r\n")
	if fields := strings.Fields(head); err == nil && len(fields) > 1 {
		status, err = strconv.Atoi(fields[1])
	}
	return status, body, err
}

// watch asks the web port again and again until the test ends: it must answer whatever happens.
func (w *world) watch() {
	stop, done := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		defer func() { done <- n }()
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
			for _, path := range []string{"/ws/v1/node/info", "/ws/v1/node/containers", "/node/allApplications", "/jmx"} {
				if status, body, err := w.get(path); err != nil || status != http.StatusOK || body == "" {
					w.Errorf("the web port answers %s with %d %v", path, status, err)
				}
				n++
			}
		}
	}()
	w.Cleanup(func() {
		close(stop)
		if n := <-done; n == 0 {
			w.Error("nobody asked the web port")
		}
	})
}

// fixPort gives the node a port that it keeps over its lives. It is one of a loopback address that nobody else uses: on
// 127.0.0.1 any connection could take it between two lives.
func (w *world) fixPort() {
	w.Helper()
	own := worlds.Add(1)
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+os.Getpid()%250, 1+own/250, 1+own%250))
	if err != nil {
		w.Fatal(err)
	}
	w.site["yarn.nodemanager.address"] = l.Addr().String()
	l.Close()
}
