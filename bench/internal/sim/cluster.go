// Package sim simulates NodeManagers and ApplicationMasters against a
// ResourceManager and judges what it answers.
package sim

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Config says what to simulate and where the ResourceManager is.
type Config struct {
	Host                               string
	ClientPort, SchedPort, TrackerPort int
	User                               string
	Queues                             int
	QueueFmt                           string
	QueueMax                           float64 // percent of the cluster, as configured there
	Ask                                yarn.Resource
	CheckCores                         bool
	SharedNM                           bool // one NM connection per worker
	Workers                            int
}

// Cluster is the simulated cluster. Node i and App i belong to worker i
// modulo Workers: only that goroutine may use them while it runs.
type Cluster struct {
	Config
	L       *ledger.Ledger
	Nodes   []*Node
	Apps    []*App
	Context []byte
	queues  []*ledger.Queue
	byHost  map[string]*Node

	Asks, Grants, Ended, EndsSeen, Beats, Polls, Signed, Errors atomic.Int64

	errMu sync.Mutex
	err   error
}

// New makes a cluster without nodes and applications.
func New(c Config) *Cluster {
	cl := &Cluster{Config: c, L: new(ledger.Ledger), byHost: map[string]*Node{}, Context: yarn.LaunchContext(200)}
	for i := range c.Queues {
		cl.queues = append(cl.queues, &ledger.Queue{Name: fmt.Sprintf(c.QueueFmt, i)})
	}
	return cl
}

// Addr returns the address of a port of the ResourceManager.
func (c *Cluster) Addr(port int) string { return net.JoinHostPort(c.Host, strconv.Itoa(port)) }

// Await waits until all three ports answer: the client port a call, the
// other two a connection.
func (c *Cluster) Await(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	for {
		err := c.answers()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func (c *Cluster) answers() error {
	for _, p := range []int{c.SchedPort, c.TrackerPort} {
		nc, err := net.DialTimeout("tcp", c.Addr(p), time.Second)
		if err != nil {
			return err
		}
		nc.Close()
	}
	return c.Ask1()
}

// Ask1 makes one call to the client port over a connection of its own.
func (c *Cluster) Ask1() error {
	cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
	if err != nil {
		return err
	}
	defer cl.Close()
	cl.SetDeadline(time.Now().Add(10 * time.Second))
	_, err = cl.Reply(cl.End(cl.Begin(yarn.GetClusterMetrics)))
	return err
}

// Fail records an error of the transport or an exception of the server.
func (c *Cluster) Fail(err error) {
	c.Errors.Add(1)
	c.errMu.Lock()
	if c.err == nil {
		c.err = err
	}
	c.errMu.Unlock()
}

// Err returns the first error recorded.
func (c *Cluster) Err() error {
	c.errMu.Lock()
	defer c.errMu.Unlock()
	return c.err
}

// Each runs f for every worker at once and waits.
func (c *Cluster) Each(f func(w int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, c.Workers)
	for w := range c.Workers {
		wg.Go(func() { errs[w] = f(w) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// AddNodes registers n more nodes of the given size and beats each once.
func (c *Cluster) AddNodes(n int, size yarn.Resource) error {
	first := len(c.Nodes)
	var total int64
	for i := first; i < first+n; i++ {
		host := fmt.Sprintf("127.%d.%d.%d", 1+i/62500, i/250%250, 1+i%250)
		node := &Node{c: c, Host: host, Port: 45454, Cap: size, id: yarn.NodeBytes(host, 45454)}
		c.Nodes = append(c.Nodes, node)
		c.byHost[host] = node
	}
	for _, n := range c.Nodes {
		total += n.Cap.Mem
	}
	for _, q := range c.queues {
		// One ask of slack: the scheduler rounds the maximum to whole units.
		q.Max = int64(float64(total)*c.QueueMax/100) + c.Ask.Mem
	}
	return c.Each(func(w int) error {
		for i := range c.Nodes {
			if i%c.Workers != w {
				continue
			}
			n := c.Nodes[i]
			if c.SharedNM && i >= c.Workers {
				n.conn = c.Nodes[w].conn
			}
			if i < first {
				continue
			}
			if err := n.Register(); err != nil {
				return fmt.Errorf("register node: %w", err)
			}
			if err := n.Beat(); err != nil {
				return fmt.Errorf("first heartbeat: %w", err)
			}
		}
		return nil
	})
}

// AddApps starts n more applications, spread over the first qs queues.
func (c *Cluster) AddApps(n, qs int) error {
	first := len(c.Apps)
	for i := range n {
		c.Apps = append(c.Apps, &App{c: c, queue: c.queues[i%qs]})
	}
	return c.Each(func(w int) error {
		var cl *rpc.Conn
		for i := first; i < first+n; i++ {
			if i%c.Workers != w {
				continue
			}
			var err error
			if cl == nil {
				if cl, err = rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil); err != nil {
					return err
				}
				defer cl.Close()
			}
			if err = c.Apps[i].Start(cl); err != nil {
				return err
			}
		}
		return nil
	})
}

// AddApp starts one more application in queue q, outside the workers.
func (c *Cluster) AddApp(q int) (*App, error) {
	cl, err := rpc.Dial(c.Addr(c.ClientPort), yarn.ClientProtocol, c.User, nil)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	a := &App{c: c, queue: c.queues[q]}
	return a, a.Start(cl)
}

// AddNode registers one node outside the workers.
func (c *Cluster) AddNode(size yarn.Resource) (*Node, error) {
	host := "127.250.0.1"
	n := &Node{c: c, Host: host, Port: 45454, Cap: size, id: yarn.NodeBytes(host, 45454)}
	c.byHost[host] = n
	if err := n.Register(); err != nil {
		return nil, err
	}
	return n, n.Beat()
}

// Live returns the number of containers on all nodes.
func (c *Cluster) Live() (t int) {
	for _, n := range c.Nodes {
		t += n.Live()
	}
	return t
}

// Bytes returns what nodes and applications have sent and received.
func (c *Cluster) Bytes() (sent, got int64) {
	seen := map[*rpc.Conn]bool{nil: true}
	add := func(conn *rpc.Conn) {
		if !seen[conn] {
			seen[conn] = true
			sent += conn.Sent
			got += conn.Got
		}
	}
	for _, n := range c.Nodes {
		add(n.conn)
	}
	for _, a := range c.Apps {
		add(a.conn)
	}
	return sent, got
}

// Mine returns the nodes and applications of worker w.
func (c *Cluster) Mine(w int) (nodes []*Node, apps []*App) {
	for i := w; i < len(c.Nodes); i += c.Workers {
		nodes = append(nodes, c.Nodes[i])
	}
	for i := w; i < len(c.Apps); i += c.Workers {
		apps = append(apps, c.Apps[i])
	}
	return nodes, apps
}

// FillUp makes every application ask for k containers that stay and beats
// the nodes until all are granted, or until nothing has been granted for
// quiet. What is still outstanding is withdrawn if withdraw is set.
func (c *Cluster) FillUp(k int, quiet time.Duration, withdraw bool) error {
	var last atomic.Int64
	last.Store(time.Now().UnixNano())
	want := c.Grants.Load() + int64(k)*int64(len(c.Apps))
	for _, a := range c.Apps {
		a.Stays = true
	}
	err := c.Each(func(w int) error {
		nodes, apps := c.Mine(w)
		for _, a := range apps {
			g, _, err := a.Poll(k)
			if err != nil {
				return err
			}
			if g > 0 {
				last.Store(time.Now().UnixNano())
			}
		}
		for c.Grants.Load() < want && time.Now().UnixNano()-last.Load() < int64(quiet) {
			for _, n := range nodes {
				if err := n.Beat(); err != nil {
					return err
				}
			}
			for _, a := range apps {
				if a.Outstanding() == 0 {
					continue
				}
				g, _, err := a.Poll(0)
				if err != nil {
					return err
				}
				if g > 0 {
					last.Store(time.Now().UnixNano())
				}
			}
			if len(nodes) == 0 {
				time.Sleep(10 * time.Millisecond)
			}
		}
		for _, n := range nodes {
			if err := n.Beat(); err != nil {
				return err
			}
		}
		if !withdraw {
			return nil
		}
		for _, a := range apps {
			if a.Outstanding() == 0 {
				continue
			}
			for i := range 2 {
				if _, _, err := a.Poll(-1 * (1 - i)); err != nil {
					return err
				}
			}
			a.Withdrawn()
		}
		return nil
	})
	return err
}

// Drain asks for nothing more: it beats and polls gently until every ask is
// granted and every completion has come back, then three times more to see
// that nothing comes unasked. If nothing moves for half a minute, what is
// missing is booked as a breach. If things still move after limit the server
// is merely slow; Drain then returns how many asks are left.
func (c *Cluster) Drain(limit time.Duration) (left int64) {
	const patience = 30 * time.Second
	sum := func() int64 { return c.Grants.Load() + c.EndsSeen.Load() }
	var mark, moved atomic.Int64
	mark.Store(sum())
	start := time.Now()
	moved.Store(start.UnixNano())
	c.Each(func(w int) error {
		nodes, apps := c.Mine(w)
		for extra := 0; extra < 3; {
			now := time.Now()
			if s := sum(); s != mark.Load() {
				mark.Store(s)
				moved.Store(now.UnixNano())
			}
			if now.Sub(start) > limit || now.UnixNano()-moved.Load() > int64(patience) {
				break
			}
			if c.Grants.Load() >= c.Asks.Load() && c.EndsSeen.Load() >= c.Grants.Load() {
				extra++
			}
			for _, n := range nodes {
				if err := n.Beat(); err != nil {
					c.Fail(err)
					return nil
				}
			}
			for _, a := range apps {
				if _, _, err := a.Poll(0); err != nil {
					c.Fail(err)
					return nil
				}
			}
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	})
	stuck := time.Now().UnixNano()-moved.Load() > int64(patience)
	for _, a := range c.Apps {
		left += a.Outstanding()
		if stuck {
			c.L.Break(ledger.Unsatisfied, a.Outstanding(), "application %d: %d of %d", a.ID.ID, a.Granted, a.Asked)
			c.L.Break(ledger.LostCompletion, a.Granted-a.Ends, "application %d: %d of %d", a.ID.ID, a.Ends, a.Granted)
		}
	}
	return left
}

// Close closes all connections.
func (c *Cluster) Close() {
	for _, n := range c.Nodes {
		if n.conn != nil {
			n.conn.Close()
		}
	}
	for _, a := range c.Apps {
		if a.conn != nil {
			a.conn.Close()
		}
	}
}
