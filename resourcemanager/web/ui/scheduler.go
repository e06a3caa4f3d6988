package ui

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of the queue tree on one page.
const (
	maxQueues     = 2000
	maxQueueDepth = 32
)

// queueRow is a queue with its bars. The widths are percentages of the whole
// cluster, for SVG attributes, and so is what stands beside the bar.
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
	Base                      string // what the percentages are of
	Closed                    string // the state of a queue that takes no applications
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
	base  string // what absolute shares are of
	open  string // path of the queue that is chosen
	left  int
}

func (s *server) scheduler(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context())
	if err != nil {
		return nil, err
	}
	snapshot, err := s.Source.Queues(r.Context())
	if err != nil {
		return nil, err
	}
	q := r.URL.Query()
	t := &tree{snapshot, c.ResourceTypes, "the cluster", q.Get("queue"), maxQueues}
	if len(c.Labels.Known) > 0 {
		t.base = "the default partition"
	}
	body := struct {
		Queues []queueRow
		Base   string
		Chosen string
		Cut    bool
		Apps   list
	}{Base: t.base, Chosen: t.open, Apps: s.list(c, webgate.From(r.Context()), r.URL.Path, "", q)}
	if root, ok := snapshot.ByPath("root"); ok {
		body.Queues = []queueRow{t.row(root, 0)}
	}
	body.Cut = t.left <= 0
	return &frame{Title: "Application Queues", Here: "scheduler", Metrics: s.metrics(r.Context(), c), Body: body}, nil
}

func (t *tree) row(q *queue.Info, depth int) queueRow {
	t.left--
	d := &q.Default
	row := queueRow{Info: q, Depth: depth, Base: t.base, Open: !q.Leaf || q.Path == t.open}
	capacity, used := share(d.AbsoluteCapacity), share(d.AbsoluteUsed)
	row.Capacity, row.Max = width(capacity), width(share(d.AbsoluteMax))
	row.Used, row.Over = width(min(used, capacity)), width(max(used-capacity, 0))
	row.AbsUsed = percentText(d.AbsoluteUsed)
	row.Summary = fmt.Sprintf("of %s: capacity %s, used %s, at most %s", t.base, percentText(d.AbsoluteCapacity), row.AbsUsed, percentText(d.AbsoluteMax))
	if q.State != queue.Running {
		row.Closed = q.State.String()
	}
	row.Values = t.values(q)
	if q.Leaf {
		row.Users = t.users(q)
	}
	for _, path := range q.Children {
		if child, ok := t.all.ByPath(path); ok && t.left > 0 && depth < maxQueueDepth {
			row.Children = append(row.Children, t.row(child, depth+1))
		}
	}
	return row
}

func share(f float32) float32 { return min(max(f, 0), 1) }

func width(f float32) string { return strconv.FormatFloat(float64(f)*100, 'f', 2, 32) + "%" }

func percentText(f float32) string { return strconv.FormatFloat(float64(f)*100, 'f', 1, 32) + "%" }

// values are those that Hadoop's page lists for a queue, in its words.
func (t *tree) values(q *queue.Info) []pair {
	d := &q.Default
	format := t.types.Format
	out := []pair{
		{"Queue State", q.State.String()},
		{"Used Capacity", percentText(d.UsedCapacity)},
		{"Configured Capacity", t.configured(q)},
		{"Configured Max Capacity", percentText(d.MaxCapacity)},
		{"Absolute Used Capacity", percentText(d.AbsoluteUsed)},
		{"Absolute Configured Capacity", percentText(d.AbsoluteCapacity)},
		{"Absolute Configured Max Capacity", percentText(d.AbsoluteMax)},
		{"Used Resources", format(d.Used)},
		{"Effective Capacity", format(d.EffectiveMin)},
		{"Effective Max Capacity", format(d.EffectiveMax)},
	}
	if q.Leaf {
		out = append(out, t.leafValues(q)...)
	}
	out = append(out,
		pair{"Accessible Node Labels", labels(q.Labels)},
		pair{"Ordering Policy", q.OrderingPolicy},
		pair{"Preemption", enabled(!q.PreemptionDisabled)},
		pair{"Intra-queue Preemption", enabled(!q.IntraQueuePreemptionDisabled)},
	)
	for _, name := range sortedLabels(q) {
		p := q.Partitions[name]
		out = append(out, pair{"Partition " + name, fmt.Sprintf("capacity %s, at most %s, used %s (%s)",
			percentText(p.AbsoluteCapacity), percentText(p.AbsoluteMax), percentText(p.AbsoluteUsed), format(p.Used))})
	}
	return out
}

func (t *tree) configured(q *queue.Info) string {
	switch q.Mode {
	case "weight":
		return strconv.FormatFloat(float64(q.Default.Weight), 'f', -1, 32) + "w"
	case "absolute":
		return t.types.Format(q.Default.ConfiguredMin)
	}
	return percentText(q.Default.Capacity)
}

func (t *tree) leafValues(q *queue.Info) []pair {
	d, format := &q.Default, t.types.Format
	perUser := d.AMLimit
	if len(q.Users) > 0 {
		perUser = q.Users[0].AMLimit
	}
	n := func(v int32) string { return strconv.Itoa(int(v)) }
	return []pair{
		{"Num Schedulable Applications", n(q.ActiveApps)},
		{"Num Non-Schedulable Applications", n(q.PendingApps)},
		{"Applications held back by max-parallel-apps", n(q.WaitingApps)},
		{"Num Containers", n(d.AllocatedContainers)},
		{"Max Applications", n(q.MaxApps)},
		{"Max Applications Per User", n(q.MaxAppsPerUser)},
		{"Configured Max Application Master Limit", percentText(d.MaxAMShare)},
		{"Max Application Master Resources", format(d.AMLimit)},
		{"Used Application Master Resources", format(d.AMUsed)},
		{"Max Application Master Resources Per User", format(perUser)},
		{"Configured Minimum User Limit Percent", strconv.FormatFloat(float64(q.UserLimitPercent), 'f', -1, 32) + "%"},
		{"Configured User Limit Factor", strconv.FormatFloat(float64(q.UserLimitFactor), 'f', -1, 32)},
		{"Default Node Label Expression", orDefault(q.DefaultLabel)},
		{"Default Application Priority", n(q.DefaultPriority)},
	}
}

func (t *tree) users(q *queue.Info) []userRow {
	var out []userRow
	for _, u := range q.Users[:min(len(q.Users), rowsPerPage)] {
		out = append(out, userRow{u, t.types.Format(u.Used), t.types.Format(u.AMUsed), t.types.Format(u.AMLimit), t.types.Format(u.Limit)})
	}
	return out
}

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
