package spelling_test

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/spelling"
)

func TestNearest(t *testing.T) {
	names := []string{"maxResources", "minResources", "weight", "maxRunningApps", "user-limit-factor"}
	for word, want := range map[string]string{
		"maxResources":                          "maxResources",
		"maxresources":                          "maxResources",
		"maxResource":                           "maxResources",
		"wieght":                                "weight",
		"User_Limit.Factor":                     "user-limit-factor",
		"maxApps":                               "",
		"":                                      "",
		strings.Repeat("x", 1+spelling.MaxWord): "",
	} {
		if got := spelling.Nearest(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
