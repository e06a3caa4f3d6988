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

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// Hadoop has no such thing: nodes that are decommissioned gracefully, what holds them, and orders that they be so.

const (
	maxReason = 1024 // bytes
	drainView = view.Nodes | view.Applications
)

// drains lists the nodes that drain, and those that an order keeps away.
func (s *server) drains(r *http.Request) (*answer.Response, error) {
	c, err := s.Source.Cluster(r.Context(), drainView)
	if err != nil {
		return nil, err
	}
	nodes := c.Nodes
	if names := words(r.URL.Query()["nodes"]); len(names) > 0 {
		if nodes, err = named(c, names); err != nil {
			return nil, err
		}
	} else {
		nodes = slices.DeleteFunc(slices.Clone(nodes), func(n *view.Node) bool { return n.Drain == nil })
	}
	return answer.Wrapped("drains", tree.New().Add("node", s.drainList(r, c, nodes))), nil
}

// named are the nodes with these names: of a host, or host:port; in any case of letters.
func named(c *view.Cluster, names []string) (out []*view.Node, err error) {
	for _, name := range names {
		found := false
		for _, n := range c.Nodes {
			if strings.EqualFold(name, n.ID.Host) || strings.EqualFold(name, n.ID.String()) {
				out, found = append(out, n), true
			}
		}
		if !found {
			return nil, notFound("no node %s", name)
		}
	}
	slices.SortFunc(out, func(a, b *view.Node) int { return a.ID.Compare(b.ID) })
	return slices.Compact(out), nil
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
	if estimate := n.Leaves(holders, now); estimate != view.Unknown && n.State.Usable() {
		o.Add("estimatedSeconds", estimate)
	}
	o.AddIf(n.CutShort, "cutShort", true)
	list := tree.List{}
	for _, h := range holders {
		x := tree.New().Add("id", h.ID.String()).Add("containers", h.Containers).Add("master", h.Master)
		if h.App != nil && s.Source.MayView(caller, h.App) {
			x.Add("user", h.App.User).Add("queue", h.App.Queue).Add("name", h.App.Name).Add("progress", h.App.Progress*100)
		}
		list = append(list, x)
	}
	return o.Add("containers", containers).Add("applications", applications).
		Add("lostMemorySeconds", n.Lost(now)).
		Add("heldBy", list)
}

// order is what somebody wants drained.
type order struct {
	names  []string
	count  int // instead of names: that many nodes, whichever are free the soonest
	until  access.DrainRequest
	dryRun bool
}

// drain has nodes drain until that is taken back, or shows what that would do.
func (s *server) drain(r *http.Request) (*answer.Response, error) {
	body, err := fields(r, "drain")
	if err != nil {
		return nil, err
	}
	want, err := parseOrder(body, s.Now())
	if err != nil {
		return nil, err
	}
	parts := drainView
	if want.dryRun {
		parts |= view.Queues
	}
	c, err := s.Source.Cluster(r.Context(), parts)
	if err != nil {
		return nil, err
	}
	var nodes []*view.Node
	if want.count > 0 {
		if nodes = c.SoonestFree(want.count, s.now()); len(nodes) < want.count {
			return nil, badRequest("count is %d, and %d nodes are running", want.count, len(nodes))
		}
	} else if nodes, err = named(c, want.names); err != nil {
		return nil, err
	}
	if !want.dryRun {
		want.until.Nodes = orderNames(want.names, nodes)
		if err = s.Controller.Drain(r.Context(), webgate.From(r.Context()), want.until); err != nil {
			return nil, err
		}
		if c, err = s.Source.Cluster(r.Context(), drainView); err != nil {
			return nil, err
		}
		nodes = slices.DeleteFunc(slices.Clone(c.Nodes), func(n *view.Node) bool {
			return !slices.ContainsFunc(nodes, func(x *view.Node) bool { return x.ID == n.ID })
		})
	}
	o := tree.New().Add("dryRun", want.dryRun).Add("node", s.drainList(r, c, nodes))
	if want.dryRun {
		o.Add("warning", warnings(c, nodes))
	}
	return answer.Wrapped("drains", o), nil
}

// orderNames are the names of an order as nodes registered: a host stays a host.
func orderNames(names []string, nodes []*view.Node) (out []yarn.NodeID) {
	for _, n := range nodes {
		id := n.ID
		if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, id.Host) }) {
			id.Port = 0
		}
		out = append(out, id)
	}
	return slices.Compact(out) // they are in order
}

func warnings(c *view.Cluster, nodes []*view.Node) (list tree.List) {
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
		list = append(list, fmt.Sprintf("No node that stays%s is large enough for the %s that %s asks for", where, c.ResourceTypes.Format(x.Ask), x.App))
	}
	return list
}

func parseOrder(body map[string]string, now time.Time) (o order, err error) {
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
	o.until.Reason, o.until.Source = body["reason"], "api"
	if body["source"] == "cli" {
		o.until.Source = "cli"
	}
	if len(o.until.Reason) > maxReason || strings.ContainsFunc(o.until.Reason, func(r rune) bool { return r < ' ' }) {
		return o, badRequest("reason must be one line of at most %d bytes", maxReason)
	}
	o.until.Deadline, err = parseDeadline(body["deadline"], now)
	return o, err
}

// nodeNames are names in a list of JSON, or separated by commas.
func nodeNames(text string) (names []string, err error) {
	if strings.HasPrefix(text, "[") {
		if json.Unmarshal([]byte(text), &names) != nil {
			return nil, badRequest("nodes must be a list of names")
		}
		return names, nil
	}
	return words([]string{text}), nil
}

// parseDeadline reads a duration such as 30m, a time of RFC 3339, or none, which is 0. Nothing is DefaultDeadline.
func parseDeadline(text string, now time.Time) (int64, error) {
	switch text {
	case "":
		return access.DefaultDeadline, nil
	case "none":
		return 0, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 && d.Seconds() <= math.MaxInt32 {
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

// undrain takes orders back, also of nodes that are not here by now.
func (s *server) undrain(r *http.Request) (*answer.Response, error) {
	names := words(r.URL.Query()["nodes"])
	if len(names) == 0 {
		return nil, badRequest("undrain needs nodes: ?nodes=host1,host2:port")
	}
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	var orders []yarn.NodeID
	for _, name := range names {
		nodes, err := named(c, []string{name})
		if err != nil {
			id, problem := yarn.ParseNodeID(name)
			if problem != nil {
				id = yarn.NodeID{Host: name}
			}
			orders = append(orders, id)
		}
		orders = append(orders, orderNames(names, nodes)...)
	}
	if err := s.Controller.Undrain(r.Context(), webgate.From(r.Context()), orders); err != nil {
		return nil, err
	}
	if c, err = s.Source.Cluster(r.Context(), drainView); err != nil {
		return nil, err
	}
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *view.Node) bool {
		return !slices.Contains(orders, n.ID) && !slices.Contains(orders, yarn.NodeID{Host: n.ID.Host})
	})
	return answer.Wrapped("drains", tree.New().Add("node", s.drainList(r, c, nodes))), nil
}
