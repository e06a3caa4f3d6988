// Package spelling finds the name that a mistyped one probably stands for, among names that are known.
package spelling

import "strings"

// MaxWord is the longest word, in bytes, for which a similar one is looked for.
const MaxWord = 200

// Nearest is the candidate that a word probably stands for, or "": the same but
// for case and separators, or few letters away. Of equals the first wins.
func Nearest(word string, candidates []string) string {
	if len(word) > MaxWord {
		return ""
	}
	flat := flattened(word)
	for _, c := range candidates {
		if flattened(c) == flat {
			return c
		}
	}
	best, bestAt := "", 1+max(1, min(3, len(word)/4))
	for _, c := range candidates {
		if d := Distance(flat, flattened(c), bestAt); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

func flattened(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r == ' ' {
			return '-'
		}
		return r
	}, strings.ToLower(s))
}

// Distance counts insertions, deletions, replacements and swaps of neighbours;
// it answers limit as soon as there must be that many.
func Distance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next[0] = i + 1
		low := next[0]
		for j := range len(b) {
			d := row[j]
			if a[i] != b[j] {
				d = 1 + min(row[j], row[j+1], next[j])
				if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
					d = min(d, before[j-1]+1)
				}
			}
			next[j+1] = d
			low = min(low, d)
		}
		if low >= limit {
			return limit
		}
		before, row, next = row, next, before
	}
	return min(row[len(b)], limit)
}
