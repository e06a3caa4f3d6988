package resourcemanager

import (
	"errors"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// restart ends the daemon and starts another one on the same store.
func (w *world) restart() {
	w.t.Helper()
	w.d.Stop()
	d, err := w.start()
	if err != nil {
		w.t.Fatal(err)
	}
	w.d = d
	w.t.Cleanup(d.Stop)
}

// reported is a running container as a registering node reports it.
func reported(id yarn.ContainerID, memory int64) *pb.NMContainerStatus {
	return &pb.NMContainerStatus{ContainerId: convert.ToContainerID(id), ContainerState: pb.ContainerState_C_RUNNING.Enum(), Resource: size(memory, 1),
		Priority: convert.ToPriority(1), CreationTime: proto.Int64(1), ContainerExitStatus: proto.Int32(-1000), Diagnostics: proto.String("")}
}

// A restart loses nothing: what had ended is still known, what waited still
// waits, and what ran goes on with its containers.
func TestRestart(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
		"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store"))
	n := w.newNode()
	alice := w.as("alice")
	killed := alice.submit(inQueue("other"))
	until(t, "a killed application", func() bool {
		return must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(killed)}, &pb.KillApplicationResponse{}).GetIsKillCompleted()
	})
	id := alice.submit(withSecrets)
	m := n.launched()
	for m.attempt.Application != id { // the killed one's may have come first
		m = n.launched()
	}
	m.register()
	got, _ := m.gets(n, 1, asks(1, 512))
	container := convert.ContainerID(got[0].Id)
	n.running[container] = &pb.ContainerStatus{ContainerId: got[0].Id, State: pb.ContainerState_C_RUNNING.Enum()}
	n.beat()
	login := m.own(t)
	waiting := alice.submit(func(c *pb.ApplicationSubmissionContext) { c.Resource = size(8192, 1) }) // no room beside the others

	w.restart()
	alice, n.tracker, m.caller = w.as("alice"), w.caller(trackerPort, trackerName, operator, ""), w.master(login)
	alice.reaches(killed, pb.YarnApplicationState_KILLED)
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
	alice.reaches(waiting, pb.YarnApplicationState_ACCEPTED)

	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC {
		t.Fatalf("a node of an earlier life was told %v, want RESYNC", r.GetNodeAction())
	}
	n.register(8192, 8, reported(m.token.ID, m.token.Resource.MemoryMB()), reported(container, 512))
	n.beat()
	if u := alice.report(id).GetAppResource_Usage(); u.GetNumUsedContainers() != 2 || u.GetUsedResources().GetMemory() != m.token.Resource.MemoryMB()+512 {
		t.Errorf("the application holds %v, want its master and one container", u)
	}
	_, err := m.raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
	refused(t, err, serve.NotRegistered, "re-register")
	m.register()
	alice.reaches(id, pb.YarnApplicationState_RUNNING)
	n.finish(container, 0)
	n.beat()
	done := m.allocate(&pb.AllocateRequest{}).CompletedContainerStatuses
	if len(done) != 1 || convert.ContainerID(done[0].ContainerId) != container {
		t.Fatalf("completed containers %v, want %s", done, container)
	}
	fresh, _ := m.gets(n, 1, asks(1, 512))
	if next := convert.ContainerID(fresh[0].Id); next == container || next.Number>>yarn.EpochShift == 0 {
		t.Errorf("a container of the second life is called %s: it could be taken for one of the first", next)
	}
	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	n.finish(m.token.ID, 0)
	n.beat()
	alice.reaches(id, pb.YarnApplicationState_FINISHED)
	if again := n.launched(); again.attempt.Application != waiting {
		t.Errorf("the room went to %s, want %s", again.attempt, waiting)
	}
}

// A node that comes back without a container that it had does not bring it back,
// and one of a finished application is cleaned up.
func TestRestartAdoptsOnce(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
		"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store"))
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit()
	m := n.launched()
	m.register()
	got, _ := m.gets(n, 1, asks(1, 512))
	container := convert.ContainerID(got[0].Id)
	login := m.own(t)

	w.restart()
	alice, n.tracker, m.caller = w.as("alice"), w.caller(trackerPort, trackerName, operator, ""), w.master(login)
	n.register(8192, 8, reported(m.token.ID, 512), reported(container, 512))
	m.register()
	m.allocate(&pb.AllocateRequest{Release: []*pb.ContainerId{got[0].Id}})
	clear(n.running)
	n.running[m.token.ID] = &pb.ContainerStatus{ContainerId: convert.ToContainerID(m.token.ID), State: pb.ContainerState_C_RUNNING.Enum()}
	n.register(8192, 8, reported(m.token.ID, 512), reported(container, 512))
	r := n.beat()
	if len(r.ContainersToCleanup) != 1 || convert.ContainerID(r.ContainersToCleanup[0]) != container {
		t.Errorf("containers to clean up: %v, want %s, which was given back", r.ContainersToCleanup, container)
	}
	if u := alice.report(id).GetAppResource_Usage(); u.GetNumUsedContainers() != 1 {
		t.Errorf("the application holds %d containers, want its master alone", u.GetNumUsedContainers())
	}
}

// TestRestartAdmitsMasters: a master that calls while its application is still to be recovered, behind thousands of others, is told to
// register again. Were it told that it cannot log in, it would end.
func TestRestartAdmitsMasters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", storePath, path)
	n := w.newNode()
	id := w.as("alice").submit()
	m := n.launched()
	m.register()
	login := m.own(t)
	w.d.Stop()

	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	var crowd []state.Op
	for i := range 3000 {
		other := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(i + 1)}
		context, err := proto.Marshal(submission(convert.ToApplicationID(other), unmanaged).ApplicationSubmissionContext)
		if err != nil {
			t.Fatal(err)
		}
		crowd = append(crowd, state.Put(state.Application{ID: other, Context: context, User: "bob", Queue: "root.default"}))
	}
	if err := errors.Join(s.Commit(t.Context(), crowd), s.Close()); err != nil {
		t.Fatal(err)
	}

	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	_, err = w.master(login).raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
	refused(t, err, serve.NotRegistered, "re-register")
	w.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED)
}

// TestRestartAfterClockWentBack: ids are later than those of all applications that are stored, whatever the clock says, and the term ends as any other.
func TestRestartAfterClockWentBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	w := newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", storePath, path)
	before := w.as("alice").submit()
	w.d.Stop()
	s, err := bolt.Open(path, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	future := yarn.ApplicationID{ClusterTimestamp: before.ClusterTimestamp + 3_600_000, Sequence: 1}
	context, err := proto.Marshal(submission(convert.ToApplicationID(future), unmanaged).ApplicationSubmissionContext)
	if err != nil {
		t.Fatal(err)
	}
	record := state.Application{ID: future, Context: context, User: "bob", Queue: "root.default"}
	if err := errors.Join(s.Commit(t.Context(), []state.Op{state.Put(record)}), s.Close()); err != nil {
		t.Fatal(err)
	}

	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	if id := w.as("alice").submit(); id.ClusterTimestamp <= future.ClusterTimestamp {
		t.Errorf("the new application is %s, and %s is stored", id, future)
	}
	if stamp := w.term().stamp; d.endTerm(stamp-1) || !d.endTerm(stamp) {
		t.Error("the term is not the one that its stamp says")
	}
}
