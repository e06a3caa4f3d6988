package scen

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Submit measures applications submitted per second: each worker is a client
// that calls getNewApplication and submitApplication. Two rates come out:
// acknowledged is the rate of replies; settled counts the time until the
// server has moved every acknowledged application past NEW_SAVING, which is
// what Hadoop's own client waits for before it calls a submission done.
func Submit(args []string) error {
	o := flags("submit")
	count := o.fs.Int64("count", 0, "stop after so many applications; 0 for -time")
	size := o.fs.Int("context", 1500, "bytes of launch context")
	wait := o.fs.Bool("wait", false, "each client waits until its application is settled before the next (as YarnClient does)")
	ids := o.fs.String("ids", "", "write the acknowledged application ids to this file")
	unmanaged := o.fs.Bool("unmanaged", false, "submit with unmanaged_am")
	rate := o.fs.Float64("rate", 0, "submissions per second, of all workers together; 0 for as many as the server takes")
	share := o.fs.Int("share", 1, "workers that share a connection, as all threads of a Hadoop client do")
	o.parse(args)
	if *share < 1 || *share > 1 && (*wait || *rate > 0) {
		return errors.New("-share must be 1 with -wait and -rate, and is never less")
	}
	c := sim.New(o.cfg)
	if err := c.Await(2 * time.Minute); err != nil {
		return err
	}
	ctx := yarn.LaunchContext(*size)
	load := &submitting{c: c, rate: *rate, wait: *wait, unmanaged: *unmanaged, context: ctx}
	for q := range c.Queues {
		load.queues = append(load.queues, fmt.Sprintf(c.QueueFmt, q))
	}
	var clients []*client
	for w := 0; w < o.cfg.Workers; w += *share {
		clients = append(clients, &client{load: load, first: w, callers: make([]caller, min(*share, o.cfg.Workers-w))})
	}
	each := func(f func(*client) error) {
		var all sync.WaitGroup
		for _, k := range clients {
			all.Go(func() {
				if err := f(k); err != nil {
					c.Fail(err)
				}
			})
		}
		all.Wait()
	}

	// burst submits for d or until count, and then waits until the last
	// application of every client is settled (they settle in order).
	burst := func(d time.Duration, count int64, on bool) (n int64, acks time.Duration) {
		load.began, load.length, load.count, load.measured = time.Now(), d, count, on
		load.sent.Store(0)
		each((*client).run)
		acks = time.Since(load.began)
		if c.Errors.Load() == 0 {
			each((*client).settle)
		}
		return load.sent.Load(), acks
	}
	if o.warm > 0 {
		burst(secs(o.warm), 0, false)
	}
	m := o.start()
	total, ackTime := burst(secs(o.secs), *count, true)
	u := m.stop()
	if *ids != "" {
		f, err := os.Create(*ids)
		if err != nil {
			return err
		}
		b := bufio.NewWriter(f)
		for _, k := range clients {
			for _, id := range k.acked {
				fmt.Fprintf(b, "%d %d\n", id.TS, id.ID)
			}
		}
		if err := b.Flush(); err != nil {
			return err
		}
		f.Close()
	}
	var lat, settle hists
	for _, k := range clients {
		lat, settle = append(lat, k.lat), append(settle, k.settled)
	}
	fig := out{"queues": o.cfg.Queues, "workers": o.cfg.Workers, "connections": len(clients), "context_bytes": len(ctx), "apps": total, "wait": *wait,
		"acknowledged_per_s": round(float64(total) / ackTime.Seconds()), "settled_per_s": round(float64(total) / u.Seconds),
		"settle_tail_s":         round(u.Seconds - ackTime.Seconds()),
		"server_cpu_us_per_app": per(u.ServerCPU, total), "driver_cpu_us_per_app": per(u.DriverCPU, total),
		"submit": lat.sum(), "report_polls": load.polls.Load(), "use": u}
	if *wait {
		fig["submit_until_settled"] = settle.sum()
	}
	for _, k := range clients {
		k.close()
	}
	return o.emit("submit", c, fig)
}

// settled polls until the application has left NEW and NEW_SAVING.
func settled(c *sim.Cluster, cl *rpc.Conn, id yarn.AppID, pause time.Duration) (polls int64, err error) {
	for deadline := time.Now().Add(5 * time.Minute); ; polls++ {
		msg, err := cl.Reply(cl.End(yarn.AppendReportRequest(cl.Begin(yarn.GetApplicationReport), id)))
		if err != nil {
			return polls, err
		}
		r, err := yarn.ScanReport(msg)
		if err != nil {
			return polls, err
		}
		switch {
		case r.State == yarn.AppFailed || r.State == yarn.AppKilled || r.State == yarn.AppFinished:
			c.L.Break(ledger.WrongState, 1, "application %d in state %d: %s", id.ID, r.State, r.Diag)
			return polls, nil
		case r.State >= yarn.AppSubmitted:
			return polls, nil
		}
		if time.Now().After(deadline) {
			return polls, fmt.Errorf("application %d still in state %d", id.ID, r.State)
		}
		time.Sleep(pause)
	}
}

// SubmitCheck asks for every application id in a file written by Submit, to
// be run after the server was killed and started again.
func SubmitCheck(args []string) error {
	o := flags("submit-check")
	ids := o.fs.String("ids", "", "file of application ids")
	o.parse(args)
	c := sim.New(o.cfg)
	if err := c.Await(5 * time.Minute); err != nil {
		return err
	}
	f, err := os.Open(*ids)
	if err != nil {
		return err
	}
	defer f.Close()
	var list []yarn.AppID
	for s := bufio.NewScanner(f); s.Scan(); {
		var id yarn.AppID
		if _, err := fmt.Sscan(s.Text(), &id.TS, &id.ID); err != nil {
			return err
		}
		list = append(list, id)
	}
	var lost, failed atomic.Int64
	err = c.Each(func(w int) error {
		cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
		if err != nil {
			return err
		}
		defer cl.Close()
		for i := w; i < len(list); i += c.Workers {
			msg, err := cl.Reply(cl.End(yarn.AppendReportRequest(cl.Begin(yarn.GetApplicationReport), list[i])))
			if e, ok := errors.AsType[*rpc.RemoteError](err); ok && !e.Fatal {
				lost.Add(1)
				c.L.Break(ledger.LostApplication, 1, "%v: %v", list[i], e)
				continue
			}
			if err != nil {
				return err
			}
			r, err := yarn.ScanReport(msg)
			if err != nil {
				return err
			}
			if r.State == yarn.AppFailed || r.State == yarn.AppKilled {
				failed.Add(1)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return o.emit("submit-check", c, out{"acknowledged": len(list), "lost": lost.Load(), "failed": failed.Load()})
}
