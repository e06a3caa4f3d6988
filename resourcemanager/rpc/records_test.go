package rpc

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// A node's report has the bytes that the protobuf runtime writes, which leaves no field out and none in another place.
func TestNodeReport(t *testing.T) {
	types := yarn.BasicResourceTypes()
	seconds := func(n int32) *int32 { return &n }
	for state, update := range map[yarn.NodeState]pb.NodeUpdateType{
		yarn.NodeRunning: pb.NodeUpdateType_NODE_USABLE, yarn.NodeDecommissioning: pb.NodeUpdateType_NODE_DECOMMISSIONING,
		yarn.NodeLost: pb.NodeUpdateType_NODE_UNUSABLE, yarn.NodeUnhealthy: pb.NodeUpdateType_NODE_UNUSABLE,
	} {
		n := &view.Node{ID: yarn.NodeID{Host: "h1", Port: 45454}, HTTPAddress: "h1:8042", Rack: "/r", State: state, HealthReport: "ill\xff", LastHealth: 1 << 41,
			Used: yarn.NewResource(1024, 1), Total: yarn.NewResource(1<<40, 1<<20), Containers: 7, DrainTimeout: seconds(90),
			ContainersUse: view.Utilization{PhysicalMemoryMB: 3, VirtualMemoryMB: -1, CPU: 0.5}, NodeUse: view.Utilization{PhysicalMemoryMB: 300, VirtualMemoryMB: 400, CPU: 1.25}}
		if state == yarn.NodeRunning {
			n.Labels, n.DrainTimeout = []string{"gpu"}, seconds(-1)
		}
		amount := func(memory int64, cores int32) *pb.Resource {
			value := int64(cores)
			return &pb.Resource{Memory: &memory, VirtualCores: &cores, ResourceValueMap: []*pb.ResourceInformation{
				{Key: proto.String("memory-mb"), Value: &memory, Units: proto.String("Mi"), Type: pb.ResourceTypes_COUNTABLE.Enum()},
				{Key: proto.String("vcores"), Value: &value, Units: proto.String(""), Type: pb.ResourceTypes_COUNTABLE.Enum()}}}
		}
		r := &pb.NodeReport{NodeId: &pb.NodeId{Host: proto.String("h1"), Port: proto.Int32(45454)}, HttpAddress: proto.String("h1:8042"), RackName: proto.String("/r"),
			Used: amount(1024, 1), Capability: amount(1<<40, 1<<20), NumContainers: proto.Int32(7), NodeState: pb.NodeState(state).Enum(),
			HealthReport: proto.String("ill\xff"), LastHealthReportTime: proto.Int64(1 << 41), NodeLabels: n.Labels, NodeUpdateType: update.Enum(),
			ContainersUtilization: &pb.ResourceUtilization{Pmem: proto.Int32(3), Vmem: proto.Int32(-1), Cpu: proto.Float32(0.5)},
			NodeUtilization:       &pb.ResourceUtilization{Pmem: proto.Int32(300), Vmem: proto.Int32(400), Cpu: proto.Float32(1.25)}}
		if state != yarn.NodeRunning {
			r.DecommissioningTimeout = proto.Uint32(90)
		}
		want, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pb.AllocateResponse{UpdatedNodes: []*pb.NodeReport{r}})
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendNodeReport(nil, 6, n, types); !bytes.Equal(got, want) {
			t.Errorf("%s: the report is\n%x, and the protobuf runtime writes\n%x", state, got, want)
		}
	}
}
