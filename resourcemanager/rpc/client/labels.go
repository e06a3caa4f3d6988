package client

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// labels lists the labels of the cluster. There are none without
// yarn.node-labels.enabled.
func (s *client) labels(c *ipc.Call, _ *pb.GetClusterNodeLabelsRequest) {
	s.withViews(c, view.Nodes, func(v *loop.Views) {
		labels := v.Labels()
		out := &pb.GetClusterNodeLabelsResponse{}
		for _, l := range labels.Known {
			out.NodeLabels = append(out.NodeLabels, &pb.NodeLabel{Name: &l.Name, IsExclusive: &l.Exclusive})
		}
		serve.Answer(c, out)
	})
}

func (s *client) nodesToLabels(c *ipc.Call, _ *pb.GetNodesToLabelsRequest) {
	s.withViews(c, view.Nodes, func(v *loop.Views) {
		nodes, labels := v.Nodes(), v.Labels()
		out := &pb.GetNodesToLabelsResponse{}
		for _, n := range labels.Labelled(nodes) {
			out.NodeToLabels = append(out.NodeToLabels, &pb.NodeIdToLabels{NodeId: convert.ToNodeID(n.Node), NodeLabels: []string{n.Label}})
		}
		serve.Answer(c, out)
	})
}

// labelsToNodes lists the nodes of some labels, or of all; a label without nodes
// is left out.
func (s *client) labelsToNodes(c *ipc.Call, m *pb.GetLabelsToNodesRequest) {
	s.withViews(c, view.Nodes, func(v *loop.Views) {
		nodes, labels := v.Nodes(), v.Labels()
		byLabel := map[string][]*pb.NodeId{}
		for _, n := range labels.Labelled(nodes) {
			byLabel[n.Label] = append(byLabel[n.Label], convert.ToNodeID(n.Node))
		}
		out := &pb.GetLabelsToNodesResponse{}
		for _, l := range labels.Known {
			wanted := len(m.GetNodeLabels()) == 0 || slices.Contains(m.GetNodeLabels(), l.Name)
			if wanted && byLabel[l.Name] != nil {
				out.LabelsToNodes = append(out.LabelsToNodes, &pb.LabelsToNodeIds{NodeLabels: &l.Name, NodeId: byLabel[l.Name]})
			}
		}
		serve.Answer(c, out)
	})
}
