package capacity

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// TestRoomsAreThere asks, on random clusters where nobody wants anything, for as many containers as the headroom of a user has, and gets them. Then it asks
// for one more; if it does not get that, what was told to stop it does.
func TestRoomsAreThere(t *testing.T) {
	stopped := map[yarn.Code]int{}
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]string{"root.queues": "a,b", "maximum-am-resource-percent": "1", "schedule-asynchronously.enable": "true", "resource-calculator": rapid.SampledFrom([]string{
			"org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator"}).Draw(t, "calculator")}
		share := rapid.IntRange(20, 80).Draw(t, "share of a")
		for q, c := range []int{share, 100 - share} {
			q := string(rune('a' + q))
			set["root."+q+".capacity"] = fmt.Sprint(c)
			set["root."+q+".maximum-capacity"] = fmt.Sprint(rapid.IntRange(c, 100).Draw(t, "maximum of "+q))
			set["root."+q+".user-limit-factor"] = rapid.SampledFrom([]string{"10", "1", "0.5"}).Draw(t, "factor of "+q)
			set["root."+q+".minimum-user-limit-percent"] = rapid.SampledFrom([]string{"100", "50", "25"}).Draw(t, "percent of "+q)
		}
		var props []config.Property
		for _, k := range slices.Sorted(maps.Keys(set)) {
			props = append(props, config.Property{Name: config.Prefix + k, Value: set[k]})
		}
		cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(512, 1), MaxAllocation: yarn.NewResource(8192, 8)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(cfg.Capacity)
		if err != nil {
			t.Fatal(err)
		}
		for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
			s.AddNode(cluster.Node{ID: yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1}, Total: yarn.NewResource(rapid.Int64Range(2, 16).Draw(t, "GB")*1024, rapid.Int64Range(2, 16).Draw(t, "vcores"))})
		}
		clock, n := int64(0), int32(0)
		settle := func() {
			for range 1000 {
				clock++
				if out, more := s.Sweep(100, 1000, yarn.Now{Wall: clock, Mono: clock}, nil); len(out) == 0 && !more {
					return
				}
			}
		}
		ask := func(ref AppRef, count int32, size resource) {
			asks := []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: size, Count: count, RelaxLocality: true}}
			if why := s.Normalize(ref, asks); !why.OK() {
				t.Fatal(why)
			}
			s.Ask(ref, asks)
			settle()
		}
		submit := func(user, leaf string) (AppRef, bool) {
			n++
			id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: n}
			ref, why := s.AddApplication(demand.Application{ID: id, User: user, Unmanaged: true}, leaf)
			if !why.OK() {
				return 0, false
			}
			s.AddAttempt(ref, demand.Attempt{ID: yarn.AttemptID{Application: id, Attempt: 1}})
			return ref, s.app(ref).active
		}
		for range rapid.IntRange(0, 5).Draw(t, "others") {
			if ref, ok := submit(rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "user"), rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "leaf")); ok {
				size := yarn.NewResource(rapid.Int64Range(1, 4).Draw(t, "size")*512, rapid.Int64Range(1, 2).Draw(t, "cores"))
				ask(ref, rapid.Int32Range(1, 6).Draw(t, "count"), size)
				ask(ref, 0, size)
			}
		}
		leaf, user := rapid.SampledFrom([]string{"root.a", "root.b"}).Draw(t, "whose leaf"), rapid.SampledFrom([]string{"ann", "cid"}).Draw(t, "who")
		ref, ok := submit(user, leaf)
		if !ok {
			return
		}
		q := s.tree.ByPath(leaf)
		room := s.Rooms(s.Free(), &q.Queue, user)[0]
		size := room.Largest
		if room.Count == 0 {
			size = s.Min
		}
		if room.Count > 0 {
			ask(ref, int32(min(room.Count, 1000)), size)
		}
		if all := int64(s.AppUsage(ref).Live); all != room.Count {
			t.Fatalf("%s gets %d of %d containers of %v in %s, because of %+v; told to stop it: %+v", user, all, room.Count, size, leaf, s.Explain(ref, 10), room.Stop)
		}
		ask(ref, 1, size)
		got := int64(s.AppUsage(ref).Live)
		stopped[room.Stop.Code]++
		if got == room.Count && !s.stops(q, user, size, room.Stop) {
			t.Fatalf("told to stop it: %+v; what does: %+v", room.Stop, s.Explain(ref, 10))
		}
		if got > room.Count && room.Stop.Code != fit.UserLimit {
			t.Fatalf("%s gets %d of %d containers of %v in %s; told to stop it: %+v", user, got, room.Count, size, leaf, room.Stop)
		}
	})
	t.Log(stopped)
}

// stops tells whether a limit is in the way of another container of a user in a leaf.
func (s *Scheduler) stops(q *Queue, user string, size resource, by yarn.Reason) bool {
	switch by.Code {
	case fit.UserLimit:
		limit, used := leafOf(q).LimitOf(q, 0, user)
		return s.Calc.More(&s.Books.Total, &used, &limit)
	case fit.QueueLimit, fit.ParentLimit:
		at := s.tree.ByPath(by.Subject)
		with, limit := at.Ledger[0].Used.Add(size), at.Shares[0].EffMax
		return !s.Calc.FitsIn(&with, &limit)
	}
	for i := range s.Books.NodeSlots() {
		if free := s.Books.Node(NodeRef(i)).Free(); s.Calc.FitsIn(&size, &free) {
			return false
		}
	}
	return by.Code == fit.NothingFree
}

// manyLeaves is a cluster of so many leaves, nodes and sizes of nodes; some have containers in every leaf of the first ones.
func manyLeaves(t testing.TB, leaves, nodes, sizes int) (s *Scheduler, paths []string) {
	var names []string
	props := []config.Property{{Name: config.Prefix + "maximum-am-resource-percent", Value: "1"}, {Name: config.Prefix + "root.queues"}}
	for i := range leaves {
		names = append(names, fmt.Sprint("q", i))
		paths = append(paths, "root."+names[i])
		props = append(props, config.Property{Name: config.Prefix + paths[i] + ".capacity", Value: fmt.Sprint(100 / float64(leaves))},
			config.Property{Name: config.Prefix + paths[i] + ".maximum-capacity", Value: fmt.Sprint(min(100, 1+i))})
	}
	props[1].Value = strings.Join(names, ",")
	cfg, _, err := config.Parse(props, config.Cluster{MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = New(cfg.Capacity); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		s.AddNode(cluster.Node{ID: yarn.NodeID{Host: fmt.Sprint("h", i), Port: 1}, Total: yarn.NewResource(16384+int64(i%sizes), 16)})
	}
	return s, paths
}

// TestRoomsLookOnce: the headrooms of many leaves look at each node once, and then at the different amounts that nodes have free; what they find is what each
// leaf would find by itself.
func TestRoomsLookOnce(t *testing.T) {
	const leaves, nodes, sizes = 200, 10_000, 4
	s, paths := manyLeaves(t, leaves, nodes, sizes)
	free := s.Free()
	for _, path := range paths {
		q := &s.tree.ByPath(path).Queue
		if got, want := s.Rooms(free, q, "ann"), s.Rooms(s.Free(), q, "ann"); len(got) != 1 || got[0].Count == 0 || !slices.Equal(got, want) {
			t.Fatalf("%s: %+v, by itself %+v", path, got, want)
		}
	}
	if most := nodes + 4*sizes; free.Looks() > most { // the largest container, or the one that the smallest leaf has room for, each looked for and counted
		t.Errorf("%d looks for %d leaves and %d nodes", free.Looks(), leaves, nodes)
	}
}

// BenchmarkRooms asks for the headroom of 200 leaves of 10,000 nodes, all of which have as much free, or each another amount.
func BenchmarkRooms(b *testing.B) {
	for _, sizes := range []int{1, 10_000} {
		s, paths := manyLeaves(b, 200, 10_000, sizes)
		b.Run(fmt.Sprint(sizes, " sizes of nodes"), func(b *testing.B) {
			looks := 0
			for range b.N {
				free := s.Free()
				for _, path := range paths {
					s.Rooms(free, &s.tree.ByPath(path).Queue, "ann")
				}
				looks += free.Looks()
			}
			b.ReportMetric(float64(looks)/float64(b.N), "looks/op")
		})
	}
}
