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
	for live, want := range map[uint64][3]int{0: {100, 7900, 100}, 10 * mb: {100, 3100, 100}, 73 * mb: {100, 338, 100}, 128 * mb: {62, 150, 100}, 256 * mb: {37, 50, 100}, 1024 * mb: {18, 18, 50}} {
		if usual, loading, quick := percent(live, false, false), percent(live, true, false), percent(live, false, true); usual != want[0] || loading != want[1] || quick != want[2] {
			t.Errorf("%d MB live: %d, %d while much is read and %d while collections follow one another quickly, want %v", live/mb, usual, loading, quick, want)
		}
	}
}

// Ten collections, each within two seconds after the one before, are quick; once there is more room, they may take four times as long.
func TestPace(t *testing.T) {
	var p pace
	now := time.Unix(1, 0)
	after := func(n int, pause time.Duration, full bool) bool {
		for range n {
			now = now.Add(pause)
			p.collected(now, full)
		}
		return p.quick()
	}
	for _, step := range []struct {
		n     int
		pause time.Duration
		full  bool
		quick bool
	}{
		{1, time.Hour, false, false},
		{9, time.Second, false, false},
		{1, 3 * time.Second, false, false}, // from the start
		{10, time.Second, false, true},
		{10, 8 * time.Second, false, true},
		{1, 9 * time.Second, false, false},
		{20, time.Second, true, false},
		{9, time.Second, false, false},
		{1, time.Second, false, true},
		{1, time.Second, true, false},
	} {
		if quick := after(step.n, step.pause, step.full); quick != step.quick {
			t.Errorf("%d collections, one each %v, while much is read %v: quick is %v", step.n, step.pause, step.full, quick)
		}
	}
}

// The setting follows each collection, and Loading at once.
func TestHeadroom(t *testing.T) {
	t.Setenv("GOGC", "")
	runtime.GC() // nothing of an earlier test is live
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Headroom(ctx)
	}()
	until := func(what string, fits func(percent int) bool) {
		t.Helper()
		for end := time.Now().Add(time.Minute); !fits(setting()); runtime.Gosched() {
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
