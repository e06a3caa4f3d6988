package scen

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/bench/internal/proc"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Footprint loads nodes, applications and live containers, lets the server
// settle with nodes beating and applications polling, and reports memory.
func Footprint(args []string) error {
	o := flags("footprint")
	live := o.fs.Int("live", 0, "live containers in all")
	settle := o.fs.Float64("settle", 20, "seconds of rest with heartbeats before the reading")
	period := o.fs.Float64("beat", 1, "seconds between heartbeats of a node")
	gc := o.fs.String("gc", "", "command to run before the second reading (for a JVM: jcmd PID GC.run)")
	o.parse(args)
	o.clampWorkers(min(o.nodes, o.apps))
	before := proc.RSS(o.pid)
	c, err := o.cluster()
	if err != nil {
		return err
	}
	defer c.Close()
	loaded := proc.RSS(o.pid)
	if *live > 0 {
		if err := c.FillUp((*live+o.apps-1)/o.apps, 5*time.Second, true); err != nil {
			return err
		}
	}
	var over, on atomic.Bool
	var wg sync.WaitGroup
	for w := range o.cfg.Workers {
		wg.Go(func() { pace(c, w, secs(*period), &over, &on, nil) })
	}
	time.Sleep(secs(*settle / 2))
	m := o.start()
	time.Sleep(secs(*settle / 2))
	u := m.stop()
	fig := out{"nodes": o.nodes, "apps": o.apps, "queues": o.cfg.Queues, "live_containers": c.Live(),
		"rss_before_mb": round(before), "rss_loaded_mb": round(loaded), "rss_settled_mb": round(proc.RSS(o.pid)), "pss_settled_mb": round(proc.PSS(o.pid)),
		"rest_server_cores": round(u.ServerCPU / u.Seconds), "use": u}
	if *gc != "" {
		cmd := exec.Command("sh", "-c", *gc)
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s: %w", *gc, err)
		}
		time.Sleep(2 * time.Second)
		fig["rss_after_gc_mb"] = round(proc.RSS(o.pid))
	}
	over.Store(true)
	wg.Wait()
	return o.emit("footprint", c, fig)
}

// Start runs a command line that starts a ResourceManager and measures the
// time from exec until the client port and until the node port have answered
// their first calls. It stops the process again.
func Start(args []string) error {
	o := flags("start")
	runs := o.fs.Int("runs", 3, "times to start")
	limit := o.fs.Float64("limit", 180, "seconds to wait at most")
	log := o.fs.String("log", "", "file for the server's output")
	o.parse(args)
	if o.fs.NArg() == 0 {
		return fmt.Errorf("give the command line after the flags")
	}
	var client, node, rss, cpu []float64
	for range *runs {
		c := sim.New(o.cfg)
		t := time.Now()
		p, err := launch(o.fs.Args(), *log)
		if err != nil {
			return err
		}
		err = until(p, secs(*limit), func() error { return c.Ask1() })
		if err == nil {
			client = append(client, round(time.Since(t).Seconds()))
			err = until(p, secs(*limit), func() error {
				nc, err := rpc.Dial(c.Addr(c.TrackerPort), yarn.TrackerProtocol, "nm", nil)
				if err != nil {
					return err
				}
				nc.Close()
				c.Nodes = nil
				return c.AddNodes(1, o.nodeSize(8))
			})
			node = append(node, round(time.Since(t).Seconds()))
			rss = append(rss, round(proc.RSS(p.Process.Pid)))
			cpu = append(cpu, round(proc.CPU(p.Process.Pid)))
		}
		c.Close()
		halt(p)
		if err != nil {
			return err
		}
	}
	return o.emit("start", nil, out{"client_answered_s": client, "node_registered_s": node, "rss_mb": rss, "server_cpu_s": cpu,
		"median_client_s": spread(client)[1], "median_node_s": spread(node)[1]})
}

// launch starts a command whose process becomes the server.
func launch(argv []string, log string) (*exec.Cmd, error) {
	p := exec.Command(argv[0], argv[1:]...)
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if log != "" {
		f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		p.Stdout, p.Stderr = f, f
	}
	return p, p.Start()
}

// until tries f until it succeeds or the server is gone: every millisecond
// during the first second, then, to leave the processor to a slow server,
// every ten.
func until(p *exec.Cmd, limit time.Duration, f func() error) error {
	deadline, fine := time.Now().Add(limit), time.Now().Add(time.Second)
	for {
		err := f()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer: %w", err)
		}
		if syscall.Kill(p.Process.Pid, 0) != nil {
			return fmt.Errorf("server is gone: %w", err)
		}
		if time.Now().Before(fine) {
			time.Sleep(time.Millisecond)
		} else {
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// halt stops a process that launch started.
func halt(p *exec.Cmd) {
	done := make(chan struct{})
	go func() { p.Wait(); close(done) }()
	p.Process.Signal(syscall.SIGTERM)
	select {
	case <-done:
		return
	case <-time.After(20 * time.Second):
	}
	p.Process.Kill()
	<-done
}
