package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// words are those of a list with commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

// states are those of a list with commas.
func states(list string) (out []yarn.NodeState) {
	for _, word := range words(list) {
		s, ok := yarn.ParseNodeState(word)
		if !ok {
			panic("no state " + word)
		}
		out = append(out, s)
	}
	return out
}

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
		case (id.Port < 0) != (r.e.absent[host] == id):
			return fmt.Sprintf("%s: %v stands for its host", id, r.e.absent[host])
		}
	}
	for host, id := range r.e.absent {
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
