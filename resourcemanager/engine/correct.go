package engine

import (
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// kindOfAsk is what an ask and the containers granted for it have in common.
type kindOfAsk struct {
	requestID int64
	priority  int32
	execution yarn.ExecutionType
	size      yarn.Resource
}

// correct subtracts from each ask the containers of its kind that were granted and
// not fetched: the master did not know of them when it counted what it lacks. If
// there are more of them than it asks for, the rest end, and the master learns of
// that by its next call.
//
// compat: places do not matter. All containers of the kind are subtracted from each
// row, whatever place it names. Of several rows that ask for fewer, the last one
// decides how many containers end.
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

// expire ends containers that their master has not fetched and does not need; if they
// are very many, in slices.
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
