package shortcut

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestBitsAreASetOfPlaces compares the set with a list of truths.
func TestBitsAreASetOfPlaces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b Bits
		var want []bool
		for range rapid.IntRange(0, 200).Draw(t, "steps") {
			at := rapid.IntRange(0, len(want)).Draw(t, "place")
			switch step := rapid.IntRange(0, 3).Draw(t, "step"); {
			case step == 0 || at == len(want):
				b.Insert(at)
				want = slices.Insert(want, at, true)
			case step == 1:
				b.Delete(at)
				want = slices.Delete(want, at, at+1)
			default:
				b.Put(at, step == 2)
				want[at] = step == 2
			}
			count, next := 0, -1
			for i, in := range want {
				if b.Has(i) != in {
					t.Fatalf("place %d of %v: %v", i, want, b.Has(i))
				}
				if in {
					if count++; i >= at && next < 0 {
						next = i
					}
				}
			}
			if b.Count != count || b.Next(at) != next {
				t.Fatalf("%v has %d, and %d comes next to %d; should be %d and %d", want, b.Count, b.Next(at), at, count, next)
			}
		}
		b.Fill(len(want))
		if b.Count != len(want) || b.Next(len(want)) != -1 {
			t.Fatalf("all of %d are %d, and then comes %d", len(want), b.Count, b.Next(len(want)))
		}
	})
}

// TestATournamentFindsTheLeast compares it with a look at all keys.
func TestATournamentFindsTheLeast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := make([]uint64, rapid.IntRange(0, 40).Draw(t, "players"))
		g := NewTournament(len(keys))
		for i := range keys {
			keys[i] = NoKey
		}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			if len(keys) > 0 {
				at := rapid.IntRange(0, len(keys)-1).Draw(t, "player")
				keys[at] = rapid.SampledFrom([]uint64{NoKey, 0, 1, 2, 7}).Draw(t, "key")
				g.Set(int32(at), keys[at])
			}
			if want := append([]uint64{NoKey}, keys...); g.Least() != slices.Min(want) {
				t.Fatalf("the least of %v is %d", keys, g.Least())
			}
		}
	})
}
