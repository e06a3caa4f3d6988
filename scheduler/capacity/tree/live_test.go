package tree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// server is a Server that places nothing. Applications are in a leaf because a test says so.
type server struct {
	parts      *cluster.Parts
	tree       *Tree
	changed    []string        // whose shares are said to have changed
	unreported map[*Queue]bool // leaves whose entitlement was computed, and nobody was told
}

type facts struct{ apps []yarn.ApplicationID }

func (f *facts) NumApps() int32 { return int32(len(f.apps)) }

func (f *facts) Applications(ids []yarn.ApplicationID) []yarn.ApplicationID {
	return append(ids, f.apps...)
}

func (s *server) Added(q *Queue) {
	EachLabel(q.Conf, func(label string) { s.parts.PartOf(label) })
	q.Facts = &facts{}
	s.tree.Root.Each(func(q *Queue) { q.Grow(s.parts.Partitions()) })
}

func (s *server) SharesChanged(q *Queue) {
	s.changed = append(s.changed, q.Path)
	q.Each(func(q *Queue) { delete(s.unreported, q) })
}

func (s *server) Entitled(q *Queue, _ *yarn.Resource) { s.unreported[q] = true }

type failer interface{ Fatalf(string, ...any) }

// parse reads lines such as "root.queues=a,b".
func parse(t failer, lines string) *config.Capacity {
	cfg, err := tryParse(lines)
	if err != nil {
		t.Fatalf("%v\n%s", err, lines)
	}
	return cfg
}

func tryParse(lines string) (*config.Capacity, error) {
	var props []config.Property
	for line := range strings.SplitSeq(strings.TrimSpace(lines), "\n") {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		props = append(props, config.Property{Name: config.Prefix + name, Value: value})
	}
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8), LabelsEnabled: true})
	if err != nil {
		return nil, err
	}
	return cfg.Capacity, nil
}

// start puts the tree of a configuration in force, in a cluster of 100 GB and 100 vcores.
func start(t failer, lines string) *Live {
	cfg := parse(t, lines)
	parts := &cluster.NewBooks(false).Parts
	total := yarn.NewResource(102400, 100)
	parts.Partition(0).Total = total
	l := &Live{Basis: Basis{Config: cfg, Calc: measure.Calculator{Types: 2}, Min: cfg.Cluster.MinAllocation, Total: total, Parts: parts}}
	built, err := l.Build(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	l.Server = &server{parts: parts, unreported: map[*Queue]bool{}}
	l.enter(cfg, built.Tree, built.Parts)
	return l
}

// enter lets a tree take the place of the present one.
func (l *Live) enter(cfg *config.Capacity, next *Tree, parts *cluster.Parts) {
	for p := range parts.Partitions() {
		l.Parts.PartOf(parts.Partition(part(p)).Name)
	}
	l.Config, l.Tree, l.Server.(*server).tree = cfg, next, next
	next.Root.Each(func(q *Queue) {
		if q.Facts == nil {
			q.Facts = &facts{}
		}
	})
	l.Entitle(next.Root)
}

// submit lets an application be in a leaf, where it has reserved a container.
func (l *Live) submit(path string, number int32) {
	q := l.Tree.ByPath(path)
	q.LastSubmit = l.Now.Mono
	q.Ledger[0].Reserved = yarn.NewResource(1024, 1)
	f := q.Facts.(*facts)
	f.apps = append(f.apps, yarn.ApplicationID{ClusterTimestamp: 1, Sequence: number})
}

// state is all that a tree in force is, with the partitions that it knows.
func (l *Live) state() string {
	var b strings.Builder
	for p := range l.Parts.Partitions() {
		fmt.Fprintf(&b, "%+v\n", *l.Parts.Partition(part(p)))
	}
	fmt.Fprintf(&b, "%d changes\n", l.Tree.Changes)
	for i, q := range l.Tree.Queues {
		if q == nil {
			fmt.Fprintf(&b, "%d is free\n", i)
			continue
		}
		c := *q
		c.Children, c.Up, c.Queue.Parent, c.Outer = nil, nil, nil, nil
		fmt.Fprintf(&b, "%d at %p below %p, found at %p: %+v\n", i, q, q.Up, l.Tree.Find(q.Path), c)
		for _, child := range q.Children {
			fmt.Fprintf(&b, " %s at %p", child.Path, child)
		}
	}
	return b.String()
}

func want[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Errorf("%s: %v, not %v", what, have, want)
	}
}

func (l *Live) mustCreate(t *testing.T, path string) *Queue {
	t.Helper()
	q, why := l.Create(path)
	if !why.OK() {
		t.Fatalf("%s: %+v", path, why)
	}
	return q
}

const managed = `
	root.queues=a,m
	root.accessible-node-labels=*
	root.a.capacity=50
	root.m.capacity=50
	root.m.auto-create-child-queue.enabled=true
	root.m.leaf-queue-template.capacity=40
	root.m.leaf-queue-template.accessible-node-labels=gpu`

// TestGuaranteesGoToTheOldest sees that leaves of a managed parent have the template's
// guarantee while there is one to have, and that those with the oldest applications get
// what empty ones leave.
func TestGuaranteesGoToTheOldest(t *testing.T) {
	l := start(t, managed)
	guarantee := func(path string) int64 { return l.Tree.ByPath(path).Shares[0].EffMin[yarn.Memory] }
	for _, name := range []string{"x", "y", "late", "old"} {
		l.mustCreate(t, "root.m."+name)
	}
	l.submit("root.m.x", 1)
	l.submit("root.m.late", 3)
	l.submit("root.m.old", 2)
	share := int64(51200 * 4 / 10)
	for path, has := range map[string]int64{"root.m.x": share, "root.m.y": share, "root.m.late": 0, "root.m.old": 0} {
		want(t, path+" at first", guarantee(path), has)
	}
	l.Server.(*server).changed = nil
	l.ShareGuarantees()
	want(t, "whose shares are said to have changed", fmt.Sprint(l.Server.(*server).changed), "[root.m]")
	for path, has := range map[string]int64{"root.m.x": share, "root.m.y": 0, "root.m.late": 0, "root.m.old": share} {
		want(t, path+" then", guarantee(path), has)
	}
	l.submit("root.m.y", 4)
	l.Tree.ByPath("root.m.x").Facts.(*facts).apps = nil
	l.ShareGuarantees()
	l.Tree.ByPath("root.m.old").Facts.(*facts).apps = nil
	l.ShareGuarantees()
	for path, has := range map[string]int64{"root.m.x": 0, "root.m.y": share, "root.m.late": share, "root.m.old": 0} {
		want(t, path+" when others are empty", guarantee(path), has)
	}
	p, named := l.Parts.FindPart("gpu")
	want(t, "the leaf's partition has an index", named, true)
	want(t, "room for it", len(l.Tree.Root.Shares) > int(p), true)
}

// TestATemplateWithoutAGuarantee sees that leaves which are guaranteed nothing may use the
// template's maximum while they have applications.
func TestATemplateWithoutAGuarantee(t *testing.T) {
	l := start(t, strings.Replace(managed, "template.capacity=40", "template.capacity=0", 1))
	x := l.mustCreate(t, "root.m.x")
	most := x.Shares[0].EffMax
	want(t, "the maximum at first", most, yarn.NewResource(102400, 100))
	l.ShareGuarantees()
	want(t, "the maximum without applications", x.Shares[0].EffMax, yarn.Resource{})
	l.submit("root.m.x", 1)
	l.ShareGuarantees()
	want(t, "the maximum with one", x.Shares[0].EffMax, most)
}

// TestEveryLeafIsReported sees that whoever serves the queues is told of every leaf whose
// entitlement was computed anew.
func TestEveryLeafIsReported(t *testing.T) {
	for _, lines := range []string{managed, `
		root.queues=a,b
		root.a.capacity=1w
		root.b.capacity=1w
		root.b.auto-queue-creation-v2.enabled=true`, `
		legacy-queue-mode.enabled=false
		root.queues=a,b
		root.a.capacity=1w
		root.b.capacity=1w
		root.b.auto-queue-creation-v2.enabled=true`} {
		l := start(t, lines)
		told := func(after string) {
			t.Helper()
			for q := range l.Server.(*server).unreported {
				t.Errorf("%s after %s: nobody is told of %s", lines, after, q.Path)
			}
		}
		told("the start")
		l.Create("root.b.x")
		l.Create("root.m.x")
		told("a new queue")
		l.ShareGuarantees()
		told("sharing out guarantees")
		l.Now.Mono = 1_000_000
		l.RemoveEmpty()
		l.RemoveEmpty()
		told("the removal of a queue")
		l.Tree.Root.Each(func(q *Queue) {
			if l.Tree.Find(q.Path) == q {
				l.Entitle(q)
			}
		})
		told("a change of the cluster")
	}
}

// TestEmptyQueuesGo sees that a queue which was created on demand goes when two looks
// found it empty and nothing was submitted for long, and its parent by two more. A second
// look that comes too early does not count for the next one.
func TestEmptyQueuesGo(t *testing.T) {
	l := start(t, `
		root.queues=a
		root.a.capacity=1w
		root.auto-queue-creation-v2.enabled=true
		auto-queue-creation-v2.queue-expiration-time=10`)
	l.mustCreate(t, "root.p.x")
	l.submit("root.p.x", 1)
	paths := func() (out []string) {
		l.Tree.Root.Each(func(q *Queue) { out = append(out, q.Path) })
		return out
	}
	look := func(want ...string) {
		t.Helper()
		l.RemoveEmpty()
		if have := paths(); !slices.Equal(have, want) {
			t.Errorf("queues: %v, not %v", have, want)
		}
	}
	look("root", "root.a", "root.p", "root.p.x")
	look("root", "root.a", "root.p", "root.p.x")
	l.Tree.ByPath("root.p.x").Facts.(*facts).apps = nil
	look("root", "root.a", "root.p", "root.p.x")
	look("root", "root.a", "root.p", "root.p.x")
	l.Now.Mono = 11_000
	look("root", "root.a", "root.p", "root.p.x")
	look("root", "root.a", "root.p")
	look("root", "root.a", "root.p")
	look("root", "root.a")
	if q := l.Tree.Find("x"); q != nil {
		t.Errorf("%s is still found", q.Path)
	}
	want(t, "place of what is left", l.Tree.ByPath("root.a").Place, 0)
}

// TestNothingIsCreatedTwice sees that a queue which is there is not created, and that a
// refusal leaves nothing behind.
func TestNothingIsCreatedTwice(t *testing.T) {
	l := start(t, managed)
	was := l.state()
	for _, path := range []string{"root.a", "a", "root.a.x", "root.m..x", "root", "x", "root.none.x"} {
		if q, why := l.Create(path); why.OK() {
			t.Errorf("%s was created for %q", q.Path, path)
		}
		if now := l.state(); now != was {
			t.Fatalf("%q leaves something behind:\n%s\n%s", path, was, now)
		}
	}
}
