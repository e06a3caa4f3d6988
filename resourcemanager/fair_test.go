package resourcemanager

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// fairSite is a configuration with the FairScheduler.
func fairSite(file string, changes ...string) []string {
	return append([]string{"yarn.resourcemanager.scheduler.class", "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler",
		"yarn.scheduler.fair.allocation.file", file, "yarn.scheduler.fair.update-interval-ms", "10", "yarn.scheduler.increment-allocation-mb", "256"}, changes...)
}

// newFairWorld is a daemon with the FairScheduler and that allocation file.
func newFairWorld(t *testing.T, text string, changes ...string) (w *world, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "fair-scheduler.xml")
	writeFile(t, file, text)
	return newWorld(t, "", fairSite(file, changes...)...), file
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// touched gives a file a modification time.
func touched(t *testing.T, file string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
}

// served is launched under the FairScheduler, which serves an application after the next update of shares.
func (n *fakeNode) served() *fakeMaster {
	n.t.Helper()
	until(n.t, "a master", func() bool {
		n.beat()
		return len(n.started) > 0
	})
	return n.launched()
}

// tended has a round of the FairScheduler pass at that time.
func (w *world) tended(now time.Time) {
	w.t.Helper()
	w.term().tendAllocations(w.t.Context(), now.UnixMilli())
}

// info is what /ws/v1/cluster/info tells of the allocation file.
func (w *world) info() (x struct {
	ClusterInfo struct {
		HeddleAllocationFile, HeddleAllocationFileProblem              string
		HeddleAllocationFileLoadedAt, HeddleAllocationFileProblemSince int64
	}
}) {
	w.t.Helper()
	w.web("GET", "info", "", &x)
	return x
}

const teams = `<allocations>
  <queue name="teams" type="parent"><queue name="a"><weight>3</weight></queue></queue>
  <queue name="closed" type="parent"><aclSubmitApps> </aclSubmitApps></queue>
</allocations>`

// An application is served in a queue that is made for it, and the queue goes with the next round after it.
func TestFairScheduler(t *testing.T) {
	t.Parallel()
	w, _ := newFairWorld(t, teams)
	n, alice := w.newNode(), w.as("alice")
	id := alice.submit(inQueue("teams.b.c"))
	m := n.served()
	if got := alice.reaches(id, pb.YarnApplicationState_ACCEPTED).GetQueue(); got != "root.teams.b.c" {
		t.Errorf("it is in the queue %s", got)
	}
	m.register()
	got, _ := m.gets(n, 2, asks(2, 512))
	if r := m.allocate(&pb.AllocateRequest{}); r.Preempt == nil || r.Preempt.StrictContract == nil || len(r.Preempt.StrictContract.Container) > 0 || r.Preempt.Contract != nil {
		t.Errorf("the master is told %v, want a strict contract without containers", r.Preempt)
	}
	w.tended(time.Now())
	if !alice.hasQueue("root.teams.b.c") {
		t.Fatal("a queue went from under its application")
	}
	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	for _, c := range append([]yarn.ContainerID{m.token.ID}, convert.ContainerID(got[0].Id), convert.ContainerID(got[1].Id)) {
		n.finish(c, 0)
	}
	n.beat()
	alice.reaches(id, pb.YarnApplicationState_FINISHED)
	if !alice.hasQueue("root.teams.b.c") {
		t.Error("the queue went before the round")
	}
	w.tended(time.Now())
	until(t, "the end of the queue", func() bool { return !alice.hasQueue("root.teams.b") })
	if !alice.hasQueue("root.teams.a") {
		t.Error("a queue of the file went")
	}
}

// A file that has changed is taken over as soon as it has been left alone for a while; one that is bad changes nothing, and says so everywhere
// until it is good again.
func TestAllocationFileIsFollowed(t *testing.T) {
	t.Parallel()
	w, file := newFairWorld(t, teams)
	alice, root := w.as("alice"), w.admin(operator)
	if x := w.info().ClusterInfo; x.HeddleAllocationFile != file || x.HeddleAllocationFileProblem != "" || x.HeddleAllocationFileLoadedAt == 0 {
		t.Errorf("at the start: %+v", x)
	}
	at := time.Now().Add(time.Hour)
	change := func(text string) {
		t.Helper()
		writeFile(t, file, text)
		at = at.Add(time.Minute)
		touched(t, file, at)
	}
	change(strings.Replace(teams, `name="a"`, `name="new"`, 1))
	w.tended(at.Add(5 * time.Second))
	if alice.hasQueue("root.teams.new") {
		t.Fatal("a file was taken over that may still be written")
	}
	w.tended(at.Add(5*time.Second + time.Millisecond))
	if !alice.hasQueue("root.teams.new") {
		t.Fatalf("the file was not taken over:\n%s", w.log)
	}
	w.tended(at.Add(time.Minute))
	if got := w.log.lines("has been taken over"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	until(t, "the end of the queue that the file does not name any more", func() bool { return !alice.hasQueue("root.teams.a") })

	const bad = `<allocations>
  <queue name="x"><weight>heavy</weight></queue>
  <queue name="y"><maxRunningApps>many</maxRunningApps></queue>
</allocations>`
	change(bad)
	for range 3 {
		w.tended(at.Add(10 * time.Second))
	}
	want := file + ":2:19: error [refused] root.x/weight"
	if got := w.log.lines("is not taken over"); len(got) != 1 || !strings.Contains(got[0], want) {
		t.Errorf("the log says %q", got)
	}
	x := w.info().ClusterInfo
	if !strings.Contains(x.HeddleAllocationFileProblem, want) || !strings.Contains(x.HeddleAllocationFileProblem, file+":3:19: ") || x.HeddleAllocationFileProblemSince == 0 {
		t.Errorf("web services tell %+v", x)
	}
	if text := w.page("/prom", 200); !strings.Contains(text, "allocation_file_metrics_refused{") || !strings.Contains(text, `} 1`) {
		t.Errorf("no metric tells that the file is refused")
	}
	if text := w.page("/jmx?get=Hadoop:service=ResourceManager,name=AllocationFileMetrics::Refused", 200); !strings.Contains(text, `"Refused" : 1`) {
		t.Errorf("/jmx tells %s", text)
	}
	if !alice.hasQueue("root.teams.new") {
		t.Error("a queue went with a file that was refused")
	}
	_, err := root.raw("refreshQueues", &pb.RefreshQueuesRequest{})
	refused(t, err, yarnException, want)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	w.tended(at)
	if x := w.info().ClusterInfo.HeddleAllocationFileProblem; !strings.Contains(x, "cannot read the allocation file "+file) {
		t.Errorf("the file is gone, and web services tell %q", x)
	}
	change(teams)
	touched(t, file, time.Now()) // older than what is in force: another one all the same
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	if !alice.hasQueue("root.teams.a") {
		t.Error("a refresh has not taken the file over")
	}
	if x := w.info().ClusterInfo; x.HeddleAllocationFileProblem != "" {
		t.Errorf("the file is good again, and web services tell %+v", x)
	}
	if got := w.log.lines("is good again"); len(got) != 1 {
		t.Errorf("%q", got)
	}
	older := time.Now().Add(-time.Hour)
	writeFile(t, file, strings.Replace(teams, `name="a"`, `name="older"`, 1))
	touched(t, file, older)
	w.tended(time.Now())
	if !alice.hasQueue("root.teams.older") {
		t.Error("a file with an older time was not taken over")
	}
}

// What is wrong with the allocation file when a ResourceManager starts keeps it from starting, and is told at once.
func TestAllocationFileAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bad, big := filepath.Join(dir, "bad.xml"), filepath.Join(dir, "big.xml")
	writeFile(t, bad, "<allocations>\n<queue name='a.b'/>\n<queue name='c'><weight>x</weight></queue>\n</allocations>")
	writeFile(t, big, "<allocations>"+strings.Repeat(" ", 33<<20)+"</allocations>")
	for file, want := range map[string]string{
		bad:                     bad + ":2:1: error [refused]",
		big:                     "the file has 33554433 bytes, more than 33554432",
		dir + "/none.xml":       "cannot read the allocation file " + dir + "/none.xml",
		"file://" + bad:         bad + ":3:17: error [refused] root.c/weight",
		"s3a://bucket/fair.xml": "allocation files are not read from s3a",
		"ftp://h/fair.xml":      "uses an unsupported filesystem",
		"hdfs://127.0.0.1:1/f":  "cannot read the allocation file hdfs://127.0.0.1:1/f (yarn.scheduler.fair.allocation.file)",
		dir:                     "it is not a regular file",
	} {
		w := &world{t: t, dir: t.TempDir(), log: &journalLog{}, site: site(fairSite(file)...)}
		d, err := w.start()
		if err == nil {
			d.Stop()
			t.Errorf("%s: it has started", file)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %s", file, err, want)
		}
	}
}

// A name without a directory is looked for among the configuration files; if it is not there everything is made on demand, until a refresh
// finds it.
func TestNoAllocationFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", fairSite("")...)
	if got := w.log.lines("there is no allocation file"); len(got) != 1 || !strings.Contains(got[0], "level=WARN") {
		t.Errorf("%q", got)
	}
	alice := w.as("alice")
	id := alice.submit(unmanaged, inQueue("default"))
	if got := alice.reaches(id, pb.YarnApplicationState_ACCEPTED).GetQueue(); got != "root.alice" {
		t.Errorf("it is in the queue %s", got)
	}
	must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)}, &pb.KillApplicationResponse{})
	alice.reaches(id, pb.YarnApplicationState_KILLED)
	w.tended(time.Now())
	until(t, "the end of an empty queue", func() bool { return !alice.hasQueue("root.alice") })
	file, root := filepath.Join(w.dir, "fair-scheduler.xml"), w.admin(operator)
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	writeFile(t, file, "<allocations><queue/></allocations>")
	for range 2 {
		_, err := root.raw("refreshQueues", &pb.RefreshQueuesRequest{})
		refused(t, err, yarnException, file+":1:14: error [refused]")
		if x := w.info().ClusterInfo; !strings.Contains(x.HeddleAllocationFileProblem, file+":1:14") || x.HeddleAllocationFileLoadedAt != 0 {
			t.Errorf("a bad file that has come, and web services tell %+v", x)
		}
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		w.tended(time.Now())
		if x := w.info().ClusterInfo; x.HeddleAllocationFile != "" {
			t.Errorf("the bad file is gone, and web services tell %+v", x)
		}
		writeFile(t, file, "<allocations><queue/></allocations>")
	}
	if _, err := root.raw("refreshQueues", &pb.RefreshQueuesRequest{}); err == nil {
		t.Error("a bad file was taken over")
	}
	writeFile(t, file, teams)
	w.tended(time.Now().Add(time.Minute))
	if !alice.hasQueue("root.teams.a") {
		t.Error("the file was not taken over once it was good")
	}
	if x := w.info().ClusterInfo; x.HeddleAllocationFileProblem != "" || x.HeddleAllocationFileLoadedAt == 0 {
		t.Errorf("the file is good, and web services tell %+v", x)
	}
}

// Refusals have the words that clients of Apache's FairScheduler know.
func TestRefusalsOfTheFairScheduler(t *testing.T) {
	t.Parallel()
	w, _ := newFairWorld(t, `<allocations>
  <queue name="root"><aclSubmitApps>*</aclSubmitApps>
    <queue name="leaf"/>
    <queue name="few"><maxRunningApps>0</maxRunningApps></queue>
    <queue name="none"><maxResources>memory-mb=1024, vcores=0</maxResources></queue>
    <queue name="parent" type="parent"/>
  </queue>
  <queuePlacementPolicy>
    <rule name="specified" create="false"/>
    <rule name="nestedUserQueue"><rule name="primaryGroup" create="false"/></rule>
    <rule name="reject"/>
  </queuePlacementPolicy>
</allocations>`)
	n, alice := w.newNode(), w.as("alice")
	fails := func(queue, want string) {
		t.Helper()
		id := alice.submit(inQueue(queue))
		want = strings.ReplaceAll(want, "APP", id.String())
		if got := alice.reaches(id, pb.YarnApplicationState_FAILED).GetDiagnostics(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s\nwant %s", queue, got, want)
		}
	}
	fails("unknown", "Reject application APP submitted by user alice application rejected by placement rules.")
	fails("parent", "root.parent is not a leaf queue")
	fails("none", "Cannot submit application APP to queue root.none because it has zero amount of resource for a requested resource! Invalid requested AM resources: vcores of ")
	_, err := alice.raw("submitApplication", submission(alice.newID(), inQueue("leaf.")))
	refused(t, err, yarnException, "Application submitted by user alice with illegal queue name 'leaf.'.")

	id := alice.submit(inQueue("leaf"))
	n.served().register()
	change := &pb.UpdateApplicationPriorityRequest{ApplicationId: convert.ToApplicationID(id), ApplicationPriority: convert.ToPriority(3)}
	_, err = alice.raw("updateApplicationPriority", change)
	refused(t, err, yarnException, "Update application priority is not supported in Fair Scheduler")
	for queue, want := range map[string]string{
		"nowhere": "Target queue nowhere not found or is not a leaf queue.",
		"parent":  "Target queue parent not found or is not a leaf queue.",
		"few":     "to queue few would violate queue maxRunningApps constraints on queue root.few",
		"none":    "to queue none would violate queue maxShare constraints on queue root.none",
	} {
		_, err := alice.raw("moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: convert.ToApplicationID(id), TargetQueue: proto.String(queue)})
		refused(t, err, yarnException, want)
	}
}

// ACLs of the file hold in the call itself when yarn.acl.enable is set, and once the application enters its queue when it is not.
func TestAccessUnderTheFairScheduler(t *testing.T) {
	t.Parallel()
	const file = `<allocations><queue name="root"><aclSubmitApps>bob</aclSubmitApps><aclAdministerApps>bob</aclAdministerApps><queue name="closed" type="parent"/></queue></allocations>`
	w, _ := newFairWorld(t, file, "yarn.acl.enable", "true", "yarn.admin.acl", "root")
	id := w.as("alice").newID()
	_, err := w.as("alice").raw("submitApplication", submission(id, inQueue("closed.a.b")))
	refused(t, err, yarnException, ipc.ClassAccessControl+": User alice does not have permission to submit "+convert.ApplicationID(id).String()+
		" to queue root.closed.a.b denied by ACL for queue root.closed")
	w.as("bob").reaches(w.as("bob").submit(inQueue("closed.a.b")), pb.YarnApplicationState_ACCEPTED)

	w, _ = newFairWorld(t, file)
	alice := w.as("alice")
	app := alice.submit(inQueue("closed.a.b"))
	want := "User alice does not have permission to submit " + app.String() + " to queue root.closed.a.b"
	if got := alice.reaches(app, pb.YarnApplicationState_FAILED).GetDiagnostics(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if alice.hasQueue("root.closed.a") {
		t.Error("a queue was made for somebody who may not use it")
	}
}

// Containers above a queue's share are announced to their master, and end when the time is over with Apache's exit status.
func TestPreemptionUnderTheFairScheduler(t *testing.T) {
	t.Parallel()
	w, _ := newFairWorld(t, `<allocations>
  <queue name="low"/>
  <queue name="high"><minResources>memory-mb=4096, vcores=4</minResources><minSharePreemptionTimeout>0</minSharePreemptionTimeout></queue>
</allocations>`, "yarn.scheduler.fair.preemption", "true", "yarn.scheduler.fair.waitTimeBeforeKill", "300", "yarn.scheduler.fair.waitTimeBeforeNextStarvationCheck", "10",
		"yarn.scheduler.fair.preemption.cluster-utilization-threshold", "0.1")
	n, alice := w.newNode(), w.as("alice")
	alice.submit(inQueue("low"), func(c *pb.ApplicationSubmissionContext) { c.Resource = size(1024, 1) })
	m := n.served()
	m.register()
	got, _ := m.gets(n, 7, asks(7, 1024))
	for _, c := range got {
		n.running[convert.ContainerID(c.Id)] = &pb.ContainerStatus{ContainerId: c.Id, State: pb.ContainerState_C_RUNNING.Enum()}
	}
	n.beat()
	alice.submit(inQueue("high"))
	told := map[yarn.ContainerID]bool{}
	until(t, "the end of a container that was announced", func() bool {
		r := m.allocate(&pb.AllocateRequest{})
		for _, c := range r.GetPreempt().GetStrictContract().GetContainer() {
			told[convert.ContainerID(c.Id)] = true
		}
		n.beat()
		for _, c := range r.CompletedContainerStatuses {
			if id := convert.ContainerID(c.ContainerId); c.GetExitStatus() != -102 || !told[id] || c.GetDiagnostics() != "Container preempted by scheduler" {
				t.Errorf("%s ended with %d: %s; announced: %t", id, c.GetExitStatus(), c.GetDiagnostics(), told[id])
			}
		}
		return len(r.CompletedContainerStatuses) > 0
	})
	n.served()
}

// Applications come back into the queues that were made for them, and those keep them.
func TestRestartUnderTheFairScheduler(t *testing.T) {
	t.Parallel()
	w, file := newFairWorld(t, teams, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
		"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store"))
	n, alice := w.newNode(), w.as("alice")
	id := alice.submit(inQueue("teams.b.c"))
	m := n.served()
	m.register()
	login := m.own(t)
	lost := alice.submit(unmanaged, inQueue("teams.d"))
	alice.reaches(lost, pb.YarnApplicationState_ACCEPTED)
	writeFile(t, file, strings.Replace(teams, `name="a"`, `name="d" type="parent"`, 1)) // where an application was there is no leaf any more
	w.restart()
	alice, n.tracker, m.caller = w.as("alice"), w.caller(trackerPort, trackerName, operator, ""), w.master(login)
	for app, want := range map[yarn.ApplicationID]string{id: "root.teams.b.c", lost: "root.recovery"} {
		if got := alice.report(app).GetQueue(); got != want {
			t.Errorf("%s is in the queue %s, want %s", app, got, want)
		}
	}
	n.register(8192, 8, reported(m.token.ID, 512))
	_, err := m.raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
	refused(t, err, serve.NotRegistered, "re-register")
	m.register()
	w.tended(time.Now())
	m.gets(n, 1, asks(1, 512))
	if !alice.hasQueue("root.teams.b.c") || !alice.hasQueue("root.recovery") {
		t.Error("a queue went from under its application")
	}
}

// Queues come and go with the file and with the applications that name them: those that it names stay, others go once they are empty, and one
// that is in the way of another kind is replaced once it is empty.
func TestQueuesFollowTheAllocationFile(t *testing.T) {
	t.Parallel()
	w, file := newFairWorld(t, `<allocations><queue name="busy"/><queue name="idle"/></allocations>`)
	alice := w.as("alice")
	enter := func(queue string) yarn.ApplicationID {
		t.Helper()
		id := alice.submit(unmanaged, inQueue(queue))
		alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
		return id
	}
	leave := func(id yarn.ApplicationID) {
		t.Helper()
		until(t, "the end of an application", func() bool {
			return must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)}, &pb.KillApplicationResponse{}).GetIsKillCompleted()
		})
	}
	at := time.Now()
	takesOver := func(queues string) {
		t.Helper()
		writeFile(t, file, "<allocations>"+queues+"</allocations>")
		at = at.Add(time.Minute)
		touched(t, file, at)
		w.tended(at.Add(10 * time.Second))
	}
	queues := func(when, want string) {
		t.Helper()
		var got []string
		for _, q := range must(alice, "getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)},
			&pb.GetQueueInfoResponse{}).QueueInfo.ChildQueues {
			for _, q := range append(q.ChildQueues, q) {
				got = append(got, strings.TrimPrefix(cmp.Or(q.GetQueuePath(), q.GetQueueName()), "root."))
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	busy, made := enter("busy"), enter("made")
	leave(enter("gone"))
	leave(enter("named"))
	queues("at first", "busy gone idle made named")

	takesOver(`<queue name="made"/><queue name="named"/>`) // the round before it has taken what was empty and not in the file
	queues("a file with other queues", "busy idle made named")
	leave(made)
	w.tended(at)
	queues("the next round", "busy made named")
	leave(busy)
	queues("a queue that is empty now", "busy made named")
	w.tended(at)
	queues("the round after it", "made named")

	made = enter("made")
	takesOver(`<queue name="made"><queue name="child"/></queue>`)
	queues("a leaf in use that is to be a parent", "made named")
	leave(made)
	w.tended(at)
	queues("once it is empty", "made made.child")
	takesOver("")
	w.tended(at)
	queues("no queue in the file", "")
}
