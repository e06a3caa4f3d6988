package client

import (
	"context"
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Attempt is the report on one try at running an application's master.
type Attempt struct {
	ID                  yarn.AttemptID
	State               string            // NEW, SUBMITTED, SCHEDULED, ALLOCATED_SAVING, ALLOCATED, LAUNCHED, FAILED, RUNNING …
	Master              *yarn.ContainerID // container of the master
	Host                *string
	RPCPort             int32
	TrackingURL         *string
	OriginalTrackingURL *string
	Diagnostics         *string
	StartTime           int64
	FinishTime          int64
}

// Container is the report on a container. Times are milliseconds since 1970.
type Container struct {
	ID              yarn.ContainerID
	Resource        Resource
	Node            *yarn.NodeID
	Priority        int32
	CreationTime    int64
	FinishTime      int64
	State           string // NEW, RUNNING, COMPLETE
	ExecutionType   string // GUARANTEED, OPPORTUNISTIC
	ExitStatus      int32
	LogURL          *string
	NodeHTTPAddress *string
	ExposedPorts    *string
	Diagnostics     *string
}

// Signal is what a container's process can be told.
type Signal int32

// The signals.
const (
	OutputThreadDump Signal = iota + 1
	GracefulShutdown
	ForcefulShutdown
)

var signalNames = []string{"", "OUTPUT_THREAD_DUMP", "GRACEFUL_SHUTDOWN", "FORCEFUL_SHUTDOWN"}

func (s Signal) String() string { return signalNames[s] }

// Signals are all of them, in the order of their numbers.
func Signals() []Signal { return []Signal{OutputThreadDump, GracefulShutdown, ForcefulShutdown} }

// ParseSignal is the signal with that upper-case name.
func ParseSignal(name string) (Signal, bool) {
	for _, s := range Signals() {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// Attempt reports on one attempt.
func (c *Client) Attempt(ctx context.Context, id yarn.AttemptID) (*Attempt, error) {
	out := &pb.GetApplicationAttemptReportResponse{}
	if err := c.user(ctx, "getApplicationAttemptReport", &pb.GetApplicationAttemptReportRequest{ApplicationAttemptId: toAttemptID(id)}, out); err != nil {
		return nil, err
	}
	if out.ApplicationAttemptReport == nil {
		return nil, fmt.Errorf("getApplicationAttemptReport: the ResourceManager sent no report on %s", id)
	}
	return fromAttempt(out.ApplicationAttemptReport), nil
}

// Attempts lists an application's attempts.
func (c *Client) Attempts(ctx context.Context, id yarn.ApplicationID) ([]*Attempt, error) {
	out := &pb.GetApplicationAttemptsResponse{}
	if err := c.user(ctx, "getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: toApplicationID(id)}, out); err != nil {
		return nil, err
	}
	return each(out.GetApplicationAttempts(), fromAttempt), nil
}

// FailAttempt makes an attempt fail, so that the application tries again.
func (c *Client) FailAttempt(ctx context.Context, id yarn.AttemptID) error {
	in := &pb.FailApplicationAttemptRequest{ApplicationAttemptId: toAttemptID(id)}
	return c.user(ctx, "failApplicationAttempt", in, &pb.FailApplicationAttemptResponse{})
}

// Container reports on one container.
func (c *Client) Container(ctx context.Context, id yarn.ContainerID) (*Container, error) {
	out := &pb.GetContainerReportResponse{}
	if err := c.user(ctx, "getContainerReport", &pb.GetContainerReportRequest{ContainerId: toContainerID(id)}, out); err != nil {
		return nil, err
	}
	if out.ContainerReport == nil {
		return nil, fmt.Errorf("getContainerReport: the ResourceManager sent no report on %s", id)
	}
	return fromContainer(out.ContainerReport), nil
}

// Containers lists the live containers of an attempt.
func (c *Client) Containers(ctx context.Context, id yarn.AttemptID) ([]*Container, error) {
	out := &pb.GetContainersResponse{}
	if err := c.user(ctx, "getContainers", &pb.GetContainersRequest{ApplicationAttemptId: toAttemptID(id)}, out); err != nil {
		return nil, err
	}
	return each(out.GetContainers(), fromContainer), nil
}

// SignalContainer has a container's process signalled by its node.
func (c *Client) SignalContainer(ctx context.Context, id yarn.ContainerID, s Signal) error {
	in := &pb.SignalContainerRequest{ContainerId: toContainerID(id), Command: pb.SignalContainerCommand(s).Enum()}
	return c.user(ctx, "signalToContainer", in, &pb.SignalContainerResponse{})
}

func fromAttempt(m *pb.ApplicationAttemptReport) *Attempt {
	a := &Attempt{
		ID: fromAttemptID(m.GetApplicationAttemptId()), State: trimPrefix(m.GetYarnApplicationAttemptState().String(), "APP_ATTEMPT_"),
		Host: m.Host, RPCPort: m.GetRpcPort(), TrackingURL: m.TrackingUrl, OriginalTrackingURL: m.OriginalTrackingUrl,
		Diagnostics: m.Diagnostics, StartTime: m.GetStartTime(), FinishTime: m.GetFinishTime(),
	}
	if m.AmContainerId != nil {
		id := fromContainerID(m.AmContainerId)
		a.Master = &id
	}
	return a
}

func fromContainer(m *pb.ContainerReport) *Container {
	c := &Container{
		ID: fromContainerID(m.GetContainerId()), Resource: fromResource(m.GetResource()), Priority: m.GetPriority().GetPriority(),
		CreationTime: m.GetCreationTime(), FinishTime: m.GetFinishTime(),
		State: trimPrefix(m.GetContainerState().String(), "C_"), ExecutionType: m.GetExecutionType().String(),
		ExitStatus: m.GetContainerExitStatus(), LogURL: m.LogUrl, NodeHTTPAddress: m.NodeHttpAddress,
		ExposedPorts: m.ExposedPorts, Diagnostics: m.DiagnosticsInfo,
	}
	if m.NodeId != nil {
		id := fromNodeID(m.NodeId)
		c.Node = &id
	}
	return c
}

func trimPrefix(s, prefix string) string { return strings.TrimPrefix(s, prefix) }
