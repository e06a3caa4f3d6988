package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
)

// MaxLedger is how many events of preemption are remembered; older ones are forgotten.
const MaxLedger = 10_000

// ledger is the latest events of preemption since the start: a ring.
type ledger struct {
	list []view.Preemption
	next int // the oldest one, once the ring is full
}

func (l *ledger) add(p view.Preemption) {
	if len(l.list) < MaxLedger {
		l.list = append(l.list, p)
		return
	}
	l.list[l.next] = p
	l.next = (l.next + 1) % MaxLedger
}

// latest are the latest ones that match, at most so many, the youngest first.
func (l *ledger) latest(most int, match func(*view.Preemption) bool) []view.Preemption {
	out := []view.Preemption{}
	for i := len(l.list) - 1; i >= 0 && len(out) < most; i-- {
		if p := &l.list[(l.next+i)%len(l.list)]; match(p) {
			out = append(out, *p)
		}
	}
	return out
}

// noteTaking enters what becomes of a container or a reservation in the ledger.
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
	e.ledger.add(view.Preemption{At: e.now.Wall, Event: what, Container: book.ID, Queue: e.sched.QueueOf(book.App), Resource: book.Resource, Master: book.AM,
		Age: max(e.now.Wall-begun, 0), Rule: t.Rule, ForQueue: t.ForQueue, ForApp: t.ForApp})
}

// preemptions answers a command; see Preemptions.
func (e *Engine) preemptions(c Preemptions) {
	e.reply(c.Ticket, e.ledger.latest(min(c.Most, MaxLedger), func(p *view.Preemption) bool {
		return (c.Queue == "" || p.Of(c.Queue)) && (c.Application.Sequence == 0 || p.OfApplication(c.Application))
	}))
}
