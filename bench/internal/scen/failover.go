package scen

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/sim"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Failover kills the active one of two ResourceManagers that have a ZooKeeper
// between them, and measures until ZooKeeper tells that its lock is gone, and
// from then until the other one answers a client, grants a container, has all
// nodes back and has granted a container to every master. Nodes and masters
// try without pause, so the figures are the server's. All applications must be
// there then.
func Failover(args []string) error {
	o := flags("failover")
	other := o.fs.Int("other-base", 0, "port-base of the other ResourceManager")
	otherPID := o.fs.Int("other-pid", 0, "its process id")
	server := o.fs.String("zookeeper", "127.0.0.1:2181", "address of ZooKeeper")
	lock := o.fs.String("lock", "/yarn-leader-election/bench/ActiveStandbyElectorLock", "the node that the active one holds")
	waiting := o.fs.Int("waiting", 10_000, "applications besides those of -apps, whose masters never come")
	size := o.fs.Int("context", 1500, "bytes of launch context")
	settle := o.fs.Float64("settle", 5, "seconds between the last submission and the kill")
	limit := o.fs.Float64("limit", 180, "seconds after which it is given up")
	o.parse(args)
	if *o.base == 0 || *other == 0 || o.pid == 0 || *otherPID == 0 {
		return errors.New("two ResourceManagers are needed: -port-base, -pid, -other-base and -other-pid")
	}
	c := sim.New(o.cfg)
	defer c.Close()
	victim, survivor := o.pid, *other
	if err := o.findActive(c, *other); err != nil {
		return err
	}
	if c.SchedPort == *other {
		victim, survivor = *otherPID, *o.base
	}
	c.Context = yarn.LaunchContext(*size)
	if err := c.AddNodes(o.nodes, o.nodeSize(o.slots)); err != nil {
		return err
	}
	if err := c.AddApps(o.apps, o.cfg.Queues); err != nil {
		return err
	}
	ids, err := submitWaiting(c, *waiting, true)
	if err != nil {
		return err
	}
	for _, a := range c.Apps {
		ids = append(ids, a.ID)
	}
	if err := calm(c, secs(*settle)); err != nil {
		return err
	}
	gone, closing, err := watchLock(*server, *lock)
	if err != nil {
		return err
	}
	defer closing()

	killed := time.Now()
	if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
		return fmt.Errorf("kill %d: %w", victim, err)
	}
	aim(c, survivor)
	var detected time.Time
	select {
	case detected = <-gone:
	case <-time.After(secs(*limit)):
		return errors.New("the lock in ZooKeeper stays")
	}
	back, err := o.comeBack(c, detected.Add(secs(*limit)))
	if err != nil {
		return err
	}
	lost, err := missing(c, ids)
	if err != nil {
		return err
	}
	since := func(at int64) float64 { return round(float64(at-detected.UnixNano()) / 1e9) }
	return o.emit("failover", c, out{"nodes": o.nodes, "masters": o.apps, "applications": len(ids), "context_bytes": len(c.Context),
		"kill_to_detection_s": round(detected.Sub(killed).Seconds()), "detection_to_answer_s": since(back.answer.Load()), "detection_to_grant_s": since(back.first.Load()),
		"detection_to_all_nodes_s": since(back.nodes.Load()), "detection_to_all_granted_s": since(back.granted.Load()), "lost": lost})
}

func aim(c *sim.Cluster, base int) { c.SchedPort, c.TrackerPort, c.ClientPort = base, base+1, base+2 }

// findActive aims at the one of two ResourceManagers that is active.
func (o *opts) findActive(c *sim.Cluster, other int) error {
	var errs [2]error
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		for i, base := range []int{*o.base, other} {
			aim(c, base)
			if errs[i] = c.Ask1(); errs[i] == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("none is active: %w", errors.Join(errs[:]...))
}

// submitWaiting submits applications, and waits until they are settled.
func submitWaiting(c *sim.Cluster, count int, unmanaged bool) ([]yarn.AppID, error) {
	each := make([][]yarn.AppID, c.Workers)
	err := c.Each(func(w int) error {
		cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
		if err != nil {
			return err
		}
		defer cl.Close()
		for i := w; i < count; i += c.Workers {
			msg, err := cl.Reply(cl.End(cl.Begin(yarn.GetNewApplication)))
			if err != nil {
				return err
			}
			id, err := yarn.ScanNewApp(msg)
			if err != nil {
				return err
			}
			s := yarn.Submission{App: id, Name: "bench", Queue: fmt.Sprintf(c.QueueFmt, i%c.Queues), Unmanaged: unmanaged,
				AM: yarn.Resource{Mem: 1024, VC: 1}, Context: c.Context}
			if _, err := cl.Reply(cl.End(s.Append(cl.Begin(yarn.SubmitApplication)))); err != nil {
				return err
			}
			each[w] = append(each[w], id)
		}
		if n := len(each[w]); n > 0 {
			_, err = settled(c, cl, each[w][n-1], 5*time.Millisecond)
		}
		return err
	})
	var all []yarn.AppID
	for _, ids := range each {
		all = append(all, ids...)
	}
	return all, err
}

// calm beats all nodes once a second for a while.
func calm(c *sim.Cluster, d time.Duration) error {
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(time.Second) {
		if err := c.Each(func(w int) error {
			nodes, _ := c.Mine(w)
			for _, n := range nodes {
				if err := n.Beat(); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// watchLock tells when ZooKeeper has removed a node.
func watchLock(server, path string) (gone <-chan time.Time, closing func(), err error) {
	conn, _, err := zk.Connect(strings.Split(server, ","), 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return nil, nil, err
	}
	there, _, events, err := conn.ExistsW(path)
	if err == nil && !there {
		err = fmt.Errorf("there is no %s", path)
	}
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("watch the lock in ZooKeeper: %w", err)
	}
	at := make(chan time.Time, 1)
	go func() {
		for e := range events {
			if e.Type == zk.EventNodeDeleted {
				at <- time.Now()
			}
		}
	}()
	return at, conn.Close, nil
}

// returned is when what happened after a failover, in nanoseconds since 1970.
type returned struct{ answer, first, nodes, granted atomic.Int64 }

// comeBack has nodes and masters find the one that takes over, until each master has a container.
func (o *opts) comeBack(c *sim.Cluster, deadline time.Time) (*returned, error) {
	out := &returned{}
	var nodes, masters atomic.Int64
	try := func(do func() error) error {
		for {
			err := do()
			if err == nil {
				return nil
			}
			if time.Now().After(deadline) {
				return err
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	done := make(chan error, 1)
	go func() {
		err := try(c.Ask1)
		out.answer.Store(time.Now().UnixNano())
		done <- err
	}()
	err := c.Each(func(w int) error {
		mine, apps := c.Mine(w)
		for _, n := range mine {
			if err := try(n.Rejoin); err != nil {
				return fmt.Errorf("node: %w", err)
			}
			if nodes.Add(1) == int64(len(c.Nodes)) {
				out.nodes.Store(time.Now().UnixNano())
			}
			if len(apps) > 0 {
				a := apps[0]
				apps = apps[1:]
				if err := o.regain(c, a, mine, try, out, deadline); err != nil {
					return err
				}
				if masters.Add(1) == int64(len(c.Apps)) {
					out.granted.Store(time.Now().UnixNano())
				}
			}
		}
		return nil
	})
	return out, errors.Join(err, <-done)
}

// regain registers a master and asks for a container until it has it.
func (o *opts) regain(c *sim.Cluster, a *sim.App, nodes []*sim.Node, try func(func() error) error, out *returned, deadline time.Time) error {
	if err := try(a.Rejoin); err != nil {
		return fmt.Errorf("master: %w", err)
	}
	for ask := 1; ; ask = 0 {
		granted, _, err := a.Poll(ask)
		if err != nil {
			return fmt.Errorf("allocate: %w", err)
		}
		if granted > 0 {
			out.first.CompareAndSwap(0, time.Now().UnixNano())
			return nil
		}
		if time.Now().After(deadline) {
			return errors.New("no container is granted")
		}
		if err := nodes[0].Beat(); err != nil {
			return fmt.Errorf("heartbeat: %w", err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// missing counts applications that the server does not know.
func missing(c *sim.Cluster, ids []yarn.AppID) (int64, error) {
	var lost atomic.Int64
	err := c.Each(func(w int) error {
		cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
		if err != nil {
			return err
		}
		defer cl.Close()
		for i := w; i < len(ids); i += c.Workers {
			_, err := cl.Reply(cl.End(yarn.AppendReportRequest(cl.Begin(yarn.GetApplicationReport), ids[i])))
			if e, ok := errors.AsType[*rpc.RemoteError](err); ok && !e.Fatal {
				lost.Add(1)
				c.L.Break(ledger.LostApplication, 1, "%v: %v", ids[i], e)
			} else if err != nil {
				return err
			}
		}
		return nil
	})
	return lost.Load(), err
}
