package capacity

import (
	"fmt"

	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// heard is what a scheduler has reported since the last look, and what it had then.
type heard struct {
	s       *Scheduler
	reports map[core.What]map[string]bool // by path of the queue
	ledgers map[string][]queue.Ledger
	apps    map[string]member
}

// member is an application as one of a leaf's.
type member struct {
	leaf     string
	priority int32
	running  bool
	active   bool
}

func listen(s *Scheduler) *heard {
	h := &heard{s: s}
	h.look()
	s.Watch(h)
	return h
}

// Changed notes a report, which speaks of the queues above, too.
func (h *heard) Changed(c core.Change) {
	if h.reports[c.What] == nil {
		h.reports[c.What] = map[string]bool{}
	}
	for q := c.Queue; q != nil; q = q.Parent {
		h.reports[c.What][q.Path] = true
		if c.What == core.Members {
			break
		}
	}
}

func (h *heard) look() {
	h.reports, h.ledgers, h.apps = map[core.What]map[string]bool{}, map[string][]queue.Ledger{}, map[string]member{}
	for _, q := range h.s.tree.Queues {
		if q != nil {
			h.ledgers[q.Path] = append([]queue.Ledger(nil), q.Ledger...)
		}
	}
	for _, a := range h.s.Apps {
		if a != nil && !a.Gone {
			h.apps[a.ID.String()] = member{a.Leaf.Path, a.Priority, a.Running, appOf(a).active}
		}
	}
}

// missed describes a change of what decisions are made from that nobody was told of; ""
// is none.
func (h *heard) missed() string {
	ledgers, apps, reports := h.ledgers, h.apps, h.reports
	h.look()
	if reports[core.Shares]["root"] {
		return "" // everything may be another
	}
	for path, was := range ledgers { //tidy:unordered any will do
		is, there := h.ledgers[path]
		for p := range was {
			if there && changedUse(&was[p], &is[p]) && !reports[core.Usage][path] {
				return fmt.Sprintf("what is used or reserved in %s has changed from %+v to %+v, and nobody was told", path, was[p], is[p])
			}
		}
	}
	for id, was := range apps { //tidy:unordered any will do
		if is, there := h.apps[id]; (!there || is != was) && (!reports[core.Members][was.leaf] || there && !reports[core.Members][is.leaf]) {
			return fmt.Sprintf("%s was %+v, is %+v (there: %v), and nobody was told", id, was, is, there)
		}
	}
	return ""
}

func changedUse(a, b *queue.Ledger) bool {
	return a.Used != b.Used || a.Promised != b.Promised || a.Held != b.Held || a.Containers != b.Containers || a.Killable != b.Killable
}
