package resourcemanager

import (
	"strings"
	"testing"
)

// Queues follow their file once it rests. A bad file changes nothing and is told of once.
func TestQueuesFollowTheirFile(t *testing.T) {
	t.Parallel()
	queues := func(first, second string) string {
		return strings.NewReplacer("root.default.capacity                    50", "root.default.capacity "+first, "root.other.capacity                      50", "root.other.capacity "+second).Replace(twoQueues) +
			"\n\tqueue.auto.refresh.monitoring-interval 3600000" // the test looks itself
	}
	w := newWorld(t, queues("50", "50"),
		"yarn.resourcemanager.scheduler.monitor.enable", "true",
		"yarn.resourcemanager.scheduler.monitor.policies", capacityPackage+"QueueConfigurationAutoRefreshPolicy")
	const taken, refused = "has been taken over", "is not taken over"
	look := func(times int, wantTaken, wantRefused int, capacity float32) {
		t.Helper()
		for range times {
			w.term().tendQueueFile(t.Context())
		}
		log := w.log.String()
		if a, b := strings.Count(log, taken), strings.Count(log, refused); a != wantTaken || b != wantRefused {
			t.Errorf("taken over %d times and refused %d times, want %d and %d: %s", a, b, wantTaken, wantRefused, log)
		}
		if got := w.as("alice").queue("root.default").GetCapacity(); got != capacity {
			t.Errorf("the capacity of root.default is %v, want %v", got, capacity)
		}
	}
	look(3, 0, 0, 0.5)
	w.writeQueues(queueFile(queues("30", "70")))
	look(1, 0, 0, 0.5) // it may still be being written
	look(3, 1, 0, 0.3)
	w.writeQueues(queueFile(queues("30", "700")))
	look(4, 1, 1, 0.3)
	w.writeQueues(queueFile(queues("40", "60")))
	look(3, 2, 1, 0.4)
}
