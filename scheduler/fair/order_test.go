package fair

import (
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestManyAsksWithdrawn: whoever takes many asks back in one call is not served any more.
func TestManyAsksWithdrawn(t *testing.T) {
	s := planScheduler(t, `<queue name="a"/>`)
	ref, why := s.submitted(1, "root.a", "", false)
	if !why.OK() {
		t.Fatal(why)
	}
	for _, count := range []int32{1, 0} {
		var asks []yarn.Ask
		for p := range int32(20) {
			asks = append(asks, yarn.Ask{Priority: p, Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: count, RelaxLocality: true})
		}
		s.Ask(ref, asks)
		if bad := s.Check(); bad != "" {
			t.Errorf("%d of each are asked for: %s", count, bad)
		}
		s.Recompute(yarn.Now{Wall: 1, Mono: 1})
	}
}
