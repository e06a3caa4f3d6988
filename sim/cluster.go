package sim

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/yarn"
)

// Options shape a run.
type Options struct {
	Seed         uint64
	Daemons      int // ResourceManagers; 0 is 1
	Nodes        int
	Applications int
	Every        int  // steps between two calls of a node or master; 0 is 1
	Events       bool // sweeps after events (asynchronous scheduling), not at heartbeats alone
	Dominant     bool // all resources count, not memory alone
	Preempting   bool // containers are preempted for queues that have too little
	Reserving    bool // users reserve parts of the queue plan, which Queues must have
	Queues       *Queues
	Others       []*Queues // configurations to which refreshes may change

	Recorded func(*blackbox.Snapshot) // takes the recording of each life of the ResourceManager; may be nil
}

// Queues is a configuration of the queues, for either scheduler.
type Queues struct {
	Properties  []config.Property
	Allocations string // the FairScheduler's allocation file; "" means the CapacityScheduler
}

// Chances of failures and changes, in percent of the moments at which they may happen.
const (
	lostLaunches = 4 // the launch of a master is lost, or late, or its answer is lost
	lostStops    = 10
	nodeTrouble  = 1
	masterCrash  = 1
	neverStarted = 3
	givenBack    = 5
	clientKills  = 1
	clientMoves  = 3
	newLifetimes = 1
	newTokens    = 1
	failures     = 1
	newWishes    = 20 // a master asks for something else, too
	newSizes     = 10 // or wants a container to change
	refreshes    = 2
	newLabels    = 3
	lessOrMore   = 2 // a node is given another size
	decommission = 1
	orders       = 1
)

// Times of the models, in milliseconds; quietSteps is a number of steps.
const (
	step         = 100
	nodeExpiry   = 10_000
	masterExpiry = 15_000
	grantExpiry  = 8_000
	quietSteps   = 3_000 // for all to end after the last application came
	lookSteps    = 50    // between two looks at what readers see
	againSteps   = 100   // between two tries to take orders to drain back
)

// Cluster is a run under way.
type Cluster struct {
	opt      Options
	rng      *rand.Rand
	queues   *Queues                    // in force
	proposed map[*config.Config]*Queues // of refreshes
	parsed   map[*Queues]parsed
	out      map[yarn.NodeID]bool // nodes that the lists exclude
	ordered  map[yarn.NodeID]bool // nodes that orders to drain name, including orders that were taken back
	draining map[yarn.NodeID]bool // nodes that orders in force name
	now      yarn.Now
	timers   map[int][]func() // by the step in which they are due

	reservations engine.Reservations

	daemons []*daemon
	lock    lock
	disk    *memory.Disk
	owner   *term // that has loaded the store last
	user    *caller

	nodes     []*node
	masters   map[yarn.AttemptID]*master
	order     []yarn.AttemptID // masters as they were launched
	apps      map[yarn.ApplicationID]*client
	ids       []yarn.ApplicationID
	born      map[yarn.ContainerID]birth
	tokens    []int32        // delegation tokens that somebody has
	cancelled map[int32]bool // those that were cancelled
	asking    int            // new applications that are being asked for
	reserved  []*reservation
	quiet     bool   // no more failures and changes: everything must end
	wrong     string // the first thing that is
	digest    uint64
	script    *script // of a run in which only one thing goes wrong; nil: anything may

	Steps    int
	Crashes  int // of processes
	Terms    int
	Commands int
	Granted  int
	Done     map[string]int // how often other things happened, by name
}

// client is what the submitter knows of an application, and what the simulation does.
type client struct {
	id         yarn.ApplicationID
	submission engine.Submission
	submitted  bool // acknowledged
	refused    bool
	ended      bool
	endRefused bool // the record of its end cannot be stored, so that the one of the application may be removed
	removed    bool // that has been done
	choices    choices
}

// New is a cluster before its first step.
func New(o Options) (*Cluster, error) {
	o.Daemons = max(o.Daemons, 1)
	o.Every = max(o.Every, 1)
	c := &Cluster{
		Done: map[string]int{}, opt: o, queues: o.Queues, proposed: map[*config.Config]*Queues{}, parsed: map[*Queues]parsed{}, out: map[yarn.NodeID]bool{}, ordered: map[yarn.NodeID]bool{}, draining: map[yarn.NodeID]bool{},
		rng: rand.New(rand.NewPCG(o.Seed, 1)), now: yarn.Now{Wall: 1_700_000_000_000, Mono: 1}, timers: map[int][]func(){}, disk: memory.NewDisk(),
		cancelled: map[int32]bool{}, masters: map[yarn.AttemptID]*master{}, apps: map[yarn.ApplicationID]*client{}, born: map[yarn.ContainerID]birth{},
	}
	c.user = &caller{c: c}
	if o.Reserving {
		c.reservations = reservable(o.Dominant)
	}
	for i := range o.Daemons {
		c.daemons = append(c.daemons, &daemon{c: c, index: i})
	}
	for i := range o.Nodes {
		c.nodes = append(c.nodes, newNode(c, i))
	}
	_, err := c.configuration(o.Queues)
	return c, err
}

// build makes the engine of a term.
func (t *term) build(started int64) error {
	c := t.c
	cfg, err := c.configuration(c.queues)
	if err != nil {
		return err
	}
	if t.sched, err = scheduler.New(cfg); err != nil {
		return err
	}
	set := engine.Settings{ClusterTimestamp: started, Epoch: t.epoch, NodeExpiry: nodeExpiry, MasterExpiry: masterExpiry,
		AllocationExpiry: grantExpiry, MaxAttempts: 3, GlobalMaxAttempts: 3, MaxCompleted: 10_000, Sweeps: c.opt.Events, NodeMinimum: yarn.NewResource(512, 1),
		ResourceTypes: yarn.BasicResourceTypes(), Labels: true, Fair: cfg.Fair != nil, Dominant: c.opt.Dominant, Reservations: c.reservations,
		Opportunistic: opportunistic.Settings{Enabled: true, Nodes: 3, Interval: 2000, Deviations: 1, Lowest: 2, Highest: 15,
			Comparator: opportunistic.Comparator(c.opt.Seed % 3)}}
	t.engine, t.inForce = engine.New(set, t.sched), cfg
	t.asConfigured("it has begun")
	if c.opt.Recorded != nil {
		t.box = blackbox.NewRecorder(blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)}, blackbox.Options{})
	}
	return nil
}

// refreshed sees that a configuration is in force wholly or not at all.
func (t *term) refreshed(cmd engine.RefreshQueues, replies []engine.Reply) {
	if len(replies) == 1 && replies[0].Err == nil {
		t.inForce = cmd.Config
	}
	t.asConfigured("the queues were refreshed")
}

// asConfigured sees that the queues are those of a scheduler that begins with the configuration in force.
func (t *term) asConfigured(when string) {
	fresh, err := scheduler.New(t.inForce)
	if err != nil {
		t.c.fail("%s: its configuration is none: %v", t, err)
		return
	}
	want, got := configured(fresh), configured(t.sched)
	if !slices.Equal(got, want) {
		t.c.fail("%s: when %s there are the queues %v, and configured are %v", t, when, got, want)
	}
}

// configured is what the configuration says of each queue.
func configured(s *scheduler.Scheduler) (out []string) {
	for _, q := range s.Queues().Queues {
		switch c := q.Capacity; {
		case q.Dynamic, q.Parent == planQueue: // sized by reservations
		case q.Fair != nil:
			f := q.Fair
			out = append(out, fmt.Sprint(q.Path, f.Policy, f.Weight, f.MinShare, f.MaxApps, f.MaxAMShare, f.Preemptable, f.MinShareTimeout, f.FairShareTimeout, f.FairShareThreshold, f.Plan))
		default:
			out = append(out, fmt.Sprint(q.Path, q.State, q.Labels, q.MaxAllocation, c.Default.Capacity, c.Default.MaxCapacity, c.Default.AbsoluteCapacity, c.Default.AbsoluteMax,
				c.Default.MaxAMShare, c.MaxApps, c.MaxAppsPerUser, c.UserLimitPercent, c.UserLimitFactor, c.OrderingPolicy))
		}
	}
	slices.Sort(out)
	return out
}

// parsed is a configuration, or why it is none.
type parsed struct {
	cfg *config.Config
	err error
}

// configuration parses a configuration of the queues, once.
func (c *Cluster) configuration(queues *Queues) (*config.Config, error) {
	if known, ok := c.parsed[queues]; ok {
		return known.cfg, known.err
	}
	cluster := config.Cluster{Types: yarn.BasicResourceTypes(), MinAllocation: yarn.NewResource(512, 1), MaxAllocation: nodeSize, MaxPriority: 10, LabelsEnabled: true, Opportunistic: true,
		Monitors: c.opt.Preempting, Preempts: c.opt.Preempting}
	properties := slices.Clone(queues.Properties)
	add := func(name, value string) {
		properties = append(properties, config.Property{Name: name, Value: value})
	}
	if queues.Allocations != "" {
		cluster.Policy, cluster.Allocations = config.FairPolicy, &config.AllocationFile{Name: "fair-scheduler.xml", Text: queues.Allocations}
		add("yarn.scheduler.increment-allocation-mb", "512")
	} else if c.opt.Dominant {
		add(config.Prefix+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	if c.opt.Preempting {
		properties = append(properties, preempting...)
	}
	cfg, _, err := config.Parse(properties, cluster)
	c.parsed[queues] = parsed{cfg, err}
	return cfg, err
}

// nodeSize is what a node has unless somebody changes it.
var nodeSize = yarn.NewResource(8192, 8)

func (c *Cluster) chance(percent int) bool { return !c.quiet && c.rng.IntN(100) < percent }

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
	for _, d := range c.daemons {
		d.step()
	}
	c.ring()
	if len(c.ids)+c.asking < c.opt.Applications && c.rng.IntN(10) == 0 {
		c.newApplication()
	}
	for i, n := range c.nodes {
		n.step((c.Steps+i)%c.opt.Every == 0)
	}
	for i, id := range c.order {
		if m := c.masters[id]; !m.dead && (c.Steps+i)%c.opt.Every == 0 {
			m.step()
		}
	}
	if c.script != nil {
		c.script.step(c)
	}
	c.clients()
	c.administrators()
	for _, d := range c.daemons {
		if t := d.term; t != nil && d.paused <= c.Steps && t.engine.SweepDue() {
			t.post(posted{cmd: engine.Sweep{}})
		}
	}
	for _, d := range c.daemons {
		if t := d.term; t != nil {
			if wrong := t.sched.Check(); wrong != "" {
				c.fail("%s: %s", t, wrong)
			}
			if c.Steps%lookSteps == 0 {
				if wrong := t.shown(); wrong != "" {
					c.fail("%s: %s", t, wrong)
				}
			}
		}
	}
	return c.wrong
}

var queueNames = []string{"a", "b", "c"}

// newApplication asks for an id, and submits an application with it until that is answered.
func (c *Cluster) newApplication() {
	c.asking++
	c.user.call(func(t engine.Ticket) engine.Command { return engine.NewApplication{Ticket: t} }, func(v any, _ *engine.Error) {
		c.asking--
		id := v.(engine.NewApplicationReply).ID
		if c.apps[id] != nil {
			c.fail("application id %s was given away twice", id)
			return
		}
		a := &client{id: id, submission: engine.Submission{ID: id, User: fmt.Sprintf("user%d", c.rng.IntN(4)), Name: "sim", Queue: queueNames[c.rng.IntN(len(queueNames))],
			Type: "SIM", KeepContainers: c.rng.IntN(4) == 0, Priority: int32(c.rng.IntN(5)), PrioritySet: true,
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}}
		if c.opt.Reserving {
			c.useReservation(a)
		}
		c.apps[id] = a
		c.ids = append(c.ids, id)
		c.submit(a)
	}, func() { c.asking-- })
}

func (c *Cluster) submit(a *client) {
	c.user.call(func(t engine.Ticket) engine.Command {
		return engine.Submit{Ticket: t, Application: copied(a.submission)}
	}, func(_ any, err *engine.Error) {
		a.submitted, a.refused = err == nil, err != nil
	}, func() {
		c.after(1, func() { c.submit(a) })
	})
}

// copied is the submission with asks of its own: the engine rounds them in place.
func copied(s engine.Submission) engine.Submission {
	s.AMAsks = append([]yarn.Ask(nil), s.AMAsks...)
	return s
}

// Run goes on until every application was submitted, then lets everything end. It
// returns what went wrong, or nothing.
func (c *Cluster) Run() string {
	defer c.done()
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
	for range quietSteps {
		if wrong := c.Step(); wrong != "" {
			return wrong
		}
		if c.owner != nil && !c.owner.over && c.owner.d.leads() {
			break
		}
	}
	c.allWell()
	for i := range quietSteps {
		if wrong := c.Step(); wrong != "" {
			return wrong
		}
		if c.ended() {
			return c.leftOver()
		}
		if i%againSteps == againSteps-1 { // an order may have been under way
			c.undrain()
			if c.mastersFill() {
				c.killOne()
			}
		}
	}
	return c.notEnded()
}

// done ends the terms that there are.
func (c *Cluster) done() {
	for _, d := range c.daemons {
		if d.term != nil {
			d.term.recorded()
		}
	}
	c.mix(uint64(c.Steps))
	c.mix(uint64(c.Commands))
	c.mix(uint64(c.Granted))
}

// mix adds to what Digest returns.
func (c *Cluster) mix(x uint64) { c.digest = (c.digest ^ x) * 0x100000001b3 }

// Digest is of what has happened in the run: the same seed has the same one.
func (c *Cluster) Digest() uint64 { return c.digest }

// alive tells whether the application has not ended, or its client waits for an answer.
func (c *Cluster) alive(a *client) bool {
	_, there := c.owner.apps[a.id]
	if !there { // a late copy of a submission that was refused may have been accepted, by a ResourceManager before this one
		_, there = c.application(a.id)
	}
	return !a.ended && (there || !a.refused)
}

func (c *Cluster) ended() bool {
	for _, id := range c.ids {
		if c.alive(c.apps[id]) {
			return false
		}
	}
	for _, n := range c.nodes {
		if len(n.containers) > 0 {
			return false
		}
	}
	return len(c.owner.live) == 0 && len(c.owner.saves) == 0
}

// notEnded names something that has not ended.
func (c *Cluster) notEnded() string {
	for _, id := range c.ids {
		if c.alive(c.apps[id]) {
			return fmt.Sprintf("application %s never ended: %s", id, c.owner.apps[id])
		}
	}
	for _, n := range c.nodes {
		for _, p := range n.sorted() {
			return fmt.Sprintf("node %s still has %s", n.id, p.id)
		}
	}
	for id, n := range c.owner.live { //tidy:unordered any of them will do
		return fmt.Sprintf("container %s on %s never ended", id, n)
	}
	return fmt.Sprintf("%d records were never confirmed", len(c.owner.saves))
}
