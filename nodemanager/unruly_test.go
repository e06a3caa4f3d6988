package nodemanager

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// unruly are containers that do not behave, and what becomes of them.
var unruly = map[string]struct {
	script  string
	command string                         // in place of the script
	then    func(*world, yarn.ContainerID) // once it has printed "ready"
	memory  int64                          // MB; 0: enough
	exit    int32
	says    []string
}{
	"ignores SIGTERM": {script: `trap '' TERM INT HUP QUIT; echo ready; while :; do sleep 1000; done`, then: (*world).stop, exit: -105,
		says: []string{"Container killed by the ApplicationMaster.", "Container killed on request. Exit code is 137", "Container exited with a non-zero exit code 137. "}},
	"forks away and ends":           {script: away + `exit 0`, exit: 0},
	"forks away and is ended":       {script: away + `echo ready; sleep 1000`, then: (*world).stop, exit: -105},
	"becomes a daemon and ends":     {script: alone + `exit 0`, exit: 0},
	"becomes a daemon and is ended": {script: alone + `echo ready; sleep 1000`, then: (*world).stop, exit: -105},
	"is ended by the ResourceManager": {script: `echo ready; sleep 1000`, exit: -106, then: func(w *world, id yarn.ContainerID) {
		w.rm.order(func(r *pb.NodeHeartbeatResponse) { r.ContainersToCleanup = append(r.ContainersToCleanup, toID(id)) })
	}},
	"gets a signal": {script: `echo ready; sleep 1000`, exit: 143, says: []string{"Killed by external signal"}, then: func(w *world, id yarn.ContainerID) {
		err := w.asks(w.token(), "signalToContainer", &pb.SignalContainerRequest{ContainerId: toID(id), Command: pb.SignalContainerCommand_GRACEFUL_SHUTDOWN.Enum()}, &pb.SignalContainerResponse{})
		if err != nil {
			w.Error(err)
		}
	}},
	"fills its stderr":             {script: `head -c 8000000 /dev/zero | tr '\0' x >&2; echo the last words >&2; exit 5`, exit: 5, says: []string{"xxxx", "the last words"}},
	"fills what its scripts write": {command: `head -c 4000000 /dev/zero >&2; head -c 4000000 /dev/zero; exit 6`, exit: 6},
	"has a command line of 1 MB":   {command: `echo ` + strings.Repeat("x", 1<<20), exit: 126, says: []string{"Argument list too long"}},
	"has an environment of 1 MB":   {script: `echo "${#HUGE}" > "$LOG_DIRS/huge"`, exit: 126, says: []string{"Argument list too long"}},
	"uses more memory than it may": {script: `(head -c 150000000 /dev/zero; echo ready >&3; sleep 1000) 3>&1 | tail -n 1`, memory: 64, exit: -104,
		says: []string{"beyond the 'PHYSICAL' memory limit", "64 MB physical memory used", "Dump of the process-tree for"}},
	"stops itself":                {script: `echo ready; kill -STOP $$`, then: (*world).stop, exit: -105},
	"kills itself":                {script: `kill -9 $$`, exit: 137, says: []string{"Killed by external signal"}},
	"deletes its own directory":   {script: `d="$PWD"; cd /; rm -rf "$d"; exit 7`, exit: 7},
	"takes rights away":           {script: `mkdir -p a/b; chmod 0 a/b a .; exit 8`, exit: 8},
	"makes names that do not end": {script: `for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do mkdir ` + strings.Repeat("d", 250) + `; cd ddd*; done; exit 9`, exit: 9},
}

// away leaves a process behind that has a session of its own and no parent, and waits until it is there.
const away = `( setsid bash -c 'setsid bash -c "echo \$\$ > away; exec sleep 1000" &' & ); until [ -s away ]; do sleep 0.02; done; cp away "$LOG_DIRS"; `

// alone leaves one behind that has also an environment and a directory of its own, and none of the container's files.
const alone = `( setsid env -i bash -c '( cd /; exec <&- >&- 2>&-; setsid env -i bash -c "echo \$\$ > '"$PWD"'/away; exec sleep 1000" & ) & ' & )
until [ -s away ]; do sleep 0.02; done; cp away "$LOG_DIRS"; `

// None of them brings the node down, leaves anything behind, or keeps the next container from running.
func TestUnruly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.container-monitor.interval-ms", "100", "yarn.nodemanager.vmem-check-enabled", "false",
		"yarn.nodemanager.resource.memory.enforced", "false")
	w.watch()
	for _, name := range slices.Sorted(maps.Keys(unruly)) {
		c, before := unruly[name], len(w.processes())
		n := w.next()
		r := w.request(n, c.script, func(x *token.Container) {
			if c.memory > 0 {
				x.Resource = yarn.NewResource(c.memory, 1)
			}
		})
		launch := r.ContainerLaunchContext
		if c.command != "" {
			launch.Command = []string{c.command}
		}
		if strings.Contains(c.script, "HUGE") {
			launch.Environment = []*pb.StringStringMap{{Key: pointer("HUGE"), Value: pointer(strings.Repeat("x", 1<<20))}}
		}
		w.accepted(r)
		id := w.id(n)
		if c.then != nil {
			w.printed(id, "ready")
			c.then(w, id)
		}
		w.exits(id, c.exit, c.says...)
		if s := w.ended(id).GetDiagnostics(); len(s) > 10_000 {
			t.Errorf("%s: diagnostics of %d bytes", name, len(s))
		} else if strings.Count(s, "killed on request") > 1 {
			t.Errorf("%s: its diagnostics say the same twice: %s", name, s)
		}
		w.nothingLeft(name, id, before)
		w.works()
		if t.Failed() {
			t.Fatalf("that was a container that %s", name)
		}
	}
}

// By default a container that uses more than it may goes on: the memory is left to the kernel, and the kernel was told nothing.
func TestMemoryIsNotEnforced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.container-monitor.interval-ms", "100")
	n := w.next()
	script := `(head -c 150000000 /dev/zero; until [ -e ` + w.path("go") + ` ]; do ` + withTest + `sleep 0.05; done) | tail -n 1 > /dev/null; exit 11`
	w.accepted(w.request(n, script, func(x *token.Container) { x.Resource = yarn.NewResource(64, 1) }))
	await(w, "something is said of it", func() bool { return strings.Contains(w.said(), "a container uses more than it may") })
	if err := os.WriteFile(w.path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.exits(w.id(n), 11)
}

func pointer(s string) *string { return &s }

// nothingLeft checks that a container has left neither processes nor directories.
func (w *world) nothingLeft(name string, id yarn.ContainerID, before int) {
	w.Helper()
	if left := w.processes(); len(left) > before {
		w.Errorf("%s: these are left: %v", name, left)
	}
	if pid := strings.TrimSpace(w.output(id, "away")); pid != "" {
		if stat, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
			w.Errorf("%s: the process that has forked away is there: %s", name, stat)
		}
	}
	await(w, name+": its directories are deleted", func() bool {
		return !exists(w.path("local/usercache/ann/appcache", w.app.String(), id.String())) && !exists(w.path("local/nmPrivate", w.app.String(), id.String()))
	})
}
