package nodemanager

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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

// breaks puts a file in a directory's place, and mend undoes that. Either is one step: a directory that is missing, however
// shortly, is made by whoever looks after the disks.
func (w *world) breaks(dir string) (mend func()) {
	w.Helper()
	away := dir + ".away"
	if err := errors.Join(os.WriteFile(away, nil, 0o600), exchange(dir, away)); err != nil {
		w.Fatal(err)
	}
	return func() {
		w.Helper()
		if err := errors.Join(exchange(dir, away), os.Remove(away)); err != nil {
			w.Fatal(err)
		}
	}
}

// exchange swaps two names.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// When the disks fail the node reports itself unhealthy; what runs goes on, and when they are back so is the node.
func TestDisksComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.disk-health-checker.interval-ms", "50")
	w.watch()
	w.works()
	id := w.runs(`echo ready; cd /; until [ -e ` + w.path("go") + ` ]; do ` + withTest + `sleep 0.05; done; exit 4`)
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

// A disk that has failed stays out for a while, and the node says why.
func TestDisksStayOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "yarn.nodemanager.disk-health-checker.interval-ms", "50", "yarn.nodemanager.heddle.disk-return-delay-ms", "3600000")
	w.works()
	mend := w.breaks(w.path("local"))
	await(t, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
	mend()
	const why = "was full or failed 1 times lately (yarn.nodemanager.heddle.disk-return-delay-ms)"
	await(t, "the node says that it stays out", func() bool { healthy, report := w.rm.health(); return !healthy && strings.Contains(report, why) })
	w.exits(w.runs("true"), -101, "Most of the disks failed.", why)
}

// The node looks at its disks as soon as one costs a container, not only when it is time.
func TestDisksAreSuspected(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	t.Run("full", func(t *testing.T) {
		disk := smallDisk(t)
		if disk == "" {
			return
		}
		w := onDisk(t, disk, append(watched, "yarn.nodemanager.disk-health-checker.interval-ms", "3600000", "yarn.nodemanager.heddle.disk-return-delay-ms", "3600000")...)
		w.works()
		id := w.runs(fills + `echo full >&2; sleep 1000`)
		await(t, "the disk is full", func() bool { return room(t, disk) == 0 })
		w.exits(w.runs("true"), -1, noSpace)
		await(t, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
		w.exits(w.runs("true"), -101, "used space above threshold of 90.0%")
		w.stop(id)
	})
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
