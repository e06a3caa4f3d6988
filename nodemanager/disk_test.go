package nodemanager

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// A node without room says so, refuses containers one by one, and goes on.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.disk-health-checker.min-free-space-per-disk-mb", "1000000000000")
	w.watch()
	first := w.rm.registered()[0].GetNodeStatus().GetNodeHealthStatus()
	if first.GetIsNodeHealthy() || !strings.Contains(first.GetHealthReport(), "free space below limit of 1000000000000MB") {
		t.Errorf("it registers with %v", first)
	}
	for range 3 {
		w.exits(w.runs("true"), -101, "Most of the disks failed.", "1/1 local-dirs usable space is below configured utilization percentage")
	}
	if healthy, report := w.rm.health(); healthy || !strings.Contains(report, "1/1 log-dirs") {
		t.Errorf("it reports %v %s", healthy, report)
	}
	w.rm.finish(w.app)
	w.gone()
}

// breaks puts a file in a directory's place, and mend undoes that.
func (w *world) breaks(dir string) (mend func()) {
	w.Helper()
	if err := errors.Join(os.Rename(dir, dir+".away"), os.WriteFile(dir, nil, 0o600)); err != nil {
		w.Fatal(err)
	}
	return func() {
		w.Helper()
		if err := errors.Join(os.Remove(dir), os.Rename(dir+".away", dir)); err != nil {
			w.Fatal(err)
		}
	}
}

// When the disks fail the node reports itself unhealthy; what runs goes on, and when they are back so is the node.
func TestDisksComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.disk-health-checker.interval-ms", "50")
	w.watch()
	w.works()
	id := w.runs(`echo ready; cd /; until [ -e ` + w.path("go") + ` ]; do sleep 0.05; done; exit 4`)
	w.printed(id, "ready")
	mend := w.breaks(w.path("local"))
	await(t, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
	if _, report := w.rm.health(); !strings.Contains(report, "1/1 local-dirs have errors") {
		t.Errorf("it reports %s", report)
	}
	w.exits(w.runs("true"), -101, "Most of the disks failed. 0 of 1 local directories")
	if s := w.rm.latest(id); s.GetState() != pb.ContainerState_C_RUNNING {
		t.Errorf("what ran before is %v", s)
	}
	mend()
	await(t, "the node is healthy", func() bool { healthy, _ := w.rm.health(); return healthy })
	w.works()
	if err := os.WriteFile(w.path("go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	w.exits(id, 4)
}

// A disk that fails between two looks at it costs the containers that are started on it, and no more.
func TestDisksFailUnseen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.watch()
	w.works()
	for _, dir := range []string{"local", "logs"} {
		mend := w.breaks(w.path(dir))
		w.exits(w.runs("true"), -1, w.path(dir))
		mend()
		w.works()
	}
	mend := w.breaks(w.path("local/nmPrivate"))
	w.exits(w.runs("true"), -1, "nmPrivate")
	mend()
	w.works()
}
