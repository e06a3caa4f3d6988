package heartbeat

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
)

// register tells the ResourceManager of the node and of everything on it. No container starts meanwhile, because there is no
// issuer, so that it is told of all that there are.
func (r *Reporter) register(ctx context.Context) error {
	c := &r.cfg
	if err := c.Loop.Sync(ctx); err != nil {
		return fmt.Errorf("registration: %w", err)
	}
	m := &pb.RegisterNodeManagerRequest{NodeId: convert.ToNodeID(c.Node), HttpPort: &c.HTTPPort, Resource: convert.ToResource(c.Total, c.Types),
		NmVersion: proto.String(release.Hadoop), PhysicalResource: convert.ToResource(c.Physical, c.Types),
		NodeStatus: &pb.NodeStatus{NodeId: convert.ToNodeID(c.Node), ResponseId: proto.Int32(0), NodeHealthStatus: health(c.Health())}}
	room := maxText
	for _, v := range c.Loop.Containers() {
		m.ContainerStatuses = append(m.ContainerStatuses, r.described(v, &room))
	}
	for _, a := range c.Loop.Applications() {
		if a.State != engine.ApplicationFinished {
			m.RunningApplications = append(m.RunningApplications, convert.ToApplicationID(a.ID))
		}
	}
	m.LogAggregationReportsForApps = r.logs.again(time.Now())
	m.NodeLabels = r.label()
	out := &pb.RegisterNodeManagerResponse{}
	if err := r.call(ctx, "registerNodeManager", m, out); err != nil {
		return err
	}
	if out.GetNodeAction() == pb.NodeAction_SHUTDOWN {
		return fmt.Errorf("%w: it refused the registration of %s: %s", ErrShutdown, c.Node, out.GetDiagnosticsMessage())
	}
	if minimum := release.Minimum(c.MinimumVersion, "EqualToNM"); release.Older(out.GetRmVersion(), minimum) {
		return fmt.Errorf("%w: it is of release %q, and yarn.nodemanager.resourcemanager.minimum.version is %s", ErrShutdown, out.GetRmVersion(), minimum)
	}
	r.known.Store(true)
	r.takeKeys(out.GetContainerTokenMasterKey(), out.GetNmTokenMasterKey())
	r.issuer.Store(out.GetRmIdentifier())
	r.resize(out.GetResource())
	c.Log.Info("registered with the ResourceManager", "address", c.Group.Active(), "node", c.Node, "resource", c.Types.Format(c.Total),
		"containers", len(m.ContainerStatuses), "rm-version", out.GetRmVersion())
	if m.NodeLabels != nil {
		r.judged(out.GetAreNodeLabelsAcceptedByRM(), out.GetDiagnosticsMessage())
	}
	c.Registered()
	return nil
}

// described is a container as a registration describes it.
func (r *Reporter) described(v *engine.View, room *int) *pb.NMContainerStatus {
	s := r.status(v, room)
	return &pb.NMContainerStatus{ContainerId: s.ContainerId, ContainerState: s.State, Resource: s.Capability, Priority: convert.ToPriority(v.Spec.Priority),
		Diagnostics: s.Diagnostics, ContainerExitStatus: s.ExitStatus, CreationTime: &v.Spec.Created, NodeLabelExpression: &v.Spec.Label,
		Version: &v.Version, ExecutionType: s.ExecutionType, AllocationRequestId: &v.Spec.AllocationRequestID, AllocationTags: v.Spec.AllocationTags}
}

// status is a container as a message describes it that has room for so many more bytes of diagnostics.
func (r *Reporter) status(v *engine.View, room *int) *pb.ContainerStatus {
	s := container.Status(v, r.cfg.Types, r.cfg.Node.Host)
	if *room -= len(v.Text); *room < 0 {
		*room, s.Diagnostics = 0, nil
	}
	return s
}

// killAll ends the containers of a node that the ResourceManager has forgotten and does not want to take up again; it wants to
// hear of their ends at the next registration.
func (r *Reporter) killAll(ctx context.Context) error {
	r.cfg.Loop.Post(engine.KillAll{Exit: engine.KilledByRM, Why: "Container killed on resync with the ResourceManager"})
	deadline := time.Now().Add(maxKill)
	for {
		if err := r.cfg.Loop.Sync(ctx); err != nil {
			return err
		}
		live := 0
		for _, v := range r.cfg.Loop.Containers() {
			if !v.Done() {
				live++
			}
		}
		switch {
		case live == 0:
			return nil
		case time.Now().After(deadline):
			r.cfg.Log.Error("containers cannot be killed; the node registers with them", "containers", live)
			return nil
		}
		if err := r.pause(ctx, hurry, false); err != nil {
			return err
		}
	}
}
