package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// showNodes prints what readers see of all nodes, and how many there are by state.
func (s *script) showNodes() []string {
	var out []string
	r := &s.rig.reader
	for _, n := range slices.SortedFunc(maps.Values(r.nodes), func(a, b *view.Node) int { return a.ID.Compare(b.ID) }) {
		out = append(out, fmt.Sprintf("%s %s at %s%s", n.ID, n.State, n.HTTPAddress, when(n.LostReason != "", ", "+headline(n.LostReason))))
	}
	text := "counted:"
	for _, x := range yarn.NodeStates() {
		if n := r.metrics.NodesByState[x]; n != 0 {
			text += fmt.Sprintf(" %d %s", n, x)
		}
	}
	return append(out, text)
}

// checkInactive: nodes that have left are listed once, and are removed in time if they are to be; readers count the nodes that they see.
func (r *rig) checkInactive() string {
	listed, hosts := map[yarn.NodeID]bool{}, map[string]int{}
	for _, id := range r.e.inactive {
		if n := r.e.nodes[id]; n == nil || n.active() || listed[id] {
			return fmt.Sprintf("%s is listed wrongly among the nodes that have left", id)
		}
		listed[id] = true
	}
	for id, n := range r.e.nodes {
		host := strings.ToLower(id.Host)
		hosts[host]++
		goes := !n.active() && n.untracked && (len(r.e.set.RemovedStates) == 0 || slices.Contains(r.e.set.RemovedStates, n.state))
		switch {
		case n.active() == listed[id]:
			return fmt.Sprintf("%s is %s, and among the nodes that have left: %t", id, n.state, listed[id])
		case n.removal.held != goes:
			return fmt.Sprintf("%s is %s, untracked: %t, and to be removed: %t", id, n.state, n.untracked, n.removal.held)
		case (id.Port < 0) != (r.e.placeholders[host] == id):
			return fmt.Sprintf("%s: %v stands for its host", id, r.e.placeholders[host])
		}
	}
	for host, id := range r.e.placeholders {
		if r.e.nodes[id] == nil || hosts[host] != 1 {
			return fmt.Sprintf("%s stands for %s, of which %d nodes are known", id, host, hosts[host])
		}
	}
	if !maps.Equal(hosts, r.e.hosts) || len(listed) > MaxInactiveNodes {
		return fmt.Sprintf("nodes by host: %v counted, %v kept; %d have left", hosts, r.e.hosts, len(listed))
	}
	var seen [yarn.NodeShutdown + 1]int
	for _, v := range r.reader.nodes {
		seen[v.State]++
	}
	if seen != r.reader.metrics.NodesByState {
		return fmt.Sprintf("readers see nodes by state: %v, and are told of %v", seen, r.reader.metrics.NodesByState)
	}
	return ""
}

// A node that is being left in slices is removed when it has left, so that who comes back under its name is a member.
func TestRemovalWaitsForSlices(t *testing.T) {
	s := newScript(t)
	s.set.Slice, s.set.UntrackedTimeout = 1, 1
	s.play("node h2 1024x4; submit a1 ann default 1024x1; beat h2; launched a1/1; register a1/1; node h1 8192x8; allocate a1/1 ask=1:1024x1:5; beat h1; allocate a1/1; beat h1")
	s.play("exclude untracked=h1; after 5; tick")
	if n := s.rig.e.nodes[nodeID("h1")]; n == nil || !n.leaving {
		t.Fatalf("h1 is not leaving: %+v", n)
	}
	s.play("node h1 4096x4; tick")
	for range 50 {
		s.play("after 5; tick")
	}
	if shown := strings.Join(s.play("show nodes"), "; "); shown != "h1:1 RUNNING at h1:8042; h2:1 RUNNING at h2:8042; counted: 2 RUNNING" {
		t.Error(shown)
	}
	s.play("exclude untracked=h1; after 5; tick; tick")
	if shown := strings.Join(s.play("show nodes"), "; "); shown != "h2:1 RUNNING at h2:8042; counted: 1 RUNNING" {
		t.Error(shown)
	}
}

// No more hosts are shown than may be kept, and they make no node forgotten that was there; later ones take their place.
func TestShownHostsAreBounded(t *testing.T) {
	r := newRig(t, settings())
	apply := func(c Command) {
		r.fx.Reset()
		r.e.Apply(r.now, c, &r.fx)
	}
	host := func(i int) string { return fmt.Sprintf("x%d", i) }
	register := func(i int) {
		apply(RegisterNode{Node: yarn.NodeID{Host: host(i), Port: 1}, Total: yarn.NewResource(1024, 1), Health: Health{Healthy: true}})
		apply(UnregisterNode{Node: yarn.NodeID{Host: host(i), Port: 1}})
	}
	register(-1)
	var hosts []string
	for i := range MaxInactiveNodes + 10 {
		hosts = append(hosts, host(i))
	}
	apply(ExcludedHosts{Hosts: hosts})
	counted := func(left, excluded int) {
		t.Helper()
		r.e.Publish(r.now, &r.reader)
		if c := r.reader.metrics.NodesByState; c[yarn.NodeShutdown] != left || c[yarn.NodeDecommissioned] != excluded || len(r.reader.nodes) != left+excluded {
			t.Errorf("%d nodes, by state %v; want %d that have left and %d that are excluded", len(r.reader.nodes), c, left, excluded)
		}
		if bad := r.checkInactive(); bad != "" {
			t.Error(bad)
		}
	}
	counted(1, MaxInactiveNodes-1)
	register(0) // takes the place of its host
	counted(2, MaxInactiveNodes-2)
	register(MaxInactiveNodes + 5) // the oldest is forgotten
	counted(2, MaxInactiveNodes-2)
	apply(RefreshNodes{Unregistered: hosts})
	counted(2, MaxInactiveNodes-2)
}
