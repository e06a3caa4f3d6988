package resourcemanager

import (
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// method is one that Hadoop's services have, with a request that is complete.
// missing tells a method that Heddle has not built; the text is in its refusal.
type method struct {
	method  string
	request proto.Message
	missing string
}

var (
	anApplication = convert.ToApplicationID(yarn.ApplicationID{ClusterTimestamp: 5, Sequence: 1})
	anAttempt     = &pb.ApplicationAttemptId{ApplicationId: anApplication, AttemptId: proto.Int32(1)}
	aContainer    = &pb.ContainerId{AppAttemptId: anAttempt, Id: proto.Int64(1)}
	aReservation  = &pb.ReservationId{Id: proto.Int64(1), ClusterTimestamp: proto.Int64(5)}
	aToken        = &pb.Token{Identifier: []byte("i"), Password: []byte("p"), Kind: proto.String("RM_DELEGATION_TOKEN"), Service: proto.String("s")}
	aNode         = &pb.NodeId{Host: proto.String("h"), Port: proto.Int32(1)}
)

var clientMethods = []method{
	{"getNewApplication", &pb.GetNewApplicationRequest{}, ""},
	{"getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: anApplication}, ""},
	{"submitApplication", &pb.SubmitApplicationRequest{ApplicationSubmissionContext: &pb.ApplicationSubmissionContext{
		ApplicationId: anApplication, Resource: size(256, 1), AmContainerSpec: &pb.ContainerLaunchContext{}}}, ""},
	{"failApplicationAttempt", &pb.FailApplicationAttemptRequest{ApplicationAttemptId: anAttempt}, ""},
	{"forceKillApplication", &pb.KillApplicationRequest{ApplicationId: anApplication}, ""},
	{"getClusterMetrics", &pb.GetClusterMetricsRequest{}, ""},
	{"getApplications", &pb.GetApplicationsRequest{ApplicationTypes: []string{"YARN"}, ApplicationTags: []string{"x"}, Queues: []string{"default"}, Users: []string{"alice"}}, ""},
	{"getClusterNodes", &pb.GetClusterNodesRequest{NodeStates: []pb.NodeState{pb.NodeState_NS_RUNNING}}, ""},
	{"getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeApplications: proto.Bool(true), Recursive: proto.Bool(true)}, ""},
	{"getQueueUserAcls", &pb.GetQueueUserAclsInfoRequest{}, ""},
	{"getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: proto.String("yarn")}, ""},
	{"renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: aToken}, ""},
	{"cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: aToken}, ""},
	{"moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: anApplication, TargetQueue: proto.String("other")}, ""},
	{"getApplicationAttemptReport", &pb.GetApplicationAttemptReportRequest{ApplicationAttemptId: anAttempt}, ""},
	{"getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: anApplication}, ""},
	{"getContainerReport", &pb.GetContainerReportRequest{ContainerId: aContainer}, ""},
	{"getContainers", &pb.GetContainersRequest{ApplicationAttemptId: anAttempt}, ""},
	{"getNewReservation", &pb.GetNewReservationRequest{}, "Reservation is not enabled"},
	{"submitReservation", &pb.ReservationSubmissionRequest{ReservationId: aReservation}, "Reservation is not enabled"},
	{"updateReservation", &pb.ReservationUpdateRequest{ReservationId: aReservation}, "Reservation is not enabled"},
	{"deleteReservation", &pb.ReservationDeleteRequest{ReservationId: aReservation}, "Reservation is not enabled"},
	{"listReservations", &pb.ReservationListRequest{Queue: proto.String("default")}, "Reservation is not enabled"},
	{"getNodeToLabels", &pb.GetNodesToLabelsRequest{}, ""},
	{"getLabelsToNodes", &pb.GetLabelsToNodesRequest{NodeLabels: []string{"x"}}, ""},
	{"getClusterNodeLabels", &pb.GetClusterNodeLabelsRequest{}, ""},
	{"updateApplicationPriority", &pb.UpdateApplicationPriorityRequest{ApplicationId: anApplication, ApplicationPriority: convert.ToPriority(3)}, ""},
	{"signalToContainer", &pb.SignalContainerRequest{ContainerId: aContainer, Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum()}, ""},
	{"updateApplicationTimeouts", &pb.UpdateApplicationTimeoutsRequest{ApplicationId: anApplication, ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{{
		ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String("2199-01-01T00:00:00.000+0000")}}}, ""},
	{"getResourceProfiles", &pb.GetAllResourceProfilesRequest{}, "Resource profile is not enabled"},
	{"getResourceProfile", &pb.GetResourceProfileRequest{Profile: proto.String("small")}, "Resource profile is not enabled"},
	{"getResourceTypeInfo", &pb.GetAllResourceTypeInfoRequest{}, ""},
	{"getClusterNodeAttributes", &pb.GetClusterNodeAttributesRequest{}, ""},
	{"getAttributesToNodes", &pb.GetAttributesToNodesRequest{}, ""},
	{"getNodesToAttributes", &pb.GetNodesToAttributesRequest{}, ""},
}

var adminMethods = []method{
	{"refreshQueues", &pb.RefreshQueuesRequest{}, ""},
	{"refreshNodes", &pb.RefreshNodesRequest{}, ""},
	{"refreshSuperUserGroupsConfiguration", &pb.RefreshSuperUserGroupsConfigurationRequest{}, ""},
	{"refreshUserToGroupsMappings", &pb.RefreshUserToGroupsMappingsRequest{}, ""},
	{"refreshAdminAcls", &pb.RefreshAdminAclsRequest{}, ""},
	{"refreshServiceAcls", &pb.RefreshServiceAclsRequest{}, "not enabled"},
	{"getGroupsForUser", &pb.GetGroupsForUserRequest{User: proto.String("alice")}, ""},
	{"updateNodeResource", &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{{NodeId: aNode, ResourceOption: &pb.ResourceOption{Resource: size(1024, 1)}}}}, ""},
	{"refreshNodesResources", &pb.RefreshNodesResourcesRequest{}, ""},
	{"addToClusterNodeLabels", &pb.AddToClusterNodeLabelsRequest{NodeLabels: []*pb.NodeLabel{{Name: proto.String("x")}}}, "Node-label-based"},
	{"removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsRequest{NodeLabels: []string{"x"}}, "Node-label-based"},
	{"replaceLabelsOnNodes", &pb.ReplaceLabelsOnNodeRequest{}, "Node-label-based"},
	{"checkForDecommissioningNodes", &pb.CheckForDecommissioningNodesRequest{}, ""},
	{"refreshClusterMaxPriority", &pb.RefreshClusterMaxPriorityRequest{}, ""},
	{"mapAttributesToNodes", &pb.NodesToAttributesMappingRequest{Operation: pb.AttributeMappingOperationType_REPLACE.Enum()}, "node attributes"},
}

var haMethods = []method{
	{"monitorHealth", &pb.MonitorHealthRequest{}, ""},
	{"transitionToActive", &pb.TransitionToActiveRequest{ReqInfo: byUser}, "high availability"},
	{"transitionToStandby", &pb.TransitionToStandbyRequest{ReqInfo: byUser}, "high availability"},
	{"transitionToObserver", &pb.TransitionToObserverRequest{ReqInfo: byUser}, "Observer"},
	{"getServiceStatus", &pb.GetServiceStatusRequest{}, ""},
}

var byUser = &pb.HAStateChangeRequestInfo{ReqSource: pb.HARequestSource_REQUEST_BY_USER.Enum()}

var trackerMethods = []method{
	{"registerNodeManager", &pb.RegisterNodeManagerRequest{NodeId: aNode, HttpPort: proto.Int32(8042), Resource: size(4096, 4), NmVersion: proto.String("3.5.0"),
		ContainerStatuses:   []*pb.NMContainerStatus{{ContainerId: aContainer, ContainerState: pb.ContainerState_C_RUNNING.Enum(), Resource: size(256, 1), Priority: convert.ToPriority(0)}},
		RunningApplications: []*pb.ApplicationId{anApplication}, PhysicalResource: size(4096, 4)}, ""},
	{"nodeHeartbeat", &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: aNode, ResponseId: proto.Int32(0),
		ContainersStatuses:    []*pb.ContainerStatus{{ContainerId: aContainer, State: pb.ContainerState_C_COMPLETE.Enum(), ExitStatus: proto.Int32(1), Diagnostics: proto.String("d")}},
		KeepAliveApplications: []*pb.ApplicationId{anApplication}, NodeHealthStatus: &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(true)}}}, ""},
	{"unRegisterNodeManager", &pb.UnRegisterNodeManagerRequest{NodeId: aNode}, ""},
}

var masterMethods = []method{
	{"registerApplicationMaster", &pb.RegisterApplicationMasterRequest{Host: proto.String("h"), RpcPort: proto.Int32(1), TrackingUrl: proto.String("u")}, ""},
	{"allocate", &pb.AllocateRequest{ResponseId: proto.Int32(0), Progress: proto.Float32(0.5), Release: []*pb.ContainerId{aContainer},
		Ask:              []*pb.ResourceRequest{{Priority: convert.ToPriority(1), ResourceName: proto.String("*"), Capability: size(256, 1), NumContainers: proto.Int32(2)}},
		BlacklistRequest: &pb.ResourceBlacklistRequest{BlacklistAdditions: []string{"h"}},
		UpdateRequests:   []*pb.UpdateContainerRequest{{ContainerVersion: proto.Int32(0), ContainerId: aContainer, UpdateType: pb.ContainerUpdateType_INCREASE_RESOURCE.Enum(), Capability: size(512, 1)}}}, ""},
	{"finishApplicationMaster", &pb.FinishApplicationMasterRequest{FinalApplicationStatus: pb.FinalApplicationStatus_APP_SUCCEEDED.Enum(), TrackingUrl: proto.String("u"), Diagnostics: proto.String("d")}, ""},
}

// protocol is what one port serves.
type protocol struct {
	port    int
	name    string
	methods []method
}

// protocols are all that the four ports serve, and must.
var protocols = []protocol{
	{adminPort, admin.Name, adminMethods}, {adminPort, admin.HAName, haMethods}, {clientPort, client.Name, clientMethods},
	{masterPort, masterName, masterMethods}, {trackerPort, trackerName, trackerMethods},
}

// loggedIn is a caller of a port whom it lets in: masters need a token.
func (w *world) loggedIn(port int, name string) caller {
	if port != masterPort {
		return w.caller(port, name, operator, "")
	}
	id := yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: w.term().started, Sequence: 999}, Attempt: 1}
	w.term().grants.amrm.Register(id)
	c := w.master(w.term().grants.amrm.Issue(id))
	c.protocol = name
	return c
}

// Every method that Hadoop has is answered: by what it says, or by a refusal
// that names what is missing. None hangs and none is unknown.
func TestEveryMethod(t *testing.T) {
	w := newWorld(t, twoQueues)
	for _, p := range protocols {
		c := w.loggedIn(p.port, p.name)
		for _, m := range p.methods {
			_, err := c.raw(m.method, m.request)
			var remote *ipc.RemoteError
			switch {
			case m.missing != "":
				if !errors.As(err, &remote) || !strings.Contains(remote.Message, m.missing) || !strings.Contains(remote.Class, "Exception") {
					t.Errorf("%s: want a refusal that names %q, got %v", m.method, m.missing, err)
				}
			case err != nil && (!errors.As(err, &remote) || strings.HasPrefix(remote.Class, "org.apache.hadoop.ipc.") || remote.Class == ipc.ClassRuntime):
				t.Errorf("%s: %v", m.method, err)
			}
		}
		if served := len(w.served(p.name)); served != len(p.methods) {
			t.Errorf("%s serves %d methods, the list here has %d", p.name, served, len(p.methods))
		}
	}
}

// served are the methods of a protocol that the daemon knows.
func (w *world) served(name string) (methods []string) {
	all := append([]ipc.Protocol{}, admin.Protocol(admin.Config{Daemon: w.term()}), w.d.haProtocol(), client.Protocol(client.Config{}), w.term().masters.Protocol)
	for _, p := range all {
		for m := range p.Methods {
			if p.Name == name {
				methods = append(methods, m)
			}
		}
	}
	if name == trackerName {
		return []string{"registerNodeManager", "nodeHeartbeat", "unRegisterNodeManager"}
	}
	return methods
}

// What a port does not serve is refused by the name of the lack, and the
// connection goes on.
func TestStrangeMethods(t *testing.T) {
	w := newWorld(t, twoQueues)
	for _, p := range protocols {
		c := w.loggedIn(p.port, p.name)
		_, err := c.raw("makeCoffee", &pb.GetNewApplicationRequest{})
		refused(t, err, ipc.ClassNoSuchMethod, "makeCoffee")
		other := c
		other.protocol = "org.apache.hadoop.yarn.api.CoffeePB"
		_, err = other.raw("getNewApplication", &pb.GetNewApplicationRequest{})
		refused(t, err, ipc.ClassNoSuchProtocol, "CoffeePB")
		// A message that cannot be read is the caller's fault alone.
		if _, err = c.client.Call(t.Context(), c.address, c.protocol, p.methods[0].method, []byte{0xff, 0xff}); err != nil {
			var remote *ipc.RemoteError
			if !errors.As(err, &remote) {
				t.Errorf("%s: %v", p.methods[0].method, err)
			}
		}
	}
}

// The masters' port takes tokens of attempts and nothing else.
func TestMastersNeedTokens(t *testing.T) {
	w := newWorld(t, twoQueues)
	_, err := w.caller(masterPort, masterName, operator, "").raw("allocate", &pb.AllocateRequest{})
	if err == nil {
		t.Error("a caller without a token was let in")
	}
	id := yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: w.term().started, Sequence: 5}, Attempt: 1}
	genuine := w.term().grants.amrm.Issue(id)
	_, err = w.master(genuine).raw("allocate", &pb.AllocateRequest{})
	refused(t, err, ipc.ClassInvalidToken, id.String()+" not found in AMRMTokenSecretManager.")
	w.term().grants.amrm.Register(id)
	forged := genuine
	forged.Password = make([]byte, token.PasswordSize)
	if _, err = w.master(forged).raw("allocate", &pb.AllocateRequest{}); err == nil {
		t.Error("a forged token was taken")
	}
	_, err = w.master(genuine).raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(0)})
	refused(t, err, serve.AttemptNotFound, id.String())
	_, err = w.master(genuine).raw("registerApplicationMaster", &pb.RegisterApplicationMasterRequest{})
	refused(t, err, serve.InvalidMasterRequest, id.String())
}
