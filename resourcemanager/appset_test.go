package resourcemanager

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// A set of applications has what a map has, whatever their ids are. When all are removed, no block is left.
func TestAppSet(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	timestamps, sequences := []int64{0, 1, -1, math.MaxInt64}, []int32{0, 1, 63, 64, 4095, 4096, 4097, math.MaxInt32, -1, math.MinInt32}
	s, want := appSet{}, map[yarn.ApplicationID]bool{}
	for range 20_000 {
		id := yarn.ApplicationID{ClusterTimestamp: timestamps[r.IntN(len(timestamps))], Sequence: sequences[r.IntN(len(sequences))]}
		if r.IntN(3) == 0 {
			s.add(id)
			want[id] = true
		} else {
			s.remove(id)
			delete(want, id)
		}
		for _, timestamp := range timestamps {
			for _, sequence := range sequences {
				if id := (yarn.ApplicationID{ClusterTimestamp: timestamp, Sequence: sequence}); s.has(id) != want[id] {
					t.Fatalf("%s: it is there: %t, want %t", id, s.has(id), want[id])
				}
			}
		}
	}
	for id := range want {
		s.remove(id)
	}
	if len(s) > 0 {
		t.Errorf("%d blocks are left of an empty set", len(s))
	}
}
