package engine

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// drawn is what the last view of an application has. Those that wait mostly want, use and wait for the same, and their views share it:
// that is more than half of such a view.
type drawn struct {
	usage    *view.Usage
	wanted   rows[scheduler.Wanted, view.Wanted]
	requests rows[yarn.Ask, view.Request]
	buffer   []scheduler.Wanted     // of the running call
	texts    map[masterWaits]string // made since the queues were last looked at, at most maxTexts
}

// maxTexts bounds drawn.texts.
const maxTexts = 1024

func newDrawn() drawn {
	return drawn{
		wanted: rows[scheduler.Wanted, view.Wanted]{show: func(w *scheduler.Wanted) view.Wanted {
			return view.Wanted{Size: w.Size, Count: w.Count, Label: w.Label}
		}},
		requests: rows[yarn.Ask, view.Request]{show: func(q *yarn.Ask) view.Request {
			return view.Request{Priority: q.Priority, AllocationRequestID: q.AllocationRequestID, Where: q.Where,
				Capability: q.Capability, Count: q.Count, RelaxLocality: q.RelaxLocality, Label: q.Label, ExecutionType: q.ExecutionType}
		}},
	}
}

func (d *drawn) usageOf(u *view.Usage) *view.Usage {
	if d.usage == nil || *d.usage != *u {
		own := *u
		d.usage = &own
	}
	return d.usage
}

// textOf is the text on a master that waits. It is made once for all that wait alike.
func (d *drawn) textOf(w *masterWaits, set *Settings) string {
	text, ok := d.texts[*w]
	if ok {
		return text
	}
	if d.texts == nil || len(d.texts) >= maxTexts {
		d.texts = map[masterWaits]string{}
	}
	text = w.text(set)
	d.texts[*w] = text
	return text
}

// rows are the rows of a view, and what they were made of.
type rows[From comparable, To any] struct {
	show func(*From) To
	from []From
	to   []To
}

// of shows rows. They must not be changed afterwards.
func (r *rows[From, To]) of(from []From) []To {
	if !slices.Equal(from, r.from) {
		r.from, r.to = slices.Clone(from), make([]To, len(from))
		for i := range from {
			r.to[i] = r.show(&from[i])
		}
	}
	return r.to
}
