package ui

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// fairMarks are the marks of a bar under the FairScheduler, besides those of queueRow, whose capacity is the fair share.
type fairMarks struct{ Steady, Min string } // widths

// fairRow fills in a row for a queue of the FairScheduler: its bar, and the values that Hadoop's page has, under its names, before our own.
//
// compat: bars are of memory, whatever the policy compares.
func (t *tree) fairRow(row *queueRow, q *queue.Info) {
	f := q.Fair
	row.Fair = &fairMarks{Steady: width(t.ofMemory(f.SteadyShare)), Min: width(t.ofMemory(f.MinShare))}
	row.Summary = fmt.Sprintf("of %s: fair share %s, steady fair share %s, used %s, at least %s, at most %s", t.base, percentText(t.ofMemory(f.FairShare)),
		percentText(t.ofMemory(f.SteadyShare)), row.AbsUsed, percentText(t.ofMemory(f.MinShare)), percentText(t.ofMemory(f.MaxShare)))
	row.Values = t.fairValues(q)
}

// ofMemory is the part of the cluster's memory, at most all of it.
func (t *tree) ofMemory(r yarn.Resource) float32 {
	if t.total.MemoryMB() == 0 {
		return 0
	}
	return share(float32(r.MemoryMB()) / float32(t.total.MemoryMB()))
}

func (t *tree) fairValues(q *queue.Info) []pair {
	d, f, format := &q.Default, q.Fair, t.types.Format
	n := func(v int32) string { return strconv.Itoa(int(v)) }
	out := []pair{{"Used Resources", format(d.Used.Sub(d.Reserved))}, {"Demand Resources", format(f.Demand)}}
	if q.Leaf {
		out = append(out, []pair{
			{"AM Used Resources", format(f.AMUsed)},
			{"AM Max Resources", format(f.AMLimit)},
			{"Num Active Applications", n(q.ActiveApps)},
			{"Num Pending Applications", n(q.PendingApps)},
			{"Applications held back by a limit on running ones", n(f.NonRunnable)},
		}...)
	}
	out = append(out, []pair{
		{"Min Resources", format(f.MinShare)},
		{"Max Resources", format(f.Most(t.total))},
		{"Max Container Allocation", format(q.MaxAllocation)},
		{"Reserved Resources", format(d.Reserved)},
		{"Max Running Applications", limit(f.MaxApps)},
		{"Steady Fair Share", format(f.SteadyShare)},
		{"Instantaneous Fair Share", format(f.FairShare)},
		{"Preemptable", strconv.FormatBool(f.Preemptable)},
		{"Scheduling Policy", f.Policy},
		{"Weight", strconv.FormatFloat(float64(f.Weight), 'f', -1, 32)},
		{"Preempts for its minimum after", wait(f.MinShareTimeout)},
		{"Preempts for its fair share after", below(f)},
		{"Num Containers", n(d.AllocatedContainers)},
		{"Deletion", deletion(q)},
	}...)
	return out
}

func limit(n int32) string {
	if n == math.MaxInt32 {
		return "no limit"
	}
	return strconv.Itoa(int(n))
}

// wait is a timeout of that many milliseconds, as text.
func wait(ms int64) string {
	if ms > math.MaxInt64/int64(time.Millisecond) {
		return "never"
	}
	return (time.Duration(ms) * time.Millisecond).String()
}

// below is how long the queue must be below its fair share threshold before others are preempted, as text.
func below(f *queue.Fair) string {
	if text := wait(f.FairShareTimeout); text != "never" {
		return text + " below " + percentText(f.FairShareThreshold) + " of it"
	}
	return "never"
}

// deletion says whether the queue is dynamic, and why it is not deleted.
func deletion(q *queue.Info) string {
	switch why := view.Kept(q.Fair.Kept); {
	case why == "":
		return "not named by the allocation file; it is empty and will be deleted"
	case q.Dynamic:
		return "not named by the allocation file; not deleted yet: " + why
	default:
		return "not deleted: " + why
	}
}
