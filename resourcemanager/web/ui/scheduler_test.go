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

// TestHiddenQueues: the queues of a plan's reservations are on the page if its settings say so.
func TestHiddenQueues(t *testing.T) {
	s := webtest.New()
	etl, _ := s.Tree.ByPath("root.prod.etl")
	shown := func() bool {
		return strings.Contains(get(serve(s, false), "/cluster/scheduler").Body.String(), "Queue: root.prod.etl.slow")
	}
	if etl.Capacity.Plan = true; !shown() {
		t.Error("a queue of a plan is not shown")
	}
	if etl.Capacity.HidesQueues = true; shown() {
		t.Error("a hidden queue is shown")
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

// TestFairPage: bars and values of the FairScheduler's queues, one of which has a name that is out to do harm.
func TestFairPage(t *testing.T) {
	body := get(serve(webtest.NewFair(), false), "/cluster/scheduler").Body.String()
	for _, want := range []string{"are of all memory.", "Steady Fair Share (among all queues)",
		`aria-label="of all memory: fair share 50.0%, steady fair share 37.5%, used 62.5%, at least 0.0%, at most 75.0%"`,
		`<rect class="max" width="75.00%" height="100%"/><rect class="cap" width="50.00%" height="100%"/><rect class="used" y="3" width="50.00%" height="10"/>` +
			`<rect class="over" x="50.00%" y="3" width="12.50%" height="10"/><rect class="least" width="0.00%" y="0" height="3"/><rect class="steady" width="37.50%" height="100%"/>`,
		`<span class="share">62.5% of all memory</span>`,
		"<dt>Used Resources:</dt><dd>&lt;memory:1024, vCores:1&gt;</dd>", "<dt>Reserved Resources:</dt><dd>&lt;memory:1024, vCores:1&gt;</dd>",
		"<dt>Max Resources:</dt><dd>&lt;memory:8192, vCores:8&gt;</dd>", "<dt>Max Running Applications:</dt><dd>no limit</dd>", "<dt>Scheduling Policy:</dt><dd>FIFO</dd>",
		"<dt>Preempts for its fair share after:</dt><dd>1m0s below 50.0% of it</dd>", "<dt>Preempts for its minimum after:</dt><dd>never</dd>",
		"<dd>not deleted: the allocation file names it</dd>", "<dd>not named by the allocation file; not deleted yet: it has 1 application</dd>",
		"<dd>not named by the allocation file; it is empty and will be deleted</dd>",
		`Queue: root.users.&lt;script&gt;alert(1)&lt;/script&gt;\u202e`} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s", want)
		}
	}
	for _, never := range []string{"<script", "\u202e", "ZgotmplZ", "9223372036854775807", "Max Capacity"} {
		if strings.Contains(body, never) {
			t.Errorf("there is %q", never)
		}
	}
}
