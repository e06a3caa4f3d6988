package release

import "testing"

func TestMinimum(t *testing.T) {
	for _, c := range []struct {
		version, setting string
		older            bool
	}{
		{"3.4.1", "NONE", false}, {"3.4.1", "", false}, {"3.4.1", "EqualToRM", true}, {"3.5.0", "EqualToRM", false}, {"3.5.1", "equaltorm", false},
		{"3.4.1", "3.4.1", false}, {"3.4.1", "3.4.2", true}, {"3.4", "3.4.0", false}, {"3.4", "3.4.1", true}, {"3.10.0", "3.9.9", false},
		{"3.5.0-SNAPSHOT", "3.5.0", false}, {"", "3.5.0", true}, {"none", "0.0.1", true},
	} {
		if got := Older(c.version, Minimum(c.setting, "EqualToRM")); got != c.older {
			t.Errorf("%q with %q: older is %v", c.version, c.setting, got)
		}
	}
}
