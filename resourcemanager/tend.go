package resourcemanager

import (
	"context"
	"math"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// leastPeriod bounds how often queues are tended, whatever is configured.
const leastPeriod = 10 * time.Millisecond

// tendQueues starts the queue monitors that are configured.
func (t *term) tendQueues(ctx context.Context) {
	if t.access.schedule.Load().Capacity == nil {
		return // no other scheduler creates queues
	}
	m := &t.settings.Monitors
	if m.ShareOut {
		t.Log.Info("guarantees below managed parents are shared out", "every", m.ShareEvery)
		t.work.Go(func() {
			t.repeat(ctx, engine.TendQueues{}, func() time.Duration { return m.ShareEvery })
		})
	}
	if m.DeleteQueues {
		t.Log.Info("empty queues that were created on demand are removed", "after", t.queueExpiry())
		t.work.Go(func() { t.repeat(ctx, engine.TendQueues{Deleting: true}, t.queueExpiry) })
	}
}

// queueExpiry is how long a queue that was created on demand stays without use,
// by the configuration in force, and how often such queues are looked for.
func (t *term) queueExpiry() time.Duration {
	return time.Duration(min(t.access.schedule.Load().Capacity.ExpirySeconds, math.MaxInt32)) * time.Second
}

// repeat posts a command now and then once in every period.
func (t *term) repeat(ctx context.Context, c engine.Command, period func() time.Duration) {
	for {
		t.loop.Post(c)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(period(), leastPeriod)):
		}
	}
}
