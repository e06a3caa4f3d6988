package heartbeat

import (
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// LogReport is how far the collection of an application's logs has come.
type LogReport struct {
	Application yarn.ApplicationID
	Status      pb.LogAggregationStatus
	Text        string
}

// logBook holds the reports about log aggregation. The ResourceManager keeps them in memory only, so after each registration
// the last report about each recent application is sent again.
type logBook struct {
	waiting []LogReport // not acknowledged yet
	told    map[yarn.ApplicationID]toldLog
	keep    time.Duration // how long what was told is kept
}

type toldLog struct {
	LogReport
	at time.Time
}

func (b *logBook) add(now time.Time, reports []LogReport) {
	maps.DeleteFunc(b.told, func(_ yarn.ApplicationID, l toldLog) bool { return now.Sub(l.at) > b.keep })
	for _, l := range reports {
		if len(b.waiting) < maxReports {
			b.waiting = append(b.waiting, l)
		}
		if _, known := b.told[l.Application]; known || len(b.told) < maxReports {
			b.told[l.Application] = toldLog{l, now}
		}
	}
}

// again lists the last word about each application.
func (b *logBook) again(now time.Time) []*pb.LogAggregationReport {
	b.add(now, nil)
	var last []LogReport
	for _, id := range slices.SortedFunc(maps.Keys(b.told), yarn.ApplicationID.Compare) {
		last = append(last, b.told[id].LogReport)
	}
	return logReports(last)
}

func logReports(list []LogReport) (out []*pb.LogAggregationReport) {
	for _, l := range list {
		out = append(out, &pb.LogAggregationReport{ApplicationId: convert.ToApplicationID(l.Application), LogAggregationStatus: l.Status.Enum(),
			Diagnostics: proto.String(l.Text)})
	}
	return out
}
