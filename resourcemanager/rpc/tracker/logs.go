package tracker

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
)

// MaxLogReports bounds the applications whose logs one request may tell of.
const MaxLogReports = 20_000

// logsField is log_aggregation_reports_for_apps of NodeHeartbeatRequestProto.
const logsField = 5

// heartbeatLogs finds what a heartbeat tells of logs. Most tell nothing, so
// only the outermost fields are walked over.
func heartbeatLogs(body []byte) ([]engine.LogReport, error) {
	var list []*pb.LogAggregationReport
	for len(body) > 0 {
		field, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(field, kind, body[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		if field == logsField && kind == protowire.BytesType {
			raw, _ := protowire.ConsumeBytes(body[n:])
			p := &pb.LogAggregationReport{}
			if err := rpc.Unmarshal(raw, p); err != nil {
				return nil, err
			}
			if list = append(list, p); len(list) > MaxLogReports {
				break
			}
		}
		body = body[n+size:]
	}
	return logReports(list)
}

// logReports checks what a node tells of applications' logs.
func logReports(list []*pb.LogAggregationReport) ([]engine.LogReport, error) {
	if len(list) > MaxLogReports {
		return nil, fmt.Errorf("logs of more than %d applications reported", MaxLogReports)
	}
	var out []engine.LogReport
	for _, p := range list {
		id, s := convert.ApplicationID(p.GetApplicationId()), p.GetLogAggregationStatus()
		if s < pb.LogAggregationStatus_LOG_NOT_START || s > pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE {
			return nil, fmt.Errorf("the logs of %s have the unknown state %d", id, s)
		}
		out = append(out, engine.LogReport{Application: id, Status: view.LogStatus(s)})
	}
	return out, nil
}
