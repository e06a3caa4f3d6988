package resourcemanager

import (
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// share is what a queue is told to be entitled to in a partition.
func share(t *testing.T, q *pb.QueueInfo, partition string) *pb.QueueConfigurations {
	t.Helper()
	for _, m := range q.QueueConfigurationsMap {
		if m.GetPartitionName() == partition {
			return m.QueueConfigurations
		}
	}
	t.Fatalf("%s says nothing of the partition %q: %v", q.GetQueuePath(), partition, q.QueueConfigurationsMap)
	return nil
}

// TestMastersShareIsTold: of each queue and partition, parents included, as it is configured.
func TestMastersShareIsTold(t *testing.T) {
	w := newWorld(t, `
		root.queues                                              all,some
		root.accessible-node-labels.gpu.capacity                 100
		root.accessible-node-labels.ssd.capacity                 100
		root.all.capacity                                        50
		root.all.accessible-node-labels.gpu.capacity             50
		root.all.accessible-node-labels.ssd.capacity             100
		root.all.maximum-am-resource-percent                     0.25
		root.some.capacity                                       50
		root.some.accessible-node-labels                         gpu
		root.some.accessible-node-labels.gpu.capacity            50
		root.some.accessible-node-labels.gpu.maximum-am-resource-percent 0.75
		maximum-am-resource-percent                              0.4`, "yarn.node-labels.enabled", "true", "yarn.admin.acl", operator,
		"yarn.node-labels.fs-store.root-dir", "file://"+t.TempDir()+"/labels")
	must(w.admin(operator), "addToClusterNodeLabels", addLabels("gpu", "ssd"), &pb.AddToClusterNodeLabelsResponse{})
	w.newNode().register(8192, 8)
	alice := w.as("alice")
	until(t, "the labels in the queues", func() bool { return len(alice.queue("all").QueueConfigurationsMap) == 3 })
	for _, x := range []struct {
		queue, partition string
		want             float32
	}{
		{"root", "", 0.4}, {"root", "gpu", 0.4}, {"root", "ssd", 0.4}, // it has all labels, as all has
		{"all", "", 0.25}, {"all", "gpu", 0.25}, {"all", "ssd", 0.25},
		{"some", "", 0.4}, {"some", "gpu", 0.75},
	} {
		c := share(t, alice.queue(x.queue), x.partition)
		if c.MaxAMPercentage == nil || c.GetMaxAMPercentage() != x.want {
			t.Errorf("%s in %q: %v, want %v", x.queue, x.partition, c.MaxAMPercentage, x.want)
		}
	}
	if n := len(alice.queue("some").QueueConfigurationsMap); n != 2 {
		t.Errorf("some may use one label and tells of %d partitions", n)
	}
}

// TestTimesTold: the time of submission is left out, that of the launch is there, 0 before it.
func TestTimesTold(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	r := alice.report(alice.submit())
	if r.SubmitTime != nil {
		t.Errorf("a time of submission is told: %d", r.GetSubmitTime())
	}
	if r.GetStartTime() == 0 || r.LaunchTime == nil || r.GetLaunchTime() != 0 {
		t.Errorf("start %d, launch %v", r.GetStartTime(), r.LaunchTime)
	}
}
