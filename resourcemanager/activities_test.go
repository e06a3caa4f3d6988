package resourcemanager

import (
	"net/http"
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

// A master that waits is told which share of masters is enough. With that it starts, as soon as the queues are refreshed.
func TestWhyHelps(t *testing.T) {
	const queues = `
		root.queues                      default
		root.default.capacity            100
		root.default.user-limit-factor   10
		root.default.maximum-am-resource-percent `
	w := newWorld(t, queues+"0.1")
	n := w.newNode()
	alice := w.as("alice")
	alice.submit()
	n.launched().register()
	waits := alice.submit(func(m *pb.ApplicationSubmissionContext) { m.Resource = size(1024, 1) })
	alice.reaches(waits, pb.YarnApplicationState_ACCEPTED)
	var x struct {
		Why struct {
			Waiting bool
			Since   int64
			Gates   struct {
				Gate []struct {
					Code, Text, Setting, Origin string
					Change                      []struct{ Name, Value string }
					Lacks                       struct{ MemoryMB int64 }
				}
			}
		}
	}
	w.web("GET", "apps/"+waits.String()+"/why", "", &x)
	if len(x.Why.Gates.Gate) != 1 || !x.Why.Waiting || x.Why.Since == 0 {
		t.Fatalf("%+v", x)
	}
	g := x.Why.Gates.Gate[0]
	const name = "yarn.scheduler.capacity.root.default.maximum-am-resource-percent"
	if g.Code != "queue-am-limit" || g.Setting != name || !strings.Contains(g.Origin, "capacity-scheduler.xml:") || len(g.Change) != 1 || g.Change[0].Name != name || g.Lacks.MemoryMB <= 0 {
		t.Fatalf("%+v", g)
	}
	w.tellsOfWaiting()
	w.writeQueues(queueFile(queues + g.Change[0].Value))
	must(w.admin(operator), "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	n.launched().register()
	alice.reaches(waits, pb.YarnApplicationState_RUNNING)
}

// tellsOfWaiting: somebody waits for the share of masters of root.default, whose headroom is told, too.
func (w *world) tellsOfWaiting() {
	w.t.Helper()
	var left struct {
		Headroom struct {
			Room []struct {
				Queue      string
				Largest    struct{ MemoryMB int64 }
				Containers int64
				Stop       struct{ Code, Text string }
			}
		}
	}
	w.web("GET", "headroom?user=alice", "", &left)
	if room := left.Headroom.Room; len(room) != 1 || room[0].Queue != "root.default" || room[0].Largest.MemoryMB <= 0 || room[0].Containers < 1 || room[0].Stop.Text == "" {
		w.t.Errorf("%+v", left)
	}
	var times struct {
		WaitingTimes struct {
			Wait []struct {
				Queue, User, Cause string
				Millis             int64
			}
		}
	}
	until(w.t, "waiting times are told", func() bool {
		w.web("GET", "waiting-times?by=user", "", &times)
		for _, x := range times.WaitingTimes.Wait {
			if x.Queue == "root.default" && x.User == "alice" && x.Cause == "queue-am-limit" && x.Millis > 0 {
				return true
			}
		}
		return false
	})
	if text := w.page("/prom", http.StatusOK); !strings.Contains(text, `wait_metrics_waited_millis{queue="root.default",cause="queue-am-limit",context="yarn",hostname="`) {
		w.t.Errorf("/prom has no waiting times:\n%s", text)
	}
}
