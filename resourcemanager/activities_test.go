package resourcemanager

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/pb"
)

// Who waits is told of the limit that holds it; a node, of what an offer would do.
func TestActivities(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	alice := w.as("alice")
	small := alice.submit()
	n.launched().register()
	large := alice.submit(func(m *pb.ApplicationSubmissionContext) { m.Resource = size(8192, 1) })
	alice.reaches(large, pb.YarnApplicationState_ACCEPTED)
	for path, want := range map[string][]string{
		"activities":                            {`"nodeId":"` + n.id.String() + `"`, `"finalAllocationState":"SKIPPED"`, `"name":"root"`},
		"bulk-activities?activitiesCount=3":     {`{"bulkActivities":{"activities":[{"nodeId":"` + n.id.String()},
		"app-activities/" + large.String():      {`"queueName":"default"`, `"allocationState":"SKIPPED"`, `ApplicationMasters`, `maximum-am-resource-percent`},
		"app-activities/" + small.String():      {`"queueName":"default"`, `"allocationState":"SKIPPED","diagnostic":"`},
		"activities?nodeId=" + n.id.Host + ":1": {"Cannot find node manager with given node id"},
	} {
		got := w.page("/ws/v1/cluster/scheduler/"+path, 200)
		for _, x := range want {
			if !strings.Contains(got, x) {
				t.Errorf("%s: %s\nlacks %s", path, got, x)
			}
		}
	}
}
