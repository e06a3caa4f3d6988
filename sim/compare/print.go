package compare

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/heddle-project/heddle/internal/visible"
)

// seconds prints milliseconds.
func seconds(ms int64) string {
	if ms == Never {
		return "never"
	}
	return strconv.FormatFloat(float64(ms)/1000, 'f', 3, 64)
}

// change prints a time under A, and what is different under B.
func change(a, b int64) string {
	switch {
	case a == b:
		return seconds(a)
	case a == Never, b == Never:
		return seconds(a) + " -> " + seconds(b)
	}
	return fmt.Sprintf("%s %+.3f", seconds(a), float64(b-a)/1000)
}

// both prints two words, or the one that both are.
func both(a, b string) string {
	if a == b {
		return visible.Text(a)
	}
	return visible.Text(a) + " -> " + visible.Text(b)
}

// numbers prints a number under A and under B, or the one that both are.
func numbers(a, b int) string { return both(strconv.Itoa(a), strconv.Itoa(b)) }

// print writes a report as plain lines. all adds the applications that do not differ.
func (r *Report) print(out io.Writer, all bool) {
	fmt.Fprintf(out, "%s: %s recorded, %d applications\n", visible.Text(r.Trace), span(r.Recorded), len(r.Apps))
	fmt.Fprintf(out, "A: %s (%s), B: %s (%s); seconds, under A and by how much B differs\n",
		visible.Text(r.A.File), r.A.Scheduler, visible.Text(r.B.File), r.B.Scheduler)
	for _, n := range r.Notes {
		fmt.Fprintf(out, "note: %s\n", visible.Text(n))
	}
	if c := r.Check; c != nil {
		fmt.Fprintf(out, "check of the model: under the recorded configuration it starts %d of %d masters within %s of when they started\n", c.Near, c.Masters, span(c.Within))
	}
	if r.Equal < len(r.Apps) || all && len(r.Apps) > 0 {
		fmt.Fprintln(out)
		r.printApps(out, all)
	}
	if len(r.Queues) > 0 {
		fmt.Fprintln(out)
		r.printQueues(out)
	}
	r.printReasons(out)
	fmt.Fprintf(out, "\n%s\n", r.tally())
}

// span is a time with its unit.
func span(ms int64) string { return seconds(ms) + " s" }

func (r *Report) printApps(out io.Writer, all bool) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "APPLICATION\tUSER\tQUEUE\tSTATE\tMASTER\tFIRST\tLAST\tEND\tWAITED\tPENDING")
	for i := range r.Apps {
		p := &r.Apps[i]
		if !p.Differs && !all {
			continue
		}
		a, b := p.A, p.B
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Text(p.Name), visible.Text(p.User), both(a.Queue, b.Queue), both(a.State, b.State),
			change(a.Master, b.Master), change(a.First, b.First), change(a.Last, b.Last), change(a.End, b.End), change(a.Waited, b.Waited), numbers(a.Pending, b.Pending))
	}
	t.Flush() //nolint:errcheck // nobody is there to be told
}

func (r *Report) printQueues(out io.Writer) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "QUEUE\tAPPLICATIONS\tSTARTED\tREFUSED\tENDED\tPREEMPTED\tMASTER MEDIAN\tMASTER P95\tEND MEDIAN\tEND P95\tWAITED\tPENDING")
	for i := range r.Queues {
		q := &r.Queues[i]
		a, b := &q.A, &q.B
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", visible.Text(q.Queue), numbers(a.Apps, b.Apps), numbers(a.Started, b.Started),
			numbers(a.Refused, b.Refused), numbers(a.Ended, b.Ended), numbers(a.Preempted, b.Preempted), change(a.MasterMedian, b.MasterMedian),
			change(a.MasterP95, b.MasterP95), change(a.EndMedian, b.EndMedian), change(a.EndP95, b.EndP95), change(a.Waited, b.Waited), numbers(a.Pending, b.Pending))
	}
	t.Flush() //nolint:errcheck // likewise
}

// printReasons tells why applications are refused, and what went wrong in them, where the two differ.
func (r *Report) printReasons(out io.Writer) {
	first := true
	say := func(p *Pair, side, text string) {
		if first {
			first = false
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s, %s: %s\n", visible.Text(p.Name), side, visible.Text(strings.TrimSpace(text)))
	}
	for i := range r.Apps {
		p := &r.Apps[i]
		for _, side := range []struct {
			name        string
			this, other *Result
		}{{"A", p.A, p.B}, {"B", p.B, p.A}} {
			if x := side.this.Refused; x != "" && side.other.Refused == "" {
				say(p, side.name, "refused: "+x)
			}
			for _, n := range side.this.Notes {
				if !slices.Contains(side.other.Notes, n) {
					say(p, side.name, n)
				}
			}
		}
	}
}

// tally counts applications by how they differ.
type tally struct{ all, differ, earlier, later, onlyA, onlyB, refusedA, refusedB int }

func (r *Report) tally() tally {
	t := tally{all: len(r.Apps), differ: len(r.Apps) - r.Equal}
	for i := range r.Apps {
		a, b := r.Apps[i].A, r.Apps[i].B
		switch {
		case a.Master == b.Master:
		case b.Master == Never:
			t.onlyA++
		case a.Master == Never:
			t.onlyB++
		case b.Master < a.Master:
			t.earlier++
		default:
			t.later++
		}
		if a.Refused == "" && b.Refused != "" {
			t.refusedB++
		}
		if a.Refused != "" && b.Refused == "" {
			t.refusedA++
		}
	}
	return t
}

func (t tally) String() string {
	if t.differ == 0 {
		return fmt.Sprintf("no difference in %d applications", t.all)
	}
	s := fmt.Sprintf("%d of %d applications differ: under B %d start earlier, %d later", t.differ, t.all, t.earlier, t.later)
	for _, x := range []struct {
		n    int
		text string
	}{{t.onlyA, "%d start under A alone"}, {t.onlyB, "%d start under B alone"}, {t.refusedA, "%d are refused by A alone"}, {t.refusedB, "%d are refused by B alone"}} {
		if x.n > 0 {
			s += ", " + fmt.Sprintf(x.text, x.n)
		}
	}
	return s
}

// writeJSON writes reports as one JSON value. Times are milliseconds, and -1 for never.
func writeJSON(out io.Writer, reports []*Report) error {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(map[string]any{"comparisons": reports})
}
