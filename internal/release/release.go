// Package release is the release of Hadoop that the daemons and commands report as theirs, and compares such numbers.
package release

import (
	"strconv"
	"strings"
)

// Hadoop is the release that nodes, ResourceManagers and clients are told.
const Hadoop = "3.5.0"

// Minimum is the release that a setting such as yarn.resourcemanager.nodemanager.minimum.version demands: empty for none.
// Same is the setting's word for "mine".
func Minimum(setting, same string) string {
	switch {
	case setting == "" || strings.EqualFold(setting, "NONE"):
		return ""
	case strings.EqualFold(setting, same):
		return Hadoop
	}
	return setting
}

// Older tells whether a release is older than the minimum, which may be empty. Dotted numbers are compared one by one; what is
// not a number counts as 0.
func Older(version, minimum string) bool {
	if minimum == "" {
		return false
	}
	x, y := strings.Split(version, "."), strings.Split(minimum, ".")
	for i := range max(len(x), len(y)) {
		if d := part(x, i) - part(y, i); d != 0 {
			return d < 0
		}
	}
	return false
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
