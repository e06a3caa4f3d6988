package tracker

import (
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// MaxLogReports bounds the reports on log aggregation in one request.
const MaxLogReports = 20_000

// logsField is log_aggregation_reports_for_apps of NodeHeartbeatRequestProto.
const logsField = 5

// heartbeatLogs reads a heartbeat's reports on log aggregation. Most heartbeats have
// none, so only the outermost fields are scanned.
func heartbeatLogs(body []byte) ([]engine.LogReport, error) {
	var list []*pb.LogAggregationReport
	f := field.Walk{Rest: body}
	for f.Next() && len(list) <= MaxLogReports {
		if f.Tag == logsField<<3|field.Block {
			p := &pb.LogAggregationReport{}
			if err := serve.Unmarshal(f.Data, p); err != nil {
				return nil, err
			}
			list = append(list, p)
		}
	}
	if f.Err != nil {
		return nil, f.Err
	}
	return logReports(list)
}

// logReports checks and converts reports on log aggregation.
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
		out = append(out, engine.LogReport{Application: id, Status: view.LogStatus(s), Diagnostics: p.GetDiagnostics()})
	}
	return out, nil
}
