package capacity

import (
	"fmt"
	"math/bits"
	"slices"
)

// lineup is the active applications of a leaf in the order in which they are
// served. Those that want nothing rest: a walk passes them by without a look,
// which it must not do before they have the headroom that a walk leaves behind.
type lineup struct {
	// restless keeps all awake: a user was forgotten while some of its
	// applications were active, and a walk may meet a new record of it.
	restless bool

	apps  []*app
	awake []uint64 // a bit for every application that does not rest, by its place
}

func (l *lineup) len() int { return len(l.apps) }

// find is the place of an application, or -1.
func (l *lineup) find(a *app, compare func(a, b *app) int) int {
	if i, ok := slices.BinarySearchFunc(l.apps, a, compare); ok && l.apps[i] == a {
		return i
	}
	return slices.Index(l.apps, a)
}

// enter puts an application into its place, awake.
func (l *lineup) enter(a *app, compare func(a, b *app) int) {
	i, _ := slices.BinarySearchFunc(l.apps, a, compare)
	l.apps = slices.Insert(l.apps, i, a)
	a.rests = false
	for 64*len(l.awake) < len(l.apps) {
		l.awake = append(l.awake, 0)
	}
	at, low := i/64, uint64(1)<<(i%64)-1
	for w := len(l.awake) - 1; w > at; w-- {
		l.awake[w] = l.awake[w]<<1 | l.awake[w-1]>>63
	}
	old := l.awake[at]
	l.awake[at] = old&low | old&^low<<1 | 1<<(i%64)
}

// exit takes an application out.
func (l *lineup) exit(a *app, compare func(a, b *app) int) {
	i := l.find(a, compare)
	if i < 0 {
		return
	}
	l.apps = slices.Delete(l.apps, i, i+1)
	a.rests = false
	at, low := i/64, uint64(1)<<(i%64)-1
	old := l.awake[at]
	l.awake[at] = old&low | old>>1&^low
	for w := at + 1; w < len(l.awake); w++ {
		l.awake[w-1] |= l.awake[w] << 63
		l.awake[w] >>= 1
	}
}

// sort puts all in order anew. Nobody rests afterwards.
func (l *lineup) sort(compare func(a, b *app) int) {
	slices.SortStableFunc(l.apps, compare)
	clear(l.awake)
	for i, a := range l.apps {
		a.rests = false
		l.awake[i/64] |= 1 << (i % 64)
	}
}

// next is the first place from i on whose application is awake, or -1.
func (l *lineup) next(i int) int {
	at := i / 64
	if at >= len(l.awake) {
		return -1
	}
	word := l.awake[at] >> (i % 64) << (i % 64)
	for word == 0 {
		if at++; at == len(l.awake) {
			return -1
		}
		word = l.awake[at]
	}
	return 64*at + bits.TrailingZeros64(word)
}

// after is the place after i, of all or of those that are awake; beyond the list or
// -1 if there is none.
func (l *lineup) after(i int, all bool) int {
	if all {
		return i + 1
	}
	return l.next(i + 1)
}

// rest lets the application at place i be passed by if there is no more to find
// out about it than a walk has just done. It tells whether it rests.
func (l *lineup) rest(i int) bool {
	a := l.apps[i]
	if len(a.Wants.Keys()) > 0 || a.user == nil || a.headLeaf != a.queue || a.headUser != a.user {
		return false
	}
	return l.lay(a, i)
}

// lay is rest for one that wants nothing, and has the headroom that a walk leaves.
func (l *lineup) lay(a *app, i int) bool {
	if l.restless || a.Held > 0 {
		return false
	}
	a.rests = true
	l.awake[uint(i)/64] &^= 1 << (uint(i) % 64)
	return true
}

// wake ends an application's rest.
func (l *lineup) wake(a *app, compare func(a, b *app) int) {
	a.rests = false
	if i := l.find(a, compare); i >= 0 {
		l.awake[i/64] |= 1 << (i % 64)
	}
}

// disturb lets nobody rest from now on.
func (l *lineup) disturb() {
	l.restless = true
	for i, a := range l.apps {
		a.rests = false
		l.awake[i/64] |= 1 << (i % 64)
	}
}

// check describes what is wrong with who rests; "" is nothing.
func (l *lineup) check() string {
	awake := 0
	for i, a := range l.apps {
		is := l.awake[i/64]>>(i%64)&1 == 1
		if is {
			awake++
		}
		if is == a.rests || a.rests && (len(a.Wants.Keys()) > 0 || a.Held > 0) {
			return fmt.Sprintf("%v rests: %v, awake in the list: %v, keys: %d, reservations: %d", a.ID, a.rests, is, len(a.Wants.Keys()), a.Held)
		}
	}
	for _, w := range l.awake {
		awake -= bits.OnesCount64(w)
	}
	if awake != 0 {
		return "places beyond the list are awake"
	}
	return ""
}
