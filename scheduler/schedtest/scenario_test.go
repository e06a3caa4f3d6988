package schedtest

import (
	"testing"

	"github.com/heddle-project/heddle/internal/scenarios"
)

func TestScenarios(t *testing.T) {
	scenarios.Test(t, func(t *testing.T, text string) string {
		steps, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return Format(Run(steps))
	})
}
