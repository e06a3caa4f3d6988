package loop

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// What held the loop for long is remembered with its name: the longest of all, and the last ones.
func TestHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Config{})
		l.holds.begin()
		hold := func(d time.Duration, c engine.Command) {
			time.Sleep(d)
			l.holds.end(c)
		}
		hold(longHold-1, engine.Tick{})
		hold(40*time.Millisecond, &engine.Allocate{})
		hold(30*time.Millisecond, nil)
		time.Sleep(time.Hour)
		l.holds.begin() // the loop waited, and nothing held it
		for range keptHolds {
			hold(longHold, engine.Kill{})
		}
		h := l.Holds()
		if h.Count != keptHolds+2 || h.Longest.What != "Allocate" || h.Longest.Took != 40*time.Millisecond || h.Longest.Number != 1 {
			t.Errorf("%d, longest %+v", h.Count, h.Longest)
		}
		if len(h.Last) != keptHolds || h.Last[0].Number != 3 || h.Last[keptHolds-1].What != "Kill" {
			t.Errorf("%d last, from %+v", len(h.Last), h.Last[0])
		}
	})
}
