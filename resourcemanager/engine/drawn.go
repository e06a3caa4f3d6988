package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// drawn keeps parts of the latest views of applications, so that later views can share them. Waiting applications mostly want, use and wait for
// the same, and these parts are more than half of a view.
type drawn struct {
	usage  *view.Usage
	asks   *view.Asks // made of wanted and requests
	common memo[view.Common, *view.Common]
	texts  memo[masterWaits, string] // made since the queues were last read

	wanted   []scheduler.Wanted
	requests []yarn.Ask
	// buffers, which each call uses again
	next []scheduler.Wanted
	refs []scheduler.ContainerRef
}

// maxMemo is how many values a memo has at most.
const maxMemo = 4096

// memo maps values to what was made of them.
type memo[From comparable, To any] map[From]To

// of returns what make makes of a value, and calls make once for equal values.
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

// own returns a copy.
func own[T any](x *T) *T {
	c := *x
	return &c
}

// shared returns *last if it equals x; otherwise it returns a copy of x, and keeps it in last.
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

// asksOf returns the view of the wanted containers and of the requests for the master's container.
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
