package tree

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// drawConfig draws a configuration with a managed parent, one that creates queues of any
// depth, or only configured ones; with partitions that others do not know. It is nil where
// the configuration is refused before there is a tree.
func drawConfig(t *rapid.T) *config.Capacity {
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	children := pick("children", "a,b", "a,b,c", "a,b,c,d", "a,c", "c,b,a")
	lines := "root.queues=" + children + "\nroot.accessible-node-labels=*"
	weights := rapid.Bool().Draw(t, "weights")
	for i, q := range strings.Split(children, ",") {
		switch {
		case weights:
			lines += "\nroot." + q + ".capacity=" + pick("weight", "1w", "2w")
		case i == 0:
			lines += fmt.Sprintf("\nroot.%s.capacity=%d", q, 100-10*(len(children)-1))
		default:
			lines += "\nroot." + q + ".capacity=20"
		}
		lines += "\nroot." + q + ".state=" + pick("state", "RUNNING", "RUNNING", "RUNNING", "STOPPED")
		if label := pick("label", "", "", "", "x", "y"); label != "" {
			lines += "\nroot." + q + ".accessible-node-labels=" + label
			if rapid.Bool().Draw(t, "with a capacity") {
				lines += "\nroot." + q + ".accessible-node-labels." + label + ".capacity=" + pick("capacity there", "10", "1w", "100")
			}
		}
	}
	switch pick("below b", "", "created", "leaf") {
	case "created":
		if weights {
			lines += "\nroot.b.auto-queue-creation-v2.enabled=true\nroot.b.auto-queue-creation-v2.template.accessible-node-labels=" + pick("label below", "v", "*")
		} else {
			lines += "\nroot.b.auto-create-child-queue.enabled=true\nroot.b.leaf-queue-template.capacity=" + pick("guarantee", "20", "50") +
				"\nroot.b.leaf-queue-template.accessible-node-labels=" + pick("label of leaves", "m", "x")
		}
	case "leaf":
		lines += "\nroot.b.queues=b1\nroot.b.b1.capacity=" + pick("all of it", "100", "1w")
	}
	if rapid.Bool().Draw(t, "a rule") {
		lines += "\nqueue-mappings=u:ann:" + pick("named", "a", "d")
	}
	if rapid.IntRange(0, 4).Draw(t, "vectors") == 0 {
		lines += "\nlegacy-queue-mode.enabled=false"
	}
	cfg, _ := tryParse(lines)
	return cfg
}

// TestNextLeavesTheTreeInForceAlone sees that neither the next tree of a configuration, nor
// the refusal to make one, nor a look at shares changes anything of the tree in force or of its partitions; that
// the next tree has the same indexes for those; and that a prepared one is the same.
func TestNextLeavesTheTreeInForceAlone(t *testing.T) {
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		l := start(t, "root.queues=a,b\nroot.a.capacity=1w\nroot.b.capacity=1w\nroot.b.auto-queue-creation-v2.enabled=true")
		if rapid.Bool().Draw(t, "managed") {
			l = start(t, "root.queues=a,b\nroot.a.capacity=50\nroot.b.capacity=50\nroot.b.auto-create-child-queue.enabled=true\nroot.b.leaf-queue-template.capacity=30")
		}
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			if path := "root.b." + rapid.SampledFrom([]string{"u", "v", "b1"}).Draw(t, "created"); rapid.Bool().Draw(t, "create") {
				if q, why := l.Create(path); why.OK() {
					l.submit(q.Path, rapid.Int32Range(1, 9).Draw(t, "application"))
				}
			}
			cfg, was := drawConfig(t), l.state()
			if cfg == nil {
				continue
			}
			b := l.Basis
			b.Parts = l.Parts.Clone()
			prepared := Prepare(cfg, b)
			n, err := l.Next(cfg, nil)
			if now := l.state(); now != was {
				t.Fatalf("%v: the tree in force has changed:\n%s\n%s", err, was, now)
			}
			again, late := l.Next(cfg, prepared)
			if (err == nil) != (late == nil) || err != nil && err.Error() != late.Error() {
				t.Fatalf("%v; when it was prepared, %v", err, late)
			}
			if now := l.state(); now != was {
				t.Fatalf("%v: the tree in force has changed with what was prepared:\n%s\n%s", err, was, now)
			}
			if err != nil {
				refused++
				continue
			}
			accepted++
			l.Tree.Root.Each(func(q *Queue) { l.ReservedFractions(q, 0) })
			for p := range l.Parts.Partitions() {
				if have, want := n.Parts.Partition(part(p)).Name, l.Parts.Partition(part(p)).Name; have != want {
					t.Fatalf("partition %d is %q, and %q in the next tree", p, want, have)
				}
			}
			n.Tree.Root.Each(func(q *Queue) { checkQueue(t, n, q) })
			for i, q := range l.Tree.Queues {
				if q != nil && (n.Became(q) == q || n.Became(q).Facts != q.Facts || n.Became(q).Path != q.Path) {
					t.Fatalf("queue %d, %s, has become %+v", i, q.Path, n.Became(q))
				}
			}
			n.Tree.Root.Each(func(q *Queue) { q.Ledger[0].Containers++ })
			if now := l.state(); now != was {
				t.Fatalf("the tree in force changes with the next one:\n%s\n%s", was, now)
			}
			l.enter(cfg, again.Tree, again.Parts)
		}
	})
	if accepted == 0 || refused == 0 {
		t.Errorf("%d were accepted, %d refused: nothing is tested", accepted, refused)
	}
}

func checkQueue(t *rapid.T, n *Next, q *Queue) {
	if len(q.Shares) != n.Parts.Partitions() || len(q.Ledger) != n.Parts.Partitions() {
		t.Fatalf("%s has room for %d partitions of %d", q.Path, len(q.Shares), n.Parts.Partitions())
	}
	if q.Outer != q || n.Tree.Queues[q.Index] != q || n.Tree.ByPath(q.Path) != q {
		t.Fatalf("%s is not where it is found", q.Path)
	}
	for i, c := range q.Children {
		if c.Up != q || c.Parent != &q.Queue || int(c.Place) != i || !q.Has(c) {
			t.Fatalf("%s is not child %d of %s", c.Path, i, q.Path)
		}
	}
}

// TestPreparedIsOfItsBasis sees that what was prepared serves once, and only while
// nothing has changed.
func TestPreparedIsOfItsBasis(t *testing.T) {
	l := start(t, managed)
	moment := func() Basis {
		b := l.Basis
		b.Parts = b.Parts.Clone()
		return b
	}
	p := Prepare(l.Config, moment())
	want(t, "trees", len(p.trees), 2)
	for _, left := range []int{1, 0, 0} {
		if _, err := p.take(l.Config, &l.Basis); err != nil {
			t.Fatal(err)
		}
		want(t, "trees that are left", len(p.trees), left)
	}
	p = Prepare(nil, moment())
	l.Parts.Partition(0).Total = yarn.NewResource(1, 1)
	if _, err := p.take(l.Config, &l.Basis); err != nil {
		t.Fatal(err)
	}
	want(t, "trees of another cluster that are left", len(p.trees), 1)
}
