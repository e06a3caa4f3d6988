package resourcemanager

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// TestFindingsAreLogged starts with an odd queue file and refreshes with a
// refused one: the log says of each property where it stands and what to do.
func TestFindingsAreLogged(t *testing.T) {
	w := newWorld(t, twoQueues+`
	other.maximum-capacity                   80
	root.other.maximum-capcity               80`)
	for _, want := range []string{
		"level=WARN", "[missing-root] yarn.scheduler.capacity.other.maximum-capacity", "did you mean yarn.scheduler.capacity.root.other.maximum-capacity?",
		"[unknown-key] yarn.scheduler.capacity.root.other.maximum-capcity", "capacity-scheduler.xml:1:",
	} {
		if log := w.log.String(); !strings.Contains(log, want) {
			t.Errorf("no %q in the log of the start:\n%s", want, log)
		}
	}
	if log := w.log.String(); strings.Contains(log, "one application is let through") {
		t.Errorf("the start knows the cluster's size:\n%s", log)
	}
	w.newNode()
	w.writeQueues(queueFile(strings.Replace(twoQueues, "maximum-am-resource-percent              1", "maximum-am-resource-percent 0.01", 1)))
	if _, err := w.admin("root").raw("refreshQueues", &pb.RefreshQueuesRequest{}); err != nil {
		t.Fatal(err)
	}
	if log := w.log.String(); !strings.Contains(log, "on a cluster of 8192 MB the share for masters in root.other is 81 MB, and one takes at least 256") {
		t.Errorf("nothing about the masters' share in the log of the refresh:\n%s", log)
	}
	w.writeQueues(queueFile(strings.Replace(twoQueues, "root.other.capacity                      50", "root.other.capacity 40", 1)))
	if _, err := w.admin("root").raw("refreshQueues", &pb.RefreshQueuesRequest{}); err == nil {
		t.Error("queues with 90 percent were accepted")
	}
	if log := w.log.String(); !strings.Contains(log, "level=ERROR") || !strings.Contains(log, "add up to 90, not to 100") {
		t.Errorf("nothing about the sum in the log of the refresh:\n%s", log)
	}
}
