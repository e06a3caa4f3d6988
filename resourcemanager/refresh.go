package resourcemanager

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// IsAdmin implements admin.Daemon.
func (d *Daemon) IsAdmin(c *ipc.Identity) bool { return d.rights.IsAdmin(c) }

// Groups implements admin.Daemon.
func (d *Daemon) Groups(user string) []string { return d.rights.Groups(user) }

// RefreshQueues reads the scheduler's configuration anew; the engine decides
// whether it can be applied, and has to know of the try if it cannot be read.
func (d *Daemon) RefreshQueues() (cmd engine.RefreshQueues, applied func(), err error) {
	site, err := d.Load()
	var cfg *config.Config
	if err == nil {
		cfg, err = d.readSchedule(site, d.clusterSize())
	}
	if err != nil {
		return engine.RefreshQueues{Prepared: d.prepareQueues(nil), Problem: err.Error()}, nil, err
	}
	return engine.RefreshQueues{Config: cfg, Prepared: d.prepareQueues(cfg)}, func() { d.rights.schedule.Store(cfg) }, nil
}

// prepareQueues does beside the loop what can be done there of a refresh; nil if the loop
// does not say in time on what basis.
func (d *Daemon) prepareQueues(cfg *config.Config) scheduler.Prepared {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := d.ask(ctx, func(t engine.Ticket) engine.Command { return engine.QueueBasis{Ticket: t} })
	if err != nil {
		return nil
	}
	return scheduler.Prepare(cfg, v.(scheduler.Basis))
}

// clusterSize is what the nodes have together, zero if that is not to be had now.
func (d *Daemon) clusterSize() yarn.Resource {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := d.loop.Views(ctx)
	if err != nil {
		return yarn.Resource{}
	}
	_, metrics := v.Queues()
	return metrics.Total
}

// RefreshNodes reads the lists anew, even if their paths have changed.
func (d *Daemon) RefreshNodes() (engine.RefreshNodes, error) {
	site, err := d.Load()
	if err != nil {
		return engine.RefreshNodes{}, err
	}
	if err := d.readLists(site, false); err != nil {
		return engine.RefreshNodes{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := d.loop.Views(ctx)
	if err != nil {
		return engine.RefreshNodes{}, err
	}
	lists, excluded := *d.lists.Load(), map[yarn.NodeID]bool{}
	if lists.Include.Len()+lists.Exclude.Len() == 0 {
		return engine.RefreshNodes{}, nil // spares looking every node's address up
	}
	for _, n := range v.Nodes() {
		if !lists.Valid(n.ID.Host, addressOf(n.ID.Host)) {
			excluded[n.ID] = true
		}
	}
	return engine.RefreshNodes{Excluded: excluded}, nil
}

// addressOf is the address of a host for lists that name addresses.
func addressOf(host string) string {
	if ip, err := net.ResolveIPAddr("ip", host); err == nil {
		return ip.String()
	}
	return ""
}

// RefreshGroups implements admin.Daemon.
func (d *Daemon) RefreshGroups() error {
	d.rights.groups.Refresh()
	return nil
}

// RefreshProxyUsers implements admin.Daemon.
func (d *Daemon) RefreshProxyUsers() error {
	return d.changeRules(func(was, fresh *rules) { was.proxies = fresh.proxies })
}

// RefreshAdminACL implements admin.Daemon.
func (d *Daemon) RefreshAdminACL() error {
	return d.changeRules(func(was, fresh *rules) { was.admins = fresh.admins })
}

// RefreshServiceACL implements admin.Daemon.
func (d *Daemon) RefreshServiceACL() error {
	return fmt.Errorf("Service Authorization (hadoop.security.authorization) not enabled.")
}

// changeRules takes a part of freshly read rules over.
func (d *Daemon) changeRules(take func(was, fresh *rules)) error {
	site, err := d.Load()
	if err != nil {
		return err
	}
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return err
	}
	changed := *d.rights.rules.Load()
	take(&changed, newRules(rm, d.User))
	d.rights.rules.Store(&changed)
	return nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// publicHost is what others call this host: Hadoop shows the resolved name.
func publicHost(host string) string {
	switch host {
	case "127.0.0.1", "::1":
		return "localhost"
	case "0.0.0.0", "::", "":
		if name, err := os.Hostname(); err == nil {
			return name
		}
		return "localhost"
	}
	return host
}
