package resourcemanager

import (
	"context"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/yarn"
)

// given is a store of contexts that counts how often one is read.
type given struct {
	store.Store
	contexts map[yarn.ApplicationID]string
	reads    int
	last     []state.Op
}

func (g *given) Context(id yarn.ApplicationID) ([]byte, error) {
	g.reads++
	return []byte(g.contexts[id]), nil
}

func (g *given) Commit(_ context.Context, ops []state.Op) error {
	g.last = ops
	return nil
}

// What the store has is not kept in memory, but for applications with a master.
func TestContextsInStore(t *testing.T) {
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	s := &given{Store: memory.New(store.Options{}), contexts: map[yarn.ApplicationID]string{id: "a"}}
	c := newContexts()
	c.stored = s
	settle, _ := c.Keep(id, []byte("a"))
	if got, _ := c.Get(id); string(got) != "a" || s.reads != 0 {
		t.Fatalf("before it is stored: %q after %d reads", got, s.reads)
	}
	settle(true)
	if c.find(id) != inStore {
		t.Fatal("it is kept although it is stored")
	}
	for range 2 { // a launch, and a token
		if got, _ := c.Get(id); string(got) != "a" || s.reads != 1 {
			t.Fatalf("%q after %d reads", got, s.reads)
		}
	}
	late, _ := c.Keep(id, []byte("b"))
	late(true)
	c.Release(id)
	if c.find(id) != inStore {
		t.Fatal("it is kept although its master is gone")
	}
	if err := c.completing(s).Commit(t.Context(), []state.Op{state.Put(state.Application{ID: id})}); err != nil {
		t.Fatal(err)
	}
	if got := s.last[0].Record.(state.Application).Context; string(got) != "a" {
		t.Errorf("its record was stored with the context %q", got)
	}
	c.Drop(id)
	if got, err := c.Get(id); got != nil || err != nil {
		t.Errorf("dropped: %q, %v", got, err)
	}
	c.Recovered([]*state.Application{{ID: id}})
	if got, _ := c.Get(id); string(got) != "a" {
		t.Errorf("recovered: %q", got)
	}
}
