package capacity

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// recorder notes what a walk does on its way; nil notes nothing.
type recorder struct {
	way  []*core.Activity // from the root to where the walk is
	root *core.Activity
	last yarn.Reason
	n    int
}

func (rec *recorder) enter(x core.Activity) {
	a := &x
	rec.n++
	if n := len(rec.way); n > 0 {
		rec.way[n-1].Below = append(rec.way[n-1].Below, a)
	} else {
		rec.root = a
	}
	rec.way = append(rec.way, a)
}

// full tells whether no more is recorded.
func (rec *recorder) full() bool { return rec != nil && rec.n >= core.MaxActivities }

func (rec *recorder) refused(why yarn.Reason) {
	if n := len(rec.way); n > 0 {
		rec.way[n-1].Why = why
		if why.Code != fit.EarlierAsk { // it says less than the reason of the earlier one
			rec.last = why
		}
	}
}

// Each of the functions below enters something if the walk is recorded.

func (e *explanation) enterQueue(q *Queue) {
	if e != nil && e.record != nil {
		e.record.enter(core.Activity{Level: core.AtQueue, Name: q.Path})
	}
}

func (e *explanation) enterApp(a *app) {
	if e != nil && e.record != nil {
		e.record.enter(core.Activity{Level: core.AtApp, Name: a.ID.String(), Priority: a.Priority})
	}
}

func (e *explanation) enterRequest(w *demand.Want) {
	if e != nil && e.record != nil {
		e.record.enter(core.Activity{Level: core.AtRequest, Priority: w.Priority, RequestID: w.RequestID})
	}
}

// leave ends what was entered last.
func (r *round) leave() {
	if r.why == nil || r.why.record == nil {
		return
	}
	rec := r.why.record
	x := rec.way[len(rec.way)-1]
	rec.way = rec.way[:len(rec.way)-1]
	if x.Outcome = r.found.kind; x.Outcome != core.Nothing {
		x.Why = yarn.Reason{}
	} else if x.Why.OK() && len(x.Below) == 0 {
		x.Why = yarn.Reason{Code: fit.NothingAsked, Subject: x.Name}
	}
}

// enterIdle enters the children of a queue that want nothing, to which no walk comes. A queue below which nothing is wanted stands for all.
func (r *round) enterIdle(q *Queue) {
	if r.why == nil || r.why.record == nil || r.why.alone || r.found.kind != core.Nothing || !r.wants(q) {
		return
	}
	for _, c := range q.Children {
		if !r.wants(c) && !r.why.record.full() {
			r.why.enterQueue(c)
			r.leave()
		}
	}
}

// Activities is what an offer of the node would do now; see the facade. It takes the walk of an offer, under a journal, and notes all of it.
func (s *Scheduler) Activities(ref NodeRef) (out []core.NodeActivity) {
	n := s.Books.Node(ref)
	r := &round{why: &explanation{}}
	r.begin(s, ref, n)
	s.Journal = &core.Journal{}
	defer func() { s.Journal = nil }()
	if why := r.closed(); !why.OK() {
		root := &core.Activity{Level: core.AtQueue, Name: s.tree.Root.Path, Why: why}
		return []core.NodeActivity{{Node: n.ID, Label: n.Label, Why: why, Root: root}}
	}
	if n.Reserved >= 0 {
		return []core.NodeActivity{r.recorded(nil, func() { r.toReservation(n.Reserved) })}
	}
	for m := respect; ; m = ignore {
		out = append(out, r.recorded(nil, func() { r.walk(m) }))
		if r.found.kind != core.Nothing || !r.lends() || m == ignore {
			return out
		}
	}
}

// AppActivities is what offers would do for the application now; see the facade.
func (s *Scheduler) AppActivities(ref AppRef, most int) (out []core.NodeActivity) {
	a := s.app(ref)
	entry := &core.Activity{Level: core.AtApp, Name: a.ID.String(), Priority: a.Priority}
	if why := s.outsideWalks(a); !why.OK() {
		entry.Why = why
		return []core.NodeActivity{{Why: why, Root: entry}}
	}
	s.Journal = &core.Journal{}
	defer func() { s.Journal = nil }()
	for i := 0; i < s.Books.NodeSlots() && len(out) < most; i++ {
		n := s.Books.Node(NodeRef(i))
		if !n.Member {
			continue
		}
		r := &round{why: &explanation{}}
		r.begin(s, NodeRef(i), n)
		why := r.closed()
		if n.Reserved >= 0 && s.Books.Container(n.Reserved).App != a.Ref {
			r.why.app, r.why.turn = a, a
			r.noteHolder(n.Reserved)
			why = r.why.last
		}
		if !why.OK() {
			out = append(out, core.NodeActivity{Node: n.ID, Label: n.Label, Why: why, Root: &core.Activity{Level: core.AtApp, Name: a.ID.String(), Priority: a.Priority, Why: why}})
			continue
		}
		walk := func() { r.walk(respect) }
		if n.Reserved >= 0 {
			walk = func() { r.toReservation(n.Reserved) }
		}
		x := r.recorded(a, walk)
		if x.Outcome == core.Nothing && n.Reserved < 0 && r.lends() && !none(a.Wants.Pending(0)) {
			x = r.recorded(a, func() { r.walk(ignore) })
		}
		out = append(out, x)
	}
	return out
}

// closed is why an offer of the node does not walk at all.
func (r *round) closed() yarn.Reason {
	switch {
	case !r.book.Accepting:
		r.noteNode(fit.NodeUnavailable, 0, nil, nil)
	case r.book.Reserved < 0 && !r.s.roomForAny(r.node, r.book):
		free := r.book.Free()
		r.noteNode(fit.NodeFull, 0, &r.s.Min, &free)
	}
	return r.why.last
}

// toReservation tries to serve what the node is held for, entering everything on the way.
func (r *round) toReservation(c ContainerRef) {
	s := r.s
	a := s.app(s.Books.Container(c).App)
	depth := 0
	for q := range upwards(a.queue) {
		r.why.enterQueue(q)
		depth++
	}
	r.why.enterApp(a)
	r.reservation(a, &limits{limit: s.Books.Partition(0).Total}, c)
	for range depth + 1 {
		r.leave()
	}
}

// upwards yields the queues from the root to a queue.
func upwards(q *Queue) func(func(*Queue) bool) {
	return func(yield func(*Queue) bool) {
		var way []*Queue
		for ; q != nil; q = q.Up {
			way = append(way, q)
		}
		for i := len(way) - 1; i >= 0; i-- {
			if !yield(way[i]) {
				return
			}
		}
	}
}

// recorded takes a walk, to one application or to all, takes back what it leaves, and tells what it did.
func (r *round) recorded(alone *app, walk func()) core.NodeActivity {
	rec := &recorder{}
	r.why = &explanation{app: alone, alone: alone != nil, record: rec}
	r.found = outcome{Placement: core.Placement{From: cluster.NoContainer, Excess: cluster.NoContainer}}
	walk()
	r.s.Journal.Undo()
	x := core.NodeActivity{Node: r.book.ID, Label: r.s.Books.Partition(r.asks).Name, Outcome: r.found.kind, Root: rec.root, Cut: rec.full()}
	if x.Outcome == core.Nothing {
		x.Why = rec.last
	}
	if alone != nil {
		x.Root = appIn(rec.root)
	}
	if alone != nil && x.Root == nil { // the walk did not come so far
		x.Root = &core.Activity{Level: core.AtApp, Name: alone.ID.String(), Priority: alone.Priority, Why: x.Why}
	}
	return x
}

// appIn is the application in what a walk to it alone has entered, or nil.
func appIn(x *core.Activity) *core.Activity {
	for x != nil && x.Level != core.AtApp {
		if len(x.Below) == 0 {
			return nil
		}
		x = x.Below[0]
	}
	return x
}
