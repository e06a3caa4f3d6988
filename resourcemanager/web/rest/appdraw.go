package rest

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// appDraw writes applications, in lists and by themselves, for one answer. Lists are long and asked for often: what is equal for many
// applications, above all for those that wait, is made once for each answer, and the text of an application that has not changed once
// for all answers (rows).
type appDraw struct {
	s       *server
	caller  webgate.Caller
	all     bool // the caller may view every application
	without map[string]bool
	types   yarn.ResourceTypes
	hashed  []int // the order of types in maps
	cluster int64 // its timestamp
	rows    *rows // nil: nothing is kept between answers

	asks       map[view.Request]*tree.Object
	partitions map[partition]*tree.Object
	scratch    []byte      // text of a row
	parts      []partition // of an application
}

// maxOften bounds the parts of each kind that are kept for an answer.
const maxOften = 1000

func (s *server) newAppDraw(caller webgate.Caller, c *view.Cluster, without map[string]bool) *appDraw {
	return &appDraw{s: s, caller: caller, without: without, types: c.ResourceTypes, hashed: hashed(c.ResourceTypes), cluster: c.StartedAt,
		asks: map[view.Request]*tree.Object{}, partitions: map[partition]*tree.Object{}}
}

// kept is the part for the key; if there is none it makes one.
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

// members writes an application. Its text is in segments, which depend on its view alone; between them is what depends on the
// moment, and what many applications have in common. Without the right to view the application, times and places are blank, and
// resources 0.
func (d *appDraw) members(m *tree.Members, a *view.Application) {
	now := d.s.now()
	if !d.all && !d.s.Source.MayView(d.caller, a) {
		d.hidden(m, a, now)
		return
	}
	key := rowKey{a.ID, m.XML()}
	keep := d.rows != nil && a.Version != 0 && !d.without["appNodeLabelExpression"] && !d.without["amNodeLabelExpression"]
	var r *row
	if keep {
		r = d.rows.find(key, d.cluster, a.Version)
		keep = r != nil || !d.rows.full()
	}
	var ends [segments]uint32
	d.scratch = d.scratch[:0]
	for i := range segments {
		if r != nil {
			m.Written(r.segment(i))
		} else {
			from := m.Mark()
			d.segment(m, i, a)
			if keep {
				d.scratch = append(d.scratch, m.Since(from)...)
				ends[i] = uint32(len(d.scratch)) //nolint:gosec // a row is far shorter than 4 GB
			}
		}
		d.after(m, i, a, now)
	}
	if keep && r == nil {
		d.rows.put(key, &row{term: d.cluster, version: a.Version, text: slices.Clone(d.scratch), ends: ends})
	}
}

// hidden writes an application that the caller may not view.
func (d *appDraw) hidden(m *tree.Members, a *view.Application, now int64) {
	d.head(m, a)
	m.Int("startedTime", 0).Int("launchTime", 0).Int("finishedTime", 0).Int("elapsedTime", 0).Text("masterNodeId", "")
	d.resources(m, &view.Usage{})
	d.seconds(m, a, now)
	d.shares(m, &view.Usage{})
	d.sums(m, a, now)
	d.preempted(m, a.Usage)
	d.kind(m, a)
	d.partitionsAndTimeouts(m, a, now)
}

// segments is the number of parts of an application's text that depend on its view alone.
const segments = 5

func (d *appDraw) segment(m *tree.Members, i int, a *view.Application) {
	switch i {
	case 0:
		d.head(m, a)
		m.Int("startedTime", a.StartTime).Int("launchTime", a.LaunchTime).Int("finishedTime", a.FinishTime)
	case 1:
		d.place(m, a)
		u := currentUsage(a)
		d.resources(m, &u)
	case 2:
		u := currentUsage(a)
		d.shares(m, &u)
	case 3:
		d.preempted(m, a.Usage)
	case 4:
		d.kind(m, a)
	}
}

// after writes what follows a segment.
func (d *appDraw) after(m *tree.Members, i int, a *view.Application, now int64) {
	switch i {
	case 0:
		m.Int("elapsedTime", elapsed(a.StartTime, a.FinishTime, now))
	case 1:
		d.seconds(m, a, now)
	case 2:
		d.sums(m, a, now)
	case 3:
		if !d.without["resourceRequests"] {
			m.PutEach("resourceRequests", len(a.Requests), func(i int) *tree.Object {
				return kept(d.asks, a.Requests[i], func() *tree.Object { return request(d.types, &a.Requests[i]) })
			})
		}
		m.Text("logAggregationStatus", logStatus(a, now))
	case 4:
		d.partitionsAndTimeouts(m, a, now)
	}
}

func (d *appDraw) head(m *tree.Members, a *view.Application) {
	url := ""
	if t := a.Current(); t != nil && a.PublicState > yarn.PublicAccepted {
		url = d.s.Links.Tracking(a, t)
	}
	m.Text("id", a.ID.String()).
		Text("user", a.User).
		Text("name", a.Name).
		Text("queue", a.Queue).
		Text("state", a.PublicState.String()).
		Text("finalStatus", a.FinalStatus.String()).
		Float("progress", a.Progress*100).
		Text("trackingUI", trackingUI(a, url)).
		TextIf(url != "", "trackingUrl", url).
		Text("diagnostics", a.Diagnostics).
		Int("clusterId", d.cluster).
		Text("applicationType", a.Type).
		Text("applicationTags", strings.Join(a.Tags, ",")).
		Int("priority", int64(a.Priority))
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

// place writes the addresses of the master.
func (d *appDraw) place(m *tree.Members, a *view.Application) {
	t := a.Current()
	if t == nil || t.MasterContainer.IsZero() {
		m.Text("masterNodeId", "")
		return
	}
	m.Text("amContainerLogs", d.s.Links.Logs(t.NodeHTTPAddress, t.MasterContainer, a.User)).
		Text("amHostHttpAddress", t.NodeHTTPAddress).
		TextIf(t.Host != "" && t.Host != "N/A" && t.RPCPort >= 0, "amRPCAddress", hostPort(t)).
		Text("masterNodeId", t.Node.String())
}

func hostPort(t *view.Attempt) string { return yarn.NodeID{Host: t.Host, Port: t.RPCPort}.String() }

// currentUsage is what the application has: -1 once its last attempt has ended, 0 before it had one.
func currentUsage(a *view.Application) view.Usage {
	switch t := a.Current(); {
	case t == nil:
		return view.Usage{}
	case t.State.Final():
		none := yarn.NewResource(-1, -1)
		return view.Usage{Used: none, Reserved: none, Containers: -1}
	}
	return *a.Usage
}

func (d *appDraw) resources(m *tree.Members, u *view.Usage) {
	m.Int("allocatedMB", u.Used.MemoryMB()).
		Int("allocatedVCores", u.Used.VCoreCount()).
		Int("reservedMB", u.Reserved.MemoryMB()).
		Int("reservedVCores", u.Reserved.VCoreCount()).
		Int("runningContainers", int64(u.Containers))
}

func (d *appDraw) seconds(m *tree.Members, a *view.Application, now int64) {
	seconds := a.SecondsAt(now)
	m.Int("memorySeconds", seconds.MemoryMB()).Int("vcoreSeconds", seconds.VCoreCount())
}

func (d *appDraw) shares(m *tree.Members, u *view.Usage) {
	m.Float("queueUsagePercentage", u.QueuePercent).Float("clusterUsagePercentage", u.ClusterPercent)
}

// sums writes what the application has used so far.
func (d *appDraw) sums(m *tree.Members, a *view.Application, now int64) {
	if len(a.Attempts) > 0 {
		d.amounts(m, "resourceSecondsMap", a.SecondsAt(now))
	}
}

func (d *appDraw) amounts(m *tree.Members, name string, r yarn.Resource) {
	m.Object(name, func(m *tree.Members) { drawAmounts(m, d.types, d.hashed, &r) })
}

// preempted writes what was taken from the application.
func (d *appDraw) preempted(m *tree.Members, u *view.Usage) {
	m.Int("preemptedResourceMB", u.Preempted.MemoryMB()).
		Int("preemptedResourceVCores", u.Preempted.VCoreCount()).
		Int("numNonAMContainerPreempted", int64(u.PreemptedNonAM)).
		Int("numAMContainerPreempted", int64(u.PreemptedAM)).
		Int("preemptedMemorySeconds", u.PreemptedSeconds.MemoryMB()).
		Int("preemptedVcoreSeconds", u.PreemptedSeconds.VCoreCount())
	if !u.PreemptedSeconds.IsZero() {
		d.amounts(m, "preemptedResourceSecondsMap", u.PreemptedSeconds)
	}
}

func (d *appDraw) kind(m *tree.Members, a *view.Application) {
	m.Bool("unmanagedApplication", a.Unmanaged).
		TextIf(!d.without["appNodeLabelExpression"] && a.LabelSet, "appNodeLabelExpression", a.Label).
		TextIf(!d.without["amNodeLabelExpression"] && !a.Unmanaged, "amNodeLabelExpression", a.AMLabel)
}

func (d *appDraw) partitionsAndTimeouts(m *tree.Members, a *view.Application, now int64) {
	if t := a.Current(); !d.without["resourceInfo"] && t != nil && !t.State.Final() {
		d.parts = partitionsOf(d.parts[:0], a)
		rows := d.parts
		m.Object("resourceInfo", func(m *tree.Members) {
			m.PutEach("resourceUsagesByPartition", len(rows), func(i int) *tree.Object {
				return kept(d.partitions, rows[i], func() *tree.Object { return rows[i].object(d.types, true) })
			})
		})
	}
	if !d.without["timeouts"] {
		m.Object("timeouts", func(m *tree.Members) { drawTimeouts(m, a, now) })
	}
}

// partitionsOf splits what the application has by partition. Reserved and pending amounts are known for the whole application and shown
// in the default partition. The rows are appended to out.
func partitionsOf(out []partition, a *view.Application) []partition {
	rest := a.Usage.Used
	for _, used := range a.UsedByLabel { //tidy:unordered they are only subtracted
		rest = rest.Sub(used)
	}
	add := func(row partition) {
		if row.label == a.AMLabel {
			row.amUsed = a.Usage.AMUsed
		}
		out = append(out, row)
	}
	add(partition{used: rest, reserved: a.Usage.Reserved, pending: a.Usage.Pending})
	if len(a.UsedByLabel) > 0 {
		for _, label := range slices.Sorted(maps.Keys(a.UsedByLabel)) {
			add(partition{label: label, used: a.UsedByLabel[label]})
		}
	}
	return out
}

// partition is a row of usage in one partition.
type partition struct {
	label                                          string
	used, reserved, pending, amUsed, amLimit, user yarn.Resource
}

// object is the row. Without masters, for parent queues, it lacks what concerns
// ApplicationMasters.
func (p partition) object(types yarn.ResourceTypes, masters bool) *tree.Object {
	return tree.Draw(func(m *tree.Members) {
		m.Text("partitionName", p.label).
			Put("used", resource(types, p.used)).
			Put("reserved", resource(types, p.reserved)).
			Put("pending", resource(types, p.pending))
		if masters {
			m.Put("amUsed", resource(types, p.amUsed)).
				Put("amLimit", resource(types, p.amLimit)).
				Put("userAmLimit", resource(types, p.user))
		}
	})
}

// request is a row of asks.
func request(types yarn.ResourceTypes, r *view.Request) *tree.Object {
	return tree.Draw(func(m *tree.Members) {
		m.Int("priority", int64(r.Priority)).
			Int("allocationRequestId", r.AllocationRequestID).
			Text("resourceName", r.Where).
			Put("capability", resource(types, r.Capability)).
			Int("numContainers", int64(r.Count)).
			Bool("relaxLocality", r.RelaxLocality).
			Text("nodeLabelExpression", r.Label).
			Object("executionTypeRequest", func(m *tree.Members) {
				m.Text("executionType", r.ExecutionType.String()).Bool("enforceExecutionType", r.EnforceExecution)
			})
	})
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
