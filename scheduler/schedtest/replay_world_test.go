package schedtest

import (
	"fmt"
	"math"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

type rapp struct {
	name     string
	user     string
	id       yarn.ApplicationID
	ref      scheduler.AppRef
	in       bool // in the scheduler
	state    string
	shown    string
	attempt  int32
	failures int
	am       yarn.Ask
	amPlaced scheduler.ContainerRef
	amBox    *box
	regd     bool
	done     bool // unregistered
	outbox   []*box
	finished []obj
	failing  bool
}

type box struct {
	name     string
	ref      scheduler.ContainerRef
	id       yarn.ContainerID
	app      *rapp
	node     string
	am       bool
	acquired bool
	live     bool
	seen     bool
	priority int32
}

type world struct {
	header obj
	s      *scheduler.Scheduler
	clock  int64
	cl     config.Cluster
	types  yarn.ResourceTypes
	groups map[string][]string
	apps   []*rapp
	byName map[string]*rapp
	boxes  []*box
	boxOf  map[string]*box
	byID   map[yarn.ContainerID]*box
	grants map[string]int
	nodes  map[string]scheduler.NodeRef
	newBox []*box
	gone   []*box
	labels bool
}

func str(v any) string {
	switch x := v.(type) {
	case nil:
		return ""
	case string:
		return x
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

func props(o any) []config.Property {
	m, _ := o.(map[string]any)
	var out []config.Property
	for k, v := range m {
		out = append(out, config.Property{Name: k, Value: str(v)})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

func newWorld(h obj) (*world, error) {
	site, _ := h["yarn-site"].(map[string]any)
	num := func(k string, d int64) int64 {
		if v, ok := site[k]; ok {
			n, _ := strconv.ParseInt(str(v), 10, 64)
			return n
		}
		return d
	}
	w := &world{header: h, byName: map[string]*rapp{}, boxOf: map[string]*box{}, byID: map[yarn.ContainerID]*box{},
		grants: map[string]int{}, nodes: map[string]scheduler.NodeRef{}, clock: 1_000_000, groups: map[string][]string{}}
	w.types = yarn.BasicResourceTypes()
	if rt, ok := h["resource-types"].(map[string]any); ok {
		for _, n := range strings.Split(str(rt["yarn.resource-types"]), ",") {
			if n = strings.TrimSpace(n); n != "" {
				w.types = append(w.types, yarn.ResourceType{Name: n})
			}
		}
	}
	w.cl = config.Cluster{Types: w.types,
		MinAllocation: yarn.NewResource(num("yarn.scheduler.minimum-allocation-mb", 1024), num("yarn.scheduler.minimum-allocation-vcores", 1)),
		MaxAllocation: yarn.NewResource(num("yarn.scheduler.maximum-allocation-mb", 8192), num("yarn.scheduler.maximum-allocation-vcores", 4)),
		MaxPriority:   int32(num("yarn.cluster.max-application-priority", 0)),
		Monitors:      str(site["yarn.resourcemanager.scheduler.monitor.enable"]) == "true",
		LabelsEnabled: str(site["yarn.node-labels.enabled"]) == "true",
	}
	for i := 2; i < len(w.types); i++ {
		w.cl.MaxAllocation[i] = math.MaxInt64
	}
	if nl, ok := h["node-labels"].(map[string]any); ok {
		w.labels = len(nl) > 0
		var names []string
		for n := range nl {
			names = append(names, n)
		}
		sort.Strings(names)
		for _, n := range names {
			w.cl.Labels = append(w.cl.Labels, config.Label{Name: n, Exclusive: nl[n] != false})
		}
	}
	if g, ok := h["groups"].(map[string]any); ok {
		for u, l := range g {
			for _, x := range l.([]any) {
				w.groups[u] = append(w.groups[u], str(x))
			}
		}
	}
	cfg, err := w.config(h)
	if err != nil {
		return nil, err
	}
	w.s, err = scheduler.New(cfg)
	return w, err
}

func (w *world) config(o obj) (*config.Config, error) {
	all := []config.Property(nil)
	all = append(props(w.header["yarn-site"]), props(o["capacity-scheduler"])...)
	cfg, _, err := config.Parse(all, w.cl)
	return cfg, err
}

func (w *world) now() yarn.Now { return yarn.Now{Wall: w.clock, Mono: 1_000_000} }

func (w *world) res(v any) yarn.Resource {
	var r yarn.Resource
	m, _ := v.(map[string]any)
	for k, x := range m {
		if i := w.types.Index(k); i >= 0 {
			r[i] = int64(x.(float64))
		}
	}
	return r
}

func (w *world) out(r yarn.Resource) obj {
	o := obj{}
	for i, t := range w.types {
		o[t.Name] = r[i]
	}
	return o
}

func strs(v any) []string {
	l, _ := v.([]any)
	var out []string
	for _, x := range l {
		out = append(out, str(x))
	}
	return out
}

func (w *world) apply(e obj) obj {
	w.clock++
	if a, ok := e["advance-ms"].(float64); ok {
		w.clock += int64(a)
	}
	w.s.Advance(w.now())
	w.newBox, w.gone = nil, nil
	saw := obj{}
	do := str(e["do"])
	switch do {
	case "node-add":
		id, _ := yarn.ParseNodeID(str(e["node"]))
		w.nodes[str(e["node"])] = w.s.AddNode(scheduler.Node{ID: id, Rack: str(e["rack"]), Label: str(e["label"]), Total: w.res(e["resource"])})
		saw["ok"] = true
	case "node-remove":
		w.removeNode(str(e["node"]))
	case "node-resource":
		w.s.SetNodeTotal(w.nodes[str(e["node"])], w.res(e["resource"]))
		saw["ok"] = true
	case "node-label":
		saw["ok"] = w.nodeLabel(str(e["node"]), str(e["label"]))
	case "beat":
		w.beat(e)
	case "submit":
		w.submit(e, saw)
	case "am-register":
		a := w.byName[str(e["app"])]
		ok := a != nil && a.in && a.amBox != nil && a.amBox.live && !a.regd
		saw["ok"] = ok
		if ok {
			a.regd = true
			a.state = "RUNNING"
		}
	case "am-finish":
		a := w.byName[str(e["app"])]
		ok := a != nil && a.regd && !a.done && a.state == "RUNNING"
		saw["ok"] = ok
		if ok {
			a.done = true
			a.state = "FINISHING"
		}
	case "app-kill":
		saw["ok"] = w.kill(w.byName[str(e["app"])])
	case "app-move":
		a := w.byName[str(e["app"])]
		ok := a != nil && a.in && (a.state == "ACCEPTED" || a.state == "RUNNING")
		if ok {
			ok = w.s.MoveApplication(a.ref, str(e["queue"])).OK()
		}
		saw["ok"] = ok
	case "app-priority":
		w.priority(e, saw)
	case "ask":
		w.ask(e, saw)
	case "refresh-queues":
		// The recorder's ResourceManager has no yarn-site.xml to read again: after
		// a refresh the maximum allocation is Apache's default.
		w.cl.MaxAllocation[0], w.cl.MaxAllocation[1] = 8192, 4
		cfg, err := w.config(e)
		if err == nil {
			err = w.s.Reconfigure(cfg)
		} else {
			w.s.Reapply()
		}
		if err != nil && os.Getenv("HEDDLE_VERBOSE") != "" {
			fmt.Println(e["n"], err)
		}
		saw["ok"] = err == nil
	case "queues":
		saw["queues"] = w.queues()
	case "queue-round":
		p := str(e["policy"])
		w.s.RunDynamicQueues(p == "" || p == "delete", w.now())
	default:
		panic("unknown event " + do)
	}
	w.settle()
	w.observe(saw, do == "beat")
	switch do {
	case "beat":
		u := w.s.NodeUsage(w.nodes[str(e["node"])])
		saw["reserved"] = nil
		if u.Reserved >= 0 {
			c := w.s.Container(u.Reserved)
			saw["reserved"] = obj{"app": w.appOf(c.App).name, "priority": c.Priority, "resource": w.out(c.Resource)}
		}
	case "submit":
		a := w.byName[str(e["app"])]
		if saw["state"] == nil {
			saw["state"] = a.state
		}
		saw["queue"] = nil
		if a.in {
			saw["queue"] = w.s.AppUsage(a.ref).Queue
		}
	}
	return saw
}

func (w *world) appOf(ref scheduler.AppRef) *rapp {
	for _, a := range w.apps {
		if a.in && a.ref == ref {
			return a
		}
	}
	panic("no app")
}

func (w *world) submit(e obj, saw obj) {
	a := &rapp{name: str(e["app"]), user: str(e["user"]), id: yarn.ApplicationID{ClusterTimestamp: 1_700_000_000_000, Sequence: int32(len(w.apps) + 1)}}
	w.apps = append(w.apps, a)
	w.byName[a.name] = a
	in := scheduler.Application{ID: a.id, User: a.user, Groups: w.groups[a.user], Queue: str(e["queue"]), Name: a.name, Tags: strs(e["tags"])}
	if p, ok := e["priority"].(float64); ok {
		in.Priority, in.PrioritySet = int32(p), true
	}
	refused := func() {
		saw["state"] = "REFUSED"
		a.state, a.shown = "", ""
	}
	path, why := w.s.Place(&in)
	if !why.OK() {
		refused()
		return
	}
	ask := yarn.Ask{Where: "*", Capability: w.res(e["am"]), Count: 1, RelaxLocality: true}
	if l, ok := e["am-label"].(string); ok {
		ask.Label, ask.LabelSet = l, true
	}
	asks := []yarn.Ask{ask}
	if why := w.s.NormalizeAM(path, asks, "", false); !why.OK() {
		refused()
		return
	}
	a.am = asks[0]
	prio, why := w.s.CheckPriority(&in, path)
	if !why.OK() {
		refused()
		return
	}
	in.Priority, in.PrioritySet = prio, true
	ref, why := w.s.AddApplication(in, path)
	if !why.OK() {
		a.state = "FAILED"
		a.shown = "FAILED"
		return
	}
	a.ref, a.in, a.state, a.shown = ref, true, "ACCEPTED", "ACCEPTED"
	w.startAttempt(a)
}

func (w *world) startAttempt(a *rapp) {
	a.attempt++
	a.regd, a.done, a.amBox, a.failing = false, false, nil, false
	a.outbox, a.finished = nil, nil
	w.s.AddAttempt(a.ref, scheduler.Attempt{ID: yarn.AttemptID{Application: a.id, Attempt: a.attempt}, AM: a.am.Capability, AMLabel: a.am.Label, StartWall: w.clock})
	w.s.Ask(a.ref, []yarn.Ask{a.am})
}

func (w *world) kill(a *rapp) bool {
	if a == nil || a.shown == "" {
		return false
	}
	if a.state == "FINISHED" || a.state == "FAILED" || a.state == "KILLED" {
		return true
	}
	w.endApp(a, "KILLED")
	return true
}

func (w *world) endApp(a *rapp, state string) {
	a.state = state
	if !a.in {
		return
	}
	w.ended(w.s.EndAttempt(a.ref, false), "killed-after-app")
	w.s.RemoveApplication(a.ref)
	a.in = false
}

// ended notes containers that the scheduler took away.
func (w *world) ended(list []scheduler.Ended, exit string) {
	for _, e := range list {
		if e.Container.Reserved {
			continue
		}
		b := w.byID[e.Container.ID]
		for _, n := range w.newBox {
			if n.id == e.Container.ID {
				b = n
			}
		}
		w.endBox(b, exit)
	}
}

func (w *world) endBox(b *box, exit string) {
	if b == nil || !b.live {
		return
	}
	b.live = false
	w.gone = append(w.gone, b)
	b.app.outbox = slices.DeleteFunc(b.app.outbox, func(o *box) bool { return o == b })
	if b.am {
		b.app.failing = true
		return
	}
	if b.name == "" {
		return
	}
	b.app.finished = append(b.app.finished, obj{"name": b.name, "exit": exit})
}

func (w *world) removeNode(name string) {
	ref := w.nodes[name]
	delete(w.nodes, name)
	u := w.s.NodeUsage(ref)
	for _, c := range u.Containers {
		box := w.s.Container(c)
		if b := w.byID[box.ID]; box.Live && b != nil && !b.acquired {
			w.s.RestoreAsk(c)
		}
	}
	w.ended(w.s.RemoveNode(ref), "aborted")
}

func (w *world) nodeLabel(node, label string) bool {
	if label != "" {
		ok := false
		for _, l := range w.cl.Labels {
			ok = ok || l.Name == label
		}
		if !ok {
			return false
		}
	}
	w.s.SetNodeLabel(w.nodes[node], label)
	return true
}

func (w *world) beat(e obj) {
	name := str(e["node"])
	ref := w.nodes[name]
	done := map[string]bool{}
	for _, n := range strs(e["completed"]) {
		done[n] = true
	}
	var finished []*box
	for _, b := range w.boxes {
		if b.live && b.acquired && b.node == name {
			if done[b.name] {
				finished = append(finished, b)
			} else {
				w.s.Launched(b.ref)
			}
		}
	}
	for _, b := range finished {
		w.s.Launched(b.ref)
		w.s.Vacate(b.ref)
		w.endBox(b, "success")
	}
	for _, c := range w.s.NodeUsage(ref).Containers {
		if box := w.s.Container(c); !box.Live {
			w.s.Vacate(c)
		}
	}
	for _, d := range w.s.Offer(ref, w.now(), nil) {
		if d.Kind != cluster.Allocated && d.Kind != cluster.AllocatedFromReserved {
			continue
		}
		c := w.s.Container(d.Container)
		if !c.Update.IsZero() {
			continue
		}
		a := w.appOf(c.App)
		b := &box{ref: d.Container, id: c.ID, app: a, node: name, am: c.AM, live: true, acquired: c.AM, priority: c.Priority}
		w.newBox = append(w.newBox, b)
		if c.AM {
			a.amBox = b
		} else {
			a.outbox = append(a.outbox, b)
		}
	}
}

// settle runs what the event set off.
func (w *world) settle() {
	for _, a := range w.apps {
		if !a.failing {
			continue
		}
		a.failing = false
		if !a.in {
			continue
		}
		if a.done {
			w.endApp(a, "FINISHED")
			continue
		}
		w.ended(w.s.EndAttempt(a.ref, false), "killed-after-app")
		lost := a.amBox != nil && w.nodes[a.amBox.node] == 0 && !w.has(a.amBox.node)
		if !lost {
			a.failures++
		}
		if a.failures >= 2 {
			a.state = "FAILED"
			w.s.RemoveApplication(a.ref)
			a.in = false
			continue
		}
		a.state = "ACCEPTED"
		w.startAttempt(a)
	}
}

func (w *world) has(node string) bool { _, ok := w.nodes[node]; return ok }

func (w *world) name() {
	slices.SortFunc(w.newBox, func(a, b *box) int { return a.id.Compare(b.id) })
	for _, b := range w.newBox {
		if b.name != "" || !b.live {
			continue
		}
		k := b.app.name + "/am"
		if !b.am {
			var size []string
			for i := range w.types {
				size = append(size, strconv.FormatInt(w.s.Container(b.ref).Resource[i], 10))
			}
			k = fmt.Sprintf("%s/%s/p%d/%s", b.app.name, b.node, b.priority, strings.Join(size, "x"))
		}
		w.grants[k]++
		b.name = k
		if !b.am || w.grants[k] > 1 {
			b.name = fmt.Sprintf("%s#%d", k, w.grants[k])
		}
		w.boxes = append(w.boxes, b)
		w.boxOf[b.name] = b
		w.byID[b.id] = b
	}
}

func (w *world) observe(saw obj, always bool) {
	w.name()
	allocated, finished := []string{}, []string{}
	for _, b := range w.newBox {
		if b.live {
			allocated = append(allocated, b.name)
			b.seen = true
		}
	}
	for _, b := range w.gone {
		if b.seen {
			finished = append(finished, b.name)
		}
	}
	sort.Strings(allocated)
	sort.Strings(finished)
	if always || len(allocated) > 0 {
		saw["allocated"] = allocated
	}
	if always || len(finished) > 0 {
		saw["finished"] = finished
	}
	states := obj{}
	for _, a := range w.apps {
		if a.shown != "" && a.state != a.shown {
			states[a.name] = a.state
			a.shown = a.state
		}
	}
	if len(states) > 0 {
		saw["apps"] = states
	}
}

func (w *world) priority(e, saw obj) {
	a := w.byName[str(e["app"])]
	p, _ := e["priority"].(float64)
	if a == nil || !a.in || a.state != "ACCEPTED" && a.state != "RUNNING" {
		saw["ok"] = a != nil && a.shown != "" && (a.state == "FINISHED" || a.state == "FAILED" || a.state == "KILLED")
		return
	}
	got, why := w.s.SetPriority(a.ref, int32(p))
	saw["ok"] = why.OK()
	if why.OK() {
		saw["priority"] = got
	}
}

var errorNames = map[yarn.Code]string{
	fit.LabelsDisabled: "InvalidLabelResourceRequestException", fit.LabelUnknown: "InvalidLabelResourceRequestException",
	fit.LabelNotAllowed: "InvalidLabelResourceRequestException", fit.LabelOnPlace: "InvalidLabelResourceRequestException",
	fit.LabelExpression: "InvalidLabelResourceRequestException",
}

func (w *world) ask(e, saw obj) {
	a := w.byName[str(e["app"])]
	if a == nil || !a.regd || !a.in {
		saw["error"] = "ApplicationAttemptNotFoundException"
		return
	}
	if a.done {
		saw["error"] = "InvalidApplicationMasterRequestException"
		return
	}
	var asks []yarn.Ask
	l, _ := e["asks"].([]any)
	for _, x := range l {
		m := x.(map[string]any)
		ask := yarn.Ask{Priority: 1, Count: 1, Where: "*", RelaxLocality: m["relax"] != false, Capability: w.res(m["resource"])}
		if p, ok := m["priority"].(float64); ok {
			ask.Priority = int32(p)
		}
		if c, ok := m["count"].(float64); ok {
			ask.Count = int32(c)
		}
		if s, ok := m["where"].(string); ok {
			ask.Where = s
		}
		if s, ok := m["label"].(string); ok {
			ask.Label, ask.LabelSet = s, true
		}
		ask.AllocationRequestID = -1
		if s, ok := m["alloc-id"].(float64); ok {
			ask.AllocationRequestID = int64(s)
		}
		asks = append(asks, ask)
	}
	if why := w.s.Normalize(a.ref, asks); !why.OK() {
		saw["error"] = "InvalidResourceRequestException"
		if n, ok := errorNames[why.Code]; ok {
			saw["error"] = n
		}
		return
	}
	released := strs(e["release"])
	updated, errors := []obj{}, []obj{}
	var ups []yarn.ContainerUpdate
	ul, _ := e["updates"].([]any)
	for _, x := range ul {
		m := x.(map[string]any)
		b := w.boxOf[str(m["container"])]
		u := yarn.ContainerUpdate{Container: b.id, Capability: w.res(m["resource"])}
		if b.live {
			u.Version = w.s.Container(b.ref).Version
		}
		u.Type = map[string]yarn.UpdateType{"INCREASE_RESOURCE": yarn.IncreaseResource, "DECREASE_RESOURCE": yarn.DecreaseResource,
			"PROMOTE_EXECUTION_TYPE": yarn.PromoteExecutionType, "DEMOTE_EXECUTION_TYPE": yarn.DemoteExecutionType}[str(m["type"])]
		if str(m["exec"]) == "OPPORTUNISTIC" {
			u.ExecutionType = yarn.Opportunistic
		}
		ups = append(ups, u)
	}
	for _, ue := range w.s.Update(a.ref, ups) {
		errors = append(errors, obj{"name": w.byID[ue.Update.Container].name, "reason": ue.Reason})
	}
	for _, n := range released {
		b := w.boxOf[n]
		if b.live {
			w.s.Finish(b.ref, cluster.ReleasedByAM)
			w.endBox(b, "aborted")
		}
	}
	w.s.Ask(a.ref, asks)
	w.s.Blacklist(a.ref, strs(e["blacklist-add"]), strs(e["blacklist-remove"]))
	granted, completed := []string{}, []obj{}
	calls := 1
	if len(released)+len(ups) > 0 {
		calls = 2
	}
	var head yarn.Resource
	for range calls {
		for _, b := range a.outbox {
			b.acquired = true
			granted = append(granted, b.name)
		}
		a.outbox = nil
		for _, c := range w.s.Updated(a.ref, nil) {
			box := w.s.Container(c.Container)
			kind := [...]string{"INCREASE_RESOURCE", "DECREASE_RESOURCE", "PROMOTE_EXECUTION_TYPE", "DEMOTE_EXECUTION_TYPE"}[c.Type]
			updated = append(updated, obj{"name": w.byID[box.ID].name, "type": kind, "resource": w.out(c.After), "exec": box.Execution.String()})
		}
		completed = append(completed, a.finished...)
		a.finished = nil
		head = w.s.Headroom(a.ref)
		w.s.AllocateDone(a.ref)
	}
	sort.Strings(granted)
	less := func(l []obj) func(i, j int) bool {
		return func(i, j int) bool { return l[i]["name"].(string) < l[j]["name"].(string) }
	}
	sort.Slice(completed, less(completed))
	sort.Slice(updated, less(updated))
	sort.Slice(errors, less(errors))
	saw["granted"], saw["completed"], saw["headroom"], saw["preempt"] = granted, completed, w.out(head), nil
	if len(updated) > 0 {
		saw["updated"] = updated
	}
	if len(errors) > 0 {
		saw["update-errors"] = errors
	}
}

func num(f float32) any {
	switch {
	case f != f:
		return "NaN"
	case math.IsInf(float64(f), 1):
		return "Infinity"
	case math.IsInf(float64(f), -1):
		return "-Infinity"
	}
	return float64(f)
}

func (w *world) share(sh queue.Share) obj {
	return obj{"used": w.out(sh.Used), "pending": w.out(sh.Pending), "reserved": w.out(sh.Reserved),
		"effective-min": w.out(sh.EffectiveMin), "effective-max": w.out(sh.EffectiveMax),
		"capacity": num(sh.Capacity), "max-capacity": num(sh.MaxCapacity), "absolute-capacity": num(sh.AbsoluteCapacity),
		"absolute-max": num(sh.AbsoluteMax), "used-capacity": num(sh.UsedCapacity), "absolute-used": num(sh.AbsoluteUsed), "weight": num(sh.Weight)}
}

func (w *world) queues() obj {
	out := obj{}
	for _, q := range w.s.Queues().Queues {
		o := w.share(q.Default)
		o["state"], o["dynamic"], o["priority"] = q.State.String(), q.Dynamic, q.Priority
		if q.Leaf {
			o["apps-active"], o["apps-pending"] = q.ActiveApps, q.PendingApps
			o["am-used"], o["am-limit"] = w.out(q.Default.AMUsed), w.out(q.Default.AMLimit)
			users := obj{}
			for _, u := range q.Users {
				users[u.Name] = obj{"used": w.out(u.Used), "am-used": w.out(u.AMUsed), "apps-active": u.ActiveApps, "apps-pending": u.PendingApps, "limit": w.out(u.Limit)}
			}
			o["users"] = users
		}
		if w.labels {
			parts := obj{}
			for _, l := range w.cl.Labels {
				if sh, ok := q.Partitions[l.Name]; ok {
					parts[l.Name] = w.share(sh)
				} else {
					parts[l.Name] = w.share(queue.Share{Weight: -1})
				}
			}
			o["partitions"] = parts
		}
		out[q.Path] = o
	}
	return out
}
