package fair

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/schedtest/fairtwin"
	"github.com/heddle-project/heddle/yarn"
)

// Numbers that Apache gave.

const m = math.MaxInt32

func sharer(least, most int64, weight float32) fairtwin.Sharer {
	return fairtwin.Sharer{Min: least, Max: most, Weight: weight}
}

func same(n int, s fairtwin.Sharer) []fairtwin.Sharer { return slices.Repeat([]fairtwin.Sharer{s}, n) }

func divided(total int64, list []fairtwin.Sharer) (out []int64) {
	claims := make([]claim, len(list))
	for i, s := range list {
		claims[i] = claim{weight: float64(s.Weight), least: s.Min, most: s.Max, inactive: s.Idle}
	}
	divide(claims, total)
	for _, c := range claims {
		out = append(out, c.share)
	}
	return out
}

func TestShares(t *testing.T) {
	for _, c := range []struct {
		total int64
		list  []fairtwin.Sharer
		want  []int64
	}{
		{100, same(3, sharer(0, m, 1)), []int64{34, 34, 34}},
		{40960, same(3, sharer(0, m, 1)), []int64{13654, 13654, 13654}},
		{40960, []fairtwin.Sharer{sharer(0, m, 1), sharer(0, m, 2), sharer(0, m, 3)}, []int64{6827, 13654, 20481}},
		{65536, []fairtwin.Sharer{sharer(0, m, 1), sharer(0, m, 1.5), sharer(0, m, 0.7)}, []int64{20480, 30720, 14336}},
		{40, []fairtwin.Sharer{sharer(20, m, 1), sharer(18, m, 1), sharer(0, m, 1), sharer(2, m, 1)}, []int64{20, 18, 0, 2}},
		{40, []fairtwin.Sharer{sharer(0, 10, 1), sharer(0, 11, 1), sharer(0, m, 1), sharer(0, m, 1)}, []int64{10, 10, 10, 10}},
		{100, []fairtwin.Sharer{sharer(80, m, 1), sharer(80, m, 1), sharer(0, m, 1)}, []int64{80, 80, 0}},
		{100, []fairtwin.Sharer{sharer(10, m, 0), sharer(0, m, 1)}, []int64{10, 90}},
		{100, []fairtwin.Sharer{sharer(50, 20, 1), sharer(0, m, 1)}, []int64{20, 80}},
		{1000003, same(7, sharer(0, m, 1)), slices.Repeat([]int64{142858}, 7)},
		{1e10, same(3, sharer(0, math.MaxInt64, 1)), []int64{3333333376, 3333333376, 3333333376}},
		{1000, []fairtwin.Sharer{sharer(0, m, 0.1), sharer(0, m, 0.2)}, []int64{333, 667}},
		{1, same(3, sharer(0, m, 1)), []int64{1, 1, 1}},
		{0, []fairtwin.Sharer{sharer(5, m, 1), sharer(0, m, 1)}, []int64{5, 0}},
	} {
		if got := divided(c.total, c.list); !slices.Equal(got, c.want) {
			t.Errorf("%d among %v: %d, want %d", c.total, c.list, got, c.want)
		}
		if got := fairtwin.Shares(c.total, c.list); !slices.Equal(got, c.want) {
			t.Errorf("the twin: %d among %v: %d, want %d", c.total, c.list, got, c.want)
		}
	}
}

// TestSharesLikeTwin: what is shared does not depend on who shares it, and nobody has less than the least or more than the most.
func TestSharesLikeTwin(t *testing.T) {
	amount := rapid.SampledFrom([]int64{0, 1, 3, 100, 1023, 8192, 1e6 + 3, 1e10, math.MaxInt64 / 3, math.MaxInt64})
	rapid.Check(t, func(t *rapid.T) {
		var list []fairtwin.Sharer
		for range rapid.IntRange(0, 6).Draw(t, "n") {
			s := sharer(amount.Draw(t, "least"), amount.Draw(t, "most"), rapid.SampledFrom([]float32{1, 2, 0.1, 0.7, 0, -1, 1000}).Draw(t, "weight"))
			s.Idle = rapid.IntRange(0, 4).Draw(t, "idle") == 4
			list = append(list, s)
		}
		total := amount.Draw(t, "total")
		got, want := divided(total, list), fairtwin.Shares(total, list)
		if !slices.Equal(got, want) {
			t.Fatalf("%d among %v: %d, the twin has %d", total, list, got, want)
		}
		for i, s := range list {
			if exact := int64(1) << 53; s.Min <= exact && !s.Idle && s.Weight > 0 && s.Max > 0 && (got[i] > s.Max || got[i] < min(s.Min, s.Max)) {
				t.Fatalf("%d among %v: %d", total, list, got)
			}
		}
	})
}

// file is a scheduler with that allocation file and those properties.
func file(t *testing.T, text string, props ...config.Property) *Scheduler {
	t.Helper()
	cfg, _, err := config.Parse(props, config.Cluster{Policy: config.FairPolicy, MaxAllocation: yarn.NewResource(8192, 8),
		Allocations: &config.AllocationFile{Name: "fair-scheduler.xml", Text: "<allocations>" + text + "</allocations>"}})
	if err != nil {
		t.Fatal(err)
	}
	return New(cfg.Fair)
}

func TestMastersShare(t *testing.T) {
	for _, c := range []struct {
		part        string
		share, want yarn.Resource
	}{
		{"0.3", yarn.NewResource(1000, 10), yarn.NewResource(301, 4)}, // in single precision 0.3 is a little more
		{"0.1", yarn.NewResource(8192, 8), yarn.NewResource(820, 1)},
		{"0.5", yarn.NewResource(1000, 10), yarn.NewResource(500, 5)},
	} {
		s := file(t, "<queue name='a'><maxAMShare>"+c.part+"</maxAMShare></queue>")
		q := s.find("a")
		q.share = c.share
		if got := s.amLimit(q); got != c.want {
			t.Errorf("%s of %v is %v, want %v", c.part, c.share, got, c.want)
		}
	}
}

// TestOrderOfNames: among equals names decide, as texts.
func TestOrderOfNames(t *testing.T) {
	name := func(n int32) candidate {
		return candidate{name: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}.String()}
	}
	a, b := name(10000), name(9999)
	if a.compare(&b, 0) >= 0 {
		t.Errorf("%s does not come before %s", a.name, b.name)
	}
}

// TestOrderOfFair: who wants something, who lacks something of its minimum, usage by weight.
func TestOrderOfFair(t *testing.T) {
	type one struct {
		used, demand, least int64
		weight              float64
	}
	for i, c := range [][2]one{ // the first before the second
		{{used: 9, demand: 9, weight: 1}, {demand: 0, weight: 1}},
		{{used: 9, demand: 99, least: 10, weight: 1}, {used: 1, demand: 99, weight: 1}},
		{{used: 9, demand: 9, weight: 2}, {used: 9, demand: 9, least: 10, weight: 1}}, // which wants no more
		{{used: 4, demand: 99, least: 10, weight: 1}, {used: 1, demand: 99, least: 2, weight: 1}},
		{{used: 4, demand: 99, weight: 2}, {used: 3, demand: 99, weight: 1}},
		{{used: 99, demand: 99, weight: 1}, {used: 0, demand: 9, weight: 0}},
		{{used: 3, demand: 9, weight: 0}, {used: 4, demand: 9, weight: 0}},
		{{used: 5, demand: 99, least: 10, weight: 2}, {used: 5, demand: 99, least: 10, weight: 1}},
	} {
		var p [2]candidate
		for j, o := range c {
			p[j] = candidate{}
			p[j].key.byMemory(o.used, o.demand, o.least, o.weight)
		}
		if p[0].compare(&p[1], fairNumbers) >= 0 || p[1].compare(&p[0], fairNumbers) <= 0 {
			t.Errorf("%d: %+v does not come before %+v", i, c[0], c[1])
		}
	}
}

// TestHeartbeat: how many containers of 1024 MiB heartbeats place on a node of 8192 MiB with a master of 1024 MiB.
func TestHeartbeat(t *testing.T) {
	set := func(name, value string) config.Property {
		return config.Property{Name: config.FairPrefix + name, Value: value, Origin: "test"}
	}
	many, whole := set("assignmultiple", "true"), set("dynamic.max.assign", "false")
	for what, c := range map[string]struct {
		props []config.Property
		want  []int
	}{
		"one":       {nil, []int{1, 1, 1}},
		"half":      {[]config.Property{many}, []int{4, 2, 1}},
		"three":     {[]config.Property{many, whole, set("max.assign", "3")}, []int{3, 3, 1}},
		"unlimited": {[]config.Property{many, whole}, []int{7, 0, 0}},
	} {
		s := file(t, "<queue name='a'><maxAMShare>-1</maxAMShare></queue>", c.props...)
		n := busy(s, "root.a", 20)
		var got []int
		if out := s.Offer(n, yarn.Now{}, nil); len(out) != 0 {
			t.Errorf("%s: what nobody has looked at is served: %v", what, out)
		}
		s.Recompute(yarn.Now{})
		for range c.want {
			got = append(got, len(s.Offer(n, yarn.Now{}, nil)))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: heartbeats place %d containers, want %d", what, got, c.want)
		}
	}
}

// busy is a scheduler with a node on which an application has its master, and asks for so many containers more since shares were computed.
func busy(s *Scheduler, path string, count int32) cluster.NodeRef {
	n := s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h1", Port: 1}, Total: yarn.NewResource(8192, 8)})
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	size := yarn.NewResource(1024, 1)
	a, _ := s.AddApplication(demand.Application{ID: id, User: "ann", AM: size, Placed: true}, path)
	s.AddAttempt(a, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}, AM: size})
	s.Ask(a, []yarn.Ask{{Where: yarn.AnyHost, Capability: size, Count: 1, RelaxLocality: true}})
	s.Recompute(yarn.Now{})
	s.Offer(n, yarn.Now{}, nil)
	s.Ask(a, []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: count, RelaxLocality: true}})
	return n
}
