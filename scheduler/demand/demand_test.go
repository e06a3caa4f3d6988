package demand

import (
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
	b := cluster.NewBooks(false)
	var d Demand
	for i := range 3 * MaxIdleKeys {
		k := Key{RequestID: int64(i)}
		set(&d, b, k, "*", 1)
		set(&d, b, k, "*", 0)
	}
	if n := len(d.All()); n > 2*MaxIdleKeys {
		t.Errorf("%d keys are remembered", n)
	}
}
