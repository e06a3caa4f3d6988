package rest

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of the tree that one answer shows.
const (
	maxDepth  = 64
	maxQueues = 100_000
)

// queueWriter writes the CapacityScheduler's queues.
type queueWriter struct {
	all          *queue.Snapshot
	cluster      *view.Cluster
	now          int64
	applications map[string]int32 // in the queue and below it, by path
	left         int              // how many queues may still be written
}

// applications counts the applications in and below every queue. It relies on parents
// being before their children in a snapshot.
func applications(all *queue.Snapshot) map[string]int32 {
	n := make(map[string]int32, len(all.Queues))
	for i := range slices.Backward(all.Queues) {
		q := &all.Queues[i]
		if q.Leaf {
			n[q.Path] += q.ActiveApps + q.PendingApps + q.WaitingApps
		}
		n[q.Parent] += n[q.Path]
	}
	return n
}

// percent is a share as a percentage.
func percent(f float32) float32 { return f * 100 }

// clamped is a share cut to 0..1, as a percentage.
func clamped(f float32) float32 { return min(max(f, 0), 1) * 100 }

// maximum is a maximum share as a percentage; 100 if there is none.
func maximum(f float32) float32 {
	if f < 1e-8 || f > 1 {
		f = 1
	}
	return f * 100
}

func (w *queueWriter) resource(r yarn.Resource) *tree.Object {
	return resource(w.cluster.ResourceTypes, r)
}

func (w *queueWriter) configured(r yarn.Resource) *tree.Object {
	return bounded(w.cluster.ResourceTypes, r, w.cluster.MinAllocation, w.cluster.MaxAllocation)
}

func (w *queueWriter) root(q *queue.Info) *tree.Object {
	own, d := q.Capacity, &q.Capacity.Default
	o := &tree.Object{Type: "capacityScheduler"}
	o.Add("capacity", percent(d.Capacity)).
		Add("usedCapacity", percent(d.UsedCapacity)).
		Add("maxCapacity", maximum(d.MaxCapacity)).
		Add("weight", d.Weight).
		Add("normalizedWeight", d.NormalizedWeight).
		Add("queueCapacityVectorInfo", w.vector(&d.Vector)).
		Add("queueName", q.Name).
		Add("queuePath", q.Path).
		Add("maxParallelApps", own.MaxParallelApps).
		Add("isAbsoluteResource", own.Mode == "absolute").
		Add("queues", w.children(q, 1)).
		Add("capacities", w.capacities(q)).
		Add("health", w.health()).
		Add("maximumAllocation", w.resource(q.MaxAllocation)).
		Add("queueAcls", w.acls(q)).
		Add("queuePriority", own.Priority).
		Add("orderingPolicyInfo", own.OrderingPolicy)
	w.kind(o, q)
	return o
}

// acls are the queue's own ACLs.
//
// compat: APPLICATION_MAX_PRIORITY is always *.
func (w *queueWriter) acls(q *queue.Info) *tree.Object {
	if w.cluster.QueueACLs == nil {
		return tree.New()
	}
	submit, administer := w.cluster.QueueACLs(q.Path)
	var list tree.List
	for _, a := range [][2]string{{"ADMINISTER_QUEUE", administer}, {"APPLICATION_MAX_PRIORITY", "*"}, {"SUBMIT_APP", submit}} {
		list = append(list, tree.New().Add("accessType", a[0]).Add("accessControlList", a[1]))
	}
	return tree.New().Add("queueAcl", list)
}

// children lists the queues below q.
//
// compat: leaves come first, then parents, each in the scheduler's order.
func (w *queueWriter) children(q *queue.Info, depth int) *tree.Object {
	var leaves, parents tree.List
	for _, path := range q.Children {
		child, ok := w.all.ByPath(path)
		w.left--
		switch {
		case !ok || depth > maxDepth || w.left < 0:
		case child.Leaf:
			leaves = append(leaves, w.leaf(child))
		default:
			parents = append(parents, w.parent(child, depth))
		}
	}
	return tree.New().Add("queue", append(leaves, parents...))
}

func (w *queueWriter) parent(q *queue.Info, depth int) *tree.Object {
	o := tree.New()
	w.share(o, q)
	o.Add("queues", w.children(q, depth+1))
	w.usage(o, q)
	w.kind(o, q)
	return o
}

func (w *queueWriter) leaf(q *queue.Info) *tree.Object {
	o := &tree.Object{Type: "capacitySchedulerLeafQueueInfo"}
	w.share(o, q)
	w.usage(o, q)
	w.kind(o, q)
	w.limits(o, q)
	return o
}

func (w *queueWriter) share(o *tree.Object, q *queue.Info) {
	own, d := q.Capacity, &q.Capacity.Default
	path, name := w.names(q)
	o.Add("queuePath", path).
		Add("capacity", percent(d.Capacity)).
		Add("usedCapacity", percent(d.UsedCapacity)).
		Add("maxCapacity", maximum(d.MaxCapacity)).
		Add("absoluteCapacity", clamped(d.AbsoluteCapacity)).
		Add("absoluteMaxCapacity", clamped(d.AbsoluteMax)).
		Add("absoluteUsedCapacity", clamped(d.AbsoluteUsed)).
		Add("weight", d.Weight).
		Add("normalizedWeight", d.NormalizedWeight).
		Add("numApplications", w.applications[q.Path]).
		Add("maxParallelApps", own.MaxParallelApps).
		Add("queueName", name).
		Add("isAbsoluteResource", own.Mode == "absolute").
		Add("state", q.State.String())
}

// names are the path and the name of a queue.
//
// compat: the name of a plan's default queue begins with the path of the plan.
func (w *queueWriter) names(q *queue.Info) (path, name string) {
	if plan, ok := w.all.ByPath(q.Parent); ok && plan.Capacity.Plan && q.Name == queue.PlanDefault(plan.Name) {
		name = queue.PlanDefault(plan.Path)
		return plan.Path + "." + name, name
	}
	return q.Path, q.Name
}

func (w *queueWriter) usage(o *tree.Object, q *queue.Info) {
	d := &q.Default
	labels := make(tree.List, 0, len(q.Labels))
	for _, l := range slices.Sorted(slices.Values(q.Labels)) {
		labels = append(labels, l)
	}
	o.Add("resourcesUsed", w.resource(d.Used)).
		Add("hideReservationQueues", q.Capacity.HidesQueues).
		Add("nodeLabels", labels).
		Add("allocatedContainers", d.AllocatedContainers).
		Add("reservedContainers", d.ReservedContainers).
		Add("pendingContainers", d.PendingContainers).
		Add("capacities", w.capacities(q)).
		Add("resources", w.partitions(q)).
		Add("minEffectiveCapacity", w.resource(d.EffectiveMin)).
		Add("maxEffectiveCapacity", w.resource(d.EffectiveMax)).
		Add("maximumAllocation", w.resource(q.MaxAllocation)).
		Add("queueAcls", w.acls(q)).
		Add("queuePriority", q.Capacity.Priority).
		Add("orderingPolicyInfo", q.Capacity.OrderingPolicy).
		Add("autoCreateChildQueueEnabled", q.Capacity.CreatesLegacyLeaves).
		Add("leafQueueTemplate", properties("leaf-queue-template.", cmp.Or(q.Capacity.Templates, &queue.Templates{}).LegacyLeaves))
}

// properties are settings of a template.
func properties(prefix string, of []queue.Property) *tree.Object {
	var items tree.List
	for _, p := range of {
		items = append(items, tree.New().Add("name", prefix+p.Name).Add("value", p.Value))
	}
	return tree.New().AddIf(len(items) > 0, "property", items)
}

// byHash is settings in the order of a Java HashMap.
func byHash(of []queue.Property) []queue.Property {
	names, out := make([]string, len(of)), make([]queue.Property, len(of))
	for i := range of {
		names[i] = of[i].Name
	}
	for to, from := range hashOrder(names) {
		out[to] = of[from]
	}
	return out
}

// managed tells whether the queue is below a managed parent, which has no others than those that it created.
func (w *queueWriter) managed(q *queue.Info) bool {
	parent, ok := w.all.ByPath(q.Parent)
	return ok && parent.Capacity.CreatesLegacyLeaves
}

// kind adds how the queue was created and which queues can be created below it.
func (w *queueWriter) kind(o *tree.Object, q *queue.Info) {
	kind, creation, creates := "parent", "static", "off"
	if q.Leaf {
		kind = "leaf"
	}
	switch {
	case w.managed(q):
		creation = "dynamicLegacy"
	case q.Dynamic:
		creation = "dynamicFlexible"
	}
	switch {
	case q.Capacity.CreatesLegacyLeaves:
		creates = "legacy"
	case q.Capacity.CreatesQueues:
		creates = "flexible"
	}
	t := cmp.Or(q.Capacity.Templates, &queue.Templates{})
	o.Add("mode", q.Capacity.Mode).
		Add("queueType", kind).
		Add("creationMethod", creation).
		Add("autoCreationEligibility", creates).
		AddIf(q.DefaultLabel != "", "defaultNodeLabelExpression", q.DefaultLabel).
		Add("autoQueueTemplateProperties", properties("", byHash(t.Created))).
		Add("autoQueueParentTemplateProperties", properties("", byHash(t.Parents))).
		Add("autoQueueLeafTemplateProperties", properties("", byHash(t.Leaves)))
}

func (w *queueWriter) limits(o *tree.Object, q *queue.Info) {
	own, d := q.Capacity, &q.Capacity.Default
	containers := q.Default.AllocatedContainers
	for _, p := range q.Partitions {
		containers += p.AllocatedContainers
	}
	o.Add("numActiveApplications", q.ActiveApps).
		Add("numPendingApplications", q.PendingApps).
		Add("numContainers", containers).
		Add("maxApplications", own.MaxApps).
		Add("maxApplicationsPerUser", own.MaxAppsPerUser).
		Add("userLimit", own.UserLimitPercent).
		Add("users", w.users(own)).
		Add("userLimitFactor", own.UserLimitFactor).
		Add("configuredMaxAMResourceLimit", own.ConfiguredMaxAM).
		Add("AMResourceLimit", w.resource(d.AMLimit)).
		Add("usedAMResource", w.resource(d.AMUsed)).
		Add("userAMResourceLimit", w.resource(userAMLimit(own, d.AMLimit))).
		Add("preemptionDisabled", own.PreemptionDisabled).
		Add("intraQueuePreemptionDisabled", own.IntraQueuePreemptionDisabled).
		Add("defaultPriority", q.DefaultPriority).
		Add("isAutoCreatedLeafQueue", w.managed(q)).
		Add("maxApplicationLifetime", q.MaxLifetime).
		Add("defaultApplicationLifetime", q.DefaultLifetime)
}

// userAMLimit is what one user's masters may use. It is the same for all users of a
// queue; if there are no users it is none.
func userAMLimit(c *queue.Capacity, none yarn.Resource) yarn.Resource {
	if len(c.Users) == 0 {
		return none
	}
	return c.Users[0].AMLimit
}

func (w *queueWriter) users(c *queue.Capacity) *tree.Object {
	list := make(tree.List, 0, len(c.Users))
	for i := range c.Users {
		u := &c.Users[i]
		used := u.Used
		for _, p := range u.Partitions {
			used = used.Add(p.Used) // compat: of all partitions, but AMResourceUsed is of the default one
		}
		list = append(list, tree.New().
			Add("username", u.Name).
			Add("resourcesUsed", w.resource(used)).
			Add("numPendingApplications", u.PendingApps).
			Add("numActiveApplications", u.ActiveApps).
			Add("AMResourceUsed", w.resource(u.AMUsed)).
			Add("userResourceLimit", w.resource(u.Limit)).
			Add("resources", w.userPartitions(u)).
			Add("userWeight", u.Weight).
			Add("isActive", u.Active))
	}
	return tree.New().Add("user", list)
}

func (w *queueWriter) userPartitions(u *queue.UserUsage) *tree.Object {
	types := w.cluster.ResourceTypes
	rows := tree.List{partition{used: u.Used, amUsed: u.AMUsed, amLimit: u.AMLimit}.object(types, true)}
	for _, label := range sortedKeys(u.Partitions) {
		p := u.Partitions[label]
		rows = append(rows, partition{label: label, used: p.Used, amUsed: p.AMUsed, amLimit: p.AMLimit}.object(types, true))
	}
	return tree.New().Add("resourceUsagesByPartition", rows)
}

// eachShare visits the default partition and then the others by name.
func eachShare(q *queue.Info, visit func(label string, s *queue.Share, c *queue.CapacityShare)) {
	for _, label := range append([]string{""}, sortedKeys(q.Partitions)...) {
		if s, c := q.In(label), q.Capacity.In(label); label == "" || c.Known {
			visit(label, &s, &c)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (w *queueWriter) partitions(q *queue.Info) *tree.Object {
	var rows tree.List
	eachShare(q, func(label string, s *queue.Share, c *queue.CapacityShare) {
		p := partition{label: label, used: s.Used, reserved: s.ReservedUsage, pending: s.Pending, amUsed: c.AMUsed, amLimit: c.AMLimit}
		if label == "" {
			p.user = userAMLimit(q.Capacity, yarn.Resource{})
		}
		rows = append(rows, p.object(w.cluster.ResourceTypes, q.Leaf))
	})
	return tree.New().Add("resourceUsagesByPartition", rows)
}

func (w *queueWriter) capacities(q *queue.Info) *tree.Object {
	var rows tree.List
	eachShare(q, func(label string, s *queue.Share, c *queue.CapacityShare) {
		masters := c.MaxAMShare
		if !q.Leaf {
			masters = 0 // applications run in leaves alone
		}
		rows = append(rows, tree.New().
			Add("partitionName", label).
			Add("queueCapacityVectorInfo", w.vector(&c.Vector)).
			Add("capacity", percent(c.Capacity)).
			Add("usedCapacity", percent(c.UsedCapacity)).
			Add("maxCapacity", maximum(c.MaxCapacity)).
			Add("absoluteCapacity", percent(c.AbsoluteCapacity)).
			Add("absoluteUsedCapacity", percent(c.AbsoluteUsed)).
			Add("absoluteMaxCapacity", percent(c.AbsoluteMax)).
			Add("maxAMLimitPercentage", percent(masters)).
			Add("weight", c.Weight).
			Add("normalizedWeight", c.NormalizedWeight).
			Add("configuredMinResource", w.configured(c.ConfiguredMin)).
			Add("configuredMaxResource", w.configured(c.ConfiguredMax)).
			Add("effectiveMinResource", w.resource(s.EffectiveMin)).
			Add("effectiveMaxResource", w.resource(s.EffectiveMax)))
	})
	return tree.New().Add("queueCapacitiesByPartition", rows)
}

// vector is the queue's configured capacity for each resource type: a percentage (%), a
// weight (w) or an amount.
func (w *queueWriter) vector(v *queue.Vector) *tree.Object {
	var entries tree.List
	var texts []string
	for _, i := range hashed(w.cluster.ResourceTypes) {
		if v.Unit[i] == queue.NoUnit {
			continue
		}
		name, value := w.cluster.ResourceTypes[i].Name, javaDouble(v.Value[i])+unitMark[v.Unit[i]]
		texts = append(texts, name+"="+value)
		entries = append(entries, tree.New().Add("resourceName", name).Add("resourceValue", value))
	}
	return tree.New().
		Add("configuredCapacityVector", "["+strings.Join(texts, ",")+"]").
		AddIf(len(entries) > 0, "capacityVectorEntries", entries)
}

var unitMark = [...]string{queue.NoUnit: "", queue.Absolute: "", queue.Percent: "%", queue.Weight: "w"}

// javaDouble prints as Java does: with a decimal at least, and with an exponent below 0.001 and from 10 million on.
func javaDouble(f float64) string {
	switch size := math.Abs(f); {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 0):
		return strings.TrimPrefix(strconv.FormatFloat(f, 'f', -1, 64), "+") + "inity"
	case size == 0 || size >= 1e-3 && size < 1e7:
		return decimal(strconv.FormatFloat(f, 'f', -1, 64))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'E', -1, 64), "E")
	n, _ := strconv.Atoi(exponent)
	return decimal(mantissa) + "E" + strconv.Itoa(n)
}

func decimal(s string) string {
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// health is about the last scheduling runs. They are not recorded, so it is as in a
// cluster in which nothing has happened.
func (w *queueWriter) health() *tree.Object {
	var operations, details tree.List
	for _, name := range []string{"last-allocation", "last-release", "last-preemption", "last-reservation"} {
		operations = append(operations, tree.New().
			Add("operation", name).Add("nodeId", "N/A").Add("containerId", "N/A").Add("queue", "N/A"))
	}
	for _, name := range []string{"releases", "allocations", "reservations"} {
		details = append(details, tree.New().
			Add("operation", name).Add("count", 0).Add("resources", w.resource(yarn.Resource{})))
	}
	return tree.New().
		Add("lastrun", w.now).
		Add("operationsInfo", operations).
		Add("lastRunDetails", details)
}
