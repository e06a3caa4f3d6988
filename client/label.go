package client

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// NodeLabel is a partition of the cluster.
type NodeLabel struct {
	Name      string
	Exclusive bool
}

func (l NodeLabel) String() string { return fmt.Sprintf("<%s:exclusivity=%t>", l.Name, l.Exclusive) }

// AttributeType is an attribute that nodes of the cluster have.
type AttributeType struct {
	Prefix, Name string
	Type         string // STRING
}

// NodeLabels gives a node its labels, at most one so far. A port of 0 means
// every NodeManager of the host.
type NodeLabels struct {
	Node   yarn.NodeID
	Labels []string
}

// ClusterLabels lists the cluster's node labels.
func (c *Client) ClusterLabels(ctx context.Context) ([]NodeLabel, error) {
	out := &pb.GetClusterNodeLabelsResponse{}
	if err := c.user(ctx, "getClusterNodeLabels", &pb.GetClusterNodeLabelsRequest{}, out); err != nil {
		return nil, err
	}
	return each(out.GetNodeLabels(), func(m *pb.NodeLabel) NodeLabel { return NodeLabel{m.GetName(), m.GetIsExclusive()} }), nil
}

// ClusterAttributes lists the attributes that nodes have.
func (c *Client) ClusterAttributes(ctx context.Context) ([]AttributeType, error) {
	out := &pb.GetClusterNodeAttributesResponse{}
	if err := c.user(ctx, "getClusterNodeAttributes", &pb.GetClusterNodeAttributesRequest{}, out); err != nil {
		return nil, err
	}
	return each(out.GetNodeAttributes(), func(m *pb.NodeAttributeInfo) AttributeType {
		return AttributeType{m.GetAttributeKey().GetAttributePrefix(), m.GetAttributeKey().GetAttributeName(), m.GetAttributeType().String()}
	}), nil
}

// AddClusterLabels makes node labels known to the cluster.
func (c *Client) AddClusterLabels(ctx context.Context, labels []NodeLabel) error {
	in := &pb.AddToClusterNodeLabelsRequest{NodeLabels: each(labels, func(l NodeLabel) *pb.NodeLabel {
		return &pb.NodeLabel{Name: proto.String(l.Name), IsExclusive: proto.Bool(l.Exclusive)}
	})}
	return c.admin(ctx, "addToClusterNodeLabels", in, &pb.AddToClusterNodeLabelsResponse{})
}

// RemoveClusterLabels makes the cluster forget node labels.
func (c *Client) RemoveClusterLabels(ctx context.Context, names []string) error {
	in := &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: names}
	return c.admin(ctx, "removeFromClusterNodeLabels", in, &pb.RemoveFromClusterNodeLabelsResponse{})
}

// ReplaceLabels sets the labels of nodes. Unknown nodes are accepted unless
// failOnUnknown.
func (c *Client) ReplaceLabels(ctx context.Context, nodes []NodeLabels, failOnUnknown bool) error {
	in := &pb.ReplaceLabelsOnNodeRequest{FailOnUnknownNodes: &failOnUnknown,
		NodeToLabels: each(nodes, func(n NodeLabels) *pb.NodeIdToLabels {
			return &pb.NodeIdToLabels{NodeId: toNodeID(n.Node), NodeLabels: n.Labels}
		})}
	return c.admin(ctx, "replaceLabelsOnNodes", in, &pb.ReplaceLabelsOnNodeResponse{})
}
