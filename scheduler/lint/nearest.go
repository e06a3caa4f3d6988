package lint

import (
	"maps"
	"slices"
	"strings"
)

// nearest is the candidate that a word probably stands for, or "": the same but
// for case and separators, or few letters away. Of equals the first wins.
func nearest(word string, candidates []string) string {
	if len(word) > maxWord {
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
		if d := distance(flat, flattened(c), bestAt); d < bestAt {
			best, bestAt = c, d
		}
	}
	return best
}

// maxWord is the longest word for which a similar one is looked for.
const maxWord = 200

func flattened(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '.' || r == ' ' {
			return '-'
		}
		return r
	}, strings.ToLower(s))
}

// distance counts insertions, deletions, replacements and swaps of neighbours;
// it answers limit as soon as there must be that many.
func distance(a, b string, limit int) int {
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

var (
	globalNames = slices.Sorted(maps.Keys(globals))
	queueNames  = slices.Sorted(maps.Keys(ofQueues))
	labelNames  = slices.Sorted(maps.Keys(ofLabels))
)

// nearestSetting is the property of a queue that is probably meant.
func nearestSetting(rest string) string {
	if a := aliases[strings.ToLower(rest)]; a != "" {
		return a
	}
	for _, t := range templates {
		if inner, ok := strings.CutPrefix(rest, t); ok {
			if n := nearestSetting(inner); n != "" {
				return t + n
			}
			return ""
		}
	}
	for _, v := range []struct{ before, after string }{{"user-settings.", "weight"}} {
		if user, ok := strings.CutPrefix(rest, v.before); ok {
			if i := strings.LastIndexByte(user, '.'); i > 0 && nearest(user[i+1:], []string{v.after}) != "" {
				return v.before + user[:i+1] + v.after
			}
		}
	}
	if label, ok := strings.CutPrefix(rest, "accessible-node-labels."); ok {
		if label, of, ok := strings.Cut(label, "."); ok {
			if n := nearest(of, labelNames); n != "" {
				return "accessible-node-labels." + label + "." + n
			}
		}
	}
	return nearest(rest, queueNames)
}
