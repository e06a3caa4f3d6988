package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/sim/trace"
)

// errDiffers is what Check returns once it has shown a difference.
var errDiffers = errors.New("differs from what was recorded")

const (
	shown        = 3   // events before a difference that are shown
	shownText    = 400 // characters of one value
	explainNodes = 16  // nodes that are looked at to find out why an application waits
)

// Check plays a trace until an event shows something else than was recorded. It
// prints what differs, and why the applications concerned wait.
func Check(in io.Reader, name string, out io.Writer) error {
	var before []*trace.Common
	played := 0
	err := each(in, name, func(w *World, e *trace.Common, saw trace.Saw) error {
		if len(e.Saw) == 0 {
			return fmt.Errorf("%s:%d: event %d was never recorded; record the trace first", name, e.Line, e.N)
		}
		var ignored []string
		if w == nil { // of a plan: the words of an error are each one's own
			ignored = []string{"message"}
		}
		d, err := trace.Compare(e.Saw, saw, ignored...)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, e.Line, err)
		}
		played++
		if before = append(before, e); len(before) > shown+1 {
			before = before[1:]
		}
		if d != nil {
			show(out, name, before, d)
			if w != nil {
				w.explain(out, e, d)
			}
			return errDiffers
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(out, "%s: %d events equal\n", name, played)
	}
	return err
}

// show prints the difference of the last of the events.
func show(out io.Writer, name string, events []*trace.Common, d *trace.Difference) {
	last := events[len(events)-1]
	place := d.Path
	if place == "" {
		place = "saw"
	}
	fmt.Fprintf(out, "%s: event %d (%s) differs at %s\n", name, last.N, last.Do, place)
	for _, e := range events {
		fmt.Fprintf(out, "    %s\n", describe(e))
	}
	fmt.Fprintf(out, "    recorded: %s\n    here:     %s\n", text(d.Want), text(d.Got))
}

// explain prints why the applications concerned wait.
func (w *World) explain(out io.Writer, e *trace.Common, d *trace.Difference) {
	for _, a := range w.concerned(e, d) {
		for _, why := range w.engine.Explain(a.id, explainNodes) {
			fmt.Fprintf(out, "    %s waits: %s %s needed %s limit %s %d of %d %s\n", a.name, why.Code, why.Subject,
				why.Needed, why.Limit, why.Count, why.Max, why.Detail)
		}
	}
}

// describe is the event as it is written, without what was recorded.
func describe(e *trace.Common) string {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(e.Raw, &fields); err != nil {
		return fmt.Sprintf("%d %s", e.N, e.Do)
	}
	delete(fields, "saw")
	return text(fields)
}

// text prints a value, not too long.
func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if len(b) > shownText {
		return string(b[:shownText]) + "…"
	}
	return string(b)
}

// concerned are the applications that the event or the difference names.
func (w *World) concerned(e *trace.Common, d *trace.Difference) []*app {
	var event struct{ App string }
	_ = json.Unmarshal(e.Raw, &event) // it has been read once
	names := []string{event.App}
	for _, v := range []any{d.Want, d.Got} {
		switch x := v.(type) {
		case string:
			names = append(names, x)
		case []any:
			for _, y := range x {
				names = append(names, fmt.Sprint(y))
			}
		case map[string]any:
			names = append(names, fmt.Sprint(x["app"]), fmt.Sprint(x["name"]))
		}
	}
	var out []*app
	for _, name := range names {
		owner, _, _ := strings.Cut(name, "/")
		if a := w.apps[owner]; a != nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
