package resourcemanager

import (
	"context"
	"net/netip"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/ipc"
)

// Reread reads anew whatever an administrator can have refreshed: queues, lists of nodes, groups, proxy users and administrators. Each
// is taken over as a whole or stays as it is, and a line of the audit log says which. It returns when all are done or ctx ends.
func (d *Daemon) Reread(ctx context.Context) {
	self := &ipc.Identity{User: d.User, Remote: netip.AddrPortFrom(netip.IPv4Unspecified(), 0)}
	for _, part := range []struct {
		operation string
		run       func() error
	}{
		{"refreshQueues", func() error { return d.rereadQueues(ctx) }},
		{"refreshNodes", func() error { return d.rereadNodes(ctx) }},
		{"refreshUserToGroupsMappings", d.RefreshGroups},
		{"refreshSuperUserGroupsConfiguration", d.RefreshProxyUsers},
		{"refreshAdminAcls", d.RefreshAdminACL},
	} {
		if ctx.Err() != nil {
			return
		}
		d.Audit(self, part.operation, part.run())
	}
}

func (d *Daemon) rereadQueues(ctx context.Context) error {
	cmd, applied, err := d.RefreshQueues()
	if err != nil {
		return err
	}
	if _, err = d.ask(ctx, func(t engine.Ticket) engine.Command { cmd.Ticket = t; return cmd }); err == nil {
		applied()
	}
	return err
}

func (d *Daemon) rereadNodes(ctx context.Context) error {
	cmd, err := d.RefreshNodes()
	if err != nil {
		return err
	}
	_, err = d.ask(ctx, func(t engine.Ticket) engine.Command { cmd.Ticket = t; return cmd })
	return err
}
