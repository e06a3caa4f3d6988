package engine

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// waits is what is known of those who wait: for what and since when, and how long applications have waited in all. Nothing of it is noted when
// containers are placed. Rounds of ObserveWaits look at those who wait; what has passed since the last look counts for the cause that is found now.
//
// It takes 12 bytes for each application in the scheduler, and 16 or more for one that several reasons hold.
type waits struct {
	codes []yarn.Code // of marks, by number-1
	marks []waitMark  // by the scheduler's index
	more  map[scheduler.AppRef][]gateMark
	next  int // of the marks, the first that the next round looks at

	queues map[waitOf]int64 // milliseconds
	users  map[waitOf]int64
	named  map[[2]string]bool // queues and users that have rows of their own
	counts [2]int             // how many of these are queues, and users
}

// waitMark is what was seen of one who waits. Moments are tenths of a second of the monotonic clock, and 1; 0 is never.
type waitMark struct {
	since, seen uint32
	code        uint8
	drawn       uint16 // the gist of the diagnostics in the application's view
}

// gateMark is a reason besides the first.
type gateMark struct {
	since uint32
	code  uint8
}

// waitOf is what waiting time is summed up by.
type waitOf struct {
	queue, user string
	cause       yarn.Code
}

// Bounds of waiting times, and of one round.
const (
	MaxWaitQueues = 1000 // that have rows of their own; the others are summed up as OtherQueues
	MaxWaitUsers  = 300  // users, each of one queue, likewise: OtherUsers

	OtherQueues = "(other queues)"
	OtherUsers  = "(other users)"

	waitLooks = 5000 // applications that a round looks at
	waitCost  = 500  // reasons that it asks for, one that takes a walk counted as walkCost
	walkCost  = 20
)

func waitMoment(mono int64) uint32 { return uint32(max(mono, 0)/100) + 1 }

// number is that of a code, from 1.
func (w *waits) number(code yarn.Code) uint8 {
	i := slices.Index(w.codes, code)
	if i < 0 {
		w.codes = append(w.codes, code)
		i = len(w.codes) - 1
	}
	return uint8(i + 1)
}

// mark is that of an application.
func (w *waits) mark(ref scheduler.AppRef) *waitMark {
	for len(w.marks) <= int(ref) {
		w.marks = append(w.marks, waitMark{})
	}
	return &w.marks[ref]
}

// forget drops what is known of an index: its application does not wait any more, or is another one.
func (w *waits) forget(ref scheduler.AppRef) {
	if int(ref) < len(w.marks) && w.marks[ref] != (waitMark{}) {
		w.marks[ref] = waitMark{}
		delete(w.more, ref)
	}
}

// add counts a time for a cause, of a queue and of a user.
func (w *waits) add(queue, user string, cause yarn.Code, millis int64) {
	if millis <= 0 {
		return
	}
	if w.queues == nil {
		w.queues, w.users, w.named = map[waitOf]int64{}, map[waitOf]int64{}, map[[2]string]bool{}
	}
	if !w.has(queue, "", MaxWaitQueues) {
		queue = OtherQueues
	}
	w.queues[waitOf{queue, "", cause}] += millis
	if !w.has(queue, user, MaxWaitUsers) {
		user = OtherUsers
	}
	w.users[waitOf{queue, user, cause}] += millis
}

// has tells whether a queue, or a user there, has rows of its own, and gives it them while there are few.
func (w *waits) has(queue, user string, most int) bool {
	k := [2]string{queue, user}
	if w.named[k] {
		return true
	}
	kind := 0
	if user != "" {
		kind = 1
	}
	if w.counts[kind] >= most {
		return false
	}
	w.counts[kind]++
	w.named[k] = true
	return true
}

// gist is a hash of what diagnostics of waiting say, without their moment and their numbers.
func gist(text string) uint16 {
	if _, after, ok := strings.Cut(text, "] "); ok {
		text = after
	}
	text, _, _ = strings.Cut(text, "  Details")
	h := fnv.New32a()
	_, _ = io.WriteString(h, text)
	return uint16(h.Sum32() ^ h.Sum32()>>16)
}

// see notes what holds an application now, the first reason first. The application's view is made anew if its diagnostics would say
// something else.
func (e *Engine) see(a *application, reasons []yarn.Reason) {
	w, now := &e.waits, waitMoment(e.now.Mono)
	m, t := w.mark(a.ref), a.current()
	forMaster := t != nil && t.state == yarn.AttemptScheduled
	if m.seen == 0 {
		m.since, m.seen = now, now
		if forMaster {
			m.since = waitMoment(e.now.Mono - max(e.now.Wall-t.startTime, 0))
			m.seen = m.since
		}
	}
	if forMaster && gist(e.waitingFor(t)) != m.drawn {
		e.touchApp(a)
	}
	first := w.number(reasons[0].Code)
	w.add(e.sched.LeafOf(a.ref), a.sub.User, reasons[0].Code, 100*int64(now-min(m.seen, now)))
	rest := w.more[a.ref]
	was := func(code uint8) uint32 {
		if code == m.code {
			return m.since
		}
		for _, g := range rest {
			if g.code == code {
				return g.since
			}
		}
		return now
	}
	var list []gateMark
	for _, why := range reasons[1:] {
		if c := w.number(why.Code); c != first && !slices.ContainsFunc(list, func(g gateMark) bool { return g.code == c }) {
			list = append(list, gateMark{was(c), c})
		}
	}
	switch {
	case m.code == 0: // all of it held from the beginning, for all that is known
		m.code = first
		for i := range list {
			list[i].since = m.since
		}
	case m.code != first:
		m.since, m.code = was(first), first
	}
	m.seen = now
	switch {
	case len(list) > 0:
		if w.more == nil {
			w.more = map[scheduler.AppRef][]gateMark{}
		}
		w.more[a.ref] = list
	case rest != nil:
		delete(w.more, a.ref)
	}
}

// since is since when a reason is known to hold an application, by the wall clock.
func (e *Engine) since(a *application, code yarn.Code) int64 {
	w := &e.waits
	c, m := w.number(code), w.mark(a.ref)
	at := waitMoment(e.now.Mono)
	if m.code == c {
		at = m.since
	}
	for _, g := range w.more[a.ref] {
		if g.code == c {
			at = g.since
		}
	}
	return e.now.Wall - 100*(int64(waitMoment(e.now.Mono))-int64(at))
}

// waitOver counts what an application has waited since it was last seen to wait.
func (e *Engine) waitOver(a *application) {
	w := &e.waits
	if int(a.ref) >= len(w.marks) || w.marks[a.ref].code == 0 {
		return
	}
	m := w.marks[a.ref]
	w.add(e.sched.LeafOf(a.ref), a.sub.User, w.codes[m.code-1], 100*int64(waitMoment(e.now.Mono)-m.seen))
	w.forget(a.ref)
}

// ObserveWaits is one round: it looks at some of those who wait, where the last one has stopped.
func (e *Engine) ObserveWaits(now yarn.Now) {
	e.now = now
	w := &e.waits
	e.gatherNotices()
	defer func() { e.notices = noticesFor{} }()
	for looks, cost := 0, 0; looks < min(waitLooks, len(e.byRef)) && cost < waitCost; looks++ {
		if w.next++; w.next >= len(e.byRef) {
			w.next = 0
		}
		a := e.byRef[w.next]
		switch {
		case a == nil:
			continue
		case !e.asks(a):
			w.forget(a.ref)
			continue
		}
		cost++
		if e.sched.Admission(a.ref).Active {
			cost += walkCost
		}
		if reasons := e.holds(a); len(reasons) > 0 {
			e.see(a, reasons)
		} else {
			w.forget(a.ref)
		}
	}
}

// asks tells whether the application asks for something, be it for a gang or for opportunistic containers.
func (e *Engine) asks(a *application) bool {
	if e.sched.Waits(a.ref) {
		return true
	}
	t := a.current()
	return t != nil && (t.said().gangs != nil || t.said().opportunistic.Wanted())
}

// Waits are the waiting times by cause, of queues and of users there, in the order of their names.
func (e *Engine) Waits() (out []view.Wait) {
	for _, m := range []map[waitOf]int64{e.waits.queues, e.waits.users} {
		for k, millis := range m { //tidy:unordered they are sorted
			out = append(out, view.Wait{Queue: k.queue, User: k.user, Cause: k.cause, Millis: millis})
		}
	}
	slices.SortFunc(out, func(a, b view.Wait) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.User, b.User), cmp.Compare(a.Cause, b.Cause))
	})
	return out
}
