package demand

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

func set(d *Demand, b *cluster.Books, k Key, where string, count int32) []Delta {
	p := b.Places.Take(where)
	return d.Set(&b.Places, d.OpenOne(k), Row{Place: p, Count: count, Size: yarn.NewResource(1024, 1), Relax: true}, 0, "", nil)
}

func TestServingANodeCountsDownItsRackAndAll(t *testing.T) {
	b := cluster.NewBooks(false)
	n := b.Node(b.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h1", Port: 1}, Rack: "/r1"}))
	var d Demand
	k := Key{Priority: 1}
	set(&d, b, k, "h1", 1)
	set(&d, b, k, "/r1", 2)
	set(&d, b, k, "*", 2)
	w := d.Find(k)
	if len(w.Rows) != 2 || !w.HasAny || d.Pending(0) != yarn.NewResource(2048, 2) || len(d.Keys()) != 1 {
		t.Fatalf("%+v", w)
	}
	d.Take(measure.Calculator{Types: 2}, &b.Places, w, cluster.NodeLocal, n)
	if len(w.Rows) != 1 || !w.HasAny || w.Left() != 1 || w.At(n.RackPlace).Count != 1 || w.At(n.NodePlace) != nil {
		t.Fatalf("%+v", w)
	}
	d.Take(measure.Calculator{Types: 2}, &b.Places, w, cluster.OffSwitch, n)
	if len(d.Keys()) != 0 || !d.Pending(0).IsZero() || len(w.Rows) != 1 || w.HasAny {
		t.Fatalf("the rack's row stays behind: %+v", w)
	}
}

func TestNoneForAnyHostRemovesAllRows(t *testing.T) {
	b := cluster.NewBooks(false)
	var d Demand
	k := Key{Priority: 1}
	set(&d, b, k, "h1", 1)
	set(&d, b, k, "*", 1)
	d.Find(k).Opportunities = 5
	set(&d, b, k, "*", 0)
	if w := d.Find(k); len(w.Rows) != 0 || w.HasAny || len(d.Keys()) != 0 || w.Opportunities != 5 {
		t.Fatalf("%+v", w)
	}
	if _, ok := b.Places.Find("h1"); ok {
		t.Error("the name of the host is still in use")
	}
}

func TestKeysAreServedByPriorityAndUpdatesLast(t *testing.T) {
	b := cluster.NewBooks(false)
	var d Demand
	update := Key{Priority: 0, Update: yarn.ContainerID{Number: 1}}
	for _, k := range []Key{update, {Priority: 2}, {Priority: 1, RequestID: 7}, {Priority: 1, RequestID: 3}} {
		set(&d, b, k, "*", 1)
	}
	want := []Key{{Priority: 1, RequestID: 3}, {Priority: 1, RequestID: 7}, {Priority: 2}, update}
	for i, w := range d.Keys() {
		if w.Key != want[i] {
			t.Errorf("key %d is %+v", i, w.Key)
		}
	}
}

func TestIdleKeysAreBounded(t *testing.T) {
	for what, counts := range map[string][]int32{"given up": {1, 0}, "never wanted": {0}} {
		b := cluster.NewBooks(false)
		var d Demand
		for i := range 3 * MaxIdleKeys {
			k := Key{RequestID: int64(i)}
			for _, n := range counts {
				d.Open([]Key{k}, nil)
				set(&d, b, k, "*", n)
				d.Close()
			}
		}
		if n := len(d.All()); n > 2*MaxIdleKeys {
			t.Errorf("%d keys are remembered that were %s", n, what)
		}
	}
}

// TestManyKeysAtOnce: a large call leaves the same as its rows one by one.
func TestManyKeysAtOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		b, c := cluster.NewBooks(false), cluster.NewBooks(false)
		var one, all Demand
		for range 4 {
			keys, counts := make([]Key, rng.IntN(40)), make([]int32, 40)
			for i := range keys {
				keys[i] = Key{Priority: rng.Int32N(4), RequestID: rng.Int64N(6), Update: yarn.ContainerID{Number: max(rng.Int64N(3)-1, 0)}}
				counts[i] = rng.Int32N(3)
			}
			for i, w := range all.Open(keys, nil) {
				all.Set(&c.Places, w, Row{Count: counts[i], Size: yarn.NewResource(1024, 1)}, 0, "", nil)
				set(&one, b, keys[i], "*", counts[i])
				if all.Wanting() != one.Wanting() {
					t.Fatalf("after %d of %d rows something is wanted: %v, not %v", i+1, len(keys), all.Wanting(), one.Wanting())
				}
			}
			all.Close()
			same := func(x, y *Want) bool { return x.Key == y.Key && x.Any.Count == y.Any.Count }
			if !slices.EqualFunc(one.Keys(), all.Keys(), same) || !slices.EqualFunc(one.All(), all.All(), same) || one.Pending(0) != all.Pending(0) ||
				one.PendingContainers() != all.PendingContainers() {
				t.Fatalf("%d keys one by one: %v, at once: %v", len(keys), one.Keys(), all.Keys())
			}
		}
	}
}

func TestManyRowsOfAKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := cluster.NewBooks(false)
	var d Demand
	k, want := Key{}, map[string]int32{}
	set(&d, b, k, "*", 1000)
	for range 500 {
		host := fmt.Sprintf("h%d", rng.IntN(40))
		if n := d.Find(k); rng.IntN(2) == 0 && want[host] > 0 {
			p, _ := b.Places.Find(host)
			n.takeRow(&b.Places, p)
			if want[host]--; want[host] == 0 {
				delete(want, host)
			}
		} else {
			want[host] = 1 + rng.Int32N(3)
			set(&d, b, k, host, want[host])
		}
		rows := map[string]int32{}
		for _, r := range d.Find(k).Rows {
			rows[b.Places.Name(r.Place)] = r.Count
			if at := d.Find(k).At(r.Place); at == nil || *at != r {
				t.Fatalf("%s is at %v, not %v", b.Places.Name(r.Place), at, r)
			}
		}
		if !maps.Equal(rows, want) {
			t.Fatalf("rows %v, want %v", rows, want)
		}
	}
}

// TestAskedAfterClear: what is asked for once everything was forgotten is in the partitions that there are.
func TestAskedAfterClear(t *testing.T) {
	places := &cluster.Places{}
	*places = cluster.NewBooks(false).Places
	d := &Demand{}
	for range 3 {
		d.Set(places, d.OpenOne(Key{Priority: 1}), Row{Place: cluster.AnyPlace, Count: 1, Size: yarn.NewResource(1, 1)}, 0, "", nil)
		d.Clear(places, nil)
	}
	if got := d.Asked(); len(got) != 1 || !got[0] {
		t.Errorf("asked in %v", got)
	}
}

// What is done to a copy of a shared demand is not done to the demand.
func TestACopyOfASharedDemand(t *testing.T) {
	b := cluster.NewBooks(false)
	n := b.Node(b.AddNode(cluster.Node{ID: yarn.NodeID{Host: "h1", Port: 1}, Rack: "/r1"}))
	k := Key{Priority: 1}
	var nothing, shared Demand
	set(&shared, b, k, "*", 2)
	for _, d := range []*Demand{nothing.Share(), shared.Share()} {
		var mine, untouched Demand
		d.CopyTo(&mine)
		d.CopyTo(&untouched)
		if mine.Shared() || mine.Pending(0) != d.Pending(0) || mine.PendingContainers() != d.PendingContainers() || len(mine.Keys()) != len(d.Keys()) {
			t.Fatalf("%+v is no copy of %+v", mine, d)
		}
		for _, w := range mine.Keys() {
			w.Opportunities++
			mine.Take(measure.Calculator{Types: 2}, &b.Places, w, cluster.OffSwitch, n)
		}
		set(&mine, b, k, "*", 7)
		set(&mine, b, Key{Priority: 2}, "h1", 1)
		set(&mine, b, Key{Priority: 2}, "*", 1)
		mine.ForgetAsked()
		if mine.PendingContainers() != 8 || len(mine.All()) != 2 {
			t.Errorf("%+v", mine)
		}
		var now Demand
		if d.CopyTo(&now); !reflect.DeepEqual(now, untouched) {
			t.Errorf("%+v became %+v", untouched, now)
		}
	}
}
