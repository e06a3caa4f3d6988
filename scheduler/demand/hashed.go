package demand

import (
	"math"

	"github.com/heddle-project/heddle/scheduler/javanum"
)

// Hashed are keys in the order of Apache's hash table of them.
func Hashed(keys []*Want) []*Want {
	const priorityHash uint32 = 517861 * 9511 & math.MaxUint32
	hashes := make([]uint32, len(keys))
	for i, w := range keys {
		id := uint64(w.RequestID)
		hashes[i] = ((priorityHash+uint32(w.Priority))*31 + uint32(id^id>>32)) * 31
	}
	out := make([]*Want, len(keys))
	for i, at := range javanum.OrderOfHashes(hashes) {
		out[i] = keys[at]
	}
	return out
}
