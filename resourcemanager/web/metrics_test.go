package web

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/answer"
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
	for _, b := range beans(context.Background(), source) {
		record, _, _ := strings.Cut(b.Type, ",")
		if seen[record]++; record == loopMetrics || record == allocationMetrics {
			continue
		}
		for _, a := range b.Attributes {
			if !names[record+" "+a.Name] {
				t.Errorf("%s has no %s", record, a.Name)
			}
		}
	}
	if seen["QueueMetrics"] < 3 || seen["ClusterMetrics"] != 1 || seen[loopMetrics] != 1 || seen["RMNMInfo"] != 1 {
		t.Errorf("%v", seen)
	}
}

func TestMetricValues(t *testing.T) {
	s := webtest.New()
	s.Tree.Queues[0].Counts.Submitted = 8
	s.Tree.Queues[1].Counts = queue.AppCounts{Submitted: 7, Completed: 3, Failed: 2, Killed: 1}
	s.Tree.Queues[1].Default.Reserved = yarn.NewResource(512, 1)
	s.Tree.Queues[1].Default.ReservedUsage = yarn.NewResource(-4096, -4)
	got := map[string]string{}
	for _, b := range beans(t.Context(), s) {
		for _, a := range b.Attributes {
			got[strings.TrimPrefix(b.Name, "Hadoop:service=ResourceManager,name=")+" "+a.Name] = fmt.Sprint(a.Value)
		}
	}
	m, leaf := s.Picture.Metrics, s.Tree.Queues[1]
	below := "QueueMetrics,q0=root,q1=" + leaf.Name
	for name, want := range map[string]string{
		"RMInfo State":                       strings.ToLower(s.Self.HAState),
		"ClusterMetrics CapabilityMB":        fmt.Sprint(m.Total.MemoryMB()),
		"QueueMetrics,q0=root AppsSubmitted": "8",
		"QueueMetrics,q0=root AppsRunning":   fmt.Sprint(m.Running),
		"QueueMetrics,q0=root tag.Queue":     "root",
		below + " AllocatedMB":               fmt.Sprint(leaf.Default.Used.MemoryMB() - 512),
		below + " ReservedMB":                "512",
		below + " AppsSubmitted":             "7",
		below + " AppsCompleted":             "3",
		below + " AppsFailed":                "2",
		below + " AppsKilled":                "1",
		below + " GuaranteedCapacity":        fmt.Sprint(leaf.Capacity.Default.Capacity),
	} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	if _, ok := got[below+" AggregateContainersAllocated"]; ok {
		t.Error("a counter that nobody keeps was told")
	}
	var nodes []map[string]any
	if err := json.Unmarshal([]byte(got["RMNMInfo LiveNodeManagers"]), &nodes); err != nil || len(nodes) == 0 || nodes[0]["NodeId"] == nil {
		t.Errorf("%v %v", nodes, err)
	}
	s.Err = answer.Errorf(answer.Unavailable, "not active")
	if n := len(beans(t.Context(), s)); n != 1 {
		t.Errorf("a standby tells %d beans", n)
	}
}
