package engine

import (
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// warmUp begins with two applications whose masters run and have asked for something.
func (w *world) warmUp() {
	for range 3 {
		w.register()
	}
	for range 2 {
		w.apps++
		w.send(Submit{Ticket: w.next(), Application: Submission{ID: appID(w.apps), User: "ann", Queue: "default", Name: "x", KeepContainers: w.chance(2, "keep"),
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}})
	}
	w.settleStore()
	for range 3 {
		for _, n := range w.nodes {
			w.beatOf(n)
		}
		w.settleStore()
		for _, l := range w.launch {
			w.launched(l, w.node(l.Grant.Node))
			w.send(Launched{Attempt: l.Attempt})
		}
		w.launch = nil
		for _, m := range w.masters {
			if !m.registered {
				w.registers(m)
			}
			w.allocateOf(m)
			w.starts(m)
		}
	}
}

// obey does what the answer to a heartbeat says.
func (n *randomNode) obey(w *world, v *HeartbeatReply) {
	n.response = v.ResponseID
	for _, u := range v.Updates {
		w.types[u.Grant.ID] = u.Grant.Execution
	}
	if (v.Queue != nil) != w.set.Opportunistic.Enabled {
		w.fatal("%s is told of queues: %+v", n.id, v.Queue)
	}
	for _, id := range v.CleanupContainers {
		w.stop(n.id, id, 137)
	}
	for _, id := range v.CleanupApplications {
		for _, c := range slices.Clone(n.running) {
			if c.Attempt.Application == id {
				w.stop(n.id, c, -107)
			}
		}
	}
	for _, id := range v.RemoveContainers {
		delete(n.done, id)
		if m := w.masterOf(id); m != nil && m.held[id] && !m.heard[id] {
			w.fatal("%s may forget %s before its master has heard of its end", n.id, id)
		}
	}
}

// masterOf is the living master that must hear of the container's end.
func (w *world) masterOf(id yarn.ContainerID) *randomMaster {
	for _, m := range w.masters {
		if t := w.e.findAttempt(m.id); t != nil && !t.ending() && m.id == id.Attempt {
			return m
		}
	}
	return nil
}
