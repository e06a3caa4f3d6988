// Package schedtest is a small language for scenarios of the scheduler. A
// scenario is a file of commands, each followed by ---- and what it prints:
//
//	queues
//	root.queues=a,b
//	root.a.capacity=60
//	root.b.capacity=40
//	----
//
//	node h1 8192x8 rack=/r1
//	----
//
//	app a1 user=ann queue=a am=1024x1
//	----
//	accepted in root.a
//
//	beat h1
//	----
//	a1 gets 1024x1 on h1 (master)
//
// The commands are those of type runner below. Sizes are memory in MiB, x and
// vcores; names of containers are app/number.
package schedtest

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Step is one command of a scenario and what it printed.
type Step struct {
	Line    int
	Comment string // the lines that begin with # before it
	Command string // with the lines that belong to it
	Output  string
}

// Parse reads a scenario.
func Parse(text string) ([]Step, error) {
	var steps []Step
	var comment, command, output []string
	expecting, start := false, 0
	flush := func() {
		if len(command) > 0 {
			steps = append(steps, Step{start, strings.Join(comment, "\n"), strings.Join(command, "\n"), strings.Join(output, "\n")})
		}
		comment, command, output, expecting = nil, nil, nil, false
	}
	for i, line := range strings.Split(text, "\n") {
		switch {
		case strings.HasPrefix(line, "#"):
			if expecting || len(command) > 0 {
				return nil, fmt.Errorf("line %d: a comment within a command", i+1)
			}
			comment = append(comment, line)
		case strings.TrimSpace(line) == "":
			if expecting {
				flush()
			}
		case line == "----":
			if len(command) == 0 {
				return nil, fmt.Errorf("line %d: ---- without a command", i+1)
			}
			expecting = true
		case expecting:
			output = append(output, line)
		default:
			if len(command) == 0 {
				start = i + 1
			}
			command = append(command, line)
		}
	}
	flush()
	return steps, nil
}

// Format writes a scenario as Parse reads it.
func Format(steps []Step) string {
	var b strings.Builder
	for i, s := range steps {
		if i > 0 {
			b.WriteString("\n")
		}
		if s.Comment != "" {
			b.WriteString(s.Comment + "\n")
		}
		b.WriteString(s.Command + "\n----\n")
		if s.Output != "" {
			b.WriteString(s.Output + "\n")
		}
	}
	return b.String()
}

// Run plays the commands on a fresh scheduler and returns them with what they
// printed now.
func Run(steps []Step) []Step {
	r := &runner{apps: map[string]*runApp{}, nodes: map[string]scheduler.NodeRef{}}
	out := make([]Step, len(steps))
	for i, s := range steps {
		out[i] = Step{s.Line, s.Comment, s.Command, strings.Join(r.run(s.Command), "\n")}
	}
	return out
}

type runApp struct {
	ref        scheduler.AppRef
	id         yarn.ApplicationID
	name       string
	master     []yarn.Ask
	containers []scheduler.ContainerRef // by the number in their names, from 1
}

type runner struct {
	s     *scheduler.Scheduler
	apps  map[string]*runApp
	order []*runApp
	nodes map[string]scheduler.NodeRef
	clock int64
	cl    config.Cluster
}

// run plays one command. Whatever is wrong with it is printed.
func (r *runner) run(command string) []string {
	lines := strings.Split(command, "\n")
	words := strings.Fields(lines[0])
	r.clock += 1000
	if r.s != nil {
		r.s.Advance(r.now())
	}
	if words[0] == "queues" {
		return r.queues(words[1:], lines[1:])
	}
	if r.s == nil {
		return []string{"error: the first command must be queues"}
	}
	switch words[0] {
	case "node":
		return r.node(words[1:])
	case "lose":
		return r.lose(words[1])
	case "app":
		return r.app(words[1:])
	case "ask":
		return r.ask(words[1:])
	case "beat":
		return r.decisions(r.s.Offer(r.nodes[words[1]], r.now(), nil))
	case "sweep":
		out, _ := r.s.Sweep(100, 1<<20, r.now(), nil)
		return r.decisions(out)
	case "end":
		return r.end(words[1:])
	case "move":
		return r.reason(r.s.MoveApplication(r.apps[words[1]].ref, words[2]))
	case "headroom":
		return []string{r.size(r.s.Headroom(r.apps[words[1]].ref))}
	case "why":
		return r.why(words[1])
	case "may":
		return r.may(words[1:])
	case "maximum":
		return []string{r.size(r.s.MaximumAllocation(words[1]))}
	case "settings":
		return r.settings(words[1])
	case "wait":
		r.clock += 1000 * number(words[1], 0)
		return nil
	case "tend":
		r.s.RunDynamicQueues(len(words) == 1, r.now())
		return nil
	case "monitor":
		return r.monitor()
	case "show":
		return r.show(words[1:])
	}
	if out, ok := r.fairCommand(words); ok {
		return out
	}
	return []string{"error: unknown command " + words[0]}
}

// monitor is one round of preemption by the CapacityScheduler.
func (r *runner) monitor() (out []string) {
	_, over := r.s.Monitor(r.now(), math.MaxInt)
	say := func(list []scheduler.Taking, what string, do func(scheduler.ContainerRef)) {
		for _, t := range list {
			line := r.containerName(t.Ref, r.s.Container(t.Ref).App) + " " + what + " (" + t.Rule + ")"
			for _, a := range r.order {
				if a.id == t.ForApp {
					line += " for " + a.name
				}
			}
			out = append(out, line)
			do(t.Ref)
		}
	}
	for i := range over.Moved {
		m := &over.Moved[i]
		say([]scheduler.Taking{m.Taking}, "moves its reservation to "+m.Node.Host, func(scheduler.ContainerRef) { r.s.MoveReservation(m) })
	}
	say(over.Observed, "would be taken", func(scheduler.ContainerRef) {})
	say(over.Noticed, "is given notice", func(scheduler.ContainerRef) {})
	say(over.Due, "is preempted", func(c scheduler.ContainerRef) {
		r.s.Finish(c, scheduler.Preempted)
		r.s.Vacate(c)
	})
	say(over.Killable, "is killable from now on", func(c scheduler.ContainerRef) { r.s.MarkKillable(c) })
	say(over.Unreserved, "gives up its reservation", func(c scheduler.ContainerRef) { r.s.Unreserve(r.s.Container(c).Node) })
	return out
}

func (r *runner) now() yarn.Now { return yarn.Now{Wall: r.clock, Mono: r.clock} }

// options are the words of the form name=value.
func options(words []string) map[string]string {
	m := map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			m[k] = v
		}
	}
	return m
}

func number(text string, otherwise int64) int64 {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n
	}
	return otherwise
}

// resource reads 1024x2.
func resource(text string) yarn.Resource {
	var r yarn.Resource
	for i, part := range strings.SplitN(text, "x", yarn.MaxResourceTypes) {
		r[i] = number(part, 0)
	}
	return r
}

func (r *runner) size(x yarn.Resource) string {
	var parts []string
	for i := range max(2, len(r.cl.Types)) {
		parts = append(parts, strconv.FormatInt(x[i], 10))
	}
	return strings.Join(parts, "x")
}

// queues [policy=fifo|fair] [min=1024x1] [max=8192x4] [labels=x,y] [types=gpu] [acls=on]
// [monitors=on] then properties; a second time it is a refresh. Under policy=fair an
// allocation file follows the properties.
func (r *runner) queues(words, lines []string) []string {
	o := options(words)
	if r.s == nil {
		r.cl = config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4), MaxPriority: 10, Types: yarn.BasicResourceTypes()}
		switch o["policy"] {
		case "fifo":
			r.cl.Policy = config.FifoPolicy
		case "fair":
			r.cl.Policy, r.cl.MinAllocation = config.FairPolicy, yarn.NewResource(0, 0)
		}
		for _, name := range strings.FieldsFunc(o["types"], func(c rune) bool { return c == ',' }) {
			r.cl.Types = append(r.cl.Types, yarn.ResourceType{Name: name})
		}
		for _, name := range strings.FieldsFunc(o["labels"], func(c rune) bool { return c == ',' }) {
			r.cl.LabelsEnabled = true
			shared := strings.HasSuffix(name, "?")
			r.cl.Labels = append(r.cl.Labels, config.Label{Name: strings.TrimSuffix(name, "?"), Exclusive: !shared})
		}
	}
	r.cl.ACLEnabled = r.cl.ACLEnabled || o["acls"] == "on"
	r.cl.Monitors = r.cl.Monitors || o["monitors"] == "on"
	if v, ok := o["min"]; ok {
		r.cl.MinAllocation = resource(v)
	}
	if v, ok := o["max"]; ok {
		r.cl.MaxAllocation = resource(v)
	}
	prefix := config.Prefix
	if r.cl.Policy == config.FairPolicy {
		prefix = config.FairPrefix
		lines = r.allocationFile(lines)
	}
	var props []config.Property
	for i, line := range lines {
		k, v, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(k, "yarn.") {
			k = prefix + k
		}
		props = append(props, config.Property{Name: k, Value: v, Origin: fmt.Sprintf("queues:%d", i+1)})
	}
	cfg, notes, err := config.Parse(props, r.cl)
	var out []string
	for _, n := range notes {
		out = append(out, "note: "+n.String())
	}
	switch {
	case err == nil && r.s == nil:
		r.s, err = scheduler.New(cfg)
	case err == nil:
		err = r.s.Refresh(cfg, scheduler.Prepare(cfg, r.s.Basis()))
	case r.s != nil:
		_ = r.s.Refresh(nil, scheduler.Prepare(nil, r.s.Basis()))
	}
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// node NAME SIZE [rack=] [label=]
func (r *runner) node(words []string) []string {
	o := options(words)
	if ref, ok := r.nodes[words[0]]; ok {
		r.s.SetNodeTotal(ref, resource(words[1]))
		return nil
	}
	r.nodes[words[0]] = r.s.AddNode(scheduler.Node{ID: yarn.NodeID{Host: words[0], Port: 8041}, Rack: o["rack"], Label: o["label"], Total: resource(words[1])})
	return nil
}

func (r *runner) lose(name string) []string {
	var out []string
	for _, e := range r.s.RemoveNode(r.nodes[name]) {
		out = append(out, "lost "+r.containerName(e.Ref, e.Container.App))
	}
	delete(r.nodes, name)
	return out
}

// app NAME user= queue= [am=1024x1] [priority=] [unmanaged] [waits]; what waits gets
// its attempt by the command attempt
func (r *runner) app(words []string) []string {
	o := options(words)
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(len(r.order) + 1)}
	in := scheduler.Application{ID: id, User: o["user"], Queue: o["queue"], Name: words[0], Priority: int32(number(o["priority"], 0)),
		Unmanaged: slices.Contains(words, "unmanaged")}
	if g := o["groups"]; g != "" {
		in.Groups = strings.Split(g, ",")
	}
	path, why := r.s.Place(&in)
	if !why.OK() {
		return r.reason(why)
	}
	am := resource("1024x1")
	if v, ok := o["am"]; ok {
		am = resource(v)
	}
	in.AM = am
	asks := []yarn.Ask{{Where: yarn.AnyHost, Capability: am, Count: 1, RelaxLocality: true}}
	if why := r.s.NormalizeAM(path, asks, o["am-label"], true); !why.OK() {
		return r.reason(why)
	}
	ref, why := r.s.AddApplication(in, path)
	if !why.OK() {
		return r.reason(why)
	}
	a := &runApp{ref: ref, id: id, name: words[0], master: asks}
	r.apps[words[0]] = a
	r.order = append(r.order, a)
	if !slices.Contains(words, "waits") {
		r.attempt(a, in.Unmanaged)
	}
	return []string{"accepted in " + r.s.AppUsage(ref).Queue}
}

// attempt starts the application's attempt.
func (r *runner) attempt(a *runApp, unmanaged bool) {
	am := a.master[0]
	r.s.AddAttempt(a.ref, scheduler.Attempt{ID: yarn.AttemptID{Application: a.id, Attempt: 1}, AM: am.Capability, AMLabel: am.Label, StartWall: r.clock})
	if !unmanaged {
		r.s.Ask(a.ref, a.master)
	}
}

// ask NAME COUNT SIZE [at=host] [priority=1] [label=] [strict]
func (r *runner) ask(words []string) []string {
	o := options(words)
	ask := yarn.Ask{Priority: int32(number(o["priority"], 1)), Where: yarn.AnyHost, Capability: resource(words[2]),
		Count: int32(number(words[1], 0)), RelaxLocality: true, AllocationRequestID: -1}
	if v, ok := o["label"]; ok {
		ask.Label, ask.LabelSet = v, true
	}
	strict := words[len(words)-1] == "strict"
	var asks []yarn.Ask
	for _, where := range strings.FieldsFunc(o["at"], func(c rune) bool { return c == ',' }) {
		near := ask
		near.Where, near.Label, near.LabelSet = where, "", false
		near.RelaxLocality = !strict || !strings.HasPrefix(where, "/")
		asks = append(asks, near)
	}
	ask.RelaxLocality = !strict
	asks = append(asks, ask)
	a := r.apps[words[0]]
	if why := r.s.Normalize(a.ref, asks); !why.OK() {
		return r.reason(why)
	}
	r.s.Ask(a.ref, asks)
	return nil
}

// end NAME, or end NAME/NUMBER for one container
func (r *runner) end(words []string) []string {
	name, n, one := strings.Cut(words[0], "/")
	a := r.apps[name]
	if one {
		r.s.Vacate(a.containers[number(n, 1)-1])
		return nil
	}
	for _, e := range r.s.EndAttempt(a.ref, false) {
		if !e.Vacated {
			r.s.Vacate(e.Ref)
		}
	}
	r.s.RemoveApplication(a.ref)
	delete(r.apps, name)
	return nil
}

func (r *runner) decisions(list []scheduler.Decision) []string {
	var out []string
	for _, d := range list {
		a := r.appOf(d.App)
		node := r.s.NodeUsage(d.Node).ID.Host
		switch d.Kind {
		case cluster.Allocated, cluster.AllocatedFromReserved:
			a.containers = append(a.containers, d.Container)
			r.s.Launched(d.Container)
			container := r.s.Container(d.Container)
			what := strings.ToLower(strings.ReplaceAll(container.Locality.String(), "_", "-"))
			if container.AM {
				what = "master"
			}
			if d.Kind == cluster.AllocatedFromReserved {
				what += ", was reserved"
			}
			out = append(out, fmt.Sprintf("%s gets %s on %s (%s)", a.name, r.size(d.Resource), node, what))
		case cluster.Reserved:
			out = append(out, fmt.Sprintf("%s reserves %s on %s", a.name, r.size(d.Resource), node))
		case cluster.Taken:
			out = append(out, r.containerName(d.Container, d.App)+" is ended on "+node+" for "+r.appOf(d.For).name)
			r.s.Vacate(d.Container)
		case cluster.Unreserved:
			out = append(out, fmt.Sprintf("%s gives up its reservation on %s", a.name, node))
		}
	}
	return out
}

func (r *runner) appOf(ref scheduler.AppRef) *runApp {
	for _, a := range r.order {
		if a.ref == ref && r.apps[a.name] == a {
			return a
		}
	}
	return &runApp{name: "?"}
}

func (r *runner) containerName(c scheduler.ContainerRef, app scheduler.AppRef) string {
	a := r.appOf(app)
	for i, b := range a.containers {
		if b == c {
			return fmt.Sprintf("%s/%d", a.name, i+1)
		}
	}
	return a.name + "/reservation"
}

func (r *runner) reason(why yarn.Reason) []string {
	if why.OK() {
		return nil
	}
	text := string(why.Code)
	for _, part := range []string{why.Subject, why.Detail} {
		if part != "" {
			text += " " + part
		}
	}
	if why.Max != 0 || why.Count != 0 {
		text += fmt.Sprintf(" (%d of %d)", why.Count, why.Max)
	}
	if !why.Needed.IsZero() || !why.Limit.IsZero() {
		text += fmt.Sprintf(" (%s, limit %s)", r.size(why.Needed), r.size(why.Limit))
	}
	return []string{text}
}

func (r *runner) why(name string) []string {
	var out []string
	for _, why := range r.s.Explain(r.apps[name].ref, 100) {
		out = append(out, r.reason(why)...)
	}
	return out
}

// may USER submit|administer QUEUE [groups=]
func (r *runner) may(words []string) []string {
	groups := strings.FieldsFunc(options(words)["groups"], func(c rune) bool { return c == ',' })
	ask := r.s.MaySubmit
	if words[1] == "administer" {
		ask = r.s.MayAdminister
	}
	if why := ask(words[2], words[0], "", groups); !why.OK() {
		return r.reason(why)
	}
	return []string{"yes"}
}

// settings QUEUE: what is in force there, whoever set it
func (r *runner) settings(path string) []string {
	for _, q := range r.s.Queues().Queues {
		if q.Path != path {
			continue
		}
		c := q.Capacity
		return []string{
			fmt.Sprintf("%s, capacity %g, maximum %g, masters %g", q.State, c.Default.Capacity, c.Default.MaxCapacity, c.Default.MaxAMShare),
			fmt.Sprintf("user limit %g, factor %g, applications %d, at a time %d", c.UserLimitPercent, c.UserLimitFactor, c.MaxApps, c.MaxParallelApps),
			fmt.Sprintf("order %s, priority %d, of applications %d", c.OrderingPolicy, c.Priority, q.DefaultPriority),
			fmt.Sprintf("labels %s, default %q", strings.Join(q.Labels, ","), q.DefaultLabel),
			fmt.Sprintf("largest container %s, lifetime %d, at most %d, no preemption %t", r.size(q.MaxAllocation), q.DefaultLifetime, q.MaxLifetime, c.PreemptionDisabled),
		}
	}
	return []string{"there is no queue " + path}
}

// show queues, or show users; show shares is for policy=fair
func (r *runner) show(words []string) []string {
	if words[0] == "shares" {
		return r.shares()
	}
	var out []string
	for _, q := range r.s.Queues().Queues {
		if words[0] == "users" {
			if q.Capacity == nil {
				continue
			}
			for _, u := range q.Capacity.Users {
				out = append(out, fmt.Sprintf("%s %s used %s limit %s", q.Path, u.Name, r.size(u.Used), r.size(u.Limit)))
			}
			continue
		}
		line := fmt.Sprintf("%s %s used %s guaranteed %s maximum %s", q.Path, q.State, r.size(q.Default.Used), r.size(q.Default.EffectiveMin), r.size(q.Default.EffectiveMax))
		if q.Leaf && q.Capacity != nil {
			line += fmt.Sprintf(" masters %d of %d, limit %d", q.ActiveApps, q.ActiveApps+q.PendingApps+q.WaitingApps, q.Capacity.Default.AMLimit[0])
		}
		out = append(out, line)
	}
	if words[0] == "users" {
		sort.Strings(out)
	}
	return out
}
