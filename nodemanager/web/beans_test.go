package web

import (
	"os"
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
