package scan

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var someContainer = yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1795315478047, Sequence: 26}, Attempt: 1}, Number: 7}

func encoded(m proto.Message) []byte {
	b, err := proto.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

// beat is a heartbeat with so many containers, as Hadoop's NodeManager sends it.
func beat(containers int) []byte {
	s := &pb.NodeStatus{NodeId: convert.ToNodeID(yarn.NodeID{Host: "127.0.3.4", Port: 45454}), ResponseId: proto.Int32(41),
		NodeHealthStatus:      &pb.NodeHealthStatus{IsNodeHealthy: proto.Bool(true), HealthReport: proto.String(""), LastHealthReportTime: proto.Int64(1795315478047)},
		ContainersUtilization: &pb.ResourceUtilization{Pmem: proto.Int32(900), Vmem: proto.Int32(2000), Cpu: proto.Float32(0.5)},
		NodeUtilization:       &pb.ResourceUtilization{Pmem: proto.Int32(1900), Vmem: proto.Int32(4000), Cpu: proto.Float32(1.5)}}
	for i := range containers {
		id := someContainer
		id.Number += int64(i)
		s.ContainersStatuses = append(s.ContainersStatuses, &pb.ContainerStatus{ContainerId: convert.ToContainerID(id), State: pb.ContainerState_C_RUNNING.Enum(),
			Diagnostics: proto.String(""), ExitStatus: proto.Int32(-1000), Capability: convert.ToResource(yarn.NewResource(1024, 1), types[:2]),
			ExecutionType: pb.ExecutionType_GUARANTEED.Enum()})
	}
	return encoded(&pb.NodeHeartbeatRequest{NodeStatus: s, LastKnownContainerTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(7), Bytes: make([]byte, 8)},
		LastKnownNmTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(9), Bytes: make([]byte, 8)}})
}

// ask is an allocate call with so many asks.
func ask(rows int) []byte {
	m := &pb.AllocateRequest{ResponseId: proto.Int32(41), Progress: proto.Float32(0.5)}
	for i := range rows {
		m.Ask = append(m.Ask, &pb.ResourceRequest{Priority: convert.ToPriority(int32(i)), ResourceName: proto.String("*"), NumContainers: proto.Int32(10),
			Capability: convert.ToResource(yarn.NewResource(1024, 1), types[:2]), RelaxLocality: proto.Bool(true), NodeLabelExpression: proto.String("")})
	}
	return encoded(m)
}

func TestBounds(t *testing.T) {
	var limit *LimitError
	var h Heartbeat
	if err := h.Scan(beat(4), types, 3); !errors.As(err, &limit) || limit.Max != 3 || limit.What != "containers" {
		t.Errorf("4 containers, 3 allowed: %v", err)
	}
	grown := encoded(&pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{IncreasedContainers: make([]*pb.Container, 4)}})
	if err := h.Scan(grown, types, 3); !errors.As(err, &limit) || limit.What != "increased containers" {
		t.Errorf("four increased containers of at most three: %v", err)
	}
	if err := h.Scan(beat(3), types, 3); err != nil || len(h.Containers) != 3 {
		t.Errorf("3 containers, 3 allowed: %v", err)
	}
	var a Allocate
	if err := a.Scan(ask(4), types, Bounds{Asks: 3}); !errors.As(err, &limit) || limit.What != "resource requests" {
		t.Errorf("4 asks, 3 allowed: %v", err)
	}
	black := encoded(&pb.AllocateRequest{BlacklistRequest: &pb.ResourceBlacklistRequest{BlacklistAdditions: []string{"a"}, BlacklistRemovals: []string{"b"}}})
	if err := a.Scan(black, types, Bounds{Blacklist: 1}); !errors.As(err, &limit) || limit.What != "blacklist entries" {
		t.Errorf("2 blacklist entries, 1 allowed: %v", err)
	}
	var s Submission
	three := encoded(&pb.ApplicationSubmissionContext{ApplicationName: proto.String("x"), AmContainerResourceRequest: slices.Repeat([]*pb.ResourceRequest{{ResourceName: proto.String("*")}}, 3)})
	if err := s.Scan(three, types, 3); err != nil || len(s.Asks) != 3 || s.AsksRefused != nil {
		t.Errorf("3 requests for the master's container, 3 allowed: %d, %v, %v", len(s.Asks), err, s.AsksRefused)
	}
	if err := s.Scan(three, types, 2); err != nil || len(s.Asks) != 2 || !errors.As(s.AsksRefused, &limit) || limit.Max != 2 || string(s.Name) != "x" {
		t.Errorf("3 requests for the master's container, 2 allowed: %d, %v, %v", len(s.Asks), err, s.AsksRefused)
	}
	if err := s.Scan(append(three, 0x8a, 0x01, 0x01, 0x0f), types, 2); err == nil {
		t.Error("a request beyond the bound that is none was taken")
	}
}

// TestRefused: what makes no sense in this cluster is told apart from what is malformed.
func TestRefused(t *testing.T) {
	capability := &pb.Resource{ResourceValueMap: []*pb.ResourceInformation{{Key: proto.String("fpga"), Value: proto.Int64(1)}}}
	m := &pb.AllocateRequest{Ask: []*pb.ResourceRequest{{ResourceName: proto.String("*"), Capability: capability}}}
	var a Allocate
	if err := a.Scan(encoded(m), types, many); err != nil || a.Refused == nil || !strings.Contains(a.Refused.Error(), `unknown resource "fpga"`) {
		t.Errorf("error %v, refused %v", err, a.Refused)
	}
	capability.ResourceValueMap[0] = &pb.ResourceInformation{Key: proto.String("memory-mb"), Value: proto.Int64(2), Units: proto.String("Gi")}
	if err := a.Scan(encoded(m), types, many); err != nil || a.Refused != nil || a.Asks[0].Capability.MemoryMB() != 2048 {
		t.Errorf("error %v, refused %v, asks %v", err, a.Refused, a.Asks)
	}
}

// A row keeps the difference between a label left out and an empty one.
func TestAsk(t *testing.T) {
	p := &pb.ResourceRequest{ResourceName: proto.String("*"), NumContainers: proto.Int32(3), Priority: convert.ToPriority(4), Capability: &pb.Resource{Memory: proto.Int64(8)},
		ExecutionTypeRequest: &pb.ExecutionTypeRequest{ExecutionType: pb.ExecutionType_OPPORTUNISTIC.Enum(), EnforceExecutionType: proto.Bool(true)}}
	want := yarn.Ask{Where: "*", Count: 3, Priority: 4, Capability: yarn.NewResource(8, 0), RelaxLocality: true, AllocationRequestID: -1, ExecutionType: yarn.Opportunistic, EnforceExecution: true}
	if got, refused, err := askOf(encoded(p), types); err != nil || refused != nil || got != want {
		t.Errorf("got %+v, want %+v (%v, %v)", got, want, refused, err)
	}
	p.NodeLabelExpression = proto.String("")
	if got, refused, err := askOf(encoded(p), types); err != nil || refused != nil || !got.LabelSet || got.Label != "" {
		t.Errorf("an empty label: %+v (%v, %v)", got, refused, err)
	}
	if _, refused, err := askOf(encoded(&pb.ResourceRequest{Priority: convert.ToPriority(9)}), types); err != nil || refused == nil || !strings.Contains(refused.Error(), "priority 9 names no place") {
		t.Errorf("a row without a place: %v, %v", refused, err)
	}
}

// TestAppend compares every piece with what the runtime writes.
func TestAppend(t *testing.T) {
	node := yarn.NodeID{Host: "node-7.example.com", Port: 45454}
	large := yarn.Resource{1 << 40, 1 << 33, -1}
	tok := token.Token{Identifier: bytes.Repeat([]byte("i"), 200), Password: []byte("p"), Kind: "ContainerToken", Service: "10.0.0.1:45454"}
	for name, c := range map[string]struct {
		got  []byte
		want proto.Message
	}{
		"container": {field.AppendContainerID(nil, 1, someContainer), &pb.Container{Id: convert.ToContainerID(someContainer)}},
		"node":      {field.AppendNodeID(nil, 2, node), &pb.Container{NodeId: convert.ToNodeID(node)}},
		"http":      {field.AppendText(nil, 3, "node:8042"), &pb.Container{NodeHttpAddress: proto.String("node:8042")}},
		"resource":  {field.AppendResource(nil, 4, large, types), &pb.Container{Resource: convert.ToResource(large, types)}},
		"priority":  {field.AppendPriority(nil, 5, -3), &pb.Container{Priority: convert.ToPriority(-3)}},
		"token": {AppendToken(nil, 6, tok), &pb.Container{ContainerToken: &pb.Token{Identifier: tok.Identifier, Password: tok.Password,
			Kind: &tok.Kind, Service: &tok.Service}}},
		"execution":   {AppendExecution(nil, 7, yarn.Opportunistic), &pb.Container{ExecutionType: pb.ExecutionType_OPPORTUNISTIC.Enum()}},
		"number":      {field.AppendInt(nil, 8, -1), &pb.Container{AllocationRequestId: proto.Int64(-1)}},
		"application": {field.AppendApplicationID(nil, 6, someContainer.Attempt.Application), &pb.NodeHeartbeatResponse{ApplicationsToCleanup: []*pb.ApplicationId{convert.ToApplicationID(someContainer.Attempt.Application)}}},
		"high number": {field.AppendInt(nil, 19, 300), &pb.NodeHeartbeatResponse{TokenSequenceNo: proto.Int64(300)}},
	} {
		if want := encoded(c.want); !bytes.Equal(c.got, want) {
			t.Errorf("%s: %x, want %x", name, c.got, want)
		}
	}
}

func BenchmarkHeartbeat(b *testing.B) {
	for name, n := range map[string]int{"0": 0, "5": 5, "20": 20} {
		raw := beat(n)
		b.Run(name, func(b *testing.B) {
			var h Heartbeat
			b.ReportAllocs()
			for b.Loop() {
				if err := h.Scan(raw, types, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAllocate(b *testing.B) {
	for name, n := range map[string]int{"0": 0, "1": 1, "10": 10} {
		raw := ask(n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var a Allocate
				if err := a.Scan(raw, types, many); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendContainer(b *testing.B) {
	tok := token.Token{Identifier: make([]byte, 180), Password: make([]byte, 20), Kind: "ContainerToken", Service: "10.0.0.1:45454"}
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = field.AppendContainerID(dst[:0], 1, someContainer)
		dst = field.AppendNodeID(dst, 2, yarn.NodeID{Host: "127.0.0.1", Port: 45454})
		dst = field.AppendResource(dst, 4, yarn.NewResource(1024, 1), types[:2])
		dst = AppendToken(dst, 6, tok)
	}
}
