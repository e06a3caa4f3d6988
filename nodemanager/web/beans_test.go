package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/view"
)

// TestMetricNames: every name is one that dashboards for Hadoop know.
func TestMetricNames(t *testing.T) {
	text, err := os.ReadFile("../../test/compat/facts/metrics.tsv")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) > 3 && f[0] == "nodemanager" {
			known[f[2]+" "+f[3]] = true
		}
	}
	n := 0
	for _, b := range beans(view.Metrics{}) {
		for _, a := range b.Attributes {
			n++
			if !known[b.Type+" "+a.Name] {
				t.Errorf("%s has no %s", b.Type, a.Name)
			}
		}
	}
	if n < 40 {
		t.Errorf("only %d values", n)
	}
}

func TestMetricsAreTold(t *testing.T) {
	p := open(t, func(_ *Config, s *source) {
		s.metrics = view.Metrics{Launched: 7, AllocatedMB: 3000, CacheHitBytes: 3, CacheMissBytes: 1, NodeCPU: 1.5, ShuffleBytes: 9, OpportunisticMB: 1025, QueuedOpportunistic: 4}
	})
	for path, want := range map[string]string{
		"/jmx?get=Hadoop:service=NodeManager,name=NodeManagerMetrics::AllocatedGB":                   `"AllocatedGB" : 2`,
		"/jmx?get=Hadoop:service=NodeManager,name=NodeManagerMetrics::LocalizedCacheHitBytesRatio":   `"LocalizedCacheHitBytesRatio" : 75`,
		"/jmx?get=Hadoop:service=NodeManager,name=NodeManagerMetrics::NodeCpuUtilization":            `"NodeCpuUtilization" : 1.5`,
		"/jmx?get=Hadoop:service=NodeManager,name=NodeManagerMetrics::AllocatedOpportunisticGB":      `"AllocatedOpportunisticGB" : 2`,
		"/jmx?get=Hadoop:service=NodeManager,name=NodeManagerMetrics::ContainersOpportunisticQueued": `"ContainersOpportunisticQueued" : 4`,
		"/prom": "node_manager_metrics_containers_launched{context=\"yarn\",hostname=\"",
	} {
		if body := p.get(path, "").Body.String(); !strings.Contains(body, want) {
			t.Errorf("%s: %s", path, body)
		}
	}
	if body := p.get("/prom", "").Body.String(); !strings.Contains(body, "shuffle_metrics_shuffle_output_bytes") || strings.Contains(body, "NaN") {
		t.Error(body)
	}
}

// Every metric of nodes that dashboards and alerts name is in /prom.
func TestDashboards(t *testing.T) {
	told := open(t, func(*Config, *source) {}).get("/prom", "").Body.String()
	files, err := filepath.Glob("../../deploy/[gp]r*/*")
	if err != nil || len(files) < 5 {
		t.Fatalf("%v %v", files, err)
	}
	names := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range regexp.MustCompile(`\b(?:node_manager|shuffle)_metrics_[a-z_]+\b`).FindAllString(string(text), -1) {
			if names++; !strings.Contains(told, "\n# TYPE "+name+" ") {
				t.Errorf("%s names %s, which no NodeManager has", file, name)
			}
		}
	}
	if names < 20 {
		t.Errorf("only %d metrics are named", names)
	}
}
