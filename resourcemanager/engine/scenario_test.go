package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/scenarios"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// TestScenarios plays testdata/*.txt. A line is a command; the lines after it
// that begin with ">" are its consequences. Everything is looked at after every
// command (see rig.check). script below knows the commands.
func TestScenarios(t *testing.T) { scenarios.Test(t, play) }

// play runs the commands and returns the scenario with their consequences.
func play(t *testing.T, text string) string {
	s := newScript(t)
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if strings.HasPrefix(line, ">") {
			continue
		}
		out.WriteString(line + "\n")
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		s.line = i + 1
		for _, shown := range s.run(words) {
			out.WriteString("> " + shown + "\n")
		}
		if s.rig != nil {
			if bad := s.rig.check(); bad != "" {
				t.Fatalf("line %d: %s: %s", s.line, line, bad)
			}
		}
	}
	return out.String()
}

type script struct {
	t    *testing.T
	line int
	set  Settings
	rig  *rig
	ids  map[string]int32 // response ids of masters
	node map[string]int32 // and of nodes
	opts map[string]string

	props []config.Property // of queues, over those of every rig
	subs  map[yarn.ApplicationID]Submission
	sizes map[yarn.ContainerID]yarn.Resource

	priorities map[yarn.ContainerID]int32
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

// run carries one command out and returns its consequences.
func (s *script) run(words []string) []string {
	s.opts = map[string]string{}
	var args []string
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			s.opts[k] = v
		} else {
			args = append(args, w)
		}
	}
	if words[0] == "settings" {
		s.settings()
		return nil
	}
	if s.setQueues(words, args) && s.rig == nil {
		return nil
	}
	if s.rig == nil {
		s.rig = newRig(s.t, s.set, s.props...)
	}
	r := s.rig
	switch words[0] {
	case "after": // milliseconds
		ms := s.number(args[0])
		r.now.Wall, r.now.Mono = r.now.Wall+ms, r.now.Mono+ms
		return nil
	case "clock": // the wall clock jumps
		r.now.Wall += s.number(args[0])
		return nil
	case "hold":
		r.hold = true
		return nil
	case "stored", "poison":
		var err error
		if words[0] == "poison" {
			err = errPoison
		}
		if len(r.pending) == 0 {
			s.fail("nothing waits for the store")
		}
		r.fx.Reset()
		r.confirm(err)
		return s.shown()
	case "all": // that waits for the store
		r.fx.Reset()
		for len(r.pending) > 0 {
			r.confirm(nil)
		}
		return s.shown()
	case "show":
		return s.show(args[0])
	case "why": // why a1
		return []string{strings.ReplaceAll(r.e.Why(s.app(args[0])), "\n", " ")}
	case "shares": // shares root.plan
		return s.shares(args[0])
	case "restart": // of the ResourceManager: what is stored stays
		s.set.Epoch++
		s.rig = r.restart(s.t, s.set, s.subs, s.props...)
		return s.shown()
	}
	r.do(s.command(words[0], args))
	s.learn(words[0], args)
	return s.shown()
}

func (s *script) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		s.fail("%v", err)
	}
	return n
}

func (s *script) size(text string) yarn.Resource {
	mb, cores, _ := strings.Cut(text, "x")
	return yarn.NewResource(s.number(mb), s.number(cores))
}

func (s *script) app(text string) yarn.ApplicationID {
	return appID(int32(s.number(strings.TrimPrefix(text, "a"))))
}

func (s *script) attempt(text string) yarn.AttemptID {
	app, n, _ := strings.Cut(text, "/")
	return yarn.AttemptID{Application: s.app(app), Attempt: int32(s.number(n))}
}

func (s *script) container(text string) yarn.ContainerID {
	i := strings.LastIndex(text, "/")
	return yarn.ContainerID{Attempt: s.attempt(text[:i]), Number: s.number(text[i+1:])}
}

func (s *script) containers(text string) (out []yarn.ContainerID) {
	for _, c := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		out = append(out, s.container(c))
	}
	return out
}

// nodeID is the node of that host, port 1 unless it is said: h1/-2.
func nodeID(host string) yarn.NodeID {
	if host, port, ok := strings.Cut(host, "/"); ok {
		n, _ := strconv.Atoi(port)
		return yarn.NodeID{Host: host, Port: int32(n)}
	}
	return yarn.NodeID{Host: host, Port: 1}
}

// command is the command that a line stands for.
func (s *script) command(word string, args []string) Command {
	t := s.rig.next()
	switch word {
	case "node": // node h1 8192x8 [run=…] [has=a1/1/2:2048x1:version,…: of those that run] [done=…] [apps=a1,…] [unhealthy=why] [label=x] [names=x,y|none] [excluded=why] [untracked=1] [http=8042] [priorities=1]
		return s.register(t, args)
	case "beat": // beat h1 [run=a1/1/1,…] [lent=…: opportunistic ones] [queue=waiting/capacity[/ms]] [grew=a1/1/2:2048x1,…] [done=a1/1/2:exit,…] [unhealthy=why] [names=x] [id=…]
		return s.beat(t, args[0])
	case "leave":
		return UnregisterNode{Ticket: t, Node: nodeID(args[0])}
	case "expire":
		return ExpireNode{Node: nodeID(args[0])}
	case "exclude", "drain", "force": // drain h1 h2:30 untracked=h3 unnamed=1 unregistered=h4; of drain with timeouts in seconds, else -1
		c := RefreshNodes{Ticket: t, How: map[string]Decommission{"exclude": AtOnce, "drain": Graceful, "force": Forced}[word], Excluded: map[yarn.NodeID]Exclusion{}}
		for _, arg := range args {
			h, seconds, timed := strings.Cut(arg, ":")
			x := Exclusion{Timeout: -1}
			if timed {
				x.Timeout = int32(s.number(seconds))
			}
			c.Excluded[nodeID(h)] = x
		}
		for _, h := range strings.Split(s.opts["untracked"], ",") {
			if h != "" {
				c.Excluded[nodeID(h)] = Exclusion{Timeout: -1, Untracked: true}
			}
		}
		c.Unnamed, c.Unregistered = s.opts["unnamed"] != "", words(s.opts["unregistered"])
		return c
	case "excluded-hosts":
		return ExcludedHosts{Hosts: args}
	case "order": // order h1 h2:1 until=30 reason=x: nodes, or hosts when a name ends in *
		c := DrainNodes{Ticket: t, Nodes: orderedNames(args), User: "root", Source: "cli", Reason: s.opts["reason"]}
		if after := s.opts["until"]; after != "" {
			c.Deadline = s.rig.now.Wall + s.number(after)*1000
		}
		return c
	case "undo":
		return UndrainNodes{Ticket: t, Nodes: orderedNames(args)}
	case "resize":
		c := SetNodeResource{Ticket: t, Node: nodeID(args[0]), Total: s.size(args[1])}
		if after := s.opts["overcommit"]; after != "" {
			c.Overcommit = NewOvercommit(s.number(after))
		}
		return c
	case "add-labels": // add-labels gpu ssd:shared
		c := AddLabels{Ticket: t}
		for _, a := range args {
			name, shared := strings.CutSuffix(a, ":shared")
			c.Labels = append(c.Labels, scheduler.Label{Name: name, Exclusive: !shared})
		}
		return c
	case "remove-labels":
		return RemoveLabels{Ticket: t, Names: args}
	case "label": // label h1:gpu h2:0:ssd h3: [known=1]; port 1 unless it is said
		c := ReplaceLabels{Ticket: t, FailOnUnknown: s.opts["known"] != ""}
		for _, a := range args {
			i := strings.LastIndex(a, ":")
			host, port, found := strings.Cut(a[:i], ":")
			n := view.NodeLabels{Node: nodeID(host), Labels: strings.FieldsFunc(a[i+1:], func(r rune) bool { return r == ',' })}
			if found {
				n.Node.Port = int32(s.number(port))
			}
			c.Nodes = append(c.Nodes, n)
		}
		return c
	case "new":
		return NewApplication{Ticket: t}
	case "submit": // submit a1 ann default 1024x1 [unmanaged=1] [keep=1] [attempts=n] [validity=ms] [lifetime=s] [priority=n] [tags=x+y]
		return s.submit(t, args)
	case "kill":
		return Kill{Ticket: t, Application: s.app(args[0]), Diagnostics: "killed by a user"}
	case "fail":
		return FailAttempt{Ticket: t, Attempt: s.attempt(args[0]), Diagnostics: "failed by a user"}
	case "move":
		return Move{Ticket: t, Application: s.app(args[0]), Queue: args[1]}
	case "priority":
		return SetPriority{Ticket: t, Application: s.app(args[0]), Priority: int32(s.number(args[1]))}
	case "lifetime": // lifetime a1 seconds-from-now
		return SetLifetime{Ticket: t, Application: s.app(args[0]), ExpireAt: s.rig.now.Wall + 1000*s.number(args[1])}
	case "signal":
		return SignalContainer{Ticket: t, Container: s.container(args[0]), Signal: 2}
	case "launched":
		return Launched{Attempt: s.attempt(args[0])}
	case "launch-failed":
		return LaunchFailed{Attempt: s.attempt(args[0]), Why: "connection refused"}
	case "register":
		return RegisterMaster{Ticket: t, Attempt: s.attempt(args[0]), Host: "host", RPCPort: 7, TrackingURL: "http://host/"}
	case "allocate": // allocate a1/1 [id=n] [ask=p:1024x1:count@where,…] [release=…] [ban=h1] [unban=h1] [grow=a1/1/2:2048x1] [shrink=…] [promote=a1/1/2] [demote=…] [version=n] [lend=…: asks for opportunistic ones]
		return s.allocate(t, args[0])
	case "finish":
		status, ok := yarn.ParseFinalStatus(args[1])
		if !ok {
			s.fail("no status %s", args[1])
		}
		return FinishMaster{Ticket: t, Attempt: s.attempt(args[0]), FinalStatus: status, Diagnostics: "done"}
	case "queues":
		return RefreshQueues{Ticket: t, Config: queues(s.t, s.props...)}
	case "tick":
		return Tick{}
	case "sweep":
		return Sweep{}
	case "monitor":
		return MonitorQueues{}
	case "update":
		return UpdateShares{}
	case "preemptions": // preemptions [app=a1] [queue=root.x]
		c := Preemptions{Ticket: t, Queue: s.opts["queue"], Most: 10}
		if a := s.opts["app"]; a != "" {
			c.Application = s.app(a)
		}
		return c
	}
	if c := s.reservation(t, word, args); c != nil {
		return c
	}
	s.fail("no command %s", word)
	return nil
}

func (s *script) register(t Ticket, args []string) Command {
	c := RegisterNode{Ticket: t, Node: nodeID(args[0]), HTTPPort: s.httpPort(), Rack: "/r", Total: s.size(args[1]), Version: "3.5.0",
		Label: s.opts["label"], Labels: s.names(), Excluded: s.opts["excluded"], Untracked: s.opts["untracked"] != "", Health: s.health()}
	sizes, versions := map[yarn.ContainerID]yarn.Resource{}, map[yarn.ContainerID]int32{}
	for _, x := range words(s.opts["has"]) {
		parts := strings.Split(x, ":")
		sizes[s.container(parts[0])], versions[s.container(parts[0])] = s.size(parts[1]), int32(s.number(parts[2]))
	}
	for _, x := range s.statuses() {
		r := RecoveredContainer{ContainerStatus: x, Resource: s.sizes[x.ID], Version: versions[x.ID]}
		if size, told := sizes[x.ID]; told {
			r.Resource = size
		}
		if s.opts["priorities"] != "" {
			r.Priority = s.priorities[x.ID]
		}
		c.Containers = append(c.Containers, r)
	}
	for _, a := range strings.FieldsFunc(s.opts["apps"], func(r rune) bool { return r == ',' }) {
		c.Applications = append(c.Applications, s.app(a))
	}
	return c
}

func (s *script) health() Health {
	return Health{Healthy: s.opts["unhealthy"] == "", Report: s.opts["unhealthy"], At: s.rig.now.Wall}
}

func (s *script) statuses() (out []ContainerStatus) {
	for _, id := range s.containers(s.opts["run"]) {
		out = append(out, ContainerStatus{ID: id})
	}
	for _, id := range s.containers(s.opts["lent"]) {
		out = append(out, ContainerStatus{ID: id, Execution: yarn.Opportunistic})
	}
	for _, x := range strings.FieldsFunc(s.opts["done"], func(r rune) bool { return r == ',' }) {
		name, exit, _ := strings.Cut(x, ":")
		out = append(out, ContainerStatus{ID: s.container(name), Complete: true, ExitStatus: int32(s.number(exit)), Diagnostics: "ended"})
	}
	return out
}

func (s *script) beat(t Ticket, host string) Command {
	id := s.node[host]
	if v, ok := s.opts["id"]; ok {
		id = int32(s.number(v))
	}
	h := &Heartbeat{Ticket: t, Node: nodeID(host), ResponseID: id, Containers: s.statuses(), Labels: s.names(), Health: s.health()}
	for _, x := range words(s.opts["grew"]) {
		name, size, _ := strings.Cut(x, ":")
		h.Increased = append(h.Increased, Increased{Container: s.container(name), Resource: s.size(size)})
	}
	if v, ok := s.opts["queue"]; ok { // waiting/capacity/milliseconds
		p := strings.Split(v+"/0", "/")
		h.Opportunistic = Opportunistic{Reported: true, Waiting: int32(s.number(p[0])), Capacity: int32(s.number(p[1])), WaitMillis: int32(s.number(p[2]))}
	}
	return h
}

// names are the labels that a node names, or nil.
func (s *script) names() *[]string {
	text, ok := s.opts["names"]
	if !ok {
		return nil
	}
	list := strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
	if text == "none" {
		list = []string{}
	}
	return &list
}

func (s *script) submit(t Ticket, args []string) Command {
	sub := Submission{ID: s.app(args[0]), User: args[1], Queue: args[2], Name: args[0], Type: "YARN",
		Unmanaged: s.opts["unmanaged"] != "", KeepContainers: s.opts["keep"] != "", CallerContext: "test",
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: s.size(args[3]), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}
	for k, v := range s.opts {
		switch k {
		case "attempts":
			sub.MaxAttempts = int32(s.number(v))
		case "validity":
			sub.ValidityInterval = s.number(v)
		case "label":
			sub.Label, sub.LabelSet = v, true
		case "lifetime":
			sub.LifetimeSeconds = s.number(v)
		case "reservation":
			sub.Reservation = s.reservationID(v)
		case "priority":
			sub.Priority, sub.PrioritySet = int32(s.number(v)), true
		case "tags": // tags=x+y
			sub.Tags = strings.Split(v, "+")
		}
	}
	s.subs[sub.ID] = copied(sub)
	return Submit{Ticket: t, Application: sub}
}

// copied has asks of its own: the engine normalizes them in place.
func copied(sub Submission) Submission {
	sub.AMAsks = slices.Clone(sub.AMAsks)
	return sub
}

func (s *script) allocate(t Ticket, name string) Command {
	c := &Allocate{Ticket: t, Attempt: s.attempt(name), ResponseID: s.ids[name], Progress: 0.5, Release: s.containers(s.opts["release"])}
	if v, ok := s.opts["id"]; ok {
		c.ResponseID = int32(s.number(v))
	}
	if v := s.opts["ban"]; v != "" {
		c.BlacklistAdd = []string{v}
	}
	if v := s.opts["unban"]; v != "" {
		c.BlacklistRemove = []string{v}
	}
	for kind, word := range []string{"grow", "shrink", "promote", "demote"} {
		for _, x := range words(s.opts[word]) {
			name, size, sized := strings.Cut(x, ":")
			u := yarn.ContainerUpdate{Container: s.container(name), Type: yarn.UpdateType(kind)}
			if word == "demote" {
				u.ExecutionType = yarn.Opportunistic
			}
			if sized {
				u.Capability = s.size(size)
			}
			if b := s.rig.e.byID[u.Container]; b != nil {
				u.Version = s.rig.sched.Container(b.ref).Version
			}
			if v, ok := s.opts["version"]; ok {
				u.Version = int32(s.number(v))
			}
			c.Updates = append(c.Updates, u)
		}
	}
	c.Asks = append(s.asks("ask", yarn.Guaranteed), s.asks("lend", yarn.Opportunistic)...)
	return c
}

// asks are those of an option: p:1024x1:count@where,… or p:1024x1:count:id@where.
func (s *script) asks(option string, execution yarn.ExecutionType) (out []yarn.Ask) {
	for _, a := range words(s.opts[option]) {
		a, where, placed := strings.Cut(a, "@")
		parts := strings.Split(a, ":")
		id := int64(-1)
		if len(parts) == 4 {
			id = s.number(parts[3])
		} else if len(parts) != 3 {
			s.fail("ask %s is not priority:size:count", a)
		}
		if !placed {
			where = yarn.AnyHost
		}
		out = append(out, yarn.Ask{Priority: int32(s.number(parts[0])), Capability: s.size(parts[1]),
			Count: int32(s.number(parts[2])), Where: where, RelaxLocality: true, AllocationRequestID: id, ExecutionType: execution})
	}
	return out
}

// shown prints the effects of the last command, kind by kind.
func (s *script) shown() []string {
	fx := &s.rig.fx
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, x := range fx.Transitions {
		name := x.Node.Host
		switch {
		case !x.Application.IsZero():
			name = shortApp(x.Application)
		case !x.Attempt.IsZero():
			name = shortAttempt(x.Attempt)
		}
		add("%s %s -> %s", name, x.From, x.To)
	}
	for _, x := range fx.Saves {
		add("save %d: %s %s", x.Seq, x.Op.Kind, shortRecord(x.Op.Record))
	}
	for _, x := range fx.Containers {
		if !x.Born {
			add("%s ended, exit %d", shortContainer(x.Container), x.Exit)
			continue
		}
		s.sizes[x.Container], s.priorities[x.Container] = x.Resource, x.Priority
		add("%s begins on %s: %s, priority %d%s", shortContainer(x.Container), x.Node.Host, shortSize(x.Resource), x.Priority, when(x.Master, ", master"))
	}
	for _, x := range fx.Logins {
		add("login %s: %t", shortAttempt(x.Attempt), x.Open)
	}
	for _, x := range fx.Launches {
		add("launch %s: %s on %s as %s", shortAttempt(x.Attempt), shortContainer(x.Grant.ID), x.Grant.Node.Host, x.User)
	}
	for _, x := range fx.Stops {
		add("stop %s: %s on %s", shortAttempt(x.Attempt), shortContainer(x.Container), x.Node.Host)
	}
	for _, x := range fx.Forgotten {
		add("new node tokens for %s", x.Host)
	}
	for _, x := range fx.Summaries {
		add("summary of %s", shortApp(x))
	}
	for _, x := range fx.Discarded {
		add("%s is forgotten", shortApp(x))
	}
	out = append(out, s.reservationEvents()...)
	for _, x := range fx.Replies {
		out = append(out, s.answer(x)...)
	}
	return out
}

func when(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// shortRecord prints what matters of a record.
func shortRecord(rec state.Record) string {
	switch x := rec.(type) {
	case state.Application:
		text := shortApp(x.ID)
		if x.User == "" {
			return text
		}
		text += fmt.Sprintf(" in %s, priority %d", x.Queue, x.Priority) + when(x.PlanQueue != "", ", below the plan in "+x.PlanQueue)
		for _, d := range x.Timeouts {
			text += fmt.Sprintf(", until %d", d.ExpireAt)
		}
		return text + when(x.LaunchTime > 0, ", launched") + when(x.Final != yarn.AppNew, fmt.Sprintf(", %s %s", x.Final, x.FinalStatus))
	case state.Attempt:
		text := shortAttempt(x.ID)
		if !x.MasterContainer.IsZero() {
			text += fmt.Sprintf(" by %s on %s", shortContainer(x.MasterContainer), x.MasterNode.Host)
		}
		return text + when(x.Final != yarn.AttemptNew, fmt.Sprintf(", %s %s exit %d", x.Final, x.FinalStatus, x.ExitStatus))
	}
	if x, ok := rec.(state.NodeDeadline); ok {
		text := "drain of " + x.Node.Host
		if x.Source != sourceLists && x.RequestedAt > 0 {
			text = fmt.Sprintf("order for %s", strings.TrimSuffix(x.Node.String(), ":1"))
		}
		return text + when(x.Deadline > 0, fmt.Sprintf(" until %d", x.Deadline)) + when(x.RequestedAt > 0, fmt.Sprintf(" since %d", x.RequestedAt))
	}
	if x, ok := rec.(state.Reservation); ok {
		return shortPromise(x)
	}
	if x, ok := rec.(state.Labels); ok {
		text := "labels"
		for _, l := range x.Known {
			text += " " + l.Name + when(!l.Exclusive, ":shared")
		}
		for _, n := range x.Nodes {
			text += " " + n.Node.String() + "=" + n.Label
		}
		return text
	}
	return rec.Key().String()
}

// show prints what readers see of an application, a node, or the labels.
func (s *script) show(name string) []string {
	s.rig.e.Publish(s.rig.now, &s.rig.reader)
	if name == "nodes" {
		return s.showNodes()
	}
	if name == "labels" {
		var out []string
		for _, l := range s.rig.reader.labels.Known {
			out = append(out, l.Name+when(!l.Exclusive, ", shared"))
		}
		for _, n := range s.rig.reader.labels.Labelled(slices.Collect(maps.Values(s.rig.reader.nodes))) {
			out = append(out, fmt.Sprintf("%s has %s", n.Node, n.Label))
		}
		return out
	}
	if n := s.rig.reader.nodes[nodeID(name)]; n != nil {
		return []string{fmt.Sprintf("%s %s, %s of %s used, %d containers%s", name, n.State, shortSize(n.Used), shortSize(n.Total), n.Containers, when(n.LostReason != "", ", "+headline(n.LostReason))+when(len(n.Labels) > 0, ", label "+strings.Join(n.Labels, ",")))}
	}
	v := s.rig.reader.apps[s.app(name)]
	if v == nil {
		return []string{"unknown"}
	}
	out := []string{fmt.Sprintf("%s %s (%s), %s in %s, priority %d, %d containers, progress %g", name, v.PublicState, v.State, v.FinalStatus, v.Queue, v.Priority, v.Usage.Containers, v.Progress)}
	// What waits tells of its queue and of the clock; that is looked at elsewhere.
	if v.FinalStatus != yarn.FinalUndefined {
		out = append(out, "  "+headline(v.Diagnostics))
	}
	for _, t := range v.Attempts {
		out = append(out, fmt.Sprintf("  %s %s (%s), %s%s", shortAttempt(t.ID), t.PublicState, t.State, t.FinalStatus,
			when(t.FinalStatus != yarn.FinalUndefined, ", "+headline(t.Diagnostics))))
	}
	return out
}
