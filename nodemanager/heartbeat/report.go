package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// report sends heartbeats until the node is to register again. heard tells that one of them was taken.
func (r *Reporter) report(ctx context.Context) (heard bool, err error) {
	var last int32
	interval, missed := usualInterval, false
	for {
		select {
		case <-r.soon: // what it was for is in this one
		default:
		}
		out := &pb.NodeHeartbeatResponse{}
		err := r.call(ctx, "nodeHeartbeat", r.beat(last), out)
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return heard, ctx.Err()
		case final(err):
			return heard, err
		default:
			// The ResourceManager may have taken it all the same, and answer the next as a repetition.
			r.cfg.Log.Error("a heartbeat failed; it is repeated", "error", err)
			missed = true
			r.labels.unheard()
			if err := r.pause(ctx, interval, false); err != nil {
				return heard, err
			}
			continue
		}
		switch out.GetNodeAction() {
		case pb.NodeAction_SHUTDOWN:
			return heard, fmt.Errorf("%w: %s", ErrShutdown, out.GetDiagnosticsMessage())
		case pb.NodeAction_RESYNC:
			return heard, r.resync(ctx, out.GetDiagnosticsMessage())
		}
		last, heard = out.GetResponseId(), true
		if !missed {
			r.acknowledged()
		}
		missed = false
		if r.labels.sent {
			r.judged(out.GetAreNodeLabelsAcceptedByRM(), out.GetDiagnosticsMessage())
		}
		r.obey(out)
		if n := out.GetNextHeartBeatInterval(); n > 0 {
			interval = min(max(time.Duration(min(n, maxInterval.Milliseconds()))*time.Millisecond, minInterval), maxInterval)
		}
		if err := r.pause(ctx, interval, true); err != nil {
			return heard, err
		}
	}
}

// final tells whether a failed heartbeat is the last: nobody could be reached as long as the policy allows. An exception of the
// ResourceManager, or a connection that was lost on the way, is not.
func final(err error) bool {
	var remote *ipc.RemoteError
	var unreachable *ipc.ConnectError
	return errors.Is(err, ipc.ErrClosed) || errors.As(err, &unreachable) && !errors.As(err, &remote)
}

func (r *Reporter) resync(ctx context.Context, why string) error {
	r.issuer.Store(0)
	r.cfg.Log.Warn("the ResourceManager does not know the node any more; it registers again", "why", why)
	if r.cfg.Preserve {
		return nil
	}
	return r.killAll(ctx)
}

// pause waits for the next heartbeat's time, which may come early when something has ended.
func (r *Reporter) pause(ctx context.Context, interval time.Duration, early bool) error {
	timer := time.NewTimer(interval)
	defer timer.Stop()
	var soon <-chan struct{}
	if early && interval > hurry {
		quiet := time.NewTimer(hurry)
		defer quiet.Stop()
		select {
		case <-quiet.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		soon = r.soon
	}
	select {
	case <-soon:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (r *Reporter) beat(last int32) *pb.NodeHeartbeatRequest {
	c := &r.cfg
	status := &pb.NodeStatus{NodeId: convert.ToNodeID(c.Node), ResponseId: &last, NodeHealthStatus: health(c.Health())}
	views, room := c.Loop.Containers(), maxText
	for _, v := range views {
		status.ContainersStatuses = append(status.ContainersStatuses, r.status(v, &room))
	}
	status.IncreasedContainers = r.increased(views)
	status.OpportunisticContainersStatus = opportunistic(engine.Divide(views), c.QueueLength)
	containers, node := c.Usage()
	status.ContainersUtilization, status.NodeUtilization = utilization(containers), utilization(node)
	m := &pb.NodeHeartbeatRequest{NodeStatus: status}
	if container, node, ok := c.Keys.Current(); ok {
		m.LastKnownContainerTokenMasterKey, m.LastKnownNmTokenMasterKey = &pb.MasterKey{KeyId: &container}, &pb.MasterKey{KeyId: &node}
	}
	r.logs.add(time.Now(), c.Logs())
	m.LogAggregationReportsForApps = logReports(r.logs.waiting)
	m.NodeLabels = r.news()
	return m
}

// opportunistic is how opportunistic containers share what guaranteed ones leave.
// compat: memory is in GiB, rounded up, and nobody estimates how long a queue takes.
func opportunistic(d engine.Division, capacity int32) *pb.OpportunisticContainersStatus {
	queued, all := int32(d.QueuedOpportunistic), int32(d.QueuedOpportunistic+d.QueuedGuaranteed)
	running, memory, cores := int32(d.Running), (d.RunningMB+1023)>>10, int32(min(d.RunningVCores, math.MaxInt32))
	return &pb.OpportunisticContainersStatus{RunningOpportContainers: &running, OpportMemoryUsed: &memory, OpportCoresUsed: &cores,
		QueuedOpportContainers: &queued, WaitQueueLength: &all, OpportQueueCapacity: &capacity}
}

// increased lists the live containers that have become larger. The ResourceManager takes an increase back of which it does not
// hear in time.
func (r *Reporter) increased(views []*engine.View) (out []*pb.Container) {
	live := make(map[yarn.ContainerID]yarn.Resource, len(views))
	r.grown = map[yarn.ContainerID]yarn.Resource{}
	for _, v := range views {
		if v.Done() {
			continue
		}
		had, known := r.sizes[v.ID]
		switch {
		case known && had != v.Resource && had.FitsIn(v.Resource):
			r.grown[v.ID] = v.Resource
			live[v.ID] = had
			out = append(out, &pb.Container{Id: convert.ToContainerID(v.ID), NodeId: convert.ToNodeID(r.cfg.Node), Resource: convert.ToResource(v.Resource, r.cfg.Types),
				ExecutionType: convert.ToExecutionType(v.Execution), Version: &v.Version})
		default:
			live[v.ID] = v.Resource
		}
	}
	r.sizes = live
	return out
}

// acknowledged is called when the ResourceManager has certainly received the last heartbeat.
func (r *Reporter) acknowledged() {
	r.logs.waiting = nil
	maps.Copy(r.sizes, r.grown)
}

func health(h Health) *pb.NodeHealthStatus {
	return &pb.NodeHealthStatus{IsNodeHealthy: &h.Healthy, HealthReport: &h.Report, LastHealthReportTime: &h.At}
}

func utilization(u Usage) *pb.ResourceUtilization {
	return &pb.ResourceUtilization{Pmem: proto.Int32(megabytes(u.PhysicalMB)), Vmem: proto.Int32(megabytes(u.VirtualMB)), Cpu: &u.CPU}
}

// megabytes fits an amount into a field. Virtual memory is often reserved in terabytes.
func megabytes(n int64) int32 { return int32(min(max(n, 0), math.MaxInt32)) }
