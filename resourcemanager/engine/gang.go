package engine

import (
	"cmp"
	"container/heap"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// A gang is the first N containers of one priority of an attempt whose application has the tag heddle.gang=N. Its master gets all of them
// at once or none:
//
//	gathers ── has all N, and its master calls ──► over: what else is asked for is granted one by one
//	 │    ▲
//	 │    └── its turn ── stands in line ◄──┐
//	 └── timeout: gives all back ── rests ──┘ for as long as the timeout
//
// The scheduler knows nothing of gangs. It places the containers as any others; the engine withholds them from the master while the gang
// gathers. What a gang that rests or stands in line asks for is not entered in the scheduler. A gang that is asked for in part when its time
// is over is as small as what it asks for.
//
// Two gangs of which each has what the other lacks cannot go on like that. Gangs gather side by side at first, but after half of its time one
// gives way, that is gives back, if an older one holds something. Those that gave back try again one at a time, in the order of the line. See
// decision 0010.
type gang struct {
	attempt  *attempt
	priority int32
	state    gangState
	enough   int           // with so many it is complete: N, or as many as were asked for
	held     []*container  // withheld from the master, in the order of their grants
	late     bool          // half of its time is over
	due      int64         // when half of its time is over, or all of it, or it has rested; monotonic milliseconds; 0: no clock runs
	aside    [][]yarn.Ask  // while it rests or stands in line: what it asks for, as calls brought it
	had, fit int           // when it last gave back: what it had, and how many an empty cluster would hold
	needs    yarn.Resource // of which size those are
}

type gangState uint8

const (
	gangGathers gangState = iota
	gangRests
	gangInLine
	gangOver
)

// MaxGangs bounds the priorities of the gangs of one attempt.
const MaxGangs = 1000

// less tells whether the gang is older.
func (g *gang) less(o *gang) bool {
	a, b := g.attempt.id, o.attempt.id
	return cmp.Or(a.Compare(b), cmp.Compare(g.priority, o.priority)) < 0
}

// size is how many containers the gang has when it is complete.
func (g *gang) size() int { return g.attempt.app.gang.size }

// time is for how long the gang may gather, in milliseconds.
func (g *gang) time() int64 { return g.attempt.app.gang.timeout }

// complete tells whether its master gets what it has with the next call.
func (g *gang) complete() bool { return g.state == gangGathers && len(g.held) >= g.enough }

// away tells whether what the gang asks for is kept out of the scheduler.
func (g *gang) away() bool { return g.state == gangRests || g.state == gangInLine }

// stale tells whether the gang is over, or its attempt.
func (g *gang) stale() bool { return g.attempt.gangs[g.priority] != g || g.state == gangOver }

// gangOf is the gang of the priority, which begins with the first ask. It is over at once if the attempt has containers of that priority
// from before, which others have left to it or which ran before a restart.
func (e *Engine) gangOf(t *attempt, priority int32) *gang {
	g := t.gangs[priority]
	if g != nil {
		return g
	}
	g = &gang{attempt: t, priority: priority, enough: t.app.gang.size}
	for _, ref := range e.sched.Containers(t.app.ref, nil) {
		book := e.sched.Container(ref)
		if c := e.containerAt(ref); c != nil && !c.state.Final() && !book.AM && book.Execution == yarn.Guaranteed && book.Priority == priority {
			g.state = gangOver
			break
		}
	}
	if t.gangs == nil {
		t.gangs = map[int32]*gang{}
	}
	t.gangs[priority] = g
	return g
}

// gangHad ends the gang of the priority: the master had a container of it before the restart, and so all.
func (e *Engine) gangHad(t *attempt, priority int32) {
	if t.app.gang.size > 1 && (t.gangs[priority] != nil || len(t.gangs) < MaxGangs) {
		for _, c := range e.endGang(e.gangOf(t, priority)) {
			t.grant(c)
		}
	}
}

// withhold keeps a new container back if it is one of a gang that gathers.
func (e *Engine) withhold(c *container, book *scheduler.Container) bool {
	g := c.attempt.gangs[book.Priority]
	if g == nil || g.state == gangOver || book.AM {
		return false
	}
	c.withheld = true
	if g.held = append(g.held, c); g.due == 0 {
		g.late = false
		e.setGangDue(g, e.now.Mono+g.time()/2)
	}
	return true
}

// unhold forgets a container that ended while it was withheld. A gang that was complete longer than it may gather is not complete any more.
func (e *Engine) unhold(c *container, priority int32) {
	c.withheld = false
	g := c.attempt.gangs[priority]
	if g == nil {
		return
	}
	if g.held = slices.DeleteFunc(g.held, func(h *container) bool { return h == c }); g.due == 0 && len(g.held) > 0 {
		e.setGangDue(g, e.now.Mono)
	}
}

// setGangDue has the clock of the gang run until then.
func (e *Engine) setGangDue(g *gang, at int64) {
	g.due = at
	e.gangs.due.add(g.due, g, len(e.apps), func(d deadline[*gang]) bool { return d.of.due != d.at || d.of.stale() })
}

// handOut ends the gangs that are complete, as far as an answer has room for so many containers: theirs are the first of which it tells the master.
func (e *Engine) handOut(t *attempt, room int) {
	var first []*container
	for _, p := range slices.Sorted(maps.Keys(t.gangs)) {
		if g := t.gangs[p]; g.complete() && len(first)+g.enough <= room {
			first = append(first, e.endGang(g)...)
		}
	}
	if len(first) == 0 {
		return
	}
	t.grants = append(first, t.grants...)
	for i, c := range t.grants {
		if c != nil {
			c.grant = int32(i)
		}
	}
}

// endGang ends the gang and returns what it has, which is not withheld any more.
func (e *Engine) endGang(g *gang) []*container {
	if g.state == gangOver {
		return nil
	}
	e.enterAside(g)
	held := g.held
	for _, c := range held {
		c.withheld = false
	}
	g.state, g.held, g.due = gangOver, nil, 0
	e.leaveLine(g)
	e.touchApp(g.attempt.app)
	return held
}

// gangDue: the gang has gathered for as long as it may, or has rested.
func (e *Engine) gangDue(g *gang) {
	at := g.due
	g.due = 0
	switch {
	case g.state == gangRests:
		g.state = gangInLine
		e.gangs.line = append(e.gangs.line, g)
		e.nextGang()
	case !g.late && (g.complete() || !e.lacks(g) || !e.mustGiveWay(g)):
		g.late = true
		e.setGangDue(g, at+g.time()-g.time()/2)
	case g.complete():
		e.leaveLine(g)
	case e.lacks(g):
		e.giveBack(g)
	default: // it has all that was asked for, or what it asked for was taken back
		if len(g.held) > 0 {
			g.enough = len(g.held)
		}
		e.leaveLine(g)
	}
	e.touchApp(g.attempt.app)
}

// lacks tells whether the gang asks for more than it has.
func (e *Engine) lacks(g *gang) bool { return len(g.attempt.asks) > 0 || len(e.outstanding(g)) > 0 }

// mustGiveWay tells whether another gang holds something, and waits for more, that is older or tries again.
func (e *Engine) mustGiveWay(g *gang) bool {
	return slices.ContainsFunc(e.gangs.due, func(d deadline[*gang]) bool {
		o := d.of
		return o.due == d.at && !o.stale() && len(o.held) > 0 && !o.complete() && (o == e.gangs.turn || o.less(g))
	})
}

// outstanding is what the scheduler has of what the gang asks for.
func (e *Engine) outstanding(g *gang) []yarn.Ask {
	return e.sched.Outstanding(g.attempt.app.ref, g.priority)
}

// giveBack ends what the gang holds, and takes its asks out of the scheduler until it has rested and it is its turn.
func (e *Engine) giveBack(g *gang) {
	g.had = len(g.held)
	for _, c := range slices.Clone(g.held) {
		e.end(c, scheduler.ReleasedByAM, yarn.ExitAborted, "Container given back by its gang")
	}
	e.rest(g)
	e.leaveLine(g)
}

// rest takes the gang's asks out of the scheduler.
func (e *Engine) rest(g *gang) {
	rows := e.outstanding(g)
	g.fit, g.needs = e.gangFits(g, rows)
	var none []yarn.Ask
	for i := range rows {
		if rows[i].Where == yarn.AnyHost {
			none = append(none, rows[i])
			none[len(none)-1].Count = 0 // which removes those for places, too
		}
	}
	e.sched.Ask(g.attempt.app.ref, none)
	g.state, g.enough, g.aside = gangRests, g.size(), [][]yarn.Ask{rows}
	e.setGangDue(g, e.now.Mono+g.time())
	e.sweepDue = true
}

// enterAside enters in the scheduler what the gang asks for.
func (e *Engine) enterAside(g *gang) {
	for _, rows := range g.aside {
		e.sched.Ask(g.attempt.app.ref, rows)
	}
	g.aside = nil
	e.sweepDue = true
}

// nextGang lets the first gang of the line try again, unless another one is doing so. One that could not come together in an empty cluster
// is passed by.
func (e *Engine) nextGang() {
	for e.gangs.turn == nil && len(e.gangs.line) > 0 {
		g := e.gangs.line[0]
		e.gangs.line = e.gangs.line[1:]
		e.enterAside(g)
		rows := e.outstanding(g)
		switch fits, _ := e.gangFits(g, rows); {
		case len(rows) == 0:
			g.state = gangGathers
		case fits < min(g.size(), containersOf(rows)):
			e.rest(g)
		default:
			g.state, g.late, e.gangs.turn = gangGathers, true, g
			e.setGangDue(g, e.now.Mono+g.time())
		}
		e.touchApp(g.attempt.app)
	}
}

// leaveLine ends the gang's turn, or its waiting for it.
func (e *Engine) leaveLine(g *gang) {
	e.gangs.line = slices.DeleteFunc(e.gangs.line, func(o *gang) bool { return o == g })
	if e.gangs.turn == g {
		e.gangs.turn = nil
		e.nextGang()
	}
}

// forgetGangs: the attempt is gone. What its gangs hold ends with all else that it has.
func (e *Engine) forgetGangs(t *attempt) {
	if t.gangs == nil {
		return
	}
	t.gangs = nil
	e.gangs.line = slices.DeleteFunc(e.gangs.line, func(g *gang) bool { return g.attempt == t })
	if g := e.gangs.turn; g != nil && g.attempt == t {
		e.leaveLine(g)
	}
}

// gangs are those of all applications that a clock runs for, and those that wait for their turn.
type gangs struct {
	due  deadlines[*gang] // monotonic, unlike others
	line []*gang          // they have rested, the first one longest
	turn *gang            // that tries again
}

// endGangs follows the clocks of gangs that are due, and returns what is left of the budget.
func (e *Engine) endGangs(left int) int {
	for d := &e.gangs.due; len(*d) > 0 && (*d)[0].at <= e.now.Mono && left > 0; {
		if x := heap.Pop(d).(deadline[*gang]); x.of.due == x.at && !x.of.stale() {
			left -= 1 + len(x.of.held)
			e.gangDue(x.of)
		}
	}
	return left
}

// checkGangs says why asks of an application with gangs cannot be kept.
func (e *Engine) checkGangs(t *attempt, asks []yarn.Ask) *Error {
	if t.app.gang.size <= 1 || len(asks) == 0 {
		return nil
	}
	rows, count, seen := len(t.asks)+len(asks), len(t.gangs), map[int32]bool{}
	for i := range asks {
		p := asks[i].Priority
		if seen[p] {
			continue
		}
		seen[p] = true
		if g := t.gangs[p]; g == nil {
			count++
		} else {
			for _, list := range g.aside {
				rows += len(list)
			}
		}
	}
	if rows > MaxAsksWaiting || count > MaxGangs {
		return refuse(InvalidRequest, "Cannot take %d more asks of %s: an attempt with gangs may ask at %d priorities, and for %d rows that wait for the turn of a gang",
			len(asks), t.id, MaxGangs, MaxAsksWaiting)
	}
	return nil
}

// enterAsks passes asks on to the scheduler. Those of gangs that rest or stand in line are set aside. From others what is withheld is
// subtracted: the master does not know of it. If it asks for fewer, the rest ends.
func (e *Engine) enterAsks(t *attempt, rows []yarn.Ask) {
	if t.app.gang.size > 1 {
		rows = e.gangAsks(t, rows)
	}
	e.sched.Ask(t.app.ref, rows)
}

func (e *Engine) gangAsks(t *attempt, rows []yarn.Ask) []yarn.Ask {
	var pass []yarn.Ask
	var away []*gang // that have got a list of this call
	for i := range rows {
		switch g := e.gangOf(t, rows[i].Priority); {
		case !g.away():
			e.endExcess(g, &rows[i])
			pass = append(pass, rows[i])
		case slices.Contains(away, g):
			last := len(g.aside) - 1
			g.aside[last] = append(g.aside[last], rows[i])
		default:
			away = append(away, g)
			g.aside = append(g.aside, []yarn.Ask{rows[i]})
		}
	}
	for i := range pass {
		for _, c := range t.gangs[pass[i].Priority].held {
			if e.servedBy(c, &pass[i]) {
				pass[i].Count = max(pass[i].Count-1, 0)
			}
		}
	}
	return pass
}

// endExcess ends what the gang holds beyond what is asked for, the newest first.
func (e *Engine) endExcess(g *gang, ask *yarn.Ask) {
	if ask.Where != yarn.AnyHost {
		return
	}
	kept := ask.Count
	for _, c := range slices.Clone(g.held) {
		if !e.servedBy(c, ask) {
			continue
		}
		if kept--; kept < 0 {
			e.endForGood(c, scheduler.ReleasedByAM, yarn.ExitAborted, "Container no longer asked for by its gang")
		}
	}
}

// servedBy tells whether the container counts for what is asked for.
func (e *Engine) servedBy(c *container, ask *yarn.Ask) bool {
	book := e.sched.Container(c.ref)
	switch {
	case book.AllocationRequestID != ask.AllocationRequestID || book.Priority != ask.Priority:
		return false
	case ask.Where == yarn.AnyHost:
		return true
	case ask.Where == c.node.rack:
		return book.Locality == scheduler.NodeLocal || book.Locality == scheduler.RackLocal
	}
	return book.Locality == scheduler.NodeLocal && ask.Where == c.node.id.Host
}

// containersOf is for how many containers rows ask.
func containersOf(rows []yarn.Ask) int {
	count := 0
	for i := range rows {
		if rows[i].Where == yarn.AnyHost {
			count += int(rows[i].Count)
		}
	}
	return count
}

// gangFits is how many containers of what the gang asks for would fit beside its master if nobody else had anything, by the sizes of nodes and by the limit
// of the queue, and the size that it has reckoned with. It is never too low; it is the size of the gang where that asks for nodes of several labels.
func (e *Engine) gangFits(g *gang, rows []yarn.Ask) (count int, least yarn.Resource) {
	most, first := g.size(), -1
	for i := range rows {
		switch {
		case rows[i].Where != yarn.AnyHost:
		case first < 0:
			first, least = i, rows[i].Capability
		case rows[i].Label != rows[first].Label:
			return most, least
		default:
			for j := range least {
				least[j] = min(least[j], rows[i].Capability[j])
			}
		}
	}
	if first < 0 {
		return most, least
	}
	label := rows[first].Label
	var master yarn.Resource
	var at *node
	if c := e.byID[g.attempt.masterID]; c != nil && !c.state.Final() {
		master, at = e.sched.Container(c.ref).Resource, g.attempt.masterNode
	}
	for _, n := range e.nodeByRef {
		if n != nil && n.ref != scheduler.NoNode && (label == "" || n.label == label) {
			room := n.total
			if n == at {
				room = room.Sub(master)
			}
			count += e.timesIn(room, least, most)
		}
	}
	if len(e.labels.known) == 0 { // or it may have more in partitions that lend their room
		if q, ok := e.queueInfo(e.sched.LeafOf(g.attempt.app.ref)); ok {
			room := q.Default.EffectiveMax
			if q.Fair != nil {
				room = q.Fair.MaxShare
			}
			if !room.IsZero() {
				count = min(count, e.timesIn(room.Sub(master), least, most))
			}
		}
	}
	return min(count, most), least
}

// timesIn is how often a size fits, at most so often, by the resources that count; 0 where there is less than nothing.
func (e *Engine) timesIn(room, size yarn.Resource, most int) int {
	for i := range size {
		if size[i] > 0 && (i == yarn.Memory || e.set.Dominant || e.set.Fair) {
			most = int(min(int64(most), max(room[i], 0)/size[i]))
		}
	}
	return most
}
