package engine

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// crowd is an engine with one application that has very many containers. It counts
// what single commands do.
type crowd struct {
	*rig
	t     *testing.T
	most  int // containers that one command began or ended, since the last look
	beats map[yarn.NodeID]int32
	polls int32
	heard map[Ticket]bool // that were answered
}

const (
	crowdContainers = 3*MaxSlice + 500
	crowdNode       = "n0"
)

func newCrowd(t *testing.T) (*crowd, yarn.AttemptID) {
	set := settings()
	set.Sweeps, set.Labels = true, true
	sched, err := scheduler.New(queues(t, config.Property{Name: "root.default.user-limit-factor", Value: "1000"},
		config.Property{Name: "schedule-asynchronously.enable", Value: "true"}))
	if err != nil {
		t.Fatal(err)
	}
	c := &crowd{rig: newRig(t, set), t: t, beats: map[yarn.NodeID]int32{}, heard: map[Ticket]bool{}}
	c.e, c.sched = New(set, sched), sched
	c.e.nextApp = 1_000_000
	c.join(crowdNode, 0)
	app := appID(1)
	c.does(Submit{Ticket: c.next(), Application: Submission{ID: app, User: "u", Queue: "default", Unmanaged: true}})
	at := yarn.AttemptID{Application: app, Attempt: 1}
	c.does(RegisterMaster{Ticket: c.next(), Attempt: at})
	return c, at
}

func (c *crowd) join(host string, port int32) {
	c.does(RegisterNode{Ticket: c.next(), Node: yarn.NodeID{Host: host, Port: port + 1}, Rack: "/r",
		Total: yarn.NewResource(4*256*crowdContainers, 4*crowdContainers), Health: Health{Healthy: true}})
}

func (c *crowd) registration(rack string, list []ContainerStatus) RegisterNode {
	r := RegisterNode{Ticket: c.next(), Node: yarn.NodeID{Host: crowdNode, Port: 1}, Rack: rack, Total: yarn.NewResource(4*256*crowdContainers, 4*crowdContainers), Health: Health{Healthy: true}}
	for _, s := range list {
		r.Containers = append(r.Containers, RecoveredContainer{ContainerStatus: s})
	}
	if len(list) > 0 {
		r.Applications = []yarn.ApplicationID{list[0].ID.Attempt.Application}
	}
	return r
}

// does applies one command and what is stored by it, and nothing that comes later.
func (c *crowd) does(cmd Command) *Effects {
	c.t.Helper()
	c.fx.Reset()
	for {
		before := len(c.fx.Containers)
		if len(c.pending) == 0 {
			c.apply(cmd)
		} else {
			c.confirm(nil)
		}
		c.most = max(c.most, len(c.fx.Containers)-before)
		if len(c.pending) == 0 {
			for _, r := range c.fx.Replies {
				c.heard[r.Ticket] = true
			}
			return &c.fx
		}
	}
}

// rest goes on until nothing is left to do, and says how many commands that took.
func (c *crowd) rest() (commands int) {
	c.t.Helper()
	for ; c.e.Working() || c.e.SweepDue(); commands++ {
		if commands > 1000 {
			c.t.Fatal("it comes to no end")
		}
		if c.e.Working() {
			c.does(Tick{})
		} else {
			c.does(Sweep{})
		}
	}
	if s := c.sched.Check(); s != "" {
		c.t.Fatal(s)
	}
	return commands
}

// inSlices checks that no command did too much, and that some did something.
func (c *crowd) inSlices(what string, bound int) {
	c.t.Helper()
	if c.most == 0 || c.most > bound {
		c.t.Errorf("%s: one command began or ended %d containers, at most %d may be", what, c.most, bound)
	}
	c.most = 0
}

func (c *crowd) poll(at yarn.AttemptID, change func(*Allocate)) *AllocateReply {
	c.t.Helper()
	cmd := &Allocate{Ticket: c.next(), Attempt: at, ResponseID: c.polls}
	if change != nil {
		change(cmd)
	}
	r := c.does(cmd).Replies[0]
	if r.Err != nil {
		c.t.Fatal(r.Err.Text)
	}
	c.polls = r.Value.(*AllocateReply).ResponseID
	return r.Value.(*AllocateReply)
}

func (c *crowd) beat(id yarn.NodeID, list []ContainerStatus) {
	c.t.Helper()
	r := c.does(&Heartbeat{Ticket: c.next(), Node: id, ResponseID: c.beats[id], Containers: list, Health: Health{Healthy: true}}).Replies[0]
	c.beats[id] = r.Value.(*HeartbeatReply).ResponseID
}

// run gets the containers and has their node report them.
func (c *crowd) run(at yarn.AttemptID) (list []ContainerStatus) {
	c.t.Helper()
	c.most = 0
	granted := c.poll(at, func(a *Allocate) {
		a.Asks = []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: crowdContainers, RelaxLocality: true, AllocationRequestID: -1}}
	}).Granted
	c.rest()
	c.inSlices("an ask", SweepDecisions)
	granted = append(granted, c.poll(at, nil).Granted...)
	if len(granted) != crowdContainers {
		c.t.Fatalf("%d containers", len(granted))
	}
	for _, g := range granted {
		list = append(list, ContainerStatus{ID: g.ID})
	}
	c.beat(granted[0].Node, list)
	c.most = 0
	return list
}

// Whoever begins or ends very many containers does so in slices, between which
// others are served, and nothing is left behind.
func TestSlices(t *testing.T) {
	n0 := yarn.NodeID{Host: crowdNode, Port: 1}
	t.Run("kill", func(t *testing.T) {
		c, at := newCrowd(t)
		list := c.run(at)
		c.does(Kill{Ticket: c.next(), Application: at.Application, Diagnostics: "enough"})
		c.does(NewApplication{Ticket: c.next()})
		if a := c.e.apps[at.Application]; a.state.Final() || !c.e.Working() {
			t.Errorf("%s after the first slice", a.state)
		}
		if n := c.rest(); n < crowdContainers/MaxSlice {
			t.Errorf("%d slices", n)
		}
		c.inSlices("a kill", MaxSlice)
		if a := c.e.apps[at.Application]; a.state != yarn.AppKilled {
			t.Errorf("%s in the end", a.state)
		}
		for i := range list {
			list[i].Complete = true
		}
		c.beat(n0, list)
		c.rest()
		if len(c.e.byID) > 0 {
			t.Errorf("%d containers are left", len(c.e.byID))
		}
	})
	t.Run("ends", func(t *testing.T) {
		c, at := newCrowd(t)
		list := c.run(at)
		for i := range list {
			list[i].Complete, list[i].ExitStatus = true, 7
		}
		c.beat(n0, list)
		c.beat(n0, nil) // a node tells ends only once
		c.rest()
		c.inSlices("ends", MaxSlice)
		told := 0
		for range 2 {
			for _, x := range c.poll(at, nil).Completed {
				if told++; x.ExitStatus != 7 {
					t.Fatalf("%s ended by %d", x.ID, x.ExitStatus)
				}
			}
		}
		if told != crowdContainers || len(c.e.byID) > 0 {
			t.Errorf("%d ends were told, %d containers are left", told, len(c.e.byID))
		}
	})
	for how, leave := range map[string]func(c *crowd, list []ContainerStatus) Command{
		"good-bye":      func(c *crowd, _ []ContainerStatus) Command { return UnregisterNode{Ticket: c.next(), Node: n0} },
		"declared lost": func(*crowd, []ContainerStatus) Command { return ExpireNode{Node: n0} },
		"fallen silent": func(c *crowd, _ []ContainerStatus) Command { c.now.Mono += c.e.set.NodeExpiry; return Tick{} },
		"excluded": func(c *crowd, _ []ContainerStatus) Command {
			return RefreshNodes{Ticket: c.next(), Excluded: map[yarn.NodeID]Exclusion{n0: {}}}
		},
		"unhealthy": func(c *crowd, _ []ContainerStatus) Command {
			return &Heartbeat{Ticket: c.next(), Node: n0, ResponseID: c.beats[n0]}
		},
		"out of step": func(c *crowd, _ []ContainerStatus) Command {
			return &Heartbeat{Ticket: c.next(), Node: n0, ResponseID: c.beats[n0] + 9}
		},
		"in another rack": func(c *crowd, list []ContainerStatus) Command { return c.registration("/elsewhere", list) },
		"without any":     func(c *crowd, _ []ContainerStatus) Command { return c.registration("/r", nil) },
		"told no longer": func(c *crowd, _ []ContainerStatus) Command {
			return &Heartbeat{Ticket: c.next(), Node: n0, ResponseID: c.beats[n0], Health: Health{Healthy: true}}
		},
		"ended before": func(c *crowd, list []ContainerStatus) Command {
			for i := range list {
				list[i].Complete = true
			}
			return c.registration("/r", list)
		},
	} {
		t.Run("departure/"+how, func(t *testing.T) {
			c, at := newCrowd(t)
			list := c.run(at)
			c.does(leave(c, list))
			if !c.e.Working() {
				t.Error("it was done at once")
			}
			again := c.registration("/r", list)
			c.does(again) // and the node comes back before all has ended
			if n := c.rest(); n < crowdContainers/MaxSlice-1 {
				t.Errorf("%d slices", n)
			}
			c.inSlices("a departure", 2*MaxSlice)
			if !c.heard[again.Ticket] {
				t.Error("the node that came back was not answered")
			}
			n := c.e.nodes[n0]
			if n.state != yarn.NodeRunning || n.ref == scheduler.NoNode || len(c.e.byID) != 0 || n.held != 0 {
				t.Errorf("%s afterwards, with %d containers, %d are left", n.state, n.held, len(c.e.byID))
			}
			told := 0
			for range 4 {
				told += len(c.poll(at, nil).Completed)
			}
			if told != crowdContainers {
				t.Errorf("%d ends were told", told)
			}
		})
	}
	t.Run("next life", func(t *testing.T) {
		c, at := newCrowd(t)
		list := c.run(at)
		set := c.e.set
		set.Epoch++
		subs := map[yarn.ApplicationID]Submission{at.Application: {ID: at.Application, User: "u", Queue: "default", Unmanaged: true}}
		c.rig = c.restart(t, set, subs, config.Property{Name: "root.default.user-limit-factor", Value: "1000"})
		again := c.registration("/r", list)
		for i := range again.Containers {
			again.Containers[i].Resource = yarn.NewResource(256, 1)
		}
		c.does(again)
		if n := c.e.nodes[n0]; !c.e.Working() || c.sched.NodeUsage(n.ref).Accepting || c.heard[again.Ticket] {
			t.Error("the node is answered, or gets more, before all that it has is known")
		}
		c.rest()
		c.inSlices("a registration", MaxSlice)
		if n := c.e.nodes[n0]; n.held != crowdContainers || !c.sched.NodeUsage(n.ref).Accepting || !c.heard[again.Ticket] {
			t.Errorf("%d containers are known in the end", n.held)
		}
	})
	t.Run("release", func(t *testing.T) {
		c, at := newCrowd(t)
		var ids []yarn.ContainerID
		for _, s := range c.run(at) {
			ids = append(ids, s.ID)
		}
		for range 3 {
			c.poll(at, func(a *Allocate) { a.Release = ids })
		}
		if len(c.e.jobs) > 2 {
			t.Errorf("%d releases of the same wait", len(c.e.jobs))
		}
		c.rest()
		c.inSlices("a release", 2*MaxSlice) // a call does a slice, and may come in the middle
		if u := c.sched.AppUsage(c.e.apps[at.Application].ref); u.Live != 0 {
			t.Errorf("%d containers are left", u.Live)
		}
	})
	t.Run("what is granted and asked for no more", func(t *testing.T) {
		c, at := newCrowd(t)
		c.e.set.Correct = true
		ask := func(count int32) *AllocateReply {
			return c.poll(at, func(a *Allocate) {
				a.Asks = []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: count, RelaxLocality: true}}
			})
		}
		fetched := len(ask(crowdContainers).Granted)
		c.rest()
		c.most = 0
		if n := len(ask(0).Granted); n > 0 {
			t.Errorf("%d containers are handed out that are to end", n)
		}
		c.rest()
		c.inSlices("a correction", MaxSlice)
		if u := c.sched.AppUsage(c.e.apps[at.Application].ref); int(u.Live) != fetched {
			t.Errorf("%d containers are left, %d were fetched", u.Live, fetched)
		}
		ends := 0
		for n := -1; n != 0; ends += n {
			r := c.poll(at, nil)
			for n = 0; n < len(r.Completed); n++ {
				if why := r.Completed[n].Diagnostics; why != "Container expired since it was unused" {
					t.Fatal(why)
				}
			}
			if len(r.Granted) > 0 {
				t.Fatalf("%d containers are granted that nobody asks for", len(r.Granted))
			}
		}
		if ends != crowdContainers-fetched {
			t.Errorf("the master hears of %d ends, %d containers ended", ends, crowdContainers-fetched)
		}
	})
	t.Run("release of what has not come back", func(t *testing.T) {
		c, at := newCrowd(t)
		var ids []yarn.ContainerID
		for _, s := range c.run(at) {
			ids = append(ids, s.ID)
		}
		c.poll(at, func(a *Allocate) { a.Release = ids })
		master := c.e.apps[at.Application].current()
		master.restored, c.e.set.Epoch = &state.Attempt{}, 1
		master.adopted, master.released = map[yarn.ContainerID]bool{}, map[yarn.ContainerID]bool{}
		away := yarn.ContainerID{Attempt: at, Number: 1 << 20}
		c.poll(at, func(a *Allocate) { a.Release = append(ids[:2*MaxSlice:2*MaxSlice], away) })
		if !c.e.Working() || !master.released[away] {
			t.Error("a release behind very many others is forgotten")
		}
	})
	t.Run("work without end", func(t *testing.T) {
		c, _ := newCrowd(t)
		c.e.begin(func(budget int) (int, bool) { return budget, false })
		c.now.Mono += c.e.set.NodeExpiry
		for range 3 {
			c.does(Tick{})
		}
		if n := c.e.counts.nodes[yarn.NodeLost]; n != 1 {
			t.Errorf("%d nodes are lost", n)
		}
	})
	t.Run("nodes", func(t *testing.T) {
		c, _ := newCrowd(t)
		const nodes = 5 * MaxSlice / workOfNode
		excluded := map[yarn.NodeID]Exclusion{}
		var labelled []view.NodeLabels
		for i := range int32(nodes) {
			c.join("many", i)
			id := yarn.NodeID{Host: "many", Port: i + 1}
			excluded[id] = Exclusion{}
			labelled = append(labelled, view.NodeLabels{Node: id, Labels: []string{"x"}})
		}
		c.rest()
		c.does(AddLabels{Ticket: c.next(), Labels: []scheduler.Label{{Name: "x"}}})
		c.does(ReplaceLabels{Ticket: c.next(), Nodes: labelled})
		if n := c.rest(); n < 4 {
			t.Errorf("%d nodes moved in %d slices", nodes, n+1)
		}
		for id := range excluded {
			if c.e.nodes[id].label != "x" {
				t.Fatalf("%s has label %q", id, c.e.nodes[id].label)
			}
		}
		ticket := c.next()
		c.does(RefreshNodes{Ticket: ticket, Excluded: excluded})
		if _, answered := c.reply(ticket); answered {
			t.Error("it was answered before all nodes had left")
		}
		if n := c.rest(); n < 4 {
			t.Errorf("%d nodes left in %d slices", nodes, n+1)
		}
		if got := c.e.counts.nodes[yarn.NodeDecommissioned]; got != nodes {
			t.Errorf("%d nodes of %d have left", got, nodes)
		}
	})
	t.Run("expiry", func(t *testing.T) {
		c, _ := newCrowd(t)
		const nodes = 5 * MaxSlice / workOfNode
		for i := range int32(nodes) {
			c.join("many", i)
		}
		c.now.Mono += c.e.set.NodeExpiry
		ticks := 0
		for at, ok := c.e.NextDue(); ok && at <= c.now.Mono; at, ok = c.e.NextDue() {
			c.does(Tick{})
			ticks++
		}
		if c.e.counts.nodes[yarn.NodeLost] != nodes+1 || ticks < 4 || ticks > 20 {
			t.Errorf("%d nodes are lost after %d ticks", c.e.counts.nodes[yarn.NodeLost], ticks)
		}
	})
}

// A publication goes on in slices, and at its end readers know everything that was
// there when it began.
func TestPublicationInSlices(t *testing.T) {
	c, at := newCrowd(t)
	c.run(at)
	for i := range int32(2 * MaxSlice) {
		c.does(Submit{Ticket: c.next(), Application: Submission{ID: appID(i + 2), User: fmt.Sprint("u", i%7), Queue: "other", Unmanaged: true}})
	}
	slices := 0
	for x, done := (Publication{Parts: view.Everything}), false; !done; slices++ {
		before := len(c.reader.apps)
		done = c.e.PublishSome(c.now, &c.reader, &x)
		if n := len(c.reader.apps) - before; n > MaxSlice {
			t.Errorf("%d applications in one slice", n)
		}
	}
	if least := (crowdContainers + 2*MaxSlice) / MaxSlice; slices < least {
		t.Errorf("%d slices, not even %d", slices, least)
	}
	a := c.reader.apps[at.Application]
	if len(c.reader.apps) != 2*MaxSlice+1 || a == nil || len(c.reader.live[at.Application].Of(at)) != crowdContainers || len(c.reader.nodes) != 1 {
		t.Errorf("readers see %d applications", len(c.reader.apps))
	}
}

// TestNodesAreDrawnInSlices: the views of the containers of one node are made in slices, too, also where nobody reads containers.
func TestNodesAreDrawnInSlices(t *testing.T) {
	c, at := newCrowd(t)
	c.run(at)
	for x, done := (Publication{Parts: view.Nodes}), false; !done; {
		before := c.e.containersDrawn
		done = c.e.PublishSome(c.now, &c.reader, &x)
		if n := c.e.containersDrawn - before; n > MaxSlice {
			t.Errorf("%d views of containers in one slice", n)
		}
	}
	for _, n := range c.reader.nodes {
		if len(n.RunningOn) != crowdContainers {
			t.Errorf("%d containers of %d are seen on %s", len(n.RunningOn), crowdContainers, n.ID)
		}
	}
	if len(c.reader.nodes) != 1 {
		t.Errorf("%d nodes are seen", len(c.reader.nodes))
	}
}
