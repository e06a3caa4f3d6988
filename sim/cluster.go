package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// Options shape a run.
type Options struct {
	Seed         uint64
	Nodes        int
	Applications int
	Events       bool // sweeps after events (asynchronous scheduling), not at heartbeats alone
	Dominant     bool // all resources count, not memory alone
	Queues       []config.Property
	Others       [][]config.Property // other queues, to which refreshes may change

	Recorded func(*blackbox.Snapshot) // takes the recording of each life of the ResourceManager; may be nil
}

// Chances of failures and changes, in percent of the moments at which they may happen.
const (
	lostAnswer   = 5
	nodeTrouble  = 1
	masterCrash  = 1
	neverStarted = 3
	givenBack    = 5
	clientKills  = 1
	clientMoves  = 3
	newWishes    = 20 // a master asks for something else, too
	newSizes     = 10 // or wants a container to change
	refreshes    = 2
	newLabels    = 3
	lessOrMore   = 2 // a node is given another size
	decommission = 1
	orders       = 1
)

// How often, in a thousand steps, the ResourceManager dies, and its machine's clock is set.
const (
	crashes     = 5
	clockChange = 2
)

// Times of the models, in milliseconds; quietSteps is a number of steps.
const (
	step         = 100
	nodeExpiry   = 10_000
	masterExpiry = 15_000
	grantExpiry  = 8_000
	mostChange   = 100_000 // of the clock, to and fro
	quietSteps   = 3_000   // for all to end after the last application came
)

// Cluster is a run under way.
type Cluster struct {
	opt    Options
	rng    *rand.Rand
	queues []config.Property    // in force
	out    map[yarn.NodeID]bool // whom the lists exclude

	ordered map[yarn.NodeID]bool // names of orders to drain, taken back or not
	now     yarn.Now
	engine  *engine.Engine
	sched   *scheduler.Scheduler
	box     *blackbox.Recorder // nil when nobody wants recordings

	nodes   []*node
	masters map[yarn.AttemptID]*master
	order   []yarn.AttemptID // masters as they were launched
	apps    map[yarn.ApplicationID]*client
	ids     []yarn.ApplicationID
	saves   []engine.Save
	stored  map[state.Key]state.Record // what a restart will find
	subs    map[yarn.ApplicationID]engine.Submission
	orphans map[yarn.ContainerID]bool // containers of an earlier life of the ResourceManager
	epoch   int64
	born    map[yarn.ContainerID]bool
	live    map[yarn.ContainerID]yarn.NodeID
	ticket  engine.Ticket
	answers map[engine.Ticket]func(any, *engine.Error)
	quiet   bool // no more failures and changes: everything must end
	Steps   int
	Crashes int
	Granted int
	Done    map[string]int // how often other things happened, by name
}

// client is what the submitter knows of an application.
type client struct {
	id        yarn.ApplicationID
	submitted bool // acknowledged
	ended     bool
}

// New is a cluster before its first step.
func New(o Options) (*Cluster, error) {
	c := &Cluster{
		Done: map[string]int{}, opt: o, queues: o.Queues, out: map[yarn.NodeID]bool{}, ordered: map[yarn.NodeID]bool{}, rng: rand.New(rand.NewPCG(o.Seed, 1)), now: yarn.Now{Wall: 1_700_000_000_000, Mono: 1},
		masters: map[yarn.AttemptID]*master{}, apps: map[yarn.ApplicationID]*client{}, born: map[yarn.ContainerID]bool{},
		live: map[yarn.ContainerID]yarn.NodeID{}, answers: map[engine.Ticket]func(any, *engine.Error){},
		stored: map[state.Key]state.Record{}, subs: map[yarn.ApplicationID]engine.Submission{}, orphans: map[yarn.ContainerID]bool{},
	}
	for i := range o.Nodes {
		c.nodes = append(c.nodes, newNode(c, i))
	}
	return c, c.boot()
}

// boot starts the ResourceManager.
func (c *Cluster) boot() error {
	types, minimum := yarn.BasicResourceTypes(), yarn.NewResource(512, 1)
	cfg, err := c.configuration(c.queues)
	if err != nil {
		return err
	}
	if c.sched, err = scheduler.New(cfg); err != nil {
		return err
	}
	set := engine.Settings{ClusterTimestamp: c.now.Wall, Epoch: c.epoch, NodeExpiry: nodeExpiry, MasterExpiry: masterExpiry,
		AllocationExpiry: grantExpiry, MaxAttempts: 3, GlobalMaxAttempts: 3, MaxCompleted: 10_000, Sweeps: c.opt.Events, NodeMinimum: minimum,
		ResourceTypes: types, Labels: true, Dominant: c.opt.Dominant,
		Opportunistic: opportunistic.Settings{Enabled: true, Nodes: 3, Interval: 2000, Deviations: 1, Lowest: 2, Highest: 15,
			Comparator: opportunistic.Comparator(c.opt.Seed % 3)}}
	c.engine = engine.New(set, c.sched)
	if c.opt.Recorded != nil {
		c.box = blackbox.NewRecorder(blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)}, blackbox.Options{})
	}
	return nil
}

func (c *Cluster) configuration(queues []config.Property) (*config.Config, error) {
	if c.opt.Dominant {
		queues = append(slices.Clone(queues), config.Property{Name: config.Prefix + "resource-calculator", Value: "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"})
	}
	cfg, _, err := config.Parse(queues, config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(512, 1), MaxAllocation: nodeSize,
		MaxPriority: 10, LabelsEnabled: true, Opportunistic: true})
	return cfg, err
}

// nodeSize is what a node has unless somebody changes it.
var nodeSize = yarn.NewResource(8192, 8)

func (c *Cluster) chance(percent int) bool { return !c.quiet && c.rng.IntN(100) < percent }

// ask hands a command in and remembers who waits for its answer.
func (c *Cluster) ask(command func(engine.Ticket) engine.Command, answer func(any, *engine.Error)) {
	c.ticket++
	t := c.ticket
	if answer != nil {
		c.answers[t] = answer
	}
	c.apply(command(t))
}

// apply carries a command out, and has the models do what follows from it.
func (c *Cluster) apply(cmd engine.Command) {
	var fx engine.Effects
	if c.box != nil {
		c.box.Add(c.now, cmd)
	}
	c.engine.Apply(c.now, cmd, &fx)
	if c.box != nil {
		c.box.Carried(&fx)
	}
	c.saves = append(c.saves, fx.Saves...)
	for _, e := range fx.Containers {
		c.container(e)
	}
	for _, l := range fx.Launches {
		c.launch(l)
	}
	for _, s := range fx.Stops {
		if n := c.find(s.Node); n != nil {
			n.kill(s.Container)
		}
	}
	for _, id := range fx.Summaries {
		if a := c.apps[id]; a != nil {
			a.ended = true
		}
	}
	for _, r := range fx.Replies {
		if f := c.answers[r.Ticket]; f != nil {
			delete(c.answers, r.Ticket)
			f(r.Value, r.Err)
		}
	}
}

// recorded hands over the recording of a life of the ResourceManager.
func (c *Cluster) recorded() {
	if c.box != nil {
		c.box.Add(c.now, blackbox.Digest{})
		c.opt.Recorded(c.box.Snapshot(blackbox.End{At: c.now.Wall, Looked: true, State: c.engine.Digest()}))
	}
}

// container follows which containers there are; it panics if one comes or ends twice.
func (c *Cluster) container(e engine.ContainerEvent) {
	if e.Born {
		if c.born[e.Container] && !c.orphans[e.Container] {
			panic(fmt.Sprintf("sim: container %s was granted twice", e.Container))
		}
		delete(c.orphans, e.Container) // taken over from an earlier life, once
		c.born[e.Container], c.live[e.Container] = true, e.Node
		c.Granted++
		return
	}
	if _, ok := c.live[e.Container]; !ok {
		panic(fmt.Sprintf("sim: container %s ended twice or was never born", e.Container))
	}
	delete(c.live, e.Container)
}

func (c *Cluster) find(id yarn.NodeID) *node {
	for _, n := range c.nodes {
		if n.id == id {
			return n
		}
	}
	return nil
}

// Step lets the time of one step pass. It returns what is wrong afterwards, or nothing.
func (c *Cluster) Step() string {
	c.Steps++
	c.now.Wall += step
	c.now.Mono += step
	if !c.quiet && c.rng.IntN(1000) < clockChange {
		c.now.Wall += int64(c.rng.IntN(2*mostChange)) - mostChange
	}
	if due, ok := c.engine.NextDue(); ok && due <= c.now.Mono {
		c.apply(engine.Tick{})
	}
	c.store()
	if !c.quiet && c.rng.IntN(1000) < crashes {
		if wrong := c.crash(); wrong != "" {
			return wrong
		}
	}
	if len(c.ids) < c.opt.Applications && c.rng.IntN(10) == 0 {
		c.submit()
	}
	for _, n := range c.nodes {
		n.step()
	}
	for _, id := range c.order {
		c.masters[id].step()
	}
	c.clients()
	c.administrators()
	if c.engine.SweepDue() {
		c.apply(engine.Sweep{})
	}
	return c.sched.Check()
}

// store confirms some of what waits, in order.
func (c *Cluster) store() {
	n := len(c.saves)
	if !c.quiet {
		n = c.rng.IntN(n + 1)
	}
	for range n {
		s := c.saves[0]
		c.saves = c.saves[1:]
		if s.Op.Kind == state.OpPut {
			c.stored[s.Op.Record.Key()] = s.Op.Record
		} else {
			delete(c.stored, s.Op.Record.Key())
		}
		c.apply(engine.Stored{Seq: s.Seq})
	}
}

var queueNames = []string{"a", "b", "c"}

func (c *Cluster) submit() {
	c.ask(func(t engine.Ticket) engine.Command { return engine.NewApplication{Ticket: t} }, func(v any, _ *engine.Error) {
		id := v.(engine.NewApplicationReply).ID
		a := &client{id: id}
		c.apps[id] = a
		c.ids = append(c.ids, id)
		sub := engine.Submission{ID: id, User: fmt.Sprintf("user%d", c.rng.IntN(4)), Name: "sim", Queue: queueNames[c.rng.IntN(len(queueNames))],
			Type: "SIM", KeepContainers: c.rng.IntN(4) == 0, Priority: int32(c.rng.IntN(5)), PrioritySet: true,
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}
		c.subs[id] = copied(sub)
		c.ask(func(t engine.Ticket) engine.Command { return engine.Submit{Ticket: t, Application: sub} }, func(_ any, err *engine.Error) {
			a.submitted, a.ended = err == nil, err != nil
		})
	})
}

// copied is the submission with asks of its own: the engine rounds them in place.
func copied(s engine.Submission) engine.Submission {
	s.AMAsks = append([]yarn.Ask(nil), s.AMAsks...)
	return s
}

// crash ends the ResourceManager without warning and starts another one on what was
// stored. It returns what had been acknowledged and is lost, or nothing.
func (c *Cluster) crash() string {
	c.Crashes++
	c.recorded()
	c.saves, c.answers = nil, map[engine.Ticket]func(any, *engine.Error){}
	for id := range c.born { // also those that had ended, for their nodes may not have heard of it
		c.orphans[id] = true
	}
	clear(c.live)
	c.epoch++
	if err := c.boot(); err != nil {
		return err.Error()
	}
	var cmd engine.Recover
	cmd.Labels, _ = c.stored[state.Labels{}.Key()].(state.Labels)
	for _, id := range c.ids {
		r, found := c.stored[state.Application{ID: id}.Key()].(state.Application)
		a := c.apps[id]
		switch {
		case !found && a.submitted:
			return fmt.Sprintf("application %s was acknowledged and is lost", id)
		case !found:
			a.ended = true // its client was never told anything
			continue
		case a.ended && r.Final == yarn.AppNew:
			return fmt.Sprintf("application %s had ended and would run again", id)
		}
		a.ended = r.Final != yarn.AppNew
		cmd.Applications = append(cmd.Applications, engine.RecoveredApplication{Submission: copied(c.subs[id]), Record: r, Attempts: c.storedAttempts(id)})
	}
	for _, n := range c.nodes {
		if d, ok := c.stored[state.NodeDeadline{Node: n.id}.Key()].(state.NodeDeadline); ok {
			cmd.Drains = append(cmd.Drains, d)
		}
	}
	c.apply(cmd)
	return ""
}

func (c *Cluster) storedAttempts(id yarn.ApplicationID) (out []state.Attempt) {
	for n := int32(1); ; n++ {
		r, found := c.stored[state.Attempt{ID: yarn.AttemptID{Application: id, Attempt: n}}.Key()].(state.Attempt)
		if !found {
			return out
		}
		out = append(out, r)
	}
}

// Run goes on until every application was submitted, then lets everything end. It
// returns what went wrong, or nothing.
func (c *Cluster) Run() string {
	defer c.recorded()
	for len(c.ids) < c.opt.Applications {
		if wrong := c.Step(); wrong != "" {
			return wrong
		}
	}
	for range quietSteps / 10 { // some more failures before it is quiet
		if wrong := c.Step(); wrong != "" {
			return wrong
		}
	}
	c.quiet = true
	c.allWell()
	for range quietSteps {
		if wrong := c.Step(); wrong != "" {
			return wrong
		}
		if c.ended() {
			return c.leftOver()
		}
	}
	return c.notEnded()
}

func (c *Cluster) ended() bool {
	for _, id := range c.ids {
		if !c.apps[id].ended {
			return false
		}
	}
	for _, n := range c.nodes {
		if len(n.containers) > 0 {
			return false
		}
	}
	return len(c.live) == 0 && len(c.saves) == 0
}

// notEnded names something that has not ended.
func (c *Cluster) notEnded() string {
	for _, id := range c.ids {
		if !c.apps[id].ended {
			return fmt.Sprintf("application %s never ended", id)
		}
	}
	for _, n := range c.nodes {
		for id := range n.containers {
			return fmt.Sprintf("node %s still has %s", n.id, id)
		}
	}
	for id, n := range c.live {
		return fmt.Sprintf("container %s on %s never ended", id, n)
	}
	return fmt.Sprintf("%d records were never confirmed", len(c.saves))
}
