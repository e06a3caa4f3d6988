package shortcut

import "math"

// NoKey is the key of a player who is not there.
const NoKey = math.MaxUint64

// Tournament finds the least of some keys. Those of n players are the last n of 2n
// numbers; before them, the number at i is the less of those at 2i and 2i+1, so that
// the least of all is at 1.
type Tournament []uint64

// NewTournament is one of so many players, of whom none is there.
func NewTournament(players int) Tournament {
	t := make(Tournament, max(2, 2*players))
	for i := range t {
		t[i] = NoKey
	}
	return t
}

// Least is the least key, NoKey if nobody is there.
func (t Tournament) Least() uint64 { return t[1] }

// Set gives a player a key.
func (t Tournament) Set(player int32, key uint64) {
	i := len(t)/2 + int(player)
	t[i] = key
	for i > 1 {
		key = min(key, t[i^1])
		i >>= 1
		if t[i] == key {
			return
		}
		t[i] = key
	}
}
