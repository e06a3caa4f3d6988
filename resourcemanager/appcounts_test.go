package resourcemanager

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
)

// appsOf are the counters of applications of a queue in /jmx.
func appsOf(w *world, queue string) string {
	name := "QueueMetrics"
	for i, part := range strings.Split(queue, ".") {
		name += fmt.Sprintf(",q%d=%s", i, part)
	}
	var doc struct{ Beans []map[string]any }
	if err := json.Unmarshal([]byte(w.page("/jmx?qry=Hadoop:service=ResourceManager,name="+name, 200)), &doc); err != nil || len(doc.Beans) != 1 {
		w.t.Fatalf("%s: %v, %v", name, err, doc)
	}
	return counters(doc.Beans[0], "AppsSubmitted", "AppsPending", "AppsRunning", "AppsCompleted", "AppsFailed", "AppsKilled")
}

func counters(from map[string]any, names ...string) string {
	out := ""
	for _, name := range names {
		out += fmt.Sprint(from[name], " ")
	}
	return strings.TrimSpace(out)
}

// TestRejectedAreNoneOfTheQueue: who is rejected counts nowhere, over JMX, REST and RPC alike; a refresh of the queues keeps what
// they have counted.
func TestRejectedAreNoneOfTheQueue(t *testing.T) {
	w := newWorld(t, `
		root.queues                  default,team,closed
		root.default.capacity        40
		root.team.capacity           40
		root.team.queues             a
		root.team.a.capacity         100
		root.team.a.maximum-applications 1
		root.closed.capacity         20
		root.closed.state            STOPPED
		maximum-am-resource-percent  1`, "yarn.admin.acl", operator)
	alice := w.as("alice")
	first := alice.submit(inQueue("root.team.a"))
	alice.reaches(first, pb.YarnApplicationState_ACCEPTED)
	for _, queue := range []string{"root.team.a", "closed", "nowhere", "team"} { // full, stopped, unknown, no leaf
		alice.reaches(alice.submit(inQueue(queue)), pb.YarnApplicationState_FAILED)
	}
	second := alice.submit()
	alice.reaches(second, pb.YarnApplicationState_ACCEPTED)
	must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(second)}, &pb.KillApplicationResponse{})
	alice.reaches(second, pb.YarnApplicationState_KILLED)
	check := func(when string) {
		t.Helper()
		// submitted, pending, running, completed, failed, killed
		for queue, want := range map[string]string{"root": "2 1 0 0 0 1", "root.default": "1 0 0 0 0 1", "root.team": "1 1 0 0 0 0",
			"root.team.a": "1 1 0 0 0 0", "root.closed": "0 0 0 0 0 0"} {
			if got := appsOf(w, queue); got != want {
				t.Errorf("%s, %s in /jmx: %s, want %s", when, queue, got, want)
			}
		}
		var doc struct{ ClusterMetrics map[string]any }
		if err := json.Unmarshal([]byte(w.page("/ws/v1/cluster/metrics", 200)), &doc); err != nil {
			t.Fatal(err)
		}
		if got := counters(doc.ClusterMetrics, "appsSubmitted", "appsPending", "appsRunning", "appsCompleted", "appsFailed", "appsKilled"); got != "2 1 0 0 0 1" {
			t.Errorf("%s, over REST: %s", when, got)
		}
		n := alice.queue("default").QueueStatistics
		if n.GetNumAppsSubmitted() != 1 || n.GetNumAppsKilled() != 1 || n.GetNumAppsFailed() != 0 || n.NumAppsCompleted == nil {
			t.Errorf("%s, over RPC: %v", when, n)
		}
	}
	until(t, "the kill in what readers see", func() bool { return appsOf(w, "root.default") == "1 0 0 0 0 1" })
	check("at first")
	must(w.admin(operator), "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	check("after a refresh")
}
