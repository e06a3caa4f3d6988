package resourcemanager

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/pb"
)

const capacityPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."

// hasQueue tells whether a client sees the queue.
func (c caller) hasQueue(name string) bool {
	r, err := try(c, "getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String(name)}, &pb.GetQueueInfoResponse{})
	return err == nil && r.QueueInfo != nil
}

// A queue that was created on demand goes when it has been empty for its time,
// with the parents that were created for it, and not before.
func TestCreatedQueuesGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, `
		root.queues                                        default,teams
		root.default.capacity                              1w
		root.teams.capacity                                1w
		root.teams.auto-queue-creation-v2.enabled          true
		root.teams.auto-queue-creation-v2.template.acl_submit_applications *
		auto-queue-creation-v2.queue-expiration-time       1`,
		"yarn.resourcemanager.scheduler.monitor.enable", "true",
		"yarn.resourcemanager.scheduler.monitor.policies", capacityPackage+"AutoCreatedQueueDeletionPolicy")
	alice := w.as("alice")
	kept := alice.submit(unmanaged, inQueue("root.teams.kept"))
	gone := alice.submit(unmanaged, inQueue("root.teams.dev.gone"))
	alice.reaches(kept, pb.YarnApplicationState_ACCEPTED)
	alice.reaches(gone, pb.YarnApplicationState_ACCEPTED)
	id := alice.report(gone).ApplicationId
	if !alice.hasQueue("root.teams.dev.gone") {
		t.Fatal("the queue is not there")
	}
	killed := time.Now()
	must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: id}, &pb.KillApplicationResponse{})
	alice.reaches(gone, pb.YarnApplicationState_KILLED)
	until(t, "the end of the queue", func() bool { return !alice.hasQueue("root.teams.dev.gone") })
	if d := time.Since(killed); d < time.Second {
		t.Errorf("it was empty for %s only", d) // or went with its application
	}
	until(t, "the end of its parent", func() bool { return !alice.hasQueue("root.teams.dev") })
	if !alice.hasQueue("root.teams.kept") || !alice.hasQueue("root.teams") {
		t.Error("a queue with an application went, or one that is configured")
	}
	again := alice.submit(unmanaged, inQueue("root.teams.dev.gone"))
	alice.reaches(again, pb.YarnApplicationState_ACCEPTED)
}

// Monitors run only if they are switched on, as in Apache.
func TestNoMonitors(t *testing.T) {
	w := newWorld(t, twoQueues)
	if m := w.d.settings.Monitors; m.DeleteQueues || m.ShareOut {
		t.Errorf("monitors: %+v", m)
	}
}

// The guarantee below a managed parent goes to the next leaf when the first one
// has no application any more.
func TestGuaranteesAreSharedOut(t *testing.T) {
	w := newWorld(t, `
		root.queues                                        default,teams
		root.default.capacity                              50
		root.teams.capacity                                50
		root.teams.auto-create-child-queue.enabled         true
		root.teams.leaf-queue-template.capacity            100
		queue-mappings                                     u:%user:root.teams.%user`,
		"yarn.resourcemanager.scheduler.monitor.enable", "true",
		"yarn.resourcemanager.scheduler.monitor.policies", capacityPackage+"QueueManagementDynamicEditPolicy",
		"yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval", "20")
	w.newNode()
	first := w.as("alice").submit(unmanaged)
	second := w.as("bob").submit(unmanaged)
	w.as("alice").reaches(first, pb.YarnApplicationState_ACCEPTED)
	w.as("bob").reaches(second, pb.YarnApplicationState_ACCEPTED)
	share := func(user string) float32 { return w.as(user).queue("root.teams." + user).GetCapacity() }
	if a, b := share("alice"), share("bob"); a != 1 || b != 0 {
		t.Fatalf("alice's queue has %v, bob's %v", a, b)
	}
	must(w.as("alice"), "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: w.as("alice").report(first).ApplicationId}, &pb.KillApplicationResponse{})
	until(t, "the guarantee", func() bool { return share("bob") == 1 })
	if a := share("alice"); a != 0 {
		t.Errorf("alice's queue still has %v", a)
	}
}

// Shares are computed at once, in every period, and soon after nodes have come, however many.
func TestSharesAreComputed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, end := context.WithCancel(t.Context())
		began := time.Now()
		var at []int64
		s := newShares()
		post := func(c engine.Command) {
			if c != (engine.UpdateShares{Preempting: true}) {
				t.Errorf("%+v", c)
			}
			at = append(at, time.Since(began).Milliseconds())
		}
		done := make(chan struct{})
		go func() { defer close(done); s.update(ctx, post, 500*time.Millisecond, true) }()
		time.Sleep(1200 * time.Millisecond)
		for range 100 { // a node every millisecond
			s.soon()
			time.Sleep(time.Millisecond)
		}
		time.Sleep(700 * time.Millisecond)
		end()
		<-done
		if want := []int64{0, 500, 1000, 1250, 1300, 1350, 1850}; !slices.Equal(at, want) {
			t.Errorf("computed after %d ms, want %d", at, want)
		}
	})
}
