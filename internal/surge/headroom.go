package surge

import (
	"context"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The room that the heap has to grow before it is collected: as much as is live, which is
// Go's own rule, but not more than roomy and an eighth of what is live. What a small
// process allocates in a second then still fits, and a large one does not need twice its
// memory.
const roomy = 64 << 20

// Headroom keeps the heap of a process with much live memory small, until ctx ends. It
// does nothing where GOGC is set.
func Headroom(ctx context.Context) {
	if os.Getenv("GOGC") != "" {
		return
	}
	t := time.NewTicker(every)
	defer t.Stop()
	last := percent(0)
	for {
		if now := percent(live()); now != last {
			debug.SetGCPercent(now)
			last = now
		}
		select {
		case <-ctx.Done():
			debug.SetGCPercent(percent(0))
			return
		case <-t.C:
		}
	}
}

// percent is the collector's setting for that many live bytes.
func percent(live uint64) int {
	if room := roomy + live/8; room < live {
		return int(room * 100 / live)
	}
	return 100
}

// live is what the last collection found to be in use.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
