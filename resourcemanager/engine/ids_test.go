package engine

import (
	"math"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

// TestIdsWrap: after 2^31-1 comes 0, for masters and for nodes.
func TestIdsWrap(t *testing.T) {
	r := newRig(t, settings())
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), HTTPPort: 1, Total: yarn.NewResource(8192, 8), Health: Health{Healthy: true}})
	r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(1), User: "ann", Queue: "default", Unmanaged: true,
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: 1}}}})
	id := yarn.AttemptID{Application: appID(1), Attempt: 1}
	r.do(RegisterMaster{Ticket: r.next(), Attempt: id})
	r.e.findAttempt(id).responseID = math.MaxInt32
	r.e.nodes[nodeID("h1")].responseID = math.MaxInt32

	for _, c := range []struct {
		id, answer int32
		duplicate  bool
	}{{math.MaxInt32, 0, false}, {math.MaxInt32, 0, true}, {0, 1, false}} {
		a := r.next()
		r.do(&Allocate{Ticket: a, Attempt: id, ResponseID: c.id})
		x, _ := r.reply(a)
		if v, ok := x.Value.(*AllocateReply); !ok || v.Duplicate != c.duplicate || v.ResponseID != c.answer {
			t.Errorf("call %d: %+v %v", c.id, x.Value, x.Err)
		}
		h := r.next()
		r.do(&Heartbeat{Ticket: h, Node: nodeID("h1"), ResponseID: c.id, Health: Health{Healthy: true}})
		x, _ = r.reply(h)
		if v, ok := x.Value.(*HeartbeatReply); !ok || v.Duplicate != c.duplicate || v.ResponseID != c.answer || v.Action != NodeNormal {
			t.Errorf("heartbeat %d: %+v %v", c.id, x.Value, x.Err)
		}
	}
}

// TestListsAreDrained: what is too long for one answer to a heartbeat goes with
// the next ones, and nothing is lost.
func TestListsAreDrained(t *testing.T) {
	const many = 2*MaxCleanup + 7
	r := newRig(t, settings())
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID("h1"), HTTPPort: 1, Total: yarn.NewResource(8192, 8), Health: Health{Healthy: true}})
	var ended, running []ContainerStatus
	for i := range many {
		id := yarn.ContainerID{Attempt: yarn.AttemptID{Application: appID(9), Attempt: 1}, Number: int64(i + 1)}
		ended = append(ended, ContainerStatus{ID: id, Complete: true})
		id.Attempt.Attempt = 2
		running = append(running, ContainerStatus{ID: id})
	}
	removed, cleaned := map[yarn.ContainerID]bool{}, map[yarn.ContainerID]bool{}
	for id := int32(0); len(removed) < many || len(cleaned) < many; id++ {
		if id > 10 {
			t.Fatalf("after %d heartbeats %d of %d may be forgotten, %d are cleaned up", id, len(removed), many, len(cleaned))
		}
		report := []ContainerStatus{} // what the node has not been told to drop yet
		for i := range many {
			if !removed[ended[i].ID] {
				report = append(report, ended[i])
			}
			if !cleaned[running[i].ID] {
				report = append(report, running[i])
			}
		}
		h := r.next()
		r.do(&Heartbeat{Ticket: h, Node: nodeID("h1"), ResponseID: id, Health: Health{Healthy: true}, Containers: report})
		x, _ := r.reply(h)
		v := x.Value.(*HeartbeatReply)
		if len(v.RemoveContainers) > MaxCleanup || len(v.CleanupContainers) > MaxCleanup || len(v.CleanupApplications) > 1 {
			t.Fatalf("an answer of %d, %d and %d", len(v.RemoveContainers), len(v.CleanupContainers), len(v.CleanupApplications))
		}
		for _, x := range v.RemoveContainers {
			removed[x] = true
		}
		for _, x := range v.CleanupContainers {
			cleaned[x] = true
		}
		if bad := r.check(); bad != "" {
			t.Fatal(bad)
		}
	}
	if n := r.e.nodes[nodeID("h1")]; len(n.remove) > MaxCleanup {
		t.Errorf("%d containers wait to be forgotten although the node repeats them", len(n.remove))
	}
}

// TestSameCommandsSameEffects: an engine is a value; what it answers depends on its commands alone.
func TestSameCommandsSameEffects(t *testing.T) {
	text := play(t, "node h1 8192x8\nnode h2 4096x4\nsubmit a1 ann default 1024x1\nsubmit a2 bob other 512x1\nbeat h1\nbeat h2\nregister a1/1\nregister a2/1\n"+
		"allocate a1/1 ask=1:1024x1:5\nallocate a2/1 ask=2:512x1:9\nbeat h2\nbeat h1\nexpire h1\nshow a1\nshow a2\n")
	for range 20 {
		if again := play(t, text); again != text {
			t.Fatalf("got\n%s\nbefore\n%s", again, text)
		}
	}
}
