package sim

import (
	"fmt"

	"github.com/heddle-project/heddle/bench/internal/rpc"
	"github.com/heddle-project/heddle/bench/internal/yarn"
)

// Rejoin registers the node with the ResourceManager that the cluster's ports
// lead to now, over a new connection, and beats once. The node has no
// containers that it could report.
func (n *Node) Rejoin() error {
	if n.conn != nil {
		n.conn.Close()
		n.conn = nil
	}
	if err := n.Register(); err != nil {
		return err
	}
	return n.Beat()
}

// Rejoin registers the master again, as Rejoin of a node.
func (a *App) Rejoin() (err error) {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
	if a.conn, err = rpc.Dial(a.c.Addr(a.c.SchedPort), yarn.MasterProtocol, "", a.login); err != nil {
		return fmt.Errorf("scheduler port: %w", err)
	}
	a.resp = 0
	_, err = a.conn.Reply(a.conn.End(yarn.AppendRegisterAM(a.conn.Begin(yarn.RegisterAM), "127.0.0.1")))
	return err
}
