package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/golden"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// known are the metrics of a ResourceManager of Hadoop 3.5.0: record and attribute.
func known(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("../../test/compat/facts/metrics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) > 3 && f[0] == "resourcemanager" {
			record, _, _ := strings.Cut(f[2], ",")
			out[record[strings.LastIndex(record, ".")+1:]+" "+f[3]] = true
		}
	}
	return out
}

// TestMetricNames: every name is one that dashboards for Hadoop know, but for those of the records of our own.
func TestMetricNames(t *testing.T) {
	names := known(t)
	if len(names) < 300 {
		t.Fatalf("only %d names", len(names))
	}
	seen := map[string]int{}
	source := webtest.New()
	source.Self.Allocations = &access.Allocations{}
	for _, b := range append(beans(context.Background(), source, nil), beans(context.Background(), webtest.NewFair(), nil)...) {
		record, _, _ := strings.Cut(b.Type, ",")
		if seen[record]++; record == loopMetrics || record == storeMetrics || record == allocationMetrics {
			continue
		}
		for _, a := range b.Attributes {
			if !names[record+" "+a.Name] {
				t.Errorf("%s has no %s", record, a.Name)
			}
		}
	}
	if seen["QueueMetrics"] < 3 || seen["ClusterMetrics"] != 2 || seen[loopMetrics] != 2 || seen["RMNMInfo"] != 2 {
		t.Errorf("%v", seen)
	}
}

func TestMetricValues(t *testing.T) {
	s := webtest.New()
	s.Tree.Queues[0].Counts.Submitted = 8
	s.Tree.Queues[1].Counts = queue.AppCounts{Submitted: 7, Completed: 3, Failed: 2, Killed: 1, Unmanaged: queue.AppEnds{Submitted: 6}}
	s.Tree.Queues[1].Default.Reserved = yarn.NewResource(512, 1)
	s.Tree.Queues[1].Default.ReservedUsage = yarn.NewResource(-4096, -4)
	s.Tallied = access.Tallies{Queues: map[string]access.QueueTally{s.Tree.Queues[1].Path: {Allocated: 5, Released: 2, NodeLocal: 1, RackLocal: 2, OffSwitch: 2,
		MasterAllocation: access.Timing{Count: 2, Total: 30 * time.Millisecond}}},
		Users: map[access.UserInQueue]access.UserTally{{Queue: s.Picture.Applications[3].Queue, User: "alice"}: {Submitted: 4, Killed: 1, QueueTally: access.QueueTally{Allocated: 3}},
			{Queue: "root.a:b", User: "eve,user=alice"}: {Submitted: 5}},
		MasterLaunch: access.Timing{Count: 4, Total: 10 * time.Millisecond}}
	got := map[string]string{}
	for _, b := range beans(t.Context(), s, nil) {
		for _, a := range b.Attributes {
			got[strings.TrimPrefix(b.Name, "Hadoop:service=ResourceManager,name=")+" "+a.Name] = fmt.Sprint(a.Value)
		}
	}
	m, leaf := s.Picture.Metrics, s.Tree.Queues[1]
	below := "QueueMetrics,q0=root,q1=" + leaf.Name
	path := strings.Split(s.Picture.Applications[3].Queue, ".")
	users := "QueueMetrics,q0=root,q1=" + strings.Join(path[1:], ",q2=") + ",user=alice"
	for name, want := range map[string]string{
		"RMInfo State":                                                             strings.ToLower(s.Self.HAState),
		"ClusterMetrics CapabilityMB":                                              fmt.Sprint(m.Total.MemoryMB()),
		"QueueMetrics,q0=root AppsSubmitted":                                       "8",
		"QueueMetrics,q0=root AppsRunning":                                         fmt.Sprint(m.Running),
		"QueueMetrics,q0=root tag.Queue":                                           "root",
		below + " AllocatedMB":                                                     fmt.Sprint(leaf.Default.Used.MemoryMB() - 512),
		below + " ReservedMB":                                                      "512",
		below + " AppsSubmitted":                                                   "7",
		below + " AggregateContainersAllocated":                                    "5",
		below + " AggregateContainersReleased":                                     "2",
		below + " AggregateNodeLocalContainersAllocated":                           "1",
		below + " AggregateRackLocalContainersAllocated":                           "2",
		below + " AggregateOffSwitchContainersAllocated":                           "2",
		below + " AppAttemptFirstContainerAllocationDelayNumOps":                   "2",
		below + " AppAttemptFirstContainerAllocationDelayAvgTime":                  "15",
		below + " UnmanagedAppsSubmitted":                                          "6",
		users + " AppsSubmitted":                                                   "4",
		`QueueMetrics,q0=root,q1="a:b",user="eve,user=alice" AppsSubmitted`:        "5",
		users + " AppsKilled":                                                      "1",
		users + " AppsRunning":                                                     "1",
		users + " AggregateContainersAllocated":                                    "3",
		users + " AllocatedMB":                                                     fmt.Sprint(s.Picture.Applications[3].Usage.Used.MemoryMB()),
		users + " tag.User":                                                        "alice",
		"ClusterMetrics AMLaunchDelayNumOps":                                       "4",
		"ClusterMetrics AMLaunchDelayAvgTime":                                      "2.5",
		"PartitionQueueMetrics,partition=,q0=root,q1=" + leaf.Name + " ReservedMB": "512",
		below + " AppsCompleted":                                                   "3",
		below + " AppsFailed":                                                      "2",
		below + " AppsKilled":                                                      "1",
		below + " GuaranteedCapacity":                                              fmt.Sprint(leaf.Capacity.Default.Capacity),
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	var nodes []map[string]any
	if err := json.Unmarshal([]byte(got["RMNMInfo LiveNodeManagers"]), &nodes); err != nil || len(nodes) == 0 || nodes[0]["NodeId"] == nil {
		t.Errorf("%v %v", nodes, err)
	}
	s.Err = answer.Errorf(answer.Unavailable, "not active")
	if n := len(beans(t.Context(), s, nil)); n != 1 {
		t.Errorf("a standby tells %d beans", n)
	}
}

// With high availability a standby tells who is active and why it is not.
func TestRoleBean(t *testing.T) {
	for _, active := range []bool{true, false} {
		d := access.Daemon{HAState: "STANDBY", Role: &access.Role{ID: "rm1", Since: 5, Why: "it has started", Actives: 2, Election: "STANDBY", Connected: true, Holder: "rm2"}}
		want := map[string]any{"Active": 0, "Since": int64(5), "Actives": int64(2), "Connected": 1, "Id": "rm1", "Why": "it has started", "Election": "STANDBY", "Holder": "rm2"}
		if active {
			d.HAState, want["Active"] = "ACTIVE", 1
		} else {
			d.Role.Copy = &access.Copy{Whole: true, Records: 7, Bytes: 70, Behind: 1}
			maps.Copy(want, map[string]any{"CopyWhole": 1, "CopyRecords": 7, "CopyBytes": int64(70), "CopyBehind": 1})
		}
		b := roleBean(&d)
		got := map[string]any{}
		for _, a := range b.Attributes {
			if _, asked := want[a.Name]; asked {
				got[a.Name] = a.Value
			}
		}
		if !maps.Equal(got, want) || b.Name != "Hadoop:service=ResourceManager,name=ElectionMetrics" {
			t.Errorf("%s: %v, want %v", b.Name, got, want)
		}
	}
}

// recordedBeans are those of an answer of Apache's /jmx, by name.
func recordedBeans(t *testing.T, set string) map[string]map[string]any {
	t.Helper()
	recorded, err := golden.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(recorded, "http/web-jmx.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Beans []map[string]any }
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, b := range doc.Beans {
		out[b["name"].(string)] = b
	}
	return out
}

// TestFairMetrics: a queue of the FairScheduler has the metrics that Apache's has, and no others; numbers without a limit look like Apache's.
func TestFairMetrics(t *testing.T) {
	s := webtest.NewFair()
	accepted := *s.Picture.Applications[4] // of root.dev, like the one that waits there
	accepted.ID = webtest.App(11)
	has := *accepted.Attempts[0]
	has.Master = &view.Master{MasterContainer: yarn.ContainerID{Attempt: yarn.AttemptID{Application: accepted.ID, Attempt: 1}, Number: 1}}
	accepted.Attempts = []*view.Attempt{&has}
	s.Picture.Applications = append(s.Picture.Applications, &accepted)
	root, dev := recordedBeans(t, "fair")["Hadoop:service=ResourceManager,name=QueueMetrics,q0=root"], recordedBeans(t, "fair")["Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=dev"]
	q, _ := s.Tree.ByPath("root.dev")
	q.Fair.AMLimit = yarn.NewResource(1024, 1) // as it was recorded
	seen := 0
	for _, b := range beans(t.Context(), s, nil) {
		want := map[string]map[string]any{"Hadoop:service=ResourceManager,name=QueueMetrics,q0=root": root, "Hadoop:service=ResourceManager,name=QueueMetrics,q0=root,q1=dev": dev}[b.Name]
		for _, a := range b.Attributes {
			if want == nil || b.Name == "" {
				continue
			}
			recorded, ok := want[a.Name]
			if !ok {
				t.Errorf("%s: Apache has no %s", b.Name, a.Name)
			}
			switch a.Name {
			case "AppsRunning", "AppsPending":
				if strings.HasSuffix(b.Name, "q1=dev") && fmt.Sprint(a.Value) != text(recorded) {
					t.Errorf("%s %s is %v, Apache's %s", b.Name, a.Name, a.Value, text(recorded))
				}
			case "AmResourceUsageMB", "AmResourceUsageVCores", "FairShareMB", "FairShareVCores", "MaxAMShareMB", "MaxAMShareVCores", "MaxShareMB", "MaxShareVCores",
				"MinShareMB", "MinShareVCores", "SteadyFairShareMB", "SteadyFairShareVCores", "tag.SchedulingPolicy":
				if seen++; fmt.Sprint(a.Value) != text(recorded) {
					t.Errorf("%s %s is %v, Apache's %s", b.Name, a.Name, a.Value, text(recorded))
				}
			}
		}
	}
	if seen != 26 {
		t.Errorf("%d of 26 metrics were compared", seen)
	}
}

func text(v any) string {
	if f, ok := v.(float64); ok {
		if f >= 1<<63 {
			return "9223372036854775807"
		}
		return fmt.Sprintf("%.0f", f)
	}
	return fmt.Sprint(v)
}

// TestOpportunisticMetrics: the record that Hadoop has only with opportunistic containers.
func TestOpportunisticMetrics(t *testing.T) {
	s := webtest.New()
	s.Picture.Metrics.Opportunistic = &view.Opportunistics{Allocated: 9, Released: 4, NodeLocal: 1, RackLocal: 2, OffSwitch: 3}
	got := map[string]string{}
	for _, b := range beans(t.Context(), s, nil) {
		if b.Type == "OpportunisticSchedulerMetrics" {
			for _, a := range b.Attributes {
				got[a.Name] = fmt.Sprint(a.Value)
			}
		}
	}
	want := map[string]string{"tag.OpportunisticSchedulerMetrics": "ResourceManager", "tag.Context": "yarn", "AllocatedOContainers": "5",
		"AggregateOContainersAllocated": "9", "AggregateOContainersReleased": "4", "AggregateNodeLocalOContainersAllocated": "1",
		"AggregateRackLocalOContainersAllocated": "2", "AggregateOffSwitchOContainersAllocated": "3"}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
