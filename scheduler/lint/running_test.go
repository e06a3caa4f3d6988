package lint_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/yarn"
)

// leastRefused is how many files of testdata/bad a scheduler at work must refuse.
const leastRefused = 90

// TestBadIsRefused offers every bad file to a scheduler at work, with
// applications and containers in the queues a and default, which most of the
// files have, too. Either it is refused with the error in NAME.err and nothing
// has changed, or the linter had no errors.
func TestBadIsRefused(t *testing.T) {
	refused, taken := 0, 0
	for _, path := range corpus(t, "bad", 100) {
		t.Run(name(path), func(t *testing.T) {
			in := read(t, path)
			err := offer(t, "small.xml", in)
			golden(t, path, err)
			errors, _, _ := lint.Count(lint.Check(in))
			switch {
			case err != nil:
				refused++
			case errors > 0:
				t.Errorf("%d errors, but the file was accepted", errors)
			default:
				taken++
			}
		})
	}
	if refused < leastRefused || taken < 30 {
		t.Errorf("%d files were refused and %d accepted: there should be more of both", refused, taken)
	}
}

// TestRefreshIsRefused offers files to a scheduler at work that would be good
// at a start: what makes them bad is what they would change.
func TestRefreshIsRefused(t *testing.T) {
	for _, path := range corpus(t, "refresh", 10) {
		t.Run(name(path), func(t *testing.T) {
			in := read(t, path)
			if err := refused(in); err != nil {
				t.Errorf("refused at the start, too: %v", err)
			}
			err := offer(t, "large.xml", in)
			golden(t, path, err)
			if err == nil {
				t.Error("accepted")
			}
		})
	}
}

func name(path string) string { return strings.TrimSuffix(filepath.Base(path), ".xml") }

// golden compares a refusal with NAME.err, which is not there when nothing is refused.
func golden(t *testing.T, path string, refusal error) {
	t.Helper()
	file, got := strings.TrimSuffix(path, ".xml")+".err", ""
	if refusal != nil {
		got = refusal.Error() + "\n"
	}
	if *update {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if got != "" {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("refused with\n%swant\n%s", got, want)
	}
}

// offer gives the properties to a scheduler at work. If they are refused it
// must be as before, and go on as its twin does that has never seen them.
func offer(t *testing.T, running string, in lint.Input) error {
	t.Helper()
	w := atWork(t, running)
	before := w.picture()
	next, refusal := parsed(in)
	if refusal != nil {
		w.s.Reapply()
	} else {
		verdict := w.s.Validate(next)
		w.unchanged("Validate", before)
		refusal = w.s.Reconfigure(next)
		if !sameText(verdict, refusal) {
			t.Errorf("Validate says %v, Reconfigure %v", verdict, refusal)
		}
	}
	if wrong := w.s.Check(); wrong != "" {
		t.Error(wrong)
	}
	if refusal == nil {
		return nil
	}
	w.unchanged(refusal.Error(), before)
	twin := atWork(t, running)
	for round := range 3 {
		for _, x := range []*work{w, twin} {
			x.finishSome(round)
		}
		for i := range w.nodes {
			if got, want := w.beat(i), twin.beat(i); !reflect.DeepEqual(got, want) {
				t.Fatalf("after the refusal node %d gets\n%+v, otherwise\n%+v", i, got, want)
			}
		}
	}
	if got, want := w.picture(), twin.picture(); !reflect.DeepEqual(got, want) {
		t.Errorf("after the refusal it has become\n%+v, otherwise\n%+v", got, want)
	}
	return refusal
}

func sameText(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

// work is a scheduler with nodes, applications, containers and a reservation.
type work struct {
	t     *testing.T
	s     *scheduler.Scheduler
	nodes []scheduler.NodeRef
	apps  []scheduler.AppRef
	now   int64
}

// users are who submits, and the queue that they name.
var users = map[string][][2]string{
	"small.xml": {{"ann", "a"}, {"bob", "default"}, {"cat", "default"}},
	"large.xml": {{"ann", "root.a"}, {"bob", "root.b.dev"}, {"cat", "root.draining"}, {"dan", "root.flexible.dan"}, {"eve", "default"}},
}

// atWork starts a scheduler with the queues of testdata/running and lets it
// place containers. The queue draining is stopped when it has an application.
// It has been refreshed, so that children stand in the order of a refresh.
func atWork(t *testing.T, file string) *work {
	t.Helper()
	in := read(t, filepath.Join("testdata", "running", file))
	open := in
	open.Properties = nil
	for _, p := range in.Properties {
		if !strings.HasSuffix(p.Name, ".draining.state") {
			open.Properties = append(open.Properties, p)
		}
	}
	cfg, err := parsed(open)
	if err != nil {
		t.Fatal(err)
	}
	s, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w := &work{t: t, s: s}
	for _, n := range []scheduler.Node{
		{ID: yarn.NodeID{Host: "h1", Port: 1}, Total: yarn.NewResource(10240, 16)},
		{ID: yarn.NodeID{Host: "h2", Port: 1}, Total: yarn.NewResource(7168, 12), Rack: "/r2"},
	} {
		w.nodes = append(w.nodes, s.AddNode(n))
	}
	for _, u := range users[file] {
		w.submit(u[0], u[1])
	}
	for range 4 {
		for i := range w.nodes {
			w.beat(i)
		}
	}
	if cfg, err = parsed(in); err != nil {
		t.Fatal(err)
	}
	if err := s.Reconfigure(cfg); err != nil {
		t.Fatal(err)
	}
	w.busy()
	return w
}

// submit hands an application in that wants many containers, one of them so
// large that it will be waited for.
func (w *work) submit(user, queue string) {
	w.t.Helper()
	w.now += 1000
	w.s.Advance(yarn.Now{Wall: w.now, Mono: w.now})
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(len(w.apps) + 1)}
	a := scheduler.Application{ID: id, User: user, Queue: queue}
	path, why := w.s.Place(&a)
	if !why.OK() {
		w.t.Fatalf("%s: %+v", user, why)
	}
	ref, why := w.s.AddApplication(a, path)
	if !why.OK() {
		w.t.Fatalf("%s: %+v", user, why)
	}
	w.s.AddAttempt(ref, scheduler.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: yarn.NewResource(1024, 1), StartWall: w.now})
	asks := []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}
	for i, size := range []int64{3072, 2048, 4096} {
		asks = append(asks, yarn.Ask{Priority: int32(i + 1), Where: yarn.AnyHost, Capability: yarn.NewResource(size, 1), Count: int32(3 - i), RelaxLocality: true, AllocationRequestID: -1})
	}
	if why := w.s.Normalize(ref, asks); !why.OK() {
		w.t.Fatalf("%s: %+v", user, why)
	}
	w.s.Ask(ref, asks)
	w.apps = append(w.apps, ref)
}

// decision is one thing that a heartbeat did, with names instead of indexes.
type decision struct {
	Kind      cluster.Kind
	App       int
	Container yarn.ContainerID
	Resource  yarn.Resource
}

func (w *work) beat(node int) (out []decision) {
	w.now += 1000
	for _, d := range w.s.Offer(w.nodes[node], yarn.Now{Wall: w.now, Mono: w.now}, nil) {
		box := w.s.Container(d.Container)
		if !box.Reserved {
			w.s.Launched(d.Container)
		}
		out = append(out, decision{d.Kind, int(d.App), box.ID, d.Resource})
	}
	return out
}

// finishSome ends the last container of one application.
func (w *work) finishSome(app int) {
	boxes := w.s.Containers(w.apps[app%len(w.apps)], nil)
	for i := len(boxes) - 1; i > 0; i-- {
		if !w.s.Container(boxes[i]).Reserved {
			w.s.Vacate(boxes[i])
			return
		}
	}
}

// picture is all that can be seen of a scheduler.
type picture struct {
	Queues     *scheduler.QueueTree
	Nodes      []scheduler.NodeUsage
	Apps       []scheduler.AppUsage
	Headroom   []yarn.Resource
	Maximum    []yarn.Resource
	Containers [][]scheduler.Container
	Why        [][]yarn.Reason
}

func (w *work) picture() picture {
	p := picture{Queues: w.s.Queues()}
	for _, n := range w.nodes {
		p.Nodes = append(p.Nodes, w.s.NodeUsage(n))
	}
	for _, a := range w.apps {
		usage := w.s.AppUsage(a)
		p.Apps, p.Headroom, p.Maximum = append(p.Apps, usage), append(p.Headroom, w.s.Headroom(a)), append(p.Maximum, w.s.MaximumAllocation(usage.Queue))
		var boxes []scheduler.Container
		for _, c := range w.s.Containers(a, nil) {
			boxes = append(boxes, *w.s.Container(c))
		}
		p.Containers = append(p.Containers, boxes)
		p.Why = append(p.Why, w.s.Explain(a, 10))
	}
	return p
}

func (w *work) unchanged(what string, before picture) {
	w.t.Helper()
	after := w.picture()
	if len(before.Queues.Queues) != len(after.Queues.Queues) {
		w.t.Fatalf("%s: %d queues became %d", what, len(before.Queues.Queues), len(after.Queues.Queues))
	}
	for i, was := range before.Queues.Queues {
		if is := after.Queues.Queues[i]; !reflect.DeepEqual(was, is) {
			w.t.Errorf("%s: %s changed from\n%+v to\n%+v", what, was.Path, was, is)
		}
	}
	if !reflect.DeepEqual(before, after) {
		w.t.Errorf("%s: nodes, applications or containers changed from\n%+v to\n%+v", what, before, after)
	}
}

// busy sees that there is something to lose.
func (w *work) busy() {
	w.t.Helper()
	containers, reserved := 0, int32(0)
	for _, a := range w.apps {
		u := w.s.AppUsage(a)
		containers, reserved = containers+int(u.Live), reserved+u.ReservedCount
	}
	if containers < 6 || reserved == 0 {
		w.t.Fatalf("%d containers and %d reservations", containers, reserved)
	}
}
