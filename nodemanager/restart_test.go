package nodemanager

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/nodemanager/store"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// lasting is a world whose node keeps everything for its next life and leaves containers alone when it stops.
func lasting(t *testing.T, settings ...string) *world {
	t.Helper()
	w := quietWorld(t, append([]string{"yarn.nodemanager.recovery.enabled", "true", "yarn.nodemanager.recovery.supervised", "true"}, settings...)...)
	w.fixPort()
	return w
}

// withTest ends a script that waits once the process of the test has gone.
var withTest = fmt.Sprintf("kill -0 %d 2>/dev/null || exit 99; ", os.Getpid())

// counted is a script that writes down each time that it is run, says "ready" and exits as soon as it may.
func (w *world) counted(name, code string) string {
	return `echo again >> ` + w.path("times-"+name) + `; echo ready; until [ -e ` + w.path("go-"+name) + ` ]; do ` + withTest + `sleep 0.05; done; exit ` + code
}

// let allows a counted script to exit.
func (w *world) let(name string) {
	w.Helper()
	if err := os.WriteFile(w.path("go-"+name), nil, 0o600); err != nil {
		w.Fatal(err)
	}
}

// times is how often a counted script has been run.
func (w *world) times(name string) int {
	text, _ := os.ReadFile(w.path("times-" + name))
	return strings.Count(string(text), "again\n")
}

// told is what the last registration said of the node's containers, RUNNING as -1000.
func (w *world) told() map[yarn.ContainerID]int32 {
	out := map[yarn.ContainerID]int32{}
	all := w.rm.registered()
	for _, s := range all[len(all)-1].GetContainerStatuses() {
		out[convert.ContainerID(s.GetContainerId())] = s.GetContainerExitStatus()
	}
	return out
}

// Containers outlive the death of the node, twice. Each is run once, and its exit code arrives however it has come about.
func TestKilled(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	goes, meanwhile, before, heard, stopped := w.runs(w.counted("goes", "7")), w.runs(w.counted("meanwhile", "5")), w.runs(w.counted("before", "3")), w.runs("exit 0"), w.runs(w.counted("stopped", "0"))
	w.let("before")
	w.exits(before, 3)
	w.exits(heard, 0)
	w.rm.acknowledge(heard)
	cached := w.request(w.next(), "cat a; exit 2")
	cached.ContainerLaunchContext.LocalResources = []*pb.StringLocalResourceMap{
		resource(t, "a", w.file("a", []byte("localized\n")), pb.LocalResourceType_FILE, pb.LocalResourceVisibility_PRIVATE)}
	w.accepted(cached)
	w.exits(w.id(w.last.Load()), 2)
	for _, id := range []yarn.ContainerID{goes, meanwhile, stopped} {
		w.printed(id, "ready")
	}
	old, late := w.token(), w.request(w.next(), "exit 6")
	w.end()
	w.let("meanwhile")
	await(t, "one ends while there is no node", func() bool {
		return exists(w.path("local/nmPrivate", w.app.String(), meanwhile.String(), meanwhile.String()+".pid.exitcode"))
	})
	w.rm.roll0()
	w.spawn()
	if told := w.told(); told[goes] != -1000 || told[before] != 3 || len(told) != 5 {
		t.Errorf("the node registers with %v", told)
	}
	w.exits(meanwhile, 5)
	w.remembers(old, late, goes, heard)
	w.end()
	w.start()
	w.watch()
	if told := w.told(); told[goes] != -1000 || told[meanwhile] != 5 || told[before] != 3 {
		t.Errorf("the node registers with %v", told)
	}
	w.stop(stopped)
	w.exits(stopped, -105)
	w.let("goes")
	w.exits(goes, 7)
	for _, name := range []string{"goes", "meanwhile", "before", "stopped"} {
		if n := w.times(name); n != 1 {
			t.Errorf("%s has been run %d times", name, n)
		}
	}
	again := w.request(w.next(), "cat a")
	again.ContainerLaunchContext.LocalResources = cached.ContainerLaunchContext.LocalResources
	w.accepted(again)
	w.exits(w.id(w.last.Load()), 0)
	if found := names(w.path("local/usercache/ann/filecache")); len(found) != 1 {
		t.Errorf("the cache has %v", found)
	}
	w.works()
	w.rm.finish(w.app)
	w.gone()
}

// roll0 puts new keys to use that the node does not hear of before it registers.
func (m *manager) roll0() {
	m.with(func() {
		m.containerKey.ID, m.containerKey.Bytes = m.containerKey.ID+1, []byte("another container key")
		m.nodeKey.ID, m.nodeKey.Bytes = m.nodeKey.ID+1, []byte("another node key")
	})
}

// remembers checks that tokens of the keys of the last life are good, and that none is good twice.
func (w *world) remembers(old *ipc.Token, late *pb.StartContainerRequest, used ...yarn.ContainerID) {
	w.Helper()
	for _, id := range used {
		w.refused("a token of the last life, again", old, w.request(id.Number, "true"), serve.YarnException, "Attempt to relaunch the same container with id")
	}
	out := &pb.StartContainersResponse{}
	if err := w.asks(old, "startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{late}}, out); err != nil || len(out.SucceededRequests) != 1 {
		w.Errorf("tokens of the keys of the last life: %v %v", out, err)
	}
	w.exits(w.id(w.last.Load()), 6)
}

// A node that dies while it starts containers starts none of them twice, and says of each what has become of it.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	var list []*pb.StartContainerRequest
	for range 6 {
		n := w.next()
		name := w.id(n).String()
		list = append(list, w.request(n, w.counted(name, "4")))
		w.let(name)
	}
	w.accepted(list...)
	w.end()
	w.start()
	for n := range int64(6) {
		id := w.id(n + 1)
		s, times := w.ended(id), w.times(id.String())
		if lost := s.GetExitStatus() == 154 && times == 0; !lost && (s.GetExitStatus() != 4 || times != 1) {
			t.Errorf("%s: run %d times: %v", id, times, s)
		}
	}
	w.works()
}

// A container whose record cannot be read is not left to itself; the others go on.
func TestKilledWithABadRecord(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	bad, good := w.runs(`echo ready; exec sleep 1000`), w.runs(w.counted("good", "6"))
	w.printed(bad, "ready")
	w.printed(good, "ready")
	w.end()
	kept, err := store.Open(w.site["yarn.nodemanager.recovery.dir"])
	if err != nil {
		t.Fatal(err)
	}
	records, err := kept.Load()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(records.Containers, func(c state.Container) bool { return c.ID == bad })
	record := records.Containers[i]
	record.Launch = []byte{0xff}
	if err := errors.Join(kept.Commit([]state.Op{state.PutContainer{Container: record}}), kept.Close()); err != nil {
		t.Fatal(err)
	}
	w.start()
	told := w.told()
	if _, both := told[bad]; both || len(told) != 1 {
		t.Errorf("the node registers with %v", told)
	}
	for _, pid := range w.processes() {
		if environ, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ")); strings.Contains(string(environ), bad.String()) {
			t.Errorf("process %d of %s goes on", pid, bad)
		}
	}
	w.let("good")
	w.exits(good, 6)
	w.works()
}

// Without recovery nothing of the last life is left: no process, wherever it has gone, and no directory.
func TestKilledWithoutRecovery(t *testing.T) {
	t.Parallel()
	w := quietWorld(t)
	w.spawn()
	for _, script := range []string{`sleep 1000`, away + `exec sleep 1000`, away + `exit 0`, `trap '' TERM; while :; do sleep 1000; done`} {
		w.runs(`echo ready; ` + script)
	}
	for n := range w.last.Load() {
		w.printed(w.id(n+1), "ready")
	}
	await(t, "they run", func() bool { return len(w.processes()) >= 7 })
	w.end()
	w.start()
	if left := w.processes(); len(left) > 0 {
		t.Errorf("these are left: %v", left)
	}
	if told := w.told(); len(told) > 0 {
		t.Errorf("the node registers with %v", told)
	}
	await(t, "the directories of the last life are deleted", func() bool {
		return len(names(w.path("local/usercache")))+len(names(w.path("local/nmPrivate"))) == 0 && !slices.ContainsFunc(names(w.path("local")), func(n string) bool { return strings.Contains(n, "_DEL_") })
	})
	w.works()
}

// A node that dies while containers end tells the exit code of each.
func TestKilledWhileEnding(t *testing.T) {
	t.Parallel()
	w := lasting(t)
	w.spawn()
	var list []*pb.StartContainerRequest
	for range 12 {
		list = append(list, w.request(w.next(), w.counted("all", "4")))
	}
	w.accepted(list...)
	await(t, "they run", func() bool { return w.times("all") == len(list) })
	w.let("all")
	await(t, "one has ended", func() bool { return strings.Contains(w.said(), "a container has ended") })
	w.end()
	w.start()
	for n := range int64(len(list)) {
		w.exits(w.id(n+1), 4)
	}
}

// Logs are collected of the containers, too, that the last life has forgotten because their ends had been heard.
func TestKilledBeforeAggregation(t *testing.T) {
	t.Parallel()
	w := lasting(t, "yarn.log-aggregation-enable", "true")
	w.spawn()
	id := w.runs("echo something")
	w.exits(id, 0)
	w.rm.acknowledge(id)
	other := w.runs(w.counted("other", "0"))
	w.printed(other, "ready")
	w.end()
	w.start()
	w.rm.finish(w.app)
	w.gone()
	if got := w.collected(); got[id.String()+" stdout"] != "something\n" || got[other.String()+" stdout"] != "ready\n" {
		t.Errorf("the logs are %q", got)
	}
}

// What the last life has only put off deleting is deleted in the next.
func TestKilledBeforeDeleting(t *testing.T) {
	t.Parallel()
	w := lasting(t, "yarn.nodemanager.delete.debug-delay-sec", "1000")
	w.spawn()
	early := w.runs("exit 0")
	w.exits(early, 0)
	await(t, "its credentials are deleted at once", func() bool {
		return !exists(w.path("local/usercache/ann/appcache", w.app.String(), early.String(), "container_tokens"))
	})
	w.rm.finish(w.app)
	await(t, "the application is forgotten", func() bool { return strings.Contains(w.said(), "an application ends") })
	w.rm.hear(2)
	first := w.app
	w.app.Sequence = 2
	ended, runs := w.runs("exit 0"), w.runs(w.counted("it", "4"))
	w.exits(ended, 0)
	w.printed(runs, "ready")
	w.end()
	at := func(parts ...string) string {
		return w.path(append([]string{"local/usercache/ann/appcache"}, parts...)...)
	}
	if !exists(at(first.String())) || !exists(at(w.app.String(), ended.String())) {
		t.Error("they are deleted at once")
	}
	w.site["yarn.nodemanager.delete.debug-delay-sec"] = "0"
	w.start()
	await(t, "they are deleted", func() bool {
		return !exists(at(first.String())) && !exists(at(w.app.String(), ended.String())) && !exists(w.path("local/nmPrivate", first.String()))
	})
	if !exists(at(w.app.String(), runs.String())) {
		t.Error("so is what is needed")
	}
	w.let("it")
	w.exits(runs, 4)
}

// A container that is to be tried again is, whoever has seen it fail. Its failures count once.
func TestKilledBetweenTries(t *testing.T) {
	t.Parallel()
	w := lasting(t, "yarn.nodemanager.container-retry-minimum-interval-ms", "1000", "yarn.nodemanager.delete.debug-delay-sec", "1000")
	w.spawn()
	try := func(name string) *pb.StartContainerRequest {
		r := w.request(w.next(), `echo again >> `+w.path("times-"+name)+`; [ "$(wc -l < `+w.path("times-"+name)+`)" != 1 ] || exit 5; exit 6`)
		r.ContainerLaunchContext.ContainerRetryContext = &pb.ContainerRetryContext{RetryPolicy: pb.ContainerRetryPolicy_RETRY_ON_SPECIFIC_ERROR_CODES.Enum(),
			ErrorCodes: []int32{5}, MaxRetries: proto.Int32(1)}
		return r
	}
	w.accepted(try("killed"))
	await(t, "it has failed", func() bool { return strings.Contains(w.said(), "a container has ended") })
	w.end()
	w.start()
	w.exits(w.id(1), 6)
	w.accepted(try("plain"))
	w.exits(w.id(2), 6, "Diagnostic message from attempt", "exit code 5")
	if w.times("killed") != 2 || w.times("plain") != 2 {
		t.Errorf("they have been tried %d and %d times", w.times("killed"), w.times("plain"))
	}
}
