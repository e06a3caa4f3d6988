package capacity

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/yarn"
)

// queries are all methods that change nothing, by name.
var queries = map[string]func(p *play, s *Scheduler){
	"Basis":         func(p *play, s *Scheduler) { s.Basis().Prepare(p.otherConfig()) },
	"Check":         func(_ *play, s *Scheduler) { s.Check() },
	"CheckPriority": func(p *play, s *Scheduler) { s.CheckPriority(p.application(), p.somePath()) },
	"CheckUpdates": func(p *play, s *Scheduler) {
		queryOne(p, "container", p.containers, func(c ContainerRef) []core.UpdateError { return s.CheckUpdates(p.update(s, c)) })
	},
	"ClusterTotal": func(_ *play, s *Scheduler) { s.ClusterTotal() },
	"Container":    func(p *play, s *Scheduler) { queryOne(p, "container", p.containers, s.Container) },
	"Containers": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) []ContainerRef { return s.Containers(a, nil) })
	},
	"ContainersOn": func(p *play, s *Scheduler) {
		queryOne(p, "node", p.nodes, func(n NodeRef) []ContainerRef { return s.ContainersOn(n, 3) })
	},
	"DefaultTotal": func(_ *play, s *Scheduler) { s.DefaultTotal() },
	"Activities":   func(p *play, s *Scheduler) { queryOne(p, "node", p.nodes, s.Activities) },
	"AppActivities": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) []core.NodeActivity { return s.AppActivities(a, 3) })
	},
	"Admission": func(p *play, s *Scheduler) { queryOne(p, "app", p.apps, s.Admission) },
	"AppUsage":  func(p *play, s *Scheduler) { queryOne(p, "app", p.apps, s.AppUsage) },
	"Explain": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) []yarn.Reason { return s.Explain(a, 10) })
	},
	"Remedy": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) (out []core.Remedy) {
			for _, why := range s.Explain(a, 10) {
				out = append(out, s.Remedy(a, why))
			}
			return out
		})
	},
	"FindNode":      func(_ *play, s *Scheduler) { s.FindNode(yarn.NodeID{Host: "h1", Port: 1}) },
	"Headroom":      func(p *play, s *Scheduler) { queryOne(p, "app", p.apps, s.Headroom) },
	"Lifetime":      func(p *play, s *Scheduler) { s.Lifetime(p.somePath(), 10) },
	"MayAdminister": func(p *play, s *Scheduler) { s.MayAdminister(p.somePath(), "dan", "", nil) },
	"MayMove": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) yarn.Reason { return s.MayMove(a, p.somePath()) })
	},
	"MaySubmit":         func(p *play, s *Scheduler) { s.MaySubmit(p.somePath(), "dan", "", nil) },
	"MaximumAllocation": func(p *play, s *Scheduler) { s.MaximumAllocation(p.somePath()) },
	"MinimumAllocation": func(_ *play, s *Scheduler) { s.MinimumAllocation() },
	"NodeUsage":         func(p *play, s *Scheduler) { queryOne(p, "node", p.nodes, s.NodeUsage) },
	"Normalize": func(p *play, s *Scheduler) {
		queryOne(p, "app", p.apps, func(a AppRef) yarn.Reason { return s.Normalize(a, p.asks()) })
	},
	"NormalizeAM": func(p *play, s *Scheduler) { s.NormalizeAM(p.somePath(), p.asks(), "z", true) },
	"Picture":     func(_ *play, s *Scheduler) { s.Picture().Draw(5) },
	"Place":       func(p *play, s *Scheduler) { s.Place(p.application()) },
	"Queue":       func(p *play, s *Scheduler) { s.Queue(p.somePath()) },
	"QueueOf":     func(p *play, s *Scheduler) { queryOne(p, "app", p.apps, s.QueueOf) },
	"Queues":      func(_ *play, s *Scheduler) { s.Queues() },
	"RefitAM":     func(p *play, s *Scheduler) { s.RefitAM(p.asks()) },
	"Resolve":     func(p *play, s *Scheduler) { s.Resolve(p.somePath()) },
	"Validate":    func(p *play, s *Scheduler) { _ = s.Validate(p.otherConfig()) },
}

// queryOne asks about one of several things, if there is any.
func queryOne[K, T any](p *play, what string, from []K, query func(K) T) {
	if k, ok := pickFrom(p, what, from); ok {
		query(k)
	}
}

func (p *play) somePath() string {
	return rapid.SampledFrom([]string{"root.a", "b1", "root.c.c2.c3", "root.b", "c", "root.b.b2", "root.c.c2.none", ""}).Draw(p.t, "queue asked about")
}

// otherConfig is a configuration that may have queues and partitions which are not
// those of the scheduler.
func (p *play) otherConfig() *config.Config {
	sc := *p.sc
	sc.large, sc.labels = rapid.Bool().Draw(p.t, "large"), sc.labels || rapid.Bool().Draw(p.t, "other labels")
	return drawConfig(p.t, &sc)
}

func (p *play) application() *demand.Application {
	return &demand.Application{ID: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1000}, User: "dan", Queue: p.somePath(), Tags: []string{"workflowid:w"}}
}

func (p *play) asks() []yarn.Ask {
	return []yarn.Ask{{Where: yarn.AnyHost, Capability: p.size("asked size", 1, 7), Count: 3, RelaxLocality: true, Label: p.aLabel(), LabelSet: true},
		{Where: "nowhere", Capability: p.size("size there", 1, 7), Count: 3}}
}

// update is a change of a container, and whose it is.
func (p *play) update(s *Scheduler, c ContainerRef) (AppRef, []yarn.ContainerUpdate) {
	container := s.Container(c)
	kind := rapid.SampledFrom([]yarn.UpdateType{yarn.IncreaseResource, yarn.DecreaseResource}).Draw(p.t, "kind")
	return container.App, []yarn.ContainerUpdate{{Container: container.ID, Version: container.Version, Type: kind, Capability: p.size("new size", 1, 7)}}
}

// query asks one of the two schedulers something.
func (p *play) query() {
	if p.asked == nil {
		return
	}
	for range rapid.IntRange(0, 2).Draw(p.t, "queries") {
		name := rapid.SampledFrom(p.asked).Draw(p.t, "query")
		was := stateOf(p.quick)
		queries[name](p, p.quick)
		if what := was.changed(p.quick); what != "" {
			p.t.Fatalf("%s has written %s", name, what)
		}
	}
}

// TestQueriesLeaveNoTrace asks one scheduler anything between any two calls. The twin
// and the other scheduler are not asked.
func TestQueriesLeaveNoTrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if rapid.IntRange(0, 5).Draw(t, "seldom") > 0 {
			return
		}
		p := newPlay(t)
		p.asked = slices.Sorted(maps.Keys(queries))
		p.begin()
		for range rapid.IntRange(20, 50).Draw(t, "steps") {
			p.step(p.steps())
		}
	})
}
