package tracker

import (
	"fmt"
	"strconv"
	"strings"
)

// tooOld says why a node of that version may not join
// (yarn.resourcemanager.nodemanager.minimum.version), or nothing.
func (t *tracker) tooOld(version string) string {
	minimum := t.MinimumVersion
	switch {
	case minimum == "" || strings.EqualFold(minimum, "NONE"):
		return ""
	case strings.EqualFold(minimum, "EqualToRM"):
		minimum = Version
	}
	if compareVersions(version, minimum) >= 0 {
		return ""
	}
	return fmt.Sprintf("Disallowed NodeManager Version %s, is less than the minimum version %s", version, minimum)
}

// compareVersions compares dotted numbers; what is not a number counts as 0.
func compareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if d := part(x, i) - part(y, i); d != 0 {
			return d
		}
	}
	return 0
}

func part(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	digits := strings.TrimRight(parts[i], "-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}
