package ui

import (
	"context"
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// metrics are the tables at the top of most pages.
type metrics struct {
	view.Metrics
	Ended                             int64 // finished, failed or killed
	UsedText, TotalText, ReservedText string
	MemoryPercent, CoresPercent       int64
	Nodes                             []nodeCount
	Scheduler, Types                  string
	MinText, MaxText                  string
	MaxPriority                       int32
	Busy                              string // of the scheduler, in percent, which is not measured
}

// nodeCount is a column of the table of nodes.
type nodeCount struct {
	Name  string // in the heading
	State string // in the address
	Count int
}

// header is the parts of the views that the tables at the top of pages need.
const header = view.Counts | view.Nodes

func (s *server) metrics(ctx context.Context, c *view.Cluster) *metrics {
	m := &metrics{
		Metrics:      c.Metrics,
		Ended:        c.Metrics.Completed + c.Metrics.Failed + c.Metrics.Killed,
		UsedText:     amount(c.ResourceTypes, c.Metrics.Allocated),
		TotalText:    amount(c.ResourceTypes, c.Metrics.Total),
		ReservedText: amount(c.ResourceTypes, c.Metrics.Reserved),
		Scheduler:    s.Source.Daemon(ctx).Scheduler,
		Types:        typeNames(c.ResourceTypes),
		MinText:      c.ResourceTypes.Format(c.MinAllocation),
		MaxText:      c.ResourceTypes.Format(c.MaxAllocation),
		MaxPriority:  c.MaxAppPriority,
		Busy:         "N/A",
	}
	if m.Scheduler != access.Capacity { // compat: 0 for any scheduler but the CapacityScheduler
		m.Busy = "0"
	}
	m.MemoryPercent, m.CoresPercent = physical(c)
	for _, n := range []struct {
		name  string
		state yarn.NodeState
	}{{"Active", yarn.NodeRunning}, {"Decommissioning", yarn.NodeDecommissioning}, {"Decommissioned", yarn.NodeDecommissioned},
		{"Lost", yarn.NodeLost}, {"Unhealthy", yarn.NodeUnhealthy}, {"Rebooted", yarn.NodeRebooted}, {"Shutdown", yarn.NodeShutdown}} {
		m.Nodes = append(m.Nodes, nodeCount{n.name + " Nodes", n.state.String(), c.Metrics.NodesByState[n.state]})
	}
	return m
}

// physical is the measured use of the nodes' machines, in percent of the cluster's total.
func physical(c *view.Cluster) (memory, cores int64) {
	var mb int64
	var cpu float64
	for _, n := range c.Nodes {
		if n.State.Usable() {
			mb += int64(n.NodeUse.PhysicalMemoryMB)
			cpu += float64(n.NodeUse.CPU)
		}
	}
	if t := c.Metrics.Total.MemoryMB(); t > 0 {
		memory = mb * 100 / t
	}
	if t := c.Metrics.Total.VCoreCount(); t > 0 {
		cores = int64(cpu * 100 / float64(t))
	}
	return memory, cores
}

// amount is a resource with memory in readable units.
func amount(types yarn.ResourceTypes, r yarn.Resource) string {
	text := types.Format(r)
	_, rest, _ := strings.Cut(text, ",")
	return "<memory:" + pages.Memory(r.MemoryMB()) + "," + rest
}

func typeNames(types yarn.ResourceTypes) string {
	var names []string
	for _, t := range types {
		name := t.Name
		if t.Units != "" {
			name += " (unit=" + t.Units + ")"
		}
		names = append(names, name)
	}
	return "[" + strings.Join(names, ", ") + "]"
}

func (s *server) about(r *http.Request) (*frame, error) {
	f := &frame{Title: "About the Cluster", Here: "about", Body: struct {
		access.Daemon
		Version string
	}{s.Source.Daemon(r.Context()), s.Version}}
	if c, err := s.Source.Cluster(r.Context(), header); err == nil {
		f.Metrics = s.metrics(r.Context(), c) // a standby has no tables, but it has this page
	}
	return f, nil
}

// nodeRow is a node with what the page computes.
type nodeRow struct {
	*view.Node
	Link                        string
	Used, Available, Total      string
	Lent                        string // memory of opportunistic containers
	MemoryPercent, CoresPercent float32
	LabelText                   string
}

func (s *server) nodes(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context(), header)
	if err != nil {
		return nil, err
	}
	name := strings.ToUpper(r.PathValue("state"))
	wanted, known := yarn.ParseNodeState(name)
	if name != "" && !known {
		return nil, &problem{http.StatusNotFound, "There is no state of nodes with the name " + r.PathValue("state") + "."}
	}
	label, one := r.URL.Query()["node.label"] // only nodes of this partition; "" is the default one
	var chosen []*view.Node
	for _, n := range c.Nodes {
		if (name == "" || n.State == wanted) && (!one || strings.Join(n.Labels, ",") == label[0]) {
			chosen = append(chosen, n)
		}
	}
	lent := c.Metrics.Opportunistic != nil
	heads := arrange(s.nodeColumns(lent), chosen, r.URL.Path, r.URL.Query())
	p := pageOf(r.URL.Path, r.URL.Query(), len(chosen))
	body := struct {
		State         string
		Columns       []heading
		Rows          []nodeRow
		Opportunistic bool // nodes have opportunistic containers, too
		paging
	}{name, heads, nil, lent, p}
	for _, n := range chosen[p.From:p.To] {
		body.Rows = append(body.Rows, s.nodeRow(n))
	}
	title := "Nodes of the cluster"
	if name != "" {
		title += " (" + name + ")"
	}
	return &frame{Title: title, Here: "nodes", Metrics: s.metrics(r.Context(), c), Body: body}, nil
}

// nodeColumns are those of the list of nodes, in the order of Hadoop's page. Where there are opportunistic containers (O) they are told from guaranteed
// ones (G).
func (s *server) nodeColumns(lent bool) []column[*view.Node] {
	type node = *view.Node
	columns := []column[node]{
		{"label", "Node Labels", byText(func(n node) string { return strings.Join(n.Labels, ", ") })},
		{"rack", "Rack", byText(func(n node) string { return n.Rack })},
		{"state", "Node State", byText(func(n node) string { return n.State.String() })},
		{"address", "Node Address", byText(func(n node) string { return n.ID.String() })},
		{"http", "Node HTTP Address", byText(func(n node) string { return n.HTTPAddress })},
		{"health", "Last health-update", byNumber(func(n node) int64 { return n.LastHealth })},
		{"report", "Health-report", byText(func(n node) string { return n.HealthReport })},
		{"containers", "Con&shy;tainers", byNumber(func(n node) int { return n.Containers })},
		{"memory", "Mem Used", byNumber(func(n node) int64 { return n.Used.MemoryMB() })},
		{"free-memory", "Mem Avail", byNumber(func(n node) int64 { return n.Available.MemoryMB() })},
		{"physical-memory", "Phys Mem Used %", byNumber(func(n node) float32 { return s.nodeRow(n).MemoryPercent })},
		{"vcores", "VCores Used", byNumber(func(n node) int64 { return n.Used.VCoreCount() })},
		{"free-vcores", "VCores Avail", byNumber(func(n node) int64 { return n.Available.VCoreCount() })},
		{"physical-vcores", "Phys VCores Used %", byNumber(func(n node) float32 { return s.nodeRow(n).CoresPercent })},
	}
	if lent {
		for i := range columns {
			switch c := &columns[i]; c.key {
			case "containers":
				c.title = "Running Con&shy;tainers (G)"
			case "memory", "free-memory", "vcores", "free-vcores":
				c.title += " (G)"
			}
		}
		columns = append(columns,
			column[node]{"opportunistic", "Running Con&shy;tainers (O)", byNumber(func(n node) int32 { return n.Opportunistic.Running })},
			column[node]{"opportunistic-memory", "Mem Used (O)", byNumber(func(n node) int64 { return n.Opportunistic.MemoryMB })},
			column[node]{"opportunistic-vcores", "VCores Used (O)", byNumber(func(n node) int32 { return n.Opportunistic.VCores })},
			column[node]{"queued", "Queued Con&shy;tainers", byNumber(func(n node) int32 { return n.Opportunistic.Queued })})
	}
	return append(columns, column[node]{"version", "Version", byText(func(n node) string { return n.Version })})
}

func (s *server) nodeRow(n *view.Node) nodeRow {
	row := nodeRow{Node: n, LabelText: strings.Join(n.Labels, ", ")}
	row.Used, row.Available, row.Total = pages.Memory(n.Used.MemoryMB()), pages.Memory(n.Available.MemoryMB()), pages.Memory(n.Total.MemoryMB())
	row.Lent = pages.Memory(n.Opportunistic.MemoryMB)
	if n.HTTPAddress != "" && n.State != yarn.NodeLost && n.ID.Port >= 0 {
		row.Link = s.Links.Scheme + "://" + n.HTTPAddress
	}
	if mb := n.Physical.MemoryMB(); mb > 0 {
		row.MemoryPercent = float32(n.NodeUse.PhysicalMemoryMB) * 100 / float32(mb)
	}
	if cores := n.Physical.VCoreCount(); cores > 0 {
		row.CoresPercent = n.NodeUse.CPU * 100 / float32(cores)
	}
	return row
}

// labelRow is a partition.
type labelRow struct {
	Name, Type string
	Nodes      int
	Total      string
}

// labels lists the default partition and all labels, with their usable nodes.
func (s *server) labels(r *http.Request) (*frame, error) {
	c, err := s.Source.Cluster(r.Context(), header)
	if err != nil {
		return nil, err
	}
	count, total := map[string]int{}, map[string]yarn.Resource{}
	for _, n := range c.Nodes {
		if n.State.Usable() {
			label := strings.Join(n.Labels, ",")
			count[label]++
			total[label] = total[label].Add(n.Total)
		}
	}
	var rows []labelRow
	for _, l := range append([]view.Label{{Exclusive: true}}, c.Labels.Known...) {
		row := labelRow{l.Name, "Exclusive Partition", count[l.Name], c.ResourceTypes.Format(total[l.Name])}
		if !l.Exclusive {
			row.Type = "Non Exclusive Partition"
		}
		rows = append(rows, row)
	}
	return &frame{Title: "Node labels of the cluster", Here: "labels", Metrics: s.metrics(r.Context(), c), Body: rows}, nil
}
