package giveway

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		for done := range 300 {
			After(done)
		}
		if took := time.Since(began); took != 2*pause {
			t.Fatalf("300 parts paused for %v, want %v", took, 2*pause)
		}
	})
}
