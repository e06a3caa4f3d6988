package sim

import (
	"fmt"
	"sync"
	"time"

	"github.com/heddle-project/heddle/bench/internal/ledger"
	"github.com/heddle-project/heddle/bench/internal/pb"
	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// live is a container on a node.
type live struct {
	app   *App
	id    int64
	res   yarn.Resource
	told  bool // reported as running
	stays bool // runs until Stop
}

// Node is a simulated NodeManager. One goroutine at a time may Beat it;
// applications may hand it containers meanwhile.
type Node struct {
	c     *Cluster
	Host  string
	Port  int
	Cap   yarn.Resource
	id    []byte
	conn  *rpc.Conn
	resp  int32
	buf   []byte
	keyID int32
	key   []byte

	mu   sync.Mutex
	live []live
	used yarn.Resource
}

func (n *Node) connect() (err error) {
	if n.conn == nil {
		n.conn, err = rpc.Dial(n.c.Addr(n.c.TrackerPort), yarn.TrackerProtocol, "nm", nil)
	}
	return err
}

// Register registers the node, connecting first if it has no connection.
func (n *Node) Register() error {
	if err := n.connect(); err != nil {
		return err
	}
	b := n.conn.Begin(yarn.RegisterNM)
	id := n.conn.End(yarn.AppendRegisterNM(b, n.id, n.Cap))
	msg, err := n.conn.Reply(id)
	if err != nil {
		return err
	}
	action, diag, key, err := yarn.ScanRegisterNM(msg)
	if err != nil {
		return err
	}
	if action > 0 {
		return fmt.Errorf("node %s told to stop at registration: %s", n.Host, diag)
	}
	n.keyID, n.key = key.ID, key.Bytes
	n.resp = 0
	return nil
}

// take books a granted container.
func (n *Node) take(a *App, id int64, r yarn.Resource) {
	n.mu.Lock()
	n.live = append(n.live, live{app: a, id: id, res: r, stays: a.Stays})
	n.used.Mem += r.Mem
	n.used.VC += r.VC
	over, overVC := n.used.Mem-n.Cap.Mem, n.used.VC-n.Cap.VC
	n.mu.Unlock()
	if over > 0 {
		n.c.L.Break(ledger.NodeMemory, 1, "%s by %d MB", n.Host, over)
	}
	if overVC > 0 && n.c.CheckCores {
		n.c.L.Break(ledger.NodeCores, 1, "%s by %d", n.Host, overVC)
	}
}

// Live returns the number of containers on the node.
func (n *Node) Live() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.live)
}

// build encodes the heartbeat: new containers as running, those already
// reported as complete unless they stay.
func (n *Node) build() {
	b := n.buf[:0]
	ended := 0
	n.mu.Lock()
	k := 0
	for _, l := range n.live {
		switch {
		case !l.told || l.stays:
			l.told = true
			b = yarn.AppendStatus(b, l.app.attempt, l.id, yarn.Running, l.res)
			n.live[k] = l
			k++
		default:
			b = yarn.AppendStatus(b, l.app.attempt, l.id, yarn.Complete, l.res)
			n.used.Mem -= l.res.Mem
			n.used.VC -= l.res.VC
			l.app.queue.Give(l.res.Mem)
			l.app.endsSent.Add(1)
			ended++
		}
	}
	clear(n.live[k:])
	n.live = n.live[:k]
	n.mu.Unlock()
	n.buf = b
	if ended > 0 {
		n.c.Ended.Add(int64(ended))
	}
}

// Send builds and queues a heartbeat on the node's connection.
func (n *Node) Send(now time.Time) int32 {
	n.build()
	b := n.conn.Begin(yarn.Heartbeat)
	return n.conn.End(yarn.AppendHeartbeat(b, n.id, n.resp, n.buf, now.UnixMilli()))
}

// Judge checks a heartbeat reply.
func (n *Node) Judge(msg []byte) error {
	s := pb.In(msg)
	resp, action := int64(-1), 0
	var diag []byte
	for s.Next() {
		switch s.F {
		case 1:
			resp = int64(int32(s.V))
		case 4:
			action = int(s.V)
		case 8:
			diag = s.B
		}
	}
	if s.Bad() {
		return yarn.ErrMalformed
	}
	if action != 0 {
		n.c.L.Break(ledger.NodeAction, 1, "%s action %d: %s", n.Host, action, diag)
		return fmt.Errorf("node %s: action %d: %s", n.Host, action, diag)
	}
	if resp != int64(n.resp)+1 {
		n.c.L.Break(ledger.ResponseID, 1, "node %s got %d after %d", n.Host, resp, n.resp)
	}
	n.resp = int32(resp)
	n.c.Beats.Add(1)
	return nil
}

// Beat sends one heartbeat and judges the reply.
func (n *Node) Beat() error {
	msg, err := n.conn.Reply(n.Send(time.Now()))
	if err != nil {
		return err
	}
	return n.Judge(msg)
}
