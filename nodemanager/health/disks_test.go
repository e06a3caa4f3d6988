package health

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/heddle-project/heddle/conf"
)

const gib = 1 << 30

// roomy is a disk with space.
func roomy(string) (int64, int64, error) { return 100 * gib, 80 * gib, nil }

// rules are Hadoop's defaults with a short interval.
var rules = conf.NodeDisks{Enabled: true, Interval: time.Millisecond, MinHealthy: 0.25, UtilizationRule: true, MaxUsed: 90, MaxUsedReturn: 90, FreeRule: true}

func TestFull(t *testing.T) {
	bounded := rules
	bounded.MaxUsed, bounded.MaxUsedReturn, bounded.MinFreeMB, bounded.MinFreeReturnMB = 80, 70.5, 100, 2000
	off := bounded
	off.UtilizationRule, off.FreeRule = false, false
	for _, c := range []struct {
		total, usable int64
		wasGood       bool
		rules         conf.NodeDisks
		want          string
	}{
		{100, 10, true, rules, ""},
		{100, 9, true, rules, "used space above threshold of 90.0%"},
		{0, 0, true, rules, ""},
		{100 * gib, 20 * gib, true, bounded, ""},
		{100 * gib, 19 * gib, true, bounded, "used space above threshold of 80.0%"},
		{100 * gib, 20 * gib, false, bounded, "used space above threshold of 70.5%"},
		{100 * gib, 30 * gib, false, bounded, ""},
		{500 << 20, 99 << 20, true, bounded, "used space above threshold of 80.0%"},
		{400 << 20, 99 << 20, true, bounded, "free space below limit of 100MB"},
		{400 << 20, 399 << 20, false, bounded, "free space below limit of 2000MB"},
		{400 << 20, 100 << 20, true, bounded, ""},
		{100, 0, true, off, ""},
	} {
		if got := full(c.total, c.usable, c.wasGood, c.rules); got != c.want {
			t.Errorf("%d of %d, good %v: %q, want %q", c.usable, c.total, c.wasGood, got, c.want)
		}
	}
	never := rules
	never.MaxUsed = 100
	if full(100, 0, true, never) == "" {
		t.Error("a disk without any room is full whatever the bound")
	}
}

// TestReport holds the text to one that a NodeManager of Hadoop 3.5.0 gave.
func TestReport(t *testing.T) {
	local := &disks{kind: "local-dirs", all: []*disk{
		{path: "/d/local", verdict: verdict{full: "used space above threshold of 30.0%"}},
		{path: "/proc/nope/a", verdict: verdict{bad: "Cannot create directory: /proc/nope/a"}},
		{path: "/e"},
	}}
	log := &disks{kind: "log-dirs", all: []*disk{
		{path: "/d/userlogs", verdict: verdict{full: "used space above threshold of 30.0%"}},
		{path: "/proc/nope/b", verdict: verdict{bad: "Cannot create directory: /proc/nope/b"}},
	}}
	const want = "1/3 local-dirs have errors:  [ /proc/nope/a : Cannot create directory: /proc/nope/a ] " +
		"1/3 local-dirs usable space is below configured utilization percentage/no more usable space [ /d/local : used space above threshold of 30.0% ] ; " +
		"1/2 log-dirs have errors:  [ /proc/nope/b : Cannot create directory: /proc/nope/b ] " +
		"1/2 log-dirs usable space is below configured utilization percentage/no more usable space [ /d/userlogs : used space above threshold of 30.0% ] "
	if got := local.report() + log.report(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	local.all[2].verdict.bad = "gone"
	if got := local.report(); !strings.Contains(got, "2/3 local-dirs have errors:  [ /proc/nope/a : Cannot create directory: /proc/nope/a , /e : gone ] ") {
		t.Error(got)
	}
}

func TestDirectories(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	below, made := filepath.Join(file, "x"), filepath.Join(root, "new", "deep")
	d := newDisks("local-dirs", []string{root, made, file, below}, rules, roomy, time.Now)
	d.check()
	want := Dirs{Good: []string{root, made}, Bad: []string{file, below}, Percent: 20}
	if got := d.dirs(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	for _, path := range []string{made, filepath.Dir(made)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o755 {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if got := d.report(); !strings.Contains(got, file+" : Not a directory: "+file+" , "+below+" : Cannot create directory: "+below) {
		t.Error(got)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	d.check()
	if got := d.dirs(); len(got.Good) != 4 {
		t.Errorf("what was repaired is not used again: %+v", got)
	}
}

func TestUnknownSpace(t *testing.T) {
	d := newDisks("local-dirs", []string{t.TempDir()}, rules, func(string) (int64, int64, error) { return 0, 0, errors.New("input/output error") }, time.Now)
	d.check()
	if got := d.dirs(); len(got.Bad) != 1 || !strings.Contains(d.report(), "input/output error") {
		t.Errorf("%+v %s", got, d.report())
	}
}

// TestWatermark fills a disk and empties it again.
func TestWatermark(t *testing.T) {
	r := rules
	r.MaxUsedReturn = 50
	free := int64(40)
	dir := t.TempDir()
	d := newDisks("local-dirs", []string{dir}, r, func(string) (int64, int64, error) { return 100, free, nil }, time.Now)
	for _, c := range []struct {
		free int64
		full bool
	}{{40, false}, {5, true}, {40, true}, {50, false}, {40, false}} {
		free = c.free
		d.check()
		if got := d.dirs(); (len(got.Full) == 1) != c.full || len(got.Readable()) != 1 || len(got.Bad) != 0 {
			t.Errorf("%d %% free: %+v", c.free, got)
		}
	}
}

// TestHang: a disk that does not answer is bad until it does, and holds up
// nobody but itself.
func TestHang(t *testing.T) {
	answer := make(chan struct{})
	stuck, fine := t.TempDir(), t.TempDir()
	d := newDisks("local-dirs", []string{stuck, fine}, rules, func(dir string) (int64, int64, error) {
		if dir == stuck {
			<-answer
		}
		return 100, 50, nil
	}, time.Now)
	d.wait = 20 * time.Millisecond
	for range 2 {
		d.check()
		if len(d.dirs().Bad) != 1 || !strings.Contains(d.report(), stuck+" : No answer within 20ms: "+stuck) {
			t.Fatalf("%+v %s", d.dirs(), d.report())
		}
	}
	d.wait = time.Minute
	close(answer)
	d.check()
	if got := d.dirs(); len(got.Good) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestContents(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "a", "f"), nil, 0o000); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(root, "dangling")); err != nil {
		t.Fatal(err)
	}
	want := "Can not read " + filepath.Join(root, "a", "f")
	if syscall.Access(filepath.Join(root, "a", "f"), mayRead) == nil { // for root
		want = ""
	}
	if got := contents(root); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if contents(filepath.Join(root, "missing")) == "" {
		t.Error("a missing directory has no contents")
	}
}

func TestKernel(t *testing.T) {
	total, usable, err := kernelSpace(t.TempDir())
	if err != nil || total <= 0 || usable < 0 || usable > total {
		t.Errorf("%d of %d, %v", usable, total, err)
	}
	if _, _, err := kernelSpace("/does/not/exist"); err == nil {
		t.Error("no error")
	}
}

// TestReturn fills a disk again and again: each time it stays out for longer,
// until it has been good for long.
func TestReturn(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	r, free := rules, int64(0)
	r.ReturnDelay = 30 * time.Second
	dir := t.TempDir()
	d := newDisks("local-dirs", []string{dir}, r, func(string) (int64, int64, error) { return 100, free, nil }, func() time.Time { return now })
	for _, c := range []struct {
		after int // seconds
		free  int64
		good  bool
	}{
		{0, 0, false}, {1, 50, true}, // full from the start: it has not fallen
		{1, 0, false}, {1, 50, false}, {28, 50, false}, {1, 50, true}, // 30 s
		{1, 0, false}, {59, 50, false}, {1, 50, true}, // 60 s
		{1, 0, false}, {100, 0, false}, {1, 50, false}, {19, 50, true}, // 120 s, whatever it was meanwhile
		{1, 0, false}, {300, 0, false}, {1, 50, true}, // 240 s, which are over
		{1, 0, false}, {479, 50, false}, {1, 50, true},
		{1, 0, false}, {599, 50, false}, {1, 50, true}, // never longer
		{599, 0, false}, {599, 50, false}, {1, 50, true},
		{600, 0, false}, {29, 50, false}, {1, 50, true}, // from the beginning
	} {
		now, free = now.Add(time.Duration(c.after)*time.Second), c.free
		d.check()
		got := d.dirs()
		if (len(got.Good) == 1) != c.good || len(got.Bad) != 0 {
			t.Errorf("%s, %d %% free: %+v", now.Format(time.TimeOnly), c.free, got)
		}
		if out := c.free > 0 && !c.good; out != strings.Contains(d.report(), "(yarn.nodemanager.heddle.disk-return-delay-ms)") {
			t.Errorf("%s: %s", now.Format(time.TimeOnly), d.report())
		}
	}
}
