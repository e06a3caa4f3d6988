package resourcemanager

import (
	"net/netip"
	"strings"

	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
)

// untracked tells whether no list names the host, where that counts.
func (p *process) untracked(host string, addr netip.Addr) bool {
	return p.lists.Load().Untracked(host, addr.String())
}

// showExcluded has the hosts of the exclude list shown as decommissioned, before any port serves the term.
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

// unregistered are the hosts of the include list, and not of the other one, of which no node is known, where they are to be shown; at most
// as many as the engine shows.
func (t *term) unregistered(lists *hosts.Lists, nodes []*view.Node) (out []string) {
	if !t.settings.Nodes.ShowUnregistered {
		return nil
	}
	known := make(map[string]bool, len(nodes))
	for _, n := range nodes {
		known[strings.ToLower(n.ID.Host)] = true
	}
	for _, x := range lists.Include.Entries() {
		_, excluded := lists.Exclude.Find(x.Host, "")
		if !excluded && !known[strings.ToLower(x.Host)] && len(out) < engine.MaxInactiveNodes {
			out = append(out, x.Host)
		}
	}
	return out
}
