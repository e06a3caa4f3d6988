package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/run"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var appID = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}

func containerID(n int64) yarn.ContainerID {
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: appID, Attempt: 1}, Number: n}
}

// rig is a node with two log directories and a file system to collect to.
type rig struct {
	t       *testing.T
	dirs    []string
	root    string // of the aggregated logs
	cfg     Config
	layouts []aggregated.Layout // TFile, IFile
	clock   *clock.Manual
	reports []string
	log     bytes.Buffer
}

func newRig(t *testing.T, change ...func(*Config)) *rig {
	t.Helper()
	top := t.TempDir()
	r := &rig{t: t, dirs: []string{top + "/l1", top + "/l2"}, root: top + "/remote/logs", clock: clock.NewManual(1795305345000)}
	for _, d := range r.dirs {
		r.must(os.Mkdir(d, 0o755))
	}
	systems, err := filesystem.New(filesystem.Config{})
	r.must(err)
	layouts, err := aggregated.ReadLayouts(func(name string) string {
		return map[string]string{"yarn.log-aggregation.file-formats": "TFile,IFile", "yarn.log-aggregation.file-controller.IFile.class": "x.LogAggregationIndexedFileController", "yarn.nodemanager.remote-app-log-dir": r.root, "yarn.nodemanager.remote-app-log-dir-suffix": "logs",
			"yarn.log-aggregation.file-controller.TFile.class": "x.LogAggregationTFileController"}[name]
	})
	r.must(err)
	r.layouts = layouts
	r.cfg = Config{Node: yarn.NodeID{Host: "node1", Port: 45454}, User: "yarn", Systems: systems, Layout: layouts[0], Indexed: Indexed{MaxBytes: 1 << 20, Tries: 1}, Policy: "all", Keep: 3, Cleanup: true, Threads: 2,
		Dirs: func() []string { return r.dirs }, Clock: r.clock, Log: slog.New(slog.NewTextHandler(&r.log, nil)),
		Remove: func(paths ...string) {
			for _, p := range paths {
				r.must(run.RemoveTree(p))
			}
		},
		Report: func(x Report) {
			r.reports = append(r.reports, strings.TrimSpace(fmt.Sprintf("%s %s", strings.TrimPrefix(x.Status.String(), "LOG_"), x.Text)))
		}}
	for _, c := range change {
		c(&r.cfg)
	}
	return r
}

func (r *rig) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) open(context *pb.LogAggregationContext) *Application {
	r.t.Helper()
	u, err := New(r.cfg)
	r.must(err)
	var b []byte
	if context != nil {
		b, err = proto.Marshal(context)
		r.must(err)
	}
	return u.Open(App{ID: appID, User: "alice", Context: b, ACLs: map[string]string{"VIEW_APP": "bob", "MODIFY_APP": " ", "": "x"}})
}

// logDir is a container's directory, which is made.
func (r *rig) logDir(disk int, n int64) string {
	r.t.Helper()
	dir := filepath.Join(r.dirs[disk], appID.String(), containerID(n).String())
	r.must(os.MkdirAll(dir, 0o710))
	return dir
}

func (r *rig) put(disk int, n int64, name, text string) string {
	r.t.Helper()
	file := filepath.Join(r.logDir(disk, n), name)
	r.must(os.WriteFile(file, []byte(text), 0o640))
	return file
}

const remoteDir = "alice/bucket-logs-tfile/0007/application_1700000000000_0007"

// remote is what has been collected: file names, each with containers' numbers
// and log files.
func (r *rig) remote() string {
	r.t.Helper()
	all, err := os.ReadDir(filepath.Join(r.root, remoteDir))
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	r.must(err)
	var out []string
	for _, e := range all {
		out = append(out, e.Name()+":"+r.read(filepath.Join(r.root, remoteDir, e.Name())))
	}
	return strings.Join(out, "; ")
}

func (r *rig) read(name string) (out string) {
	r.t.Helper()
	f, err := os.Open(name)
	r.must(err)
	defer f.Close()
	logs, err := aggregated.NewReader(f)
	r.must(err)
	out = r.contents(logs)
	if logs.Owner() != "alice" || fmt.Sprint(logs.ACLs()) != "[{MODIFY_APP  } {VIEW_APP bob}]" {
		r.t.Errorf("owner %q, lists %q", logs.Owner(), logs.ACLs())
	}
	return out
}

// contents are the containers and log files that are still to be read.
func (r *rig) contents(logs *aggregated.Reader) (out string) {
	r.t.Helper()
	for {
		id, err := logs.NextContainer()
		if errors.Is(err, io.EOF) {
			return out
		}
		r.must(err)
		out += " " + strings.TrimLeft(id[strings.LastIndex(id, "_"):], "_0")
		for {
			f, err := logs.NextFile()
			if errors.Is(err, io.EOF) {
				break
			}
			r.must(err)
			text, err := io.ReadAll(logs)
			r.must(err)
			out += fmt.Sprintf(" %s=%s", f.Name, text)
		}
	}
}

// left are the log files that are still there.
func (r *rig) left() (out []string) {
	for _, d := range r.dirs {
		filepath.WalkDir(d, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				out = append(out, e.Name())
			}
			return nil
		})
	}
	return out
}

func (r *rig) reported(want ...string) {
	r.t.Helper()
	if len(r.reports) != len(want) {
		r.t.Fatalf("reports %q, want %q", r.reports, want)
	}
	for i := range want {
		if !strings.HasPrefix(r.reports[i], want[i]) {
			r.t.Errorf("report %q, want %q", r.reports[i], want[i])
		}
	}
	r.reports = nil
}

func ended(numbers ...int64) (out []Container) {
	for _, n := range numbers {
		out = append(out, Container{ID: containerID(n), Ended: true, Master: n == 1})
	}
	return out
}

func TestCollectsAtTheEnd(t *testing.T) {
	r := newRig(t)
	r.put(0, 1, "stdout", "one")
	r.put(0, 1, "stderr", "")
	r.put(1, 1, "syslog", "on another disk")
	r.put(1, 2, "stdout", "two")
	r.put(1, 9, "stdout", "not named")
	a := r.open(nil)
	r.must(a.Prepare(t.Context()))
	if got := r.remote(); got != "" || a.Every() != 0 {
		t.Errorf("prepared: %q, every %v", got, a.Every())
	}
	r.must(a.Upload(t.Context(), ended(2, 3, 1), true))
	if got, want := r.remote(), "node1_45454: 1 stderr= stdout=one syslog=on another disk 2 stdout=two"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if left := r.left(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	at := javaTime(time.UnixMilli(1795305345000))
	r.reported("RUNNING Log uploaded successfully for Application: application_1700000000000_0007 in NodeManager: node1_45454 at "+at, "SUCCEEDED")
	for path, mode := range map[string]fs.FileMode{"": fs.ModeSticky | 0o777, "alice": 0o770, "alice/bucket-logs-tfile": 0o770, "alice/bucket-logs-tfile/0007": 0o770,
		remoteDir: 0o770, remoteDir + "/node1_45454": 0o640} {
		info, err := os.Stat(filepath.Join(r.root, path))
		r.must(err)
		if got := info.Mode() & (fs.ModePerm | fs.ModeSticky); got != mode {
			t.Errorf("%q has mode %v, want %v", path, got, mode)
		}
	}
}

func TestNothingToCollect(t *testing.T) {
	r := newRig(t)
	r.must(r.open(nil).Upload(t.Context(), ended(1), true))
	r.reported("RUNNING", "SUCCEEDED")
	r.put(0, 1, "stdout", "one")
	r.must(r.open(&pb.LogAggregationContext{IncludePattern: proto.String("^x")}).Upload(t.Context(), ended(1), true))
	r.reported("RUNNING", "SUCCEEDED")
	if got := r.remote(); got != "" || len(r.left()) != 0 {
		t.Errorf("%q, left %q", got, r.left())
	}
}

func TestDirectoriesThatAreThere(t *testing.T) {
	r := newRig(t)
	r.must(os.MkdirAll(r.root+"/alice/bucket-logs-tfile", 0o755))
	r.put(0, 1, "stdout", "one")
	r.must(r.open(nil).Upload(t.Context(), ended(1), true))
	info, err := os.Stat(r.root + "/alice/bucket-logs-tfile")
	r.must(err)
	if info.Mode().Perm() != 0o770 || !strings.Contains(r.log.String(), "other permissions than it should") {
		t.Errorf("%v, log %s", info.Mode(), &r.log)
	}
}

func TestPatterns(t *testing.T) {
	for _, x := range []struct{ include, exclude, want string }{
		{"", "", " 1 a.log=a b.out=b c.log=c"}, {`\.log$`, "", " 1 a.log=a c.log=c"}, {"", "log", " 1 b.out=b"}, {"log|out", "^a", " 1 b.out=b c.log=c"},
	} {
		r := newRig(t)
		r.put(0, 1, "a.log", "a")
		r.put(0, 1, "b.out", "b")
		r.put(0, 1, "c.log", "c")
		r.must(r.open(&pb.LogAggregationContext{IncludePattern: &x.include, ExcludePattern: &x.exclude}).Upload(t.Context(), ended(1), true))
		if got := strings.TrimPrefix(r.remote(), "node1_45454:"); got != x.want {
			t.Errorf("%+v: %q", x, got)
		}
	}
}

// What cannot be done is said, and nothing is lost.
func TestFailures(t *testing.T) {
	for what, x := range map[string]struct {
		spoil   func(*rig)
		context *pb.LogAggregationContext
		text    string
	}{
		"a pattern of Java's own": {nil, &pb.LogAggregationContext{ExcludePattern: proto.String("(?!a)")}, "LogAggregationContext, exclude pattern"},
		"a file in the way":       {func(r *rig) { r.must(os.WriteFile(filepath.Dir(r.root), nil, 0o644)) }, nil, "yarn.nodemanager.remote-app-log-dir"},
		"a directory in the way": {func(r *rig) {
			r.must(os.MkdirAll(filepath.Join(r.root, remoteDir, "node1_45454", "x"), 0o755))
		}, nil, "node1_45454"},
		"a file system that takes nothing": {func(r *rig) { r.cfg.Layout.Root.Path = "/proc/nowhere" }, nil, "/proc"},
	} {
		t.Run(what, func(t *testing.T) {
			r := newRig(t)
			if x.spoil != nil {
				x.spoil(r)
			}
			r.put(0, 1, "stdout", "one")
			a := r.open(x.context)
			err := a.Upload(t.Context(), ended(1), true)
			if err == nil || !strings.Contains(err.Error(), x.text) {
				t.Errorf("%v", err)
			}
			if left := r.left(); len(left) != 1 {
				t.Errorf("left: %q", left)
			}
			r.reported("RUNNING_WITH_FAILURE Log uploaded failed for Application: application_1700000000000_0007", "FAILED")
			if _, err := os.Stat(filepath.Join(r.root, remoteDir, "node1_45454.tmp")); err == nil {
				t.Error("the unfinished file is still there")
			}
		})
	}
	r := newRig(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.put(0, 1, "stdout", "one")
	if err := r.open(nil).Upload(ctx, ended(1), true); !errors.Is(err, context.Canceled) || len(r.left()) != 1 {
		t.Errorf("%v, left %q", err, r.left())
	}
}

// Links, pipes and directories among the logs are left alone, wherever they
// lead.
func TestOnlyRegularFilesOfTheContainer(t *testing.T) {
	r := newRig(t)
	secret := filepath.Join(t.TempDir(), "secret")
	r.must(os.WriteFile(secret, []byte("secret"), 0o644))
	other := filepath.Join(r.dirs[0], "application_1700000000000_0008", "container_1700000000000_0008_01_000001")
	r.must(os.MkdirAll(other, 0o710))
	r.must(os.WriteFile(other+"/stdout", []byte("of another"), 0o640))
	dir := r.logDir(0, 1)
	r.put(0, 1, "stdout", "one")
	r.must(os.Symlink(secret, dir+"/out"))
	r.must(os.Symlink("stdout", dir+"/within"))
	r.must(os.Symlink(other+"/stdout", dir+"/other"))
	r.must(syscall.Mkfifo(dir+"/pipe", 0o640))
	r.must(os.Mkdir(dir+"/sub", 0o755))
	r.must(os.Symlink(other, filepath.Join(filepath.Dir(dir), containerID(2).String())))
	files := &Files{Dirs: r.cfg.Dirs}
	for _, name := range []string{"out", "within", "other", "pipe", "sub", "../" + containerID(1).String() + "/stdout", "..", ".", "", "a/b", "a\x00", strings.Repeat("x", 256), "nothing"} {
		if f, err := files.Open(containerID(1), name); err == nil {
			t.Errorf("%q was opened: %+v", name, f)
		} else if wrong := strings.ContainsAny(name, "/\x00") || strings.Trim(name, ".") == "" || len(name) > maxName; errors.Is(err, ErrName) != wrong {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := files.Open(containerID(2), "stdout"); err == nil {
		t.Error("a container's directory that is a link was followed")
	}
	if list, err := files.List(containerID(1)); err != nil || len(list) != 1 || list[0].Name != "stdout" {
		t.Errorf("%+v, %v", list, err)
	}
	err := r.open(nil).Upload(t.Context(), ended(1, 2), true)
	if got, want := r.remote(), "node1_45454: 1 stdout=one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("%v", err)
	}
	if got, err := os.ReadFile(other + "/stdout"); err != nil || string(got) != "of another" {
		t.Errorf("another's log: %q, %v", got, err)
	}
}

func TestFilesAreShown(t *testing.T) {
	r := newRig(t)
	r.put(0, 1, "stdout", "0123456789")
	r.put(1, 1, "syslog", "")
	r.put(1, 1, "stdout", "a second one of that name")
	files := &Files{Dirs: func() []string { return []string{r.dirs[1], r.dirs[0], "/nowhere"} }}
	list, err := files.List(containerID(1))
	if err != nil || len(list) != 2 || list[0].Name != "stdout" || list[0].Size != 10 || list[0].Modified == 0 || list[1].Name != "syslog" {
		t.Fatalf("%+v, %v", list, err)
	}
	if _, err := files.List(containerID(2)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	f, err := files.Open(containerID(1), "stdout")
	r.must(err)
	defer f.Close()
	const all = int64(1) << 62
	for _, x := range []struct {
		start, end int64
		want       string
	}{{0, all, "0123456789"}, {-4, all, "6789"}, {-4096, all, "0123456789"}, {2, 5, "234"}, {2, -3, "23456"}, {0, -10, ""}, {0, -11, "0123456789"}, {10, 10, ""}, {-1 << 63, all, "0123456789"}} {
		s, err := f.Section(x.start, x.end)
		if err != nil {
			t.Errorf("%+v: %v", x, err)
			continue
		}
		if got, err := io.ReadAll(s); string(got) != x.want || err != nil {
			t.Errorf("%+v: %q, %v", x, got, err)
		}
	}
	for _, x := range [][2]int64{{11, all}, {5, 2}, {8, -5}} {
		if _, err := f.Section(x[0], x[1]); err == nil || !strings.HasPrefix(err.Error(), "Invalid start and end values. Start: [") {
			t.Errorf("%v: %v", x, err)
		}
	}
}

func TestRolling(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Roll, c.Keep = time.Hour, 2 })
	wishes := &pb.LogAggregationContext{RolledLogsIncludePattern: proto.String(`\.\d+$`), ExcludePattern: proto.String("^secret")}
	if a := r.open(nil); a.Every() != 0 {
		t.Errorf("without a pattern: every %v", a.Every())
	}
	a := r.open(wishes)
	if a.Every() != time.Hour {
		t.Errorf("every %v", a.Every())
	}
	r.put(0, 1, "syslog", "now")
	r.put(0, 1, "syslog.1", "before")
	r.put(0, 2, "stdout", "of an ended one")
	r.put(0, 2, "secret", "of an ended one")
	both := []Container{{ID: containerID(1), Master: true}, {ID: containerID(2), Ended: true}}
	r.must(a.Upload(t.Context(), both, false))
	if got, want := r.remote(), "node1_45454_1795305345000: 1 syslog.1=before 2 stdout=of an ended one"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if left := r.left(); !slices.Equal(left, []string{"syslog", "secret"}) {
		t.Errorf("left: %q", left)
	}
	r.reported("RUNNING Log uploaded successfully")
	r.must(a.Upload(t.Context(), both, false))
	r.reported("RUNNING")
	for n := range 3 {
		r.clock.Advance(time.Hour)
		r.put(0, 1, fmt.Sprintf("syslog.%d", n), "more")
		r.must(a.Upload(t.Context(), both, false))
		at := time.Now().Add(time.Duration(n-10) * time.Hour) // a file system tells the age of files in milliseconds
		r.must(os.Chtimes(filepath.Join(r.root, remoteDir, aggregated.RolledName(r.cfg.Node, r.clock.Now().Wall)), at, at))
	}
	if got := strings.Count(r.remote(), "node1"); got != 2 {
		t.Errorf("%d collections stay, want 2: %s", got, r.remote())
	}
	r.clock.Advance(time.Hour)
	r.must(a.Upload(t.Context(), ended(1, 2), true))
	if got := r.remote(); !strings.HasSuffix(got, fmt.Sprintf("node1_45454_%d: 1 syslog=now", r.clock.Now().Wall)) || len(r.left()) != 0 {
		t.Errorf("%q, left %q", got, r.left())
	}
}

// Without cleanup the files stay, and are collected once.
func TestCollectedFilesThatStay(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Roll, c.Cleanup = time.Hour, false })
	a := r.open(&pb.LogAggregationContext{RolledLogsIncludePattern: proto.String("log")})
	file := r.put(0, 1, "a.log", "1")
	one := []Container{{ID: containerID(1)}}
	r.must(a.Upload(t.Context(), one, false))
	r.clock.Advance(time.Hour)
	r.must(a.Upload(t.Context(), one, false))
	if got := r.remote(); strings.Count(got, "a.log") != 1 {
		t.Errorf("%q", got)
	}
	later := time.Now().Add(time.Hour)
	r.must(os.Chtimes(file, later, later))
	r.must(a.Upload(t.Context(), one, false))
	if got := r.remote(); strings.Count(got, "a.log") != 2 || len(r.left()) != 1 {
		t.Errorf("%q, left %q", got, r.left())
	}
}

// What is written to a rolled file while it is collected is not lost with it.
func TestAFileThatChangesIsNotDeleted(t *testing.T) {
	r := newRig(t)
	file := r.put(0, 1, "a.log", "1")
	dir, err := openContainer(r.dirs[0], containerID(1))
	r.must(err)
	defer dir.Close()
	_, info, err := openFile(dir, "a.log")
	r.must(err)
	x := took{r.dirs[0], Container{ID: containerID(1)}, logFile(info)}
	r.must(os.WriteFile(file, []byte("12"), 0o640))
	r.must(removeFile(x))
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	x.file.Size = 2
	info, err = os.Stat(file)
	r.must(err)
	x.file = logFile(info)
	r.must(removeFile(x))
	if _, err := os.Stat(file); err == nil {
		t.Error("it is still there")
	}
}

func TestDeleter(t *testing.T) {
	r := newRig(t)
	r.put(0, 1, "stdout", "one")
	r.put(1, 2, "stdout", "two")
	other := filepath.Join(r.dirs[0], "application_1700000000000_0008")
	r.must(os.MkdirAll(other, 0o710))
	d := &Deleter{Retain: 3 * time.Hour, Dirs: r.cfg.Dirs, Remove: r.cfg.Remove}
	if got := d.Deadline(1000); got != 1000+3*3600*1000 {
		t.Error(got)
	}
	d.Delete(appID)
	if left := r.left(); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(other); err != nil {
		t.Error(err)
	}
}

func TestBadConfigurations(t *testing.T) {
	for property, spoil := range map[string]func(*Config){
		"yarn.log-aggregation.file-formats":                 func(c *Config) { c.Layout = aggregated.Layout{Format: "Other"} },
		"yarn.nodemanager.log-aggregation.compression-type": func(c *Config) { c.Compression = "lzo" },
		"yarn.nodemanager.log-aggregation.policy.class":     func(c *Config) { c.Policy = "x.MyPolicy" },
	} {
		if _, err := New(newRig(t, spoil).cfg); err == nil || !strings.Contains(err.Error(), property) {
			t.Errorf("%s: %v", property, err)
		}
	}
}
