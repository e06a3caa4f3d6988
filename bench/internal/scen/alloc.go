package scen

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/sim"
)

// Alloc measures containers per second in a closed loop: each worker takes
// turns between its applications, which ask for -ask containers whenever
// they have none outstanding, and its nodes, which report a new container
// running at one heartbeat and complete at the next. With -sweep it does so
// for several numbers of workers and reports the best.
func Alloc(args []string) error {
	o := flags("alloc")
	ratio := o.fs.Int("beats-per-poll", 1, "node heartbeats per allocate call")
	sweep := o.fs.String("sweep", "", "numbers of workers to try in turn, as 64,16,4; the best counts")
	drain := o.fs.Float64("drain", 180, "seconds at most to wait for the last asks")
	o.parse(args)
	if *sweep == "" {
		*sweep = strconv.Itoa(o.cfg.Workers)
	}
	var counts []int
	for f := range strings.SplitSeq(*sweep, ",") {
		n, err := strconv.Atoi(f)
		if err != nil || n < 1 {
			return fmt.Errorf("bad -sweep %q", *sweep)
		}
		counts = append(counts, min(n, o.nodes, o.apps))
		o.cfg.Workers = max(o.cfg.Workers, n)
	}
	o.clampWorkers(min(o.nodes, o.apps))
	setupWorkers := o.cfg.Workers
	t0 := time.Now()
	c, err := o.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	setup := time.Since(t0)

	var best out
	var tried []out
	for i, n := range counts {
		if o.cfg.SharedNM && setupWorkers%n != 0 {
			return fmt.Errorf("with -shared-nm every number of workers must divide %d", setupWorkers)
		}
		c.Workers = n
		warm := o.warm
		if i > 0 {
			warm = min(warm, 5)
		}
		f := o.closed(c, warm, *ratio)
		tried = append(tried, out{"workers": n, "containers_per_s": f["containers_per_s"],
			"rpc_per_s": f["rpc_per_s"], "server_cpu_us_per_container": f["server_cpu_us_per_container"]})
		if best == nil || f["containers_per_s"].(float64) > best["containers_per_s"].(float64) {
			best = f
		}
		if c.Errors.Load() > 0 {
			break
		}
	}
	if c.Errors.Load() == 0 {
		best["undrained"] = c.Drain(secs(*drain))
	}
	sent, got := c.Bytes()
	calls := max(1, c.Beats.Load()+c.Polls.Load())
	best["request_bytes"], best["reply_bytes"] = sent/calls, got/calls
	best["queues"], best["nodes"], best["apps"], best["ask"], best["shared_nm"] = o.cfg.Queues, o.nodes, o.apps, o.k, o.cfg.SharedNM
	best["setup_s"], best["granted_in_all"] = round(setup.Seconds()), c.Grants.Load()
	if len(tried) > 1 {
		best["sweep"] = tried
	}
	return o.emit("alloc", c, best)
}

// closed runs the closed loop once and returns its figures.
func (o *opts) closed(c *sim.Cluster, warm float64, ratio int) out {
	var phase atomic.Int32 // 0 warm, 1 measured, 2 over
	polls, beats := make(hists, c.Workers), make(hists, c.Workers)
	done := make(chan error, 1)
	go func() {
		done <- c.Each(func(w int) error {
			nodes, apps := c.Mine(w)
			ni := 0
			for i := 0; phase.Load() < 2; i++ {
				a := apps[i%len(apps)]
				ask := 0
				if a.Outstanding() == 0 {
					ask = o.k
				}
				t := time.Now()
				if _, _, err := a.Poll(ask); err != nil {
					c.Fail(err)
					return nil
				}
				d := time.Now()
				on := phase.Load() == 1
				if on {
					polls[w].Add(d.Sub(t))
				}
				for range ratio {
					if err := nodes[ni].Beat(); err != nil {
						c.Fail(err)
						return nil
					}
					if ni++; ni == len(nodes) {
						ni = 0
					}
					e := time.Now()
					if on {
						beats[w].Add(e.Sub(d))
					}
					d = e
				}
			}
			return nil
		})
	}()
	time.Sleep(secs(warm))
	m := o.start()
	g0, b0, p0, e0 := c.Grants.Load(), c.Beats.Load(), c.Polls.Load(), c.EndsSeen.Load()
	phase.Store(1)
	var windows []float64
	last := g0
	tick := time.Now()
	for time.Since(m.t) < secs(o.secs) {
		time.Sleep(min(time.Second, secs(o.secs)-time.Since(m.t)))
		now, g := time.Now(), c.Grants.Load()
		windows = append(windows, round(float64(g-last)/now.Sub(tick).Seconds()))
		last, tick = g, now
	}
	u := m.stop()
	g, b, p, e := c.Grants.Load()-g0, c.Beats.Load()-b0, c.Polls.Load()-p0, c.EndsSeen.Load()-e0
	phase.Store(2)
	<-done
	return out{
		"workers":          c.Workers,
		"containers_per_s": round(float64(g) / u.Seconds), "containers_window": spread(windows), "windows": windows,
		"completed_per_s": round(float64(e) / u.Seconds),
		"rpc_per_s":       round(float64(b+p) / u.Seconds), "heartbeats_per_s": round(float64(b) / u.Seconds), "allocates_per_s": round(float64(p) / u.Seconds),
		"server_cpu_us_per_container": per(u.ServerCPU, g), "server_cpu_us_per_rpc": per(u.ServerCPU, b+p), "driver_cpu_us_per_rpc": per(u.DriverCPU, b+p),
		"allocate": polls.sum(), "heartbeat": beats.sum(), "use": u,
	}
}
