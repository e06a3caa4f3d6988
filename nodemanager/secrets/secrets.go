// Package secrets checks the tokens that masters bring to a node: node tokens, by which they log in, and container tokens,
// each of which starts one container. The keys come from the ResourceManager.
package secrets

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Part is the name under which the keys are kept for the next life.
const Part = "secrets"

// Bounds of what is remembered.
const (
	MaxStarted    = 1 << 17 // containers whose start a token may not repeat; beyond it the oldest are forgotten
	MaxRemembered = 1 << 17 // attempts whose key stays good; beyond it they need tokens of the keys in use
)

// Key is a master key as the ResourceManager gives it out.
type Key struct {
	ID    int32
	Bytes []byte
}

// pair is the key in use and the one before it: the ResourceManager rolls them.
type pair struct{ Current, Previous *Key }

func (k *Key) equal(o *Key) bool { return k.ID == o.ID && bytes.Equal(k.Bytes, o.Bytes) }

// set makes a key the current one and tells whether it is new. A key without bytes would let anybody sign: it is passed over.
func (p *pair) set(k Key) bool {
	if len(k.Bytes) == 0 || p.Current != nil && p.Current.equal(&k) {
		return false
	}
	p.Previous, p.Current = p.Current, &k
	return true
}

// find is the key with that id. Ids begin anywhere at a ResourceManager's start; if two are the same, the newer key counts.
func (p *pair) find(id int32) *Key {
	for _, k := range []*Key{p.Current, p.Previous} {
		if k != nil && k.ID == id {
			return k
		}
	}
	return nil
}

// Keys are all that a node knows. It is safe for concurrent use.
type Keys struct {
	types yarn.ResourceTypes
	keep  func(state.Op)

	mu         sync.RWMutex
	containers pair
	nodes      pair
	remembered map[yarn.AttemptID]Key     // an attempt's key stays good until its application ends here
	started    map[yarn.ContainerID]int64 // container → when the token that started it expires
	expiries   []yarn.ContainerID         // oldest first
}

// New has no keys yet. Keep is given what the next life must know; it must not block.
func New(types yarn.ResourceTypes, keep func(state.Op)) *Keys {
	return &Keys{types: types, keep: keep, remembered: map[yarn.AttemptID]Key{}, started: map[yarn.ContainerID]int64{}}
}

// SetContainerKey takes the key of container tokens that the ResourceManager has told.
func (k *Keys) SetContainerKey(x Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.containers.set(x) {
		k.put(containerKeys, k.containers)
	}
}

// SetNodeKey takes the key of node tokens that the ResourceManager has told.
func (k *Keys) SetNodeKey(x Key) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.nodes.set(x) {
		k.put(nodeKeys, k.nodes)
	}
}

// Current are the ids of the keys in use; false: there are none yet.
func (k *Keys) Current() (container, node int32, ok bool) {
	k.mu.RLock()
	defer k.mu.RUnlock()
	if k.containers.Current == nil || k.nodes.Current == nil {
		return 0, 0, false
	}
	return k.containers.Current.ID, k.nodes.Current.ID, true
}

// Password implements ipc.Tokens for node tokens.
func (k *Keys) Password(identifier []byte) (password []byte, user string, err error) {
	id, err := token.ParseNM(identifier)
	if err != nil {
		return nil, "", invalid("%v", err)
	}
	k.mu.RLock()
	defer k.mu.RUnlock()
	key := k.nodes.find(id.KeyID)
	if key == nil {
		if old, ok := k.remembered[id.Attempt]; ok {
			key = &old
		}
	}
	if key == nil {
		return nil, "", invalid("Given NMToken for application : %s seems to have been generated illegally.", id.Attempt)
	}
	return token.Sign(key.Bytes, identifier), id.Attempt.String(), nil
}

// Good tells whether a node token's key is still one that may start containers: its bearer may have logged in long ago.
func (k *Keys) Good(id token.NM) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	have, known := k.remembered[id.Attempt]
	return k.nodes.find(id.KeyID) != nil || known && have.ID == id.KeyID
}

// Remember keeps the key of a node token that has started a container: the attempt may go on using it. It is to be called
// while the container's application has not ended here, lest nobody calls Finished.
func (k *Keys) Remember(id token.NM) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := k.nodes.find(id.KeyID)
	have, known := k.remembered[id.Attempt]
	if key == nil || known && have.equal(key) || !known && len(k.remembered) >= MaxRemembered {
		return
	}
	k.remembered[id.Attempt] = *key
	k.put(attemptPrefix+id.Attempt.String(), *key)
}

// Finished forgets the keys of an ended application's attempts.
func (k *Keys) Finished(app yarn.ApplicationID) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.remembered {
		if id.Application == app {
			delete(k.remembered, id)
			k.keep(state.DropPart{Part: Part, Key: attemptPrefix + id.String()})
		}
	}
}

// Container checks that a container token is genuine and reads it.
func (k *Keys) Container(identifier, password []byte) (token.Container, error) {
	what, err := token.ParseContainer(identifier, k.types)
	if err != nil {
		return token.Container{}, invalid("%v", err)
	}
	k.mu.RLock()
	key := k.containers.find(what.KeyID)
	k.mu.RUnlock()
	if key == nil {
		return token.Container{}, invalid("Given Container %s seems to have an illegally generated token.", what.ID)
	}
	if !token.Verify(key.Bytes, identifier, password) {
		return token.Container{}, invalid("Invalid container token used for starting container on : %s", what.NodeAddress)
	}
	return what, nil
}

// Fresh tells whether no token has started a container yet, as far as that is remembered.
func (k *Keys) Fresh(id yarn.ContainerID) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	_, again := k.started[id]
	return !again
}

// Started notes that a container has been started with a token that expires at a moment, milliseconds since 1970: until then
// the container is not Fresh.
func (k *Keys) Started(id yarn.ContainerID, expires, now int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, again := k.started[id]; again {
		return
	}
	for len(k.expiries) > 0 && (k.started[k.expiries[0]] < now || len(k.expiries) >= MaxStarted) {
		k.drop(k.expiries[0])
		k.expiries = k.expiries[1:]
	}
	k.started[id] = expires
	k.expiries = append(k.expiries, id)
	k.put(startPrefix+id.String(), expires)
}

func (k *Keys) drop(id yarn.ContainerID) {
	delete(k.started, id)
	k.keep(state.DropPart{Part: Part, Key: startPrefix + id.String()})
}

func invalid(format string, args ...any) error {
	return &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: fmt.Sprintf(format, args...)}
}
