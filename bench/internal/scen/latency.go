package scen

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/sim"
)

// Latency holds a fixed rate of allocate calls in an open loop while every
// node beats once a second, and reports the latency of the calls.
func Latency(args []string) error {
	o := flags("latency")
	rate := o.fs.Float64("rate", 500, "allocate calls/s")
	every := o.fs.Int("ask-every", 5, "an application with nothing outstanding asks at every so many calls")
	period := o.fs.Float64("beat", 1, "seconds between heartbeats of a node")
	o.parse(args)
	o.clampWorkers(min(o.nodes, o.apps))
	c, err := o.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	var over atomic.Bool
	var wg sync.WaitGroup
	beats := make(hists, o.cfg.Workers)
	var on atomic.Bool
	for w := range o.cfg.Workers {
		wg.Go(func() { pace(c, w, secs(*period), &over, &on, &beats[w]) })
	}
	run := func(d time.Duration, h hists) int64 {
		var sent atomic.Int64
		t0 := time.Now()
		gap := float64(time.Second) / *rate
		c.Each(func(w int) error {
			_, apps := c.Mine(w)
			n := int64(0)
			for i := 0; ; i++ {
				due := time.Duration((float64(i)*float64(c.Workers) + float64(w)) * gap)
				if due > d || time.Since(t0) > d+5*time.Second {
					break
				}
				if wait := due - time.Since(t0); wait > 0 {
					time.Sleep(wait)
				}
				a := apps[i%len(apps)]
				ask := 0
				if a.Outstanding() == 0 && (i/len(apps)+i)%*every == 0 {
					ask = o.k
				}
				if _, _, err := a.Poll(ask); err != nil {
					c.Fail(err)
					break
				}
				n++
				if h != nil {
					h[w].Add(time.Since(t0) - due)
				}
			}
			sent.Add(n)
			return nil
		})
		return sent.Load()
	}
	run(secs(o.warm), nil)
	h := make(hists, o.cfg.Workers)
	m := o.start()
	g0 := c.Grants.Load()
	on.Store(true)
	n := run(secs(o.secs), h)
	u := m.stop()
	g := c.Grants.Load() - g0
	over.Store(true)
	wg.Wait()
	if c.Errors.Load() == 0 {
		c.Drain(3 * time.Minute)
	}
	return o.emit("latency", c, out{"nodes": o.nodes, "apps": o.apps, "queues": o.cfg.Queues, "ask": o.k, "rate": *rate,
		"allocates_per_s": round(float64(n) / u.Seconds), "containers_per_s": round(float64(g) / u.Seconds),
		"allocate": h.sum(), "heartbeat": beats.sum(), "server_cores": round(u.ServerCPU / u.Seconds), "use": u})
}

// cluster sets nodes and applications up.
func (o *opts) cluster() (*sim.Cluster, error) {
	c := sim.New(o.cfg)
	if err := c.Await(2 * time.Minute); err != nil {
		return c, err
	}
	if err := c.AddNodes(o.nodes, o.nodeSize(o.slots)); err != nil {
		return c, err
	}
	return c, c.AddApps(o.apps, o.cfg.Queues)
}

// pace beats the nodes of worker w once per period each, evenly spread.
func pace(c *sim.Cluster, w int, period time.Duration, over, on *atomic.Bool, h *hist.H) {
	nodes, _ := c.Mine(w)
	if len(nodes) == 0 {
		return
	}
	t0 := time.Now()
	gap := period / time.Duration(len(nodes))
	phase := gap * time.Duration(w) / time.Duration(c.Workers)
	for i := 0; !over.Load(); i++ {
		due := gap*time.Duration(i) + phase
		if wait := due - time.Since(t0); wait > 0 {
			time.Sleep(wait)
		}
		if err := nodes[i%len(nodes)].Beat(); err != nil {
			c.Fail(err)
			return
		}
		if h != nil && on.Load() {
			h.Add(time.Since(t0) - due)
		}
	}
}

// Delay measures the time from an ask until the reply that brings the
// container, with nodes beating every -beat and applications polling every
// -poll seconds.
func Delay(args []string) error {
	o := flags("delay")
	period := o.fs.Float64("beat", 1, "seconds between heartbeats of a node")
	poll := o.fs.Float64("poll", .1, "seconds between polls of an application")
	rest := o.fs.Float64("rest", .5, "seconds an application rests after its containers ended")
	o.parse(args)
	o.clampWorkers(min(o.nodes, o.apps))
	c, err := o.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	var over, on, asking atomic.Bool
	var wg, bg sync.WaitGroup
	asking.Store(true)
	for w := range o.cfg.Workers {
		bg.Go(func() { pace(c, w, secs(*period), &over, &on, nil) })
	}
	h := make(hists, len(c.Apps))
	replies := make(hists, len(c.Apps))
	for i, a := range c.Apps {
		wg.Go(func() {
			next := time.Now().Add(secs(*rest) * time.Duration(i) / time.Duration(len(c.Apps)))
			sleep := func(d float64) {
				time.Sleep(time.Until(next))
				next = time.Now().Add(secs(d))
			}
			for asking.Load() {
				sleep(0)
				t := time.Now()
				n, _, err := a.Poll(o.k)
				if on.Load() {
					replies[i].Add(time.Since(t))
				}
				next = t.Add(secs(*poll))
				for ; err == nil && a.Outstanding() > 0; next = next.Add(secs(*poll)) {
					sleep(0)
					next = time.Now()
					n, _, err = a.Poll(0)
				}
				_ = n
				if err != nil {
					c.Fail(err)
					return
				}
				if on.Load() {
					h[i].Add(time.Since(t))
				}
				for err == nil && a.Ends < a.Granted && !over.Load() {
					time.Sleep(secs(*poll))
					_, _, err = a.Poll(0)
				}
				if err != nil {
					c.Fail(err)
					return
				}
				next = time.Now().Add(secs(*rest))
			}
		})
	}
	time.Sleep(secs(o.warm))
	on.Store(true)
	m := o.start()
	time.Sleep(secs(o.secs))
	u := m.stop()
	on.Store(false)
	asking.Store(false)
	wg.Wait()
	over.Store(true)
	bg.Wait()
	return o.emit("delay", c, out{"nodes": o.nodes, "apps": o.apps, "queues": o.cfg.Queues, "ask": o.k, "beat_s": *period, "poll_s": *poll,
		"ask_to_container": h.sum(), "first_reply": replies.sum(), "server_cores": round(u.ServerCPU / u.Seconds), "use": u})
}
