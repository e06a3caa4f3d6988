package client

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
)

// ServiceStatus is a ResourceManager's part in high availability.
type ServiceStatus struct {
	State          string // initializing, active, standby, observer
	Ready          bool   // to become active
	NotReadyReason string
}

var haStates = map[pb.HAServiceState]string{
	pb.HAServiceState_INITIALIZING: "initializing", pb.HAServiceState_ACTIVE: "active",
	pb.HAServiceState_STANDBY: "standby", pb.HAServiceState_OBSERVER: "observer",
}

// HA tells whether the configuration names several ResourceManagers.
func (c *Client) HA() bool { return c.settings.HA }

// ServiceStatus asks one ResourceManager, active or not.
func (c *Client) ServiceStatus(ctx context.Context, t Target) (ServiceStatus, error) {
	out := &pb.GetServiceStatusResponse{}
	if err := c.check(ctx, t, "getServiceStatus", &pb.GetServiceStatusRequest{}, out); err != nil {
		return ServiceStatus{}, err
	}
	return ServiceStatus{haStates[out.GetState()], out.GetReadyToBecomeActive(), out.GetNotReadyReason()}, nil
}

// MonitorHealth fails if the ResourceManager calls itself unhealthy.
func (c *Client) MonitorHealth(ctx context.Context, t Target) error {
	return c.check(ctx, t, "monitorHealth", &pb.MonitorHealthRequest{}, &pb.MonitorHealthResponse{})
}

// check asks one ResourceManager, and waits for ha.failover-controller.cli-check.rpc-timeout.ms at most.
func (c *Client) check(ctx context.Context, t Target, method string, in, out proto.Message) error {
	limited, cancel := context.WithTimeout(ctx, c.settings.CheckTimeout)
	defer cancel()
	err := c.at(limited, t, haProtocol, method, in, out)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &Unreachable{Method: method, Targets: []Target{t}, Err: fmt.Errorf("no answer within %v", c.settings.CheckTimeout)}
	}
	return err
}

// TransitionToActive makes one ResourceManager active. forced is for an
// administrator who overrides automatic failover.
func (c *Client) TransitionToActive(ctx context.Context, t Target, forced bool) error {
	in := &pb.TransitionToActiveRequest{ReqInfo: stateChange(forced)}
	return c.at(ctx, t, haProtocol, "transitionToActive", in, &pb.TransitionToActiveResponse{})
}

// TransitionToStandby makes one ResourceManager a standby.
func (c *Client) TransitionToStandby(ctx context.Context, t Target, forced bool) error {
	in := &pb.TransitionToStandbyRequest{ReqInfo: stateChange(forced)}
	return c.at(ctx, t, haProtocol, "transitionToStandby", in, &pb.TransitionToStandbyResponse{})
}

func stateChange(forced bool) *pb.HAStateChangeRequestInfo {
	source := pb.HARequestSource_REQUEST_BY_USER
	if forced {
		source = pb.HARequestSource_REQUEST_BY_USER_FORCED
	}
	return &pb.HAStateChangeRequestInfo{ReqSource: source.Enum()}
}
