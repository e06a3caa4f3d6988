package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
)

// MaxPreemptionEvents is how many events of preemption are remembered; older ones are forgotten.
const MaxPreemptionEvents = 10_000

// preemptionLog is the latest events of preemption since the start: a ring.
type preemptionLog struct {
	list []view.Preemption
	next int // the oldest one, once the ring is full
	read int // entries that were read since the start
}

func (l *preemptionLog) add(p view.Preemption) {
	if len(l.list) < MaxPreemptionEvents {
		l.list = append(l.list, p)
		return
	}
	l.list[l.next] = p
	l.next = (l.next + 1) % MaxPreemptionEvents
}

// latest are the latest ones that match, at most so many, the youngest first.
func (l *preemptionLog) latest(most int, match func(*view.Preemption) bool) []view.Preemption {
	out := []view.Preemption{}
	if most > 0 {
		l.walk(func(p *view.Preemption) bool {
			if match(p) {
				out = append(out, *p)
			}
			return len(out) < most
		})
	}
	return out
}

// walk reads the entries, the youngest first, while more wants another one.
func (l *preemptionLog) walk(more func(*view.Preemption) bool) {
	for i := len(l.list) - 1; i >= 0; i-- {
		if l.read++; !more(&l.list[(l.next+i)%len(l.list)]) {
			return
		}
	}
}

// noteTaking enters what becomes of a container or a reservation in the log of preemption.
func (e *Engine) noteTaking(t *scheduler.Taking, what view.PreemptionEvent) {
	book := e.sched.Container(t.Ref)
	a := e.byRef[book.App]
	if a == nil {
		return
	}
	begun := book.CreatedWall
	if c := e.containerAt(t.Ref); c != nil {
		begun = c.created
	}
	e.preemptionLog.add(view.Preemption{At: e.now.Wall, Event: what, Container: book.ID, Queue: e.sched.LeafOf(book.App), Resource: book.Resource, Master: book.AM,
		Age: max(e.now.Wall-begun, 0), Rule: t.Rule, ForQueue: t.ForQueue, ForApp: t.ForApp})
}

// preemptions answers a command; see Preemptions.
func (e *Engine) preemptions(c Preemptions) {
	e.reply(c.Ticket, e.preemptionLog.latest(min(c.Most, MaxPreemptionEvents), func(p *view.Preemption) bool {
		return (c.Queue == "" || p.Of(c.Queue)) && (c.Application.Sequence == 0 || p.OfApplication(c.Application))
	}))
}
