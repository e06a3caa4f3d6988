package ui

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// TestQueueState: a queue that takes no applications does not look like an idle one.
func TestQueueState(t *testing.T) {
	s := webtest.New()
	slow, _ := s.Tree.ByPath("root.prod.etl.slow")
	slow.State = queue.Draining
	body := get(serve(s, false), "/cluster/scheduler").Body.String()
	for _, want := range []string{`Queue: root.closed <strong class="closed">STOPPED</strong></span>`, `Queue: root.prod.etl.slow <strong class="closed">DRAINING</strong></span>`,
		`Queue: root.dev</span>`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestQueueBase: what stands beside a bar has the bar's base, and says so.
func TestQueueBase(t *testing.T) {
	s := webtest.New()
	body := get(serve(s, false), "/cluster/scheduler").Body.String()
	if !strings.Contains(body, `<span class="share">15.6% of the cluster</span>`) || !strings.Contains(body, "are of the cluster.") || strings.Contains(body, "% used") {
		t.Error("the text beside the bar is not the bar's")
	}
	s.Picture.Labels = &view.Labels{Known: []view.Label{{Name: "gpu"}}}
	body = get(serve(s, false), "/cluster/scheduler").Body.String()
	if !strings.Contains(body, `<span class="share">15.6% of the default partition</span>`) || !strings.Contains(body, "are of the default partition.") {
		t.Error("with partitions the bars are of the default one")
	}
}
