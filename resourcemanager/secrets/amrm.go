package secrets

import (
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// AMRM keeps the keys of AMRM tokens, by which masters log in, and which attempts may do
// so. It checks the tokens at the masters' port.
//
// A next key signs new tokens as soon as Saved has confirmed that it is stored, and not
// before: no token may become invalid by a restart.
type AMRM struct {
	mu       sync.RWMutex
	ring     ring
	saved    bool // the store has ring.next
	attempts map[yarn.AttemptID]struct{}
}

// NewAMRM makes a first key. Unless Restore replaces it, State must be stored before a
// token is issued.
func NewAMRM(how Rolling, now time.Time) *AMRM {
	return &AMRM{ring: newRing(how, now), attempts: make(map[yarn.AttemptID]struct{})}
}

// Restore takes over the keys that were stored, and tells whether there were any. If
// not, State must be stored.
func (a *AMRM) Restore(keys state.MasterKeys, now time.Time) bool {
	if len(keys.Current.Bytes) == 0 {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ring.restore(keys, now)
	a.saved = a.ring.next != nil
	return true
}

// State is the record of the present keys.
func (a *AMRM) State() state.MasterKeys {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.ring.keys()
}

// Tick rolls or promotes when that is due. After a change State must be stored, and then
// Saved called with it.
func (a *AMRM) Tick(now time.Time) Change {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ring.next != nil && !a.saved {
		return Unchanged // a key that is not stored must not become the only one
	}
	change := a.ring.tick(now)
	if change != Unchanged {
		a.saved = false
	}
	return change
}

// Due is when Tick will have something to do.
func (a *AMRM) Due() time.Time {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return a.ring.due()
}

// Saved confirms that keys are stored.
func (a *AMRM) Saved(keys state.MasterKeys) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ring.next != nil && keys.Next.ID == a.ring.next.ID {
		a.saved = true
	}
}

// Register lets an attempt log in with its token.
func (a *AMRM) Register(id yarn.AttemptID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.attempts[id] = struct{}{}
}

// Unregister ends that.
func (a *AMRM) Unregister(id yarn.AttemptID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.attempts, id)
}

// Issue makes the token of an attempt. Its service is empty; the master sets it. Until
// the keys change every call gives the same token.
func (a *AMRM) Issue(id yarn.AttemptID) token.Token {
	k := a.signing()
	return k.issue(token.KindAMRM, "", token.AMRM{Attempt: id, KeyID: k.ID}.Append(nil))
}

// Renew makes a new token for a master that logged in with one signed by key keyID, if
// that is not the key that signs now.
func (a *AMRM) Renew(id yarn.AttemptID, keyID int32) (token.Token, bool) {
	if k := a.signing(); k.ID == keyID {
		return token.Token{}, false
	}
	return a.Issue(id), true
}

func (a *AMRM) signing() *key {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if a.ring.next != nil && a.saved {
		return a.ring.next
	}
	return a.ring.current
}

// Password is the password for an identifier, and the attempt's id as the user who logs
// in. Errors are *ipc.RemoteError of class InvalidToken.
func (a *AMRM) Password(identifier []byte) (password []byte, user string, err error) {
	id, err := token.ParseAMRM(identifier)
	if err != nil {
		return nil, "", invalid("%v", err)
	}
	k, registered := a.lookup(id)
	if !registered {
		// compat: masters of ended attempts log this text, and users search for it.
		return nil, "", invalid("%s not found in AMRMTokenSecretManager.", id.Attempt)
	}
	if k == nil {
		return nil, "", invalid("Invalid AMRMToken from %s: its key %d has been retired", id.Attempt, id.KeyID)
	}
	return k.sign(identifier), id.User(), nil
}

func (a *AMRM) lookup(id token.AMRM) (k *key, registered bool) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	_, registered = a.attempts[id.Attempt]
	return a.ring.find(id.KeyID), registered
}
