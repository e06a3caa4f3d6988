package resourcemanager

import (
	"testing"

	"github.com/heddle-project/heddle/internal/introspect/metricstest"
)

// TestMetricsOfApache: what a running ResourceManager tells is what Apache's tells, but for what docs/metrics.md lists.
func TestMetricsOfApache(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	w.as("alice").submit()
	n.launched().register()
	fair, _ := newFairWorld(t, `<allocations><queue name="a"/></allocations>`)
	fair.newNode()
	fair.as("alice").submit()
	metricstest.Compare(t, "..", "resourcemanager", []byte(w.page("/jmx", 200)), []byte(fair.page("/jmx", 200)))
}
