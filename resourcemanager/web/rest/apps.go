package rest

import (
	"net/http"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) apps(r *http.Request) (*answer.Response, error) {
	f, err := parseFilter(r.URL.Query(), func(name string) (string, bool, error) {
		c, err := s.Source.Cluster(r.Context(), view.Queues)
		if err != nil {
			return "", false, err
		}
		if q, ok := c.Queues.Find(name); ok {
			return q.Path, true, nil
		}
		return "", false, nil
	})
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), view.Applications)
	if err != nil {
		return nil, err
	}
	s.leaveOut(r, f.without)
	caller := webgate.From(r.Context())
	visible := func(a *view.Application) bool {
		return !s.FilterByUser || s.Source.MayView(caller, a)
	}
	chosen := f.choose(c.Applications, visible)
	o := newOften(c)
	list := tree.Stream(func(yield func(tree.Value) bool) {
		for _, id := range chosen {
			// A caller that reads slowly keeps ids in memory, not old views. It gets each
			// application as it is by then, if that still matches.
			a := s.Source.Latest(id)
			if a != nil && f.matches(a) && visible(a) && !yield(s.appObject(caller, o, a, f.without)) {
				return
			}
		}
	})
	return answer.Wrapped("apps", tree.New().Add("app", list)), nil
}

// leaveOut adds to without what only the CapacityScheduler has, if another one is used.
func (s *server) leaveOut(r *http.Request, without map[string]bool) {
	if !s.capacity(r) {
		without["resourceInfo"] = true
	}
}

func (s *server) app(r *http.Request) (*answer.Response, error) {
	without, err := deselected(r.URL.Query()["deSelects"])
	if err != nil {
		return nil, err
	}
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	s.leaveOut(r, without)
	return answer.Wrapped("app", s.appObject(webgate.From(r.Context()), newOften(c), a, without)), nil
}

// why tells why an application's master has no container yet, or why a gang waits. Hadoop does not have it.
// It has a path of its own, so that the forms of other answers are Hadoop's.
func (s *server) why(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	if c := webgate.From(r.Context()); !s.Source.MayView(c, a) {
		return nil, answer.Errorf(answer.Forbidden, "User %s may not view %s", c.User, a.ID)
	}
	why := ""
	if a.Waits() {
		if why, err = s.Source.Why(r.Context(), a.ID); err != nil {
			return nil, err
		}
	}
	takings, err := s.preemptionSentences(r, a.ID)
	if err != nil {
		return nil, err
	}
	gates, err := s.Source.Gates(r.Context(), a.ID)
	if err != nil {
		return nil, err
	}
	s.hideHolders(r, &gates)
	var since int64
	if t := a.Current(); t != nil && !a.State.Final() && t.State == yarn.AttemptScheduled {
		since = t.StartTime
	}
	o := tree.New().
		Add("id", a.ID.String()).
		Add("state", a.PublicState.String()).
		Add("waiting", why != "").
		AddIf(why != "", "reason", why).
		AddIf(why != "" && since != 0, "since", since).
		AddIf(gates.Refused, "refused", true).
		AddIf(len(gates.List) > 0, "gates", gateObjects(gates.List)).
		AddIf(len(takings) > 0, "preemption", takings)
	if l := gates.Line; l.Place > 0 {
		o.Add("line", tree.New().Add("place", l.Place).Add("of", l.Of).Add("for", l.For).Add("queue", l.Queue))
	}
	o.AddIf(len(gates.Impossible) > 0, "impossible", impossibleObjects(gates.Impossible)).AddIf(len(gates.Asks) > 0, "asks", askObjects(gates.Asks))
	return answer.Wrapped("why", o), nil
}

func memoryAndCores(r *yarn.Resource) *tree.Object {
	return tree.New().Add("memoryMB", r.MemoryMB()).Add("vCores", r.VCoreCount())
}

// find is the application that the path names.
func (s *server) find(r *http.Request) (*view.Application, error) {
	id, err := answer.ParseApplication(r.PathValue("app"))
	if err != nil {
		return nil, err
	}
	a, err := s.Source.Application(r.Context(), id)
	if err != nil && answer.KindOf(err) == answer.NotFound {
		return nil, notFound("app with id: %s not found", id)
	}
	return a, err
}

// appObject is an application in lists and by itself. Without the right to view it, times
// and places are blank, and resources 0.
func (s *server) appObject(c webgate.Caller, often *often, a *view.Application, without map[string]bool) *tree.Object {
	o := often.app.Clear()
	s.appHead(o, a, often.cluster)
	t := a.Current()
	if s.Source.MayView(c, a) {
		s.appTimes(o, a)
		s.appPlace(o, a, t)
		s.appResources(o, a, t)
		s.appHistory(o, often, a)
		if !without["resourceRequests"] {
			o.Add("resourceRequests", often.requests(a))
		}
		o.Add("logAggregationStatus", logStatus(a, s.now()))
	} else {
		o.Add("startedTime", 0).Add("launchTime", 0).Add("finishedTime", 0).Add("elapsedTime", 0).Add("masterNodeId", "")
		s.appResources(o, a, nil)
		s.appHistory(o, often, a)
	}
	o.Add("unmanagedApplication", a.Unmanaged).
		AddIf(!without["appNodeLabelExpression"] && a.LabelSet, "appNodeLabelExpression", a.Label).
		AddIf(!without["amNodeLabelExpression"] && !a.Unmanaged, "amNodeLabelExpression", a.AMLabel)
	if !without["resourceInfo"] && t != nil && !t.State.Final() {
		o.Add("resourceInfo", often.partitions(a, t))
	}
	if !without["timeouts"] {
		o.Add("timeouts", s.timeoutList(a))
	}
	return o
}

func (s *server) appHead(o *tree.Object, a *view.Application, cluster int64) {
	url := ""
	if t := a.Current(); t != nil && a.PublicState > yarn.PublicAccepted {
		url = s.Links.Tracking(a, t)
	}
	o.Add("id", a.ID.String()).
		Add("user", a.User).
		Add("name", a.Name).
		Add("queue", a.Queue).
		Add("state", a.PublicState.String()).
		Add("finalStatus", a.FinalStatus.String()).
		Add("progress", a.Progress*100).
		Add("trackingUI", trackingUI(a, url)).
		AddIf(url != "", "trackingUrl", url).
		Add("diagnostics", a.Diagnostics).
		Add("clusterId", cluster).
		Add("applicationType", a.Type).
		Add("applicationTags", strings.Join(a.Tags, ",")).
		Add("priority", a.Priority)
}

func trackingUI(a *view.Application, url string) string {
	switch {
	case url == "":
		return "UNASSIGNED"
	case a.FinishTime == 0:
		return "ApplicationMaster"
	}
	return "History"
}

func (s *server) appTimes(o *tree.Object, a *view.Application) {
	o.Add("startedTime", a.StartTime).
		Add("launchTime", a.LaunchTime).
		Add("finishedTime", a.FinishTime).
		Add("elapsedTime", elapsed(a.StartTime, a.FinishTime, s.now()))
}

// elapsed is the time from start to end, in milliseconds, or to now if there is no end.
func elapsed(start, end, now int64) int64 {
	if start <= 0 {
		return 0
	}
	if end <= 0 {
		end = now
	}
	return max(end-start, 0)
}

// appPlace adds the addresses of the master.
func (s *server) appPlace(o *tree.Object, a *view.Application, t *view.Attempt) {
	if t == nil || t.MasterContainer.IsZero() {
		o.Add("masterNodeId", "")
		return
	}
	o.Add("amContainerLogs", s.Links.Logs(t.NodeHTTPAddress, t.MasterContainer, a.User)).
		Add("amHostHttpAddress", t.NodeHTTPAddress).
		AddIf(t.Host != "" && t.Host != "N/A" && t.RPCPort >= 0, "amRPCAddress", hostPort(t)).
		Add("masterNodeId", t.Node.String())
}

func hostPort(t *view.Attempt) string { return yarn.NodeID{Host: t.Host, Port: t.RPCPort}.String() }

// appResources adds what the application has: -1 once its last attempt has
// ended, 0 before it had one.
func (s *server) appResources(o *tree.Object, a *view.Application, t *view.Attempt) {
	u := view.Usage{}
	switch {
	case t == nil:
	case t.State.Final():
		none := yarn.NewResource(-1, -1)
		u = view.Usage{Used: none, Reserved: none, Containers: -1}
	default:
		u = a.Usage
	}
	seconds := a.SecondsAt(s.now())
	o.Add("allocatedMB", u.Used.MemoryMB()).
		Add("allocatedVCores", u.Used.VCoreCount()).
		Add("reservedMB", u.Reserved.MemoryMB()).
		Add("reservedVCores", u.Reserved.VCoreCount()).
		Add("runningContainers", u.Containers).
		Add("memorySeconds", seconds.MemoryMB()).
		Add("vcoreSeconds", seconds.VCoreCount()).
		Add("queueUsagePercentage", u.QueuePercent).
		Add("clusterUsagePercentage", u.ClusterPercent)
}

// appHistory adds what the application has used, and what was preempted.
func (s *server) appHistory(o *tree.Object, often *often, a *view.Application) {
	u := &a.Usage
	o.AddIf(len(a.Attempts) > 0, "resourceSecondsMap", often.sums(a.SecondsAt(s.now()))).
		Add("preemptedResourceMB", u.Preempted.MemoryMB()).
		Add("preemptedResourceVCores", u.Preempted.VCoreCount()).
		Add("numNonAMContainerPreempted", u.PreemptedNonAM).
		Add("numAMContainerPreempted", u.PreemptedAM).
		Add("preemptedMemorySeconds", u.PreemptedSeconds.MemoryMB()).
		Add("preemptedVcoreSeconds", u.PreemptedSeconds.VCoreCount()).
		AddIf(!u.PreemptedSeconds.IsZero(), "preemptedResourceSecondsMap", often.sums(u.PreemptedSeconds))
}

// often caches parts of an answer that are equal for many applications of a list, above
// all for those that wait.
type often struct {
	types   yarn.ResourceTypes
	cluster int64 // its timestamp
	asks    map[view.Request]*tree.Object
	rows    map[partition]*tree.Object
	amounts map[yarn.Resource]*tree.Object
	app     *tree.Object // the application that is written
}

// maxOften bounds the parts of each kind in the cache.
const maxOften = 1000

func newOften(c *view.Cluster) *often {
	return &often{types: c.ResourceTypes, cluster: c.StartedAt, asks: map[view.Request]*tree.Object{}, rows: map[partition]*tree.Object{},
		amounts: map[yarn.Resource]*tree.Object{}, app: tree.New()}
}

// kept is the cached part for the key; if there is none it makes one.
func kept[K comparable](all map[K]*tree.Object, key K, make func() *tree.Object) *tree.Object {
	if o := all[key]; o != nil {
		return o
	}
	o := make()
	if len(all) < maxOften {
		all[key] = o.Keep()
	}
	return o
}

func (o *often) sums(r yarn.Resource) *tree.Object {
	return kept(o.amounts, r, func() *tree.Object { return amounts(o.types, r) })
}

func (o *often) requests(a *view.Application) tree.List {
	list := make(tree.List, 0, len(a.Requests))
	for _, r := range a.Requests {
		list = append(list, kept(o.asks, r, func() *tree.Object { return request(o.types, &r) }))
	}
	return list
}

func request(types yarn.ResourceTypes, r *view.Request) *tree.Object {
	return tree.New().
		Add("priority", r.Priority).
		Add("allocationRequestId", r.AllocationRequestID).
		Add("resourceName", r.Where).
		Add("capability", resource(types, r.Capability)).
		Add("numContainers", r.Count).
		Add("relaxLocality", r.RelaxLocality).
		Add("nodeLabelExpression", r.Label).
		Add("executionTypeRequest", tree.New().
			Add("executionType", r.ExecutionType.String()).
			Add("enforceExecutionType", r.EnforceExecution))
}

// logStatus is the state of log aggregation, as far as nodes have reported it.
func logStatus(a *view.Application, now int64) string {
	s := a.LogStatusAt(now)
	if s == 0 || int(s) >= len(logStatusNames) { // before the first attempt
		s = view.LogsNotStarted
	}
	if !a.LogAggregation {
		s = view.LogsDisabled
	}
	return logStatusNames[s]
}

var logStatusNames = [...]string{view.LogsDisabled: "DISABLED", view.LogsNotStarted: "NOT_START", view.LogsRunning: "RUNNING",
	view.LogsSucceeded: "SUCCEEDED", view.LogsFailed: "FAILED", view.LogsTimedOut: "TIME_OUT", view.LogsRunningWithFailure: "RUNNING_WITH_FAILURE"}

// partitions splits what the application has by partition. Reserved and
// pending amounts are known for the whole application and shown in the default
// partition.
func (o *often) partitions(a *view.Application, t *view.Attempt) *tree.Object {
	used := map[string]yarn.Resource{}
	rest := a.Usage.Used
	for _, c := range t.Containers {
		if c.Label != "" {
			used[c.Label] = used[c.Label].Add(c.Resource)
			rest = rest.Sub(c.Resource)
		}
	}
	labels := make([]string, 0, len(used))
	for l := range used {
		labels = append(labels, l)
	}
	slices.Sort(labels)
	used[""] = rest
	var rows tree.List
	for _, label := range append([]string{""}, labels...) {
		row := partition{label: label, used: used[label]}
		if label == "" {
			row.reserved, row.pending = a.Usage.Reserved, a.Usage.Pending
		}
		if label == a.AMLabel {
			row.amUsed = a.Usage.AMUsed
		}
		rows = append(rows, kept(o.rows, row, func() *tree.Object { return row.object(o.types, true) }))
	}
	return tree.New().Add("resourceUsagesByPartition", rows)
}

// partition is a row of usage in one partition.
type partition struct {
	label                                          string
	used, reserved, pending, amUsed, amLimit, user yarn.Resource
}

// object is the row. Without masters, for parent queues, it lacks what concerns
// ApplicationMasters.
func (p partition) object(types yarn.ResourceTypes, masters bool) *tree.Object {
	o := tree.New().
		Add("partitionName", p.label).
		Add("used", resource(types, p.used)).
		Add("reserved", resource(types, p.reserved)).
		Add("pending", resource(types, p.pending))
	if masters {
		o.Add("amUsed", resource(types, p.amUsed)).
			Add("amLimit", resource(types, p.amLimit)).
			Add("userAmLimit", resource(types, p.user))
	}
	return o
}

func (s *server) statistics(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	if err := tooMany(q); err != nil {
		return nil, err
	}
	states, err := publicStates(words(q["states"]))
	if err != nil {
		return nil, err
	}
	types := lower(words(q["applicationTypes"]))
	if len(types) > 1 {
		return nil, badRequest("# of applicationTypes = %d, we temporarily support at most one applicationType", len(types))
	}
	c, err := s.Source.Cluster(r.Context(), view.Applications)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		states = yarn.PublicStates()
	}
	kind := "*"
	if len(types) == 1 {
		kind = types[0]
	}
	var items tree.List
	for _, state := range slices.Compact(slices.Sorted(slices.Values(states))) {
		items = append(items, tree.New().
			Add("state", state.String()).
			Add("type", kind).
			Add("count", countApps(c.Applications, state, kind)))
	}
	return answer.Wrapped("appStatInfo", tree.New().Add("statItem", items)), nil
}

func countApps(apps []*view.Application, state yarn.PublicState, kind string) int64 {
	var n int64
	for _, a := range apps {
		if a.PublicState == state && (kind == "*" || strings.EqualFold(a.Type, kind)) {
			n++
		}
	}
	return n
}
