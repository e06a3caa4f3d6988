// Package scen holds the scenarios. Each prints one line of JSON.
package scen

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/proc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// opts are the flags that all scenarios share.
type opts struct {
	fs    *flag.FlagSet
	cfg   sim.Config
	base  *int
	pid   int
	label string
	nodes int
	apps  int
	k     int
	slots int
	secs  float64
	warm  float64
}

func flags(name string) *opts {
	o := &opts{fs: flag.NewFlagSet(name, flag.ExitOnError)}
	f, c := o.fs, &o.cfg
	f.StringVar(&c.Host, "host", "127.0.0.1", "address of the ResourceManager")
	f.IntVar(&c.ClientPort, "client-port", 8032, "ApplicationClientProtocol port")
	f.IntVar(&c.SchedPort, "scheduler-port", 8030, "ApplicationMasterProtocol port")
	f.IntVar(&c.TrackerPort, "tracker-port", 8031, "ResourceTracker port")
	base := f.Int("port-base", 0, "sets the three ports to base+2, base and base+1")
	f.StringVar(&c.User, "user", "bench", "user that submits")
	f.IntVar(&c.Queues, "queues", 1, "leaf queues, as configured in the ResourceManager")
	f.StringVar(&c.QueueFmt, "queue-format", "root.q%d", "name of leaf queue number i")
	f.Float64Var(&c.QueueMax, "queue-max", 100, "maximum-capacity of each leaf queue, percent, to check")
	f.Int64Var(&c.Ask.Mem, "mem", 1024, "MB of one container")
	f.Int64Var(&c.Ask.VC, "vcores", 1, "cores of one container")
	f.BoolVar(&c.CheckCores, "check-cores", true, "also check the cores of nodes (with the default resource calculator only memory binds)")
	f.BoolVar(&c.SharedNM, "shared-nm", false, "one node connection per worker instead of one per node")
	f.IntVar(&c.Workers, "workers", 64, "calls in flight")
	f.IntVar(&o.pid, "pid", 0, "process id of the ResourceManager, for its CPU and memory")
	f.StringVar(&o.label, "label", "", "copied to the output")
	f.IntVar(&o.nodes, "nodes", 50, "simulated NodeManagers")
	f.IntVar(&o.apps, "apps", 50, "simulated applications")
	f.IntVar(&o.k, "ask", 10, "containers per ask")
	f.IntVar(&o.slots, "slots", 64, "containers that fit on a node")
	f.Float64Var(&o.secs, "time", 20, "seconds measured")
	f.Float64Var(&o.warm, "warm", 10, "seconds of the same load before")
	o.base = base
	return o
}

func (o *opts) parse(args []string) {
	o.fs.Parse(args)
	if b := *o.base; b > 0 {
		o.cfg.SchedPort, o.cfg.TrackerPort, o.cfg.ClientPort = b, b+1, b+2
	}
}

// nodeSize is the size of a node with room for n containers.
func (o *opts) nodeSize(n int) yarn.Resource {
	return yarn.Resource{Mem: o.cfg.Ask.Mem * int64(n), VC: o.cfg.Ask.VC * int64(n)}
}

// meter takes the difference of clocks and counters between two moments.
type meter struct {
	o    *opts
	t    time.Time
	srv  float64
	self float64
	busy float64
}

func (o *opts) start() meter {
	return meter{o, time.Now(), proc.CPU(o.pid), proc.Self(), proc.Busy()}
}

// usage is what a measured stretch cost.
type usage struct {
	Seconds   float64 `json:"seconds"`
	ServerCPU float64 `json:"server_cpu_s,omitempty"`
	DriverCPU float64 `json:"driver_cpu_s"`
	PerDriver float64 `json:"server_cpu_per_driver_cpu,omitempty"`
	Foreign   float64 `json:"foreign_cores"`
	RSS       float64 `json:"server_rss_mb,omitempty"`
	Peak      float64 `json:"server_peak_rss_mb,omitempty"`
}

func (m meter) stop() usage {
	u := usage{Seconds: time.Since(m.t).Seconds(), DriverCPU: proc.Self() - m.self}
	foreign := proc.Busy() - m.busy - u.DriverCPU
	if m.o.pid > 0 {
		u.ServerCPU = proc.CPU(m.o.pid) - m.srv
		foreign -= u.ServerCPU
		u.PerDriver = round(u.ServerCPU / max(u.DriverCPU, 1e-3))
		u.RSS, u.Peak = round(proc.RSS(m.o.pid)), round(proc.Peak(m.o.pid))
	}
	u.Foreign = round(max(0, foreign/u.Seconds))
	u.Seconds, u.ServerCPU, u.DriverCPU = round(u.Seconds), round(u.ServerCPU), round(u.DriverCPU)
	return u
}

// out is the line printed.
type out map[string]any

func (o *opts) emit(name string, c *sim.Cluster, fig out) error {
	fig["scenario"] = name
	if o.label != "" {
		fig["label"] = o.label
	}
	if c != nil {
		fig["violations"] = c.L.Total()
		if n := c.L.Counts(); len(n) > 0 {
			fig["violations_by_rule"] = n
			for _, e := range c.L.Examples() {
				fmt.Fprintln(os.Stderr, "violation:", e)
			}
		}
		fig["errors"] = c.Errors.Load()
		if err := c.Err(); err != nil {
			fig["first_error"] = err.Error()
		}
		fig["signatures_checked"] = c.Signed.Load()
	}
	fig["driver_threads"] = runtime.GOMAXPROCS(0)
	b, err := json.Marshal(fig)
	if err != nil {
		return err
	}
	fmt.Println(string(b))
	if c == nil {
		return nil
	}
	if n := c.L.Total(); n > 0 {
		return fmt.Errorf("%d violations", n)
	}
	return c.Err()
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }

func per(a float64, n int64) float64 {
	if n == 0 {
		return 0
	}
	return round(a / float64(n) * 1e6)
}

// spread is the lowest, the middle and the highest of some figures.
func spread(v []float64) [3]float64 {
	if len(v) == 0 {
		return [3]float64{}
	}
	s := slices.Sorted(slices.Values(v))
	return [3]float64{round(s[0]), round((s[(len(s)-1)/2] + s[len(s)/2]) / 2), round(s[len(s)-1])}
}

// hists is one histogram per worker.
type hists []hist.H

func (h hists) sum() hist.Summary {
	var t hist.H
	for i := range h {
		t.Merge(&h[i])
	}
	s := t.Summary()
	s.Mean, s.P50, s.P99, s.P999, s.Max = round(s.Mean), round(s.P50), round(s.P99), round(s.P999), round(s.Max)
	return s
}

// clampWorkers keeps every worker supplied with nodes and applications.
func (o *opts) clampWorkers(n int) { o.cfg.Workers = max(1, min(o.cfg.Workers, n)) }

func secs(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }
