package resourcemanager

import (
	"context"
	"sync"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// A day is remembered, a sample a minute.
const (
	samplePause = time.Minute
	mostSamples = 24 * 60
)

// past is a ring of samples.
type past struct {
	mu    sync.Mutex
	ring  []access.Sample
	first int // of the ring once it is full
}

func (p *past) add(s access.Sample) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ring) < mostSamples {
		p.ring = append(p.ring, s)
		return
	}
	p.ring[p.first] = s
	p.first = (p.first + 1) % mostSamples
}

// all are the samples, the oldest first.
func (p *past) all() []access.Sample {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append(append(make([]access.Sample, 0, len(p.ring)), p.ring[p.first:]...), p.ring[:p.first]...)
}

// sample takes a sample in every period until ctx ends, the first at once.
func (t *term) sample(ctx context.Context) {
	tick := time.NewTicker(samplePause)
	defer tick.Stop()
	for {
		t.sampleOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (t *term) sampleOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rpc.ViewPatience)
	defer cancel()
	c, err := t.Cluster(ctx, view.Counts)
	if err != nil {
		return // there is a gap
	}
	m := &c.Metrics
	t.past.add(access.Sample{At: c.At.Wall, Used: m.Allocated, Reserved: m.Reserved, Total: m.Total, Pending: m.PendingResource,
		AppsRunning: m.Running, AppsWaiting: m.Pending, Containers: m.ContainersAllocated,
		NodesActive: m.NodesByState[yarn.NodeRunning], NodesUnusable: m.NodesByState[yarn.NodeLost] + m.NodesByState[yarn.NodeUnhealthy]})
}
