package nodemanager

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/wire/pb"
)

// mountsVariable makes the test binary a process with mounts of its own.
const mountsVariable = "HEDDLE_TEST_MOUNTS"

// Bounds of small disks: what one has, and what fits on none.
const (
	diskBytes = 40 << 20
	diskFiles = 400
	tooMuch   = 48 << 20
)

// withMounts runs a test once more, in a process whose mounts nobody else sees and which need no rights, and tells whether
// this is that process. Where the kernel does not allow that nothing is run, and the log says so.
func withMounts(t *testing.T) bool {
	t.Helper()
	if os.Getenv(mountsVariable) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=3m")
	cmd.Env = append(os.Environ(), mountsVariable+"=1")
	one := func(id int) []syscall.SysProcIDMap {
		return []syscall.SysProcIDMap{{ContainerID: 0, HostID: id, Size: 1}}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: one(os.Getuid()), GidMappings: one(os.Getgid())}
	out, err := cmd.CombinedOutput()
	var path *fs.PathError
	switch {
	case errors.As(err, &path), err == nil && strings.Contains(string(out), noMounts):
		t.Logf("not run, as the kernel allows no mounts of one's own here: %v\n%s", err, out)
	case err != nil, !strings.Contains(string(out), "--- PASS: "+t.Name()+"/"):
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

const noMounts = "no disk can be mounted"

// smallDisk is a directory that has room for diskBytes and diskFiles; "": the kernel does not allow that.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	if err == nil {
		err = unix.Mount("heddle-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,nr_inodes=%d,mode=755", diskBytes, diskFiles))
	}
	if err != nil {
		t.Logf("%s: %v", noMounts, err)
		return ""
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// onDisk is a world whose node has everything on a disk of its own: caches, logs, and what it keeps for its next life.
func onDisk(t *testing.T, disk string, settings ...string) *world {
	t.Helper()
	w := lasting(t, settings...)
	for _, name := range []string{"local", "logs", "recovery"} {
		dir := filepath.Join(disk, name)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.Symlink(dir, w.path(name))); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	return w
}

// fills is a script that writes until nothing can be written any more.
const fills = `cat /dev/zero > full 2> /dev/null; cat /dev/zero > full2 2> /dev/null; `

// A disk that is full costs the containers that fill it, or want what does not fit on it, and no more.
func TestDiskFills(t *testing.T) {
	t.Parallel()
	if !withMounts(t) {
		return
	}
	for name, test := range map[string]func(*testing.T, string){
		"unseen": diskFillsUnseen, "seen": diskFillsSeen, "files": filesRunOut, "logs": logsFill, "store": storeFills} {
		t.Run(name, func(t *testing.T) {
			if disk := smallDisk(t); disk != "" {
				test(t, disk)
			}
		})
	}
}

const noSpace = "no space left on device"

// Nobody has looked at the disk since it became full.
func diskFillsUnseen(t *testing.T, disk string) {
	w := onDisk(t, disk)
	w.watch()
	w.works()
	noise := make([]byte, tooMuch)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // never fails
	big, archive := w.file("big", noise), w.file("big.tar.gz", loose(t, noise))
	w.exits(w.wants("true", resource(w, "it", big, pb.LocalResourceType_FILE, pb.LocalResourceVisibility_PRIVATE)), -1000, "big", noSpace)
	w.works()
	w.exits(w.wants("true", resource(w, "it", archive, pb.LocalResourceType_ARCHIVE, pb.LocalResourceVisibility_PRIVATE)), -1000, "big.tar.gz", noSpace)
	w.works()
	await(t, "nothing is left of what did not fit", func() bool { return len(names(w.path("local/usercache/ann/filecache"))) == 0 })
	w.exits(w.runs(fills+`exit 3`), 3)
	await(t, "there is room again", func() bool { return room(t, disk) > diskBytes/3 })
	w.works()

	id := w.runs(fills + `sleep 1000`)
	await(t, "the disk is full", func() bool { return room(t, disk) == 0 })
	w.exits(w.runs("true"), -1, noSpace)
	w.stop(id)
	w.exits(id, -105)
	await(t, "there is room again", func() bool { return room(t, disk) > diskBytes/3 })
	w.works()
	w.nextApplication()
}

// The node sees that its disk is full, takes no more containers, and the ResourceManager has it end those that it has.
func diskFillsSeen(t *testing.T, disk string) {
	w := onDisk(t, disk, watched...)
	w.fillsAndGoes(fills, "used space above threshold of 90.0%")
}

// There is room on the disk, but not for more files.
func filesRunOut(t *testing.T, disk string) {
	w := onDisk(t, disk, watched...)
	w.fillsAndGoes(`i=0; while : > $i; do i=$((i+1)); done; `, "no room for another file or directory")
}

// fillsAndGoes has a script take all of the disk that there is.
func (w *world) fillsAndGoes(script, why string) {
	w.Helper()
	w.watch()
	w.works()
	id := w.runs(script + `sleep 1000`)
	await(w, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
	if _, report := w.rm.health(); !strings.Contains(report, "1/1 local-dirs usable space is below") || !strings.Contains(report, why) {
		w.Errorf("it reports %s", report)
	}
	w.exits(w.runs("true"), -101, "Most of the disks failed.")
	w.rm.order(func(r *pb.NodeHeartbeatResponse) { r.ContainersToCleanup = append(r.ContainersToCleanup, toID(id)) })
	w.exits(id, -106)
	await(w, "the node is healthy", func() bool { healthy, report := w.rm.health(); return healthy && report == "" })
	w.works()
	w.nextApplication()
}

// watched are the settings of a node that looks at its disks all the time, with the limit that nodes have by default.
var watched = []string{"yarn.nodemanager.disk-health-checker.interval-ms", "50",
	"yarn.nodemanager.disk-health-checker.disk-utilization-threshold.enabled", "true",
	"yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage", "90"}

// What a container writes to stderr without end goes with its application's logs.
func logsFill(t *testing.T, disk string) {
	w := onDisk(t, disk, append(watched, "yarn.log-aggregation-enable", "true", "yarn.nodemanager.log-aggregation.compression-type", "gz")...)
	w.watch()
	w.works()
	id := w.runs(`cat /dev/zero >&2; sleep 1000`)
	await(t, "the node is unhealthy", func() bool { healthy, _ := w.rm.health(); return !healthy })
	if _, report := w.rm.health(); !strings.Contains(report, "1/1 log-dirs usable space is below") {
		t.Errorf("it reports %s", report)
	}
	w.rm.order(func(r *pb.NodeHeartbeatResponse) { r.ContainersToCleanup = append(r.ContainersToCleanup, toID(id)) })
	w.exits(id, -106)
	w.rm.acknowledge(id)
	w.nextApplication()
	if got := w.collected()[id.String()+" stderr"]; len(got) < diskBytes/3 {
		t.Errorf("%d bytes of its stderr have been collected", len(got))
	}
}

// What the node keeps has room of its own: it goes on while there is no other, and forgets nothing.
func storeFills(t *testing.T, disk string) {
	w := onDisk(t, disk)
	long := w.runs(w.counted("it", "4"))
	w.printed(long, "ready")
	full := filepath.Join(disk, "full")
	if err := os.WriteFile(full, make([]byte, tooMuch), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	for range 20 {
		n := w.next()
		r := w.request(n, "true")
		r.ContainerLaunchContext.Environment = []*pb.StringStringMap{{Key: pointer("LONG"), Value: pointer(strings.Repeat("x", 50_000))}}
		w.accepted(r)
		w.exits(w.id(n), -1, noSpace)
	}
	w.end()
	w.start()
	if told := w.told(); told[long] != -1000 || len(told) != 21 {
		t.Errorf("the node registers with %v", told)
	}
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	w.let("it")
	w.exits(long, 4)
	w.works()
	w.nextApplication()
}

// nextApplication ends the application and has another one run a container.
func (w *world) nextApplication() {
	w.Helper()
	w.rm.finish(w.app)
	w.gone()
	await(w, "the node is healthy", func() bool { healthy, _ := w.rm.health(); return healthy })
	old := w.app
	defer func() { w.app = old }()
	w.app.Sequence++
	w.works()
}

// room is what can be written to a disk.
func room(t *testing.T, disk string) int64 {
	t.Helper()
	var s unix.Statfs_t
	if err := unix.Statfs(disk, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Bavail) * s.Frsize
}

// loose is a tar.gz with one entry, not made any smaller.
func loose(t *testing.T, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	err = w.WriteHeader(&tar.Header{Name: "big", Mode: 0o644, Size: int64(len(content)), Typeflag: tar.TypeReg})
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
