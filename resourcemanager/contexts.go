package resourcemanager

import (
	"bytes"
	"context"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/yarn"
)

// contexts have the submission contexts, with the secrets in them, outside of the
// engine: for launches and for the store. Where the store can give a context back, only
// those are in memory that are not stored yet or whose masters have been launched.
type contexts struct {
	stored store.Contexts // nil: all are in memory

	mu      sync.Mutex
	byID    map[yarn.ApplicationID]*kept // those in memory
	written appSet                       // those that the store has, in memory or not; empty if stored is nil
}

// kept is a context and who still waits to hear whether it is accepted.
type kept struct {
	bytes    []byte
	waiting  int
	accepted bool
}

// inStore stands for every context that the store has and that is not in memory.
var inStore = &kept{accepted: true}

func newContexts() *contexts {
	return &contexts{byID: map[yarn.ApplicationID]*kept{}, written: appSet{}}
}

// Recovered is told of applications that earlier terms have stored.
func (c *contexts) Recovered(apps []*state.Application) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range apps {
		c.putAway(a.ID, a.Context)
	}
}

// putAway drops the context of an application that is stored if the store can give it back, and keeps it in memory otherwise. The caller holds mu.
func (c *contexts) putAway(id yarn.ApplicationID, context []byte) {
	if c.stored == nil {
		c.byID[id] = &kept{bytes: context, accepted: true}
		return
	}
	delete(c.byID, id)
	c.written.add(id)
}

// of returns the context of an application, nil if there is none. The caller holds mu.
func (c *contexts) of(id yarn.ApplicationID) *kept {
	if k := c.byID[id]; k != nil {
		return k
	}
	if c.written.has(id) {
		return inStore
	}
	return nil
}

// Keep implements client.Contexts. The first context under an id stays, also
// when its application is submitted again.
func (c *contexts) Keep(id yarn.ApplicationID, b []byte) (done func(accepted bool), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.of(id)
	switch {
	case k == nil:
		k = &kept{bytes: b}
		c.byID[id] = k
	case !k.accepted && !bytes.Equal(k.bytes, b):
		return nil, false
	}
	if k != inStore {
		k.waiting++
	}
	return func(accepted bool) { c.settle(id, k, accepted) }, true
}

// settle notes the outcome of a submission. A context that nobody has accepted and nobody
// waits for is forgotten.
func (c *contexts) settle(id yarn.ApplicationID, k *kept, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.byID[id] != k:
	case accepted:
		k.accepted = true
		c.putAway(id, k.bytes)
	default:
		if k.waiting--; k.waiting == 0 && !k.accepted {
			delete(c.byID, id)
		}
	}
}

// Drop forgets a context.
func (c *contexts) Drop(id yarn.ApplicationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
	c.written.remove(id)
}

// Get returns a context, nil if there is none, and keeps it in memory until Release: a
// launch is followed by others, and by tokens for each container. It may wait for the store.
func (c *contexts) Get(id yarn.ApplicationID) ([]byte, error) {
	k := c.find(id)
	if k == nil || k != inStore {
		return k.context(), nil
	}
	b, err := c.stored.Context(id)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of(id) == inStore {
		c.byID[id] = &kept{bytes: b, accepted: true}
	}
	return b, nil
}

func (c *contexts) find(id yarn.ApplicationID) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(id)
}

func (k *kept) context() []byte {
	if k == nil {
		return nil
	}
	return k.bytes
}

// Release is told that the application's master is gone.
func (c *contexts) Release(id yarn.ApplicationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.byID[id]; k != nil && k.accepted {
		c.putAway(id, k.bytes)
	}
}

// complete adds the context to an application's record on its way to the store, if it is
// in memory. It waits for nothing.
func (c *contexts) complete(s *engine.Save) {
	if app, ok := s.Op.Record.(state.Application); ok && s.Op.Kind == state.OpPut {
		app.Context = c.find(app.ID).context()
		s.Op.Record = app
	}
}

// completing is a store that is given records without their contexts, if it has those.
type completing struct {
	store.Store
	contexts store.Contexts
}

// completing wraps the store that the term writes to; s may be nil.
func (c *contexts) completing(s store.Store) store.Store {
	if s == nil || c.stored == nil {
		return s
	}
	return &completing{s, c.stored}
}

// Commit implements store.Store.
func (s *completing) Commit(ctx context.Context, ops []state.Op) error {
	whole := slices.Clone(ops)
	for i, op := range ops {
		app, ok := op.Record.(state.Application)
		if !ok || op.Kind != state.OpPut || app.Context != nil {
			continue
		}
		var err error
		if app.Context, err = s.contexts.Context(app.ID); err != nil {
			return err
		}
		whole[i].Record = app
	}
	return s.Store.Commit(ctx, whole)
}
