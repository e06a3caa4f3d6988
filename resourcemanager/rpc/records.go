package rpc

import (
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// ToToken is a token as a message. All four fields are always set.
func ToToken(t token.Token) *pb.Token {
	return &pb.Token{Identifier: append([]byte{}, t.Identifier...), Password: append([]byte{}, t.Password...), Kind: &t.Kind, Service: &t.Service}
}

// ToTypes is the cluster's resource types as messages.
func ToTypes(types yarn.ResourceTypes) []*pb.ResourceTypeInfo {
	out := make([]*pb.ResourceTypeInfo, len(types))
	for i := range types {
		out[i] = &pb.ResourceTypeInfo{Name: &types[i].Name, Units: &types[i].Units, Type: pb.ResourceTypes_COUNTABLE.Enum()}
	}
	return out
}

// ACLs is an application's ACLs as messages; empty ones are left out.
func ACLs(viewers, modifiers string) []*pb.ApplicationACLMap {
	var out []*pb.ApplicationACLMap
	if viewers != "" {
		out = append(out, &pb.ApplicationACLMap{AccessType: pb.ApplicationAccessType_APPACCESS_VIEW_APP.Enum(), Acl: &viewers})
	}
	if modifiers != "" {
		out = append(out, &pb.ApplicationACLMap{AccessType: pb.ApplicationAccessType_APPACCESS_MODIFY_APP.Enum(), Acl: &modifiers})
	}
	return out
}

// NodeReport is the report on a node for clients and masters.
func NodeReport(n *view.Node, types yarn.ResourceTypes) *pb.NodeReport {
	containers := int32(n.Containers)
	r := &pb.NodeReport{
		NodeId: convert.ToNodeID(n.ID), HttpAddress: &n.HTTPAddress, RackName: &n.Rack,
		Used: convert.ToResource(n.Used, types), Capability: convert.ToResource(n.Total, types), NumContainers: &containers,
		NodeState: convert.ToNodeState(n.State), HealthReport: &n.HealthReport, LastHealthReportTime: &n.LastHealth,
		NodeLabels:            n.Labels,
		ContainersUtilization: utilization(n.ContainersUse), NodeUtilization: utilization(n.NodeUse),
	}
	if n.DrainTimeout != nil && *n.DrainTimeout >= 0 {
		seconds := uint32(*n.DrainTimeout)
		r.DecommissioningTimeout = &seconds
	}
	switch {
	case n.State == yarn.NodeDecommissioning:
		r.NodeUpdateType = pb.NodeUpdateType_NODE_DECOMMISSIONING.Enum()
	case n.State.Usable():
		r.NodeUpdateType = pb.NodeUpdateType_NODE_USABLE.Enum()
	default:
		r.NodeUpdateType = pb.NodeUpdateType_NODE_UNUSABLE.Enum()
	}
	return r
}

func utilization(u view.Utilization) *pb.ResourceUtilization {
	return &pb.ResourceUtilization{Pmem: &u.PhysicalMemoryMB, Vmem: &u.VirtualMemoryMB, Cpu: &u.CPU}
}
