package resourcemanager

import (
	"context"
	"math"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/config"
)

// leastPeriod bounds how often queues are tended, whatever is configured.
const leastPeriod = 10 * time.Millisecond

// tendQueues starts the periodic work of the scheduler in use: the CapacityScheduler's queue monitors that are configured, or the FairScheduler's
// updates of shares and its look at the allocation file.
func (t *term) tendQueues(ctx context.Context) {
	cfg := t.access.schedule.Load()
	if r := t.settings.Reservations; r.Enabled {
		t.Log.Info("capacity of queues can be reserved", "followed every", r.Step)
		t.work.Go(func() { t.repeat(ctx, engine.FollowPlans{}, func() time.Duration { return r.Step }) })
	}
	t.work.Go(func() { t.observeWaits(ctx) })
	if cfg.Fair != nil {
		t.work.Go(func() { t.followAllocations(ctx) })
		if every := time.Duration(cfg.Fair.UpdateInterval) * time.Millisecond; every > 0 {
			t.work.Go(func() { t.shares.update(ctx, t.loop.Post, every, cfg.Fair.Preemption) })
		} else {
			t.Log.Warn("shares are never computed, so no application is served", "property", config.FairPrefix+"update-interval-ms")
		}
	}
	if cfg.Capacity == nil {
		return
	}
	m := &t.settings.Monitors
	if cfg.Cluster.Preempts {
		p := cfg.Capacity.Preemption
		t.Log.Info("queues' guarantees are enforced by preemption", "every", milliseconds(p.Interval), "notice", milliseconds(p.Wait), "observe only", p.ObserveOnly)
		t.work.Go(func() { t.repeat(ctx, engine.MonitorQueues{}, t.monitoringInterval) })
	}
	if m.ShareOut {
		t.Log.Info("guarantees below managed parents are shared out", "every", m.ShareEvery)
		t.work.Go(func() {
			t.repeat(ctx, engine.TendQueues{}, func() time.Duration { return m.ShareEvery })
		})
	}
	if m.Refresh {
		t.Log.Info("the queues follow their file", "file", t.queueFilePath(), "looked at every", milliseconds(cfg.Capacity.RefreshInterval))
		t.work.Go(func() { t.followQueueFile(ctx) })
	}
	if m.DeleteQueues {
		t.Log.Info("empty queues that were created on demand are removed", "after", t.queueExpiry())
		t.work.Go(func() { t.repeat(ctx, engine.TendQueues{Deleting: true}, t.queueExpiry) })
	}
}

// observeEvery is how often some of those who wait are looked at.
const observeEvery = time.Second

// observeWaits has waiting times noted.
func (t *term) observeWaits(ctx context.Context) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if t.loop.ObserveWaits(ctx) != nil {
				return
			}
		}
	}
}

// monitoringInterval is the time between two rounds of preemption, by the configuration in force.
func (t *term) monitoringInterval() time.Duration {
	return milliseconds(t.access.schedule.Load().Capacity.Preemption.Interval)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// queueExpiry is how long a queue that was created on demand stays without use,
// by the configuration in force, and how often such queues are looked for.
func (t *term) queueExpiry() time.Duration {
	return time.Duration(min(t.access.schedule.Load().Capacity.ExpirySeconds, math.MaxInt32)) * time.Second
}

// repeat posts a command at once and then once in every period.
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

// shares has the FairScheduler compute shares.
type shares struct{ nudge chan struct{} }

func newShares() shares { return shares{make(chan struct{}, 1)} }

// soon has shares computed before the next time is due. It never waits.
func (s shares) soon() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// leastBetweenUpdates bounds how often shares are computed because nodes come and go.
const leastBetweenUpdates = 50 * time.Millisecond

// update has shares computed at once, then in every period, and soon after nodes have come or gone.
func (s shares) update(ctx context.Context, post func(engine.Command), every time.Duration, preempting bool) {
	every = max(every, leastPeriod)
	for {
		post(engine.UpdateShares{Preempting: preempting})
		timer := time.NewTimer(every)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
			continue
		case <-s.nudge:
		}
		timer.Stop()
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(leastBetweenUpdates, every)):
		}
	}
}
