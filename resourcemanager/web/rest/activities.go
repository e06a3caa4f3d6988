package rest

import (
	"errors"
	"net/http"
	"net/url"
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

// Activities: what the scheduler would do with a node, or for an application, if it came to them now, and why not more. Where Apache writes
// down what the next heartbeat does and shows it to who asks again, the scheduler takes the same walk for the question; docs/web.md.

const (
	notCapacity      = "Not Capacity Scheduler"
	defaultBulk      = 10
	mostBulk         = 500
	mostActivityApps = 100 // nodes that are looked at for an application
)

// javaDate is the form of java.util.Date's text.
const javaDate = "Mon Jan 02 15:04:05 MST 2006"

func (s *server) stamp(o *tree.Object) *tree.Object {
	now := s.Now()
	return o.Add("timestamp", now.UnixMilli()).Add("dateTime", now.In(time.Local).Format(javaDate))
}

// grouping reads groupBy.
func grouping(q url.Values) (byDiagnostic bool, err error) {
	text := q.Get("groupBy")
	if q.Has("groupBy") && !strings.EqualFold(text, "diagnostic") {
		err = errors.New("Got invalid groupBy: " + text + ", valid groupBy types: [DIAGNOSTIC]")
	}
	return text != "", err
}

// tells is whether the scheduler tells what it does.
func (s *server) tells(r *http.Request) bool {
	return s.Source.Daemon(r.Context()).Scheduler == access.Capacity
}

// activities answers GET /scheduler/activities for one node: the one that nodeId names by host or host:port, or the first one.
func (s *server) activities(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	id := q.Get("nodeId")
	refuse := func(why string) (*answer.Response, error) {
		return answer.Wrapped("activities", tree.New().AddIf(q.Has("nodeId"), "nodeId", id).Add("diagnostic", why)), nil
	}
	if !s.tells(r) {
		return refuse(notCapacity)
	}
	grouped, err := grouping(q)
	if err != nil {
		return refuse(err.Error())
	}
	nodes, err := s.offered(r)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return refuse("No node manager running in the cluster")
	}
	at := 0
	if q.Has("nodeId") {
		at = slices.IndexFunc(nodes, func(n *view.Node) bool { return named(n.ID, id) })
	}
	if at < 0 {
		return refuse("Cannot find node manager with given node id")
	}
	o, err := s.nodeActivities(r, nodes[at].ID, grouped)
	if err != nil {
		return nil, err
	}
	return answer.Wrapped("activities", o), nil
}

// named tells whether a node is called that: by its host, or with its port.
func named(id yarn.NodeID, name string) bool { return name == id.Host || name == id.String() }

// offered are the nodes that the scheduler has.
func (s *server) offered(r *http.Request) ([]*view.Node, error) {
	c, err := s.Source.Cluster(r.Context(), view.Nodes)
	if err != nil {
		return nil, err
	}
	var out []*view.Node
	for _, n := range c.Nodes {
		if n.State.Usable() {
			out = append(out, n)
		}
	}
	return out, nil
}

func (s *server) nodeActivities(r *http.Request, id yarn.NodeID, grouped bool) (*tree.Object, error) {
	list, err := s.Source.NodeActivities(r.Context(), id)
	if err != nil {
		return nil, err
	}
	o := tree.New().Add("nodeId", id.String())
	if len(list) == 0 {
		return o.Add("diagnostic", "do not have available resources"), nil
	}
	s.stamp(o)
	var allocations tree.List
	for i := range list {
		x := &list[i]
		allocations = append(allocations, tree.New().Add("partition", x.Label).Add("finalAllocationState", x.State).
			Add("root", s.activityObject(r, x.Root, id, grouped)).AddIf(x.Cut, "heddleCut", true))
	}
	return o.Add("allocations", allocations), nil
}

// bulkActivities answers GET /scheduler/bulk-activities: the activities of several nodes.
func (s *server) bulkActivities(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	if !s.tells(r) {
		return nil, badRequest(notCapacity)
	}
	grouped, err := grouping(q)
	if err != nil {
		return nil, badRequest("%v", err)
	}
	most := defaultBulk
	if text := q.Get("activitiesCount"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return nil, badRequest("activitiesCount is %q: it must be a number of 32 bits", clipped(text))
		}
		if n > 0 {
			most = int(min(n, mostBulk))
		}
	}
	nodes, err := s.offered(r)
	if err != nil {
		return nil, err
	}
	if len(nodes) == 0 {
		return nil, badRequest("No node manager running in the cluster")
	}
	var all tree.List
	for _, n := range nodes[:min(len(nodes), most)] {
		o, err := s.nodeActivities(r, n.ID, grouped)
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return answer.Wrapped("bulkActivities", tree.New().Add("activities", all)), nil
}

// activityObject is what was done with a queue, an application or what one asks for. What lies with the node is told below what is asked for.
func (s *server) activityObject(r *http.Request, x *view.Activity, node yarn.NodeID, grouped bool) *tree.Object {
	o := tree.New().AddIf(x.Name != "", "name", x.Name).AddIf(x.App, "appPriority", x.Priority).
		AddIf(x.Request, "requestPriority", x.Priority).AddIf(x.Request, "allocationRequestId", x.RequestID).
		Add("allocationState", x.State)
	var below tree.List
	if x.Request && (x.Why.OfNode || x.State != "SKIPPED") {
		below = append(below, atNodes(x, []string{node.String()}, grouped))
	} else {
		o.AddIf(x.Why.Short != "" && len(x.Below) == 0, "diagnostic", diagnostic(&x.Why))
	}
	for _, b := range x.Below {
		if !b.App || s.mayList(r, b.Name) {
			below = append(below, s.activityObject(r, b, node, grouped))
		}
	}
	return o.AddIf(len(below) > 0, "children", below)
}

// mayList tells whether an application may be named to the caller.
func (s *server) mayList(r *http.Request, name string) bool {
	if !s.FilterByUser {
		return true
	}
	id, err := answer.ParseApplication(name)
	a := s.Source.Latest(id)
	return err == nil && a != nil && s.Source.MayView(webgate.From(r.Context()), a)
}

func diagnostic(why *view.Refusal) string {
	if why.Text == "" {
		return why.Short
	}
	return why.Short + "\n" + why.Text
}

// atNodes is what was done at nodes for what is asked for: by itself, or grouped with all that have the same reason.
func atNodes(x *view.Activity, nodes []string, grouped bool) *tree.Object {
	o := tree.New().Add("allocationState", x.State)
	if grouped {
		ids := tree.List{}
		for _, id := range nodes {
			ids = append(ids, id)
		}
		return o.AddIf(x.Why.Short != "", "diagnostic", x.Why.Short).Add("count", int32(len(nodes))).Add("nodeIds", ids)
	}
	return o.AddIf(x.Why.Short != "", "diagnostic", diagnostic(&x.Why)).Add("nodeId", nodes[0])
}

// appQuery are the parameters of app-activities.
type appQuery struct {
	priorities, requests []int64
	grouped, summarize   bool
	limit                int
	get                  bool
	actions              []string
}

// parseAppQuery reads them. why is the diagnostic of one that makes no sense, in Hadoop's words.
func parseAppQuery(r *http.Request) (x appQuery, why string, err error) {
	q := r.URL.Query()
	if err := tooMany(q); err != nil {
		return x, "", err
	}
	if x.grouped, err = grouping(q); err != nil {
		return x, err.Error(), nil //nolint:nilerr // the diagnostic is the answer
	}
	x.actions = q["actions"]
	actions := pieces(x.actions)
	x.get = len(actions) == 0
	for _, a := range actions {
		switch strings.ToLower(a) {
		case "get":
			x.get = true
		case "refresh":
		default:
			return x, "Got invalid action: " + a + ", valid actions: [REFRESH, GET]", nil
		}
	}
	if x.priorities, err = numbers(q["requestPriorities"], 32); err != nil {
		return x, "request priorities must be integers!", nil //nolint:nilerr // likewise
	}
	if x.requests, err = numbers(q["allocationRequestIds"], 64); err != nil {
		return x, "allocation request Ids must be integers!", nil //nolint:nilerr // likewise
	}
	x.limit = mostActivityApps
	if q.Has("limit") {
		n, err := strconv.ParseInt(q.Get("limit"), 10, 32)
		switch {
		case err != nil:
			return x, "limit must be integer!", nil //nolint:nilerr // likewise
		case n <= 0:
			return x, "limit must be greater than 0!", nil
		}
		x.limit = int(min(n, mostActivityApps))
	}
	if text := strings.TrimSpace(q.Get("maxTime")); text != "" {
		if !strings.Contains(text, ".") {
			text += ".0"
		}
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return x, "", &answer.Exception{Status: http.StatusBadRequest, Class: "java.lang.NumberFormatException", Message: `For input string: "` + clipped(text) + `"`}
		}
	}
	x.summarize = strings.EqualFold(q.Get("summarize"), "true")
	return x, "", nil
}

func numbers(params []string, bits int) (out []int64, err error) {
	for _, w := range pieces(params) {
		n, err := strconv.ParseInt(w, 10, bits)
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func (x *appQuery) wants(a *view.Activity) bool {
	return (len(x.priorities) == 0 || slices.Contains(x.priorities, int64(a.Priority))) && (len(x.requests) == 0 || slices.Contains(x.requests, a.RequestID))
}

// appActivities answers GET /scheduler/app-activities: what offers of nodes would do for an application.
func (s *server) appActivities(r *http.Request) (*answer.Response, error) {
	name := r.PathValue("app")
	refuse := func(why string) (*answer.Response, error) {
		return answer.Wrapped("appActivities", s.stamp(tree.New().Add("applicationId", name).Add("diagnostic", why))), nil
	}
	if !s.tells(r) {
		return refuse(notCapacity)
	}
	x, why, err := parseAppQuery(r)
	if err != nil {
		return nil, err
	}
	if why != "" {
		return refuse(why)
	}
	id, err := answer.ParseApplication(name)
	if err != nil {
		return refuse("Cannot find application with given appId")
	}
	if !x.get {
		what := "actions: "
		if len(x.actions) == 1 {
			what = "action: "
		}
		return refuse("Successfully received " + what + strings.Join(x.actions, ","))
	}
	a, err := s.Source.Application(r.Context(), id)
	if err != nil && answer.KindOf(err) != answer.NotFound {
		return nil, err
	}
	if err != nil || a.FinalStatus != yarn.FinalUndefined {
		return refuse("fail to get application activities after finished")
	}
	if c := webgate.From(r.Context()); !s.Source.MayView(c, a) {
		return refuse("User " + c.User + " may not view " + id.String())
	}
	list, err := s.Source.AppActivities(r.Context(), id, x.limit)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return refuse("waiting for display")
	}
	o := tree.New().Add("applicationId", id.String())
	return answer.Wrapped("appActivities", o.Add("allocations", s.appAllocations(list, &x))), nil
}

// keyActivity is what is asked for under one key, with what was done for it on nodes.
type keyActivity struct {
	priority int32
	id       int64
	state    string
	own      string // diagnostic that does not lie with a node
	at       []*view.Activity
	nodes    []string
}

func requestsOf(list []view.NodeActivities, x *appQuery) (out []*keyActivity) {
	for i := range list {
		for _, a := range list[i].Root.Below {
			if !x.wants(a) {
				continue
			}
			at := slices.IndexFunc(out, func(q *keyActivity) bool { return q.priority == a.Priority && q.id == a.RequestID })
			if at < 0 {
				at = len(out)
				out = append(out, &keyActivity{priority: a.Priority, id: a.RequestID})
			}
			q := out[at]
			q.state = a.State
			if a.Why.OfNode || a.State != "SKIPPED" {
				q.at, q.nodes = append(q.at, a), append(q.nodes, list[i].Node.String())
			} else {
				q.own = diagnostic(&a.Why)
			}
		}
	}
	return out
}

func (q *keyActivity) object(grouped bool) *tree.Object {
	o := tree.New().Add("requestPriority", q.priority).Add("allocationRequestId", q.id).Add("allocationState", q.state).AddIf(q.own != "", "diagnostic", q.own)
	var below tree.List
	for i, a := range q.at {
		if !grouped {
			below = append(below, atNodes(a, q.nodes[i:i+1], false))
			continue
		}
		like := func(b *view.Activity) bool { return b.State == a.State && b.Why.Short == a.Why.Short }
		if slices.IndexFunc(q.at, like) < i {
			continue
		}
		var nodes []string
		for j, b := range q.at {
			if like(b) {
				nodes = append(nodes, q.nodes[j])
			}
		}
		below = append(below, atNodes(a, nodes, true))
	}
	return o.AddIf(len(below) > 0, "children", below)
}

// appAllocations are the entries of an answer: one a node, or one of all.
func (s *server) appAllocations(list []view.NodeActivities, x *appQuery) (out tree.List) {
	for len(list) > 0 {
		n := 1
		if x.summarize {
			n = len(list)
		}
		part := list[:n]
		list = list[n:]
		requests := requestsOf(part, x)
		if len(requests) == 0 && len(x.priorities)+len(x.requests) > 0 {
			continue
		}
		last := &part[n-1]
		o := tree.New().AddIf(!x.summarize && last.Node != yarn.NodeID{}, "nodeId", last.Node.String())
		s.stamp(o).Add("queueName", last.Queue[strings.LastIndexByte(last.Queue, '.')+1:]).Add("appPriority", last.Root.Priority).
			Add("allocationState", last.State).AddIf(last.Why.Short != "", "diagnostic", diagnostic(&last.Why))
		var below tree.List
		for _, q := range requests {
			below = append(below, q.object(x.grouped))
		}
		out = append(out, o.AddIf(len(below) > 0, "children", below))
	}
	return out
}
