package tracker

import (
	"fmt"

	"github.com/heddle-project/heddle/internal/release"
)

// tooOld is why a node of that version may not join
// (yarn.resourcemanager.nodemanager.minimum.version); empty if it may.
func (t *tracker) tooOld(version string) string {
	minimum := release.Minimum(t.MinimumVersion, "EqualToRM")
	if !release.Older(version, minimum) {
		return ""
	}
	return fmt.Sprintf("Disallowed NodeManager Version %s, is less than the minimum version %s", version, minimum)
}
