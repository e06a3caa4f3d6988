package scan

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

var (
	types = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}, {Name: "gpu", Units: "G"}}
	many  = Bounds{1 << 20, 1 << 20, 1 << 20, 1 << 20}
)

// looked lists the fields that the scanners look into. Of a schema with these
// alone, the protobuf runtime must take the same inputs as they do.
var looked = map[string][]protowire.Number{
	"NodeHeartbeatRequest": {1, 2, 3}, "NodeStatus": {1, 2, 3, 4, 5, 6, 7, 8, 9}, "Container": {1, 4}, "NodeId": {1, 2}, "MasterKey": {1},
	"ContainerStatus": {1, 2, 3, 4, 6}, "ContainerId": {2, 3}, "ApplicationAttemptId": {1, 2}, "ApplicationId": {1, 2},
	"NodeHealthStatus": {1, 2, 3}, "ResourceUtilization": {1, 2, 3}, "OpportunisticContainersStatus": {1, 2, 3, 4, 5, 6, 7},
	"AllocateRequest": {1, 2, 3, 4, 5, 7, 11}, "ResourceRequest": {1, 2, 3, 4, 5, 6, 7, 8}, "Priority": {1}, "Resource": {1, 2, 3},
	"ResourceInformation": {1, 2, 3}, "ExecutionTypeRequest": {1, 2}, "ResourceBlacklistRequest": {1, 2}, "UpdateContainerRequest": {1, 2, 3, 4, 5},
	"ApplicationSubmissionContext": {1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, "ContainerLaunchContext": {1, 2, 3, 4, 6},
	"ApplicationACLMap": {1, 2}, "ApplicationTimeoutMap": {1, 2}, "ReservationId": {1, 2}, "StringLocalResourceMap": nil, "StringBytesMap": nil,
	"StringStringMap": nil, "LogAggregationContext": nil,
}

// narrow is the schema of the fields in looked. Enumerations are plain numbers
// there, because the generated messages, too, take unknown values.
func narrow(t testing.TB, name string) protoreflect.MessageDescriptor {
	file := &descriptorpb.FileDescriptorProto{Name: proto.String("narrow.proto"), Package: proto.String("narrow")}
	for _, wide := range []protoreflect.FileDescriptor{pb.File_client_proto, pb.File_common_proto, pb.File_records_proto, pb.File_server_proto} {
		for _, m := range protodesc.ToFileDescriptorProto(wide).MessageType {
			if keep, ok := looked[m.GetName()]; ok {
				file.MessageType = append(file.MessageType, cut(m, keep))
			}
		}
	}
	fd, err := protodesc.NewFile(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fd.Messages().ByName(protoreflect.Name(name))
}

func cut(m *descriptorpb.DescriptorProto, keep []protowire.Number) *descriptorpb.DescriptorProto {
	out := &descriptorpb.DescriptorProto{Name: m.Name}
	for _, f := range m.Field {
		if !slices.Contains(keep, protowire.Number(f.GetNumber())) {
			continue
		}
		f = proto.CloneOf(f)
		f.DefaultValue = nil
		switch f.GetType() {
		case descriptorpb.FieldDescriptorProto_TYPE_ENUM:
			f.Type, f.TypeName = descriptorpb.FieldDescriptorProto_TYPE_INT32.Enum(), nil
		case descriptorpb.FieldDescriptorProto_TYPE_MESSAGE:
			last := f.GetTypeName()[bytes.LastIndexByte([]byte(f.GetTypeName()), '.')+1:]
			f.TypeName = proto.String(".narrow." + last)
		}
		out.Field = append(out.Field, f)
	}
	return out
}

// heartbeatOf is what the generated message says.
func heartbeatOf(m *pb.NodeHeartbeatRequest) Heartbeat {
	s := m.GetNodeStatus()
	id := convert.NodeID(s.GetNodeId())
	h := Heartbeat{Host: []byte(id.Host), Port: id.Port, ResponseID: s.GetResponseId(), HasHealth: s.GetNodeHealthStatus() != nil,
		Healthy: s.GetNodeHealthStatus().GetIsNodeHealthy(), HealthReport: []byte(s.GetNodeHealthStatus().GetHealthReport()),
		HealthAt:     s.GetNodeHealthStatus().GetLastHealthReportTime(),
		ContainerKey: m.GetLastKnownContainerTokenMasterKey().GetKeyId(), NodeKey: m.GetLastKnownNmTokenMasterKey().GetKeyId(),
		ContainersUse: utilizationOf(s.GetContainersUtilization()), NodeUse: utilizationOf(s.GetNodeUtilization())}
	if o := s.GetOpportunisticContainersStatus(); o != nil {
		h.Opportunistic = Opportunistic{Running: o.GetRunningOpportContainers(), Queued: o.GetQueuedOpportContainers(),
			MemoryMB: o.GetOpportMemoryUsed(), VCores: o.GetOpportCoresUsed(), Reported: true, Waiting: o.GetWaitQueueLength(),
			WaitMillis: o.GetEstimatedQueueWaitTime(), Capacity: o.GetOpportQueueCapacity()}
	}
	for _, p := range s.GetContainersStatuses() {
		h.Containers = append(h.Containers, ContainerStatus{ID: convert.ContainerID(p.GetContainerId()), State: int32(p.GetState()),
			ExitStatus: p.GetExitStatus(), Diagnostics: []byte(p.GetDiagnostics()), Execution: convert.ExecutionType(p.GetExecutionType())})
	}
	for _, p := range s.GetIncreasedContainers() {
		size, err := convert.Resource(p.GetResource(), types)
		h.Increased = append(h.Increased, Increased{ID: convert.ContainerID(p.GetId()), Resource: size, Refused: err})
	}
	for _, p := range s.GetKeepAliveApplications() {
		h.KeepAlive = append(h.KeepAlive, convert.ApplicationID(p))
	}
	return h
}

func utilizationOf(p *pb.ResourceUtilization) Utilization {
	return Utilization{p.GetPmem(), p.GetVmem(), p.GetCpu()}
}

func sameHeartbeat(a, b Heartbeat) bool {
	sameUse := func(x, y Utilization) bool {
		return x.PhysicalMemoryMB == y.PhysicalMemoryMB && x.VirtualMemoryMB == y.VirtualMemoryMB &&
			math.Float32bits(x.CPU) == math.Float32bits(y.CPU)
	}
	return string(a.Host) == string(b.Host) && a.Port == b.Port && a.ResponseID == b.ResponseID && a.HasHealth == b.HasHealth &&
		a.Healthy == b.Healthy && string(a.HealthReport) == string(b.HealthReport) && a.HealthAt == b.HealthAt &&
		sameUse(a.ContainersUse, b.ContainersUse) && sameUse(a.NodeUse, b.NodeUse) && a.Opportunistic == b.Opportunistic &&
		a.ContainerKey == b.ContainerKey && a.NodeKey == b.NodeKey && slices.Equal(a.KeepAlive, b.KeepAlive) &&
		slices.EqualFunc(a.Increased, b.Increased, func(x, y Increased) bool {
			return x.ID == y.ID && (x.Refused != nil) == (y.Refused != nil) && (x.Refused != nil || x.Resource == y.Resource)
		}) &&
		slices.EqualFunc(a.Containers, b.Containers, func(x, y ContainerStatus) bool {
			return x.ID == y.ID && x.State == y.State && x.ExitStatus == y.ExitStatus && string(x.Diagnostics) == string(y.Diagnostics) && x.Execution == y.Execution
		})
}

// askMessage is what a row of a request says as a generated message.
func askMessage(p *pb.ResourceRequest) (yarn.Ask, error) {
	capability, err := convert.Resource(p.GetCapability(), types)
	if err != nil {
		return yarn.Ask{}, err
	}
	a := yarn.Ask{
		Priority: p.GetPriority().GetPriority(), AllocationRequestID: p.GetAllocationRequestId(), Where: p.GetResourceName(),
		Capability: capability, Count: p.GetNumContainers(), RelaxLocality: p.GetRelaxLocality(),
		Label: p.GetNodeLabelExpression(), LabelSet: p.NodeLabelExpression != nil,
	}
	if e := p.GetExecutionTypeRequest(); e != nil {
		a.ExecutionType, a.EnforceExecution = convert.ExecutionType(e.GetExecutionType()), e.GetEnforceExecutionType()
	}
	if a.Where == "" {
		return a, fmt.Errorf("a resource request of priority %d names no place; ask for %q where any will do", a.Priority, yarn.AnyHost)
	}
	return a, nil
}

func askMessages(list []*pb.ResourceRequest) ([]yarn.Ask, error) {
	if len(list) == 0 {
		return nil, nil
	}
	out := make([]yarn.Ask, len(list))
	for i, p := range list {
		var err error
		if out[i], err = askMessage(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// allocateOf is what the generated message says.
func allocateOf(m *pb.AllocateRequest) Allocate {
	b := m.GetBlacklistRequest()
	a := Allocate{ResponseID: m.GetResponseId(), Progress: m.GetProgress(), TrackingURL: m.GetTrackingUrl(),
		Release: convert.ContainerIDs(m.GetRelease()), BlacklistAdd: b.GetBlacklistAdditions(), BlacklistRemove: b.GetBlacklistRemovals(),
		Constraints: len(m.GetSchedulingRequests())}
	a.Asks, a.Refused = askMessages(m.GetAsk())
	for _, u := range m.GetUpdateRequests() {
		capability, err := convert.Resource(u.GetCapability(), types)
		if err != nil {
			a.refuse(err)
		}
		a.Updates = append(a.Updates, yarn.ContainerUpdate{Container: convert.ContainerID(u.GetContainerId()), Version: u.GetContainerVersion(),
			Type: yarn.UpdateType(u.GetUpdateType()), Capability: capability, ExecutionType: convert.ExecutionType(u.GetExecutionType())})
	}
	return a
}

func sameAllocate(a, b Allocate) bool {
	if (a.Refused == nil) != (b.Refused == nil) {
		return false
	}
	return a.Refused != nil || a.ResponseID == b.ResponseID && math.Float32bits(a.Progress) == math.Float32bits(b.Progress) &&
		a.TrackingURL == b.TrackingURL && slices.Equal(a.Asks, b.Asks) && slices.Equal(a.Release, b.Release) &&
		slices.Equal(a.BlacklistAdd, b.BlacklistAdd) && slices.Equal(a.BlacklistRemove, b.BlacklistRemove) &&
		slices.Equal(a.Updates, b.Updates) && a.Constraints == b.Constraints
}

// checkHeartbeat compares the scanner with the runtime on any input.
func checkHeartbeat(t *testing.T, b []byte, schema protoreflect.MessageDescriptor) {
	var h Heartbeat
	err := h.Scan(b, types, 1<<20)
	if taken := proto.Unmarshal(b, dynamicpb.NewMessage(schema)); (err == nil) != (taken == nil) {
		t.Fatalf("%x: scanned with %v, the runtime says %v", b, err, taken)
	}
	var m pb.NodeHeartbeatRequest
	if proto.Unmarshal(b, &m) == nil {
		if err != nil {
			t.Fatalf("%x: refused: %v", b, err)
		}
		if want := heartbeatOf(&m); !sameHeartbeat(h, want) {
			t.Fatalf("%x:\nscanned %+v\nwant    %+v", b, h, want)
		}
	}
}

func checkAllocate(t *testing.T, b []byte, schema protoreflect.MessageDescriptor) {
	var a Allocate
	err := a.Scan(b, types, many)
	if taken := proto.Unmarshal(b, dynamicpb.NewMessage(schema)); (err == nil) != (taken == nil) {
		t.Fatalf("%x: scanned with %v, the runtime says %v", b, err, taken)
	}
	var m pb.AllocateRequest
	if proto.Unmarshal(b, &m) == nil {
		if err != nil {
			t.Fatalf("%x: refused: %v", b, err)
		}
		if want := allocateOf(&m); !sameAllocate(a, want) {
			t.Fatalf("%x:\nscanned %+v\nwant    %+v", b, a, want)
		}
	}
}

// submissionOf is what the generated message says.
func submissionOf(m *pb.ApplicationSubmissionContext) Submission {
	s := Submission{ID: convert.ApplicationID(m.GetApplicationId()), Name: []byte(m.GetApplicationName()), Queue: []byte(m.GetQueue()), Type: []byte(m.GetApplicationType()),
		Priority: m.GetPriority().GetPriority(), PrioritySet: m.GetPriority() != nil && m.GetPriority().Priority != nil, Launch: m.AmContainerSpec != nil,
		Tokens: m.GetAmContainerSpec().GetTokens(), Unmanaged: m.GetUnmanagedAm(), MaxAttempts: m.GetMaxAppAttempts(), KeepContainers: m.GetKeepContainersAcrossApplicationAttempts(),
		ValidityInterval: m.GetAttemptFailuresValidityInterval(), Reservation: convert.ReservationID(m.GetReservationId()), Label: []byte(m.GetNodeLabelExpression()), LabelSet: m.NodeLabelExpression != nil}
	for _, x := range m.GetAmContainerSpec().GetApplication_ACLs() {
		s.ACLs = append(s.ACLs, ACL{x.GetAccessType() == pb.ApplicationAccessType_APPACCESS_VIEW_APP, []byte(x.GetAcl())})
	}
	for _, x := range m.GetApplicationTags() {
		s.Tags = append(s.Tags, []byte(x))
	}
	for _, x := range m.GetApplicationTimeouts() {
		s.Timeouts = append(s.Timeouts, Timeout{x.GetApplicationTimeoutType() == pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME, x.GetTimeout()})
	}
	s.Sized = m.Resource != nil
	s.Size, s.SizeRefused = convert.Resource(m.GetResource(), types)
	s.Asks, s.AsksRefused = askMessages(m.GetAmContainerResourceRequest())
	return s
}

func sameSubmission(a, b Submission) bool {
	if a.SizeRefused != nil && b.SizeRefused != nil {
		a.Size, b.Size = yarn.Resource{}, yarn.Resource{}
	}
	if a.AsksRefused != nil && b.AsksRefused != nil {
		a.Asks, b.Asks = nil, nil
	}
	text := func(s Submission) string { // empty and missing are the same
		return fmt.Sprintf("%v %q %q %q %v %v %v %q %v %v %v %v %q %v %v %q %v %v %v %v", s.ID, s.Name, s.Queue, s.Type, s.Priority, s.PrioritySet, s.Launch, s.Tokens, s.ACLs, s.Unmanaged,
			s.MaxAttempts, s.KeepContainers, s.Tags, s.ValidityInterval, s.Reservation, s.Label, s.LabelSet, s.Timeouts, s.Size, s.Asks)
	}
	return (a.SizeRefused == nil) == (b.SizeRefused == nil) && (a.AsksRefused == nil) == (b.AsksRefused == nil) && text(a) == text(b)
}

func checkSubmission(t *testing.T, b []byte, schema protoreflect.MessageDescriptor) {
	s := Submission{ACLs: []ACL{{Text: words0}}, Tags: [][]byte{words0}, Timeouts: []Timeout{{Seconds: 7}}} // of another one that was read before
	err := s.Scan(b, types, 1<<20)
	if taken := proto.Unmarshal(b, dynamicpb.NewMessage(schema)); (err == nil) != (taken == nil) {
		t.Fatalf("%x: scanned with %v, the runtime says %v", b, err, taken)
	}
	var m pb.ApplicationSubmissionContext
	if proto.Unmarshal(b, &m) == nil {
		if err != nil {
			t.Fatalf("%x: refused: %v", b, err)
		}
		if want := submissionOf(&m); !sameSubmission(s, want) {
			t.Fatalf("%x:\nscanned %+v\nwant    %+v", b, s, want)
		}
	}
}

var words0 = []byte("before")

// message fills a message with random values, every field now and then.
func message(r *rand.Rand, m protoreflect.Message, depth int) protoreflect.Message {
	fs := m.Descriptor().Fields()
	for i := range fs.Len() {
		f := fs.Get(i)
		if f.Cardinality() != protoreflect.Required && (depth > 6 || r.IntN(3) == 0) {
			continue
		}
		switch {
		case f.IsList():
			for range r.IntN(3) {
				m.Mutable(f).List().Append(value(r, f, m.Mutable(f).List().NewElement(), depth))
			}
		default:
			m.Set(f, value(r, f, m.NewField(f), depth))
		}
	}
	return m
}

var words = []string{"", "*", "host-1", "memory-mb", "vcores", "gpu", "Mi", "Gi", "G", "N/A", "\xff\xfe"}

func value(r *rand.Rand, f protoreflect.FieldDescriptor, fresh protoreflect.Value, depth int) protoreflect.Value {
	n := int64(r.Uint64()) >> r.IntN(64)
	switch f.Kind() {
	case protoreflect.MessageKind:
		return protoreflect.ValueOfMessage(message(r, fresh.Message(), depth+1))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(r.IntN(6)))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n&1 == 0)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(words[r.IntN(len(words))])
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(words[r.IntN(len(words))]))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(math.Float32frombits(uint32(n)))
	default:
		return protoreflect.ValueOfInt32(int32(n))
	}
}

// spoil changes a message in a few places: parts doubled, moved, cut or overwritten.
func spoil(r *rand.Rand, b []byte) []byte {
	for range r.IntN(4) {
		if len(b) == 0 {
			return b
		}
		i, j := r.IntN(len(b)), r.IntN(len(b)+1)
		switch r.IntN(4) {
		case 0:
			b[i] = byte(r.Uint32())
		case 1:
			b = b[:j]
		case 2:
			b = append(b[:j:j], b...)
		default:
			b[i] ^= 1 << r.IntN(8)
		}
	}
	return b
}

// TestTwins compares scanners and runtime on whole messages, on two messages in
// a row, which merge, and on spoilt ones.
func TestTwins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	heartbeat, allocate, submission := narrow(t, "NodeHeartbeatRequest"), narrow(t, "AllocateRequest"), narrow(t, "ApplicationSubmissionContext")
	encode := func(m proto.Message) []byte {
		b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for range 4000 {
		h := encode(message(r, (&pb.NodeHeartbeatRequest{}).ProtoReflect(), 0).Interface())
		h2 := encode(message(r, (&pb.NodeHeartbeatRequest{}).ProtoReflect(), 0).Interface())
		a := encode(message(r, (&pb.AllocateRequest{}).ProtoReflect(), 0).Interface())
		a2 := encode(message(r, (&pb.AllocateRequest{}).ProtoReflect(), 0).Interface())
		s := encode(message(r, (&pb.ApplicationSubmissionContext{}).ProtoReflect(), 0).Interface())
		s2 := encode(message(r, (&pb.ApplicationSubmissionContext{}).ProtoReflect(), 0).Interface())
		checkSubmission(t, s, submission)
		checkSubmission(t, spoil(r, append(s, s2...)), submission)
		checkHeartbeat(t, h, heartbeat)
		checkAllocate(t, a, allocate)
		checkHeartbeat(t, spoil(r, append(h, h2...)), heartbeat)
		checkAllocate(t, spoil(r, append(a, a2...)), allocate)
	}
}

func FuzzHeartbeat(f *testing.F) {
	schema := narrow(f, "NodeHeartbeatRequest")
	f.Add(beat(3))
	f.Add([]byte{0x0b, 0x0c, 0x3b, 0x3c})
	f.Fuzz(func(t *testing.T, b []byte) { checkHeartbeat(t, b, schema) })
}

func FuzzAllocate(f *testing.F) {
	schema := narrow(f, "AllocateRequest")
	f.Add(ask(3))
	f.Add([]byte{0x3a, 0x02, 0x08, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) { checkAllocate(t, b, schema) })
}

func FuzzSubmission(f *testing.F) {
	schema := narrow(f, "ApplicationSubmissionContext")
	f.Add([]byte{0x2a, 0x02, 0x32, 0x00, 0x8a, 0x01, 0x00})
	f.Fuzz(func(t *testing.T, b []byte) { checkSubmission(t, b, schema) })
}
