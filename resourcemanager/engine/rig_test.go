package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

const clusterTimestamp = 1000

// fataler is a test, also one of rapid's.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

// rig is an engine with the real scheduler. The test has the clock and the store; the
// rig remembers what was acknowledged.
type rig struct {
	e       *Engine
	sched   *scheduler.Scheduler
	now     yarn.Now
	fx      Effects
	hold    bool // saves wait for confirm
	pending []Save
	ticket  Ticket

	stored   map[state.Key]state.Record
	ids      map[yarn.ContainerID]bool // every container there ever was
	saves    uint64
	answered map[Ticket]bool
	asked    map[Ticket]bool
	ended    map[yarn.ContainerID]bool
	versions map[yarn.ContainerID]int32
	reader   reader
	gathers  map[*gang]int64 // since when those have something that are not complete
}

func settings() Settings {
	return Settings{ClusterTimestamp: clusterTimestamp, NodeExpiry: 10_000, MasterExpiry: 20_000, AllocationExpiry: 5_000,
		MaxAttempts: 2, GlobalMaxAttempts: 3, MaxCompleted: 100, NodeMinimum: yarn.NewResource(256, 1), ResourceTypes: yarn.BasicResourceTypes()}
}

// queues are two leaves, each of which may take the whole cluster.
func queues(t fataler, more ...config.Property) *config.Config {
	t.Helper()
	if len(more) == 1 && more[0].Name == fairFile {
		return fairQueues(t, more[0].Value)
	}
	p := []config.Property{
		{Name: "root.queues", Value: "default,other"},
		{Name: "root.default.capacity", Value: "50"}, {Name: "root.default.maximum-capacity", Value: "100"}, {Name: "root.default.user-limit-factor", Value: "4"},
		{Name: "root.other.capacity", Value: "50"}, {Name: "root.other.maximum-capacity", Value: "100"}, {Name: "root.other.user-limit-factor", Value: "4"},
		{Name: "maximum-am-resource-percent", Value: "1"}, {Name: "schedule-asynchronously.enable", Value: "false"},
		{Name: "per-node-heartbeat.maximum-offswitch-assignments", Value: "10"},
	}
	p = append(p, more...)
	for i := range p {
		if !strings.HasPrefix(p[i].Name, config.PreemptionPrefix) {
			p[i].Name = config.Prefix + p[i].Name
		}
	}
	cfg, _, err := config.Parse(p, config.Cluster{LabelsEnabled: true, MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8), MaxPriority: 10,
		Monitors: true, Opportunistic: true})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// fairFile is the name of a property that has the allocation file of a FairScheduler, and stands alone.
const fairFile = "allocation-file"

// fairQueues is the configuration of a FairScheduler with that in its allocation file.
func fairQueues(t fataler, file string) *config.Config {
	t.Helper()
	cfg, _, err := config.Parse(nil, config.Cluster{Policy: config.FairPolicy, Opportunistic: true, MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8),
		Allocations: &config.AllocationFile{Name: "fair-scheduler.xml", Text: "<allocations>" + file + "</allocations>"}})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func newRig(t fataler, set Settings, more ...config.Property) *rig {
	t.Helper()
	return rigOf(t, set, queues(t, more...))
}

// rigOf is a rig with that configuration.
func rigOf(t fataler, set Settings, cfg *config.Config) *rig {
	t.Helper()
	sched, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	e := New(set, sched)
	e.nextApp, e.plans.last = 1_000_000, 1_000_000 // tests choose their own numbers
	return &rig{e: e, sched: sched, now: yarn.Now{Wall: 1_000_000, Mono: 500},
		stored: map[state.Key]state.Record{}, ids: map[yarn.ContainerID]bool{}, ended: map[yarn.ContainerID]bool{}, versions: map[yarn.ContainerID]int32{},
		answered: map[Ticket]bool{}, asked: map[Ticket]bool{}, reader: reader{apps: map[yarn.ApplicationID]*view.Application{}, live: map[yarn.ApplicationID]*view.AppContainers{}, nodes: map[yarn.NodeID]*view.Node{}}}
}

// restart is a restart: a new engine that recovers what is stored.
func (r *rig) restart(t fataler, set Settings, subs map[yarn.ApplicationID]Submission, more ...config.Property) *rig {
	next := newRig(t, set, more...)
	next.now, next.ticket, next.stored = r.now, r.ticket, r.stored
	cmd := Recover{}
	for _, id := range slices.SortedFunc(maps.Keys(subs), yarn.ApplicationID.Compare) {
		record, found := r.stored[state.Application{ID: id}.Key()].(state.Application)
		if !found {
			continue
		}
		sub := subs[id]
		a := RecoveredApplication{Submission: &sub, Record: &record}
		for n := int32(1); ; n++ {
			x, found := r.stored[state.Attempt{ID: yarn.AttemptID{Application: id, Attempt: n}}.Key()].(state.Attempt)
			if !found {
				break
			}
			a.Attempts = append(a.Attempts, x)
		}
		cmd.Applications = append(cmd.Applications, a)
	}
	for _, k := range slices.SortedFunc(maps.Keys(r.stored), func(a, b state.Key) int { return strings.Compare(a.Name, b.Name) }) {
		if x, ok := r.stored[k].(state.Reservation); ok {
			cmd.Reservations = append(cmd.Reservations, x)
		}
		if d, ok := r.stored[k].(state.NodeDeadline); ok {
			cmd.Drains = append(cmd.Drains, d)
		}
	}
	cmd.Labels, _ = r.stored[state.Labels{}.Key()].(state.Labels)
	next.do(cmd)
	return next
}

// do applies a command; unless saves are held back, they are confirmed at once.
// fx holds all consequences.
func (r *rig) do(c Command) {
	r.fx.Reset()
	r.apply(c)
	for !r.hold && len(r.pending) > 0 {
		r.confirm(nil)
	}
}

func (r *rig) apply(c Command) {
	n := len(r.fx.Saves)
	check := r.watchDrains(c)
	r.e.Apply(r.now, c, &r.fx)
	check()
	r.pending = append(r.pending, r.fx.Saves[n:]...)
	for _, s := range r.fx.Saves[n:] {
		r.saves++
		if s.Seq != r.saves {
			panic(fmt.Sprintf("save %d follows %d", s.Seq, r.saves-1))
		}
	}
}

// confirm tells the engine the outcome of the oldest save.
func (r *rig) confirm(err error) {
	s := r.pending[0]
	r.pending = r.pending[1:]
	switch {
	case err != nil:
	case s.Op.Kind == state.OpPut:
		r.stored[s.Op.Record.Key()] = s.Op.Record
	default:
		delete(r.stored, s.Op.Record.Key())
	}
	r.apply(Stored{Seq: s.Seq, Err: err})
}

var errPoison = errors.New("the record is too large")

func (r *rig) next() Ticket {
	r.ticket++
	r.asked[r.ticket] = true
	return r.ticket
}

// reply is the answer to the ticket among the last consequences.
func (r *rig) reply(t Ticket) (Reply, bool) {
	for _, x := range r.fx.Replies {
		if x.Ticket == t {
			return x, true
		}
	}
	return Reply{}, false
}

// reader keeps what readers see.
type reader struct {
	apps    map[yarn.ApplicationID]*view.Application
	live    map[yarn.ApplicationID]*view.AppContainers
	nodes   map[yarn.NodeID]*view.Node
	metrics view.Metrics
	labels  *view.Labels
}

func (p *reader) Application(v *view.Application)  { p.apps[v.ID] = v }
func (p *reader) Containers(v *view.AppContainers) { p.live[v.Application] = v }
func (p *reader) Node(v *view.Node)                { p.nodes[v.ID] = v }
func (p *reader) ForgetNode(id yarn.NodeID)        { delete(p.nodes, id) }
func (p *reader) Labels(v *view.Labels)            { p.labels = v }
func (p *reader) Counts(m view.Metrics)            { p.metrics = m }
func (p *reader) Queues(*queue.Snapshot)           {}

func (p *reader) ForgetApplication(id yarn.ApplicationID) {
	delete(p.apps, id)
	delete(p.live, id)
}

// check is the first of the invariants that does not hold; empty if all do.
func (r *rig) check() string {
	if s := r.sched.Check(); s != "" {
		return "the scheduler's books: " + s
	}
	for _, f := range []func() string{r.checkEffects, r.checkBooks, r.checkOpportunistic, r.checkNodes, r.checkLives, r.checkEnds, r.checkDurable, r.checkCounts, r.checkInactive, r.checkLabels, r.checkGangs} {
		if s := f(); s != "" {
			return s
		}
	}
	return ""
}

// checkEffects: identifiers are never used twice, nothing ends twice, nothing
// begins on a node that takes nothing, every call is answered once.
func (r *rig) checkEffects() string {
	for _, c := range r.fx.Containers {
		if !c.Born {
			if r.ended[c.Container] || !r.ids[c.Container] {
				return fmt.Sprintf("%s ended twice, or never began", c.Container)
			}
			r.ended[c.Container] = true
			continue
		}
		if r.ids[c.Container] {
			return fmt.Sprintf("container id %s was issued twice", c.Container)
		}
		r.ids[c.Container] = true
		if n := r.e.nodes[c.Node]; (n == nil || n.state != yarn.NodeRunning && (n.drain == nil || !r.adopted(c))) && !r.endedNow(c.Container) {
			return fmt.Sprintf("%s began on %s, which is not running", c.Container, c.Node)
		}
	}
	for _, x := range r.fx.Replies {
		if !r.asked[x.Ticket] || r.answered[x.Ticket] {
			return fmt.Sprintf("ticket %d was answered twice, or never given", x.Ticket)
		}
		r.answered[x.Ticket] = true
		if x.Err != nil && x.Err.Text == "" {
			return fmt.Sprintf("ticket %d was refused without a word", x.Ticket)
		}
	}
	r.fx.Containers, r.fx.Replies = nil, nil
	return ""
}

func (r *rig) endedNow(id yarn.ContainerID) bool {
	return slices.ContainsFunc(r.fx.Containers, func(c ContainerEvent) bool { return c.Container == id && !c.Born })
}

// checkBooks: the engine's containers are the scheduler's, one for one.
func (r *rig) checkBooks() string {
	live := map[*application]int32{}
	total := 0
	for ref, c := range r.e.containers {
		if c == nil {
			continue
		}
		total++
		book := r.sched.Container(scheduler.ContainerRef(ref))
		switch {
		case int(c.ref) != ref || r.e.byID[c.id] != c:
			return fmt.Sprintf("%s is filed wrongly", c.id)
		case book.ID != c.id || r.e.nodeByRef[book.Node] != c.node:
			return fmt.Sprintf("%s on %s is %s in the scheduler's books", c.id, c.node.id, book.ID)
		case c.state.Final() == r.live(c):
			return fmt.Sprintf("%s is %s, and live in the scheduler's books: %t", c.id, c.state, r.live(c))
		case c.state == yarn.ContainerAcquired && !c.lease.held:
			return fmt.Sprintf("%s was handed out and nobody waits for its start", c.id)
		case !c.state.Final() && (c.confirmed != nil) != (c.state == yarn.ContainerRunning && c.lease.held):
			return fmt.Sprintf("%s is %s, its size has to be confirmed: %t, somebody waits for that: %t", c.id, c.state, c.confirmed != nil, c.lease.held)
		case c.confirmed != nil && (*c.confirmed == book.Resource || !c.confirmed.FitsIn(book.Resource)):
			return fmt.Sprintf("%s has %s, and %s is confirmed", c.id, book.Resource, *c.confirmed)
		case c.state.Final() && !c.launched:
			return fmt.Sprintf("%s has ended, was never launched, and still has its room", c.id)
		}
		if !c.state.Final() {
			live[c.app]++
		}
	}
	if total != len(r.e.byID) {
		return fmt.Sprintf("%d containers by index, %d by id", total, len(r.e.byID))
	}
	for _, a := range r.e.apps {
		if a.ref == scheduler.NoApp {
			continue
		}
		var known int32
		for _, ref := range r.sched.Containers(a.ref, nil) {
			if c := r.sched.Container(ref); !c.Reserved && c.Update.IsZero() {
				known++
			}
		}
		if known != live[a] {
			return fmt.Sprintf("%s has %d containers, the scheduler knows of %d", a.sub.ID, live[a], known)
		}
	}
	return ""
}

// checkOpportunistic: opportunistic containers are counted apart, and none is charged to an application; versions never go back.
func (r *rig) checkOpportunistic() string {
	lent, charged := int64(0), map[*application]yarn.Resource{}
	held := map[*node]int32{}
	for _, c := range r.e.byID {
		book := r.sched.Container(c.ref)
		if was := r.versions[c.id]; book.Version < was {
			return fmt.Sprintf("%s had version %d, and has %d", c.id, was, book.Version)
		}
		r.versions[c.id] = book.Version
		if book.Execution == yarn.Opportunistic {
			held[c.node]++
		}
		switch {
		case c.state.Final():
		case book.Execution == yarn.Opportunistic:
			lent++
		default:
			charged[c.app] = charged[c.app].Add(book.Resource)
		}
	}
	if n := r.e.lent.Allocated - r.e.lent.Released; n != lent {
		return fmt.Sprintf("there are %d opportunistic containers, %d are counted", lent, n)
	}
	if l := r.e.lent; l.NodeLocal+l.RackLocal+l.OffSwitch > l.Allocated {
		return fmt.Sprintf("more containers were placed than allocated: %+v", l)
	}
	for _, n := range r.e.nodes {
		if n.ref == scheduler.NoNode {
			if n.load != nil {
				return fmt.Sprintf("%s is not in use, and opportunistic containers may come to it", n.id)
			}
			continue
		}
		if count, _ := r.sched.OpportunisticOn(n.ref); count != held[n] {
			return fmt.Sprintf("%s has %d opportunistic containers, %d in the scheduler's books", n.id, held[n], count)
		}
	}
	for _, a := range r.e.apps {
		if a.ref == scheduler.NoApp {
			continue
		}
		for _, ref := range r.sched.Containers(a.ref, nil) { // what enlarges or promotes one is charged, too, until it is part of that
			if c := r.sched.Container(ref); !c.Reserved && !c.Update.IsZero() {
				charged[a] = charged[a].Add(c.Resource)
			}
		}
		if used := r.sched.AppUsage(a.ref).Used; used != charged[a] {
			return fmt.Sprintf("%s is charged with %s, its guaranteed containers have %s", a.sub.ID, used, charged[a])
		}
	}
	return ""
}

// live tells whether the scheduler counts the container as living.
func (r *rig) live(c *container) bool {
	return c.app.ref != scheduler.NoApp && slices.Contains(r.sched.Containers(c.app.ref, nil), c.ref)
}

// adopted tells whether the container came with its node, after a restart.
func (r *rig) adopted(c ContainerEvent) bool {
	x := r.e.byID[c.Container]
	return x == nil || x.launched
}

// checkNodes: every node counts its own, and the cluster counts every node once.
func (r *rig) checkNodes() string {
	var total yarn.Resource
	for _, n := range r.e.nodes {
		held, launched := 0, 0
		var used yarn.Resource
		for _, c := range r.e.byID {
			if c.node != n {
				continue
			}
			held++
			if c.launched {
				launched++
			}
			if book := r.sched.Container(c.ref); book.Execution == yarn.Guaranteed {
				used = used.Add(book.Resource)
			}
		}
		if held != n.held || launched != n.launched {
			return fmt.Sprintf("%s holds %d containers, %d launched; it counts %d and %d", n.id, held, launched, n.held, n.launched)
		}
		if draining := n.state == yarn.NodeDecommissioning; draining != (n.drain != nil) {
			return fmt.Sprintf("%s is %s, and a drain of it goes on: %t", n.id, n.state, n.drain != nil)
		} else if n.state.Usable() != (n.ref != scheduler.NoNode) && !n.leaving && !draining { // one that was ill is not in use
			return fmt.Sprintf("%s is %s, the scheduler uses it: %t", n.id, n.state, n.ref != scheduler.NoNode)
		}
		if n.state.Usable() || n.state == yarn.NodeUnhealthy {
			if !n.lease.held {
				return fmt.Sprintf("%s is %s and nobody waits for its heartbeats", n.id, n.state)
			}
		}
		for app := range n.apps {
			if a := r.e.apps[app]; n.lease.held && (a == nil || a.state.Final()) && !slices.Contains(n.cleanApps, app) {
				return fmt.Sprintf("%s is not told that %s is over", n.id, app)
			}
		}
		if n.ref == scheduler.NoNode {
			continue
		}
		u := r.sched.NodeUsage(n.ref)
		for _, ref := range u.Containers {
			if c := r.sched.Container(ref); !c.Update.IsZero() && r.e.byID[c.ID] == nil {
				used = used.Add(c.Resource) // holds what another one will grow by
			}
		}
		total = total.Add(n.total)
		if u.Used != used || u.Total != n.total || u.Used.Add(u.Available) != u.Total {
			return fmt.Sprintf("%s: %s of %s is used, %s free; its containers take %s of %s", n.id, u.Used, u.Total, u.Available, used, n.total)
		}
		if n.drain != nil && (u.Reserved != scheduler.NoContainer || slices.ContainsFunc(r.fx.Containers, func(c ContainerEvent) bool { return c.Born && c.Node == n.id && !r.adopted(c) })) {
			return fmt.Sprintf("%s drains, and gets something new", n.id)
		}
		if _, ordered := r.e.orderOf(n.id); ordered && n.drain == nil && len(r.pending) == 0 && !r.e.Working() {
			return fmt.Sprintf("%s is ordered away and does not drain", n.id)
		}
		if u.Reserved != scheduler.NoContainer {
			if c := r.sched.Container(u.Reserved); !c.Reserved || r.e.byRef[c.App] == nil {
				return fmt.Sprintf("%s is held for nobody", n.id)
			}
		}
	}
	if r.sched.ClusterTotal() != total {
		return fmt.Sprintf("the cluster has %s, its nodes %s", r.sched.ClusterTotal(), total)
	}
	return ""
}

// waits tells whether a save of the application or attempt is on its way.
func (r *rig) waits(a *application, t *attempt, what ...savedWhat) bool {
	return slices.ContainsFunc(r.e.saves.entries(), func(s saved) bool {
		return slices.Contains(what, s.what) && (a != nil && s.app == a || t != nil && s.attempt == t)
	})
}

// checkLives: whatever has not ended waits for a save, a timer or a message.
func (r *rig) checkLives() string {
	for _, a := range r.e.apps {
		t := a.current()
		var fine bool
		switch a.state {
		case yarn.AppNewSaving:
			fine = r.waits(a, nil, savedNewApp)
		case yarn.AppAccepted, yarn.AppRunning:
			fine = t != nil && (!t.ending() || t.state == yarn.AttemptFinalSaving)
		case yarn.AppKilling:
			fine = t.state == yarn.AttemptFinalSaving
		case yarn.AppFinalSaving:
			fine = r.waits(a, nil, savedFinalApp) || r.waits(a, nil, savedNoApp)
		case yarn.AppFinishing:
			fine = t.state == yarn.AttemptFinalSaving || t.state == yarn.AttemptFinishing
		case yarn.AppFinished, yarn.AppFailed, yarn.AppKilled:
			fine = a.ref == scheduler.NoApp && (t == nil || t.gone)
		default:
			fine = false
		}
		if !fine && !(t != nil && r.dissolving(t)) {
			return fmt.Sprintf("%s is %s and nothing will ever happen to it", a.sub.ID, a.state)
		}
		for _, t := range a.attempts {
			if s := r.checkAttempt(t); s != "" {
				return s
			}
		}
	}
	return ""
}

// dissolving tells that the attempt's end goes on, by itself or when others' ends are stored.
func (r *rig) dissolving(t *attempt) bool {
	return t.dissolving && (r.e.Working() || t.with != nil && t.with.left > 0)
}

func (r *rig) checkAttempt(t *attempt) string {
	var fine bool
	switch t.state {
	case yarn.AttemptScheduled:
		fine = r.sched.AppUsage(t.app.ref).PendingCount > 0 && t == t.app.current()
	case yarn.AttemptAllocatedSaving, yarn.AttemptLaunchedUnmanagedSaving:
		fine = r.waits(nil, t, savedNewAttempt)
	case yarn.AttemptAllocated:
		fine = t.master != nil && !t.master.state.Final()
	case yarn.AttemptLaunched, yarn.AttemptRunning, yarn.AttemptFinishing:
		fine = t.said().lease.held
	case yarn.AttemptFinalSaving:
		fine = r.waits(nil, t, savedFinalAttempt)
	default:
		fine = r.dissolving(t) || t.state.Final() && t.gone && !t.said().lease.held && len(t.said().grants)+len(t.said().finished)+len(t.said().told) == 0
	}
	if !fine {
		return fmt.Sprintf("%s is %s and nothing will ever happen to it", t.id, t.state)
	}
	return ""
}

// checkEnds: what a master has not confirmed is what its nodes must keep.
func (r *rig) checkEnds() string {
	unheard := map[yarn.ContainerID]bool{}
	for _, a := range r.e.apps {
		for _, t := range a.attempts {
			for _, f := range append(slices.Clone(t.said().finished), t.said().told...) {
				unheard[f.ID] = true
			}
		}
	}
	if !maps.Equal(unheard, r.e.unheard) {
		return fmt.Sprintf("masters have yet to hear of %v; nodes keep %v", unheard, r.e.unheard)
	}
	for _, n := range r.e.nodes {
		for _, id := range n.remove {
			if unheard[id] {
				return fmt.Sprintf("%s may forget %s before its master has heard of the end", n.id, id)
			}
		}
		if len(n.cleanup) > 2*MaxCleanup || len(n.cleanApps) > 2*MaxCleanup {
			return fmt.Sprintf("%s: lists for the next answer grow without bound", n.id)
		}
	}
	return ""
}

// ofPlan is the path, or that of the plan above it: which of a plan's queues an application is in follows from its reservation.
func (r *rig) ofPlan(path string) string {
	for _, p := range r.e.plans.list {
		if strings.HasPrefix(path, p.path+".") {
			return p.path
		}
	}
	return path
}

// checkDurable: what readers and callers were told is stored.
func (r *rig) checkDurable() string {
	r.e.Publish(r.now, &r.reader)
	for id, v := range r.reader.apps {
		rec, known := r.stored[state.Application{ID: id}.Key()].(state.Application)
		if !known && v.PublicState != yarn.PublicNewSaving {
			return fmt.Sprintf("%s is seen as %s and is not stored", id, v.PublicState)
		}
		final := v.PublicState == yarn.PublicFinished || v.PublicState == yarn.PublicFailed || v.PublicState == yarn.PublicKilled
		if final && rec.Final == yarn.AppNew || !final && v.FinalStatus != yarn.FinalUndefined {
			return fmt.Sprintf("%s is seen as %s with status %s, stored as %s", id, v.PublicState, v.FinalStatus, rec.Final)
		}
		if final && v.FinalStatus != rec.FinalStatus {
			return fmt.Sprintf("%s is seen to have ended as %s, stored as %s", id, v.FinalStatus, rec.FinalStatus)
		}
		if a := r.e.apps[id]; final && a != nil && !r.changing(a) && v.Diagnostics != rec.Diagnostics {
			return fmt.Sprintf("%s is seen to have ended with %q, stored is %q", id, v.Diagnostics, rec.Diagnostics)
		}
		if a := r.e.apps[id]; a == nil || !final && known && !r.changing(a) && (r.ofPlan(rec.Queue) != r.ofPlan(a.queue) || rec.Priority != a.priority) {
			return fmt.Sprintf("%s is in %s with priority %d; stored is %s and %d", id, a.queue, a.priority, rec.Queue, rec.Priority)
		}
	}
	for id, v := range r.reader.nodes {
		_, known := r.stored[state.NodeDeadline{Node: id}.Key()]
		if _, host := r.stored[state.NodeDeadline{Node: hostID(id)}.Key()]; !known && !host && v.State == yarn.NodeDecommissioning && !r.takenBack(r.e.nodes[id]) {
			return fmt.Sprintf("%s is seen as %s, and that is not stored", id, v.State)
		}
	}
	if len(r.reader.apps) != len(r.e.apps) || len(r.reader.nodes) != len(r.e.nodes) {
		return fmt.Sprintf("readers see %d applications and %d nodes of %d and %d", len(r.reader.apps), len(r.reader.nodes), len(r.e.apps), len(r.e.nodes))
	}
	return ""
}

// takenBack tells whether the order is gone by which the node drains, so that a later slice takes it back.
func (r *rig) takenBack(n *node) bool {
	_, ordered := r.e.orderOf(n.id)
	return r.e.Working() && n.drain != nil && n.drain.ordered && !ordered
}

// changing tells whether a save of the application's record is on its way.
func (r *rig) changing(a *application) bool {
	return slices.ContainsFunc(r.pending, func(s Save) bool { return s.Op.Record.Key() == state.Application{ID: a.sub.ID}.Key() })
}

// checkCounts: the counters are what counting gives.
func (r *rig) checkCounts() string {
	var live, running, leaving int64 // of those that are in a queue
	for _, a := range r.e.apps {
		switch {
		case a.ref == scheduler.NoApp:
		case a.ending():
			leaving++
		default:
			if live++; a.granted {
				running++
			}
		}
	}
	if c := &r.e.counts; live != c.live || running != c.running {
		return fmt.Sprintf("%d live, %d running: kept are %+v", live, running, c)
	}
	root, _ := r.sched.Queue(queue.Root)
	if c := &root.Counts; c.Submitted != live+leaving+c.Completed+c.Failed+c.Killed {
		return fmt.Sprintf("%d live, %d leaving: the root counts %+v", live, leaving, c)
	}
	var nodes [yarn.NodeShutdown + 1]int
	for _, n := range r.e.nodes {
		nodes[n.state]++
	}
	if nodes != r.e.counts.nodes {
		return fmt.Sprintf("nodes by state: %v counted, %v kept", nodes, r.e.counts.nodes)
	}
	m := r.reader.metrics
	for _, x := range []int64{m.Pending, m.Running, m.Completed, m.Failed, m.Killed, m.ContainersAllocated, m.ContainersPending} {
		if x < 0 {
			return fmt.Sprintf("a counter is negative: %+v", m)
		}
	}
	return ""
}

// checkLabels: what readers know of labels is stored, and nodes have theirs.
func (r *rig) checkLabels() string {
	if !r.e.set.Labels {
		return ""
	}
	seen := r.reader.labels
	for _, n := range r.e.nodes {
		if r.e.Working() {
			break // nodes move in slices
		}
		if n.label != seen.Of(n.id) {
			return fmt.Sprintf("%s has label %q, it was given %q", n.id, n.label, seen.Of(n.id))
		}
		if n.ref != scheduler.NoNode && r.sched.NodeUsage(n.ref).Label != n.label {
			return fmt.Sprintf("%s has label %q, in the scheduler's books %q", n.id, n.label, r.sched.NodeUsage(n.ref).Label)
		}
		if _, ok := seen.Find(n.label); !ok && n.label != "" {
			return fmt.Sprintf("%s has label %q, which is not known", n.id, n.label)
		}
	}
	if r.e.labels.changed != nil || len(r.pending) > 0 {
		return ""
	}
	rec, _ := r.stored[state.Labels{}.Key()].(state.Labels)
	known := slices.EqualFunc(rec.Known, seen.Known, func(a state.NodeLabel, b view.Label) bool { return a.Name == b.Name && a.Exclusive == b.Exclusive })
	if r.e.set.LabelsByNodes {
		if !known || len(rec.Nodes) > 0 {
			return fmt.Sprintf("the labels are %v, stored are %v, of which nodes name their own", *seen, rec)
		}
		return ""
	}
	if !known || !slices.EqualFunc(rec.Nodes, seen.Nodes, func(a state.LabelledNode, b view.LabelledNode) bool { return a.Node == b.Node && a.Label == b.Label }) {
		return fmt.Sprintf("the labels are %v, stored are %v", *seen, rec)
	}
	return ""
}

// short names for what a scenario speaks of: a1, a1/2 and a1/2/3 are an
// application, its second attempt, and the third container of that.

func appID(n int32) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: clusterTimestamp, Sequence: n}
}

func shortApp(id yarn.ApplicationID) string { return fmt.Sprintf("a%d", id.Sequence) }

func shortAttempt(id yarn.AttemptID) string {
	return fmt.Sprintf("%s/%d", shortApp(id.Application), id.Attempt)
}

func shortContainer(id yarn.ContainerID) string {
	return fmt.Sprintf("%s/%d", shortAttempt(id.Attempt), id.Number)
}

func shortSize(r yarn.Resource) string { return fmt.Sprintf("%dx%d", r.MemoryMB(), r.VCoreCount()) }
