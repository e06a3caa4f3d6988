package resourcemanager

import (
	"net/netip"
	"strings"

	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// untracked tells whether a node with this host and address is untracked by the lists in force; see hosts.Lists.
func (p *process) untracked(host string, addr netip.Addr) bool {
	return p.lists.Load().Untracked(host, addr.String())
}

// showExcluded has readers see the hosts of the exclude list as DECOMMISSIONED nodes. The term calls it before it serves any port.
func (t *term) showExcluded() {
	var cmd engine.ExcludedHosts
	for _, x := range t.lists.Load().Exclude.Entries() {
		if len(cmd.Hosts) == engine.MaxInactiveNodes {
			t.Log.Warn("not all hosts of the exclude list are shown as decommissioned nodes", "hosts", t.lists.Load().Exclude.Len(), "shown", len(cmd.Hosts))
			break
		}
		cmd.Hosts = append(cmd.Hosts, x.Host)
	}
	if len(cmd.Hosts) > 0 {
		t.loop.Post(cmd)
	}
}

// unregistered are the hosts that readers are to see as LOST nodes: those of the include list that are not excluded and of which no node is
// known, at most engine.MaxInactiveNodes. There are none unless yarn.resourcemanager.enable-tracking-for-unregistered-nodes is on.
func (t *term) unregistered(lists *hosts.Lists, nodes []yarn.NodeID) (out []string) {
	if !t.settings.Nodes.ShowUnregistered {
		return nil
	}
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[strings.ToLower(n.Host)] = true
	}
	for _, x := range lists.Include.Entries() {
		_, excluded := lists.Exclude.Find(x.Host, "")
		if !excluded && !known[strings.ToLower(x.Host)] && len(out) < engine.MaxInactiveNodes {
			out = append(out, x.Host)
		}
	}
	return out
}
