package opportunistic

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

func settings(by Comparator) Settings {
	return Settings{Enabled: true, Nodes: 10, Interval: 1000, Comparator: by, Deviations: 1, Lowest: 5, Highest: 15}
}

// heard are loads with nodes h0, h1, … in rack /r that have reported these.
func heard(set Settings, reports ...Report) (*Loads, []*Node) {
	l := NewLoads(set)
	var nodes []*Node
	for i, r := range reports {
		if r.Total.IsZero() {
			r.Total = yarn.NewResource(8192, 8)
		}
		n := NewNode(yarn.NodeID{Host: fmt.Sprintf("h%d", i), Port: 1}, "/r", i)
		l.Heard(n, r, 0)
		nodes = append(nodes, n)
	}
	return l, nodes
}

func ask(priority, count int32, where string) yarn.Ask {
	return yarn.Ask{Priority: priority, Count: count, Where: where, Capability: yarn.NewResource(1024, 1), ExecutionType: yarn.Opportunistic}
}

// placed are the names of the nodes that Place finds, and how near they are.
func placed(l *Loads, a *Asks, now int64, not ...string) (out string) {
	l.Place(a, now, func(n *Node) bool {
		for _, x := range not {
			if n.ID.Host == x {
				return false
			}
		}
		return true
	}, func(n *Node, w *Want, at Locality) {
		out += fmt.Sprintf("%s/%d/%d ", n.ID.Host, w.Priority, at)
	})
	return out
}

func TestOrder(t *testing.T) {
	mb := func(used int64) yarn.Resource { return yarn.NewResource(used, 1) }
	for name, c := range map[string]struct {
		by      Comparator
		reports []Report
		want    string
	}{
		"the shortest queues first": {QueueLength, []Report{{Waiting: 3, Capacity: 9}, {Waiting: 1, Capacity: 9}, {Waiting: 2, Capacity: 9}}, "h1/1/2 h2/1/2 h0/1/2 h1/1/2 "},
		"full ones get none":        {QueueLength, []Report{{Waiting: 3, Capacity: 3}, {Waiting: 2, Capacity: 3}, {}}, "h1/1/2 "},
		"time":                      {QueueWaitTime, []Report{{WaitMillis: 9}, {WaitMillis: -1}, {WaitMillis: 3}}, "h2/1/2 h0/1/2 h2/1/2 h0/1/2 "},
		"what is free":              {QueueLengthThenResources, []Report{{Used: mb(6000)}, {Used: mb(1000)}, {Used: mb(7900)}}, "h1/1/2 h0/1/2 h1/1/2 h0/1/2 "},
		"then queues":               {QueueLengthThenResources, []Report{{Used: mb(8000), Capacity: 1}, {Used: mb(7000), Capacity: 1}}, "h1/1/2 h0/1/2 h1/1/2 "},
		"a hostile report":          {QueueLength, []Report{{Waiting: -5, Capacity: 2}, {Waiting: 1 << 30, Capacity: 1<<31 - 1}}, "h0/1/2 h0/1/2 "},
	} {
		l, _ := heard(settings(c.by), c.reports...)
		a := &Asks{}
		a.Enter([]yarn.Ask{ask(1, 4, "*")})
		if got := placed(l, a, 0); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	l, nodes := heard(settings(QueueLength), Report{Capacity: 2}, Report{Capacity: 2}, Report{Capacity: 9})
	a := &Asks{}
	a.Enter([]yarn.Ask{ask(1, 3, "h0"), ask(1, 1, "/r"), ask(1, 1, "/s"), ask(1, 6, "*")})
	if got, want := placed(l, a, 0, "h1"), "h0/1/0 h0/1/0 h2/1/1 h2/1/2 h2/1/2 h2/1/2 "; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if a.Rows() != 0 || placed(l, a, 0) != "" {
		t.Errorf("%d rows are left", a.Rows())
	}
	// What is not served is asked for again, until it is withdrawn; a place alone counts for any.
	for _, n := range nodes {
		l.Heard(n, Report{Capacity: 1, Waiting: 1, Total: yarn.NewResource(1, 1)}, 1)
	}
	a.Enter([]yarn.Ask{ask(2, 1, "h1"), ask(1, 1, "*"), ask(3, 0, "*"), ask(3, 0, "h1")})
	if got := placed(l, a, 2000); got != "" || a.Rows() != 3 {
		t.Errorf("placed %q, %d rows", got, a.Rows())
	}
	a.Enter([]yarn.Ask{ask(1, 0, "*")})
	l.Heard(nodes[1], Report{Capacity: 2, Total: yarn.NewResource(1, 1)}, 1)
	if got, want := placed(l, a, 4000), "h1/2/0 "; got != want || a.Rows() != 0 {
		t.Errorf("%s, want %s; %d rows", got, want, a.Rows())
	}
	// Nodes that have gone get none, though they were among the least loaded.
	a.Enter([]yarn.Ask{ask(1, 1, "*")})
	for _, n := range nodes {
		l.Remove(n)
		l.Remove(n)
	}
	if got := placed(l, a, 4000); got != "" || len(l.all.nodes)+len(l.hosts)+len(l.racks) != 0 {
		t.Errorf("placed %q; left: %v %v %v", got, l.all, l.hosts, l.racks)
	}
}

func TestLimit(t *testing.T) {
	for _, c := range []struct {
		by      Comparator
		queues  []int32
		lowest  int32
		highest int32
		want    Limit
	}{
		{QueueLength, nil, 5, 15, Limit{5, -1}},
		{QueueLength, []int32{6, 8, 10}, 5, 15, Limit{10, -1}}, // the mean 8, the deviation 1.63
		{QueueLength, []int32{1, 1, 40}, 5, 15, Limit{15, -1}},
		{QueueLength, []int32{1, 2}, 0, 15, Limit{2, -1}}, // the mean is cut to 1, so that the deviation is 0.71
		{QueueLength, []int32{9}, 20, 15, Limit{15, -1}},  // the upper bound prevails
		{QueueWaitTime, []int32{30, 50}, 10, 100, Limit{-1, 50}},
	} {
		set := settings(c.by)
		set.Lowest, set.Highest = c.lowest, c.highest
		var reports []Report
		for _, q := range c.queues {
			reports = append(reports, Report{Waiting: q, WaitMillis: q, Capacity: 100})
		}
		l, nodes := heard(set, reports...)
		if got := l.Limit(0); got != c.want {
			t.Errorf("queues %v within %d and %d: %v, want %v", c.queues, c.lowest, c.highest, got, c.want)
		}
		for _, n := range nodes {
			l.Remove(n)
		}
		if got := l.Limit(5000); got != c.want {
			t.Errorf("once all nodes of %v have gone: %v, want %v", c.queues, got, c.want)
		}
	}
}

// TestBounds: no call places more than it may, no node gets more than it may, and a call looks at a bounded number of nodes.
func TestBounds(t *testing.T) {
	l, nodes := heard(settings(QueueWaitTime), Report{}, Report{Held: MaxOnNode - 1})
	a := &Asks{}
	a.Enter([]yarn.Ask{ask(1, 1<<31-1, "*")})
	for _, want := range []int{MaxPerCall, 1, 0} { // the first node's last one comes with the second call
		n := 0
		l.Place(a, 0, func(*Node) bool { return true }, func(*Node, *Want, Locality) { n++ })
		if n != want {
			t.Errorf("%d placed, want %d", n, want)
		}
	}
	if nodes[0].held != MaxOnNode || nodes[1].held != MaxOnNode {
		t.Errorf("the nodes have %d and %d", nodes[0].held, nodes[1].held)
	}
	big := NewLoads(settings(QueueLength))
	for i := range 3 * MaxLooks {
		big.Heard(NewNode(yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1}, "/r", nil), Report{Capacity: 1, Waiting: 1}, 0)
	}
	rows := []yarn.Ask{}
	for i := range int32(MaxRows / 2) {
		rows = append(rows, ask(i, 1, "/r"))
	}
	b := &Asks{}
	b.Enter(rows)
	big.order(0)
	began := time.Now()
	looks := 0
	big.Place(b, 0, func(*Node) bool { looks++; return true }, func(*Node, *Want, Locality) { t.Error("placed on a full node") })
	if looks > MaxLooks {
		t.Errorf("%d nodes were looked at, in %v", looks, time.Since(began))
	}
}

// TestExplain: who takes nothing is counted by what is in the way, and nothing changes.
func TestExplain(t *testing.T) {
	small := yarn.NewResource(512, 8)
	l, nodes := heard(settings(QueueLengthThenResources), Report{Used: yarn.NewResource(8192, 8), Capacity: 3, Waiting: 3}, Report{Total: small}, Report{},
		Report{Used: yarn.NewResource(8192, 8), Capacity: 2, Waiting: 2}, Report{Held: MaxOnNode})
	a := &Asks{}
	if why := l.Explain(a, nil); why.Want != nil {
		t.Errorf("nothing is asked for, and waits because of %+v", why)
	}
	a.Enter([]yarn.Ask{ask(1, 5, "*"), ask(0, 7, "*")})
	avoids := func(n *Node) bool { return n != nodes[2] }
	for range 2 {
		why := l.Explain(a, avoids)
		if why.Known != 5 || why.Nodes != 5 || why.Full != 3 || why.Small != 1 || why.Avoided != 1 || why.Priority != 1 || why.Count != 5 || why.Nearest != nodes[4] || why.PerCall != MaxPerCall {
			t.Errorf("%+v", why)
		}
	}
	if got := placed(l, a, 0, "h2"); got != "" {
		t.Errorf("%s takes what nobody takes", got)
	}
}

// TestManyHosts: a want that names more hosts than a call looks at is served on all of them in turn.
func TestManyHosts(t *testing.T) {
	const many = MaxRows - 10
	l, nodes := heard(settings(QueueLength), make([]Report, many)...)
	var rows []yarn.Ask
	for i := range many {
		rows = append(rows, ask(1, 1, fmt.Sprint("h", i)))
	}
	a := &Asks{}
	a.Enter(append(rows, ask(1, many, "*")))
	last := nodes[many-1]
	for _, n := range nodes {
		l.Heard(n, Report{Capacity: 1, Waiting: 1}, 1)
	}
	l.order(1)
	l.Heard(last, Report{Capacity: 1}, 1) // too late to be among the least loaded ones
	calls := 0
	for found := false; !found; calls++ {
		if calls > 5 {
			t.Fatal("the last host is never looked at")
		}
		l.Place(a, 1, func(*Node) bool { return true }, func(n *Node, _ *Want, at Locality) { found = n == last && at == NodeLocal })
	}
	t.Logf("%d calls", calls)
}

// TestRandomPlaces: whatever is asked for, heard and withdrawn, as much is placed as is taken off the asks, no queue gets longer than it may be, and
// rows are counted right.
func TestRandomPlaces(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, by := range []Comparator{QueueLength, QueueWaitTime, QueueLengthThenResources} {
		set := settings(by)
		set.Nodes, set.PerCall = 2, 7
		l, nodes := heard(set, make([]Report, 6)...)
		for i, n := range nodes {
			l.Remove(n)
			n.Rack = fmt.Sprint("/r", i%2)
		}
		a := &Asks{}
		for now := int64(0); now < 3000; now++ {
			switch n := nodes[r.IntN(len(nodes))]; r.IntN(6) {
			case 0:
				l.Remove(n)
			case 1, 2:
				l.Heard(n, Report{Waiting: int32(r.IntN(4)), Capacity: int32(r.IntN(4)), WaitMillis: int32(r.IntN(4)) - 1, Total: yarn.NewResource(4096, 4),
					Used: yarn.NewResource(int64(r.IntN(5))*1024, 1)}, now)
			case 3, 4:
				x := ask(int32(r.IntN(3)), int32(r.IntN(5)), []string{"*", "*", "h0", "h1", "/r0", "/r1"}[r.IntN(6)])
				x.Capability[0] = 1024 << r.IntN(4)
				a.Enter([]yarn.Ask{x})
			default:
				before, n := wanted(a), 0
				l.Place(a, now, func(*Node) bool { return r.IntN(4) > 0 }, func(at *Node, w *Want, _ Locality) {
					n++
					if by == QueueLength && at.load.Waiting > at.load.Capacity || by == QueueLengthThenResources && !w.Size.FitsIn(at.load.Total) || at.index[inAll] < 0 {
						t.Fatalf("%v takes %v, with %+v", at.ID, w.Size, at.load)
					}
				})
				if wanted(a) != before-n || n > 7 {
					t.Fatalf("%d were wanted, %d are, %d were placed", before, wanted(a), n)
				}
			}
			rows := 0
			for _, w := range a.wants {
				rows += 1 + len(w.hosts.list) + len(w.racks.list)
			}
			if rows != a.Rows() {
				t.Fatalf("%d rows, %d counted", rows, a.Rows())
			}
		}
	}
}

func wanted(a *Asks) (n int) {
	for _, w := range a.wants {
		n += int(w.count)
	}
	return n
}

// BenchmarkOrder is the search for the least loaded nodes among ten thousand, which the loop does once an interval.
func BenchmarkOrder(b *testing.B) {
	l := NewLoads(settings(QueueLengthThenResources))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 10_000 {
		l.Heard(NewNode(yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1}, "/r", nil), Report{Capacity: 20, Waiting: int32(r.IntN(20)), Total: yarn.NewResource(8192, 8)}, 0)
	}
	for i := range b.N {
		l.order(int64(i) * 1000)
	}
}
