package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/spelling"
)

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
			if i := strings.LastIndexByte(user, '.'); i > 0 && spelling.Nearest(user[i+1:], []string{v.after}) != "" {
				return v.before + user[:i+1] + v.after
			}
		}
	}
	if label, ok := strings.CutPrefix(rest, "accessible-node-labels."); ok {
		if label, of, ok := strings.Cut(label, "."); ok {
			if n := spelling.Nearest(of, labelNames); n != "" {
				return "accessible-node-labels." + label + "." + n
			}
		}
	}
	return spelling.Nearest(rest, queueNames)
}
