package scen

import (
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/sim"
)

// canary measures how far the server's work lags behind its replies. It owns
// one node and one application and goes round: ask for a container, report it
// running, report it complete, wait until the application hears of it. The
// lag is the time from the reply to the completing heartbeat until then. A
// server that acknowledges heartbeats and works them off later shows here.
type canary struct {
	c    *sim.Cluster
	node *sim.Node
	app  *sim.App
	stop atomic.Bool
	done chan struct{}
	h    chan hist.H // current histogram, taken and put back
}

const canaryPoll = 5 * time.Millisecond

func newCanary(c *sim.Cluster, q int, o *opts) (*canary, error) {
	k := &canary{c: c, done: make(chan struct{}), h: make(chan hist.H, 1)}
	k.h <- hist.H{}
	var err error
	if k.node, err = c.AddNode(o.nodeSize(4)); err != nil {
		return nil, err
	}
	if k.app, err = c.AddApp(q); err != nil {
		return nil, err
	}
	k.app.Only = k.node
	go k.run()
	return k, nil
}

func (k *canary) run() {
	defer close(k.done)
	for !k.stop.Load() {
		if err := k.round(); err != nil {
			k.c.Fail(err)
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (k *canary) round() error {
	if _, _, err := k.app.Poll(1); err != nil {
		return err
	}
	for k.app.Outstanding() > 0 && !k.stop.Load() {
		if err := k.node.Beat(); err != nil {
			return err
		}
		if _, _, err := k.app.Poll(0); err != nil {
			return err
		}
		time.Sleep(canaryPoll)
	}
	for k.node.Live() > 0 {
		if err := k.node.Beat(); err != nil {
			return err
		}
	}
	t := time.Now()
	for k.app.Ends < k.app.Granted && !k.stop.Load() {
		if _, _, err := k.app.Poll(0); err != nil {
			return err
		}
		if k.app.Ends < k.app.Granted {
			time.Sleep(canaryPoll)
		}
	}
	h := <-k.h
	h.Add(time.Since(t))
	k.h <- h
	return nil
}

// take returns the lags since the last take. A completion still awaited now
// shows in the next.
func (k *canary) take() hist.Summary {
	h := <-k.h
	k.h <- hist.H{}
	s := h.Summary()
	s.Mean, s.P50, s.P99, s.P999, s.Max = round(s.Mean), round(s.P50), round(s.P99), round(s.P999), round(s.Max)
	return s
}

func (k *canary) end() {
	k.stop.Store(true)
	<-k.done
}
