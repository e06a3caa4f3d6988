package nodemanager

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/nodemanager/cgroup"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// TestLimitsRefused starts no node that could not keep its limits.
func TestLimitsRefused(t *testing.T) {
	t.Parallel()
	const v2 = "yarn.nodemanager.linux-container-executor.cgroups.v2."
	for _, what := range []string{"memory", "cpu"} {
		w := quietWorld(t, "yarn.nodemanager.resource."+what+".enabled", "true")
		w.refuses("cgroup version 1", v2+"enabled")
		w.site[v2+"enabled"], w.site[v2+"mount-path"] = "true", w.dir
		w.refuses("cannot have the kernel limit containers", "cgroup version 2", w.dir, v2+"mount-path")
	}
}

// refuses expects a start to fail with such words.
func (w *world) refuses(words ...string) {
	w.Helper()
	d, err := Start(options(w.site, w.log))
	if err == nil {
		d.Stop()
		w.Fatal("it has started")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("%q says nothing of %q", err, word)
		}
	}
}

// TestGroups has containers run in real groups, without limits, where the machine lets us make some.
func TestGroups(t *testing.T) {
	t.Parallel()
	name := fmt.Sprintf("/heddle-test-%d-%d", os.Getpid(), time.Now().UnixNano())
	tree, err := cgroup.Open(cgroup.Config{Hierarchy: name, DeleteDelay: 10 * time.Millisecond, DeleteTimeout: 10 * time.Second})
	if err != nil {
		if !strings.Contains(err.Error(), "cannot have the kernel limit containers") {
			t.Error(err)
		}
		t.Log("not run:", err)
		return
	}
	dir, err := tree.Create(yarn.ContainerID{}, cgroup.Limits{}) // to learn where the tree is
	if err != nil {
		t.Fatal(err)
	}
	place, err := dir.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	if err := dir.Remove(); err != nil {
		t.Fatal(err)
	}
	root := strings.TrimSuffix(place.Name(), "/"+yarn.ContainerID{}.String())
	t.Cleanup(func() {
		if err := syscall.Rmdir(root); err != nil {
			t.Errorf("something is left in the tree: %v", err)
		}
	})
	w := newWorld(t)
	w.daemon.groups = tree // no container has been started yet; the daemon closes it
	id := w.runs(`cat /proc/self/cgroup > "$LOG_DIRS/group"; (setsid sleep 1000 &) ; echo ready; until [ -e go ]; do ` + withTest + `sleep 0.02; done; exit 3`)
	w.printed(id, "ready")
	if got := w.output(id, "group"); !strings.Contains(got, "0::"+name+"/"+id.String()+"\n") {
		t.Errorf("it runs in %s", got)
	}
	w.daemon.processes.resize(&engine.Spec{ID: id})
	w.daemon.sweepGroups(nil)
	w.exits(id, 137, "Killed by external signal")
	if tree.Find(id) != nil {
		t.Error("the group of an ended container is still there")
	}
}

func TestOutOfMemory(t *testing.T) {
	id := yarn.ContainerID{Number: 7}
	own, ok := outOfMemory(id, 512, exitKilled).(engine.Overrun)
	if !ok || own.ID != id || own.Exit != -104 || !strings.Contains(own.Why, "for exceeding 512 MB") || !strings.Contains(own.Why, "beyond the 'PHYSICAL' memory limit") {
		t.Errorf("%+v", own)
	}
	if other, ok := outOfMemory(id, 512, 1).(engine.Noted); !ok || other.Text != own.Why {
		t.Errorf("%+v", other)
	}
}
