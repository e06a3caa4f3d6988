package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-project/heddle/bench/internal/hist"
	"github.com/heddle-project/heddle/bench/internal/proc"
)

// load is a closed loop: each worker has one request under way.
type load struct {
	outputs
	address    string
	workers    int
	ask        int
	keep       bool
	all        bool
	warm, time float64
	pid        int
	label      string
}

// figures are what one worker counted.
type figures struct {
	requests, failed, bytes int64
	latency                 hist.H
	first                   error
}

func (f *figures) merge(o *figures) {
	f.requests += o.requests
	f.failed += o.failed
	f.bytes += o.bytes
	f.latency.Merge(&o.latency)
	if f.first == nil {
		f.first = o.first
	}
}

func fetch(args []string) error {
	f := flag.NewFlagSet("fetch", flag.ExitOnError)
	var l load
	l.flags(f)
	f.StringVar(&l.address, "address", "127.0.0.1:13562", "of the server, with the port that requests are signed for")
	f.IntVar(&l.workers, "workers", 8, "reducers at a time")
	f.IntVar(&l.ask, "ask", 20, "maps in one request")
	f.BoolVar(&l.keep, "keep-alive", false, "ask to keep connections")
	f.BoolVar(&l.all, "all", false, "fetch every partition of every map once, instead of -time seconds")
	f.Float64Var(&l.warm, "warm", 5, "seconds of the same load before")
	f.Float64Var(&l.time, "time", 10, "seconds measured")
	f.IntVar(&l.pid, "pid", 0, "process id of the server, for its CPU and memory")
	f.StringVar(&l.label, "label", "", "copied to the output")
	f.Parse(args)
	if err := l.ready(); err != nil {
		return err
	}
	if l.warm > 0 {
		l.run(l.stretch(l.warm))
	}
	start, cpu, self, busy := time.Now(), proc.CPU(l.pid), proc.Self(), proc.Busy()
	next := l.stretch(l.time)
	if l.all {
		next = l.sweep()
	}
	sum := l.run(next)
	return l.emit(sum, time.Since(start).Seconds(), proc.CPU(l.pid)-cpu, proc.Self()-self, proc.Busy()-busy)
}

// next tells a worker which partition to fetch of which maps.
type next func(rng *rand.Rand, maps []int) (part int, ask []int, more bool)

// stretch asks at random for some seconds.
func (l *load) stretch(seconds float64) next {
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	return func(rng *rand.Rand, maps []int) (int, []int, bool) {
		first := rng.IntN(l.maps)
		for i := range l.ask {
			maps = append(maps, (first+i*7)%l.maps)
		}
		return rng.IntN(l.parts), maps, time.Now().Before(end)
	}
}

// sweep hands out every partition of every map once. Reducers go through the
// maps from different places on, as stock reducers do.
func (l *load) sweep() next {
	var mu sync.Mutex
	batches := (l.maps + l.ask - 1) / l.ask
	done := 0
	return func(_ *rand.Rand, maps []int) (int, []int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if done == batches*l.parts {
			return 0, nil, false
		}
		part := done % l.parts
		batch := (done/l.parts + part*batches/l.parts) % batches
		done++
		for m := batch * l.ask; m < min((batch+1)*l.ask, l.maps); m++ {
			maps = append(maps, m)
		}
		return part, maps, true
	}
}

func (l *load) run(n next) *figures {
	each := make([]figures, l.workers)
	var wg sync.WaitGroup
	for i := range each {
		wg.Go(func() { l.worker(uint64(i), n, &each[i]) })
	}
	wg.Wait()
	sum := new(figures)
	for i := range each {
		sum.merge(&each[i])
	}
	return sum
}

func (l *load) worker(seed uint64, n next, f *figures) {
	_, port, _ := net.SplitHostPort(l.address)
	r := &reducer{outputs: &l.outputs, address: l.address, port: port, keep: l.keep}
	defer r.hangUp()
	rng := rand.New(rand.NewPCG(seed, 1))
	var maps []int
	for {
		part, ask, more := n(rng, maps[:0])
		if !more {
			return
		}
		maps = ask
		began := time.Now()
		got, err := r.fetch(part, ask)
		f.latency.Add(time.Since(began))
		f.requests++
		f.bytes += got
		if err != nil {
			f.failed++
			f.first = err
			time.Sleep(10 * time.Millisecond)
		}
	}
}

func (l *load) emit(sum *figures, seconds, cpu, self, busy float64) error {
	out := map[string]any{
		"scenario": "fetch", "label": l.label, "workers": l.workers, "ask": l.ask, "size": l.size, "maps": l.maps, "reduces": l.parts,
		"keep_alive": strconv.FormatBool(l.keep), "requests": sum.requests, "failed": sum.failed, "latency": sum.latency.Summary(),
		"seconds": round(seconds), "driver_cpu_s": round(self), "foreign_cores": round(max(0, (busy-self-cpu)/seconds)),
		"requests_per_s": round(float64(sum.requests) / seconds), "mb_per_s": round(float64(sum.bytes) / 1e6 / seconds),
	}
	if l.pid > 0 {
		out["server_cpu_s"] = round(cpu)
		out["server_rss_mb"], out["server_peak_rss_mb"] = round(proc.RSS(l.pid)), round(proc.Peak(l.pid))
		out["server_cpu_us_per_request"] = round(cpu * 1e6 / float64(sum.requests))
		out["mb_per_server_cpu_s"] = round(float64(sum.bytes) / 1e6 / cpu)
	}
	if err := json.NewEncoder(os.Stdout).Encode(out); err != nil {
		return err
	}
	if sum.failed > 0 {
		return fmt.Errorf("%d of %d requests failed, one of them: %w", sum.failed, sum.requests, sum.first)
	}
	return nil
}

func round(v float64) float64 { return math.Round(v*1000) / 1000 }
