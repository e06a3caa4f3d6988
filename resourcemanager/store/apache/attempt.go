package apache

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// noCredentials is a stream of credentials without any, which is what an attempt has
// when security is off.
const noCredentials = "HDTS\x00\x00\x00"

func (c Codec) encodeAttempt(r state.Attempt) ([]byte, error) {
	for _, amounts := range []yarn.Resource{r.MasterResource, r.UsageSeconds, r.PreemptedUsage} {
		if err := c.fits(amounts); err != nil {
			return nil, err
		}
	}
	m := &pb.StoredAttempt{AttemptId: convert.ToAttemptID(r.ID), AppAttemptTokens: []byte(noCredentials), AppAttemptState: numberOf(attemptStates, r.Final),
		Diagnostics: &r.Diagnostics, StartTime: &r.StartTime, FinishTime: &r.FinishTime, AmContainerExitStatus: &r.ExitStatus,
		MemorySeconds: &r.UsageSeconds[yarn.Memory], VcoreSeconds: &r.UsageSeconds[yarn.VCores],
		PreemptedMemorySeconds: &r.PreemptedUsage[yarn.Memory], PreemptedVcoreSeconds: &r.PreemptedUsage[yarn.VCores],
		ApplicationResourceUsageMap: c.toMap(r.UsageSeconds), PreemptedResourceUsageMap: c.toMap(r.PreemptedUsage),
		TotalAllocatedContainers: proto.Int32(clip32(r.TotalContainers))}
	if r.Final != yarn.AttemptNew || r.FinalStatus != yarn.FinalUndefined {
		m.FinalApplicationStatus = proto.Int32(int32(r.FinalStatus))
	}
	if r.TrackingURL != "" {
		m.FinalTrackingUrl = &r.TrackingURL
	}
	if r.Host != "" {
		m.Host = &r.Host
	}
	if r.RPCPort != 0 {
		m.RpcPort = &r.RPCPort
	}
	if r.TotalContainers > math.MaxInt32 {
		m.Containers = &r.TotalContainers
	}
	if !r.MasterContainer.IsZero() {
		m.MasterContainer = &pb.Container{Id: convert.ToContainerID(r.MasterContainer), NodeId: convert.ToNodeID(r.MasterNode), NodeHttpAddress: &r.MasterHTTP,
			Resource: convert.ToResource(r.MasterResource, c.Types), Priority: &pb.Priority{Priority: &r.MasterPriority}}
	} else {
		if r.MasterNode != (yarn.NodeID{}) {
			m.MasterNode = convert.ToNodeID(r.MasterNode)
		}
		if r.MasterHTTP != "" {
			m.MasterHttp = &r.MasterHTTP
		}
	}
	return marshal(m, r.Unknown)
}

func (c Codec) decodeAttempt(value []byte) (r state.Attempt, err error) {
	m := &pb.StoredAttempt{}
	if err := unmarshal(value, m); err != nil {
		return r, err
	}
	if m.AttemptId == nil {
		return r, errors.New("an attempt without an id")
	}
	r = state.Attempt{ID: convert.AttemptID(m.AttemptId), Host: m.GetHost(), RPCPort: m.GetRpcPort(), TrackingURL: m.GetFinalTrackingUrl(),
		StartTime: m.GetStartTime(), FinishTime: m.GetFinishTime(), Final: attemptStates[m.GetAppAttemptState()],
		FinalStatus: yarn.FinalStatus(m.GetFinalApplicationStatus()), ExitStatus: yarn.ExitInvalid, Diagnostics: m.GetDiagnostics(),
		TotalContainers: max(int64(m.GetTotalAllocatedContainers()), m.GetContainers())}
	if status := m.GetFinalApplicationStatus(); status < 0 || status > int32(yarn.FinalEnded) {
		return r, fmt.Errorf("final status %d is not known", status)
	}
	if m.AmContainerExitStatus != nil {
		r.ExitStatus = m.GetAmContainerExitStatus()
	}
	if err := c.takeMaster(m, &r); err != nil {
		return r, err
	}
	m.ApplicationResourceUsageMap = c.takeUsage(m.ApplicationResourceUsageMap, m.MemorySeconds, m.VcoreSeconds, &r.UsageSeconds)
	m.PreemptedResourceUsageMap = c.takeUsage(m.PreemptedResourceUsageMap, m.PreemptedMemorySeconds, m.PreemptedVcoreSeconds, &r.PreemptedUsage)
	left := &pb.StoredAttempt{MasterContainer: m.MasterContainer, ApplicationResourceUsageMap: m.ApplicationResourceUsageMap,
		PreemptedResourceUsageMap: m.PreemptedResourceUsageMap}
	if tokens := m.GetAppAttemptTokens(); len(tokens) > 0 && string(tokens) != noCredentials {
		left.AppAttemptTokens = tokens
	}
	left.ProtoReflect().SetUnknown(m.ProtoReflect().GetUnknown())
	r.Unknown, err = rest(left)
	return r, err
}

// takeMaster takes what is known of the master's container out of the message. A container without an id stays there as it is.
func (c Codec) takeMaster(m *pb.StoredAttempt, r *state.Attempt) error {
	x := m.MasterContainer
	if x == nil || convert.ContainerID(x.Id).IsZero() {
		r.MasterNode, r.MasterHTTP = convert.NodeID(m.MasterNode), m.GetMasterHttp()
		return nil
	}
	r.MasterContainer, r.MasterNode, r.MasterHTTP = convert.ContainerID(x.Id), convert.NodeID(x.NodeId), x.GetNodeHttpAddress()
	r.MasterPriority = x.GetPriority().GetPriority()
	var unknown []*pb.ResourceInformation
	if size := x.Resource; size != nil {
		known := &pb.Resource{Memory: size.Memory, VirtualCores: size.VirtualCores}
		for _, v := range size.ResourceValueMap {
			if c.Types.Index(v.GetKey()) >= 0 {
				known.ResourceValueMap = append(known.ResourceValueMap, v)
			} else {
				unknown = append(unknown, v)
			}
		}
		amount, err := convert.Resource(known, c.Types)
		if err != nil {
			return fmt.Errorf("its master's container: %w", err)
		}
		r.MasterResource = amount
		size.Memory, size.VirtualCores, size.ResourceValueMap = nil, nil, unknown
		x.Resource = filled(size)
	}
	x.Id, x.NodeId, x.NodeHttpAddress, x.Priority = nil, nil, nil, nil
	m.MasterContainer = filled(x)
	return nil
}

// toMap lists the amounts of all types.
func (c Codec) toMap(r yarn.Resource) (out []*pb.StringLongMap) {
	for i := range c.Types {
		out = append(out, &pb.StringLongMap{Key: &c.Types[i].Name, Value: proto.Int64(r[i])})
	}
	return out
}

// takeUsage reads amounts and returns those of types that the cluster does not have.
func (c Codec) takeUsage(list []*pb.StringLongMap, memory, cores *int64, to *yarn.Resource) (unknown []*pb.StringLongMap) {
	if memory != nil {
		to[yarn.Memory] = *memory
	}
	if cores != nil {
		to[yarn.VCores] = *cores
	}
	for _, x := range list {
		if i := c.Types.Index(x.GetKey()); i >= 0 {
			to[i] = x.GetValue()
		} else {
			unknown = append(unknown, x)
		}
	}
	return unknown
}
