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

// Two callers may submit the same under one id. What one of them hears does not take the context from the other, and one that nobody has accepted is forgotten.
func TestContextsSubmittedTwice(t *testing.T) {
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	for _, stored := range []bool{false, true} {
		for _, outcomes := range [][2]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
			c := newContexts()
			if stored {
				c.stored = &given{contexts: map[yarn.ApplicationID]string{id: "a"}}
			}
			first, ok := c.Keep(id, []byte("a"))
			second, again := c.Keep(id, []byte("a"))
			if _, other := c.Keep(id, []byte("b")); !ok || !again || other {
				t.Fatalf("kept: %t, %t, and another one: %t", ok, again, other)
			}
			first(outcomes[0])
			if got, err := c.Get(id); string(got) != "a" || err != nil {
				t.Errorf("stored %t, accepted %t, then unknown: %q, %v", stored, outcomes[0], got, err)
			}
			second(outcomes[1])
			want := ""
			if outcomes[0] || outcomes[1] {
				want = "a"
			}
			if got, err := c.Get(id); string(got) != want || err != nil {
				t.Errorf("stored %t, accepted %v: %q, %v, want %q", stored, outcomes, got, err, want)
			}
			c.Drop(id)
			if got, err := c.Get(id); got != nil || err != nil {
				t.Errorf("stored %t, accepted %v, dropped: %q, %v", stored, outcomes, got, err)
			}
		}
	}
}
