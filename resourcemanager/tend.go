package resourcemanager

import (
	"context"
	"math"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// leastPeriod bounds how often queues are tended, whatever is configured.
const leastPeriod = 10 * time.Millisecond

// tendQueues starts the monitors of queues that are configured.
func (d *Daemon) tendQueues(ctx context.Context) {
	if d.rights.schedule.Load().Capacity == nil {
		return // no other scheduler creates queues
	}
	m := &d.settings.Monitors
	if m.ShareOut {
		d.Log.Info("guarantees below managed parents are shared out", "every", m.ShareEvery)
		d.work.Go(func() {
			d.repeat(ctx, engine.TendQueues{}, func() time.Duration { return m.ShareEvery })
		})
	}
	if m.DeleteQueues {
		d.Log.Info("empty queues that were created on demand are removed", "after", d.queueExpiry())
		d.work.Go(func() { d.repeat(ctx, engine.TendQueues{Deleting: true}, d.queueExpiry) })
	}
}

// queueExpiry is how long a queue that was created on demand stays without use,
// by the configuration in force, and how often such queues are looked for.
func (d *Daemon) queueExpiry() time.Duration {
	return time.Duration(min(d.rights.schedule.Load().Capacity.ExpirySeconds, math.MaxInt32)) * time.Second
}

// repeat posts a command now and then once in every period.
func (d *Daemon) repeat(ctx context.Context, c engine.Command, period func() time.Duration) {
	for {
		d.loop.Post(c)
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(period(), leastPeriod)):
		}
	}
}
