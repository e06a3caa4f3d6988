package secrets

import (
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Containers keeps the keys of container tokens, by which containers are started.
type Containers struct {
	types yarn.ResourceTypes
	mu    sync.RWMutex
	ring  ring
}

// NewContainers makes a first key. Types are those of the cluster.
func NewContainers(how Rolling, types yarn.ResourceTypes, now time.Time) *Containers {
	return &Containers{types: types, ring: newRing(how, now)}
}

// Tick rolls or promotes when that is due.
func (c *Containers) Tick(now time.Time) Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ring.tick(now)
}

// Due is when Tick will have something to do.
func (c *Containers) Due() time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.ring.due()
}

// Current is the key for a node that registers.
func (c *Containers) Current() state.MasterKey {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.ring.current.MasterKey
}

// ForHeartbeat is the key for the answer to a heartbeat of a node whose newest key has
// the id known; ok is false if the node has it already.
func (c *Containers) ForHeartbeat(known int32) (k state.MasterKey, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.ring.offer(known)
}

// usualSize is enough for most identifiers, in bytes.
const usualSize = 256

// Issue makes the token of a container. It fills in the key id. service is the node's
// address for masters.
func (c *Containers) Issue(what token.Container, service string) token.Token {
	c.mu.RLock()
	k := c.ring.current
	c.mu.RUnlock()
	what.KeyID = k.ID
	return k.issue(token.KindContainer, service, what.Append(make([]byte, 0, usualSize+len(what.LogContext)), c.types))
}

// Verify checks a container token that was issued here, and returns what it says.
func (c *Containers) Verify(t token.Token) (token.Container, error) {
	what, err := token.ParseContainer(t.Identifier, c.types)
	if err != nil {
		return token.Container{}, invalid("%v", err)
	}
	c.mu.RLock()
	k := c.ring.find(what.KeyID)
	c.mu.RUnlock()
	if k == nil || !k.verify(t.Identifier, t.Password) {
		return token.Container{}, invalid("the token of %s is not signed with a key in use", what.ID)
	}
	return what, nil
}
