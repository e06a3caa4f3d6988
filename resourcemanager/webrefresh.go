package resourcemanager

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// Refresh implements access.Controller. It does what yarn rmadmin -refreshQueues and -refreshNodes do.
func (t *term) Refresh(ctx context.Context, c webgate.Caller, r access.RefreshRequest) (out access.Refreshed, err error) {
	if !r.DryRun {
		operation := "refreshQueues"
		if r.What == access.RefreshNodes {
			operation = "refreshNodes"
		}
		defer func() { t.Audit(identity(c), operation, err) }()
	}
	if c.Anonymous || !t.rights.IsAdmin(identity(c)) {
		return out, answer.Errorf(answer.Unauthorized, "Refreshing %s is for administrators (yarn.admin.acl) who say who they are. %s is none.", r.What, c.User)
	}
	if r.What == access.RefreshNodes {
		if out.Nodes, err = t.foresee(ctx, r.Graceful); err != nil {
			return refusedRefresh(r, err)
		}
		if !r.DryRun {
			err = t.takeLists(ctx, c.User, r.Graceful)
		}
		return out, err
	}
	if t.queues.mutable {
		return refusedRefresh(r, errors.New("the configuration of the queues is kept in a store, which says what they are; the queue file is not read. Change it under Configuration"))
	}
	switch {
	case t.queues.store != nil: // the CapacityScheduler's
		plan, err := t.planFile(ctx, c)
		if err != nil {
			return refusedRefresh(r, err)
		}
		out.Plan, out.Refusal = &plan, plan.Refusal
	case r.DryRun:
		if err := t.tryAllocations(ctx); err != nil {
			return refusedRefresh(r, err)
		}
	}
	if r.DryRun {
		return out, nil
	}
	if err := t.rereadQueues(ctx, c.User); err != nil {
		return refusedRefresh(r, err)
	}
	out.Refusal = ""
	return out, nil
}

// refusedRefresh is the answer to a refresh that is, or would be, refused.
func refusedRefresh(r access.RefreshRequest, err error) (access.Refreshed, error) {
	if r.DryRun {
		return access.Refreshed{Refusal: plainText(err)}, nil
	}
	if answer.KindOf(err) != answer.Unavailable {
		return access.Refreshed{}, err
	}
	return access.Refreshed{}, answer.Errorf(answer.Invalid, "the refresh of %s failed and changed nothing: %s", r.What, plainText(err))
}

// plainText is what an error says, without the class that clients in Java are told.
func plainText(err error) string {
	var remote *ipc.RemoteError
	if errors.As(err, &remote) {
		return remote.Message
	}
	return err.Error()
}

// planFile is what the queue file as it is now would change.
func (t *term) planFile(ctx context.Context, c webgate.Caller) (access.Plan, error) {
	values, err := t.readQueueFile()
	if err != nil {
		return access.Plan{}, err
	}
	return (&queueAccess{t}).Plan(ctx, c, settingsOf(values))
}

// tryAllocations tells whether a refresh of the FairScheduler's queues would be refused. It changes nothing.
func (t *term) tryAllocations(ctx context.Context) error {
	site, err := t.Load()
	if err != nil || t.access.schedule.Load().Fair == nil {
		return err
	}
	cfg, _, err := t.refreshFair(site)
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.RefreshQueues{Ticket: k, Config: cfg, DryRun: true}
	})
	return err
}

// takeLists puts the lists of nodes in force.
func (t *term) takeLists(ctx context.Context, user string, graceful bool) error {
	how := engine.AtOnce
	if graceful {
		how = engine.Graceful
	}
	cmd, err := t.RefreshNodes(how, nil)
	if err != nil {
		return answer.Errorf(answer.Invalid, "the refresh of nodes failed and changed nothing: %v", err)
	}
	cmd.User = user
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd })
	return err
}

// foresee is what the lists as they are written now would do with each node; see engine.RefreshNodes. It puts nothing in force.
func (t *term) foresee(ctx context.Context, graceful bool) ([]access.RefreshedNode, error) {
	site, err := t.Load()
	if err != nil {
		return nil, err
	}
	lists, err := t.readLists(site, false)
	if err != nil {
		return nil, err
	}
	r := conf.NewReader(site)
	timeout := gracefulTimeout(r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	c, err := t.Cluster(ctx, view.Nodes)
	if err != nil {
		return nil, err
	}
	ids := make([]yarn.NodeID, len(c.Nodes))
	for i, n := range c.Nodes {
		ids[i] = n.ID
	}
	looking, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	ips := nodeAddresses{lists: lists, lookup: t.lookup, before: t.grants.addresses.first, known: map[string]string{}}
	ips.find(looking, ids)
	excluded := exclusions(lists, ids, ips.of, timeout)
	var out []access.RefreshedNode
	for _, n := range c.Nodes {
		x, no := excluded[n.ID]
		if becomes := becomes(n, x, no, graceful); becomes != n.State {
			out = append(out, access.RefreshedNode{ID: n.ID, State: n.State, Becomes: becomes, Containers: n.Containers, Reason: x.Reason})
		}
	}
	slices.SortFunc(out, func(a, b access.RefreshedNode) int {
		return cmp.Or(cmp.Compare(a.ID.Host, b.ID.Host), cmp.Compare(a.ID.Port, b.ID.Port))
	})
	return out, nil
}

// becomes is the state that the lists would give a node. It follows engine.admit.
func becomes(n *view.Node, x engine.Exclusion, excluded, graceful bool) yarn.NodeState {
	ordered := n.Drain != nil && n.Drain.Source != "file"
	draining := n.State == yarn.NodeDecommissioning
	switch {
	case n.State == yarn.NodeDecommissioned && !excluded && !ordered:
		return yarn.NodeRunning // once it registers again
	case !n.State.Usable() && n.State != yarn.NodeUnhealthy:
		return n.State
	case !excluded && !draining, ordered && (graceful || !excluded):
		return n.State
	case !excluded:
		return yarn.NodeRunning
	case graceful:
		return yarn.NodeDecommissioning
	case x.Untracked:
		return yarn.NodeShutdown
	}
	return yarn.NodeDecommissioned
}
