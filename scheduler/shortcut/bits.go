// Package shortcut holds what spares a scheduler work and decides nothing: who keeps it
// up to date hears of changes as a core.Watcher, and who does without it decides the same.
package shortcut

import (
	"math/bits"
	"slices"
)

// Bits is a set of places in a list. The zero value is empty.
type Bits struct {
	Count int // of the places in the set
	words []uint64
}

// Clone is a copy.
func (b *Bits) Clone() Bits { return Bits{b.Count, slices.Clone(b.words)} }

// Has tells whether the place is in the set.
func (b *Bits) Has(place int) bool {
	at := uint(place) / 64
	return at < uint(len(b.words)) && b.words[at]>>(uint(place)%64)&1 == 1
}

// Put puts a place into the set, or takes it out.
func (b *Bits) Put(place int, in bool) {
	if in == b.Has(place) {
		return
	}
	b.reach(place)
	b.words[place/64] ^= 1 << (place % 64)
	if in {
		b.Count++
	} else {
		b.Count--
	}
}

// reach makes the list long enough for the place.
func (b *Bits) reach(place int) {
	for len(b.words) <= place/64 {
		b.words = append(b.words, 0)
	}
}

// Next is the first place from there on that is in the set, or -1.
func (b *Bits) Next(place int) int {
	at := place / 64
	if at >= len(b.words) {
		return -1
	}
	word := b.words[at] >> (place % 64) << (place % 64)
	for word == 0 {
		if at++; at == len(b.words) {
			return -1
		}
		word = b.words[at]
	}
	return 64*at + bits.TrailingZeros64(word)
}

// Insert moves all places from there on up by one, and puts the place into the set.
func (b *Bits) Insert(place int) {
	if n := len(b.words); n > 0 && b.words[n-1]>>63 == 1 {
		b.words = append(b.words, 0)
	}
	b.reach(place)
	at, low := place/64, uint64(1)<<(place%64)-1
	for w := len(b.words) - 1; w > at; w-- {
		b.words[w] = b.words[w]<<1 | b.words[w-1]>>63
	}
	old := b.words[at]
	b.words[at] = old&low | old&^low<<1 | 1<<(place%64)
	b.Count++
}

// Delete takes a place out, and moves all after it down by one.
func (b *Bits) Delete(place int) {
	if b.Has(place) {
		b.Count--
	}
	at, low := place/64, uint64(1)<<(place%64)-1
	if at >= len(b.words) {
		return
	}
	old := b.words[at]
	b.words[at] = old&low | old>>1&^low
	for w := at + 1; w < len(b.words); w++ {
		b.words[w-1] |= b.words[w] << 63
		b.words[w] >>= 1
	}
}

// Fill makes the set all places below n.
func (b *Bits) Fill(n int) {
	b.words, b.Count = b.words[:0], 0
	for i := range n {
		b.Put(i, true)
	}
}
