package scen

import (
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/sim"
)

// step is one rate of an open loop.
type step struct {
	Rate    float64      `json:"rate"`
	Got     float64      `json:"heartbeats_per_s"`
	Latency hist.Summary `json:"latency"`
	Lag     hist.Summary `json:"lag"`
	CPU     float64      `json:"server_cpu_us_per_heartbeat,omitempty"`
	Cores   float64      `json:"server_cores,omitempty"`
	Foreign float64      `json:"foreign_cores"`
	Held    bool         `json:"held"`
}

// Heartbeat registers -nodes nodes, gives each -containers running
// containers and raises the rate of heartbeats step by step until p99,
// measured from the intended start, is above the limit.
func Heartbeat(args []string) error {
	o := flags("heartbeat")
	each := o.fs.Int("containers", 5, "running containers on each node")
	rate := o.fs.Float64("rate", 500, "first rate, heartbeats/s")
	factor := o.fs.Float64("factor", 1.25, "rate of each step over the one before")
	last := o.fs.Float64("max-rate", 200000, "last rate")
	limit := o.fs.Float64("p99", 100, "limit on p99, ms")
	lag := o.fs.Float64("lag", 2000, "limit on the median lag of the server's work, ms; 0 for none")
	stepTime := o.fs.Float64("step", 5, "seconds per rate")
	retries := o.fs.Int("retries", 2, "more tries of a rate that was not held, for other load on the machine may have caused it")
	o.parse(args)
	o.clampWorkers(o.nodes)
	c := sim.New(o.cfg)
	defer c.Close()
	if err := c.Await(2 * time.Minute); err != nil {
		return err
	}
	if err := c.AddNodes(o.nodes, o.nodeSize(max(*each, 1))); err != nil {
		return err
	}
	if *each > 0 {
		if err := c.AddApps(o.apps, o.cfg.Queues); err != nil {
			return err
		}
		if err := c.FillUp((o.nodes**each+o.apps-1)/o.apps, 5*time.Second, true); err != nil {
			return err
		}
	}
	live := c.Live()
	k, err := newCanary(c, 0, o)
	if err != nil {
		return err
	}
	beatAt(c, *rate, secs(o.warm), nil)
	k.take()
	var steps []step
	var held step
	for r := *rate; r <= *last && c.Errors.Load() == 0; r *= *factor {
		var s step
		for try := 0; try <= *retries && !s.Held; try++ {
			h := make(hists, o.cfg.Workers)
			m := o.start()
			n := beatAt(c, r, secs(*stepTime), h)
			u := m.stop()
			s = step{Rate: round(r), Got: round(float64(n) / u.Seconds), Latency: h.sum(), Lag: k.take(),
				CPU: per(u.ServerCPU, n), Cores: round(u.ServerCPU / u.Seconds), Foreign: u.Foreign}
			s.Held = s.Latency.P99 <= *limit && s.Got >= .97*r && (*lag == 0 || s.Lag.Count > 0 && s.Lag.P50 <= *lag)
			steps = append(steps, s)
		}
		if !s.Held {
			break
		}
		held = s
	}
	m := o.start()
	k.end()
	u := m.stop()
	return o.emit("heartbeat", c, out{"nodes": o.nodes, "queues": o.cfg.Queues, "apps": o.apps, "workers": o.cfg.Workers,
		"running_containers": live, "held_heartbeats_per_s": held.Got, "held": held, "steps": steps, "use": u})
}

// beatAt beats the nodes in turn at rate beats per second for d, recording
// latencies from the intended starts, and returns how many beats were sent.
func beatAt(c *sim.Cluster, rate float64, d time.Duration, h hists) int64 {
	var sent atomic.Int64
	t0 := time.Now()
	gap := float64(time.Second) / rate
	c.Each(func(w int) error {
		nodes, _ := c.Mine(w)
		if len(nodes) == 0 {
			return nil
		}
		n := int64(0)
		for i := 0; ; i++ {
			due := time.Duration((float64(i)*float64(c.Workers) + float64(w)) * gap)
			if due > d || time.Since(t0) > d+2*time.Second {
				break
			}
			if wait := due - time.Since(t0); wait > 0 {
				time.Sleep(wait)
			}
			if err := nodes[i%len(nodes)].Beat(); err != nil {
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

// IdleApps measures heartbeats that cannot place anything: applications hold
// asks beyond their user limit while the nodes have room. The server must be
// configured with a user-limit-factor that leaves room. Closed loop.
func IdleApps(args []string) error {
	o := flags("idle-apps")
	quiet := o.fs.Float64("quiet", 4, "seconds without a grant after which all applications count as blocked")
	steady := o.fs.Float64("rate", 0, "heartbeats/s in an open loop; 0 for a closed loop")
	o.parse(args)
	o.clampWorkers(o.nodes)
	c := sim.New(o.cfg)
	defer c.Close()
	if err := c.Await(2 * time.Minute); err != nil {
		return err
	}
	if err := c.AddNodes(o.nodes, o.nodeSize(o.slots)); err != nil {
		return err
	}
	qs := o.cfg.Queues
	if qs > 1 {
		qs-- // the last is the canary's
	}
	if err := c.AddApps(o.apps, qs); err != nil {
		return err
	}
	if err := c.FillUp(o.k, secs(*quiet), false); err != nil {
		return err
	}
	var k *canary
	var err error
	if o.cfg.Queues > 1 {
		if k, err = newCanary(c, qs, o); err != nil {
			return err
		}
	}
	live, g0, asks := c.Live(), c.Grants.Load(), c.Asks.Load()
	loop := func(d time.Duration, h hists) int64 {
		if *steady > 0 {
			return beatAt(c, *steady, d, h)
		}
		return beatAll(c, d, h)
	}
	loop(secs(o.warm), nil)
	if k != nil {
		k.take()
	}
	h := make(hists, o.cfg.Workers)
	m := o.start()
	n := loop(secs(o.secs), h)
	u := m.stop()
	fig := out{"nodes": o.nodes, "queues": o.cfg.Queues, "apps": o.apps, "workers": o.cfg.Workers, "blocked_asks": asks - g0, "running_containers": live,
		"heartbeats_per_s": round(float64(n) / u.Seconds), "server_cpu_us_per_heartbeat": per(u.ServerCPU, n), "heartbeat": h.sum(), "use": u}
	if k != nil {
		fig["lag"] = k.take()
		k.end()
		fig["granted_to_blocked"] = c.Live() - live
	}
	return o.emit("idle-apps", c, fig)
}

// beatAll beats all nodes in a closed loop for d.
func beatAll(c *sim.Cluster, d time.Duration, h hists) int64 {
	var sent atomic.Int64
	t0 := time.Now()
	c.Each(func(w int) error {
		nodes, _ := c.Mine(w)
		n := int64(0)
		t := time.Now()
		for i := 0; t.Sub(t0) < d && len(nodes) > 0; i++ {
			if err := nodes[i%len(nodes)].Beat(); err != nil {
				c.Fail(err)
				break
			}
			n++
			e := time.Now()
			if h != nil {
				h[w].Add(e.Sub(t))
			}
			t = e
		}
		sent.Add(n)
		return nil
	})
	return sent.Load()
}
