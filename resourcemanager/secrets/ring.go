package secrets

import (
	"time"

	"github.com/heddle-project/heddle/resourcemanager/state"
)

// Change is what a Tick changed.
type Change uint8

// The changes of a tick.
const (
	Unchanged Change = iota
	Rolled           // there is a next key now, beside the current one
	Promoted         // the next key has become the current one
)

// ring is the state machine of keys that roll. It is either steady, with a current key
// alone, or rolling, with a next one, too. It has no lock of its own.
type ring struct {
	how       Rolling
	current   *key
	next      *key      // nil while steady
	serial    int32     // id of the newest key
	rollAt    time.Time // when the next roll is due
	promoteAt time.Time // when next becomes current
}

func newRing(how Rolling, now time.Time) ring {
	r := ring{how: how, serial: how.serial(), rollAt: now.Add(how.Interval)}
	r.current = r.make()
	return r
}

// make creates a key with a new id. The zero id is skipped: records use it for
// "no key".
func (r *ring) make() *key {
	r.serial++
	if r.serial == 0 {
		r.serial++
	}
	return newKey(state.MasterKey{ID: r.serial, Bytes: r.how.secret()})
}

// tick rolls or promotes when that is due, one of them at a time. A late tick never
// shortens the time in which both keys are valid, and rolls that were missed are not
// made up for.
func (r *ring) tick(now time.Time) Change {
	switch {
	case r.next != nil && !now.Before(r.promoteAt):
		r.current, r.next = r.next, nil
		return Promoted
	case r.next == nil && !now.Before(r.rollAt):
		r.next = r.make()
		r.promoteAt = now.Add(r.how.Delay)
		r.rollAt = r.rollAt.Add(r.how.Interval)
		if !r.rollAt.After(r.promoteAt) {
			r.rollAt = now.Add(r.how.Interval)
		}
		return Rolled
	}
	return Unchanged
}

// due is when tick will have something to do.
func (r *ring) due() time.Time {
	if r.next != nil {
		return r.promoteAt
	}
	return r.rollAt
}

// find is the current or the next key, if it has that id, else nil.
func (r *ring) find(id int32) *key {
	switch {
	case r.current.ID == id:
		return r.current
	case r.next != nil && r.next.ID == id:
		return r.next
	}
	return nil
}

// offer is the newest key: the next one while rolling, otherwise the current one. It is
// for a node whose newest key has the id known; ok is false if that is the same one. A
// node lacks the current key only if it has missed a whole roll.
func (r *ring) offer(known int32) (newest state.MasterKey, ok bool) {
	k := r.current
	if r.next != nil {
		k = r.next
	}
	return k.MasterKey, k.ID != known
}

// restore takes over stored keys. A next key waits for its full delay again, since it
// is not known who has got it. Keys of another length than configured stay in use and
// are rolled soon.
func (r *ring) restore(keys state.MasterKeys, now time.Time) {
	r.current, r.next, r.serial = newKey(keys.Current), nil, keys.Current.ID
	newest := keys.Current
	if len(keys.Next.Bytes) > 0 {
		newest = keys.Next
		r.next, r.serial, r.promoteAt = newKey(newest), newest.ID, now.Add(r.how.Delay)
	}
	r.rollAt = now.Add(r.how.Interval)
	if len(newest.Bytes) != r.how.length() {
		r.rollAt = now
	}
}

func (r *ring) keys() state.MasterKeys {
	out := state.MasterKeys{Current: r.current.MasterKey}
	if r.next != nil {
		out.Next = r.next.MasterKey
	}
	return out
}
