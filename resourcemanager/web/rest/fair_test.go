package rest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// recordedFair is a queue of the FairScheduler as Apache has shown it.
type recordedFair struct {
	Type                                      string
	MaxApps                                   int32
	MinResources, MaxResources, UsedResources amount
	AMUsedResources, AMMaxResources           amount
	DemandResources                           amount
	SteadyFairResources, FairResources        amount
	ClusterResources, ReservedResources       amount
	MaxContainerAllocation                    amount
	PendingContainers, AllocatedContainers    int32
	ReservedContainers, NumPendingApps        int32
	NumActiveApps                             int32
	QueueName, SchedulingPolicy               string
	Preemptable                               bool
	ChildQueues                               struct{ Queue []recordedFair }
}

// snapshot is what must have been in the scheduler for this to be recorded.
func (r *recordedFair) snapshot(parent string) []queue.Info {
	used, reserved := r.UsedResources.resource(), r.ReservedResources.resource()
	q := queue.Info{Path: r.QueueName, Name: queue.Short(r.QueueName), Parent: parent, Leaf: r.Type == "fairSchedulerLeafQueueInfo",
		ActiveApps: r.NumActiveApps, PendingApps: r.NumPendingApps, MaxAllocation: r.MaxContainerAllocation.resource(),
		Default: queue.Share{Used: used.Add(reserved), Reserved: reserved, PendingContainers: r.PendingContainers,
			AllocatedContainers: r.AllocatedContainers, ReservedContainers: r.ReservedContainers},
		Fair: &queue.Fair{Policy: r.SchedulingPolicy, Demand: r.DemandResources.resource(), FairShare: r.FairResources.resource(),
			SteadyShare: r.SteadyFairResources.resource(), MinShare: r.MinResources.resource(), MaxShare: r.MaxResources.resource(), MaxApps: r.MaxApps,
			AMUsed: r.AMUsedResources.resource(), AMLimit: r.AMMaxResources.resource(), Preemptable: r.Preemptable}}
	var below []queue.Info
	for i := range r.ChildQueues.Queue {
		q.Children = append(q.Children, r.ChildQueues.Queue[i].QueueName)
		below = append(below, r.ChildQueues.Queue[i].snapshot(r.QueueName)...)
	}
	return append([]queue.Info{q}, below...)
}

// TestRecordedFairScheduler rebuilds from what Apache's FairScheduler has answered what it was told of, and expects the same answers from it.
func TestRecordedFairScheduler(t *testing.T) {
	read := recordedAnswers(t, "fair")
	for _, moment := range []string{"empty-scheduler", "get-scheduler"} {
		var doc struct {
			Scheduler struct {
				SchedulerInfo struct{ RootQueue recordedFair }
			}
		}
		if err := json.Unmarshal([]byte(read(moment+".json")), &doc); err != nil {
			t.Fatal(err)
		}
		root := &doc.Scheduler.SchedulerInfo.RootQueue
		s := webtest.New()
		s.Self.Scheduler = access.Fair
		s.Picture.Metrics.Total = root.ClusterResources.resource()
		s.Tree = queue.NewSnapshot(root.snapshot(""))
		unlimited, _ := s.Tree.ByPath("root.dev")
		unlimited.Fair.MaxShare = yarn.NewResource(1<<62, 1<<62) // it is shown as far as the cluster has it
		h := serve(t, s, &webtest.Controller{})
		diff(t, moment, read(moment+".json"), get(h, "/scheduler", "application/json").Body.String())
		diff(t, moment+" in XML", read(moment+".xml.xml"), get(h, "/scheduler", "application/xml").Body.String())
	}
	s := webtest.New()
	s.Self.Scheduler, s.Picture.MaxAppPriority = access.Fair, 0
	h := serve(t, s, &webtest.Controller{})
	diff(t, "overview", read("get-scheduler-overview.json"), get(h, "/scheduler-overview", "application/json").Body.String())
	const counts = `"totalAllocatedContainersAcrossPartition":0,"crossPartitionMetricsAvailable":false`
	if got := get(h, "/metrics", "application/json").Body.String(); !strings.Contains(got, counts) || !strings.Contains(read("get-metrics.json"), counts) {
		t.Errorf("/metrics: %s; Apache: %s", got, read("get-metrics.json"))
	}
	if w := get(h, "/apps?queue=nowhere&deSelects=x", "application/json"); w.Code != http.StatusOK || w.Body.String() != `{"apps":{}}` {
		t.Errorf("applications of a queue that is not there: %d %s", w.Code, w.Body)
	}
}

// TestReservationQueue: the queues of a plan are not shown.
func TestReservationQueue(t *testing.T) {
	s := webtest.New()
	s.Tree = queue.NewSnapshot([]queue.Info{
		{Path: "root", Name: "root", Children: []string{"root.plan"}, Fair: &queue.Fair{Preemptable: true}},
		{Path: "root.plan", Name: "plan", Parent: "root", Children: []string{"root.plan.r1"}, Fair: &queue.Fair{Plan: true, Preemptable: true}},
		{Path: "root.plan.r1", Name: "r1", Parent: "root.plan", Leaf: true, Fair: &queue.Fair{Preemptable: true}}})
	got := get(serve(t, s, &webtest.Controller{}), "/scheduler", "application/json").Body.String()
	if strings.Contains(got, "r1") || !strings.HasSuffix(got, `"queueName":"root.plan","schedulingPolicy":"","preemptable":false}]}}}}}`) {
		t.Error(got)
	}
}
