package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
)

// Bounds of requests, as the ResourceManager has them.
const (
	mostRows       = 100_000 // asks, or releases, of one allocate
	mostUpdates    = 2000
	mostNames      = 20_000 // of a blacklist; containers, applications and logs that a node tells of
	mostLabelled   = 10_000
	mostFilters    = 10_000
	mostSubmission = 4 << 20
	farTooMany     = 200_000 // for what has no bound of its own in the protocol
)

// host is an address of loopback, which nobody has to look up.
func host(i int32) string { return fmt.Sprintf("127.%d.%d.%d", 1+i>>16, i>>8&255, i&255) }

func nodeID(i int32) *pb.NodeId { return &pb.NodeId{Host: proto.String(host(i)), Port: proto.Int32(1)} }

// registration is that of a node with so many containers that nobody knows.
func (t *town) registration(i int32, containers int) *pb.RegisterNodeManagerRequest {
	m := &pb.RegisterNodeManagerRequest{NodeId: nodeID(i), HttpPort: proto.Int32(2), Resource: &pb.Resource{Memory: proto.Int64(100_000), VirtualCores: proto.Int32(10_000)},
		NmVersion: proto.String("3.5.0")}
	for n := range containers {
		app := t.apps[n%len(t.apps)]
		m.ContainerStatuses = append(m.ContainerStatuses, &pb.NMContainerStatus{ContainerId: container(app, int64(5_000_000+n)), ContainerState: pb.ContainerState_C_RUNNING.Enum(),
			Resource: size(16), Priority: &pb.Priority{Priority: proto.Int32(1)}})
		m.RunningApplications = append(m.RunningApplications, app)
		m.LogAggregationReportsForApps = append(m.LogAggregationReportsForApps, &pb.LogAggregationReport{ApplicationId: app, LogAggregationStatus: pb.LogAggregationStatus_LOG_RUNNING.Enum()})
	}
	t.beats[i] = 0
	return m
}

func container(app *pb.ApplicationId, n int64) *pb.ContainerId {
	return &pb.ContainerId{AppAttemptId: attemptID(app), Id: &n}
}

func attemptID(app *pb.ApplicationId) *pb.ApplicationAttemptId {
	return &pb.ApplicationAttemptId{ApplicationId: app, AttemptId: proto.Int32(1)}
}

// beat sends a node's heartbeat.
func (t *town) beat(i int32, list []*pb.ContainerStatus, keep []*pb.ApplicationId) error {
	out := &pb.NodeHeartbeatResponse{}
	err := t.ask(trackerPort, "nodeHeartbeat", &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: nodeID(i), ResponseId: proto.Int32(t.beats[i]),
		ContainersStatuses: list, KeepAliveApplications: keep, NodeHealthStatus: &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(true)}}}, out)
	if err == nil {
		t.beats[i] = out.GetResponseId()
	}
	return err
}

// allocate sends the master's call and keeps what it is granted.
func (t *town) allocate(m *pb.AllocateRequest) error {
	m.ResponseId, m.Progress = proto.Int32(t.polls), proto.Float32(0.5)
	out := &pb.AllocateResponse{}
	err := t.ask(masterPort, "allocate", m, out)
	if err == nil {
		t.polls = out.GetResponseId()
		for _, c := range out.GetAllocatedContainers() {
			t.live = append(t.live, c.GetId())
		}
	}
	return err
}

func row(priority int32, where string, memory int64, count int32) *pb.ResourceRequest {
	return &pb.ResourceRequest{Priority: &pb.Priority{Priority: &priority}, ResourceName: &where, Capability: size(memory), NumContainers: &count}
}

// next is one application after the other, but for the first, whose master the town plays.
func (t *town) next() *pb.ApplicationId {
	t.turn++
	return t.apps[1+t.turn%(len(t.apps)-1)]
}

// call is a method whose request is always made in the same way.
func (t *town) call(port, name string, in func() proto.Message) method {
	return method{name: name, send: func() error { return t.ask(port, name, in(), nil) }}
}

// methods are all calls, in an order in which one leaves the next something to do.
func (t *town) methods() []method {
	list := t.readers()
	list = append(list, t.masters()...)
	list = append(list, t.changes()...)
	list = append(list, t.trackers()...)
	return append(list, t.admins()...)
}

func many(n int, name func(int) string) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = name(i)
	}
	return out
}

func same(m proto.Message) func() proto.Message { return func() proto.Message { return m } }

func (t *town) readers() []method {
	first := t.apps[0]
	var list []method
	for _, x := range []struct {
		name string
		m    proto.Message
	}{
		{"getNewApplication", &pb.GetNewApplicationRequest{}},
		{"getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: first}},
		{"getApplications", &pb.GetApplicationsRequest{Users: many(mostFilters, func(i int) string { return fmt.Sprint("u", i) })}},
		{"getClusterMetrics", &pb.GetClusterMetricsRequest{}},
		{"getClusterNodes", &pb.GetClusterNodesRequest{}},
		{"getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeApplications: proto.Bool(true), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)}},
		{"getQueueUserAcls", &pb.GetQueueUserAclsInfoRequest{}},
		{"getApplicationAttemptReport", &pb.GetApplicationAttemptReportRequest{ApplicationAttemptId: attemptID(first)}},
		{"getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: first}},
		{"getContainerReport", &pb.GetContainerReportRequest{ContainerId: container(first, 1)}},
		{"getContainers", &pb.GetContainersRequest{ApplicationAttemptId: attemptID(first)}},
		{"getNodeToLabels", &pb.GetNodesToLabelsRequest{}},
		{"getLabelsToNodes", &pb.GetLabelsToNodesRequest{NodeLabels: many(mostFilters, func(i int) string { return fmt.Sprint("x", i) })}},
		{"getClusterNodeLabels", &pb.GetClusterNodeLabelsRequest{}},
		{"getResourceTypeInfo", &pb.GetAllResourceTypeInfoRequest{}},
		{"getResourceProfiles", &pb.GetAllResourceProfilesRequest{}},
		{"getResourceProfile", &pb.GetResourceProfileRequest{Profile: proto.String("p")}},
		{"getClusterNodeAttributes", &pb.GetClusterNodeAttributesRequest{}},
		{"getAttributesToNodes", &pb.GetAttributesToNodesRequest{}},
		{"getNodesToAttributes", &pb.GetNodesToAttributesRequest{}},
		{"getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: proto.String(strings.Repeat("r", 64<<10))}},
		{"renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: bigToken()}},
		{"cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: bigToken()}},
		{"getNewReservation", &pb.GetNewReservationRequest{}},
		{"submitReservation", &pb.ReservationSubmissionRequest{Queue: proto.String(strings.Repeat("q", 1<<20))}},
		{"updateReservation", &pb.ReservationUpdateRequest{}},
		{"deleteReservation", &pb.ReservationDeleteRequest{}},
		{"listReservations", &pb.ReservationListRequest{Queue: proto.String(strings.Repeat("q", 1<<20))}},
	} {
		list = append(list, t.call(clientPort, x.name, same(x.m)))
	}
	return list
}

func bigToken() *pb.Token {
	return &pb.Token{Identifier: make([]byte, 64<<10), Password: make([]byte, 20), Kind: proto.String("RM_DELEGATION_TOKEN"), Service: proto.String("s")}
}

func (t *town) masters() []method {
	rows := func(count int32) (list []*pb.ResourceRequest) {
		for i := range int32(mostRows) {
			list = append(list, row(i, "*", 16, count))
		}
		return list
	}
	poll := func(name string, make func() *pb.AllocateRequest) method {
		return method{name: "allocate, " + name, send: func() error { return t.allocate(make()) }}
	}
	return []method{
		{name: "registerApplicationMaster", send: func() error {
			return t.ask(masterPort, "registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String(strings.Repeat("h", 1<<20)), TrackingUrl: proto.String(strings.Repeat("u", 1<<20))}, nil)
		}},
		poll("100,000 rows", func() *pb.AllocateRequest { return &pb.AllocateRequest{Ask: rows(1)} }),
		poll("the same with nothing", func() *pb.AllocateRequest { return &pb.AllocateRequest{Ask: rows(0)} }),
		poll("100,000 containers", func() *pb.AllocateRequest {
			return &pb.AllocateRequest{Ask: []*pb.ResourceRequest{row(1, "*", 16, mostRows)}}
		}),
		poll("20,000 hosts of a blacklist", func() *pb.AllocateRequest {
			return &pb.AllocateRequest{BlacklistRequest: &pb.ResourceBlacklistRequest{BlacklistAdditions: many(mostNames, func(i int) string { return host(int32(i)) })}}
		}),
		poll("the same taken back", func() *pb.AllocateRequest {
			return &pb.AllocateRequest{BlacklistRequest: &pb.ResourceBlacklistRequest{BlacklistRemovals: many(mostNames, func(i int) string { return host(int32(i)) })}}
		}),
		poll("2,000 updates", func() *pb.AllocateRequest {
			m := &pb.AllocateRequest{}
			for _, id := range t.live[:min(len(t.live), mostUpdates)] {
				m.UpdateRequests = append(m.UpdateRequests, &pb.UpdateContainerRequest{ContainerVersion: proto.Int32(0), ContainerId: id,
					UpdateType: pb.ContainerUpdateType_INCREASE_RESOURCE.Enum(), Capability: size(32)})
			}
			return m
		}),
		{name: "moveApplicationAcrossQueues of 100,000 containers", send: func() error {
			t.turn++
			return t.ask(clientPort, "moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: t.apps[0],
				TargetQueue: proto.String(fmt.Sprintf("root.p%d.q%d", t.turn%10, t.turn%(t.queues/10)))}, nil)
		}},
		t.call(clientPort, "getContainers", same(&pb.GetContainersRequest{ApplicationAttemptId: attemptID(t.apps[0])})),
		t.call(clientPort, "signalToContainer", func() proto.Message {
			return &pb.SignalContainerRequest{ContainerId: container(t.apps[0], 1), Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum()}
		}),
		poll("100,000 releases", func() *pb.AllocateRequest {
			n := min(len(t.live), mostRows)
			m := &pb.AllocateRequest{Release: t.live[:n]}
			t.live = t.live[n:]
			return m
		}),
		poll("100,000 containers again", func() *pb.AllocateRequest {
			return &pb.AllocateRequest{Ask: []*pb.ResourceRequest{row(1, "*", 16, mostRows)}}
		}),
	}
}

func (t *town) changes() []method {
	return []method{
		{name: "submitApplication", send: func() error {
			return t.ask(clientPort, "submitApplication", submission(t.newID(), "root.p0.q0", false, func(m *pb.ApplicationSubmissionContext) {
				for i := range 1000 {
					where := "*"
					if i > 0 {
						where = host(int32(i))
					}
					m.AmContainerResourceRequest = append(m.AmContainerResourceRequest, row(0, where, 16, 1))
				}
				m.ApplicationName = proto.String(strings.Repeat("n", 1024))
				m.ApplicationTags = many(10, func(i int) string { return fmt.Sprintf("%090d", i) })
				m.AmContainerSpec.Command = []string{strings.Repeat("c", mostSubmission-(256<<10))}
			}), nil)
		}},
		{name: "submitApplication over REST", send: func() error {
			id := t.newID()
			return t.rest("POST", "apps", fmt.Sprintf(`{"application-id":"application_%d_%04d","application-name":"%s","queue":"root.p0.q1","unmanaged-AM":true,"resource":{"memory":16,"vCores":1},"am-container-spec":{}}`,
				id.GetClusterTimestamp(), id.GetId(), strings.Repeat("n", 1000)))
		}},
		t.call(clientPort, "updateApplicationPriority", func() proto.Message {
			t.turn++
			return &pb.UpdateApplicationPriorityRequest{ApplicationId: t.apps[0], ApplicationPriority: &pb.Priority{Priority: proto.Int32(int32(t.turn % 10))}}
		}),
		t.call(clientPort, "updateApplicationTimeouts", func() proto.Message {
			return &pb.UpdateApplicationTimeoutsRequest{ApplicationId: t.apps[0], ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{{
				ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String("2199-01-01T00:00:00.000+0000")}}}
		}),
		t.call(clientPort, "failApplicationAttempt", func() proto.Message {
			return &pb.FailApplicationAttemptRequest{ApplicationAttemptId: attemptID(t.next())}
		}),
		{name: "move over REST", send: func() error {
			return t.rest("PUT", "apps/"+name(t.next())+"/queue", `{"queue":"root.p3.q3"}`)
		}},
		{name: "kill over REST", send: func() error { return t.rest("PUT", "apps/"+name(t.next())+"/state", `{"state":"KILLED"}`) }},
		{name: "finishApplicationMaster", send: func() error {
			return t.ask(masterPort, "finishApplicationMaster", &pb.FinishApplicationMasterRequest{FinalApplicationStatus: pb.FinalApplicationStatus_APP_SUCCEEDED.Enum(),
				Diagnostics: proto.String(strings.Repeat("d", 1<<20)), TrackingUrl: proto.String(strings.Repeat("u", 1<<20))}, nil)
		}},
		t.call(clientPort, "forceKillApplication", func() proto.Message {
			return &pb.KillApplicationRequest{ApplicationId: t.apps[0], Diagnostics: proto.String(strings.Repeat("d", 1<<20))}
		}),
	}
}

func name(id *pb.ApplicationId) string {
	return fmt.Sprintf("application_%d_%04d", id.GetClusterTimestamp(), id.GetId())
}

func (t *town) trackers() []method {
	return []method{
		{name: "registerNodeManager", send: func() error {
			return t.ask(trackerPort, "registerNodeManager", t.registration(0, mostNames), nil)
		}},
		{name: "nodeHeartbeat", send: func() error {
			var list []*pb.ContainerStatus
			var keep []*pb.ApplicationId
			for i := range mostNames {
				app := t.apps[i%len(t.apps)]
				list = append(list, &pb.ContainerStatus{ContainerId: container(app, int64(i)), State: pb.ContainerState_C_COMPLETE.Enum(), ExitStatus: proto.Int32(1)})
				keep = append(keep, app)
			}
			return t.beat(0, list, keep)
		}},
		{name: "unRegisterNodeManager", send: func() error {
			t.turn++
			return t.ask(trackerPort, "unRegisterNodeManager", &pb.UnRegisterNodeManagerRequest{NodeId: nodeID(int32(t.turn % t.nodes))}, nil)
		}},
	}
}

func (t *town) admins() []method {
	labels := func(n int) (list []*pb.NodeLabel) {
		for i := range n {
			list = append(list, &pb.NodeLabel{Name: proto.String(fmt.Sprintf("x%d", i%4)), IsExclusive: proto.Bool(true)})
		}
		return list
	}
	replace := func(n int, label ...string) *pb.ReplaceLabelsOnNodeRequest {
		m := &pb.ReplaceLabelsOnNodeRequest{}
		for i := range int32(n) {
			m.NodeToLabels = append(m.NodeToLabels, &pb.NodeIdToLabels{NodeId: nodeID(i), NodeLabels: label})
		}
		return m
	}
	list := []method{
		t.call(adminPort, "addToClusterNodeLabels", same(&pb.AddToClusterNodeLabelsRequest{NodeLabels: labels(farTooMany)})),
	}
	for _, x := range []struct {
		what string
		m    *pb.ReplaceLabelsOnNodeRequest
	}{{"10,000", replace(mostLabelled, "x0")}, {"10,000 back", replace(mostLabelled)}, {"200,000", replace(farTooMany, "x1")}} {
		m := t.call(adminPort, "replaceLabelsOnNodes", same(x.m))
		m.name += " of " + x.what
		list = append(list, m)
	}
	for _, x := range []struct {
		name string
		m    proto.Message
	}{
		{"removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: many(farTooMany, func(i int) string { return fmt.Sprintf("x%d", i%4) })}},
		{"refreshSuperUserGroupsConfiguration", &pb.RefreshSuperUserGroupsConfigurationRequest{}},
		{"refreshUserToGroupsMappings", &pb.RefreshUserToGroupsMappingsRequest{}},
		{"refreshAdminAcls", &pb.RefreshAdminAclsRequest{}},
		{"refreshServiceAcls", &pb.RefreshServiceAclsRequest{}},
		{"getGroupsForUser", &pb.GetGroupsForUserRequest{User: proto.String(strings.Repeat("u", 64<<10))}},
		{"refreshNodesResources", &pb.RefreshNodesResourcesRequest{}},
		{"checkForDecommissioningNodes", &pb.CheckForDecommissioningNodesRequest{}},
		{"refreshClusterMaxPriority", &pb.RefreshClusterMaxPriorityRequest{}},
		{"mapAttributesToNodes", &pb.NodesToAttributesMappingRequest{Operation: pb.AttributeMappingOperationType_REPLACE.Enum()}},
		{"refreshQueues", &pb.RefreshQueuesRequest{}},
	} {
		list = append(list, t.call(adminPort, x.name, same(x.m)))
	}
	resource := func(n int) proto.Message {
		m := &pb.UpdateNodeResourceRequest{}
		for range n {
			t.turn++
			m.NodeResourceMap = append(m.NodeResourceMap, &pb.NodeResourceMap{NodeId: nodeID(int32(t.turn % t.nodes)), ResourceOption: &pb.ResourceOption{Resource: size(int64(90_000 + t.turn)), OverCommitTimeout: proto.Int32(-1)}})
		}
		return m
	}
	exclude := func(n int) error {
		if err := os.WriteFile(filepath.Join(t.dir, "excluded"), []byte(strings.Join(many(n, func(i int) string { return host(int32(i)) }), "\n")), 0o644); err != nil {
			return err
		}
		return t.ask(adminPort, "refreshNodes", &pb.RefreshNodesRequest{}, nil)
	}
	back := func() error {
		err := exclude(0)
		for i := 0; i < t.nodes/2 && err == nil; i++ {
			err = t.ask(trackerPort, "registerNodeManager", t.registration(int32(i), 0), nil)
		}
		return err
	}
	return append(list,
		t.call(adminPort, "updateNodeResource", func() proto.Message { return resource(1) }),
		method{name: "updateNodeResource of all nodes", send: func() error { return t.ask(adminPort, "updateNodeResource", resource(t.nodes), nil) }},
		method{name: "refreshNodes, half of them leave", before: back, send: func() error { return exclude(t.nodes / 2) }},
		method{name: "refreshNodes, they may come back", before: func() error { return exclude(t.nodes / 2) }, send: func() error { return exclude(0) }},
		method{name: "refreshQueues of 5,000 queues", send: func() error {
			t.writeQueues(pick(t.arena, 5000, 1000))
			return t.ask(adminPort, "refreshQueues", &pb.RefreshQueuesRequest{}, nil)
		}},
	)
}
