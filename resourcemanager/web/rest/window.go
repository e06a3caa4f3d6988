package rest

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Windows of long lists, which Hadoop does not have: filtered, sorted and cut by the server, for pages that show a part. docs/rest.md has
// the fields.

// window is which part of a list is wanted, and in which order.
type window struct {
	offset, limit int
	sort          string
	descending    bool
	text          string // in lower case; what a row must contain
}

// Bounds of a window.
const (
	windowRows    = 100 // unless limit says otherwise
	mostRows      = 1000
	mostQueryText = 200
)

// windowOf reads offset, limit, sort, order and q. sortable are the names that sort may have, the default first.
func windowOf(q url.Values, sortable []string) (w window, err error) {
	if w.limit, err = limitOf(q.Get("limit")); err != nil {
		return w, err
	}
	if w.limit == 0 {
		w.limit = windowRows
	}
	w.limit = min(w.limit, mostRows)
	if text := q.Get("offset"); text != "" {
		if w.offset, err = strconv.Atoi(text); err != nil || w.offset < 0 {
			return w, badRequest("offset is %q: it must be a number from 0", text)
		}
	}
	w.sort = cmp.Or(q.Get("sort"), sortable[0])
	if !slices.Contains(sortable, w.sort) {
		return w, badRequest("sort is %q: it must be one of %s", w.sort, strings.Join(sortable, ", "))
	}
	switch order := q.Get("order"); order {
	case "", "asc":
	case "desc":
		w.descending = true
	default:
		return w, badRequest("order is %q: it must be asc or desc", order)
	}
	if w.text = strings.ToLower(q.Get("q")); len(w.text) > mostQueryText {
		return w, badRequest("q has %d bytes, at most %d are looked for", len(w.text), mostQueryText)
	}
	return w, nil
}

// part is the wanted part of a list.
func part[T any](w window, list []T) []T {
	from := min(w.offset, len(list))
	return list[from:min(from+w.limit, len(list))]
}

// contains tells whether one of the values contains the text, in upper or lower case.
func (w *window) contains(values ...string) bool {
	return w.text == "" || slices.ContainsFunc(values, func(v string) bool { return strings.Contains(strings.ToLower(v), w.text) })
}

// appOrders compare applications; those that compare equal stay the newest first.
var appOrders = map[string]func(a, b *view.Application) int{
	"id":         func(a, b *view.Application) int { return a.ID.Compare(b.ID) },
	"user":       func(a, b *view.Application) int { return cmp.Compare(a.User, b.User) },
	"name":       func(a, b *view.Application) int { return cmp.Compare(a.Name, b.Name) },
	"type":       func(a, b *view.Application) int { return cmp.Compare(a.Type, b.Type) },
	"queue":      func(a, b *view.Application) int { return cmp.Compare(a.Queue, b.Queue) },
	"priority":   func(a, b *view.Application) int { return cmp.Compare(a.Priority, b.Priority) },
	"state":      func(a, b *view.Application) int { return cmp.Compare(a.PublicState, b.PublicState) },
	"started":    func(a, b *view.Application) int { return cmp.Compare(a.StartTime, b.StartTime) },
	"finished":   func(a, b *view.Application) int { return cmp.Compare(a.FinishTime, b.FinishTime) },
	"containers": func(a, b *view.Application) int { return cmp.Compare(a.Usage.Containers, b.Usage.Containers) },
	"memory":     func(a, b *view.Application) int { return cmp.Compare(a.Usage.Used.MemoryMB(), b.Usage.Used.MemoryMB()) },
	"vcores": func(a, b *view.Application) int {
		return cmp.Compare(a.Usage.Used.VCoreCount(), b.Usage.Used.VCoreCount())
	},
	"pending": func(a, b *view.Application) int {
		return cmp.Compare(a.Usage.Pending.MemoryMB(), b.Usage.Pending.MemoryMB())
	},
	"progress": func(a, b *view.Application) int { return cmp.Compare(a.Progress, b.Progress) },
}

// names are the keys, sorted behind the default.
func names[V any](orders map[string]V, first string) []string {
	out := []string{first}
	for name := range orders {
		if name != first {
			out = append(out, name)
		}
	}
	slices.Sort(out[1:])
	return out
}

// appList answers GET /app-list.
func (s *server) appList(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	w, err := windowOf(q, names(appOrders, "id"))
	if err != nil {
		return nil, err
	}
	q.Del("limit")
	c, err := s.Source.Cluster(r.Context(), view.Applications|view.Queues)
	if err != nil {
		return nil, err
	}
	f, err := parseFilter(q, func(name string) (string, bool, error) {
		at, ok := c.Queues.Find(name)
		if !ok {
			return "", false, nil
		}
		return at.Path, true, nil
	})
	if err = cmp.Or(err, f.wrong); err != nil {
		return nil, err
	}
	caller, waiting := webgate.From(r.Context()), q.Get("waiting") == "true"
	matching := make([]*view.Application, 0, len(c.Applications))
	for i := len(c.Applications) - 1; i >= 0; i-- { // by id: the newest first
		a := c.Applications[i]
		if (!waiting || a.Waits()) && f.matches(a) && (w.text == "" || w.contains(a.ID.String(), a.Name, a.User, a.Queue)) && (!s.FilterByUser || s.Source.MayView(caller, a)) {
			matching = append(matching, a)
		}
	}
	order := appOrders[w.sort]
	switch {
	case w.sort != "id" && w.descending:
		slices.SortStableFunc(matching, func(a, b *view.Application) int { return order(b, a) })
	case w.sort != "id" || q.Get("order") == "asc":
		slices.SortStableFunc(matching, order)
	}
	rows := tree.List{}
	for _, a := range part(w, matching) {
		rows = append(rows, s.appRow(caller, a))
	}
	return answer.Wrapped("appList", tree.New().Add("total", len(c.Applications)).Add("matching", len(matching)).Add("offset", w.offset).Add("app", rows)), nil
}

func (s *server) appRow(c webgate.Caller, a *view.Application) *tree.Object {
	o := tree.New().Add("id", a.ID.String()).Add("user", a.User).Add("name", a.Name).Add("type", a.Type).Add("queue", a.Queue).
		Add("priority", a.Priority).Add("state", a.PublicState.String()).Add("finalStatus", a.FinalStatus.String())
	if !s.Source.MayView(c, a) {
		return o.Add("hidden", true)
	}
	o.Add("tags", strings.Join(a.Tags, ",")).Add("progress", a.Progress*100).Add("started", a.StartTime).Add("launched", a.LaunchTime).Add("finished", a.FinishTime)
	if a.State.Final() {
		return o
	}
	u := a.Usage
	return o.Add("containers", u.Containers).Add("memoryMB", u.Used.MemoryMB()).Add("vCores", u.Used.VCoreCount()).
		Add("reservedMB", u.Reserved.MemoryMB()).Add("pendingMB", u.Pending.MemoryMB()).Add("pendingVCores", u.Pending.VCoreCount()).
		Add("queuePercent", u.QueuePercent).Add("waiting", a.Waits())
}

// nodeOrders compare nodes; those that compare equal stay by id.
var nodeOrders = map[string]func(a, b *view.Node) int{
	"id":         func(a, b *view.Node) int { return a.ID.Compare(b.ID) },
	"rack":       func(a, b *view.Node) int { return cmp.Compare(a.Rack, b.Rack) },
	"state":      func(a, b *view.Node) int { return cmp.Compare(a.State, b.State) },
	"containers": func(a, b *view.Node) int { return cmp.Compare(a.Containers, b.Containers) },
	"memory":     func(a, b *view.Node) int { return cmp.Compare(memoryShare(a), memoryShare(b)) },
	"vcores":     func(a, b *view.Node) int { return cmp.Compare(vcoreShare(a), vcoreShare(b)) },
	"memoryUse":  func(a, b *view.Node) int { return cmp.Compare(memoryUse(a), memoryUse(b)) },
	"cpuUse":     func(a, b *view.Node) int { return cmp.Compare(cpuUse(a), cpuUse(b)) },
	"version":    func(a, b *view.Node) int { return cmp.Compare(a.Version, b.Version) },
	"heartbeat":  func(a, b *view.Node) int { return cmp.Compare(a.LastHeartbeat, b.LastHeartbeat) },
}

func share(used, total int64) float32 {
	if total <= 0 {
		return 0
	}
	return float32(used) * 100 / float32(total)
}

func memoryShare(n *view.Node) float32 { return share(n.Used.MemoryMB(), n.Total.MemoryMB()) }
func vcoreShare(n *view.Node) float32  { return share(n.Used.VCoreCount(), n.Total.VCoreCount()) }

func memoryUse(n *view.Node) float32 {
	if !n.State.Usable() {
		return 0
	}
	m, _ := shares(n)
	return m
}

func cpuUse(n *view.Node) float32 {
	if !n.State.Usable() {
		return 0
	}
	_, c := shares(n)
	return c
}

// wantedNodes are the nodes that a request filters, by id, of those that there are.
func (s *server) wantedNodes(r *http.Request, w *window) (all, wanted []*view.Node, err error) {
	states, err := nodeStates(r.URL.Query()["states"])
	if err == nil {
		err = tooMany(r.URL.Query())
	}
	if err != nil {
		return nil, nil, err
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, nil, err
	}
	label := r.URL.Query().Get("label")
	for _, n := range c.Nodes {
		if (len(states) == 0 || slices.Contains(states, n.State)) && (label == "" || slices.Contains(n.Labels, label)) && (w.text == "" || w.contains(n.ID.String(), n.Rack, n.HealthReport)) {
			wanted = append(wanted, n)
		}
	}
	return c.Nodes, wanted, nil
}

// nodeList answers GET /node-list.
func (s *server) nodeList(r *http.Request) (*answer.Response, error) {
	w, err := windowOf(r.URL.Query(), names(nodeOrders, "id"))
	if err != nil {
		return nil, err
	}
	all, wanted, err := s.wantedNodes(r, &w)
	if err != nil {
		return nil, err
	}
	order := nodeOrders[w.sort]
	if w.descending {
		slices.SortStableFunc(wanted, func(a, b *view.Node) int { return order(b, a) })
	} else {
		slices.SortStableFunc(wanted, order)
	}
	rows := tree.List{}
	for _, n := range part(w, wanted) {
		rows = append(rows, nodeRow(n, s.now()))
	}
	return answer.Wrapped("nodeList", tree.New().Add("total", len(all)).Add("matching", len(wanted)).Add("offset", w.offset).Add("node", rows)), nil
}

func nodeRow(n *view.Node, now int64) *tree.Object {
	o := tree.New().Add("id", n.ID.String()).Add("rack", n.Rack).Add("state", n.State.String()).Add("labels", strings.Join(slices.Sorted(slices.Values(n.Labels)), ",")).
		Add("version", n.Version).Add("health", n.HealthReport).Add("heartbeat", n.LastHeartbeat).
		Add("totalMB", n.Total.MemoryMB()).Add("totalVCores", n.Total.VCoreCount())
	if !gone(n.State) {
		o.Add("http", n.HTTPAddress)
	}
	if n.Drain != nil {
		o.Add("drain", string(n.Phase(now)))
	}
	if n.State.Usable() {
		o.Add("usedMB", n.Used.MemoryMB()).Add("usedVCores", n.Used.VCoreCount()).Add("reservedMB", n.Reserved.MemoryMB()).Add("containers", n.Containers).
			Add("memoryUse", memoryUse(n)).Add("cpuUse", cpuUse(n)).Add("containersMB", n.ContainersUse.PhysicalMemoryMB)
	}
	return o
}

// Bounds of a map.
const (
	mapCells  = 1000 // unless cells says otherwise
	mostCells = 4000
)

// nodeMap answers GET /node-map: all nodes in at most so many cells, each of one node or of several that are next to each other.
func (s *server) nodeMap(r *http.Request) (*answer.Response, error) {
	w, err := windowOf(r.URL.Query(), []string{"id"})
	if err != nil {
		return nil, err
	}
	cells, err := limitOf(r.URL.Query().Get("cells"))
	if err != nil {
		return nil, err
	}
	if cells = min(cells, mostCells); cells == 0 {
		cells = mapCells
	}
	all, wanted, err := s.wantedNodes(r, &w)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(wanted, nodeOrders["rack"])
	each := max((len(wanted)+cells-1)/cells, 1)
	list := tree.List{}
	for group := range slices.Chunk(wanted, each) {
		list = append(list, cell(group))
	}
	return answer.Wrapped("nodeMap", tree.New().Add("total", len(all)).Add("matching", len(wanted)).Add("nodesPerCell", each).Add("cell", list)), nil
}

// cell sums up nodes: shares of what is usable, and the state that is the farthest from RUNNING.
func cell(group []*view.Node) *tree.Object {
	var used, total yarn.Resource
	var memory, cpu float32
	worst := group[0].State
	for _, n := range group {
		if worst == yarn.NodeRunning {
			worst = n.State
		}
		if n.State.Usable() {
			used, total = used.Add(n.Used), total.Add(n.Total)
			memory, cpu = max(memory, memoryUse(n)), max(cpu, cpuUse(n))
		}
	}
	o := tree.New().Add("id", group[0].ID.String()).AddIf(len(group) > 1, "to", group[len(group)-1].ID.String()).AddIf(len(group) > 1, "nodes", len(group)).
		Add("rack", group[0].Rack).Add("state", worst.String())
	return o.Add("memory", share(used.MemoryMB(), total.MemoryMB())).Add("vcores", share(used.VCoreCount(), total.VCoreCount())).
		Add("memoryUse", memory).Add("cpuUse", cpu)
}

// session answers GET /session: who asks, and whether pages of this port may change anything.
func (s *server) session(r *http.Request) (*answer.Response, error) {
	c := webgate.From(r.Context())
	return answer.Wrapped("session", tree.New().Add("user", c.User).Add("anonymous", c.Anonymous).
		Add("changes", s.Changes).AddIf(!s.Changes && s.ChangesAt != "", "changesAt", s.ChangesAt)), nil
}
