package surge

import (
	"context"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	const mb = 1 << 20
	for live, want := range map[uint64][2]int{0: {100, 7900}, 10 * mb: {100, 3100}, 73 * mb: {100, 338}, 128 * mb: {62, 150}, 256 * mb: {37, 50}, 1024 * mb: {18, 18}} {
		if usual, loading := percent(live, false), percent(live, true); usual != want[0] || loading != want[1] {
			t.Errorf("%d MB live: %d, and %d while much is read, want %v", live/mb, usual, loading, want)
		}
	}
}

// The setting follows each collection, and Loading at once.
func TestHeadroom(t *testing.T) {
	t.Setenv("GOGC", "")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Headroom(ctx)
	}()
	until := func(what string, fits func(percent int) bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !fits(setting()); runtime.Gosched() {
			if time.Now().After(end) {
				t.Fatalf("%s: the setting is %d", what, setting())
			}
		}
	}
	until("at first", func(p int) bool { return p == 100 })
	done := Loading()
	until("while much is read", func(p int) bool { return p > 200 })
	big := make([]byte, 256<<20)
	runtime.GC()
	until("when much is live", func(p int) bool { return p >= 40 && p <= 50 })
	done()
	until("afterwards", func(p int) bool { return p >= 30 && p < 40 })
	runtime.KeepAlive(big)
	cancel()
	<-ended
	until("at the end", func(p int) bool { return p == 100 })
}

// setting is the collector's setting.
func setting() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
