package engine

import (
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// kindOfAsk is what an ask and the containers that it is served by have in common.
type kindOfAsk struct {
	requestID int64
	priority  int32
	execution yarn.ExecutionType
	size      yarn.Resource
}

// correct makes asks smaller by what was granted for the like of them and is not
// fetched: their master did not know of it when it counted what it lacks. What
// is more than it asks for ends, and it hears of that by its next call.
//
// compat: places do not matter. Each row of a place is made smaller by all
// containers of the kind, and of several rows the last one that asks for less than
// there is says how many of them end.
func (e *Engine) correct(t *attempt, asks []yarn.Ask) {
	if !e.set.Correct || len(t.grants) == t.ungranted {
		return
	}
	granted := map[kindOfAsk][]*container{}
	var kinds []kindOfAsk
	for _, c := range t.grants {
		if c == nil {
			continue
		}
		book := e.sched.Container(c.ref)
		k := kindOfAsk{book.AllocationRequestID, book.Priority, book.Execution, book.Resource}
		if granted[k] == nil {
			kinds = append(kinds, k)
		}
		granted[k] = append(granted[k], c)
	}
	excess := map[kindOfAsk]int{}
	for i := range asks {
		a := &asks[i]
		k := kindOfAsk{a.AllocationRequestID, a.Priority, a.ExecutionType, a.Capability}
		switch n := len(granted[k]); {
		case n == 0:
		case int(a.Count) < n:
			excess[k], a.Count = min(n-int(a.Count), n), 0
		default:
			a.Count -= int32(n)
		}
	}
	var useless []*container
	for _, k := range kinds {
		useless = append(useless, granted[k][:excess[k]]...)
	}
	e.expire(t, useless)
}

// expire ends containers that their master has not fetched and never will; of very
// many the later ones in slices.
func (e *Engine) expire(t *attempt, useless []*container) {
	for _, c := range useless {
		t.ungrant(c)
	}
	end := func(budget int) (used int, done bool) {
		for ; len(useless) > 0 && used < budget; useless = useless[1:] {
			if c := useless[0]; !c.state.Final() {
				e.endForGood(c, scheduler.Expired, yarn.ExitAborted, "Container expired since it was unused")
			}
			used++
		}
		return used, len(useless) == 0
	}
	if _, done := end(e.slice()); !done {
		e.jobs = append(e.jobs, end)
	}
}
