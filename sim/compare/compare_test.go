package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// script is a trace that a test writes.
type script struct{ lines []string }

func (s *script) add(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *script) beats(n int) {
	for range n {
		s.add(`{"do":"beat","node":"h1:1"}`)
	}
}

const header = `{"trace":1,"scheduler":"capacity","yarn-site":{"yarn.scheduler.minimum-allocation-mb":1024,"yarn.resourcemanager.am.max-attempts":1},` +
	`"capacity-scheduler":{"yarn.scheduler.capacity.root.queues":"a,b","yarn.scheduler.capacity.root.a.capacity":50,"yarn.scheduler.capacity.root.b.capacity":50,` +
	`"yarn.scheduler.capacity.maximum-am-resource-percent":1,"yarn.scheduler.capacity.root.a.user-limit-factor":2,"yarn.scheduler.capacity.root.b.user-limit-factor":2}}`

// write writes a file into the test's folder and returns its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *script) file(t *testing.T, dir string) string {
	return write(t, dir, "trace.jsonl", header+"\n"+strings.Join(s.lines, "\n")+"\n")
}

// capacityFile has properties without their prefix.
func capacityFile(properties ...string) string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for i := 0; i < len(properties); i += 2 {
		fmt.Fprintf(&b, "<property><name>yarn.scheduler.capacity.%s</name><value>%s</value></property>\n", properties[i], properties[i+1])
	}
	return b.String() + "</configuration>\n"
}

// shared is the queues of the header, whose shares are given.
func shared(a, mostA, b string) string {
	return capacityFile("root.queues", "a,b", "root.a.capacity", a, "root.a.maximum-capacity", mostA, "root.b.capacity", b,
		"maximum-am-resource-percent", "1", "root.a.user-limit-factor", "10", "root.b.user-limit-factor", "10")
}

// busy is a cluster of 8 containers on which a1 wants 6 that run for about 20 heartbeats each, and then a2 comes, in the same queue, and wants 1.
func busy() *script {
	s := &script{}
	s.add(`{"do":"node-add","node":"h1:1","resource":{"memory-mb":8192,"vcores":8}}`)
	s.add(`{"do":"submit","app":"a1","user":"ann","queue":"a","am":{"memory-mb":1024,"vcores":1}}`)
	s.beats(1)
	s.add(`{"do":"am-register","app":"a1"}`)
	s.add(`{"do":"ask","app":"a1","asks":[{"resource":{"memory-mb":1024,"vcores":1},"count":6}]}`)
	s.beats(7)
	s.add(`{"do":"ask","app":"a1"}`)
	s.add(`{"do":"submit","app":"a2","user":"bob","queue":"a","am":{"memory-mb":1024,"vcores":1}}`)
	s.beats(2)
	s.add(`{"do":"am-register","app":"a2"}`)
	s.beats(16)
	s.add(`{"do":"beat","node":"h1:1","completed":["a1/h1:1/p1/1024x1#1","a1/h1:1/p1/1024x1#2","a1/h1:1/p1/1024x1#3","a1/h1:1/p1/1024x1#4","a1/h1:1/p1/1024x1#5","a1/h1:1/p1/1024x1#6"]}`)
	s.add(`{"do":"ask","app":"a2","asks":[{"resource":{"memory-mb":1024,"vcores":1},"count":1}]}`)
	s.add(`{"do":"am-finish","app":"a1"}`)
	s.add(`{"do":"beat","node":"h1:1","completed":["a1/am"]}`)
	s.add(`{"do":"ask","app":"a2"}`)
	s.beats(2)
	s.add(`{"do":"beat","node":"h1:1","completed":["a2/h1:1/p1/1024x1#1"]}`)
	s.add(`{"do":"am-finish","app":"a2"}`)
	s.add(`{"do":"beat","node":"h1:1","completed":["a2/am"]}`)
	return s
}

// reportsOf runs the command with --output json.
func reportsOf(t *testing.T, want int, args ...string) []*Report {
	t.Helper()
	code, out, bad := command(append(args, "--output", "json")...)
	var x struct{ Comparisons []*Report }
	if err := json.Unmarshal([]byte(out), &x); err != nil || code != want || bad != "" {
		t.Fatalf("exit %d, want %d: %v\n%s%s", code, want, err, out, bad)
	}
	return x.Comparisons
}

func find(t *testing.T, r *Report, name string) *Pair {
	t.Helper()
	i := slices.IndexFunc(r.Apps, func(p Pair) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("no application %s in %+v", name, r.Apps)
	}
	return &r.Apps[i]
}

// What a trace holds of its masters: when they asked, told by what of theirs had ended, and how long containers ran.
func TestWorkload(t *testing.T) {
	dir := t.TempDir()
	w, err := ReadFile(busy().file(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Apps) != 2 || len(w.Apps[0].Plans) != 1 || len(w.Apps[1].Plans) != 1 || len(w.Notes) != 0 {
		t.Fatalf("%+v", w)
	}
	one := w.Apps[0].Plans[0]
	if len(one.Runs) != 6 || one.Runs[0].Time != 21 || len(one.Steps) != 2 || one.Steps[0].After != 0 || one.Steps[0].Delay != 1 || one.Steps[0].Asks[0].Count != 6 ||
		one.Steps[1].After != 6 || one.Steps[1].Delay != 2 || !one.Steps[1].Finish {
		t.Errorf("%+v", one)
	}
	if two := w.Apps[1]; two.Began != 1 || two.At != 13 || two.Plans[0].Boot != 2 || len(two.Plans[0].Steps) != 2 {
		t.Errorf("%+v %+v", two, two.Plans[0])
	}
}

// A queue that may have half of the cluster lets wait what would start at once in one that may have all of it.
func TestHalf(t *testing.T) {
	dir := t.TempDir()
	trace := busy().file(t, dir)
	all, half := write(t, dir, "all.xml", shared("50", "100", "50")), write(t, dir, "half.xml", shared("50", "50", "50"))
	r := reportsOf(t, codeDiffers, trace, "--scheduler", all, "--scheduler", half)[0]
	if r.A.Scheduler != "CapacityScheduler" || r.Equal != 0 || r.Apps[0].Name != "a2" {
		t.Errorf("%+v", r)
	}
	// Half of the node are 4 containers: the master, 3 of the 6 that a1 wants, and the other 3 when those have ended.
	a1, a2 := find(t, r, "a1"), find(t, r, "a2")
	if a1.A.Master != a1.B.Master || a1.A.First != a1.B.First || a1.B.Last-a1.A.Last < 15 || a1.B.End-a1.A.End < 15 || a1.B.Granted != 6 {
		t.Errorf("a1: %+v %+v", a1.A, a1.B)
	}
	if a2.A.Master != 1 || a2.B.Master-a2.A.Master < 15 || a2.A.State != "FINISHED" || a2.B.State != "FINISHED" {
		t.Errorf("a2: %+v %+v", a2.A, a2.B)
	}
	if q := r.Queues[0]; len(r.Queues) != 1 || q.Queue != "root.a" || q.A.Apps != 2 || q.B.Ended != 2 || q.B.MasterP95 != a2.B.Master || q.B.Waited <= q.A.Waited {
		t.Errorf("%+v", r.Queues)
	}
	code, out, _ := command(trace, trace, "--scheduler", all, "--scheduler", half)
	for _, want := range []string{"A: " + all + " (CapacityScheduler), B: " + half, "\na2 ", "2 of 2 applications differ: under B 0 start earlier, 1 later\n", "all 2 files: 4 of 4 applications differ"} {
		if code != codeDiffers || !strings.Contains(out, want) {
			t.Errorf("%d, want %q in\n%s", code, want, out)
		}
	}
}

// The model comes to what was recorded under the configuration of the recording, and a file with the same properties to the same.
func TestSame(t *testing.T) {
	dir := t.TempDir()
	trace := busy().file(t, dir)
	same := write(t, dir, "same.xml", capacityFile("root.queues", "a,b", "root.a.capacity", "50", "root.b.capacity", "50", "maximum-am-resource-percent", "1",
		"root.a.user-limit-factor", "2", "root.b.user-limit-factor", "2"))
	r := reportsOf(t, codeSame, trace, "--scheduler", same)[0]
	if r.Equal != 2 || r.Check == nil || r.Check.Masters != 2 || r.Check.Near != 2 || r.A.File != Recorded {
		t.Errorf("%+v %+v", r, r.Check)
	}
	if code, out, _ := command(trace, "--scheduler", same, "--scheduler", same); code != codeSame || !strings.Contains(out, "\nno difference in 2 applications\n") ||
		strings.Contains(out, "USER") || strings.Contains(out, "check of the model") {
		t.Errorf("%d\n%s", code, out)
	}
	if _, out, _ := command(trace, "--scheduler", same, "--all"); !strings.Contains(out, "\na2 ") {
		t.Error(out)
	}
}

const fairFile = `<allocations>
  <queue name="a"/>
  <queue name="b"/>
</allocations>`

// Under the FairScheduler two queues of the same weight come to what they have under the CapacityScheduler with a half each.
func TestFair(t *testing.T) {
	dir := t.TempDir()
	s := &script{}
	s.add(`{"do":"node-add","node":"h1:1","resource":{"memory-mb":8192,"vcores":8}}`)
	for i, queue := range []string{"a", "b"} {
		s.add(`{"do":"submit","app":"a%d","user":"ann","queue":"%s","am":{"memory-mb":1024,"vcores":1}}`, i, queue)
		s.beats(2)
		s.add(`{"do":"am-register","app":"a%d"}`, i)
	}
	for i := range 2 {
		s.add(`{"do":"ask","app":"a%d","asks":[{"resource":{"memory-mb":1024,"vcores":1},"count":8}]}`, i)
	}
	s.beats(10)
	for i := range 2 {
		s.add(`{"do":"ask","app":"a%d"}`, i)
	}
	s.beats(2)
	trace := s.file(t, dir)
	fair, capacity := write(t, dir, "fair.xml", fairFile), write(t, dir, "capacity.xml", shared("50", "100", "50"))
	r := reportsOf(t, codeSame, trace, "--scheduler", fair, "--scheduler", capacity)[0]
	if r.A.Scheduler != "FairScheduler" || r.B.Scheduler != "CapacityScheduler" {
		t.Errorf("%+v %+v", r.A, r.B)
	}
	for _, name := range []string{"a0", "a1"} {
		// Nothing ends: 8 containers are 2 masters and 3 more for each queue.
		if p := find(t, r, name); p.A.Master < 0 || p.B.Master < 0 || p.A.Granted != 3 || p.B.Granted != 3 || p.A.Pending != 5 || p.B.Pending != 5 {
			t.Errorf("%s: %+v %+v", name, p.A, p.B)
		}
	}
	if len(r.Queues) != 2 || r.Queues[1].Queue != "root.b" {
		t.Errorf("%+v", r.Queues)
	}
	if r := reportsOf(t, codeDiffers, trace, "--scheduler", fair, "--scheduler", Fifo)[0]; r.B.Scheduler != "FifoScheduler" || find(t, r, "a0").B.Granted != 6 {
		t.Errorf("%+v %+v", r.B, find(t, r, "a0").B)
	}
}

// An application that one configuration refuses comes first, with the reason.
func TestRefused(t *testing.T) {
	dir := t.TempDir()
	trace := busy().file(t, dir)
	other := write(t, dir, "other.xml", capacityFile("root.queues", "b", "root.b.capacity", "100"))
	r := reportsOf(t, codeDiffers, trace, "--scheduler", other)[0]
	p := find(t, r, "a1")
	if p.A.Refused != "" || !strings.Contains(p.B.Refused, "unknown queue") || p.B.Master != Never {
		t.Errorf("%+v", p.B)
	}
	code, out, _ := command(trace, "--scheduler", other)
	if code != codeDiffers || !strings.Contains(out, "a1, B: refused: ") || !strings.Contains(out, "2 start under A alone, 2 are refused by B alone") {
		t.Errorf("%d\n%s", code, out)
	}
}

// What cannot be compared is said with its place, and nothing is printed of it.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	trace := busy().file(t, dir)
	good := write(t, dir, "good.xml", shared("50", "100", "50"))
	site := write(t, dir, "site.xml", "<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>2048</value></property></configuration>")
	for _, c := range []struct {
		args string
		want string
	}{
		{"", "no trace and no recording is given"},
		{trace, "give one or two configurations"},
		{trace + " --scheduler x --scheduler y --scheduler z", "give one or two configurations"},
		{trace + " --scheduler", "--scheduler needs a value"},
		{trace + " --scheduler=" + good + " --output yaml", "only json"},
		{trace + " --fast", "unknown option --fast"},
		{trace + " --scheduler " + good + " --site x --site y --site z", "once for each"},
		{trace + " --scheduler " + filepath.Join(dir, "none.xml"), "none.xml"},
		{filepath.Join(dir, "none.jsonl") + " --scheduler " + good, "none.jsonl"},
		{trace + " --scheduler " + trace, `the root element is ""`},
		{trace + " --scheduler " + write(t, dir, "bad.xml", shared("70", "100", "50")), "bad.xml"},
		{trace + " --scheduler " + write(t, dir, "badfair.xml", "<allocations>\n<queue name=\"a\">\n<weight>x</weight>\n</queue>\n</allocations>"), "badfair.xml:3"},
		{trace + " --scheduler " + write(t, dir, "broken.xml", "<configuration>\n<property>\n</configuration>"), "broken.xml:3"},
		{write(t, dir, "bad.jsonl", header+"\n{\"do\":\"dance\"}") + " --scheduler " + good, "bad.jsonl:2: event 1 (dance)"},
		{write(t, dir, "empty.jsonl", header) + " --scheduler " + good, "nothing was recorded"},
		{write(t, dir, "box", "Heddle black box 1\nhello") + " --scheduler " + good, "is damaged"},
		{trace + " --scheduler recorded --scheduler " + good + " --site " + site + " --site " + site, "the recorded configuration has properties of its own"},
	} {
		if code, out, bad := command(strings.Fields(c.args)...); code != codeUsage || !strings.Contains(bad, c.want) || out != "" {
			t.Errorf("%s: exit %d, want %q\n%s%s", c.args, code, c.want, out, bad)
		}
	}
	if code, out, _ := command("--help"); code != 0 || !strings.HasPrefix(out, "Usage: yarn sim compare") {
		t.Errorf("%d %s", code, out)
	}
}

// A site's properties count instead of the recorded ones, for both configurations or for one.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	trace := busy().file(t, dir)
	good := write(t, dir, "good.xml", shared("50", "100", "50"))
	site := func(name, mb string) string {
		return write(t, dir, name, "<configuration><property><name>yarn.scheduler.minimum-allocation-mb</name><value>"+mb+"</value></property></configuration>")
	}
	large, small := site("large.xml", "2048"), site("small.xml", "1024")
	r := reportsOf(t, codeDiffers, trace, "--scheduler", good, "--scheduler", good, "--site", small, "--site", large)[0]
	// Containers of 2 GiB: the master and three more.
	if a, b := find(t, r, "a1").A, find(t, r, "a1").B; a.Last-a.First >= b.Last-b.First {
		t.Errorf("%+v %+v", a, b)
	}
	reportsOf(t, codeSame, trace, "--scheduler", good, "--scheduler", good, "--site", large)
	reportsOf(t, codeDiffers, trace, "--scheduler", good, "--site", large)
}

// A container that is lost with its node is no work of its own: the master of the model asks for it again, as the recorded one did.
func TestLost(t *testing.T) {
	dir := t.TempDir()
	s := &script{}
	const size = `{"memory-mb":1024,"vcores":1}`
	s.add(`{"do":"node-add","node":"h0:1","resource":%s}`, size)
	s.add(`{"do":"submit","app":"a1","user":"ann","queue":"a","am":%s}`, size)
	s.add(`{"do":"beat","node":"h0:1"}`)
	s.add(`{"do":"am-register","app":"a1"}`)
	s.add(`{"do":"node-add","node":"h1:1","resource":%s}`, size)
	s.add(`{"do":"ask","app":"a1","asks":[{"resource":%s,"count":1}]}`, size)
	s.beats(1)
	s.add(`{"do":"ask","app":"a1"}`)
	s.beats(3)
	s.add(`{"do":"node-add","node":"h2:1","resource":%s}`, size)
	s.add(`{"do":"node-remove","node":"h1:1"}`)
	s.add(`{"do":"ask","app":"a1","asks":[{"resource":%s,"count":1}]}`, size)
	s.add(`{"do":"beat","node":"h2:1"}`)
	s.add(`{"do":"ask","app":"a1"}`)
	for range 10 {
		s.add(`{"do":"beat","node":"h2:1"}`)
	}
	s.add(`{"do":"beat","node":"h2:1","completed":["a1/h2:1/p1/1024x1#1"]}`)
	s.add(`{"do":"am-finish","app":"a1"}`)
	s.add(`{"do":"beat","node":"h0:1","completed":["a1/am"]}`)
	file := s.file(t, dir)
	w, err := ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if p := w.Apps[0].Plans[0]; len(p.Runs) != 1 || p.Runs[0].Time != 11 || len(p.Steps) != 2 || !p.Steps[1].Finish || p.Steps[1].After != 1 {
		t.Errorf("%+v", p)
	}
	r := reportsOf(t, codeSame, file, "--scheduler", Recorded, "--scheduler", Recorded)[0]
	if a := find(t, r, "a1").A; a.Granted != 2 || a.State != "FINISHED" || a.Pending != 0 {
		t.Errorf("%+v", a)
	}
}
