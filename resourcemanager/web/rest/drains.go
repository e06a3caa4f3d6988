package rest

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// The resource /drains, which Hadoop does not have: nodes that drain, what they wait for, and orders to drain. docs/decommissioning.md has
// its fields.

const (
	maxReason = 1024 // bytes
	drainView = view.Nodes | view.Applications
)

// drains answers GET: the nodes that drain and those that an order keeps away, or the nodes that the query names.
func (s *server) drains(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), drainView)
	if err != nil {
		return nil, err
	}
	nodes := c.Nodes
	names, err := namesOf(r.URL.Query()["nodes"])
	if err != nil {
		return nil, err
	}
	if len(names) > 0 {
		if nodes, err = nodesNamed(c, names); err != nil {
			return nil, err
		}
	} else {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *view.Node) bool { return n.Drain == nil })
	}
	return answer.Wrapped("drains", tree.New().Add("node", s.drainList(r, c, nodes))), nil
}

// nodesNamed are the nodes that the names are for, by id. A name is HOST or HOST:PORT, in upper or lower case; one that is not known is an
// error.
func nodesNamed(c *view.Cluster, names []string) (out []*view.Node, err error) {
	by := map[string][]*view.Node{}
	for _, n := range c.Nodes {
		host, id := strings.ToLower(n.ID.Host), strings.ToLower(n.ID.String())
		by[host], by[id] = append(by[host], n), append(by[id], n)
	}
	for _, name := range names {
		found := by[strings.ToLower(name)]
		if len(found) == 0 {
			return nil, notFound("no node %s", name)
		}
		out = append(out, found...)
	}
	slices.SortFunc(out, func(a, b *view.Node) int { return a.ID.Compare(b.ID) })
	return slices.Compact(out), nil
}

// maxNames bounds the names in one request.
const maxNames = 100_000

// namesOf splits parameters at commas.
func namesOf(params []string) (names []string, err error) {
	for _, p := range params {
		for w := range strings.SplitSeq(p, ",") {
			if w = strings.TrimSpace(w); w != "" {
				names = append(names, w)
			}
		}
	}
	if len(names) > maxNames {
		return nil, badRequest("%d names are more than the %d that one request may have", len(names), maxNames)
	}
	return names, nil
}

func (s *server) drainList(r *http.Request, c *view.Cluster, nodes []*view.Node) tree.Stream {
	caller, now := webgate.From(r.Context()), s.now()
	return func(yield func(tree.Value) bool) {
		for _, n := range nodes {
			if !yield(s.drainObject(caller, c, n, now)) {
				return
			}
		}
	}
}

func (s *server) drainObject(caller webgate.Caller, c *view.Cluster, n *view.Node, now int64) *tree.Object {
	o := tree.New().Add("id", n.ID.String()).Add("state", n.State.String()).Add("phase", string(n.Phase(now)))
	holders := c.Holders(n)
	containers, applications := len(n.RunningOn), len(holders)
	if d := n.Drain; d != nil {
		o.Add("requestedAt", d.RequestedAt).Add("requestedBy", d.RequestedBy).Add("reason", d.Reason).Add("source", d.Source)
		o.AddIf(d.Deadline > 0, "deadline", d.Deadline)
		o.AddIf(d.Deadline > 0, "secondsLeft", max(d.Deadline-now, 0)/1000)
		containers, applications = d.Containers, d.Applications
	}
	if estimate := n.LeavesIn(holders, now); estimate != view.Unknown && n.State.Usable() {
		o.Add("estimatedSeconds", estimate)
	}
	o.AddIf(n.CutShort, "cutShort", true).AddIf(n.Placeholder, "placeholder", true)
	list := tree.List{}
	for _, h := range holders {
		x := tree.New().Add("id", h.ID.String()).Add("containers", h.Containers).Add("master", h.Master)
		if h.App != nil && s.Source.MayView(caller, h.App) {
			x.Add("user", h.App.User).Add("queue", h.App.Queue).Add("name", h.App.Name).Add("progress", h.App.Progress*100)
		}
		list = append(list, x)
	}
	return o.Add("containers", containers).Add("applications", applications).
		Add("lostMemorySeconds", n.WorkLost(now)).
		Add("heldBy", list)
}

// drainBody is the body of a POST.
type drainBody struct {
	names   []string
	count   int                 // instead of names: that many nodes, those that are free the soonest
	request access.DrainRequest // without nodes
	dryRun  bool
}

// drain answers POST: it orders nodes to drain, or with dryRun shows what that would do.
func (s *server) drain(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "drain")
	if err != nil {
		return nil, err
	}
	want, err := parseDrain(body, s.Now())
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), drainView|view.Queues)
	if err != nil {
		return nil, err
	}
	var nodes []*view.Node
	if want.count > 0 {
		if nodes = c.SoonestFree(want.count, s.now()); len(nodes) < want.count {
			return nil, badRequest("count is %d, and %d nodes are running", want.count, len(nodes))
		}
		want.names = shortest(c, nodes)
	} else if nodes, err = nodesNamed(c, want.names); err != nil {
		return nil, err
	}
	warning := s.warnings(webgate.From(r.Context()), c, nodes)
	if !want.dryRun {
		want.request.Nodes = orderNames(want.names, nodes)
		if err = s.Controller.Drain(r.Context(), webgate.From(r.Context()), want.request); err != nil {
			return nil, err
		}
		if c, err = s.Source.Cluster(r.Context(), drainView); err != nil {
			return nil, err
		}
		nodes = nodesOf(c, want.request.Nodes)
	}
	return answer.Wrapped("drains", tree.New().Add("dryRun", want.dryRun).Add("node", s.drainList(r, c, nodes)).Add("warning", warning)), nil
}

// orderNames are the names of orders for these nodes, with hosts as they registered: the host, with port 0, where names has the host, else
// the node.
func orderNames(names []string, nodes []*view.Node) (out []yarn.NodeID) {
	asked := make(map[string]bool, len(names))
	for _, name := range names {
		asked[strings.ToLower(name)] = true
	}
	for _, n := range nodes {
		id := n.ID
		if id.Port < 0 || asked[strings.ToLower(id.Host)] { // HOST:-1 and HOST:-2 are shown for a host of which no node has registered
			id.Port = 0
		}
		out = append(out, id)
	}
	return slices.Compact(out) // nodes are sorted by id
}

// shortest are names for these nodes and no others: a host that has one node alone is named as a host, for with
// yarn.nodemanager.address on port 0 its NodeManager comes back as another node.
func shortest(c *view.Cluster, nodes []*view.Node) (names []string) {
	onHost := map[string]int{}
	for _, n := range c.Nodes {
		if n.State.Usable() || n.State == yarn.NodeUnhealthy {
			onHost[n.ID.Host]++
		}
	}
	for _, n := range nodes {
		name := n.ID.String()
		if onHost[n.ID.Host] == 1 {
			name = n.ID.Host
		}
		names = append(names, name)
	}
	return names
}

// nodesOf are the nodes that these orders are for.
func nodesOf(c *view.Cluster, orders []yarn.NodeID) []*view.Node {
	set := make(map[yarn.NodeID]bool, len(orders))
	for _, id := range orders {
		set[id] = true
	}
	return slices.DeleteFunc(slices.Clone(c.Nodes), func(n *view.Node) bool { return !set[n.ID] && !set[yarn.NodeID{Host: n.ID.Host}] })
}

// warnings are what the cluster lacks once these nodes have left. Only who may view an application sees the size of its asks.
func (s *server) warnings(caller webgate.Caller, c *view.Cluster, nodes []*view.Node) (list tree.List) {
	for _, x := range c.Shortages(nodes) {
		where := ""
		if x.Label != "" {
			where = " in partition " + x.Label
		}
		if x.Queue != "" {
			list = append(list, fmt.Sprintf("Queue %s uses and asks for %s%s; its guarantee of %s would shrink to %s",
				x.Queue, c.ResourceTypes.Format(x.Wanted), where, c.ResourceTypes.Format(x.Guarantee), c.ResourceTypes.Format(x.Then)))
			continue
		}
		size := "what"
		if s.Source.MayView(caller, x.App) {
			size = "the " + c.ResourceTypes.Format(x.Ask) + " that"
		}
		list = append(list, fmt.Sprintf("No node that stays%s is large enough for %s %s asks for", where, size, x.App.ID))
	}
	return list
}

func parseDrain(body map[string]string, now time.Time) (o drainBody, err error) {
	for name := range body {
		if !slices.Contains([]string{"nodes", "count", "deadline", "reason", "dryRun", "source"}, name) {
			return o, badRequest("drain has no field %q; it has nodes or count, deadline, reason and dryRun", name)
		}
	}
	if o.names, err = nodeNames(body["nodes"]); err != nil {
		return o, err
	}
	if text := body["count"]; text != "" {
		if o.count, err = strconv.Atoi(text); err != nil || o.count < 1 {
			return o, badRequest("count %q is not a whole number above 0", text)
		}
	}
	if (o.count > 0) == (len(o.names) > 0) {
		return o, badRequest("drain needs either nodes or count")
	}
	if text := body["dryRun"]; text != "" {
		if o.dryRun, err = strconv.ParseBool(text); err != nil {
			return o, badRequest("dryRun %q is neither true nor false", text)
		}
	}
	o.request.Reason, o.request.Source = body["reason"], "api"
	if body["source"] == "cli" {
		o.request.Source = "cli"
	}
	if len(o.request.Reason) > maxReason || strings.ContainsFunc(o.request.Reason, unicode.IsControl) {
		return o, badRequest("reason must be one line of at most %d bytes, without control characters", maxReason)
	}
	o.request.Deadline, err = parseDeadline(body["deadline"], now)
	return o, err
}

// nodeNames reads names: an array of JSON, or text with commas between them.
func nodeNames(text string) (names []string, err error) {
	if strings.HasPrefix(text, "[") {
		if json.Unmarshal([]byte(text), &names) != nil {
			return nil, badRequest("nodes must be a list of names")
		}
		if len(names) > maxNames {
			return nil, badRequest("%d names are more than the %d that one request may have", len(names), maxNames)
		}
		return names, nil
	}
	return namesOf([]string{text})
}

// parseDeadline reads a duration such as 30m, a time in the form of RFC 3339, or none. It returns milliseconds since 1970, 0 for none, and
// DefaultDeadline if text is empty.
func parseDeadline(text string, now time.Time) (int64, error) {
	switch text {
	case "":
		return access.DefaultDeadline, nil
	case "none":
		return 0, nil
	}
	unit := strings.ContainsFunc(text, unicode.IsLetter) // "0" parses without one: whoever means none would lose all containers at once
	if d, err := time.ParseDuration(text); err == nil && unit && d >= 0 && d.Seconds() <= math.MaxInt32 {
		return now.Add(d).UnixMilli(), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0, badRequest("deadline %q is not a duration such as 30m, a time such as 2030-01-31T12:00:00Z, or none", text)
	}
	if at.Before(now) {
		return 0, badRequest("deadline %s has passed; 0s has nodes leave at once", text)
	}
	return at.UnixMilli(), nil
}

// bodyNames are the nodes that the body of an undrain names: an address holds only some hundreds.
func bodyNames(r *http.Request) ([]string, error) {
	body, err := fields(r, "undrain")
	if err != nil {
		return nil, err
	}
	for name := range body {
		if name != "nodes" {
			return nil, badRequest("undrain has no field %q; it has nodes", name)
		}
	}
	return nodeNames(body["nodes"])
}

// undrain answers DELETE: it takes orders back, those for nodes that are no longer known as well.
func (s *server) undrain(r *http.Request) (*answer.Response, error) {
	names, err := namesOf(r.URL.Query()["nodes"])
	if err == nil && len(names) == 0 && r.ContentLength != 0 {
		names, err = bodyNames(r)
	}
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, badRequest("undrain needs nodes: ?nodes=host1,host2:port, or a body")
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, n := range c.Nodes {
		known[strings.ToLower(n.ID.Host)], known[strings.ToLower(n.ID.String())] = true, true
	}
	var here []string // names of known nodes
	var orders []yarn.NodeID
	for _, name := range names {
		if known[strings.ToLower(name)] {
			here = append(here, name)
			continue
		}
		id, err := yarn.ParseNodeID(name)
		if err != nil {
			id = yarn.NodeID{Host: name}
		}
		orders = append(orders, id)
	}
	nodes, err := nodesNamed(c, here)
	if err != nil {
		return nil, err
	}
	orders = append(orders, orderNames(here, nodes)...)
	if err := s.Controller.Undrain(r.Context(), webgate.From(r.Context()), orders); err != nil {
		return nil, err
	}
	if c, err = s.Source.Cluster(r.Context(), drainView); err != nil {
		return nil, err
	}
	return answer.Wrapped("drains", tree.New().Add("node", s.drainList(r, c, nodesOf(c, orders)))), nil
}
