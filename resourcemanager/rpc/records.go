package rpc

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/field"
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

// AppendNodeReport appends the report on a node for clients and masters, a NodeReportProto, as the field of that number.
func AppendNodeReport(b []byte, num protowire.Number, n *view.Node, types yarn.ResourceTypes) []byte {
	b, whole := field.Open(b, num)
	b = field.AppendNodeID(b, 1, n.ID)
	b = field.AppendText(b, 2, n.HTTPAddress)
	b = field.AppendText(b, 3, n.Rack)
	b = field.AppendResource(b, 4, n.Used, types)
	b = field.AppendResource(b, 5, n.Total, types)
	b = field.AppendInt(b, 6, int64(n.Containers))
	b = field.AppendInt(b, 7, int64(n.State))
	b = field.AppendText(b, 8, n.HealthReport)
	b = field.AppendInt(b, 9, n.LastHealth)
	for _, label := range n.Labels {
		b = field.AppendText(b, 10, label)
	}
	b = appendUtilization(b, 11, n.ContainersUse)
	b = appendUtilization(b, 12, n.NodeUse)
	if n.DrainTimeout != nil && *n.DrainTimeout >= 0 {
		b = field.AppendInt(b, 13, int64(*n.DrainTimeout))
	}
	update := pb.NodeUpdateType_NODE_UNUSABLE
	switch {
	case n.State == yarn.NodeDecommissioning:
		update = pb.NodeUpdateType_NODE_DECOMMISSIONING
	case n.State.Usable():
		update = pb.NodeUpdateType_NODE_USABLE
	}
	return field.Shut(field.AppendInt(b, 14, int64(update)), whole)
}

func appendUtilization(b []byte, num protowire.Number, u view.Utilization) []byte {
	b, mark := field.Open(b, num)
	b = field.AppendInt(b, 1, int64(u.PhysicalMemoryMB))
	b = field.AppendInt(b, 2, int64(u.VirtualMemoryMB))
	return field.Shut(field.AppendFloat(b, 3, u.CPU), mark)
}
