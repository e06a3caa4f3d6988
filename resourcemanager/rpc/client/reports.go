package client

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// applicationReport is the report for this caller. A caller who may not view the
// application gets one without its attempt, addresses, diagnostics and usage.
//
// compat: the field for the time of submission is not filled in; the start time is that time.
func (s *client) applicationReport(caller *ipc.Identity, a *view.Application) *pb.ApplicationReport {
	r := &pb.ApplicationReport{
		ApplicationId: convert.ToApplicationID(a.ID), User: &a.User, Queue: &a.Queue, Name: &a.Name, ApplicationType: &a.Type,
		YarnApplicationState: convert.ToPublicState(a.PublicState), FinalApplicationStatus: convert.ToFinalStatus(a.FinalStatus),
		StartTime: &a.StartTime, FinishTime: &a.FinishTime, LaunchTime: &a.LaunchTime,
		Progress: proto.Float32(0), ApplicationTags: a.Tags, UnmanagedApplication: &a.Unmanaged, Priority: convert.ToPriority(a.Priority),
		AppTimeouts: s.timeoutReports(a), LogAggregationStatus: logAggregation(a),
		Host: proto.String(view.NotAvailable), RpcPort: proto.Int32(-1), TrackingUrl: proto.String(view.NotAvailable),
		OriginalTrackingUrl: proto.String(view.NotAvailable), Diagnostics: proto.String(view.NotAvailable),
		AppResource_Usage: hiddenUsage(s.Types),
	}
	r.AppNodeLabelExpression, r.AmNodeLabelExpression = labelText(a.Label, a.LabelSet), labelText(a.AMLabel, !a.Unmanaged)
	if !s.Access.MayView(caller, a) {
		r.CurrentApplicationAttemptId = convert.ToAttemptID(yarn.AttemptID{Application: a.ID, Attempt: -1}) // compat: -1 is none
		return r
	}
	t := a.Current()
	if t != nil {
		r.CurrentApplicationAttemptId, r.Progress = convert.ToAttemptID(t.ID), &a.Progress
	}
	r.Diagnostics, r.AppResource_Usage = &a.Diagnostics, s.usage(a)
	if t == nil {
		return r
	}
	if t.State != yarn.AttemptFailed && t.State != yarn.AttemptKilled {
		r.Host, r.RpcPort = &t.Host, &t.RPCPort
	}
	r.TrackingUrl, r.OriginalTrackingUrl = proto.String(s.Places.TrackingURL(a, t)), proto.String(s.Places.OriginalURL(a, t))
	if a.Unmanaged && t.State == yarn.AttemptLaunched && caller.User == a.User {
		r.AmRmToken = rpc.ToToken(s.LoginToken(t.ID)) // an unmanaged master gets it only here
	}
	return r
}

// labelText is a node label expression as reports show it.
func labelText(label string, set bool) *string {
	switch {
	case !set:
		return proto.String("<Not set>")
	case label == "":
		return proto.String("<DEFAULT_PARTITION>")
	}
	return &label
}

func (s *client) timeoutReports(a *view.Application) []*pb.AppTimeoutsMap {
	out := &pb.ApplicationTimeout{ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(),
		ExpireTime: proto.String("UNLIMITED"), RemainingTime: proto.Int64(-1)}
	for _, t := range a.Timeouts {
		left := max(t.ExpireAt-time.Now().UnixMilli(), 0) / 1000
		if a.PublicState >= yarn.PublicFinished {
			left = 0
		}
		out.ExpireTime, out.RemainingTime = proto.String(time.UnixMilli(t.ExpireAt).Format(timeoutFormat)), &left
	}
	return []*pb.AppTimeoutsMap{{ApplicationTimeoutType: out.ApplicationTimeoutType, ApplicationTimeout: out}}
}

func logAggregation(a *view.Application) *pb.LogAggregationStatus {
	if s := a.LogStatusAt(time.Now().UnixMilli()); s != 0 {
		return pb.LogAggregationStatus(s).Enum()
	}
	return nil
}

// hiddenUsage is the usage for callers who may not view it.
func hiddenUsage(types yarn.ResourceTypes) *pb.ApplicationResourceUsageReport {
	none := convert.ToResource(yarn.NewResource(-1, -1), types)
	return &pb.ApplicationResourceUsageReport{NumUsedContainers: proto.Int32(-1), NumReservedContainers: proto.Int32(-1),
		UsedResources: none, ReservedResources: none, NeededResources: none, MemorySeconds: proto.Int64(0), VcoreSeconds: proto.Int64(0)}
}

func (s *client) usage(a *view.Application) *pb.ApplicationResourceUsageReport {
	u, seconds := a.Usage, a.SecondsAt(time.Now().UnixMilli())
	r := &pb.ApplicationResourceUsageReport{
		MemorySeconds: proto.Int64(seconds.MemoryMB()), VcoreSeconds: proto.Int64(seconds.VCoreCount()),
		PreemptedMemorySeconds: proto.Int64(u.PreemptedSeconds.MemoryMB()), PreemptedVcoreSeconds: proto.Int64(u.PreemptedSeconds.VCoreCount()),
		QueueUsagePercentage: &u.QueuePercent, ClusterUsagePercentage: &u.ClusterPercent,
	}
	for i := range s.Types {
		r.ApplicationResourceUsageMap = append(r.ApplicationResourceUsageMap, &pb.StringLongMap{Key: &s.Types[i].Name, Value: proto.Int64(seconds[i])})
		r.ApplicationPreemptedResourceUsageMap = append(r.ApplicationPreemptedResourceUsageMap, &pb.StringLongMap{Key: &s.Types[i].Name, Value: proto.Int64(u.PreemptedSeconds[i])})
	}
	if a.PublicState >= yarn.PublicFinished { // compat: the usage of an ended application is -1, not 0
		h := hiddenUsage(s.Types)
		r.NumUsedContainers, r.NumReservedContainers = h.NumUsedContainers, h.NumReservedContainers
		r.UsedResources, r.ReservedResources, r.NeededResources = h.UsedResources, h.ReservedResources, h.NeededResources
		return r
	}
	used, reserved := count(u.Containers), count(u.ReservedContainers)
	r.NumUsedContainers, r.NumReservedContainers = &used, &reserved
	r.UsedResources, r.ReservedResources = convert.ToResource(u.Used, s.Types), convert.ToResource(u.Reserved, s.Types)
	r.NeededResources = convert.ToResource(u.Used.Add(u.Reserved), s.Types)
	return r
}

func count(n int) int32 { return int32(min(n, math.MaxInt32)) }

func (s *client) attemptReport(a *view.Application, t *view.Attempt) *pb.ApplicationAttemptReport {
	r := &pb.ApplicationAttemptReport{
		ApplicationAttemptId: convert.ToAttemptID(t.ID), Host: &t.Host, RpcPort: &t.RPCPort, Diagnostics: &t.Diagnostics,
		TrackingUrl: proto.String(s.Places.TrackingURL(a, t)), OriginalTrackingUrl: proto.String(s.Places.OriginalURL(a, t)),
		YarnApplicationAttemptState: convert.ToAttemptState(t.State), StartTime: &t.StartTime, FinishTime: &t.FinishTime,
	}
	if t.State == yarn.AttemptFailed || t.State == yarn.AttemptKilled {
		r.Host, r.RpcPort = proto.String(view.NotAvailable), proto.Int32(-1)
	}
	if !t.MasterContainer.IsZero() {
		r.AmContainerId = convert.ToContainerID(t.MasterContainer)
	}
	return r
}

func (s *client) containerReport(x *view.Container) *pb.ContainerReport {
	return &pb.ContainerReport{
		ContainerId: convert.ToContainerID(x.ID), Resource: convert.ToResource(x.Resource, s.Types), NodeId: convert.ToNodeID(x.Node),
		Priority: convert.ToPriority(x.Priority), CreationTime: &x.CreatedAt, FinishTime: proto.Int64(0),
		LogUrl:              proto.String("http://" + x.NodeHTTPAddress + "/node/containerlogs/" + x.ID.String() + "/" + x.User),
		ContainerExitStatus: proto.Int32(0), ContainerState: pb.ContainerState_C_RUNNING.Enum(),
		NodeHttpAddress: proto.String("http://" + x.NodeHTTPAddress), ExecutionType: convert.ToExecutionType(x.ExecutionType),
	}
}
