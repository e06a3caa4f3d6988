package resourcemanager

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/giveway"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// IsAdmin implements admin.Daemon.
func (p *process) IsAdmin(c *ipc.Identity) bool { return p.rights.IsAdmin(c) }

// Groups implements admin.Daemon.
func (p *process) Groups(user string) []string { return p.rights.Groups(user) }

// errMutable refuses a refresh where the queue file does not say what the queues are.
var errMutable = &ipc.RemoteError{Class: serve.YarnException, Message: "java.io.IOException: Scheduler configuration is mutable. refreshQueues is not allowed in this scenario."}

// RefreshQueues implements admin.Daemon. No change of the queues comes between it and done.
func (t *term) RefreshQueues(user string) (cmd engine.RefreshQueues, done func(error), err error) {
	if t.queues.mutable {
		return cmd, nil, errMutable
	}
	t.queues.changing.Lock()
	if kept := t.queues.kept.Load(); kept != nil && kept.Trial != nil {
		t.queues.changing.Unlock()
		return cmd, nil, &ipc.RemoteError{Class: serve.YarnException, Message: (&onTrial{*kept.Trial}).Error()}
	}
	site, err := t.Load()
	var cfg *config.Config
	applied := func() {
		t.access.schedule.Store(cfg)
		t.noteRefresh(user)
	}
	switch {
	case err != nil:
	case t.access.schedule.Load().Fair != nil:
		cfg, applied, err = t.refreshFair(site)
	default:
		cfg, err = t.readSchedule(site, t.clusterSize(), true)
	}
	done = func(refused error) {
		defer t.queues.changing.Unlock()
		if refused == nil {
			applied()
		}
	}
	if err != nil {
		return engine.RefreshQueues{Prepared: t.prepareQueues(nil), Problem: err.Error()}, done, err
	}
	return engine.RefreshQueues{Config: cfg, Prepared: t.prepareQueues(cfg)}, done, nil
}

// prepareQueues does beside the loop what can be done there of a refresh; nil if the loop
// does not say in time on what basis.
func (t *term) prepareQueues(cfg *config.Config) scheduler.Prepared {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.QueueBasis{Ticket: k} })
	if err != nil {
		return nil
	}
	return scheduler.Prepare(cfg, v.(scheduler.Basis))
}

// clusterSize is what the nodes have together, zero if that is not to be had now.
func (t *term) clusterSize() yarn.Resource {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := t.loop.Views(ctx, view.Counts)
	if err != nil {
		return yarn.Resource{}
	}
	return v.Metrics().Total
}

// RefreshNodes reads the lists anew, from where the properties say now, and puts them in force. On an error the lists of before hold.
//
// How long a node may drain: what its entry in the exclude list says, else seconds if not nil, else what is configured.
func (t *term) RefreshNodes(how engine.Decommission, seconds *int32) (engine.RefreshNodes, error) {
	if how == engine.Forced {
		return engine.RefreshNodes{How: how}, nil
	}
	t.refreshing.Lock()
	defer t.refreshing.Unlock()
	site, err := t.Load()
	if err != nil {
		return engine.RefreshNodes{}, err
	}
	r := conf.NewReader(site)
	timeout := gracefulTimeout(r)
	if err := r.Err(); err != nil {
		return engine.RefreshNodes{}, err
	}
	if seconds != nil {
		timeout = *seconds
	}
	lists, err := t.readLists(site, false)
	if err != nil {
		return engine.RefreshNodes{}, err
	}
	nodes, err := t.nodes()
	if err != nil {
		return engine.RefreshNodes{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookupPatience)
	defer cancel()
	ips := nodeAddresses{lists: lists, lookup: t.lookup, before: t.grants.addresses.first, known: map[string]string{}}
	ips.find(ctx, nodes)
	t.adopt(lists)
	if latest, err := t.nodes(); err == nil { // a node may have registered meanwhile, admitted by the lists of before
		nodes = latest
		ips.find(ctx, nodes)
	}
	ips.warn(t.Log)
	return engine.RefreshNodes{How: how, Excluded: exclusions(lists, nodes, ips.of, timeout), Unnamed: lists.Unnamed, Unregistered: t.unregistered(lists, nodes)}, nil
}

// nodes are all nodes that are known by now.
func (t *term) nodes() ([]yarn.NodeID, error) {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.NodeIDs{Ticket: k} })
	if err != nil {
		return nil, err
	}
	return v.([]yarn.NodeID), nil
}

// exclusions says how the nodes leave that the lists do not admit. timeout, in seconds, is for entries with neither timeout nor deadline.
func exclusions(lists *hosts.Lists, nodes []yarn.NodeID, ip func(host string) string, timeout int32) map[yarn.NodeID]engine.Exclusion {
	out := make(map[yarn.NodeID]engine.Exclusion, len(nodes))
	for i, n := range nodes {
		giveway.After(i)
		ip := ip(n.Host)
		if lists.Valid(n.Host, ip) {
			continue
		}
		x := engine.Exclusion{Timeout: timeout, Untracked: lists.Untracked(n.Host, ip)}
		if entry, ok := lists.Excluded(n.Host, ip); ok {
			x.Deadline, x.Reason = entry.Deadline, entry.Reason
			if entry.HasTimeout {
				x.Timeout = entry.Timeout
			}
		}
		out[n] = x
	}
	return out
}

// gracefulTimeout is the configured timeout of a graceful decommission, in seconds; negative: none.
func gracefulTimeout(r *conf.Reader) int32 {
	return int32(r.Int("yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", 3600, conf.Range{Min: math.MinInt32, Max: math.MaxInt32}))
}

// RefreshGroups implements admin.Daemon.
func (p *process) RefreshGroups() error {
	p.rights.groups.Refresh()
	return nil
}

// RefreshProxyUsers implements admin.Daemon.
func (p *process) RefreshProxyUsers() error {
	return p.changeRules(func(was, fresh *rules) { was.proxies = fresh.proxies })
}

// RefreshAdminACL implements admin.Daemon.
func (p *process) RefreshAdminACL() error {
	return p.changeRules(func(was, fresh *rules) { was.admins = fresh.admins })
}

// RefreshServiceACL implements admin.Daemon.
func (p *process) RefreshServiceACL() error {
	return fmt.Errorf("Service Authorization (hadoop.security.authorization) not enabled.")
}

// changeRules takes a part of freshly read rules over.
func (p *process) changeRules(take func(was, fresh *rules)) error {
	site, err := p.Load()
	if err != nil {
		return err
	}
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return err
	}
	changed := *p.rights.rules.Load()
	take(&changed, newRules(rm, p.User))
	p.rights.rules.Store(&changed)
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
