package replay

import (
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// quiet is the first revision of the recorder whose snapshots change nothing in the scheduler,
// and that names containers by the types of resources as they are declared; see FORMAT.md.
const quiet = 2

// start is the time at which every scenario begins, in milliseconds.
const start = 1_000_000

// World is one ResourceManager and the names that a scenario gives to the
// things in it.
type World struct {
	header  *trace.Header
	begun   blackbox.Header // what the engine began with
	site    *conf.Properties
	cluster config.Cluster
	sched   *scheduler.Scheduler
	engine  *engine.Engine
	now     yarn.Now
	fx      engine.Effects
	saved   int // how many of fx.Saves are confirmed
	ticket  engine.Ticket
	tended  bool  // empty dynamic queues were looked for once
	naming  []int // types of resources in the order of containers' names

	apps   map[string]*app
	byID   map[yarn.ApplicationID]*app
	nodes  map[string]*machine
	labels map[string]string // of nodes, also of those that left
	boxes  map[string]*box
	boxOf  map[yarn.ContainerID]*box
	grants map[string]int // how many containers have a name that begins so
	live   map[string][]*box

	watch    func(yarn.Now, engine.Command) func(*engine.Effects)
	killWait int64 // from a notice to the end of a container; milliseconds
	warned   []warned
}

// app is an application by its name in the scenario.
type app struct {
	name       string
	user       string
	id         yarn.ApplicationID
	attempt    yarn.AttemptID // the newest
	registered yarn.AttemptID // the last one that registered
	responseID int32
	untold     []engine.CompletedContainer // ends in answers that were lost
	state      string
	before     string // state when the event began; empty: there was no application
}

// calls is the attempt whose master calls: the last one that registered, or else the
// newest.
func (a *app) calls() yarn.AttemptID {
	if a.registered.IsZero() {
		return a.attempt
	}
	return a.registered
}

// machine is a node that has registered.
type machine struct {
	id         yarn.NodeID
	responseID int32
}

// box is a container by its name in the scenario.
type box struct {
	name     string
	id       yarn.ContainerID
	version  int32
	acquired bool
	live     bool
}

// New is the cluster that the header describes, without nodes.
func New(h *trace.Header) (*World, error) {
	if _, ok := policies[h.Scheduler]; !ok {
		return nil, fmt.Errorf("header: no scheduler is called %q: \"capacity\", \"fair\" and \"fifo\" are", h.Scheduler)
	}
	w := &World{
		header: h, now: yarn.Now{Wall: start, Mono: start},
		apps: map[string]*app{}, byID: map[yarn.ApplicationID]*app{}, nodes: map[string]*machine{}, labels: map[string]string{},
		boxes: map[string]*box{}, boxOf: map[yarn.ContainerID]*box{}, grants: map[string]int{}, live: map[string][]*box{},
	}
	cfg, err := w.configure()
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	w.naming = w.order()
	if cfg.Fair != nil {
		w.killWait = cfg.Fair.KillWait
	}
	set, err := w.settings(cfg)
	if err != nil {
		return nil, err
	}
	w.begun = blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)}
	if w.sched, err = scheduler.New(cfg); err != nil {
		return nil, fmt.Errorf("header: capacity-scheduler: %w", err)
	}
	w.sched.LikeApache()
	w.engine = engine.New(set, w.sched)
	return w, nil
}

// settings are the engine's. Nothing expires in a scenario.
func (w *World) settings(cfg *config.Config) (engine.Settings, error) {
	settings, err := conf.ReadResourceManager(w.site)
	if err != nil {
		return engine.Settings{}, fmt.Errorf("header: yarn-site: %w", err)
	}
	set, err := setup.Settings(settings, cfg, time.UnixMilli(start), 0)
	if err != nil {
		return set, fmt.Errorf("header: %w", err)
	}
	set.NodeExpiry, set.MasterExpiry, set.AllocationExpiry = 0, 0, 0
	return set, nil
}

// fifo tells that the scenario is one of the FifoScheduler.
func (w *World) fifo() bool { return w.header.Scheduler == "fifo" }

// policies are the schedulers by their names in headers.
var policies = map[string]config.Policy{"capacity": config.CapacityPolicy, "fair": config.FairPolicy, "fifo": config.FifoPolicy}

// configure reads the header's properties.
func (w *World) configure() (*config.Config, error) {
	site, err := properties(nil, w.header.Site)
	if err != nil {
		return nil, fmt.Errorf("yarn-site: %w", err)
	}
	types, err := properties(site, w.header.Types)
	if err != nil {
		return nil, fmt.Errorf("resource-types: %w", err)
	}
	var labels []config.Label
	for _, name := range w.header.LabelNames() {
		labels = append(labels, config.Label{Name: name, Exclusive: w.header.Labels[name]})
	}
	w.site = site
	if w.cluster, err = setup.Cluster(site, types, labels); err != nil {
		return nil, fmt.Errorf("yarn-site: %w", err)
	}
	// compat: a ResourceManager that is younger than ten seconds lets containers be as large as is configured, whatever
	// the nodes have, and no scenario is recorded for longer. The CapacityScheduler of the recordings looks at its age
	// before its start is set, and so believes that it is older.
	w.cluster.StartWait = 0
	if w.fair() {
		w.cluster.StartWait = math.MaxInt64
	}
	w.cluster.Policy = policies[w.header.Scheduler]
	if w.fair() {
		w.cluster.Allocations = allocations(w.header.Fair)
	}
	return queues(w.header.Capacity, site, w.cluster)
}

// order is that of the types of resources in containers' names: as declared, or in
// older traces as in Apache's hash table of types.
func (w *World) order() []int {
	names := make([]string, len(w.cluster.Types))
	out := make([]int, len(names))
	for i := range names {
		names[i], out[i] = w.cluster.Types[i].Name, i
	}
	if w.header.Recorder < quiet {
		out = append([]int{yarn.Memory, yarn.VCores}, slices.DeleteFunc(javanum.HashOrder(names), func(i int) bool { return i <= yarn.VCores })...)
	}
	return out
}

// reread is what a refresh of the queues finds outside of their file.
//
// compat: a refresh reads yarn-site.xml and resource-types.xml again for the largest
// allocation. The ResourceManager that traces are recorded from has no such files (the
// header's properties are in its memory alone), so that Hadoop's defaults come back,
// which are nothing of further types unless the queues' file declares them.
func (w *World) reread(file trace.Properties) (*conf.Properties, config.Cluster, error) {
	site, err := properties(nil, nil)
	if err != nil {
		return nil, config.Cluster{}, err
	}
	types, err := properties(nil, slices.DeleteFunc(slices.Clone(file), func(p trace.Property) bool { return !strings.HasPrefix(p.Name, "yarn.resource-types") }))
	if err != nil {
		return nil, config.Cluster{}, err
	}
	found, err := setup.Cluster(site, types, nil)
	if err != nil {
		return nil, config.Cluster{}, err
	}
	cluster := w.cluster
	for i, t := range cluster.Types {
		cluster.MaxAllocation[i] = 0
		if at := found.Types.Index(t.Name); at >= 0 {
			cluster.MaxAllocation[i] = found.MaxAllocation[at]
		}
	}
	cluster.Monitors = found.Monitors
	return site, cluster, nil
}

// queues reads the properties of a queue file.
func queues(file trace.Properties, site *conf.Properties, cluster config.Cluster) (*config.Config, error) {
	const asynchronous = config.Prefix + "schedule-asynchronously.enable"
	p, err := properties(site, append(slices.Clip(file), trace.Property{Name: asynchronous, Value: "false"}))
	if err != nil {
		return nil, fmt.Errorf("capacity-scheduler: %w", err)
	}
	cfg, _, err := config.Parse(setup.Queues(p, cluster.Policy), cluster)
	return cfg, err
}

// properties are those of a scenario over Hadoop's defaults, or over base.
func properties(base *conf.Properties, list trace.Properties) (*conf.Properties, error) {
	o := conf.Options{Base: base, Read: func(string) ([]byte, error) { return nil, fs.ErrNotExist }}
	for _, p := range list {
		o.Overrides = append(o.Overrides, conf.Override{Name: p.Name, Value: p.Value})
	}
	return conf.Load(o)
}

// command applies one command and confirms at once what it has saved.
func (w *World) command(c engine.Command) {
	w.apply(c)
	for ; w.saved < len(w.fx.Saves); w.saved++ {
		w.apply(engine.Stored{Seq: w.fx.Saves[w.saved].Seq})
	}
}

// next is a ticket for a call.
func (w *World) next() engine.Ticket {
	w.ticket++
	return w.ticket
}

// call applies a command that bears the ticket and returns its answer.
func (w *World) call(t engine.Ticket, c engine.Command) (any, error) {
	w.command(c)
	for i := len(w.fx.Replies) - 1; i >= 0; i-- {
		if r := w.fx.Replies[i]; r.Ticket == t {
			if r.Err != nil {
				return nil, r.Err
			}
			return r.Value, nil
		}
	}
	return nil, fmt.Errorf("defect: %T was never answered", c)
}

// amounts turns a resource of a scenario into one of the cluster's.
func (w *World) amounts(a trace.Amounts) (r yarn.Resource, err error) {
	known := 0
	for i, t := range w.cluster.Types {
		if v, ok := a[t.Name]; ok {
			r[i] = v
			known++
		}
	}
	if known != len(a) {
		return r, fmt.Errorf("resource %v names a type that the cluster does not have", a)
	}
	return r, nil
}

// resource prints all types of the cluster.
func (w *World) resource(r yarn.Resource) trace.Amounts {
	out := make(trace.Amounts, len(w.cluster.Types))
	for i, t := range w.cluster.Types {
		out[t.Name] = r[i]
	}
	return out
}
