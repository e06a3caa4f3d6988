package nodemanager

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// resource is a file that a container wants under a name.
func resource(t testing.TB, name, file string, kind pb.LocalResourceType, who pb.LocalResourceVisibility) *pb.StringLocalResourceMap {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	return &pb.StringLocalResourceMap{Key: &name, Value: &pb.LocalResource{Resource: &pb.URL{Scheme: proto.String("file"), File: &file}, Size: proto.Int64(info.Size()),
		Timestamp: proto.Int64(info.ModTime().UnixMilli()), Type: kind.Enum(), Visibility: who.Enum()}}
}

// packed is a tar.gz with such entries.
func packed(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for _, h := range entries {
		content := "content of " + h.Name
		if h.Mode = 0o644; h.Typeflag == tar.TypeReg {
			h.Size = int64(len(content))
		}
		err := w.WriteHeader(&h)
		if err == nil && h.Typeflag == tar.TypeReg {
			_, err = io.WriteString(w, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file writes one below the world's directory.
func (w *world) file(name string, content []byte) string {
	w.Helper()
	path := w.path("files", name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, 0o644)); err != nil {
		w.Fatal(err)
	}
	return path
}

// TestLife follows a container from its start to the end of its application.
func TestLife(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch()
	greeting := w.file("greeting.txt", []byte("good morning\n"))
	archive := w.file("tools.tar.gz", packed(t, tar.Header{Name: "bin/", Typeflag: tar.TypeDir}, tar.Header{Name: "bin/tool", Typeflag: tar.TypeReg}))
	for _, dir := range []string{w.dir, filepath.Dir(w.dir)} {
		if err := os.Chmod(dir, 0o755); err != nil { // else it could not become public
			t.Fatal(err)
		}
	}
	n := w.next()
	r := w.request(n, `env > "$LOG_DIRS/env"; cat hello.txt; cat tools/bin/tool; echo; echo "in $PWD"; until [ -e go ]; do sleep 0.02; done; exit 0`)
	launch := r.ContainerLaunchContext
	launch.LocalResources = []*pb.StringLocalResourceMap{
		resource(t, "hello.txt", greeting, pb.LocalResourceType_FILE, pb.LocalResourceVisibility_APPLICATION),
		resource(t, "tools", archive, pb.LocalResourceType_ARCHIVE, pb.LocalResourceVisibility_PUBLIC)}
	launch.Environment = []*pb.StringStringMap{{Key: proto.String("WHERE"), Value: proto.String("<LOG_DIR>/here")}, {Key: proto.String("OTHER"), Value: proto.String("{{WHERE}}<CPS>more")}}
	w.accepted(r)
	id := w.id(n)
	w.printed(id, "in ")
	work := w.path("local/usercache/ann/appcache", w.app.String(), id.String())
	if got, want := w.output(id, "stdout"), "good morning\ncontent of bin/tool\nin "+work+"\n"; got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	w.checkRunning(id, work)
	if err := os.WriteFile(filepath.Join(work, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.exits(id, 0)
	await(t, "the container's directories are deleted", func() bool {
		return !exists(work) && !exists(w.path("local/nmPrivate", w.app.String(), id.String()))
	})
	if got := w.rm.states(id); !slices.Equal(got, []pb.ContainerState{pb.ContainerState_C_RUNNING, pb.ContainerState_C_COMPLETE}) {
		t.Errorf("the ResourceManager has heard %v", got)
	}
	if m := w.daemon.Metrics(); m.CacheMissFiles != 2 || m.CacheMissBytes == 0 || m.CacheHitFiles != 0 || m.LocalizationTime.Count != 1 || m.LaunchTime.Count != 1 || m.LaunchTime.Average <= 0 {
		t.Errorf("counted: %+v", m)
	}
	w.checkFailure()
	w.checkAcknowledged(id)
	w.checkFinished()
	if logs := w.path("logs", w.app.String(), id.String(), "stdout"); !exists(logs) {
		t.Errorf("%s is gone, though it is to stay for hours", logs)
	}
	if found, _ := filepath.Glob(w.path("local/filecache/*/tools.tar.gz/bin/tool")); len(found) != 1 {
		t.Errorf("the public cache has %v", found)
	}
}

// checkRunning looks at a running container from all sides.
func (w *world) checkRunning(id yarn.ContainerID, work string) {
	w.Helper()
	logs := w.path("logs", w.app.String(), id.String())
	env := w.output(id, "env")
	for _, line := range []string{"CONTAINER_ID=" + id.String(), "USER=ann", "LOGNAME=ann", "NM_HOST=" + w.node().Host, "WHERE=" + logs + "/here",
		"OTHER=" + logs + "/here:more", "LOCAL_DIRS=" + filepath.Dir(work), "LOG_DIRS=" + logs, "HADOOP_TOKEN_FILE_LOCATION=" + work + "/container_tokens"} {
		if !strings.Contains("\n"+env, "\n"+line+"\n") {
			w.Errorf("the environment lacks %s:\n%s", line, env)
		}
	}
	for path, mode := range map[string]os.FileMode{work: 0o710, filepath.Dir(work): 0o710, w.path("local/nmPrivate"): 0o700, logs: 0o710,
		filepath.Join(work, "launch_container.sh"): 0o700, filepath.Join(work, "container_tokens"): 0o644, w.path("local/usercache"): 0o755, w.path("local/filecache"): 0o755} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			w.Errorf("%s: %v %v, want %v", path, info, err, mode)
		}
	}
	s, err := w.statuses(id)
	if err != nil || len(s.Status) != 1 || s.Status[0].GetState() != pb.ContainerState_C_RUNNING || s.Status[0].GetExitStatus() != -1000 {
		w.Errorf("its master sees %v %v", s, err)
	}
	await(w, "the ResourceManager hears of it", func() bool { return w.rm.latest(id).GetState() == pb.ContainerState_C_RUNNING })
	for path, want := range map[string]string{"/ws/v1/node/containers/" + id.String(): `"state":"RUNNING"`, "/ws/v1/node/apps/" + w.app.String(): `"state":"RUNNING"`,
		"/ws/v1/node/containerlogs/" + id.String() + "/stdout": "good morning", "/node/containerlogs/" + id.String() + "/ann/stdout/?start=0": "good morning"} {
		if status, body, err := w.get(path); err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			w.Errorf("%s: %d %v, want %s:\n%s", path, status, err, want, body)
		}
	}
}

func (w *world) statuses(id yarn.ContainerID) (*pb.GetContainerStatusesResponse, error) {
	w.Helper()
	out := &pb.GetContainerStatusesResponse{}
	return out, w.asks(w.token(), "getContainerStatuses", &pb.GetContainerStatusesRequest{ContainerId: []*pb.ContainerId{convert.ToContainerID(id)}}, out)
}

// checkFailure looks at what is told of containers that fail, one of them without reaching its command.
func (w *world) checkFailure() {
	w.Helper()
	w.exits(w.runs("echo this is why >&2; exit 3"), 3, "Container exited with a non-zero exit code 3. ", "Last 4096 bytes of stderr :\nthis is why")
	n := w.next()
	r := w.request(n, "true")
	r.ContainerLaunchContext.Environment = []*pb.StringStringMap{{Key: proto.String("A"), Value: proto.String("$(echo no such luck >&2; exit 9")}}
	w.accepted(r)
	if s := w.ended(w.id(n)); s.GetExitStatus() == 0 || !strings.Contains(s.GetDiagnostics(), "prelaunch.err") {
		w.Errorf("a script that cannot be read: %v", s)
	}
}

// checkAcknowledged: an end is told until it has been heard, and then no more.
func (w *world) checkAcknowledged(id yarn.ContainerID) {
	w.Helper()
	w.rm.hear(3)
	if s, err := w.statuses(id); err != nil || len(s.Status) != 1 || s.Status[0].GetState() != pb.ContainerState_C_COMPLETE || !w.rm.reports(id) {
		w.Errorf("its master sees %v %v", s, err)
	}
	w.rm.acknowledge(id)
	if s, err := w.statuses(id); err != nil || len(s.FailedRequests) != 1 || w.rm.reports(id) {
		w.Errorf("it is still known: %v %v", s, err)
	}
}

// checkFinished ends the application, with a container of it that still runs.
func (w *world) checkFinished() {
	w.Helper()
	id := w.runs("echo here; sleep 1000")
	w.printed(id, "here")
	w.rm.finish(w.app)
	w.gone()
	if s := w.rm.latest(id); s.GetState() == pb.ContainerState_C_COMPLETE && s.GetExitStatus() != -107 {
		w.Errorf("a container of an ended application: %v", s)
	}
	if left := w.processes(); len(left) > 0 {
		w.Errorf("these are left: %v", left)
	}
	if out, err := w.start1(w.request(w.next(), "true", func(c *token.Container) { c.ID.Attempt.Application.Sequence = 9 })); err != nil || len(out.FailedRequests) != 1 {
		w.Errorf("another application's container has been started: %v %v", out, err)
	}
}

// gone waits until nothing is left of an ended application but its logs.
func (w *world) gone() {
	w.Helper()
	await(w, "the application is forgotten, except for its logs", func() bool {
		status, body, err := w.get("/ws/v1/node/apps/" + w.app.String())
		logs := w.site["yarn.log-aggregation-enable"] != "true" && strings.Contains(body, `"state":"FINISHED"`) && !strings.Contains(body, "containerids")
		return err == nil && (status == http.StatusNotFound || logs)
	})
	await(w, "its directories are deleted", func() bool {
		return !exists(w.path("local/usercache/ann/appcache", w.app.String())) && !exists(w.path("local/nmPrivate", w.app.String()))
	})
}

// Containers that come and end at the same time are told apart.
func TestMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch()
	var list []*pb.StartContainerRequest
	for range 24 {
		n := w.next()
		list = append(list, w.request(n, fmt.Sprintf("echo I am %d; exit %d", n, n)))
	}
	w.accepted(list...)
	for n := range int64(len(list)) {
		id := w.id(n + 1)
		w.exits(id, int32(n+1))
		if got, want := w.output(id, "stdout"), fmt.Sprintf("I am %d\n", n+1); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Without aggregation logs can be read after the end of their application, even after a restart, until they have been kept long enough.
func TestLogsAreDeleted(t *testing.T) {
	t.Parallel()
	w := quietWorld(t, "yarn.nodemanager.log.retain-seconds", "2", "yarn.nodemanager.recovery.enabled", "true")
	w.fixPort()
	w.start()
	id := w.runs("echo soon gone")
	w.exits(id, 0)
	w.rm.finish(w.app)
	w.gone()
	address := "/ws/v1/node/containerlogs/" + id.String() + "/stdout"
	readable := func() {
		t.Helper()
		if status, body, err := w.get(address); exists(w.path("logs", w.app.String())) && (status != http.StatusOK || !strings.Contains(body, "soon gone")) {
			t.Errorf("%d %s, %v", status, body, err)
		}
	}
	readable()
	w.end()
	w.start()
	await(t, "they are known again", func() bool {
		status, _, _ := w.get("/ws/v1/node/apps/" + w.app.String())
		return status == http.StatusOK || !exists(w.path("logs", w.app.String()))
	})
	readable()
	await(t, "the logs are deleted", func() bool { return !exists(w.path("logs", w.app.String())) })
	if status, _, _ := w.get("/ws/v1/node/apps/" + w.app.String()); status != http.StatusNotFound {
		t.Errorf("the application is still shown: %d", status)
	}
}

// With aggregation one file has the logs of all containers of an application, and the node has deleted them. The file is in the first format of
// the list, as in CDP.
func TestAggregation(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.log-aggregation-enable", "true", "yarn.nodemanager.log-aggregation.compression-type", "gz", "yarn.log-aggregation.file-formats", "IFile,TFile",
		"yarn.log-aggregation.file-controller.IFile.class", "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController")
	want := map[string]string{}
	for _, text := range []string{"one", "two"} {
		id := w.runs("echo " + text + "; echo wrong >&2; exit 4")
		w.exits(id, 4)
		want[id.String()+" stdout"], want[id.String()+" stderr"] = text+"\n", "wrong\n"
	}
	w.rm.acknowledge(w.id(1))
	w.rm.finish(w.app)
	w.gone()
	await(t, "the ResourceManager hears of it", func() bool {
		return slices.ContainsFunc(w.rm.logs, func(r *pb.LogAggregationReport) bool {
			return convert.ApplicationID(r.GetApplicationId()) == w.app && r.GetLogAggregationStatus() == pb.LogAggregationStatus_LOG_SUCCEEDED
		})
	}, &w.rm.mu)
	await(t, "the logs are deleted here", func() bool { return !exists(w.path("logs", w.app.String())) })
	got := w.collected()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: got %q, want %q", name, got[name], text)
		}
	}
}

// collected is what is found on the file system, by container and file.
func (w *world) collected() map[string]string {
	w.Helper()
	var set []conf.Override
	for name, value := range w.site {
		set = append(set, conf.Override{Name: name, Value: value})
	}
	site, err := conf.Load(conf.Options{Overrides: set})
	if err != nil {
		w.Fatal(err)
	}
	layouts, err := aggregated.ReadLayouts(site.Get)
	if err != nil {
		w.Fatal(err)
	}
	systems, err := filesystem.New(filesystem.Config{Default: "file:///", Property: site.Get})
	if err != nil {
		w.Fatal(err)
	}
	store := aggregated.NewStore(layouts, func(u filesystem.URL) (filesystem.FileSystem, error) { return systems.Connect(w.Context(), u, "ann") })
	defer store.Close()
	nodes, err := store.Nodes(w.app, "ann")
	if err != nil {
		w.Fatal(err)
	}
	out := map[string]string{}
	for _, n := range nodes {
		r, err := store.Open(n)
		if err != nil {
			w.Fatal(err)
		}
		for id, err := r.NextContainer(); err == nil; id, err = r.NextContainer() {
			for f, err := r.NextFile(); err == nil; f, err = r.NextFile() {
				text, err := io.ReadAll(r)
				if err != nil {
					w.Fatal(err)
				}
				out[id+" "+f.Name] = string(text)
			}
		}
		r.Close()
	}
	return out
}
