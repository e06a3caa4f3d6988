package engine

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// infoAge is how old the data on queues in views of applications may be, in
// milliseconds.
const infoAge = 1000

// queueInfo is a queue as it was at most infoAge ago, but never older than the last
// change of queues' capacities.
func (e *Engine) queueInfo(path string) (*queue.Info, bool) {
	if e.infos == nil || e.now.Mono-e.infosAt >= infoAge {
		e.infos, e.infosAt = map[string]*queue.Info{}, e.now.Mono
		e.drawn.texts = nil
	}
	if info := e.infos[path]; info != nil {
		return info, true
	}
	info, ok := e.sched.Queue(path)
	if !ok {
		return nil, false
	}
	e.infos[path] = &info
	return &info, true
}

// public is the state that clients see: while the end is being stored, the one before.
func (a *application) public() yarn.PublicState {
	s := a.state
	if s == yarn.AppFinalSaving || s == yarn.AppKilling {
		s = a.before
	}
	switch s {
	case yarn.AppNew:
		return yarn.PublicNew
	case yarn.AppNewSaving:
		return yarn.PublicNewSaving
	case yarn.AppSubmitted:
		return yarn.PublicSubmitted
	case yarn.AppAccepted:
		return yarn.PublicAccepted
	case yarn.AppRunning:
		return yarn.PublicRunning
	case yarn.AppFailed:
		return yarn.PublicFailed
	case yarn.AppKilled:
		return yarn.PublicKilled
	}
	return yarn.PublicFinished
}

func (e *Engine) appView(a *application) *view.Application {
	e.appsDrawn++
	v := &view.Application{
		ID: a.sub.ID, Version: e.appsDrawn, Name: a.sub.Name, Tags: a.sub.Tags,
		Queue: a.queue, Priority: a.priority, State: a.state, PublicState: a.public(), Unmanaged: a.sub.Unmanaged,
		CallerContext: a.sub.CallerContext, SubmitTime: a.submitTime, StartTime: a.submitTime, LaunchTime: a.launchTime,
	}
	v.Common = e.drawn.commonOf(&view.Common{
		User: a.sub.User, RealUser: a.sub.RealUser, Type: a.sub.Type, KeepContainers: a.sub.KeepContainers, MaxAttempts: a.maxAttempts(&e.set),
		Label: a.sub.Label, LabelSet: a.sub.LabelSet, AMLabel: a.sub.masterLabel(), LogAggregation: e.set.LogAggregation, LogPatience: e.set.LogPatience,
		ViewACL: a.sub.ViewACL, ModifyACL: a.sub.ModifyACL,
	})
	if a.expireAt > 0 {
		v.Timeouts = []view.Timeout{{Type: "LIFETIME", ExpireAt: a.expireAt}}
	}
	waits := "" // text about what the current attempt waits for
	if t := a.current(); t != nil && a.ref != scheduler.NoApp {
		waits = e.waitingFor(t)
		e.waits.mark(a.ref).drawn = gist(waits)
		v.Gang = t.state == yarn.AttemptRunning && waits != ""
		v.Opportunistic = t.exchange != nil && t.opportunistic.Wanted()
	}
	e.viewEnd(a, v, waits)
	e.viewLogs(a, v)
	e.viewUsage(a, v)
	for _, t := range a.attempts {
		v.Attempts = append(v.Attempts, e.attemptView(t, waits))
	}
	return v
}

// viewEnd fills in how the application ended, once that is stored; until then its
// progress, and what it waits for.
func (e *Engine) viewEnd(a *application, v *view.Application, waits string) {
	t := a.current()
	if a.state.Final() || a.state == yarn.AppFinishing {
		v.FinalStatus, v.Diagnostics, v.FinishTime = a.final, a.diagnostics, a.finishTime
		switch {
		case t == nil:
		case t.state == yarn.AttemptFailed:
			v.Progress = t.progress
		case t.state == yarn.AttemptKilled && t.before < yarn.AttemptLaunched && t.restored == nil:
			// it was killed before its master was launched
		default:
			v.Progress = 1 // compat: even of an application that was killed
		}
		return
	}
	if t == nil {
		return
	}
	v.Progress, v.Diagnostics = t.progress, waits
}

func (e *Engine) viewUsage(a *application, v *view.Application) {
	wanted, requests := e.drawn.next[:0], []yarn.Ask(nil)
	past := a.used()
	use := view.Usage{ResourceSeconds: past.seconds, PreemptedSeconds: past.preempted,
		Preempted: past.taken.sum, PreemptedAM: past.taken.masters, PreemptedNonAM: past.taken.others}
	if a.ref != scheduler.NoApp {
		u, got := e.sched.AppUsage(a.ref), e.sched.Admission(a.ref)
		use.Containers, use.ReservedContainers = int(u.Live), int(u.ReservedCount)
		use.Used, use.Reserved, use.Pending, use.AMUsed = u.Used, u.Reserved, u.Pending, got.AM
		use.ClusterPercent = 100 * e.share(u.Used, e.sched.ClusterTotal())
		if e.set.Fair {
			use.QueuePercent = 100 * e.share(u.Used, got.Share)
		} else if info, ok := e.queueInfo(u.Queue); ok {
			use.QueuePercent = 100 * e.share(u.Used, info.Default.EffectiveMin)
		}
		if u.Live > 0 {
			has := e.sched.LiveUse(a.ref, e.now.Wall)
			use.LiveAmount, use.LiveSeconds, use.LiveAt = has.Amount, has.Seconds, e.now.Wall
		}
		v.UsedByLabel = u.UsedByLabel
		if u.PendingCount > 0 {
			wanted = e.sched.Wanted(a.ref, view.MaxWanted, wanted)
		}
		if t := a.current(); t != nil && t.state == yarn.AttemptScheduled {
			requests = a.sub.AMAsks
		}
	}
	v.Asks, v.Usage, e.drawn.next = e.drawn.asksOf(wanted, requests), shared(&e.drawn.usage, &use), wanted
}

// share is part divided by whole, by memory alone or, if all resources count, by the
// dominant shares of each; 0 if whole is nothing.
func (e *Engine) share(part, whole yarn.Resource) float32 {
	over, under := float32(part.MemoryMB()), float32(whole.MemoryMB())
	if e.set.Dominant {
		total := e.sched.ClusterTotal()
		over, under = largest(part, total), largest(whole, total)
	}
	if under <= 0 {
		return 0
	}
	return over / under
}

// largest is the dominant share of r in whole.
func largest(r, whole yarn.Resource) float32 {
	var most float32
	for i, total := range whole {
		if total > 0 {
			most = max(most, float32(r[i])/float32(total))
		}
	}
	return most
}

// Explain returns why the application waits, by what an offer of each of at most that
// many nodes would come to. It changes nothing. It returns nil for an application that
// the scheduler does not have.
func (e *Engine) Explain(id yarn.ApplicationID, nodes int) []yarn.Reason {
	a := e.apps[id]
	if a == nil || a.ref == scheduler.NoApp {
		return nil
	}
	var gangs []yarn.Reason
	if t := a.current(); t != nil && t.exchange != nil {
		gangs = e.gangReasons(t)
	}
	return append(gangs, e.sched.Explain(a.ref, nodes)...)
}

func (e *Engine) attemptView(t *attempt, waits string) *view.Attempt {
	v := &view.Attempt{
		ID: t.id, State: t.state, PublicState: t.state, StartTime: t.startTime,
	}
	if t.state == yarn.AttemptFinalSaving {
		v.PublicState = t.before
	} else if t.ending() {
		v.FinalStatus, v.Diagnostics, v.FinishTime = t.final, t.diagnostics, t.finishTime
	} else if t == t.app.current() {
		v.Diagnostics = waits
	}
	v.Master = t.masterView()
	return v
}

// containersView is the view of an application's live containers. It makes at most most views of containers that have none yet; if more are
// needed, v is nil and made is more than most.
func (e *Engine) containersView(a *application, most int) (v *view.AppContainers, made int) {
	v = &view.AppContainers{Application: a.sub.ID}
	t := a.current()
	if t == nil || t.gone || a.ref == scheduler.NoApp {
		return v, 0
	}
	refs := e.sched.Containers(a.ref, e.drawn.refs[:0])
	if e.drawn.refs = refs; cap(refs) > maxRefs {
		e.drawn.refs = nil
	}
	if made = e.drawContainers(refs, most); made > most {
		return nil, made
	}
	v.Attempt, v.List = t.id, make([]*view.Container, 0, len(refs))
	for _, ref := range refs {
		if c := e.containerAt(ref); c != nil && !c.state.Final() {
			v.List = append(v.List, c.seen)
		}
	}
	return v, made
}

// maxRefs bounds the buffer drawn.refs between calls.
const maxRefs = 4096

// drawContainers makes at most most views of those containers that have none yet. If more are needed, made is more than most.
func (e *Engine) drawContainers(refs []scheduler.ContainerRef, most int) (made int) {
	for _, ref := range refs {
		if c := e.containerAt(ref); c != nil && c.seen == nil && !c.state.Final() {
			if made++; made > most {
				return made
			}
			e.containerView(c)
		}
	}
	return made
}

// nowhere is the view of a master that has no container and has not registered.
var nowhere = &view.Master{Host: view.NotAvailable, RPCPort: -1}

func (t *attempt) masterView() *view.Master {
	if t.masterID.IsZero() && !t.registered && t.restored == nil {
		return nowhere
	}
	v := &view.Master{MasterContainer: t.masterID, Host: t.host, RPCPort: t.rpcPort, OriginalTrackingURL: t.trackingURL}
	if t.masterNode != nil {
		v.Node, v.NodeHTTPAddress = t.masterNode.id, t.masterNode.http
	} else if t.restored != nil {
		v.Node, v.NodeHTTPAddress = t.restored.MasterNode, t.restored.MasterHTTP
	}
	return v
}

// containerView is the container's view, which is kept until the container changes.
func (e *Engine) containerView(c *container) *view.Container {
	if c.seen != nil {
		return c.seen
	}
	g := e.grant(c)
	e.containersDrawn++
	c.seen = &view.Container{ID: c.id, Node: g.Node, NodeHTTPAddress: g.NodeHTTPAddress, Resource: g.Resource, Priority: g.Priority,
		AllocationRequestID: g.AllocationRequestID, ExecutionType: g.Execution, CreatedAt: c.created,
		User: g.User, Master: g.Master, Label: g.Label}
	return c.seen
}

// seenNode is the node's view, which is kept until the node changes.
func (e *Engine) seenNode(n *node) *view.Node {
	if n.seen == nil {
		n.seen = e.nodeView(n)
	}
	return n.seen
}

func (e *Engine) nodeView(n *node) *view.Node {
	v := &view.Node{
		ID: n.id, HTTPAddress: n.http, Rack: n.rack, State: n.state, Version: n.version, HealthReport: n.health.Report,
		LastHealth: n.health.At, LastHeartbeat: n.lastHeartbeat, Total: n.total, Physical: n.physical,
		ContainersUse: view.Utilization(n.containersUse), NodeUse: view.Utilization(n.nodeUse),
		Opportunistic: view.Opportunistic{Running: n.opportunistic.Running, Queued: n.opportunistic.Queued,
			MemoryMB: n.opportunistic.MemoryMB, VCores: n.opportunistic.VCores}, LostReason: n.lostReason, DrainTimeout: n.drainTimeout, CutShort: n.cutShort, Placeholder: n.placeholder,
	}
	if n.label != "" {
		v.Labels = []string{n.label}
	}
	v.Drain = e.drainView(n)
	if n.ref == scheduler.NoNode {
		return v
	}
	u := e.sched.NodeUsage(n.ref)
	v.Total, v.Used, v.Available = u.Total, u.Used, u.Available
	if u.Reserved != scheduler.NoContainer {
		v.Reserved = e.sched.Container(u.Reserved).Resource
	}
	e.nodesDrawn++
	lent := 0
	for _, ref := range u.Containers {
		c := e.containerAt(ref)
		if c == nil || c.state.Final() {
			continue
		}
		v.RunningOn = append(v.RunningOn, e.containerView(c))
		if e.sched.Container(ref).Execution == yarn.Opportunistic {
			lent++
		}
		if on := c.app.visited(); on.drawnFor != e.nodesDrawn {
			on.drawnFor = e.nodesDrawn
			v.Applications = append(v.Applications, c.app.sub.ID)
		}
	}
	v.Containers = len(v.RunningOn) - lent
	return v
}

// counts are kept up to date with each change. Queues count what was submitted and what has ended.
//
// compat: an application counts once its queue has accepted it. One that is rejected or killed before does not count, nor one that had
// ended before the restart.
type counts struct {
	grants        int64
	live, running int64 // applications that have not ended; those of them that have had a container
	nodes         [yarn.NodeShutdown + 1]int
}

// ending counts an application whose end is decided.
func (c *counts) ending(a *application) {
	if a.ref == scheduler.NoApp {
		return
	}
	c.live--
	if a.granted {
		c.running--
	}
}

// grant counts a container, and the application that got its first one.
func (c *counts) grant(a *application) {
	c.grants++
	if !a.granted && !a.ending() {
		c.running++
	}
	a.granted = true
}

func (e *Engine) metrics() view.Metrics {
	c := &e.counts
	m := view.Metrics{
		Pending: c.live - c.running, Running: c.running, GrantsTotal: c.grants, NodesByState: c.nodes,
	}
	root := e.sched.RootQueue()
	n := &root.Counts
	m.Submitted, m.Completed, m.Failed, m.Killed = n.Submitted, n.Completed, n.Failed, n.Killed
	m.Amounts = amounts(e.sched.ClusterTotal(), shares(&root))
	m.Default = amounts(e.sched.DefaultTotal(), []queue.Share{root.Default})
	if e.loads != nil {
		lent := e.lent
		m.Opportunistic = &lent
	}
	return m
}

// amounts adds up the shares of partitions; total is what those have together.
func amounts(total yarn.Resource, shares []queue.Share) view.Amounts {
	m := view.Amounts{Total: total}
	for _, share := range shares {
		m.Allocated = m.Allocated.Add(share.Used.Sub(share.Reserved))
		m.Reserved = m.Reserved.Add(share.Reserved)
		m.PendingResource = m.PendingResource.Add(share.Pending)
		m.ContainersAllocated += int64(share.AllocatedContainers)
		m.ContainersReserved += int64(share.ReservedContainers)
		m.ContainersPending += int64(share.PendingContainers)
	}
	m.Available = m.Total.Sub(m.Allocated).Sub(m.Reserved)
	return m
}

// shares are a queue's shares of all partitions.
func shares(q *queue.Info) []queue.Share {
	out := []queue.Share{q.Default}
	for _, s := range q.Partitions { //tidy:unordered they are only added up
		out = append(out, s)
	}
	return out
}
