package client

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Decommission says what refreshing the include and exclude lists does to a
// node that is newly excluded.
type Decommission int32

// The ways to take nodes out.
const (
	DecommissionNow      Decommission = 1 // its containers end at once
	DecommissionGraceful Decommission = 2 // after its containers, or at the timeout
	DecommissionForced   Decommission = 3 // ends what is being decommissioned gracefully
)

// NoTimeout lets a graceful decommission last as long as the node's containers.
const NoTimeout int32 = -1

// RefreshQueues has the scheduler's configuration read again.
func (c *Client) RefreshQueues(ctx context.Context) error {
	return c.admin(ctx, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
}

// RefreshNodes has the include and exclude lists read again. seconds, or nil
// for the configured default, bounds a graceful decommission.
func (c *Client) RefreshNodes(ctx context.Context, how Decommission, seconds *int32) error {
	in := &pb.RefreshNodesRequest{DecommissionType: pb.DecommissionType(how).Enum(), DecommissionTimeout: seconds}
	return c.admin(ctx, "refreshNodes", in, &pb.RefreshNodesResponse{})
}

// Decommissioning lists the nodes that a graceful decommission still waits for.
func (c *Client) Decommissioning(ctx context.Context) ([]yarn.NodeID, error) {
	out := &pb.CheckForDecommissioningNodesResponse{}
	err := c.admin(ctx, "checkForDecommissioningNodes", &pb.CheckForDecommissioningNodesRequest{}, out)
	return each(out.GetDecommissioningNodes(), fromNodeID), err
}

// RefreshNodesResources has dynamic-resources.xml read again.
func (c *Client) RefreshNodesResources(ctx context.Context) error {
	return c.admin(ctx, "refreshNodesResources", &pb.RefreshNodesResourcesRequest{}, &pb.RefreshNodesResourcesResponse{})
}

// RefreshSuperUserGroups has hadoop.proxyuser.* read again.
func (c *Client) RefreshSuperUserGroups(ctx context.Context) error {
	return c.admin(ctx, "refreshSuperUserGroupsConfiguration", &pb.RefreshSuperUserGroupsConfigurationRequest{}, &pb.RefreshSuperUserGroupsConfigurationResponse{})
}

// RefreshUserGroups has cached groups of users forgotten.
func (c *Client) RefreshUserGroups(ctx context.Context) error {
	return c.admin(ctx, "refreshUserToGroupsMappings", &pb.RefreshUserToGroupsMappingsRequest{}, &pb.RefreshUserToGroupsMappingsResponse{})
}

// RefreshAdminACLs has yarn.admin.acl read again.
func (c *Client) RefreshAdminACLs(ctx context.Context) error {
	return c.admin(ctx, "refreshAdminAcls", &pb.RefreshAdminAclsRequest{}, &pb.RefreshAdminAclsResponse{})
}

// RefreshServiceACLs has hadoop-policy.xml read again.
func (c *Client) RefreshServiceACLs(ctx context.Context) error {
	return c.admin(ctx, "refreshServiceAcls", &pb.RefreshServiceAclsRequest{}, &pb.RefreshServiceAclsResponse{})
}

// RefreshMaxPriority has yarn.cluster.max-application-priority read again.
func (c *Client) RefreshMaxPriority(ctx context.Context) error {
	return c.admin(ctx, "refreshClusterMaxPriority", &pb.RefreshClusterMaxPriorityRequest{}, &pb.RefreshClusterMaxPriorityResponse{})
}

// Groups lists a user's groups as the ResourceManager resolves them.
func (c *Client) Groups(ctx context.Context, user string) ([]string, error) {
	out := &pb.GetGroupsForUserResponse{}
	err := c.admin(ctx, "getGroupsForUser", &pb.GetGroupsForUserRequest{User: proto.String(user)}, out)
	return out.GetGroups(), err
}

// UpdateNodeResource changes what a node offers. overcommit is what happens to
// containers that no longer fit: negative keeps them, 0 kills at once, positive
// waits so many milliseconds.
func (c *Client) UpdateNodeResource(ctx context.Context, node yarn.NodeID, r Resource, overcommit int32) error {
	in := &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{{
		NodeId: toNodeID(node), ResourceOption: &pb.ResourceOption{Resource: toResource(r), OverCommitTimeout: proto.Int32(overcommit)}}}}
	return c.admin(ctx, "updateNodeResource", in, &pb.UpdateNodeResourceResponse{})
}
