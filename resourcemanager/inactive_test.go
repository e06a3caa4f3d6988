package resourcemanager

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// nodesSeen are all nodes over RPC, with port 1 for every port that a node has, their states and web addresses.
func (w *world) nodesSeen() string {
	w.t.Helper()
	var out []string
	for _, n := range must(w.as("alice"), "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).NodeReports {
		port := n.GetNodeId().GetPort()
		out = append(out, fmt.Sprintf("%s:%d %s %s", n.GetNodeId().GetHost(), min(port, 1), strings.TrimPrefix(n.GetNodeState().String(), "NS_"), n.GetHttpAddress()))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// nodesCounted are the active, decommissioned and lost nodes in /jmx, over REST and over RPC, which must agree unless a node has come or gone between
// the calls.
func (w *world) nodesCounted() (counts string) {
	w.t.Helper()
	until(w.t, "all to count the same nodes", func() (agree bool) {
		counts, agree = w.countNodes()
		return agree
	})
	return counts
}

func (w *world) countNodes() (counts string, agree bool) {
	w.t.Helper()
	var beans struct {
		Beans []struct{ NumActiveNMs, NumDecommissionedNMs, NumLostNMs int }
	}
	if err := json.Unmarshal([]byte(w.page("/jmx?qry=Hadoop:service=ResourceManager,name=ClusterMetrics", 200)), &beans); err != nil || len(beans.Beans) != 1 {
		w.t.Fatalf("the bean of the cluster: %v, %+v", err, beans)
	}
	var rest struct {
		ClusterMetrics struct{ ActiveNodes, DecommissionedNodes, LostNodes int }
	}
	if err := json.Unmarshal([]byte(w.page("/ws/v1/cluster/metrics", 200)), &rest); err != nil {
		w.t.Fatal(err)
	}
	m := must(w.as("alice"), "getClusterMetrics", &pb.GetClusterMetricsRequest{}, &pb.GetClusterMetricsResponse{}).ClusterMetrics
	counts = fmt.Sprint([]int{int(m.GetNumActiveNms()), int(m.GetNumDecommissionedNms()), int(m.GetNumLostNms())})
	b, r := beans.Beans[0], rest.ClusterMetrics
	for _, other := range [][]int{{b.NumActiveNMs, b.NumDecommissionedNMs, b.NumLostNMs}, {r.ActiveNodes, r.DecommissionedNodes, r.LostNodes}} {
		if fmt.Sprint(other) != counts {
			return counts, false
		}
	}
	return counts, true
}

func (w *world) nodesAre(when, seen, counted string) {
	w.t.Helper()
	if s, c := w.nodesSeen(), w.nodesCounted(); s != seen || c != counted {
		w.t.Errorf("%s there are %s, counted %s; want %s, %s", when, s, c, seen, counted)
	}
}

func (w *world) refreshNodes() {
	w.t.Helper()
	must(w.admin(operator), "refreshNodes", &pb.RefreshNodesRequest{}, &pb.RefreshNodesResponse{})
}

func listFile(t testing.TB) (path string, write func(string)) {
	path = filepath.Join(t.TempDir(), "list")
	return path, func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What the exclude list names when the ResourceManager starts is shown as decommissioned until it registers; what it names later is not.
func TestExcludedAtStart(t *testing.T) {
	list, write := listFile(t)
	write("away 127.0.0.1\n")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.nodes.exclude-path", list)
	w.nodesAre("at the start", "127.0.0.1:-1 DECOMMISSIONED 127.0.0.1:-1, away:-1 DECOMMISSIONED away:-1", "[0 2 0]")
	var nodes struct {
		Nodes struct {
			Node []struct{ ID, NodeHostName, State string }
		}
	}
	if err := json.Unmarshal([]byte(w.page("/ws/v1/cluster/nodes?states=decommissioned", 200)), &nodes); err != nil || fmt.Sprint(nodes.Nodes.Node) != "[{127.0.0.1:-1 127.0.0.1 DECOMMISSIONED} {away:-1 away DECOMMISSIONED}]" {
		t.Errorf("over REST: %+v, %v", nodes, err)
	}
	if page := w.page("/ws/v1/cluster/nodes/away:-1", 200); !strings.Contains(page, `"id":"away:-1"`) || !strings.Contains(page, `"nodeHTTPAddress":""`) {
		t.Errorf("one of them over REST: %s", page)
	}
	if page := w.page("/cluster/nodes", 200); !strings.Contains(page, "DECOMMISSIONED") || strings.Contains(page, "http://away") {
		t.Errorf("there is no link to a node that has not registered: %s", page)
	}
	n := w.unregistered()
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN {
		t.Errorf("an excluded node registers and is told %v", r)
	}
	write("away later\n")
	w.refreshNodes()
	w.nodesAre("after a refresh", "127.0.0.1:-1 DECOMMISSIONED 127.0.0.1:-1, away:-1 DECOMMISSIONED away:-1", "[0 2 0]")
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Fatalf("it registers when it is admitted and is told %v", r)
	}
	w.nodesAre("once it is admitted", "127.0.0.1:1 RUNNING 127.0.0.1:8042, away:-1 DECOMMISSIONED away:-1", "[1 1 0]")
}

// What the include list names is shown as lost from the next refresh on until it registers, where that is configured.
func TestUnregistered(t *testing.T) {
	include, writeInclude := listFile(t)
	exclude, writeExclude := listFile(t)
	writeInclude("127.0.0.1 away out\n")
	writeExclude("out\n")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.nodes.include-path", include, "yarn.resourcemanager.nodes.exclude-path", exclude,
		"yarn.resourcemanager.enable-tracking-for-unregistered-nodes", "true", "yarn.resourcemanager.node-removal-untracked.timeout-ms", "1",
		"yarn.resourcemanager.node-removal-untracked.node-selective-states-to-remove", "LOST")
	w.nodesAre("at the start", "out:-1 DECOMMISSIONED out:-1", "[0 1 0]")
	w.refreshNodes()
	w.nodesAre("after a refresh", "127.0.0.1:-2 LOST 127.0.0.1:-2, away:-2 LOST away:-2, out:-1 DECOMMISSIONED out:-1", "[0 1 2]")
	w.newNode()
	w.refreshNodes()
	w.nodesAre("with a node", "127.0.0.1:1 RUNNING 127.0.0.1:8042, away:-2 LOST away:-2, out:-1 DECOMMISSIONED out:-1", "[1 1 1]")
	writeInclude("127.0.0.1\n")
	writeExclude("")
	w.refreshNodes()
	until(t, "a node that no list names to be removed", func() bool { return w.nodesCounted() == "[1 1 0]" })
	w.nodesAre("what is not LOST", "127.0.0.1:1 RUNNING 127.0.0.1:8042, out:-1 DECOMMISSIONED out:-1", "[1 1 0]")
}

// Without an include list whoever no list names may count as untracked, and is removed once it has left.
func TestUntrackedWithoutInclude(t *testing.T) {
	exclude, write := listFile(t)
	write("127.0.0.1\n")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.enable-node-untracked-without-include-path", "true", "yarn.resourcemanager.node-removal-untracked.timeout-ms", "1")
	gone := func(n *fakeNode) {
		t.Helper()
		must(n.tracker, "unRegisterNodeManager", &pb.UnRegisterNodeManagerRequest{NodeId: n.beats().GetNodeStatus().GetNodeId()}, &pb.UnRegisterNodeManagerResponse{})
	}
	n := w.newNode() // it is untracked from its registration on
	gone(n)
	until(t, "it to be removed", func() bool { return w.nodesSeen() == "" })
	w.newNode()
	w.set("yarn.resourcemanager.nodes.exclude-path", exclude)
	w.refreshNodes()
	w.nodesAre("excluded", "127.0.0.1:1 DECOMMISSIONED 127.0.0.1:8042", "[0 1 0]")
	write("")
	w.refreshNodes()
	until(t, "what is no longer excluded to be removed", func() bool { return w.nodesSeen() == "" })

	w.set("yarn.resourcemanager.nodes.include-path", exclude) // an empty list lets everybody in, and is one
	w.refreshNodes()
	n = w.newNode()
	gone(n)
	w.refreshNodes()
	if seen := w.nodesSeen(); !strings.Contains(seen, "SHUTDOWN") {
		t.Errorf("with an include list there are %s", seen)
	}
}
