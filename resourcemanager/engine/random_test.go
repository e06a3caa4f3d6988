package engine

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// TestRandom plays nodes, masters, users, a launcher and a store that answers
// late, all at random, and checks everything after every command. At the end all
// applications are killed and all nodes cleaned up, and nothing may be left.
func TestRandom(t *testing.T) {
	configs := []*config.Config{queues(t), queues(t,
		config.Property{Name: "root.default.maximum-capacity", Value: "60"},
		config.Property{Name: "root.other.maximum-am-resource-percent", Value: "0.3"}), queues(t, greedy[:len(greedy)-1]...), queues(t, greedy...)}
	rapid.Check(t, func(t *rapid.T) {
		set := settings()
		set.MaxCompleted = 3
		set.Sweeps = rapid.Bool().Draw(t, "sweeps")
		set.Correct = rapid.Bool().Draw(t, "correct")
		set.Labels = rapid.Bool().Draw(t, "labels")
		set.Slice = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "slice")
		set.UntrackedTimeout = rapid.SampledFrom([]int64{1, 3000, 30_000}).Draw(t, "untracked")
		set.RemovedStates = rapid.SampledFrom([][]yarn.NodeState{nil, nil, {yarn.NodeLost, yarn.NodeShutdown}}).Draw(t, "removed")
		set.LabelsByNodes = rapid.Bool().Draw(t, "named by nodes")
		set.AutoUpdate = rapid.Bool().Draw(t, "auto-update")
		if rapid.Bool().Draw(t, "opportunistic") {
			set.Opportunistic = opportunistic.Settings{Enabled: true, Nodes: rapid.Int32Range(1, 3).Draw(t, "nodes used"), PerCall: rapid.Int32Range(0, 3).Draw(t, "per call"),
				Interval: rapid.SampledFrom([]int64{1, 1000}).Draw(t, "interval"), Deviations: 1, Lowest: 1, Highest: 15,
				Comparator: rapid.SampledFrom([]opportunistic.Comparator{opportunistic.QueueLength, opportunistic.QueueWaitTime, opportunistic.QueueLengthThenResources}).Draw(t, "comparator")}
		}
		w := &world{t: t, rig: newRig(t, set, greedy[:rapid.SampledFrom([]int{0, len(greedy) - 1, len(greedy)}).Draw(t, "greedy")]...), configs: configs, submitted: map[Ticket]yarn.ApplicationID{}, ending: map[Ticket]yarn.ApplicationID{}, types: map[yarn.ContainerID]yarn.ExecutionType{}}
		w.hold, w.set = true, set
		w.gangs.often = rapid.SampledFrom([]int{0, 2}).Draw(t, "gangs")
		if rapid.Bool().Draw(t, "warm") {
			w.warmUp()
		}
		for range rapid.IntRange(20, 200).Draw(t, "steps") {
			w.step()
		}
		w.goHome()
	})
}

// world is everything around the engine.
type world struct {
	*rig
	t       *rapid.T
	configs []*config.Config
	nodes   []*randomNode
	apps    int32
	masters []*randomMaster
	launch  []Launch
	set     Settings
	gangs   gangPlay
	types   map[yarn.ContainerID]yarn.ExecutionType // as their nodes have them

	submitted map[Ticket]yarn.ApplicationID
	ending    map[Ticket]yarn.ApplicationID // kills and last words of masters
}

// randomNode is a NodeManager with what runs there.
type randomNode struct {
	id       yarn.NodeID
	total    yarn.Resource
	up       bool // registered, as far as it knows
	response int32
	running  []yarn.ContainerID // in no map, for the order
	done     map[yarn.ContainerID]int32
}

// randomMaster is one attempt's master.
type randomMaster struct {
	id         yarn.AttemptID
	registered bool
	response   int32
	lost       bool // the last answer never arrived
	last       *AllocateReply
	held       map[yarn.ContainerID]bool // fetched and not known to have ended
	heard      map[yarn.ContainerID]bool // known to have ended
}

func (w *world) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

func (w *world) chance(of int, what string) bool { return w.draw(of, what) == 0 }

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf(format, args...)
}

// send applies a command, follows its effects and looks at everything.
func (w *world) send(c Command) *Reply {
	w.do(c)
	return w.after()
}

func (w *world) after() *Reply {
	var answer *Reply
	for _, x := range w.fx.Replies {
		if x.Ticket == w.ticket {
			answer = &x
		}
		if s, ok := w.submitted[x.Ticket]; ok && x.Err == nil {
			if _, stored := w.stored[state.Application{ID: s}.Key()]; !stored && !w.discarded(s) {
				w.fatal("the submission of %s succeeded and is not stored", s)
			}
		}
		if id, ok := w.ending[x.Ticket]; ok && x.Err == nil && endSaid(x.Value) {
			if rec, known := w.stored[state.Application{ID: id}.Key()].(state.Application); known && rec.Final == yarn.AppNew {
				w.fatal("the end of %s is said to be stored, which it is not", id)
			}
		}
	}
	w.launch = append(w.launch, w.fx.Launches...)
	for _, s := range w.fx.Stops {
		w.stop(s.Node, s.Container, 143)
	}
	if bad := w.check(); bad != "" {
		w.fatal("%s", bad)
	}
	return answer
}

// endSaid tells whether an answer says that an application's end is stored.
func endSaid(value any) bool {
	switch v := value.(type) {
	case KillReply:
		return v.Completed
	case FinishReply:
		return v.Unregistered
	}
	return false
}

// discarded tells whether the application was known and has been forgotten.
func (w *world) discarded(id yarn.ApplicationID) bool { return w.e.apps[id] == nil }

func (w *world) step() {
	actions := []func(){w.beat, w.beat, w.beat, w.beat, w.allocate, w.allocate, w.allocate, w.confirmSome, w.confirmSome,
		w.submit, w.launcher, w.launcher, w.startContainers, w.registerMaster, w.registerMaster, w.register, w.finish, w.user, w.time, w.admin, w.monitor, w.monitor}
	actions[w.draw(len(actions), "action")]()
}

func (w *world) confirmSome() {
	for range min(len(w.pending), 1+w.draw(4, "confirmed")) {
		w.fx.Reset()
		var err error
		switch w.e.saves.entries()[0].what {
		case savedNewApp, savedNewAttempt, savedChange: // others are no larger than what was stored before
			if w.chance(12, "poison") {
				err = errPoison
			}
		}
		w.confirm(err)
		w.after()
	}
}

func (w *world) register() {
	var n *randomNode
	if len(w.nodes) < 4 && (len(w.nodes) == 0 || w.chance(3, "new")) {
		n = &randomNode{id: yarn.NodeID{Host: fmt.Sprintf("h%d", len(w.nodes)/2+1), Port: int32(1 + len(w.nodes)%2)}, done: map[yarn.ContainerID]int32{}}
		w.nodes = append(w.nodes, n)
	} else {
		n = w.nodes[w.draw(len(w.nodes), "node")]
	}
	w.registerNode(n)
}

func (w *world) registerNode(n *randomNode) {
	n.total = yarn.NewResource(int64(1024*(1+w.draw(8, "memory"))), int64(1+w.draw(8, "vcores")))
	if w.chance(3, "restarted") {
		n.running, n.done = nil, map[yarn.ContainerID]int32{}
	}
	c := RegisterNode{Ticket: w.next(), Node: n.id, HTTPPort: 8042, Rack: "/r", Total: n.total, Labels: w.named(), Untracked: w.chance(3, "untracked"), Health: Health{Healthy: !w.chance(8, "ill")}}
	apps := map[yarn.ApplicationID]bool{}
	for _, s := range w.statuses(n) {
		c.Containers = append(c.Containers, RecoveredContainer{ContainerStatus: s})
		apps[s.ID.Attempt.Application] = true
	}
	c.Applications = slices.SortedFunc(maps.Keys(apps), yarn.ApplicationID.Compare)
	known := w.e.nodes[n.id]
	goes := known != nil && known.drain != nil && len(c.Containers)+len(c.Applications) == 0
	if r, ordered := w.e.orderOf(n.id); ordered && (known == nil || known.drain == nil) {
		goes = known != nil || len(c.Containers)+len(c.Applications) == 0 || r.Deadline > 0 && r.Deadline <= w.now.Wall
	}
	r := w.send(c)
	if goes {
		if r.Value.(RegisterNodeReply).Action != NodeShutdown {
			w.fatal("%s is to leave, and may join: %+v", n.id, r)
		}
		n.up = false
		return
	}
	for n := 0; r == nil && w.e.Working() && n < 10_000; n++ { // what ran there before ends first
		r = w.send(Tick{})
	}
	if r == nil || r.Err != nil || r.Value.(RegisterNodeReply).Action != NodeNormal {
		w.fatal("%s could not join: %+v", n.id, r)
	}
	if got := w.e.nodes[n.id].responseID; got != 0 {
		w.fatal("%s has joined and is expected to go on with heartbeat %d", n.id, got)
	}
	n.up, n.response = true, 0
}

func (w *world) statuses(n *randomNode) (out []ContainerStatus) {
	for _, id := range n.running {
		out = append(out, ContainerStatus{ID: id, Execution: w.types[id]})
	}
	for _, id := range slices.SortedFunc(maps.Keys(n.done), yarn.ContainerID.Compare) {
		out = append(out, ContainerStatus{ID: id, Complete: true, ExitStatus: n.done[id]})
	}
	return out
}

func (w *world) node(id yarn.NodeID) *randomNode {
	for _, n := range w.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// stop ends a container that runs on the node.
func (w *world) stop(id yarn.NodeID, c yarn.ContainerID, exit int32) {
	n := w.node(id)
	if i := slices.Index(n.running, c); i >= 0 {
		n.running = slices.Delete(n.running, i, i+1)
		n.done[c] = exit
	}
}

// beat is a heartbeat, sometimes repeated, with a wrong response id, or unhealthy.
func (w *world) beat() {
	if len(w.nodes) == 0 {
		return
	}
	w.beatOf(w.nodes[w.draw(len(w.nodes), "node")])
}

func (w *world) beatOf(n *randomNode) {
	if len(n.running) > 0 && w.chance(6, "container ends") {
		w.stop(n.id, n.running[w.draw(len(n.running), "container")], int32(w.draw(2, "exit")))
	}
	h := &Heartbeat{Ticket: w.next(), Node: n.id, ResponseID: n.response, Health: Health{Healthy: !w.chance(15, "ill")}, Labels: w.named(), Containers: w.statuses(n)}
	if w.set.Opportunistic.Enabled {
		h.Opportunistic = Opportunistic{Reported: !w.chance(6, "no queue"), Waiting: int32(w.draw(4, "waiting")), Capacity: int32(w.draw(5, "capacity")),
			WaitMillis: int32(w.draw(4, "wait")) - 1}
	}
	known := w.e.nodes[n.id]
	joined := known != nil && (known.state.Usable() || known.state == yarn.NodeUnhealthy)
	if w.chance(20, "confused") {
		h.ResponseID = int32(w.draw(5, "id"))
	}
	want := int32(-1)
	if joined {
		want = known.responseID
	}
	v := w.send(h).Value.(*HeartbeatReply)
	switch {
	case !joined:
		if v.Action == NodeNormal {
			w.fatal("%s, which has left, was answered as if it had not", n.id)
		}
		n.up = false
		w.registerNode(n)
	case nextResponse(h.ResponseID) == want:
		if !v.Duplicate {
			w.fatal("%s repeated heartbeat %d and got a new answer", n.id, h.ResponseID)
		}
	case h.ResponseID != want:
		if v.Action != NodeResync {
			w.fatal("%s sent heartbeat %d, %d was due, and the answer is %d", n.id, h.ResponseID, want, v.Action)
		}
		w.registerNode(n)
	case v.Action == NodeShutdown:
		if known.state != yarn.NodeDecommissioned {
			w.fatal("%s is %s, and it is told to go", n.id, known.state)
		}
		n.up = false
	case w.chance(10, "answer lost"):
		w.again(n, h)
	default:
		n.obey(w, v)
	}
}

// again: the answer was lost on its way; the node repeats and gets the same.
func (w *world) again(n *randomNode, first *Heartbeat) {
	r := *first
	r.Ticket = w.next()
	if v := w.send(&r).Value.(*HeartbeatReply); !v.Duplicate {
		w.fatal("%s repeated heartbeat %d and got a new answer", n.id, r.ResponseID)
	}
	n.response = nextResponse(n.response) // the edge sends what it kept
}

func (w *world) submit() {
	if w.apps >= 12 {
		return
	}
	w.apps++
	s := Submission{ID: appID(w.apps), User: []string{"ann", "bob"}[w.draw(2, "user")], Queue: []string{"default", "other", "root.other", "nowhere"}[w.draw(4, "queue")],
		Name: "x", Tags: w.gangTags(), Unmanaged: w.chance(8, "unmanaged"), KeepContainers: w.chance(3, "keep"), MaxAttempts: int32(w.draw(4, "attempts")),
		ValidityInterval: []int64{-1, 5000}[w.draw(2, "validity")], LifetimeSeconds: []int64{0, 0, 30}[w.draw(3, "lifetime")],
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}
	for range 1 + w.draw(2, "twice") {
		t := w.next()
		w.submitted[t] = s.ID
		w.send(Submit{Ticket: t, Application: s})
	}
}

// launcher reports on one launch: it succeeded, it failed, or no report comes.
func (w *world) launcher() {
	if len(w.launch) == 0 {
		return
	}
	l := w.launch[0]
	w.launch = w.launch[1:]
	switch w.draw(6, "launch") {
	case 0:
		w.send(LaunchFailed{Attempt: l.Attempt, Why: "no route to host"})
	case 1: // it hangs
	default:
		if n := w.node(l.Grant.Node); n.up {
			w.launched(l, n)
			if !w.chance(4, "news is late") {
				w.send(Launched{Attempt: l.Attempt})
			}
		}
	}
}

func (w *world) launched(l Launch, n *randomNode) {
	n.running = append(n.running, l.Grant.ID)
	w.masters = append(w.masters, &randomMaster{id: l.Attempt, held: map[yarn.ContainerID]bool{}, heard: map[yarn.ContainerID]bool{}})
}

func (w *world) master() *randomMaster {
	// Masters outside of the cluster come by themselves.
	for _, a := range w.e.order {
		if t := a.current(); a.sub.Unmanaged && t != nil && !slices.ContainsFunc(w.masters, func(m *randomMaster) bool { return m.id == t.id }) {
			w.masters = append(w.masters, &randomMaster{id: t.id, held: map[yarn.ContainerID]bool{}, heard: map[yarn.ContainerID]bool{}})
		}
	}
	if len(w.masters) == 0 {
		return nil
	}
	return w.masters[len(w.masters)-1-w.draw(min(len(w.masters), 6), "master")]
}

func (w *world) registerMaster() {
	if m := w.master(); m != nil {
		w.registers(m)
	}
}

func (w *world) registers(m *randomMaster) {
	again := m.registered
	r := w.send(RegisterMaster{Ticket: w.next(), Attempt: m.id, Host: "h", RPCPort: 1})
	if r.Err == nil && again && !w.e.apps[m.id.Application].sub.Unmanaged {
		w.fatal("%s registered twice", m.id)
	}
	if r.Err == nil {
		m.registered, m.response, m.lost = true, 0, false
		for _, g := range r.Value.(RegisterReply).Previous {
			m.held[g.ID] = true
		}
	}
}

// allocate is a master's heartbeat with anything in it.
func (w *world) allocate() {
	if m := w.master(); m != nil {
		w.allocateOf(m)
	}
}

func (w *world) allocateOf(m *randomMaster) {
	c := &Allocate{Attempt: m.id, ResponseID: m.response, Progress: float32(w.draw(4, "progress")) - 1}
	for range w.draw(3, "asks") {
		c.Asks = append(c.Asks, yarn.Ask{Priority: int32(1 + w.draw(2, "priority")), Where: yarn.AnyHost, RelaxLocality: true, AllocationRequestID: -1,
			Capability: yarn.NewResource([]int64{300, 1024, 4096, 99999}[w.draw(4, "size")], 1), Count: int32(w.gangs.least + w.draw(5, "count"))})
		if w.set.Opportunistic.Enabled && w.chance(2, "opportunistic") {
			a := &c.Asks[len(c.Asks)-1]
			a.ExecutionType, a.EnforceExecution = yarn.Opportunistic, true
			a.Where = []string{yarn.AnyHost, yarn.AnyHost, "h1", "/r"}[w.draw(4, "where")]
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.held), yarn.ContainerID.Compare) {
		if w.chance(6, "release") {
			c.Release = append(c.Release, id)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(m.held), yarn.ContainerID.Compare) {
		if b := w.e.byID[id]; b != nil && !b.state.Final() && w.chance(4, "update") {
			kind := []yarn.UpdateType{yarn.IncreaseResource, yarn.DecreaseResource, yarn.PromoteExecutionType, yarn.DemoteExecutionType}[w.draw(4, "kind")]
			to := yarn.Guaranteed
			if kind == yarn.DemoteExecutionType {
				to = yarn.Opportunistic
			}
			c.Updates = append(c.Updates, yarn.ContainerUpdate{Container: id, Type: kind, Version: w.sched.Container(b.ref).Version - int32(w.draw(12, "old")/11), ExecutionType: to,
				Capability: yarn.NewResource([]int64{256, 512, 1024, 2048}[w.draw(4, "to")], 1)})
		}
	}
	switch w.draw(12, "oddity") {
	case 0:
		c.BlacklistAdd = []string{"h1"}
	case 1:
		c.BlacklistRemove = []string{"h1"}
	case 2:
		c.BlacklistAdd = []string{"*"}
	case 3:
		if !m.lost { // or it might confirm what it has not heard
			c.ResponseID = int32(w.draw(4, "id")) - 1
		}
	}
	w.call(m, c)
}

// call makes an allocate call and checks the answer.
func (w *world) call(m *randomMaster, c *Allocate) {
	c.Ticket = w.next()
	t := w.e.findAttempt(m.id)
	want, pending := int32(math.MinInt32), ""
	if t != nil && !t.gone && t.registered {
		want, pending = t.responseID, w.outstanding(t)
	}
	r := w.send(c)
	switch {
	case want == math.MinInt32:
		if r.Err == nil || r.Err.Kind != NotRegistered && r.Err.Kind != UnknownAttempt {
			w.fatal("%s may not call and was answered %+v", m.id, r)
		}
	case nextResponse(c.ResponseID) == want:
		if r.Err != nil || !r.Value.(*AllocateReply).Duplicate {
			w.fatal("%s repeated call %d and was answered %+v", m.id, c.ResponseID, r)
		}
		if m.lost && c.ResponseID == m.response {
			w.hear(m, m.last)
		}
	case c.ResponseID != want:
		if r.Err == nil || r.Err.Kind != InvalidMaster {
			w.fatal("%s made call %d, %d was due, and was answered %+v", m.id, c.ResponseID, want, r)
		}
	case r.Err != nil:
		if now := w.outstanding(t); now != pending {
			w.fatal("%s was refused (%s) and yet something changed: %s, before %s", m.id, r.Err.Text, now, pending)
		}
	default:
		m.last = r.Value.(*AllocateReply)
		if m.lost = w.chance(8, "answer lost"); !m.lost {
			w.hear(m, m.last)
		}
	}
}

// outstanding is what a refused call must not change.
func (w *world) outstanding(t *attempt) string {
	u := w.sched.AppUsage(t.app.ref)
	return fmt.Sprint(u.Used, u.Pending, u.PendingCount, u.Live, t.responseID, len(t.said().grants), len(t.said().finished), len(t.said().told))
}

// hear: the answer arrived.
func (w *world) hear(m *randomMaster, v *AllocateReply) {
	m.response, m.lost = v.ResponseID, false
	w.hearGangs(m, v)
	for _, u := range v.Updated {
		if w.chance(2, "tells the node") {
			w.types[u.Grant.ID] = u.Grant.Execution
		}
	}
	for _, g := range v.Granted {
		if m.held[g.ID] || m.heard[g.ID] {
			w.fatal("%s was granted %s twice", m.id, g.ID)
		}
		w.types[g.ID] = g.Execution
		m.held[g.ID] = true
	}
	for _, c := range v.Completed {
		if !w.ended[c.ID] && w.ids[c.ID] { // see partEnded of those that are no container of their own
			w.fatal("%s hears that %s has ended, which it has not", m.id, c.ID)
		}
		m.heard[c.ID] = true
		delete(m.held, c.ID)
	}
}

// startContainers: a master starts something that it has been granted.
func (w *world) startContainers() {
	if m := w.master(); m != nil {
		w.starts(m)
	}
}

func (w *world) starts(m *randomMaster) {
	for _, id := range slices.SortedFunc(maps.Keys(m.held), yarn.ContainerID.Compare) {
		c := w.e.byID[id]
		if c == nil || w.chance(4, "later") {
			continue
		}
		n := w.node(c.node.id)
		if _, done := n.done[id]; !done && n.up && !slices.Contains(n.running, id) && !c.launched {
			n.running = append(n.running, id)
		}
	}
}

func (w *world) finish() {
	m := w.master()
	if m == nil {
		return
	}
	status := []yarn.FinalStatus{yarn.FinalSucceeded, yarn.FinalFailed, yarn.FinalUndefined}[w.draw(3, "status")]
	t := w.next()
	w.ending[t] = m.id.Application
	w.send(FinishMaster{Ticket: t, Attempt: m.id, FinalStatus: status})
}

func (w *world) user() {
	if w.apps == 0 {
		return
	}
	id := appID(1 + int32(w.draw(int(w.apps), "application")))
	t := w.next()
	switch w.draw(6, "wish") {
	case 0:
		w.ending[t] = id
		w.send(Kill{Ticket: t, Application: id, Diagnostics: "killed"})
	case 1:
		w.send(Move{Ticket: t, Application: id, Queue: []string{"default", "other", "root", "nowhere"}[w.draw(4, "queue")]})
	case 2:
		w.send(SetPriority{Ticket: t, Application: id, Priority: int32(w.draw(20, "priority"))})
	case 3:
		w.send(SetLifetime{Ticket: t, Application: id, ExpireAt: w.now.Wall + int64(w.draw(20_000, "lifetime"))})
	case 4:
		if a := w.e.apps[id]; a != nil && a.current() != nil {
			w.send(FailAttempt{Ticket: t, Attempt: a.current().id, Diagnostics: "failed"})
		} else {
			delete(w.asked, t)
		}
	default:
		w.send(NewApplication{Ticket: t})
	}
}

func (w *world) time() {
	ms := int64(w.draw(4000, "ms"))
	w.now.Wall, w.now.Mono = w.now.Wall+ms, w.now.Mono+ms
	if w.chance(6, "clock set") {
		w.now.Wall += int64(w.draw(200_000, "by")) - 100_000
	}
	w.send(Tick{})
	for n := 0; w.e.Working() || w.set.Slice > 0 && w.due(); n++ {
		if n > 10_000 {
			w.fatal("ticks bring nothing to an end")
		}
		if w.set.Slice > 0 && w.chance(4, "break off") {
			return
		}
		w.send(Tick{})
	}
	if at, ok := w.e.NextDue(); ok && at <= w.now.Mono {
		w.fatal("something was due at %d, it is %d, and a tick has passed", at, w.now.Mono)
	}
}

// due tells that a tick has something to do.
func (w *world) due() bool {
	at, ok := w.e.NextDue()
	return ok && at <= w.now.Mono
}

// named are the labels that a node names, which the others must not take notice
// of where administrators give them.
func (w *world) named() *[]string {
	if !w.e.set.LabelsByNodes || w.chance(2, "says nothing of labels") {
		return nil
	}
	list := []string{}
	for range w.draw(3, "labels named") {
		list = append(list, w.label().Name)
	}
	return &list
}

// label is one of few, so that they meet.
func (w *world) label() scheduler.Label {
	return scheduler.Label{Name: []string{"x", "y"}[w.draw(2, "label")], Exclusive: w.chance(3, "exclusive")}
}

// goHome: masters get the rest of their answers, everything is killed, stored and
// cleaned up, and then nothing may be left.
func (w *world) goHome() {
	w.settleStore()
	for _, m := range w.masters {
		w.hearAll(m)
	}
	for id := int32(1); id <= w.apps; id++ {
		w.send(Kill{Ticket: w.next(), Application: appID(id), Diagnostics: "the end"})
	}
	w.settleStore()
	for range 4 {
		w.now.Mono += w.e.set.MasterExpiry
		for _, n := range w.nodes { // those that beat do not expire
			if r := w.send(&Heartbeat{Ticket: w.next(), Node: n.id, ResponseID: n.response, Health: Health{Healthy: true}, Containers: w.statuses(n)}); r != nil {
				if v := r.Value.(*HeartbeatReply); v.Action == NodeNormal && !v.Duplicate {
					n.obey(w, v)
				}
			}
		}
		w.send(Tick{})
		w.settleStore()
	}
	for _, n := range w.nodes {
		if len(n.running) > 0 && n.up && w.e.nodes[n.id] != nil && w.e.nodes[n.id].state == yarn.NodeRunning {
			w.fatal("%s still runs %v", n.id, n.running)
		}
	}
	if g := &w.e.gangs; len(g.line) > 0 || g.turn != nil {
		w.fatal("%d gangs stand in line, and one tries: %t", len(g.line), g.turn != nil)
	}
	if len(w.e.byID) > 0 {
		w.fatal("containers are left: %v", slices.Collect(maps.Keys(w.e.byID)))
	}
	for _, a := range w.e.apps {
		if !a.state.Final() {
			w.fatal("%s is still %s", a.sub.ID, a.state)
		}
	}
	for t := range w.asked {
		if !w.answered[t] {
			w.fatal("ticket %d was never answered", t)
		}
	}
	if len(w.e.apps) > w.e.set.MaxCompleted {
		w.fatal("%d ended applications are remembered, %d may be", len(w.e.apps), w.e.set.MaxCompleted)
	}
}

func (w *world) settleStore() {
	for len(w.pending) > 0 || w.e.Working() || w.set.Slice > 0 && w.due() {
		if len(w.pending) == 0 {
			w.send(Tick{})
			continue
		}
		w.fx.Reset()
		w.confirm(nil)
		w.after()
	}
}

// hearAll: a master that goes on calling is told of every end, at least once.
func (w *world) hearAll(m *randomMaster) {
	t := w.e.findAttempt(m.id)
	if t == nil || t.ending() || !t.registered {
		return
	}
	if m.lost { // the answer is repeated
		w.hear(m, m.last)
	}
	m.response = t.responseID
	r := w.send(&Allocate{Ticket: w.next(), Attempt: m.id, ResponseID: m.response})
	if r.Err != nil {
		w.fatal("%s cannot call: %s", m.id, r.Err.Text)
	}
	w.hear(m, r.Value.(*AllocateReply))
	for id := range m.held {
		if w.ended[id] {
			w.fatal("%s never hears of the end of %s", m.id, id)
		}
	}
}
