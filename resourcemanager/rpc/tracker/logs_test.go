package tracker

import (
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/pb"
)

func report(status pb.LogAggregationStatus) *pb.LogAggregationReport {
	return &pb.LogAggregationReport{ApplicationId: &pb.ApplicationId{Id: proto.Int32(7), ClusterTimestamp: proto.Int64(1)}, LogAggregationStatus: &status}
}

func TestHeartbeatTellsOfLogs(t *testing.T) {
	m := &pb.NodeHeartbeatRequest{LastKnownNmTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(1)},
		LogAggregationReportsForApps: []*pb.LogAggregationReport{report(pb.LogAggregationStatus_LOG_RUNNING), report(pb.LogAggregationStatus_LOG_SUCCEEDED)}}
	body, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	got, err := heartbeatLogs(body)
	if err != nil || len(got) != 2 || got[0].Application.String() != "application_1_0007" || got[0].Status != view.LogsRunning || got[1].Status != view.LogsSucceeded {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestHostileLogReportsAreRefused(t *testing.T) {
	cut, err := proto.Marshal(&pb.NodeHeartbeatRequest{LogAggregationReportsForApps: []*pb.LogAggregationReport{report(pb.LogAggregationStatus_LOG_RUNNING)}})
	if err != nil {
		t.Fatal(err)
	}
	unknown := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 99)
	var many []byte
	for range MaxLogReports + 2 {
		many = protowire.AppendBytes(protowire.AppendTag(many, logsField, protowire.BytesType), nil)
	}
	for name, body := range map[string][]byte{
		"cut":     cut[:len(cut)-1],
		"unknown": protowire.AppendBytes(protowire.AppendTag(nil, logsField, protowire.BytesType), unknown),
		"many":    many,
	} {
		if got, err := heartbeatLogs(body); err == nil {
			t.Errorf("%s: taken as %v", name, got)
		}
	}
}
