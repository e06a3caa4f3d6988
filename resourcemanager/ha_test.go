package resourcemanager

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/freeport"
	"github.com/heddle-project/heddle/internal/zookeeper/zookeepertest"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// freePorts are ports that nobody listens on now.
func freePorts(t testing.TB, n int) (out []string) {
	t.Helper()
	ports, err := freeport.Loopback(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		out = append(out, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return out
}

// newPair starts two ResourceManagers that know each other, as standbys. Where the election decides, changes say so.
func newPair(t *testing.T, changes ...string) [2]*world {
	t.Helper()
	return newPairIn(t, nil, changes...)
}

func newPairIn(t *testing.T, zk *zookeepertest.Server, changes ...string) [2]*world {
	t.Helper()
	const rm = "yarn.resourcemanager."
	both := []string{rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2", rm + "ha.automatic-failover.enabled", "false"}
	ports := freePorts(t, 4)
	for i, id := range []string{"rm1", "rm2"} {
		for _, name := range []string{"address", "scheduler.address", "resource-tracker.address"} {
			both = append(both, rm+name+"."+id, "127.0.0.1:0")
		}
		both = append(both, rm+"admin.address."+id, ports[2*i], rm+"webapp.address."+id, ports[2*i+1])
	}
	var pair [2]*world
	for i, id := range []string{"rm1", "rm2"} {
		pair[i] = newWorldIn(t, zk, twoQueues, append(append(both, changes...), rm+"ha.id", id)...)
	}
	return pair
}

// transition asks a ResourceManager to change, as Hadoop's tools do.
func (w *world) transition(user, method string, source pb.HARequestSource) error {
	w.t.Helper()
	info := &pb.HAStateChangeRequestInfo{ReqSource: source.Enum()}
	var m proto.Message = &pb.TransitionToActiveRequest{ReqInfo: info}
	if method == "transitionToStandby" {
		m = &pb.TransitionToStandbyRequest{ReqInfo: info}
	}
	_, err := w.caller(adminPort, admin.HAName, user, "").raw(method, m)
	return err
}

// asked asks for a page, and follows no redirect.
func (w *world) led(t *testing.T, path string) (code int, location string) {
	t.Helper()
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + w.d.webAddr + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	return r.StatusCode, r.Header.Get("Location")
}

func (w *world) serviceState() pb.HAServiceState {
	w.t.Helper()
	ha := w.caller(adminPort, admin.HAName, operator, "")
	return must(ha, "getServiceStatus", &pb.GetServiceStatusRequest{}, &pb.GetServiceStatusResponse{}).GetState()
}

// Where failover is manual, administrators decide which ResourceManager is active; clients and nodes are turned away by the other.
func TestManualFailover(t *testing.T) {
	pair := newPair(t, "yarn.admin.acl", " ")
	user, controller := pb.HARequestSource_REQUEST_BY_USER, pb.HARequestSource_REQUEST_BY_ZKFC
	for _, w := range pair {
		if s := w.serviceState(); s != pb.HAServiceState_STANDBY {
			t.Fatalf("starts as %v", s)
		}
		_, err := w.admin(operator).raw("refreshQueues", &pb.RefreshQueuesRequest{})
		refused(t, err, ipc.ClassStandby, "is not Active!")
		_, err = w.as("alice").raw("getNewApplication", &pb.GetNewApplicationRequest{})
		refused(t, err, ipc.ClassStandby, "is not Active!")
	}
	one, two := pair[0], pair[1]
	refused(t, one.transition("alice", "transitionToActive", user), ipc.ClassAccessControl, "User alice doesn't have permission to call 'transitionToActive'")
	refused(t, one.transition(operator, "transitionToActive", controller), ipc.ClassAccessControl, "automatic failover is not enabled")
	_, err := one.caller(adminPort, admin.HAName, "alice", "").raw("getServiceStatus", &pb.GetServiceStatusRequest{})
	refused(t, err, ipc.ClassAccessControl, "alice")
	for range 2 { // the second time nothing changes
		if err := one.transition(operator, "transitionToActive", user); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := one.serviceState(), two.serviceState(); a != pb.HAServiceState_ACTIVE || b != pb.HAServiceState_STANDBY {
		t.Fatalf("%v, %v", a, b)
	}
	first := one.as("alice").submit(unmanaged)
	// Whoever asks the standby for pages is sent to the active one.
	if code, to := two.led(t, "/cluster/apps?x=1"); code != http.StatusTemporaryRedirect || to != strings.Replace("http://"+one.d.webAddr+"/cluster/apps?x=1", "localhost", "127.0.0.1", 1) {
		t.Errorf("%d %q, want %s", code, to, one.d.webAddr)
	}
	if code, _ := one.led(t, "/cluster/apps"); code != http.StatusOK {
		t.Errorf("%d", code)
	}
	one.set("yarn.admin.acl", "carol") // read anew before who asks is checked
	if err := one.transition("carol", "transitionToStandby", user); err != nil {
		t.Fatal(err)
	}
	two.writeQueues(queueFile(strings.Replace(twoQueues, "default,other", "default,third", 1) + "\nroot.third.capacity 50"))
	if err := two.transition(operator, "transitionToActive", user); err != nil {
		t.Fatal(err)
	}
	second := two.as("alice").submit(unmanaged, inQueue("third"))
	if first.ClusterTimestamp == second.ClusterTimestamp {
		t.Errorf("%s and %s", first, second)
	}
	if err := two.transition(operator, "transitionToStandby", user); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`msg="this ResourceManager is active" id=rm2 why="transitionToActive by yarn from 127.0.0.1 (REQUEST_BY_USER)"`, `msg="this ResourceManager is a standby" id=rm2 why="transitionToStandby`} {
		if !strings.Contains(two.log.String(), line) {
			t.Errorf("the log lacks %s", line)
		}
	}
	until(t, "the audit log's line", func() bool { return len(one.audits("transitionToStandby")) > 0 })
	if lines := one.audits("transitionToStandby"); len(lines) != 1 || !strings.Contains(lines[0], "USER=carol") {
		t.Errorf("audit: %q", lines)
	}
}

// Where failover is automatic, an administrator decides only by force.
func TestForcedFailover(t *testing.T) {
	w := newPair(t, "yarn.resourcemanager.ha.automatic-failover.enabled", "true", "yarn.resourcemanager.ha.automatic-failover.embedded", "false")[0]
	user, forced, controller := pb.HARequestSource_REQUEST_BY_USER, pb.HARequestSource_REQUEST_BY_USER_FORCED, pb.HARequestSource_REQUEST_BY_ZKFC
	refused(t, w.transition(operator, "transitionToActive", user), ipc.ClassAccessControl, "Manual failover for this ResourceManager is disallowed, because automatic failover is enabled.")
	if err := w.transition(operator, "transitionToActive", forced); err != nil {
		t.Fatal(err)
	}
	refused(t, w.transition(operator, "transitionToStandby", user), ipc.ClassAccessControl, "Manual failover")
	if err := w.transition(operator, "transitionToStandby", controller); err != nil {
		t.Fatal(err)
	}
	if s := w.serviceState(); s != pb.HAServiceState_STANDBY {
		t.Errorf("%v", s)
	}
}

// With high availability, losing the store ends the term and not the process; a loss that is told late ends no later term.
func TestLossMakesStandby(t *testing.T) {
	w := newPair(t)[0]
	if err := w.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	lost := &loop.Loss{Kind: loop.Fenced, Err: store.ErrFenced}
	before := w.term()
	before.fail(lost)
	until(t, "a standby", func() bool { return w.serviceState() == pb.HAServiceState_STANDBY })
	if err := w.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	w.d.lost(before.started, lost)
	time.Sleep(aMoment)
	if s := w.serviceState(); s != pb.HAServiceState_ACTIVE {
		t.Errorf("%v", s)
	}
	select {
	case err := <-w.d.fatal:
		t.Errorf("the process ends: %v", err)
	default:
	}
}

// What a transition to active needs and does not get leaves a standby, and says why.
func TestFailedTransition(t *testing.T) {
	w := newPair(t)[0]
	w.writeQueues("<configuration>")
	refused(t, w.transition(operator, "transitionToActive", pb.HARequestSource_REQUEST_BY_USER), admin.ServiceFailed, "capacity-scheduler.xml")
	if s := w.serviceState(); s != pb.HAServiceState_STANDBY {
		t.Errorf("%v", s)
	}
	w.writeQueues(queueFile(twoQueues))
	if err := w.transition(operator, "transitionToActive", pb.HARequestSource_REQUEST_BY_USER); err != nil {
		t.Fatal(err)
	}
}

// byElection has the election decide.
func byElection(session string) []string {
	return []string{"yarn.resourcemanager.ha.automatic-failover.enabled", "true", "yarn.resourcemanager.cluster-id", "c", "yarn.resourcemanager.zk-address", "zk:2181",
		"hadoop.zk.timeout-ms", session}
}

// activeOf waits until one of a pair is active, and gives it and the other.
func activeOf(t *testing.T, pair [2]*world) (active, standby *world) {
	t.Helper()
	until(t, "an active ResourceManager", func() bool { return pair[0].d.active() != pair[1].d.active() })
	if pair[0].d.active() {
		return pair[0], pair[1]
	}
	return pair[1], pair[0]
}

// The election makes one active; the other takes over when it is gone, in whatever way.
func TestAutomaticFailover(t *testing.T) {
	zk := zookeepertest.New()
	pair := newPairIn(t, zk, byElection("60000")...)
	active, standby := activeOf(t, pair)
	if text := active.page("/ws/v1/cluster/info", 200); !strings.Contains(text, `"haState":"ACTIVE"`) || !strings.Contains(text, `"haZooKeeperConnectionState":"CONNECTED"`) {
		t.Error(text)
	}
	refused(t, standby.transition(operator, "transitionToActive", pb.HARequestSource_REQUEST_BY_USER), ipc.ClassAccessControl, "automatic failover is enabled")
	active.term().fail(&loop.Loss{Kind: loop.Fenced, Err: store.ErrFenced}) // its store is lost
	until(t, "the other one", func() bool { return standby.d.active() && !active.d.active() })
	standby.as("alice").submit(unmanaged)
	active, standby = standby, active
	if err := active.transition(operator, "transitionToStandby", pb.HARequestSource_REQUEST_BY_USER_FORCED); err != nil {
		t.Fatal(err)
	}
	until(t, "the other one", func() bool { return standby.d.active() && !active.d.active() })
	active, standby = standby, active
	until(t, "a candidate", func() bool { return standby.d.elector.Load().Status().Holder == active.d.settings.HA.ID })
	active.d.Stop()
	until(t, "the other one", standby.d.active)
	for _, text := range []string{"why=\"it was elected\"", "the active ResourceManager is "} {
		if !strings.Contains(standby.log.String(), text) {
			t.Errorf("the log lacks %s", text)
		}
	}
}

// Cut off from ZooKeeper a ResourceManager answers nobody any more by the time its session can end.
func TestCutOff(t *testing.T) {
	zk := zookeepertest.New()
	pair := newPairIn(t, zk, byElection("6000")...) // so long that no pause of the machine ends it
	active, standby := activeOf(t, pair)
	active.as("alice").newID()
	active.mu.Lock()
	zk.Cut(active.session)
	active.mu.Unlock()
	until(t, "a standby", func() bool { return !active.d.active() })
	_, err := active.as("alice").raw("getNewApplication", &pb.GetNewApplicationRequest{})
	refused(t, err, ipc.ClassStandby, "is not Active!")
	if standby.d.active() {
		t.Error("the other one is active while the session lives")
	}
	zk.ExpireCut(active.session)
	until(t, "the other one", standby.d.active)
	zk.Mend(active.session)
	until(t, "a follower", func() bool { return active.d.elector.Load().Status().Holder == standby.d.settings.HA.ID })
}

// What was acknowledged by one is known to the other: a job goes on with its attempt, its node and its containers.
func TestFailoverKeepsWhatRuns(t *testing.T) {
	zk := zookeepertest.New()
	pair := newPairIn(t, zk, append(byElection("60000"), "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", "zookeeper",
		"yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0")...)
	active, standby := activeOf(t, pair)
	id := active.as("alice").submit(unmanaged)
	former := active.term()
	active.d.elector.Load().Yield("test") // it gives up the lock, and is told to step down
	until(t, "the other one", func() bool { return standby.d.active() && !active.d.active() })
	r := standby.as("alice").reaches(id, pb.YarnApplicationState_ACCEPTED)
	if r.GetUser() != "alice" {
		t.Errorf("%v", r)
	}
	if now := standby.term(); now.epoch != former.epoch+1 || now.started == former.started {
		t.Errorf("epoch %d after %d", now.epoch, former.epoch)
	}
	standby.as("alice").submit(unmanaged)
}

// Whoever was made active by force keeps the former one from storing anything, and that one becomes a standby.
func TestFencedByForce(t *testing.T) {
	zk := zookeepertest.New()
	pair := newPairIn(t, zk, "yarn.resourcemanager.zk-address", "zk:2181", "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.store.class", "zookeeper")
	one, two := pair[0], pair[1]
	if err := one.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	first := one.as("alice").submit(unmanaged)
	if err := two.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	id := one.as("alice").newID()
	_, err := one.as("alice").raw("submitApplication", submission(id, unmanaged))
	if err == nil {
		t.Error("who was fenced off acknowledges an application")
	}
	until(t, "a standby", func() bool { return one.serviceState() == pb.HAServiceState_STANDBY })
	two.as("alice").reaches(first, pb.YarnApplicationState_ACCEPTED)
	if apps := must(two.as("alice"), "getApplications", &pb.GetApplicationsRequest{}, &pb.GetApplicationsResponse{}).Applications; len(apps) != 1 {
		t.Errorf("%d applications", len(apps))
	}
}

// Who was fenced off notices even if it stores nothing.
func TestFencedIsNoticed(t *testing.T) {
	pair := newPairIn(t, zookeepertest.New(), "yarn.resourcemanager.zk-address", "zk:2181", "yarn.resourcemanager.recovery.enabled", "true",
		"yarn.resourcemanager.store.class", "zookeeper", "hadoop.zk.timeout-ms", "1000")
	one, two := pair[0], pair[1]
	if err := one.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	if err := two.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	until(t, "a standby", func() bool { return one.serviceState() == pb.HAServiceState_STANDBY })
	if !two.d.active() {
		t.Error("nobody is active")
	}
}

// A standby that cannot become active takes the store from nobody.
func TestBrokenStandbyFencesNobody(t *testing.T) {
	pair := newPairIn(t, zookeepertest.New(), "yarn.resourcemanager.zk-address", "zk:2181", "yarn.resourcemanager.recovery.enabled", "true",
		"yarn.resourcemanager.store.class", "zookeeper")
	one, two := pair[0], pair[1]
	if err := one.d.BecomeActive("test"); err != nil {
		t.Fatal(err)
	}
	two.writeQueues("<configuration>")
	if err := two.d.BecomeActive("test"); err == nil || !strings.Contains(err.Error(), "capacity-scheduler.xml") {
		t.Fatalf("%v", err)
	}
	one.as("alice").submit(unmanaged)
	if !one.d.active() {
		t.Error("it became a standby")
	}
}

// A term that was begun by force has a lease once the election is won.
func TestElectedAfterForce(t *testing.T) {
	w := newPair(t)[0]
	if err := w.d.BecomeActive("test"); err != nil || w.d.elected.Load() {
		t.Fatalf("%v %v", err, w.d.elected.Load())
	}
	if err := w.d.takeOver(t.Context(), "test", true); err != nil || !w.d.elected.Load() {
		t.Errorf("%v %v", err, w.d.elected.Load())
	}
	if err := w.d.BecomeActive("test"); err != nil || !w.d.elected.Load() {
		t.Errorf("by force afterwards: %v %v", err, w.d.elected.Load())
	}
}
