package seldom

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Each key passes at once, and again a minute after it has passed.
func TestPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limit
		passed := map[string]int{}
		for second := range 180 {
			for _, key := range []string{"a", "b"} {
				if (key == "a" || second >= 50) && l.Pass(key) {
					passed[key]++
				}
			}
			time.Sleep(time.Second)
		}
		if passed["a"] != 3 || passed["b"] != 3 { // b: 50, 110 and 170 s
			t.Error(passed)
		}
	})
}

func TestBound(t *testing.T) {
	var l Limit
	for i := range 10 * maxKnown {
		if !l.Pass(fmt.Sprint(i)) {
			t.Error(i)
		}
	}
	if len(l.last) > maxKnown {
		t.Error(len(l.last))
	}
}
