package resourcemanager

import (
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// contexts keep the submission contexts, with the secrets in them, outside of
// the engine: for launches and for the store.
type contexts struct {
	mu   sync.Mutex
	byID map[yarn.ApplicationID][]byte
}

func newContexts() *contexts { return &contexts{byID: map[yarn.ApplicationID][]byte{}} }

// Keep remembers a context unless one is known, and tells whether it did.
func (c *contexts) Keep(id yarn.ApplicationID, b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.byID[id]; known {
		return false
	}
	c.byID[id] = b
	return true
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
	return c.byID[id]
}

// complete adds the context to an application's record on its way to the store.
func (c *contexts) complete(s *engine.Save) {
	if app, ok := s.Op.Record.(state.Application); ok && s.Op.Kind == state.OpPut {
		app.Context = c.get(app.ID)
		s.Op.Record = app
	}
}
