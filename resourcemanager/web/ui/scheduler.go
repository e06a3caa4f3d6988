package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of the queue tree on one page.
const (
	maxQueues     = 2000
	maxQueueDepth = 32
)

// queueRow is a queue with its bar. The widths, for SVG attributes, and the text beside
// the bar are percentages of what Base names.
type queueRow struct {
	*queue.Info
	Depth                     int
	Capacity, Max, Used, Over string // widths; Over begins where Capacity ends
	AbsUsed                   string
	Values                    []pair
	Users                     []userRow
	Children                  []queueRow
	Open                      bool
	Summary                   string
	Base                      string     // what the percentages are of
	Fair                      *fairMarks // under the FairScheduler
	Closed                    string     // the state of a queue that takes no applications
}

type pair struct{ Name, Value string }

type userRow struct {
	queue.UserUsage
	UsedText, AMUsedText, AMLimitText, LimitText string
}

// tree builds rows from a snapshot.
type tree struct {
	all   *queue.Snapshot
	types yarn.ResourceTypes
	total yarn.Resource // of the cluster
	base  string        // what shares are of
	open  string        // path of the queue that is chosen
	left  int
}

func (s *server) scheduler(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context(), view.Everything)
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	t := &tree{c.Queues, c.ResourceTypes, c.Metrics.Total, "the cluster", q.Get("queue"), maxQueues}
	if len(c.Labels.Known) > 0 {
		t.base = "the default partition"
	}
	fair := len(c.Queues.Queues) > 0 && c.Queues.Queues[0].Fair != nil
	if fair {
		t.base = "all memory"
	}
	body := struct {
		Queues []queueRow
		Fair   bool
		Base   string
		Chosen string
		Cut    bool
		Apps   list
	}{Fair: fair, Base: t.base, Chosen: t.open, Apps: s.list(c, webgate.From(r.Context()), r.URL.Path, "", q)}
	if len(c.Queues.Queues) > 0 {
		body.Queues = []queueRow{t.row(&c.Queues.Queues[0], 0)}
	}
	body.Cut = t.left <= 0
	return &frame{Title: "Application Queues", Here: "scheduler", Metrics: s.metrics(r.Context(), c), Body: body}, nil
}

func (t *tree) row(q *queue.Info, depth int) queueRow {
	t.left--
	row := queueRow{Info: q, Depth: depth, Base: t.base, Open: !q.Leaf || q.Path == t.open}
	absolute, absoluteUsed, most := t.shares(q)
	capacity, used := share(absolute), share(absoluteUsed)
	row.Capacity, row.Max = width(capacity), width(share(most))
	row.Used, row.Over = width(min(used, capacity)), width(max(used-capacity, 0))
	row.AbsUsed = percentText(absoluteUsed)
	row.Summary = fmt.Sprintf("of %s: capacity %s, used %s, at most %s", t.base, percentText(absolute), row.AbsUsed, percentText(most))
	if q.State != queue.Running {
		row.Closed = q.State.String()
	}
	switch {
	case q.Capacity != nil:
		row.Values, row.Users = t.capacityValues(q), t.users(q.Capacity)
	case q.Fair != nil:
		t.fairRow(&row, q)
	default:
		row.Values = t.values(q)
	}
	if q.Capacity != nil && q.Capacity.HidesQueues { // show-reservations-as-queues
		return row
	}
	for _, path := range q.Children {
		if child, ok := t.all.ByPath(path); ok && t.left > 0 && depth < maxQueueDepth {
			row.Children = append(row.Children, t.row(child, depth+1))
		}
	}
	return row
}

// shares are the parts of the cluster that the queue is guaranteed, that it uses and that
// it may use. Under the FairScheduler the first is its fair share.
func (t *tree) shares(q *queue.Info) (capacity, used, most float32) {
	if q.Capacity != nil {
		d := &q.Capacity.Default
		return d.AbsoluteCapacity, d.AbsoluteUsed, d.AbsoluteMax
	}
	if f := q.Fair; f != nil {
		return t.ofMemory(f.FairShare), t.ofMemory(q.Default.Used.Sub(q.Default.Reserved)), t.ofMemory(f.MaxShare)
	}
	part := func(r yarn.Resource) float32 {
		if t.total.MemoryMB() == 0 {
			return 0
		}
		return float32(r.MemoryMB()) / float32(t.total.MemoryMB())
	}
	return part(q.Default.EffectiveMin), part(q.Default.Used), part(q.Default.EffectiveMax)
}

// values are those that a queue has under any scheduler.
func (t *tree) values(q *queue.Info) []pair {
	n := func(v int32) string { return strconv.Itoa(int(v)) }
	return []pair{
		{"Queue State", q.State.String()},
		{"Used Resources", t.types.Format(q.Default.Used)},
		{"Num Schedulable Applications", n(q.ActiveApps)},
		{"Num Non-Schedulable Applications", n(q.PendingApps)},
		{"Num Containers", n(q.Default.AllocatedContainers)},
	}
}

func share(f float32) float32 { return min(max(f, 0), 1) }

func width(f float32) string { return strconv.FormatFloat(float64(f)*100, 'f', 2, 32) + "%" }

func percentText(f float32) string { return strconv.FormatFloat(float64(f)*100, 'f', 1, 32) + "%" }

func orDefault(label string) string {
	if label == "" {
		return "<DEFAULT_PARTITION>"
	}
	return label
}

func labels(list []string) string {
	out := ""
	for i, l := range slices.Sorted(slices.Values(list)) {
		if i > 0 {
			out += ","
		}
		out += l
	}
	return out
}

func sortedLabels(q *queue.Info) []string {
	names := make([]string, 0, len(q.Partitions))
	for n := range q.Partitions {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

func enabled(on bool) string {
	if on {
		return "enabled"
	}
	return "disabled"
}
