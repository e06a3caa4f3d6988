package conf

import "sync"

var knownSet = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, n := range KnownNames() {
		out[n] = true
	}
	return out
})

func known(name string) bool { return knownSet()[name] }

// maxTypos is how many single-letter edits a suggestion may be away.
const maxTypos = 2

// Nearest suggests the known property that a name is probably a misspelling
// of, or "" when none is within two single-letter edits. Among equally close
// names the first in alphabetical order wins.
func Nearest(name string) string { return nearest(name, nil) }

// nearest is Nearest with more names that are known.
func nearest(name string, more map[string]bool) string {
	best, bestAt := "", maxTypos+1
	consider := func(n string) {
		d := editDistance(name, n, maxTypos)
		if d < bestAt || d == bestAt && d <= maxTypos && n < best {
			best, bestAt = n, d
		}
	}
	for n := range knownSet() {
		consider(n)
	}
	for n := range more {
		consider(n)
	}
	return best
}

// editDistance counts insertions, deletions and replacements, or answers
// limit+1 as soon as there must be more.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit || len(a) > MaxNameBytes {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner, low := row[0], limit+1
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
			low = min(low, cost)
		}
		if low > limit {
			return limit + 1
		}
	}
	return min(row[len(b)], limit+1)
}
