package secrets

import (
	"sync"

	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// ClientToAM keeps one key per attempt, shared with its master, for the tokens
// by which clients talk to that master. Only secure clusters use it.
type ClientToAM struct {
	how  Rolling // length and random source
	mu   sync.RWMutex
	keys map[yarn.AttemptID][]byte
}

// NewClientToAM has no keys yet. Of how only Length and Random matter.
func NewClientToAM(how Rolling) *ClientToAM {
	return &ClientToAM{how: how, keys: make(map[yarn.AttemptID][]byte)}
}

// Make is a new key, to be stored with the attempt and then given to Register.
func (c *ClientToAM) Make() []byte { return c.how.secret() }

// Register puts an attempt's stored key to use.
func (c *ClientToAM) Register(id yarn.AttemptID, key []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keys[id] = key
}

// Unregister forgets the key of an attempt that has ended.
func (c *ClientToAM) Unregister(id yarn.AttemptID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.keys, id)
}

// Key is the key to tell the attempt's master when it registers.
func (c *ClientToAM) Key(id yarn.AttemptID) ([]byte, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	k, ok := c.keys[id]
	return k, ok
}

// Issue makes a token for a client, if the attempt has a key.
func (c *ClientToAM) Issue(id yarn.AttemptID, client string) (token.Token, bool) {
	k, ok := c.Key(id)
	if !ok {
		return token.Token{}, false
	}
	identifier := token.ClientToAM{Attempt: id, Client: client}.Append(nil)
	return token.Token{Identifier: identifier, Password: token.Sign(k, identifier), Kind: token.KindClientToAM}, true
}
