package process

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// fake is a proc file system of the test's own.
type fake struct {
	t    *testing.T
	root Root
}

func newFake(t *testing.T) fake { return fake{t, Root(t.TempDir())} }

func (f fake) write(name, text string) {
	f.t.Helper()
	path := filepath.Join(string(f.root), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func statLine(p Info) string {
	return fmt.Sprintf("%d (%s) %c %d %d %d 0 -1 4194304 1 2 3 4 %d %d 0 0 20 0 1 0 %d %d %d 18446744073709551615 1 1 0 0\n",
		p.PID, p.Name, p.State, p.Parent, p.Group, p.Session, p.User, p.System, p.Start, p.Virtual, p.Resident)
}

func (f fake) process(p Info) {
	if p.State == 0 {
		p.State = 'S'
	}
	f.write(strconv.Itoa(p.PID)+"/stat", statLine(p))
}

func (f fake) table() *Table {
	f.t.Helper()
	table, err := f.root.Table()
	if err != nil {
		f.t.Fatal(err)
	}
	return table
}

func ids(infos []Info) []int {
	out := []int{}
	for _, p := range infos {
		out = append(out, p.PID)
	}
	return out
}

func TestStat(t *testing.T) {
	want := Info{PID: 77, Parent: 5, Group: 70, Session: 60, Name: "a) R 1 (b\n c", State: 'S', User: 11, System: 12, Start: 13, Virtual: 14, Resident: 15}
	got, err := parseStat([]byte(statLine(want)))
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	for _, text := range []string{"", "77", "77 (a", "77 a) S", "77 (a) S 1 2", "x" + statLine(want), strings.Replace(statLine(want), " 14 ", " x ", 1),
		strings.Replace(statLine(want), ") S", ") SS", 1)} {
		if _, err := parseStat([]byte(text)); !errors.Is(err, errStat) {
			t.Errorf("%q: got %v, want it refused", text, err)
		}
	}
}

func TestStatOfThisProcess(t *testing.T) {
	p, err := Linux.Stat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	session, _, _ := syscall.Syscall(syscall.SYS_GETSID, 0, 0, 0)
	if p.PID != os.Getpid() || p.Parent != os.Getppid() || p.Group != syscall.Getpgrp() || p.Session != int(session) || p.Dead() {
		t.Errorf("got %+v", p)
	}
	if p.Resident <= 0 || p.Virtual < p.Resident*int64(os.Getpagesize()) {
		t.Errorf("got %d pages in memory of %d bytes", p.Resident, p.Virtual)
	}
	started, err := Linux.Started(p)
	if age := time.Since(started); err != nil || age < -2*time.Second || age > time.Hour {
		t.Errorf("began %v ago, %v", age, err)
	}
	if _, err := Linux.Stat(1 << 30); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a process that is not: got %v", err)
	}
	if line := Linux.CommandLine(os.Getpid()); !strings.HasPrefix(line, os.Args[0]+"\x00") {
		t.Errorf("command line %q", line)
	}
}

// What the table says of a real child, and of one that nobody has waited for.
func TestTableSeesChildren(t *testing.T) {
	child := exec.Command("sleep", "100")
	child.Env = []string{"MARK=here"}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer child.Process.Kill()
	pid := child.Process.Pid
	table, err := Linux.Table()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(ids(table.Tree(os.Getpid())), pid) {
		t.Errorf("%d is not in the tree of %d: %v", pid, os.Getpid(), ids(table.Tree(os.Getpid())))
	}
	if !slices.Contains(ids(table.All()), 1) || !table.Adopters(pid)[os.Getpid()] || !table.Adopters(pid)[1] {
		t.Error("init is missing, or no ancestor")
	}
	// The child may not have begun its program when Start returns.
	for !strings.HasPrefix(Linux.CommandLine(pid), "sleep\x00") {
		time.Sleep(time.Millisecond)
	}
	if value, ok := Linux.Variable(pid, "MARK"); !ok || value != "here" {
		t.Errorf("the variable is %q, %v", value, ok)
	}
	if value, ok := Linux.Variable(1<<30, "MARK"); ok {
		t.Errorf("a process that is not has the variable %q", value)
	}
	child.Process.Kill()
	for p, err := Linux.Stat(pid); err == nil && !p.Dead(); p, err = Linux.Stat(pid) {
		time.Sleep(time.Millisecond)
	}
	table, err = Linux.Table()
	if p, ok := table.Get(pid); err != nil || !ok || !p.Dead() || table.Tree(pid) != nil {
		t.Errorf("the dead child is %+v with tree %v, %v", p, table.Tree(pid), err)
	}
	child.Wait()
}

func TestTree(t *testing.T) {
	f := newFake(t)
	for _, p := range []Info{
		{PID: 1, Session: 1, Group: 1},
		{PID: 2}, // a thread of the kernel
		{PID: 50, Parent: 1, Session: 50, Group: 50},
		{PID: 90, Parent: 50, Session: 90, Group: 90},     // the wrapper
		{PID: 100, Parent: 90, Session: 100, Group: 100},  // the container
		{PID: 95, Parent: 100, Session: 100, Group: 100},  // ids go round
		{PID: 101, Parent: 95, Session: 100, Group: 101},  // setpgid
		{PID: 102, Parent: 1, Session: 100, Group: 100},   // its parent has ended
		{PID: 103, Parent: 100, Session: 103, Group: 103}, // setsid
		{PID: 104, Parent: 1, Session: 103, Group: 104},   // child of a dead one in there
		{PID: 105, Parent: 104, Session: 105, Group: 105},
		{PID: 200, Parent: 90, Session: 200, Group: 200}, // another container
		{PID: 300, Parent: 1, Session: 300, Group: 300},
	} {
		f.process(p)
	}
	f.write("meminfo", "")
	f.write("12x/stat", "")
	f.write("400/stat", "nonsense")
	f.write("401/stat", statLine(Info{PID: 300, State: 'S'})) // says it is another
	table := f.table()
	if got, want := ids(table.Tree(100)), []int{100, 95, 101, 102, 103, 104, 105}; !slices.Equal(got, want) {
		t.Errorf("tree: got %v, want %v", got, want)
	}
	if got := table.Tree(99); got != nil {
		t.Errorf("a process that is not has the tree %v", got)
	}
	if got, want := ids(table.Closure(200, 300, 1, 0)), []int{200, 300}; !slices.Equal(got, want) {
		t.Errorf("closure: got %v, want %v", got, want)
	}
	if got := ids(table.All()); !slices.Equal(got, []int{1, 2, 50, 90, 95, 100, 101, 102, 103, 104, 105, 200, 300}) {
		t.Errorf("all: %v", got)
	}
	if got := table.Adopters(90); len(got) != 2 || !got[1] || !got[50] {
		t.Errorf("adopters: %v", got)
	}
	if among := map[int]bool{95: true, 100: true, 102: true}; !table.Group(100, among) || table.Group(100, map[int]bool{100: true}) {
		t.Error("the group is not told right")
	}
	if _, err := Root(filepath.Join(string(f.root), "none")).Table(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no proc file system: %v", err)
	}
}

// The leader of a session has ended, others of it live on.
func TestClosureOfADeadLeader(t *testing.T) {
	f := newFake(t)
	f.process(Info{PID: 101, Parent: 1, Session: 100, Group: 100})
	f.process(Info{PID: 102, Parent: 101, Session: 102, Group: 102})
	table := f.table()
	if got := ids(table.Closure(100)); !slices.Equal(got, []int{101, 102}) {
		t.Errorf("got %v", got)
	}
	if table.Tree(100) != nil {
		t.Error("a dead process has a tree")
	}
}

func TestVariable(t *testing.T) {
	long := strings.Repeat("x", 3*maxValue)
	environ := "A=1\x00LONG=" + long + "\x00Y" + long + "CONTAINER_ID=no\x00\x00CONTAINER_ID=c=1\x00EMPTY=\x00LAST=end"
	for name, want := range map[string]string{"A": "1", "CONTAINER_ID": "c=1", "LAST": "end", "EMPTY": "", "LONG": long[:maxValue-len("LONG=")]} {
		for _, from := range []io.Reader{strings.NewReader(environ), strings.NewReader(environ + "\x00"), iotest.OneByteReader(strings.NewReader(environ))} {
			if got, ok := variable(from, name); got != want || !ok {
				t.Errorf("%s: got %.50q, %v", name, got, ok)
			}
		}
	}
	for _, name := range []string{"ID", "CONTAINER", "x", "B"} {
		if got, ok := variable(strings.NewReader(environ), name); ok {
			t.Errorf("%s: got %.50q", name, got)
		}
	}
}

func TestMeter(t *testing.T) {
	f := newFake(t)
	page := int64(os.Getpagesize())
	root := Info{PID: 100, Session: 100, Group: 100, Start: 5, User: 100, System: 20, Virtual: 1000, Resident: 3}
	f.process(root)
	m := NewMeter(100)
	u, ok := m.Sample(f.table(), time.Second)
	if !ok || u.Physical != 3*page || u.Virtual != 1000 || u.AgedPhysical != 0 || u.AgedVirtual != 0 || u.Cores != 0 || u.Spent != 1200*time.Millisecond {
		t.Fatalf("first: %+v, %v", u, ok)
	}
	// It forks, and works for 1.5 of 3 seconds, the child for 3 more.
	root.User += 150
	f.process(root)
	f.process(Info{PID: 101, Parent: 100, Session: 100, Group: 100, Start: 6, User: 300, Virtual: 1000, Resident: 3})
	u, ok = m.Sample(f.table(), 4*time.Second)
	if !ok || u.Physical != 6*page || u.Virtual != 2000 || u.AgedPhysical != 3*page || u.AgedVirtual != 1000 || u.Cores != 1.5 || u.Spent != 5700*time.Millisecond {
		t.Fatalf("second: %+v, %v", u, ok)
	}
	// Another process under the child's id is young again, and its time does not go backwards.
	f.process(Info{PID: 101, Parent: 100, Session: 100, Group: 100, Start: 7, User: 10, Virtual: 1000, Resident: 4})
	u, _ = m.Sample(f.table(), 5*time.Second)
	if u.AgedPhysical != 3*page || u.Physical != 7*page || u.Cores != 0.1 {
		t.Fatalf("third: %+v", u)
	}
	if u, _ = m.Sample(f.table(), 5*time.Second); u.AgedPhysical != 7*page || u.Cores != 0 {
		t.Fatalf("the clock stood still: %+v", u)
	}
	root.Start = 9
	f.process(root)
	if u, ok = m.Sample(f.table(), 6*time.Second); ok {
		t.Fatalf("another process under the id: %+v", u)
	}
}

func TestLimits(t *testing.T) {
	both := Limits{Physical: 100, Virtual: 210, CheckPhysical: true, CheckVirtual: true}
	for _, c := range []struct {
		name   string
		limits Limits
		usage  Usage
		exit   int32
		by     int64
	}{
		{"within", both, Usage{Physical: 100, AgedPhysical: 100, Virtual: 210, AgedVirtual: 210}, 0, 0},
		{"young, twice", both, Usage{Physical: 200, AgedPhysical: 90, Virtual: 420}, 0, 0},
		{"young, more than twice", both, Usage{Physical: 201}, yarn.ExitKilledExceededPMem, 101},
		{"old, more than once", both, Usage{Physical: 150, AgedPhysical: 101}, yarn.ExitKilledExceededPMem, 50},
		{"virtual first", both, Usage{Physical: 500, AgedPhysical: 500, Virtual: 421}, yarn.ExitKilledExceededVMem, 211},
		{"virtual not checked", Limits{Physical: 100, Virtual: 210, CheckPhysical: true}, Usage{Physical: 1000, Virtual: 1 << 40}, yarn.ExitKilledExceededPMem, 900},
		{"nothing checked", Limits{}, Usage{Physical: 1000, Virtual: 1 << 40}, 0, 0},
		{"no overflow", Limits{Physical: 1 << 62, CheckPhysical: true}, Usage{Physical: 1<<63 - 1}, 0, 0},
	} {
		e, over := c.limits.Over(c.usage)
		if over != (c.exit != 0) || e.Exit != c.exit || e.By != c.by {
			t.Errorf("%s: got %+v, %v", c.name, e, over)
		}
	}
}

func TestExplain(t *testing.T) {
	f := newFake(t)
	f.process(Info{PID: 100, Parent: 90, Session: 100, Group: 100, Name: "bash", User: 1, System: 2, Virtual: 4 << 20, Resident: 300})
	f.process(Info{PID: 101, Parent: 100, Session: 100, Group: 100, Name: "java", User: 30, System: 4, Virtual: 3 << 30, Resident: 400000})
	f.write("100/cmdline", "/bin/bash\x00-c\x00java -Xmx1g\nsecond line\x00")
	f.write("101/cmdline", "")
	id, err := yarn.ParseContainerID("container_1700000000000_0007_01_000002")
	if err != nil {
		t.Fatal(err)
	}
	u := Usage{Physical: 1610612736, Virtual: 3 << 30, Tree: f.table().Tree(100)}
	l := Limits{Physical: 1280 << 20, Virtual: 2818572288, CheckPhysical: true}
	e, over := l.Over(Usage{Physical: u.Physical, AgedPhysical: u.Physical})
	if !over {
		t.Fatal("not over")
	}
	const want = "Container [pid=100,containerID=container_1700000000000_0007_01_000002] is running 268435456B beyond the 'PHYSICAL' memory limit. " +
		"Current usage: 1.5 GB of 1.3 GB physical memory used; 3 GB of 2.6 GB virtual memory used. Killing container.\n" +
		"Dump of the process-tree for container_1700000000000_0007_01_000002 :\n" +
		"\t|- PID PPID PGRPID SESSID CMD_NAME USER_MODE_TIME(MILLIS) SYSTEM_TIME(MILLIS) VMEM_USAGE(BYTES) RSSMEM_USAGE(PAGES) FULL_CMD_LINE\n" +
		"\t|- 100 90 100 100 (bash) 1 2 4194304 300 /bin/bash -c java -Xmx1g\n" +
		"\t|- 101 100 100 100 (java) 30 4 3221225472 400000 N/A\n"
	if got := l.Explain(e, u, id, f.root); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A container with a thousand processes and megabytes of arguments does not make a novel.
func TestDumpIsBounded(t *testing.T) {
	f := newFake(t)
	var tree []Info
	for pid := 100; pid < 100+5*MaxDump; pid++ {
		tree = append(tree, Info{PID: pid, Name: "sh"})
	}
	f.write("100/cmdline", strings.Repeat("\xff", 1<<20))
	text := f.root.Dump(tree)
	if n := strings.Count(text, "\n"); n != MaxDump+2 || len(text) > 64<<10 || !strings.HasSuffix(text, "\t|- and 800 more\n") {
		t.Errorf("%d lines, %d bytes, ends %q", n, len(text), text[len(text)-30:])
	}
}

// The expectations are what org.apache.hadoop.util.StringUtils.TraditionalBinaryPrefix gives.
func TestSize(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 1023: "1023", 1024: "1 K", 1280: "1.3 K", 1792: "1.8 K", 1 << 20: "1 M", 1<<20 - 1: "1.0 M",
		1342177280: "1.3 G", 2254857830: "2.1 G", 1 << 30: "1 G", 1<<30 + 1: "1.0 G", 1023 << 20: "1023 M", 1<<40 - 1: "1.0 T", 1<<63 - 1: "8.0 E", 1 << 60: "1 E"} {
		if got := Size(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

func TestMemory(t *testing.T) {
	f := newFake(t)
	if _, err := f.root.Memory(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	const text = "MemTotal:       1000 kB\nMemFree:         300 kB\nInactive:        200 kB\nInactive(file):   50 kB\nSwapTotal: 400 kB\nSwapFree: 100 kB\n" +
		"HardwareCorrupted: 10 kB\nHugePages_Total: 2\nHugepagesize: 20 kB\nnonsense\nBad: x kB\n"
	f.write("meminfo", text)
	if got, err := f.root.Memory(); err != nil || got != (Memory{950 << 10, 350 << 10, 1350 << 10, 450 << 10}) {
		t.Errorf("got %+v, %v", got, err)
	}
	f.write("meminfo", strings.Replace(text, "Inactive(file)", "Other", 1))
	if got, err := f.root.Memory(); err != nil || got.Available != 500<<10 {
		t.Errorf("an old kernel: got %+v, %v", got, err)
	}
	f.write("meminfo", "MemFree: 1 kB\n")
	if _, err := f.root.Memory(); err == nil {
		t.Error("no total is no error")
	}
	if got, err := Linux.Memory(); err != nil || got.Available <= 0 || got.Available >= got.Physical {
		t.Errorf("this machine: %+v, %v", got, err)
	}
}

func TestCPU(t *testing.T) {
	f := newFake(t)
	f.write("stat", "cpu  100 10 90 5000 7 0 3 0 0 0\ncpu0 50 5 45 2500 3 0 1 0 0 0\ncpu1 50 5 45 2500 4 0 2 0 0 0\nintr 1 2 3\nbtime 1700000000\n")
	before, err := f.root.CPU()
	if err != nil || before != (CPU{200, 2}) {
		t.Fatalf("got %+v, %v", before, err)
	}
	if got := (CPU{350, 2}).Cores(before, time.Second); got != 1.5 {
		t.Errorf("%v cores", got)
	}
	if before.Cores(CPU{350, 2}, time.Second) != 0 || before.Cores(CPU{}, 0) != 0 {
		t.Error("clocks that go back are not 0")
	}
	if at, err := f.root.Started(Info{Start: 250}); err != nil || at.UnixMilli() != 1700000002500 {
		t.Errorf("started %v, %v", at, err)
	}
	for _, text := range []string{"", "cpu0 1 2 3\n", "cpu 1 x 3\n", "cpu 1 -2 3\n"} {
		f.write("stat", text)
		if _, err := f.root.CPU(); err == nil {
			t.Errorf("%q is taken", text)
		}
		if _, err := f.root.Started(Info{}); err == nil {
			t.Errorf("%q has a time of boot", text)
		}
	}
	if got, err := Linux.CPU(); err != nil || got.Processors < 1 || got.Busy <= 0 {
		t.Errorf("this machine: %+v, %v", got, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(statLine(Info{PID: 77, Name: "a) (b", State: 'S'})))
	f.Add([]byte("cpu  1 2 3 4\nbtime 5\n"))
	f.Add([]byte("MemTotal:  10 kB\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if p, err := parseStat(text); err == nil {
			again, err := parseStat([]byte(statLine(p)))
			if err != nil || again != p {
				t.Fatalf("%+v became %+v, %v", p, again, err)
			}
		}
		_, _ = parseCPU(string(text))
		parseMeminfo(string(text))
		entry, _, _ := bytes.Cut(text, []byte{0})
		if name, value, ok := bytes.Cut(entry, []byte("=")); ok && len(entry) < maxValue {
			if got, ok := variable(bytes.NewReader(text), string(name)); !ok || got != string(value) {
				t.Fatalf("%q: its first variable is %q, %v", text, got, ok)
			}
		}
		if strings.Contains(shown(string(text)), "\n") {
			t.Fatal("more than a line")
		}
	})
}

func BenchmarkTable(b *testing.B) {
	for b.Loop() {
		if _, err := Linux.Table(); err != nil {
			b.Fatal(err)
		}
	}
}

func TestCatches(t *testing.T) {
	f := newFake(t)
	f.write("7/status", "Name:\tx\nSigIgn:\t0000000000000004\nSigCgt:\t8000000000004002\nCapInh:\t0000000000000004\n")
	f.write("8/status", "Name:\tx\n")
	for _, c := range []struct {
		pid    int
		signal syscall.Signal
		want   bool
	}{{7, syscall.SIGINT, true}, {7, syscall.SIGTERM, true}, {7, 64, true}, {7, syscall.SIGQUIT, false}, {8, syscall.SIGINT, false}, {9, syscall.SIGINT, false}} {
		if got := f.root.Catches(c.pid, c.signal); got != c.want {
			t.Errorf("%d, %v: %v", c.pid, c.signal, got)
		}
	}
}

func TestRealtimeLimit(t *testing.T) {
	f := newFake(t)
	const head = "Limit                     Soft Limit           Hard Limit           Units     \nMax realtime priority     3                    4                    \n"
	for text, want := range map[string]uint64{
		head + "Max realtime timeout      5                    18446744073709551614 us        \n": 1<<64 - 2,
		head + "Max realtime timeout      6                    7                    us":           7,
		head + "Max realtime timeout      unlimited            unlimited            us        \n": 0,
		head + "Max realtime timeout      5\n":                                                    0,
		head:                                                                                      0,
		"":                                                                                        0,
	} {
		f.write("77/limits", text)
		if got, ok := f.root.RealtimeLimit(77); got != want || ok != (want != 0) {
			t.Errorf("%q: got %d, %v", text, got, ok)
		}
	}
	if _, ok := f.root.RealtimeLimit(78); ok {
		t.Error("a process that is not has a limit")
	}
}
