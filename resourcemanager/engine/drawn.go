package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// drawn is what the last views of applications have. Those that wait mostly want, use and wait for the same, and their views share it:
// that is more than half of such a view.
type drawn struct {
	usage  *view.Usage
	asks   *view.Asks // for wanted and requests
	common memo[view.Common, *view.Common]
	texts  memo[masterWaits, string] // made since the queues were last looked at

	wanted   []scheduler.Wanted
	requests []yarn.Ask
	next     []scheduler.Wanted // of the running call
}

// maxMemo bounds the values of a memo.
const maxMemo = 4096

// memo is what was made of values, by these.
type memo[From comparable, To any] map[From]To

// of is what is made of a value. It is made once for all that are equal.
func (m *memo[From, To]) of(from *From, make func(*From) To) To {
	to, ok := (*m)[*from]
	if ok {
		return to
	}
	if *m == nil || len(*m) >= maxMemo {
		*m = memo[From, To]{}
	}
	to = make(from)
	(*m)[*from] = to
	return to
}

// own is a copy.
func own[T any](x *T) *T {
	c := *x
	return &c
}

// shared is the last value if that is equal to this one, or else a copy of this one.
func shared[T comparable](last **T, x *T) *T {
	if *last == nil || **last != *x {
		*last = own(x)
	}
	return *last
}

// maxSharedACLs bounds the texts that stay in a memo after the applications that had them.
const maxSharedACLs = 4 << 10

func (d *drawn) commonOf(x *view.Common) *view.Common {
	if len(x.ViewACL)+len(x.ModifyACL) > maxSharedACLs {
		return own(x)
	}
	return d.common.of(x, own)
}

// asksOf shows what is wanted, and what is asked for a master.
func (d *drawn) asksOf(wanted []scheduler.Wanted, requests []yarn.Ask) *view.Asks {
	if d.asks != nil && slices.Equal(wanted, d.wanted) && slices.Equal(requests, d.requests) {
		return d.asks
	}
	d.asks, d.wanted, d.requests = &view.Asks{}, slices.Clone(wanted), slices.Clone(requests)
	for _, w := range wanted {
		d.asks.Wanted = append(d.asks.Wanted, view.Wanted{Size: w.Size, Count: w.Count, Label: w.Label})
	}
	for _, q := range requests {
		d.asks.Requests = append(d.asks.Requests, view.Request{Priority: q.Priority, AllocationRequestID: q.AllocationRequestID, Where: q.Where,
			Capability: q.Capability, Count: q.Count, RelaxLocality: q.RelaxLocality, Label: q.Label, ExecutionType: q.ExecutionType})
	}
	return d.asks
}
