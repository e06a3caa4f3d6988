package resourcemanager

import (
	"context"
	"net/netip"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/ipc"
)

// Reread reads anew whatever an administrator can have refreshed: queues, lists and sizes of nodes, the highest priority, groups, proxy users and administrators. Each
// is taken over as a whole or stays as it is, and a line of the audit log says which. It returns when all are done or ctx ends. Without a
// term there are no queues to refresh, and the next one reads them.
func (d *Daemon) Reread(ctx context.Context) {
	self := &ipc.Identity{User: d.User, Remote: netip.AddrPortFrom(netip.IPv4Unspecified(), 0)}
	type part struct {
		operation string
		run       func() error
	}
	parts := []part{{"refreshNodes", d.rereadLists}, {"refreshNodesResources", d.rereadSizes}}
	if t := d.term.Load(); t != nil {
		parts = []part{{"refreshNodes", func() error { return t.rereadNodes(ctx) }}, {"refreshNodesResources", func() error { return t.resizeNodes(ctx) }},
			{"refreshClusterMaxPriority", func() error { return t.rereadMaxPriority(ctx) }}}
		if !t.queues.mutable { // else the store says what the queues are, and nobody but us changes it
			parts = append([]part{{"refreshQueues", func() error { return t.rereadQueues(ctx, t.User) }}}, parts...)
		}
	}
	parts = append(parts, part{"refreshUserToGroupsMappings", d.RefreshGroups}, part{"refreshSuperUserGroupsConfiguration", d.RefreshProxyUsers},
		part{"refreshAdminAcls", d.RefreshAdminACL})
	for _, x := range parts {
		if ctx.Err() != nil {
			return
		}
		d.Audit(self, x.operation, x.run())
	}
}

// rereadLists reads the lists of nodes while there are no nodes.
func (p *process) rereadLists() error {
	p.refreshing.Lock()
	defer p.refreshing.Unlock()
	site, err := p.Load()
	if err != nil {
		return err
	}
	lists, err := p.readLists(site, false)
	if err == nil {
		p.adopt(lists)
	}
	return err
}

func (t *term) rereadQueues(ctx context.Context, user string) error {
	cmd, done, err := t.RefreshQueues(user)
	if done == nil {
		return err
	}
	if err != nil {
		done(err)
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd })
	done(err)
	return err
}

func (t *term) resizeNodes(ctx context.Context) error {
	cmd, err := t.RefreshNodesResources()
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd })
	return err
}

func (t *term) rereadMaxPriority(ctx context.Context) error {
	cmd, err := t.RefreshMaxPriority()
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd })
	return err
}

func (t *term) rereadNodes(ctx context.Context) error {
	cmd, err := t.RefreshNodes(engine.AtOnce, nil)
	if err != nil {
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command { cmd.Ticket = k; return cmd })
	return err
}
