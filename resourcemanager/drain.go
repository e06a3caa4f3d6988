package resourcemanager

import (
	"context"
	"slices"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/yarn"
)

// Operations of the audit log.
const (
	drainOperation   = "drainNodes"
	undrainOperation = "undrainNodes"
)

// Drain implements access.Controller.
func (t *term) Drain(ctx context.Context, c webgate.Caller, d access.DrainRequest) (err error) {
	defer func() { t.Audit(identity(c), drainOperation, err) }()
	if err = t.mayDrain(c); err != nil {
		return err
	}
	if d.Deadline == access.DefaultDeadline {
		if d.Deadline, err = t.defaultDeadline(); err != nil {
			return err
		}
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.DrainNodes{Ticket: k, Nodes: d.Nodes, Deadline: d.Deadline, Reason: d.Reason, User: c.User, Source: d.Source}
	})
	return err
}

// Undrain implements access.Controller.
func (t *term) Undrain(ctx context.Context, c webgate.Caller, nodes []yarn.NodeID) (err error) {
	defer func() { t.Audit(identity(c), undrainOperation, err) }()
	if err = t.mayDrain(c); err != nil {
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.UndrainNodes{Ticket: k, Nodes: nodes} })
	return err
}

// mayDrain refuses everybody but administrators who say who they are.
func (t *term) mayDrain(c webgate.Caller) error {
	if c.Anonymous || !t.rights.IsAdmin(identity(c)) {
		return answer.Errorf(answer.Unauthorized, "Draining nodes is for administrators (yarn.admin.acl) who say who they are. %s is none.", c.User)
	}
	return nil
}

// defaultDeadline is the deadline, in milliseconds since 1970 and 0 for none, by the timeout that yarn-site.xml has now. A refresh of the
// lists reads the same.
func (t *term) defaultDeadline() (int64, error) {
	site, err := t.Load()
	if err != nil {
		return 0, err
	}
	r := conf.NewReader(site)
	seconds := gracefulTimeout(r)
	if err := r.Err(); err != nil || seconds < 0 {
		return 0, err
	}
	return clock.System().Now().Wall + int64(seconds)*1000, nil
}

// maxDrainLines bounds how many nodes one status in the log names.
const maxDrainLines = 500

// logDrains writes a status of the draining nodes to the log in every period until ctx ends.
func (t *term) logDrains(ctx context.Context, period time.Duration) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			t.drainStatus(ctx)
		}
	}
}

// drainStatus logs a line for each draining node.
func (t *term) drainStatus(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, rpc.ViewPatience)
	defer cancel()
	c, err := t.Cluster(ctx, view.Counts)
	if err == nil && c.Metrics.NodesByState[yarn.NodeDecommissioning] == 0 {
		return
	}
	if err == nil {
		c, err = t.Cluster(ctx, view.Nodes)
	}
	if err != nil {
		t.Log.Warn("cannot log the status of draining nodes", "error", err)
		return
	}
	nodes := slices.DeleteFunc(slices.Clone(c.Nodes), func(n *view.Node) bool { return n.State != yarn.NodeDecommissioning })
	for _, n := range nodes[:min(len(nodes), maxDrainLines)] {
		t.logDrain(n, c.At.Wall)
	}
	if more := len(nodes) - maxDrainLines; more > 0 {
		t.Log.Info("more nodes are being decommissioned", "nodes", more, "all of them", "yarn node -drain-status")
	}
}

// maxNamed bounds how many applications a line of the log names.
const maxNamed = 5

func (t *term) logDrain(n *view.Node, now int64) {
	d := n.Drain
	args := []any{"node", n.ID, "phase", n.Phase(now), "minutes", (now - d.RequestedAt) / 60_000, "lastHeartbeatSecondsAgo", (now - n.LastHeartbeat) / 1000,
		"containers", d.Containers, "applications", d.Applications}
	if d.Deadline > 0 {
		args = append(args, "secondsLeft", max(d.Deadline-now, 0)/1000)
	}
	if len(d.WaitsFor) > 0 {
		args = append(args, "waitsFor", d.WaitsFor[:min(len(d.WaitsFor), maxNamed)])
	}
	if d.Reason != "" {
		args = append(args, "reason", d.Reason)
	}
	t.Log.Info("a node is being decommissioned", append(args, "requestedBy", d.RequestedBy)...)
}
