package rest_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// recordedAnswers reads what Apache answered over HTTP, from a set of recordings.
func recordedAnswers(t *testing.T, set string) (read func(file string) string) {
	t.Helper()
	recorded, err := golden.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	return func(file string) string {
		t.Helper()
		text, err := fs.ReadFile(recorded, "http/"+file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// TestRecordedFifoScheduler rebuilds from what Apache's FifoScheduler has answered what
// it was told of, and expects the same answers from it.
func TestRecordedFifoScheduler(t *testing.T) {
	read := recordedAnswers(t, "fifo")
	for _, moment := range []string{"empty-scheduler", "get-scheduler"} {
		var doc struct {
			Scheduler struct {
				SchedulerInfo struct {
					UsedCapacity                        float32
					MinQueueMemoryCapacity              int64
					MaxQueueMemoryCapacity              int64
					NumNodes                            int
					UsedNodeCapacity, AvailNodeCapacity int64
					TotalNodeCapacity                   int64
					NumContainers                       int32
					Type, Qstate                        string
					Capacity                            float32
				}
			}
		}
		if err := json.Unmarshal([]byte(read(moment+".json")), &doc); err != nil {
			t.Fatal(err)
		}
		is := &doc.Scheduler.SchedulerInfo
		s := webtest.New()
		s.Self.Scheduler = access.Fifo
		m := &s.Picture.Metrics
		m.Allocated, m.Available, m.Total = yarn.NewResource(is.UsedNodeCapacity, 0), yarn.NewResource(is.AvailNodeCapacity, 0), yarn.NewResource(is.TotalNodeCapacity, 0)
		m.NodesByState[yarn.NodeRunning] = is.NumNodes
		s.Picture.MinAllocation = yarn.NewResource(is.MinQueueMemoryCapacity, 1)
		s.Tree = queue.NewSnapshot([]queue.Info{{Path: "default", Name: "default", Leaf: true, MaxAllocation: yarn.NewResource(is.MaxQueueMemoryCapacity, 4),
			Default: queue.Share{AllocatedContainers: is.NumContainers}, Fifo: &queue.Fifo{UsedCapacity: is.UsedCapacity}}})
		h := serve(t, s, &webtest.Controller{})
		diff(t, moment, read(moment+".json"), get(h, "/scheduler", "application/json").Body.String())
		diff(t, moment+" in XML", read(moment+".xml.xml"), get(h, "/scheduler", "application/xml").Body.String())
	}
	s := webtest.New()
	s.Self.Scheduler = access.Fifo
	h := serve(t, s, &webtest.Controller{})
	for path, want := range map[string]string{
		"/metrics":            `"totalAllocatedContainersAcrossPartition":0,"crossPartitionMetricsAvailable":false`,
		"/scheduler-overview": `"schedulerType":"Fifo Scheduler"`,
	} {
		file := map[string]string{"/metrics": "get-metrics.json", "/scheduler-overview": "get-scheduler-overview.json"}[path]
		if got := get(h, path, "application/json").Body.String(); !strings.Contains(got, want) || !strings.Contains(read(file), want) {
			t.Errorf("%s: %s; Apache: %s", path, got, read(file))
		}
	}
}
