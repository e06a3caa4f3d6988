package nodemanager

import (
	"io"
	"net/http"
	"testing"

	"github.com/heddle-project/heddle/internal/introspect/metricstest"
)

// TestMetricsOfApache: what a running NodeManager tells is what Apache's tells, but for what docs/metrics.md lists.
func TestMetricsOfApache(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, err := http.Get("http://" + w.daemon.ports.web.Addr().String() + "/jmx")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatal(r.Status, err)
	}
	metricstest.Compare(t, "..", "nodemanager", text)
}
