package client

import (
	"context"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Node is the report on a NodeManager.
type Node struct {
	ID                      yarn.NodeID
	State                   yarn.NodeState
	HTTPAddress             *string
	Rack                    *string
	Used                    *Resource
	Capability              Resource
	Containers              int32
	Health                  string
	LastHealthUpdate        int64 // milliseconds since 1970
	Labels                  []string
	Attributes              []NodeAttribute
	NodeUse                 *Utilization // of the whole machine
	ContainersUse           *Utilization
	DecommissioningDeadline *uint32 // seconds left; nil when there is none
}

// Utilization is measured use.
type Utilization struct {
	PhysicalMB, VirtualMB int32
	CPU                   float32 // in vcores
}

// NodeAttribute is a fact about a node, such as its zone.
type NodeAttribute struct {
	Prefix, Name string
	Type         string // STRING
	Value        *string
}

// ClusterMetrics counts nodes by state.
type ClusterMetrics struct {
	NodeManagers, Active, Decommissioning, Decommissioned, Lost, Unhealthy, Rebooted, Shutdown int32
}

// Nodes lists nodes in any of the states; with none given, the usable ones.
func (c *Client) Nodes(ctx context.Context, states ...yarn.NodeState) ([]*Node, error) {
	in := &pb.GetClusterNodesRequest{NodeStates: each(states, func(s yarn.NodeState) pb.NodeState { return pb.NodeState(s) })}
	out := &pb.GetClusterNodesResponse{}
	if err := c.user(ctx, "getClusterNodes", in, out); err != nil {
		return nil, err
	}
	return each(out.GetNodeReports(), fromNode), nil
}

// Metrics counts the cluster's nodes.
func (c *Client) Metrics(ctx context.Context) (ClusterMetrics, error) {
	out := &pb.GetClusterMetricsResponse{}
	err := c.user(ctx, "getClusterMetrics", &pb.GetClusterMetricsRequest{}, out)
	m := out.GetClusterMetrics()
	return ClusterMetrics{NodeManagers: m.GetNumNodeManagers(), Active: m.GetNumActiveNms(),
		Decommissioning: m.GetNumDecommissioningNms(), Decommissioned: m.GetNumDecommissionedNms(), Lost: m.GetNumLostNms(),
		Unhealthy: m.GetNumUnhealthyNms(), Rebooted: m.GetNumRebootedNms(), Shutdown: m.GetNumShutdownNms()}, err
}

func fromNode(m *pb.NodeReport) *Node {
	n := &Node{
		ID: fromNodeID(m.GetNodeId()), State: yarn.NodeState(m.GetNodeState()), HTTPAddress: m.HttpAddress, Rack: m.RackName,
		Capability: fromResource(m.GetCapability()), Containers: m.GetNumContainers(), Health: m.GetHealthReport(),
		LastHealthUpdate: m.GetLastHealthReportTime(), Labels: m.GetNodeLabels(), DecommissioningDeadline: m.DecommissioningTimeout,
		Attributes: each(m.GetNodeAttributes(), fromNodeAttribute),
		NodeUse:    fromUtilization(m.GetNodeUtilization()), ContainersUse: fromUtilization(m.GetContainersUtilization()),
	}
	if m.Used != nil {
		used := fromResource(m.Used)
		n.Used = &used
	}
	return n
}

func fromNodeAttribute(m *pb.NodeAttribute) NodeAttribute {
	return NodeAttribute{Prefix: m.GetAttributeKey().GetAttributePrefix(), Name: m.GetAttributeKey().GetAttributeName(),
		Type: m.GetAttributeType().String(), Value: m.AttributeValue}
}

func fromUtilization(m *pb.ResourceUtilization) *Utilization {
	if m == nil {
		return nil
	}
	return &Utilization{m.GetPmem(), m.GetVmem(), m.GetCpu()}
}
