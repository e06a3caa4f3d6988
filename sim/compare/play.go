package compare

import (
	"cmp"
	"container/heap"
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// How long the simulation goes on after the recorded end, in rounds of heartbeats.
const (
	mostRounds  = 3600
	quietRounds = 600 // in which nothing has happened and nothing is due
)

// Other times of the model, in milliseconds.
const (
	beatEvery  = 1000   // heartbeats after the recorded end
	tendEvery  = 10_000 // the FairScheduler's removal of empty queues
	soonAfter  = 50     // from a change of nodes until the FairScheduler computes shares
	mostSweeps = 100_000
)

// player simulates a workload under one configuration.
type player struct {
	work   *Workload
	cfg    *config.Config
	tended bool            // the site says how queues are tended
	begun  blackbox.Header // what the engine begins with
	sched  *scheduler.Scheduler
	eng    *engine.Engine
	now    int64 // since the first event
	next   int   // of work.Events
	heap   timers
	seq    int64
	own    int // timers of masters in the heap

	nodes   []*machine
	byNode  map[yarn.NodeID]*machine
	apps    []*client
	byID    map[yarn.ApplicationID]*client
	masters map[yarn.AttemptID]*master
	boxes   map[yarn.ContainerID]*box
	finite  int // containers that will end by themselves

	ticket  engine.Ticket
	answers map[engine.Ticket]func(any, *engine.Error)
	todo    []engine.Command   // that the last one has set off
	busy    bool               // a command is being applied
	box     *blackbox.Recorder // records the simulation; nil but in tests
	stir    int64              // when a container or an application last changed
}

// timer is something that is due.
type timer struct {
	at  int64
	seq int64
	own bool // of a master
	do  func()
}

type timers []timer

func (h timers) Len() int      { return len(h) }
func (h timers) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timers) Push(t any)   { *h = append(*h, t.(timer)) }
func (h *timers) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
func (h timers) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].at, h[j].at), cmp.Compare(h[i].seq, h[j].seq)) < 0
}

// Play simulates the workload under a configuration. An error is a configuration that the scheduler refuses.
func Play(w *Workload, side *Side) (*Outcome, error) {
	p, err := newPlayer(w, side)
	if err != nil {
		return nil, err
	}
	p.run()
	return p.outcome(side.Name), nil
}

func newPlayer(w *Workload, side *Side) (*player, error) {
	cfg, set, tended, err := side.configure(w)
	if err != nil {
		return nil, err
	}
	p := &player{work: w, cfg: cfg, tended: side.Site != nil, begun: blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)},
		byID: map[yarn.ApplicationID]*client{}, masters: map[yarn.AttemptID]*master{},
		byNode: map[yarn.NodeID]*machine{}, boxes: map[yarn.ContainerID]*box{}, answers: map[engine.Ticket]func(any, *engine.Error){}}
	if p.sched, err = scheduler.New(cfg); err != nil {
		return nil, err
	}
	p.eng = engine.New(set, p.sched)
	for _, id := range w.Nodes {
		n := &machine{id: id}
		p.nodes, p.byNode[id] = append(p.nodes, n), n
	}
	p.apps = make([]*client, len(w.Apps))
	p.repeat(tended.shareEvery, engine.TendQueues{})
	p.repeat(tended.deleteEvery, engine.TendQueues{Deleting: true})
	p.repeat(tended.preemptEvery, engine.MonitorQueues{})
	if cfg.Fair != nil && !w.Trace {
		p.repeat(cfg.Fair.UpdateInterval, engine.UpdateShares{Preempting: cfg.Fair.Preemption})
		p.repeat(tendEvery, engine.TendQueues{Deleting: true})
	}
	return p, nil
}

// run plays the recorded events, and then goes on until everything has ended or can never end.
func (p *player) run() {
	for p.next < len(p.work.Events) {
		e := &p.work.Events[p.next]
		if p.due(e.At) {
			continue
		}
		p.next++
		p.at(e.At)
		p.event(e)
	}
	p.now = max(p.now, p.work.Length)
	round := p.goOn()
	last := p.now + mostRounds*round
	for len(p.heap) > 0 && p.heap[0].at <= last {
		if p.own == 0 && p.finite == 0 && (p.settled() || p.heap[0].at > max(p.stir, p.work.Length)+quietRounds*round) {
			return
		}
		p.due(p.heap[0].at + 1)
	}
}

// due does the first thing that is due before a time, and tells whether there was one. Recorded events of the same time go first.
func (p *player) due(before int64) bool {
	if len(p.heap) == 0 || p.heap[0].at >= before {
		return false
	}
	t := heap.Pop(&p.heap).(timer)
	if t.own {
		p.own--
	}
	p.at(t.at)
	t.do()
	return true
}

// at moves the clock.
func (p *player) at(now int64) {
	for p.now < now {
		due, ok := p.eng.NextDue()
		due -= p.work.Start.Mono
		if !ok || due > now {
			break
		}
		p.now = max(p.now, due)
		p.apply(engine.Tick{})
		if again, ok := p.eng.NextDue(); ok && again-p.work.Start.Mono <= due {
			break
		}
	}
	p.now = max(p.now, now)
}

// later has something done at a time. own: it is a master's timer.
func (p *player) later(at int64, own bool, do func()) {
	if own {
		p.own++
	}
	p.seq++
	heap.Push(&p.heap, timer{max(at, p.now), p.seq, own, do})
}

// repeat applies a command every so many milliseconds; never if every is 0.
func (p *player) repeat(every int64, c engine.Command) {
	if every <= 0 {
		return
	}
	var again func()
	again = func() {
		p.apply(c)
		p.later(p.now+every, false, again)
	}
	p.later(0, false, again)
}

// soon has the FairScheduler compute shares because nodes have come or gone.
func (p *player) soon() {
	if c := p.cfg.Fair; c != nil && !p.work.Trace && c.UpdateInterval > soonAfter {
		p.later(p.now+soonAfter, false, func() { p.apply(engine.UpdateShares{Preempting: c.Preemption}) })
	}
}

// goOn has the nodes call after the recorded end, and returns the time of one round.
func (p *player) goOn() int64 {
	round, from := int64(beatEvery), p.now
	if p.work.Trace {
		round = int64(max(len(p.nodes), 1))
	}
	for i, n := range p.nodes {
		first := from + 1 + int64(i)
		if !p.work.Trace {
			for first = n.called + round; first <= from; {
				first += (from-first)/round*round + round
			}
		}
		var again func()
		again = func() {
			p.beat(n, nil, false)
			p.later(p.now+round, false, again)
		}
		p.later(first, false, again)
	}
	return round
}

// settled tells whether nobody waits for anything.
func (p *player) settled() bool {
	for _, a := range p.apps {
		if a != nil && a.waits() {
			return false
		}
	}
	return true
}

// clock is the time for the engine.
func (p *player) clock() yarn.Now {
	return yarn.Now{Wall: p.work.Start.Wall + p.now, Mono: p.work.Start.Mono + p.now}
}

// ask applies a command that is answered.
func (p *player) ask(command func(engine.Ticket) engine.Command, answer func(any, *engine.Error)) {
	p.ticket++
	if answer != nil {
		p.answers[p.ticket] = answer
	}
	p.apply(command(p.ticket))
}

// apply applies a command, and then what it sets off. Whoever calls it while a command is applied has it applied afterwards.
func (p *player) apply(c engine.Command) {
	p.todo = append(p.todo, c)
	if p.busy {
		return
	}
	p.busy = true
	for sweeps := 0; ; {
		switch {
		case len(p.todo) > 0:
			c := p.todo[0]
			p.todo = p.todo[1:]
			p.one(c)
		case p.eng.Working():
			p.one(engine.Tick{})
		case p.eng.SweepDue() && sweeps < mostSweeps:
			sweeps++
			p.one(engine.Sweep{})
		default:
			p.todo, p.busy = nil, false
			return
		}
	}
}

// one applies one command and takes its effects.
func (p *player) one(c engine.Command) {
	var fx engine.Effects
	if p.box != nil {
		p.box.Add(p.clock(), c)
	}
	p.eng.Apply(p.clock(), c, &fx)
	if p.box != nil {
		p.box.Carried(&fx)
	}
	for i := range fx.Saves {
		p.todo = append(p.todo, engine.Stored{Seq: fx.Saves[i].Seq})
	}
	for i := range fx.Transitions {
		p.transition(&fx.Transitions[i])
	}
	for i := range fx.Containers {
		p.container(&fx.Containers[i])
	}
	for i := range fx.Logins {
		if l := fx.Logins[i]; l.Open {
			p.begin(l.Attempt)
		}
	}
	for i := range fx.Launches {
		p.todo = append(p.todo, engine.Launched{Attempt: fx.Launches[i].Attempt})
	}
	for i := range fx.Replies {
		r := &fx.Replies[i]
		if f := p.answers[r.Ticket]; f != nil {
			delete(p.answers, r.Ticket)
			f(r.Value, r.Err)
		}
	}
}

// event plays one event of the workload.
func (p *player) event(e *Event) {
	switch e.Kind {
	case Beat:
		h, _ := e.Command.(*engine.Heartbeat)
		p.beat(p.nodes[e.Index], h, e.Sick)
	case Join:
		p.join(p.nodes[e.Index], e.Command.(engine.RegisterNode))
	case Submit:
		p.submit(int(e.Index))
	case Change:
		if a := p.apps[e.Index]; a != nil {
			p.change(a, e.Command)
		}
	case Literal:
		p.literal(e.Command)
	}
}

// change has somebody do something to an application.
func (p *player) change(a *client, c engine.Command) {
	switch c := c.(type) {
	case engine.Kill:
		c.Ticket, c.Application = 0, a.id
		p.apply(c)
	case engine.Move:
		c.Ticket, c.Application = 0, a.id
		p.ask(func(t engine.Ticket) engine.Command { c.Ticket = t; return c }, func(_ any, err *engine.Error) {
			if err != nil {
				a.out.Notes = append(a.out.Notes, "the move to "+c.Queue+" is refused: "+err.Error())
			}
		})
	case engine.SetPriority:
		c.Ticket, c.Application = 0, a.id
		p.apply(c)
	case engine.SetLifetime:
		c.Ticket, c.Application = 0, a.id
		p.apply(c)
	default:
		panic(fmt.Sprintf("compare: a %T is no change of an application", c))
	}
}

// literal plays a command as it was recorded. Nobody waits for the answer.
func (p *player) literal(c engine.Command) {
	switch c := c.(type) {
	case engine.TendQueues: // in a recording the site says whether it is done, and without one the recording for its own scheduler
		recorded := p.work.Begun.Queues.Cluster.Policy
		if p.work.Trace || !p.tended && p.cfg.Capacity != nil && recorded == config.CapacityPolicy {
			p.apply(c)
		}
	case engine.UnregisterNode:
		p.apply(engine.UnregisterNode{Node: c.Node})
		p.soon()
	case engine.ExpireNode:
		p.apply(c)
		p.soon()
	case engine.RefreshNodes:
		c.Ticket = 0
		p.apply(c)
	case engine.DrainNodes:
		c.Ticket = 0
		p.apply(c)
	case engine.UndrainNodes:
		c.Ticket = 0
		p.apply(c)
	case engine.SetNodeResource:
		c.Ticket = 0
		p.apply(c)
	case engine.SetNodeLabel:
		c.Ticket = 0
		p.apply(c)
	case engine.AddLabels:
		c.Ticket = 0
		p.apply(c)
	case engine.RemoveLabels:
		c.Ticket = 0
		p.apply(c)
	case engine.ReplaceLabels:
		c.Ticket = 0
		p.apply(c)
	case engine.NewReservation:
		p.apply(engine.NewReservation{})
	case engine.SubmitReservation:
		c.Ticket = 0
		p.apply(c)
	case engine.UpdateReservation:
		c.Ticket = 0
		p.apply(c)
	case engine.DeleteReservation:
		c.Ticket = 0
		p.apply(c)
	case engine.MonitorQueues:
		if p.cfg.Capacity != nil {
			p.apply(c)
		}
	case engine.UpdateShares:
		if p.cfg.Fair != nil {
			p.apply(engine.UpdateShares{Preempting: p.cfg.Fair.Preemption})
		}
	default: // they have no ticket
		p.apply(c)
	}
}
