package resourcemanager

import (
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// Everybody at once: submitters, readers, nodes and an administrator. What is
// looked for is a race, a call without an answer, and a count that is wrong
// afterwards.
func TestCrowd(t *testing.T) {
	const users, each, nodes, beats = 4, 15, 4, 40
	w := newWorld(t, twoQueues)
	var crowd sync.WaitGroup
	for range users {
		c := w.as("alice")
		crowd.Go(func() {
			for range each {
				id := c.submit(unmanaged)
				c.report(id)
				kill := &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)}
				for done := false; !done; {
					done = must(c, "forceKillApplication", kill, &pb.KillApplicationResponse{}).GetIsKillCompleted()
				}
			}
		})
	}
	for range nodes {
		n := w.newNode()
		crowd.Go(func() {
			for range beats {
				n.beat()
			}
			n.register(4096, 4)
			n.beat()
		})
	}
	reader, root := w.as("bob"), w.admin(operator)
	crowd.Go(func() {
		for range each {
			must(reader, "getApplications", &pb.GetApplicationsRequest{}, &pb.GetApplicationsResponse{})
			must(reader, "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{})
			reader.queue("root")
		}
	})
	crowd.Go(func() {
		for range each {
			must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
			must(root, "refreshNodes", &pb.RefreshNodesRequest{}, &pb.RefreshNodesResponse{})
		}
	})
	crowd.Wait()
	killed := must(reader, "getApplications", &pb.GetApplicationsRequest{ApplicationStates: []pb.YarnApplicationState{pb.YarnApplicationState_KILLED}, Limit: proto.Int64(1000)}, &pb.GetApplicationsResponse{}).Applications
	m := must(reader, "getClusterMetrics", &pb.GetClusterMetricsRequest{}, &pb.GetClusterMetricsResponse{}).ClusterMetrics
	if len(killed) != users*each || m.GetNumNodeManagers() != nodes {
		t.Errorf("%d killed applications and %d nodes, want %d and %d", len(killed), m.GetNumNodeManagers(), users*each, nodes)
	}
	if len(w.term().contexts.byID) != users*each {
		t.Errorf("%d contexts are kept for %d applications", len(w.term().contexts.byID), users*each)
	}
	for i, s := range w.d.servers {
		if s := s.Stats(); s.Panics != 0 || s.AnsweredTwice != 0 || s.InFlight != 0 {
			t.Errorf("port %d: %+v", i, s)
		}
	}
}

// Calls under way when the daemon stops are answered or cut off; none hangs.
func TestStopUnderLoad(t *testing.T) {
	w := newWorld(t, twoQueues)
	var crowd sync.WaitGroup
	started := make(chan struct{}, 64)
	for range 8 {
		c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "alice"}, Timeout: patience})
		t.Cleanup(func() { c.Close() })
		address := w.address(clientPort)
		crowd.Go(func() {
			for err, n := error(nil), 0; err == nil; n++ {
				if n == 5 {
					started <- struct{}{}
				}
				_, err = c.Call(t.Context(), address, protocols[2].name, "getClusterMetrics", nil)
			}
		})
	}
	for range 8 {
		<-started
	}
	w.d.Stop()
	crowd.Wait()
}
