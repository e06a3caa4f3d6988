package localize

import (
	"path"
	"strconv"
	"strings"
)

// The numbers of a cache's directories.
const (
	FirstNumber = 10 // of the first resource in a cache; levels have names of one character, resources of two or more
	levels      = 36 // names of levels: 0 to 9 and a to z
)

// Place is where the resource of number n goes below a PUBLIC or PRIVATE cache: "10" for the first, then deeper as
// directories fill. perDirectory is yarn.nodemanager.local-cache.max-files-per-directory, of which 36 places are for
// levels. APPLICATION caches are flat. Places that became vacant are not used again; in Apache's cache they are, so that
// its paths are the same until something is evicted.
func Place(n int64, perDirectory int) string {
	room := int64(max(perDirectory-levels, 1))
	return path.Join(level(max(n-FirstNumber, 0)/room), strconv.FormatInt(n, 10))
}

// level is the relative path of the k-th directory: "" is the cache itself, then 0 … z, 0/0 … 0/z, 1/0 … y/z, 0/0/0 …
func level(k int64) string {
	if k == 0 {
		return ""
	}
	digits := strconv.FormatInt(k-1, levels)
	if len(digits) > 1 { // compat: the first digit counts from 0 again at every depth
		first, _ := strconv.ParseInt(digits[:1], levels, 8)
		digits = strconv.FormatInt(first-1, levels) + digits[1:]
	}
	return strings.Join(strings.Split(digits, ""), "/")
}
