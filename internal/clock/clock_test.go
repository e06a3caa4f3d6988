package clock

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

func TestSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := System()
		before, wall := c.Now(), time.Now().UnixMilli()
		time.Sleep(1500 * time.Millisecond)
		after := c.Now()
		if before.Wall != wall || after.Wall-before.Wall != 1500 || after.Mono-before.Mono != 1500 || before.Mono <= 0 {
			t.Fatalf("%+v, then %+v", before, after)
		}
	})
}

func TestManual(t *testing.T) {
	c := NewManual(5000)
	first := c.Now()
	c.Advance(2 * time.Second)
	c.SetWall(100)
	c.Advance(7 * time.Millisecond)
	if got, want := c.Now(), (yarn.Now{Wall: 107, Mono: first.Mono + 2007}); got != want || first.Wall != 5000 {
		t.Fatalf("%+v, want %+v", got, want)
	}
	defer func() {
		if recover() == nil {
			t.Error("a negative advance was accepted")
		}
	}()
	c.Advance(-1)
}
