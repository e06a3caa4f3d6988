package resourcemanager

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// drainAnswer is what /drains answers.
type drainAnswer struct {
	Drains struct {
		Node []struct {
			ID, State, Phase, RequestedBy, Reason, Source string
			RequestedAt, Deadline                         int64
			Containers, Applications                      int
		}
	}
	RemoteException struct{ Message string }
}

func (w *world) drains(method, query, body string) (status int, x drainAnswer) {
	w.t.Helper()
	status = w.web(method, "drains?"+query, body, &x)
	return status, x
}

// A node that was asked to drain does so until the same millisecond after a restart, and stays away until that is taken back.
func TestDrainOrder(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
		"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store"), "yarn.acl.enable", "true", "yarn.admin.acl", operator,
		"yarn.resourcemanager.decommissioning-nodes-watcher.poll-interval-secs", "1")
	n := w.newNode()
	alice := w.as("alice")
	alice.submit()
	m := n.launched()
	m.register()
	m.gets(n, 1, asks(1, 512))
	n.beat()

	const asOperator = "user.name=" + operator
	if status, x := w.drains("POST", "user.name=alice", `{"nodes":"127.0.0.1"}`); status != http.StatusUnauthorized || !strings.Contains(x.RemoteException.Message, "alice is none") {
		t.Errorf("somebody drains a node: %d %+v", status, x)
	}
	if status, x := w.drains("POST", asOperator, `{"nodes":"elsewhere"}`); status != http.StatusNotFound {
		t.Errorf("a node that nobody has: %d %+v", status, x)
	}
	status, x := w.drains("POST", asOperator, `{"nodes":"127.0.0.1","deadline":"1h","reason":"bad disk"}`)
	if status != http.StatusOK || len(x.Drains.Node) != 1 || x.Drains.Node[0].State != "DECOMMISSIONING" || x.Drains.Node[0].Phase != "WAIT_CONTAINER" || x.Drains.Node[0].Containers != 2 {
		t.Fatalf("%d %+v", status, x)
	}
	before := x.Drains.Node[0]
	if before.Deadline-before.RequestedAt < 3_599_000 || before.Reason != "bad disk" || before.RequestedBy != operator || before.Source != "api" {
		t.Errorf("%+v", before)
	}
	until(t, "a line about the draining node", func() bool {
		return strings.Contains(w.log.String(), `a node is being decommissioned" node=`+n.id.String()+" phase=WAIT_CONTAINER")
	})

	w.restart()
	n.tracker = w.caller(trackerPort, trackerName, operator, "")
	if r := n.register(8192, 8, reported(m.token.ID, 512)); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Fatalf("a node that has work left was told %v", r)
	}
	_, x = w.drains("GET", asOperator, "")
	if len(x.Drains.Node) != 1 || x.Drains.Node[0].Deadline != before.Deadline || x.Drains.Node[0].RequestedAt != before.RequestedAt || x.Drains.Node[0].State != "DECOMMISSIONING" {
		t.Fatalf("after a restart: %+v, before %+v", x, before)
	}
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Fatalf("a node that has work left was told %v", r)
	}

	// Zero seconds from now on: it goes, and does not come back.
	w.drains("POST", asOperator, `{"nodes":"127.0.0.1","deadline":"0s"}`)
	until(t, "its end", func() bool { return n.beat().GetNodeAction() == pb.NodeAction_SHUTDOWN })
	for range 2 {
		if r := w.unregistered().register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || !strings.Contains(r.GetDiagnosticsMessage(), "yarn node -undrain 127.0.0.1") {
			t.Errorf("another node of that host was told %v", r)
		}
		w.restart()
		if _, x := w.drains("GET", asOperator, ""); len(x.Drains.Node) != 1 || x.Drains.Node[0].ID != "127.0.0.1:-1" || x.Drains.Node[0].State != "DECOMMISSIONED" || x.Drains.Node[0].RequestedBy != operator {
			t.Errorf("after a restart the host is told of as %+v", x)
		}
	}
	if status, x := w.drains("DELETE", asOperator+"&nodes="+n.id.String(), ""); status == http.StatusOK {
		t.Errorf("one node of a host is taken back: %+v", x)
	}
	if status, x := w.drains("DELETE", asOperator+"&nodes=127.0.0.1", ""); status != http.StatusOK {
		t.Fatalf("%d %+v", status, x)
	}
	again := w.newNode()
	if _, x := w.drains("GET", asOperator, ""); len(x.Drains.Node) != 0 {
		t.Errorf("%s drains: %+v", again.id, x)
	}
	for _, want := range []string{"USER=" + operator, "OPERATION=drainNodes", "OPERATION=undrainNodes", "RESULT=FAILURE"} {
		until(t, want+" in the audit log", func() bool { return strings.Contains(w.audited.String(), want) })
	}
}
