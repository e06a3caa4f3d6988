package client

import (
	"time"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

func (s *client) report(c *ipc.Call, m *pb.GetApplicationReportRequest) {
	id := convert.ApplicationID(m.GetApplicationId())
	s.lookUp(c, view.Applications, func(v *loop.Views) {
		a := v.FindApplication(id)
		if a == nil {
			serve.Refuse(c, serve.ApplicationNotFound, "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
			return
		}
		r := s.reportFor(c.Caller, a)
		rpc.Compose(func(b []byte) []byte { return s.appendReport(b, 1, &r, time.Now().UnixMilli()) }, c.Reply)
	})
}

// viewable is the application with that id if the caller may view it. Otherwise it
// answers the call and returns nil.
func (s *client) viewable(c *ipc.Call, v *loop.Views, id yarn.ApplicationID) *view.Application {
	a := v.FindApplication(id)
	switch {
	case a == nil:
		serve.Refuse(c, serve.ApplicationNotFound, "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
	case !s.Access.MayView(c.Caller, a):
		serve.Refuse(c, serve.YarnException, "User %s does not have privilege to see this application %s", c.Caller.User, id)
	default:
		return a
	}
	return nil
}

func (s *client) attempts(c *ipc.Call, m *pb.GetApplicationAttemptsRequest) {
	s.withViews(c, view.Applications, func(v *loop.Views) {
		a := s.viewable(c, v, convert.ApplicationID(m.GetApplicationId()))
		if a == nil {
			return
		}
		out := serve.NewList(c)
		for _, t := range a.Attempts {
			if !out.Add(1, s.attemptReport(a, t)) {
				break
			}
		}
		out.Send()
	})
}

// findAttempt is the attempt with that id if the caller may view it. Otherwise it
// answers the call and returns nil.
func (s *client) findAttempt(c *ipc.Call, v *loop.Views, id yarn.AttemptID) (*view.Application, *view.Attempt) {
	a := s.viewable(c, v, id.Application)
	if a == nil {
		return nil, nil
	}
	for _, t := range a.Attempts {
		if t.ID == id {
			return a, t
		}
	}
	serve.Refuse(c, serve.AttemptNotFound, "ApplicationAttempt with id '%s' doesn't exist in RM.", id)
	return nil, nil
}

func (s *client) attempt(c *ipc.Call, m *pb.GetApplicationAttemptReportRequest) {
	s.lookUp(c, view.Applications, func(v *loop.Views) {
		if a, t := s.findAttempt(c, v, convert.AttemptID(m.GetApplicationAttemptId())); t != nil {
			serve.Answer(c, &pb.GetApplicationAttemptReportResponse{ApplicationAttemptReport: s.attemptReport(a, t)})
		}
	})
}

func (s *client) containers(c *ipc.Call, m *pb.GetContainersRequest) {
	s.withViews(c, view.Applications|view.Containers, func(v *loop.Views) {
		a, t := s.findAttempt(c, v, convert.AttemptID(m.GetApplicationAttemptId()))
		if t == nil {
			return
		}
		out := serve.NewList(c)
		for _, x := range v.Containers(a.ID).Of(t.ID) {
			if !out.Add(1, s.containerReport(x)) {
				break
			}
		}
		out.Send()
	})
}

func (s *client) container(c *ipc.Call, m *pb.GetContainerReportRequest) {
	id := convert.ContainerID(m.GetContainerId())
	s.lookUp(c, view.Applications|view.Containers, func(v *loop.Views) {
		a, t := s.findAttempt(c, v, id.Attempt)
		if t == nil {
			return
		}
		for _, x := range v.Containers(a.ID).Of(t.ID) {
			if x.ID == id {
				serve.Answer(c, &pb.GetContainerReportResponse{ContainerReport: s.containerReport(x)})
				return
			}
		}
		serve.Refuse(c, serve.ContainerNotFound, "Container with id '%s' doesn't exist in RM.", id)
	})
}

func (s *client) metrics(c *ipc.Call, _ *pb.GetClusterMetricsRequest) {
	s.withViews(c, view.Counts, func(v *loop.Views) {
		m := v.Metrics()
		n := func(states ...yarn.NodeState) *int32 {
			var sum int32
			for _, st := range states {
				sum += int32(m.NodesByState[st])
			}
			return &sum
		}
		serve.Answer(c, &pb.GetClusterMetricsResponse{ClusterMetrics: &pb.YarnClusterMetrics{
			NumNodeManagers: n(yarn.NodeRunning), NumActiveNms: n(yarn.NodeRunning), NumDecommissionedNms: n(yarn.NodeDecommissioned),
			NumLostNms: n(yarn.NodeLost), NumUnhealthyNms: n(yarn.NodeUnhealthy), NumRebootedNms: n(yarn.NodeRebooted),
			NumDecommissioningNms: n(yarn.NodeDecommissioning), NumShutdownNms: n(yarn.NodeShutdown)}})
	})
}

// nodes lists the nodes in the named states; if none is named, all.
func (s *client) nodes(c *ipc.Call, m *pb.GetClusterNodesRequest) {
	var wanted [yarn.NodeShutdown + 1]bool
	for _, st := range m.GetNodeStates() {
		if st > 0 && int(st) < len(wanted) {
			wanted[st] = true
		}
	}
	s.withViews(c, view.Nodes, func(v *loop.Views) {
		out := serve.NewList(c)
		for _, n := range v.Nodes() {
			if len(m.GetNodeStates()) > 0 && !wanted[n.State] {
				continue
			}
			if !out.Append(func(b []byte) []byte { return rpc.AppendNodeReport(b, 1, n, s.Types) }) {
				break
			}
		}
		out.Send()
	})
}

func (s *client) resourceTypes(c *ipc.Call, _ *pb.GetAllResourceTypeInfoRequest) {
	serve.Answer(c, &pb.GetAllResourceTypeInfoResponse{ResourceTypeInfo: rpc.ToTypes(s.Types)})
}
