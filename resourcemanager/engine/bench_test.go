package engine

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// plant is an engine for benchmarks, without the checks of a rig.
type plant struct {
	b     testing.TB
	e     *Engine
	fx    Effects
	now   yarn.Now
	beats map[yarn.NodeID]int32
	polls map[yarn.AttemptID]int32
}

func newPlant(b testing.TB, nodes, apps int) (p *plant, ids []yarn.NodeID, masters []yarn.AttemptID) {
	sched, err := scheduler.New(queues(b))
	if err != nil {
		b.Fatal(err)
	}
	p = &plant{b: b, e: New(settings(), sched), now: yarn.Now{Wall: 1_000_000, Mono: 500}, beats: map[yarn.NodeID]int32{}, polls: map[yarn.AttemptID]int32{}}
	p.e.nextApp = 1_000_000
	for i := range nodes {
		id := yarn.NodeID{Host: fmt.Sprintf("n%d", i), Port: 1}
		p.do(RegisterNode{Ticket: 1, Node: id, Rack: "/r", Total: yarn.NewResource(65536, 64), Health: Health{Healthy: true}})
		ids = append(ids, id)
	}
	for i := range apps {
		app := appID(int32(i + 1))
		p.do(Submit{Ticket: 1, Application: Submission{ID: app, User: "u", Queue: "default", Unmanaged: true}})
		at := yarn.AttemptID{Application: app, Attempt: 1}
		p.do(RegisterMaster{Ticket: 1, Attempt: at})
		if r := p.fx.Replies; len(r) != 1 || r[0].Err != nil {
			b.Fatalf("a master cannot register: %+v", r)
		}
		masters = append(masters, at)
	}
	return p, ids, masters
}

// do applies a command and confirms at once what it saves.
func (p *plant) do(c Command) {
	p.fx.Reset()
	p.e.Apply(p.now, c, &p.fx)
	for i := 0; i < len(p.fx.Saves); i++ {
		p.e.Apply(p.now, Stored{Seq: p.fx.Saves[i].Seq}, &p.fx)
	}
}

func (p *plant) beat(n yarn.NodeID, list []ContainerStatus) *HeartbeatReply {
	p.do(&Heartbeat{Ticket: 1, Node: n, ResponseID: p.beats[n], Containers: list, Health: Health{Healthy: true}})
	r := p.fx.Replies[0].Value.(*HeartbeatReply)
	p.beats[n] = r.ResponseID
	return r
}

func (p *plant) poll(at yarn.AttemptID, asks []yarn.Ask) *AllocateReply {
	p.do(&Allocate{Ticket: 1, Attempt: at, ResponseID: p.polls[at], Asks: asks})
	if err := p.fx.Replies[0].Err; err != nil {
		p.b.Fatal(err)
	}
	r := p.fx.Replies[0].Value.(*AllocateReply)
	p.polls[at] = r.ResponseID
	return r
}

func want(count int32) []yarn.Ask {
	return []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: count, RelaxLocality: true, AllocationRequestID: -1}}
}

// place allocates that many containers on one node and has them run.
func (p *plant) place(n yarn.NodeID, at yarn.AttemptID, count int) (running []ContainerStatus) {
	p.poll(at, want(int32(count)))
	for tries := 0; len(running) < count; tries++ {
		if tries > count+10 {
			p.b.Fatalf("%d of %d containers were granted", len(running), count)
		}
		p.beat(n, nil)
		for _, g := range p.poll(at, nil).Granted {
			running = append(running, ContainerStatus{ID: g.ID})
		}
	}
	p.beat(n, running)
	return running
}

// BenchmarkHeartbeat is a node with that many containers, where nothing happens.
func BenchmarkHeartbeat(b *testing.B) {
	for _, containers := range []int{0, 5, 20} {
		b.Run(fmt.Sprint(containers), func(b *testing.B) {
			p, nodes, masters := newPlant(b, 100, 100)
			var running []ContainerStatus
			if containers > 0 {
				running = p.place(nodes[0], masters[0], containers)
			}
			c := &Heartbeat{Ticket: 1, Node: nodes[0], ResponseID: p.beats[nodes[0]], Containers: running, Health: Health{Healthy: true}}
			b.ReportAllocs()
			for b.Loop() {
				p.fx.Reset()
				p.e.Apply(p.now, c, &p.fx)
				c.ResponseID = p.fx.Replies[0].Value.(*HeartbeatReply).ResponseID
			}
		})
	}
}

// BenchmarkAllocate is a master that wants nothing.
func BenchmarkAllocate(b *testing.B) {
	p, _, masters := newPlant(b, 100, 100)
	c := &Allocate{Ticket: 1, Attempt: masters[0], ResponseID: p.polls[masters[0]]}
	b.ReportAllocs()
	for b.Loop() {
		p.fx.Reset()
		p.e.Apply(p.now, c, &p.fx)
		c.ResponseID = p.fx.Replies[0].Value.(*AllocateReply).ResponseID
	}
}

// BenchmarkContainer is a container from its ask, ten at a time, to the report of its
// end to its master.
func BenchmarkContainer(b *testing.B) {
	p, nodes, masters := newPlant(b, 100, 100)
	const batch = 10
	b.ReportAllocs()
	for i := 0; i < b.N; i += batch {
		n, at := nodes[i/batch%len(nodes)], masters[i/batch%len(masters)]
		list := p.place(n, at, batch)
		for j := range list {
			list[j].Complete = true
		}
		p.beat(n, list)
		if told := len(p.poll(at, nil).Completed); told != batch {
			b.Fatalf("%d of %d ends were told", told, batch)
		}
	}
}

// BenchmarkDrain is one list that has 5,000 nodes drain, and its taking back: all commands that this makes.
func BenchmarkDrain(b *testing.B) {
	p, nodes, _ := newPlant(b, 5000, 1)
	excluded := map[yarn.NodeID]Exclusion{}
	for _, id := range nodes {
		excluded[id] = Exclusion{Timeout: 600}
	}
	settle := func(c Command) {
		for p.do(c); p.e.Working(); {
			p.do(Tick{})
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		settle(RefreshNodes{Ticket: 1, How: Graceful, Excluded: excluded})
		settle(RefreshNodes{Ticket: 1})
	}
}

// BenchmarkFirstViews publishes 10,000 waiting applications, as after a restart, and reports the cost of one view.
func BenchmarkFirstViews(b *testing.B) {
	const apps = 10_000
	sched, err := scheduler.New(queues(b, config.Property{Name: "maximum-applications", Value: strconv.Itoa(2 * apps)}))
	if err != nil {
		b.Fatal(err)
	}
	p := &plant{b: b, e: New(settings(), sched), now: yarn.Now{Wall: 1_000_000, Mono: 500}}
	p.e.nextApp = apps
	for i := range apps {
		p.do(Submit{Ticket: 1, Application: Submission{ID: appID(int32(i + 1)), User: "u" + strconv.Itoa(i%50), Name: "job " + strconv.Itoa(i), Queue: "default", Type: "MAPREDUCE",
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		g := &gallery{}
		for _, a := range p.e.order {
			p.e.touchApp(a)
		}
		p.e.Publish(p.now, g)
		if len(g.apps) != apps {
			b.Fatalf("%d views of %d", len(g.apps), apps)
		}
	}
	runtime.ReadMemStats(&after)
	n := float64(b.N) * apps
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/view")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "B/view")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/view")
}
