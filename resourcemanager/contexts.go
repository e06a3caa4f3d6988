package resourcemanager

import (
	"bytes"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// contexts keep the submission contexts, with the secrets in them, outside of
// the engine: for launches and for the store.
type contexts struct {
	mu   sync.Mutex
	byID map[yarn.ApplicationID]*kept
}

// kept is a context and who still waits to hear whether it is accepted.
type kept struct {
	bytes    []byte
	waiting  int
	accepted bool
}

func newContexts() *contexts { return &contexts{byID: map[yarn.ApplicationID]*kept{}} }

// Keep implements client.Contexts. The first context under an id stays, also
// when its application is submitted again.
func (c *contexts) Keep(id yarn.ApplicationID, b []byte) (done func(accepted bool), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.byID[id]
	switch {
	case k == nil:
		k = &kept{bytes: b}
		c.byID[id] = k
	case !k.accepted && !bytes.Equal(k.bytes, b):
		return nil, false
	}
	k.waiting++
	return func(accepted bool) { c.forgetUnwanted(id, k, accepted) }, true
}

// forgetUnwanted forgets a context that nobody has accepted and nobody waits for.
func (c *contexts) forgetUnwanted(id yarn.ApplicationID, k *kept, accepted bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.waiting--
	k.accepted = k.accepted || accepted
	if k.waiting == 0 && !k.accepted && c.byID[id] == k {
		delete(c.byID, id)
	}
}

// Drop forgets a context.
func (c *contexts) Drop(id yarn.ApplicationID) {
	c.mu.Lock()
	delete(c.byID, id)
	c.mu.Unlock()
}

func (c *contexts) get(id yarn.ApplicationID) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.byID[id]; k != nil {
		return k.bytes
	}
	return nil
}

// complete adds the context to an application's record on its way to the store.
func (c *contexts) complete(s *engine.Save) {
	if app, ok := s.Op.Record.(state.Application); ok && s.Op.Kind == state.OpPut {
		app.Context = c.get(app.ID)
		s.Op.Record = app
	}
}
