package resourcemanager

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/wire/pb"
)

// withZooKeeper has a pair keep its state in ZooKeeper.
func withZooKeeper() []string {
	return append(byElection("60000"), "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", "zookeeper")
}

// hasCopy waits until a standby has a copy of the state store.
func hasCopy(t *testing.T, w *world) {
	t.Helper()
	until(t, "a copy of the state store", func() bool {
		c := w.d.copyNow()
		return c != nil && c.Whole && c.Behind == 0
	})
}

// A standby takes over with the copy that it has, and whoever was active has one then.
func TestStandbyHasCopy(t *testing.T) {
	pair := newPairIn(t, zookeepertest.New(), withZooKeeper()...)
	active, standby := activeOf(t, pair)
	for range 3 {
		id := active.as("alice").submit(unmanaged)
		hasCopy(t, standby)
		if text := standby.page("/ws/v1/cluster/info", 200); !strings.Contains(text, `"heddleStandbyCopy":{"whole":true,"records":`) {
			t.Error(text)
		}
		if text := active.page("/ws/v1/cluster/info", 200); strings.Contains(text, "heddleStandbyCopy") {
			t.Error(text)
		}
		active.d.elector.Load().Yield("test")
		until(t, "the other one", func() bool { return standby.d.active() && !active.d.active() })
		standby.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED)
		if !strings.Contains(standby.log.String(), "ofCopy=true") {
			t.Error("the store was read though there was a copy")
		}
		active, standby = standby, active
	}
	if apps := must(active.as("alice"), "getApplications", &pb.GetApplicationsRequest{}, &pb.GetApplicationsResponse{}).Applications; len(apps) != 3 {
		t.Errorf("%d applications", len(apps))
	}
}

// Who fails to become active has a copy again.
func TestCopyAfterFailure(t *testing.T) {
	pair := newPairIn(t, zookeepertest.New(), withZooKeeper()...)
	active, standby := activeOf(t, pair)
	active.as("alice").submit(unmanaged)
	hasCopy(t, standby)
	standby.writeQueues("<configuration>")
	if err := standby.d.BecomeActive("test"); err == nil {
		t.Fatal("it is active")
	}
	hasCopy(t, standby)
}
