package resourcemanager

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// labelQueues are two leaves; only default may use the label gpu, and names it.
const labelQueues = twoQueues + `
	root.accessible-node-labels                         *
	root.accessible-node-labels.gpu.capacity            100
	root.default.accessible-node-labels                 gpu
	root.default.accessible-node-labels.gpu.capacity    100
	root.other.accessible-node-labels                   NOBODY`

// addLabels names the labels twice, as stock clients do.
func addLabels(labels ...string) *pb.AddToClusterNodeLabelsRequest {
	m := &pb.AddToClusterNodeLabelsRequest{}
	for _, l := range labels {
		name, shared := strings.CutSuffix(l, ":shared")
		m.NodeLabels = append(m.NodeLabels, &pb.NodeLabel{Name: &name, IsExclusive: proto.Bool(!shared)})
		m.DeprecatedNodeLabels = append(m.DeprecatedNodeLabels, name)
	}
	return m
}

func replaceLabels(node *pb.NodeId, labels ...string) *pb.ReplaceLabelsOnNodeRequest {
	return &pb.ReplaceLabelsOnNodeRequest{NodeToLabels: []*pb.NodeIdToLabels{{NodeId: node, NodeLabels: labels}}}
}

// labels are all that the calls of clients say of labels.
func (c caller) labels() string {
	var out []string
	for _, l := range must(c, "getClusterNodeLabels", &pb.GetClusterNodeLabelsRequest{}, &pb.GetClusterNodeLabelsResponse{}).GetNodeLabels() {
		out = append(out, fmt.Sprintf("%s:%t", l.GetName(), l.GetIsExclusive()))
	}
	for _, n := range must(c, "getNodeToLabels", &pb.GetNodesToLabelsRequest{}, &pb.GetNodesToLabelsResponse{}).GetNodeToLabels() {
		out = append(out, fmt.Sprintf("%s=%s", convert.NodeID(n.NodeId), strings.Join(n.NodeLabels, ",")))
	}
	for _, l := range must(c, "getLabelsToNodes", &pb.GetLabelsToNodesRequest{}, &pb.GetLabelsToNodesResponse{}).GetLabelsToNodes() {
		out = append(out, fmt.Sprintf("%s on %d", l.GetNodeLabels(), len(l.NodeId)))
	}
	return strings.Join(out, " ")
}

// Where nodes name their own labels the ResourceManager takes those that it
// knows, says why it does not take others, and gives nobody another.
func TestNodesNameLabels(t *testing.T) {
	dir := t.TempDir() + "/node-labels"
	w := newWorld(t, labelQueues, "yarn.node-labels.enabled", "true", "yarn.node-labels.configuration-type", "distributed", "yarn.admin.acl", operator,
		"yarn.node-labels.fs-store.root-dir", "file://"+dir)
	root := w.admin(operator)
	must(root, "addToClusterNodeLabels", addLabels("gpu", "ssd:shared"), &pb.AddToClusterNodeLabelsResponse{})
	n := w.newNode()
	named := func(names ...string) *pb.NodeLabels {
		m := &pb.NodeLabels{}
		for _, name := range names {
			m.NodeLabels = append(m.NodeLabels, &pb.NodeLabel{Name: proto.String(name)})
		}
		return m
	}
	register := func(l *pb.NodeLabels) *pb.RegisterNodeManagerResponse {
		return must(n.tracker, "registerNodeManager", &pb.RegisterNodeManagerRequest{NodeId: convert.ToNodeID(n.id), HttpPort: proto.Int32(8042), Resource: size(4096, 4),
			NmVersion: proto.String("3.5.0"), NodeLabels: l}, &pb.RegisterNodeManagerResponse{})
	}
	beat := func(id int32, l *pb.NodeLabels) *pb.NodeHeartbeatResponse {
		return must(n.tracker, "nodeHeartbeat", &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: convert.ToNodeID(n.id), ResponseId: &id}, NodeLabels: l}, &pb.NodeHeartbeatResponse{})
	}
	if r := register(named("gpu")); !r.GetAreNodeLabelsAcceptedByRM() || r.DiagnosticsMessage != nil {
		t.Errorf("registered with gpu: %v", r)
	}
	const none = "gpu:true ssd:false"
	gpu := fmt.Sprintf("%s %s=gpu gpu on 1", none, n.id)
	if got := w.as("alice").labels(); got != gpu {
		t.Errorf("labels are %s, want %s", got, gpu)
	}
	if r := beat(0, named("old")); r.GetAreNodeLabelsAcceptedByRM() || r.GetDiagnosticsMessage() != fmt.Sprintf("Node Labels {old} reported from NM with ID %s was rejected from RM with exception message as : "+
		"Not all labels being replaced contained by known label collections, please check, new labels=[old]", n.id) {
		t.Errorf("an unknown label: %v", r)
	}
	if r := beat(1, named("gpu", "ssd")); r.GetAreNodeLabelsAcceptedByRM() || !strings.Contains(r.GetDiagnosticsMessage(), "2 labels specified on host="+n.id.Host) {
		t.Errorf("two labels: %v", r)
	}
	_, err := root.raw("replaceLabelsOnNodes", replaceLabels(convert.ToNodeID(n.id), "ssd"))
	refused(t, err, serve.YarnException, "java.io.IOException: Error when invoke method=replaceLabelsOnNode because centralized node label configuration is not enabled.")
	if r := beat(2, nil); r.GetAreNodeLabelsAcceptedByRM() || w.as("alice").labels() != gpu {
		t.Errorf("a heartbeat without labels: %v, then %s", r, w.as("alice").labels())
	}
	if r := beat(3, named()); !r.GetAreNodeLabelsAcceptedByRM() || w.as("alice").labels() != none {
		t.Errorf("a heartbeat with no label: %v, then %s", r, w.as("alice").labels())
	}
	beat(4, named("ssd"))
	w.restart()
	if got := w.as("alice").labels(); got != none {
		t.Errorf("labels after a restart are %s, want %s", got, none)
	}
}

// Labels are what the last change made of them, also after a restart; a node has
// its label when it registers, and the application that asks for it runs there.
func TestNodeLabels(t *testing.T) {
	for _, recovery := range []string{"true", "false"} {
		t.Run("recovery="+recovery, func(t *testing.T) { testNodeLabels(t, recovery) })
	}
}

func testNodeLabels(t *testing.T, recovery string) {
	w := newWorld(t, labelQueues, "yarn.node-labels.enabled", "true", "yarn.admin.acl", operator, "yarn.resourcemanager.recovery.enabled", recovery,
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0", "yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store"),
		"yarn.node-labels.fs-store.root-dir", "file://"+t.TempDir()+"/node-labels")
	root, alice := w.admin(operator), w.as("alice")
	n := w.newNode()
	id := convert.ToNodeID(n.id)
	host := &pb.NodeId{Host: proto.String("elsewhere"), Port: proto.Int32(0)}
	must(root, "addToClusterNodeLabels", addLabels("gpu", "ssd:shared", "old"), &pb.AddToClusterNodeLabelsResponse{})
	must(root, "addToClusterNodeLabels", addLabels("ssd:shared"), &pb.AddToClusterNodeLabelsResponse{})
	must(root, "replaceLabelsOnNodes", replaceLabels(id, "gpu"), &pb.ReplaceLabelsOnNodeResponse{})
	must(root, "replaceLabelsOnNodes", replaceLabels(host, "old"), &pb.ReplaceLabelsOnNodeResponse{})
	all := fmt.Sprintf("gpu:true old:true ssd:false %s=gpu elsewhere:0=old gpu on 1 old on 1", n.id)
	if got := alice.labels(); got != all {
		t.Fatalf("labels are %s, want %s", got, all)
	}
	for _, c := range []struct {
		method string
		m      proto.Message
		want   string
	}{
		{"addToClusterNodeLabels", addLabels("fine", "gpu:shared"), "java.io.IOException: Exclusivity cannot be modified"},
		{"addToClusterNodeLabels", addLabels("fine", "b@d"), "java.io.IOException: label name should only contains"},
		{"removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: []string{"gpu"}}, "because queue=root.default is using this label"},
		{"removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: []string{"ssd", "none"}}, "label=none"},
		{"replaceLabelsOnNodes", replaceLabels(id, "none"), "new labels=[none]"},
		{"replaceLabelsOnNodes", replaceLabels(id, "gpu", "ssd"), "2 labels specified"},
		{"replaceLabelsOnNodes", &pb.ReplaceLabelsOnNodeRequest{NodeToLabels: replaceLabels(host, "gpu").NodeToLabels, FailOnUnknownNodes: proto.Bool(true)}, "unknown nodes:[elsewhere:0]"},
	} {
		_, err := root.raw(c.method, c.m)
		refused(t, err, serve.YarnException, c.want)
	}
	_, err := w.admin("mallory").raw("addToClusterNodeLabels", addLabels("x"))
	refused(t, err, serve.YarnException, "mallory")
	if got := alice.labels(); got != all {
		t.Fatalf("labels after what was refused are %s, want %s", got, all)
	}
	must(root, "removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: []string{"old"}}, &pb.RemoveFromClusterNodeLabelsResponse{})
	all = fmt.Sprintf("gpu:true ssd:false %s=gpu gpu on 1", n.id)

	w.restart()
	alice, n.tracker = w.as("alice"), w.caller(trackerPort, trackerName, operator, "")
	if got := alice.labels(); got != all {
		t.Fatalf("labels after a restart are %s, want %s", got, all)
	}
	n.register(8192, 8)
	reports := must(alice, "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).GetNodeReports()
	if len(reports) != 1 || !slices.Equal(reports[0].GetNodeLabels(), []string{"gpu"}) {
		t.Fatalf("nodes: %v, want one with the label gpu", reports)
	}
	plain := alice.submit()
	labelled := alice.submit(func(c *pb.ApplicationSubmissionContext) { c.NodeLabelExpression = proto.String("gpu") })
	if m := n.launched(); m.attempt.Application != labelled {
		t.Errorf("%s was placed on a node with a label that it does not ask for", m.attempt)
	}
	if r := alice.report(plain); r.GetAppNodeLabelExpression() != "<Not set>" {
		t.Errorf("label of the plain application is %s", r.GetAppNodeLabelExpression())
	}
	if r := alice.report(labelled); r.GetAppNodeLabelExpression() != "gpu" || r.GetAmNodeLabelExpression() != "gpu" {
		t.Errorf("labels of the other are %s and %s, want gpu", r.GetAppNodeLabelExpression(), r.GetAmNodeLabelExpression())
	}
	_, err = alice.raw("submitApplication", submission(alice.newID(), inQueue("other"), func(c *pb.ApplicationSubmissionContext) { c.NodeLabelExpression = proto.String("gpu") }))
	refused(t, err, serve.InvalidLabel, "gpu")
	must(w.admin(operator), "replaceLabelsOnNodes", replaceLabels(id), &pb.ReplaceLabelsOnNodeResponse{})
	n.beat()
	if m := n.launched(); m.attempt.Application != plain {
		t.Errorf("%s was placed, want %s", m.attempt, plain)
	}
}
