package client

import (
	"context"
	"fmt"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Application is the ResourceManager's report on an application. Times are
// milliseconds since 1970, 0 for "not yet".
type Application struct {
	ID                  yarn.ApplicationID
	CurrentAttempt      yarn.AttemptID
	Name, Type          string
	User, Queue         string
	Tags                []string
	Priority            int32
	State               yarn.PublicState
	FinalStatus         yarn.FinalStatus
	Progress            float32 // 0 to 1
	StartTime           int64
	LaunchTime          int64
	FinishTime          int64
	TrackingURL         *string // through the proxy
	OriginalTrackingURL *string // as the master registered it
	Host                *string // of the master
	RPCPort             int32   // of the master; -1 if it has none
	Diagnostics         *string
	Usage               *Usage
	LogAggregation      string // DISABLED, NOT_START, RUNNING …; "" if unknown
	Unmanaged           bool
	NodeLabel           *string // expression of the application
	MasterNodeLabel     *string // expression of the master's container
	Timeouts            []Timeout
	ClusterID           *string
}

// Usage is what an application has and has had.
type Usage struct {
	UsedContainers, ReservedContainers int32
	Used, Reserved, Needed             Resource
	QueuePercentage, ClusterPercentage float32
	Seconds                            []Amount // memory-mb, vcores and others, each times seconds
	PreemptedSeconds                   []Amount
}

// Timeout is a limit on an application's life.
type Timeout struct {
	Type      string // LIFETIME
	Expiry    string // ISO 8601 with milliseconds, or UNLIMITED
	Remaining int64  // seconds; -1 for unlimited
}

// ApplicationFilter narrows a list; empty fields do not.
type ApplicationFilter struct {
	States []yarn.PublicState
	Types  []string // compared without regard to case
	Tags   []string // any of them
	Users  []string
	Queues []string
	Name   string
	Limit  int64 // 0: as many as there are
}

// NewApplication asks for an application id. It also tells the largest
// container that the cluster grants.
func (c *Client) NewApplication(ctx context.Context) (yarn.ApplicationID, Resource, error) {
	out := &pb.GetNewApplicationResponse{}
	err := c.user(ctx, "getNewApplication", &pb.GetNewApplicationRequest{}, out)
	return fromApplicationID(out.GetApplicationId()), fromResource(out.GetMaximumCapability()), err
}

// Application reports on one application.
func (c *Client) Application(ctx context.Context, id yarn.ApplicationID) (*Application, error) {
	out := &pb.GetApplicationReportResponse{}
	if err := c.user(ctx, "getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: toApplicationID(id)}, out); err != nil {
		return nil, err
	}
	if out.ApplicationReport == nil {
		return nil, fmt.Errorf("getApplicationReport: the ResourceManager sent no report on %s", id)
	}
	return fromApplication(out.ApplicationReport), nil
}

// Applications lists applications in the order that the ResourceManager sends them.
func (c *Client) Applications(ctx context.Context, f ApplicationFilter) ([]*Application, error) {
	in := &pb.GetApplicationsRequest{
		ApplicationTypes: f.Types,
		ApplicationStates: each(f.States, func(s yarn.PublicState) pb.YarnApplicationState {
			return pb.YarnApplicationState(s)
		}),
		Users: f.Users, Queues: f.Queues, ApplicationTags: f.Tags,
		Scope: pb.ApplicationsRequestScope_ALL.Enum(),
	}
	if f.Name != "" {
		in.Name = proto.String(f.Name)
	}
	in.Limit = proto.Int64(math.MaxInt64)
	if f.Limit > 0 {
		in.Limit = proto.Int64(f.Limit)
	}
	out := &pb.GetApplicationsResponse{}
	if err := c.user(ctx, "getApplications", in, out); err != nil {
		return nil, err
	}
	return each(out.GetApplications(), fromApplication), nil
}

// KillApplication asks for an application's end until the ResourceManager says
// that it is over and stored. diagnostics may be "".
func (c *Client) KillApplication(ctx context.Context, id yarn.ApplicationID, diagnostics string) error {
	in := &pb.KillApplicationRequest{ApplicationId: toApplicationID(id)}
	if diagnostics != "" {
		in.Diagnostics = proto.String(diagnostics)
	}
	return c.poll(ctx, fmt.Sprintf("application %s to be killed", id), func() (bool, error) {
		out := &pb.KillApplicationResponse{}
		err := c.user(ctx, "forceKillApplication", in, out)
		return out.GetIsKillCompleted(), err
	})
}

// poll repeats try at yarn.client.application-client-protocol.poll-interval-ms
// until it is done, fails, or poll-timeout-ms has passed.
func (c *Client) poll(ctx context.Context, what string, try func() (bool, error)) error {
	var limit <-chan time.Time
	if c.settings.PollTimeout >= 0 {
		timer := time.NewTimer(c.settings.PollTimeout)
		defer timer.Stop()
		limit = timer.C
	}
	tick := time.NewTicker(max(c.settings.PollInterval, time.Millisecond))
	defer tick.Stop()
	for {
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-limit:
			return fmt.Errorf("timed out after %v while waiting for %s (yarn.client.application-client-protocol.poll-timeout-ms)", c.settings.PollTimeout, what)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		}
	}
}

// MoveApplication moves an application to another queue.
func (c *Client) MoveApplication(ctx context.Context, id yarn.ApplicationID, queue string) error {
	in := &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: toApplicationID(id), TargetQueue: proto.String(queue)}
	return c.user(ctx, "moveApplicationAcrossQueues", in, &pb.MoveApplicationAcrossQueuesResponse{})
}

// UpdatePriority changes an application's priority and returns what it has
// now, which is lower than asked above the cluster's maximum.
func (c *Client) UpdatePriority(ctx context.Context, id yarn.ApplicationID, priority int32) (int32, error) {
	in := &pb.UpdateApplicationPriorityRequest{ApplicationId: toApplicationID(id), ApplicationPriority: &pb.Priority{Priority: proto.Int32(priority)}}
	out := &pb.UpdateApplicationPriorityResponse{}
	err := c.user(ctx, "updateApplicationPriority", in, out)
	return out.GetApplicationPriority().GetPriority(), err
}

// UpdateLifetime sets when an application is to be killed, as ISO 8601 with
// milliseconds and zone, and returns the time set, which the queue may limit.
func (c *Client) UpdateLifetime(ctx context.Context, id yarn.ApplicationID, expiry string) (string, error) {
	in := &pb.UpdateApplicationTimeoutsRequest{ApplicationId: toApplicationID(id),
		ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{{
			ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String(expiry)}}}
	out := &pb.UpdateApplicationTimeoutsResponse{}
	if err := c.user(ctx, "updateApplicationTimeouts", in, out); err != nil {
		return "", err
	}
	for _, t := range out.GetApplicationTimeouts() {
		if t.GetApplicationTimeoutType() == pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME {
			return t.GetExpireTime(), nil
		}
	}
	return "", fmt.Errorf("updateApplicationTimeouts: the ResourceManager did not answer with a lifetime for %s", id)
}

func fromApplication(m *pb.ApplicationReport) *Application {
	a := &Application{
		ID: fromApplicationID(m.GetApplicationId()), CurrentAttempt: fromAttemptID(m.GetCurrentApplicationAttemptId()),
		Name: m.GetName(), Type: m.GetApplicationType(), User: m.GetUser(), Queue: m.GetQueue(),
		Tags: m.GetApplicationTags(), Priority: m.GetPriority().GetPriority(),
		State: yarn.PublicState(m.GetYarnApplicationState()), FinalStatus: yarn.FinalStatus(m.GetFinalApplicationStatus()),
		Progress: m.GetProgress(), StartTime: m.GetStartTime(),
		LaunchTime: m.GetLaunchTime(), FinishTime: m.GetFinishTime(),
		TrackingURL: m.TrackingUrl, OriginalTrackingURL: m.OriginalTrackingUrl,
		Host: m.Host, RPCPort: m.GetRpcPort(), Diagnostics: m.Diagnostics, Unmanaged: m.GetUnmanagedApplication(),
		NodeLabel: m.AppNodeLabelExpression, MasterNodeLabel: m.AmNodeLabelExpression, ClusterID: m.RmClusterId,
		Usage: fromUsage(m.GetAppResource_Usage()),
	}
	if m.LogAggregationStatus != nil {
		a.LogAggregation = trimPrefix(m.GetLogAggregationStatus().String(), "LOG_")
	}
	for _, t := range m.GetAppTimeouts() {
		v := t.GetApplicationTimeout()
		a.Timeouts = append(a.Timeouts, Timeout{trimPrefix(v.GetApplicationTimeoutType().String(), "APP_TIMEOUT_"), v.GetExpireTime(), v.GetRemainingTime()})
	}
	return a
}

func fromUsage(m *pb.ApplicationResourceUsageReport) *Usage {
	if m == nil {
		return nil
	}
	amount := func(m *pb.StringLongMap) Amount { return Amount{Name: m.GetKey(), Value: m.GetValue()} }
	return &Usage{
		UsedContainers: m.GetNumUsedContainers(), ReservedContainers: m.GetNumReservedContainers(),
		Used: fromResource(m.GetUsedResources()), Reserved: fromResource(m.GetReservedResources()), Needed: fromResource(m.GetNeededResources()),
		QueuePercentage: m.GetQueueUsagePercentage(), ClusterPercentage: m.GetClusterUsagePercentage(),
		Seconds:          each(m.GetApplicationResourceUsageMap(), amount),
		PreemptedSeconds: each(m.GetApplicationPreemptedResourceUsageMap(), amount),
	}
}
