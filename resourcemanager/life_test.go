package resourcemanager

import (
	"bytes"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// receive takes from a channel, with patience.
func receive[T any](c chan T) (v T, ok bool) {
	select {
	case v = <-c:
		return v, true
	case <-time.After(patience):
		return v, false
	}
}

// withSecrets is a submission whose credentials and environment must survive.
func withSecrets(m *pb.ApplicationSubmissionContext) {
	var c token.Credentials
	c.SetToken("hdfs", token.Token{Identifier: []byte("who"), Password: []byte("how"), Kind: "HDFS_DELEGATION_TOKEN", Service: "ha-hdfs:x"})
	c.SetSecret("key", []byte("secret"))
	m.AmContainerSpec.Tokens = c.Append(nil)
	m.AmContainerSpec.Environment = []*pb.StringStringMap{{Key: proto.String("MINE"), Value: proto.String("kept")}}
	m.LogAggregationContext = &pb.LogAggregationContext{IncludePattern: proto.String("syslog.*")}
}

// The whole life of an application, as its client, its node and its master see it.
func TestLife(t *testing.T) {
	t.Run("kept nowhere", func(t *testing.T) { live(t, newWorld(t, twoQueues)) })
	t.Run("kept in a file", func(t *testing.T) {
		live(t, newWorld(t, twoQueues, "yarn.resourcemanager.recovery.enabled", "true", "yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms", "0",
			"yarn.resourcemanager.heddle.state-store.path", filepath.Join(t.TempDir(), "store")))
	})
}

func live(t *testing.T, w *world) {
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit(withSecrets)
	m := n.launched()
	checkLaunch(t, w, n, m, id)
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)

	r := m.register()
	if r.GetQueue() != "root.default" || r.GetMaximumCapability().GetMemory() != 8192 || len(r.ResourceTypes) != 2 {
		t.Errorf("registration answered with %v", r)
	}
	report := alice.reaches(id, pb.YarnApplicationState_RUNNING)
	if report.GetHost() != "127.0.0.1" || report.GetRpcPort() != 4321 || report.GetOriginalTrackingUrl() != "http://127.0.0.1:4322/" {
		t.Errorf("report of a running application: %v", report)
	}

	got, tokens := m.gets(n, 2, asks(2, 512))
	if len(tokens) != 1 || convert.NodeID(tokens[0].NodeId) != n.id {
		t.Errorf("node tokens %v, want one for %s", tokens, n.id)
	}
	for _, c := range got {
		checkGrant(t, w, n, m.attempt, c)
		n.running[convert.ContainerID(c.Id)] = &pb.ContainerStatus{ContainerId: c.Id, State: pb.ContainerState_C_RUNNING.Enum()}
	}
	n.beat()
	first := convert.ContainerID(got[0].Id)
	n.finish(first, 3)
	n.beat()
	done := m.allocate(&pb.AllocateRequest{}).CompletedContainerStatuses
	if len(done) != 1 || convert.ContainerID(done[0].ContainerId) != first || done[0].GetExitStatus() != 3 {
		t.Fatalf("completed containers %v, want %s with 3", done, first)
	}
	if removed := n.beat().ContainersToBeRemovedFromNm; len(removed) != 0 {
		t.Errorf("%v may be forgotten before its master has confirmed", removed)
	}
	m.allocate(&pb.AllocateRequest{})
	if removed := slices.Compact(convert.ContainerIDs(n.beat().ContainersToBeRemovedFromNm)); !slices.Equal(removed, []yarn.ContainerID{first}) {
		t.Errorf("node may forget %v, want %s", removed, first)
	}

	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	n.finish(m.token.ID, 0)
	cleanup := n.beat().ApplicationsToCleanup
	report = alice.reaches(id, pb.YarnApplicationState_FINISHED)
	if report.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_SUCCEEDED || report.GetDiagnostics() != "that was it" || report.GetFinishTime() == 0 {
		t.Errorf("report of an ended application: %v", report)
	}
	if cleanup = append(cleanup, n.beat().ApplicationsToCleanup...); len(cleanup) != 1 || convert.ApplicationID(cleanup[0]) != id {
		t.Errorf("applications to clean up: %v", cleanup)
	}
	_, err := m.raw("allocate", &pb.AllocateRequest{ResponseId: proto.Int32(m.response)})
	refused(t, err, serve.AttemptNotFound, m.attempt.String())
}

// checkLaunch looks at what a master is launched with.
func checkLaunch(t *testing.T, w *world, n *fakeNode, m *fakeMaster, id yarn.ApplicationID) {
	t.Helper()
	env := map[string]string{}
	for _, v := range m.spec.Environment {
		env[v.GetKey()] = v.GetValue()
	}
	submitted, err := strconv.ParseInt(env["APP_SUBMIT_TIME_ENV"], 10, 64)
	if env["APPLICATION_WEB_PROXY_BASE"] != "/proxy/"+id.String() || err != nil || submitted < w.term().started || env["MINE"] != "kept" || len(env) != 3 {
		t.Errorf("environment of the master: %v", env)
	}
	c, err := token.ParseCredentials(m.spec.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	if mine, ok := c.Token("hdfs"); !ok || string(mine.Password) != "how" || len(c.Tokens) != 2 {
		t.Errorf("tokens of the master: %v", c.Tokens)
	}
	if s, ok := c.Secret("key"); !ok || string(s) != "secret" {
		t.Errorf("secrets of the master: %v", c.Secrets)
	}
	if login, _ := c.Token(""); login.Service != "" {
		t.Errorf("the login token has the service %q", login.Service)
	}
	x := m.token
	if x.ID.Attempt.Application != id || x.ID.Number != 1 || !x.Master || x.Submitter != "alice" || x.Resource != yarn.NewResource(512, 1) || x.Priority != 0 {
		t.Errorf("token of the master's container: %+v", x)
	}
	want, err := proto.Marshal(&pb.LogAggregationContext{IncludePattern: proto.String("syslog.*")})
	if err != nil || !bytes.Equal(x.LogContext, want) {
		t.Errorf("the token carries the log context %x, want %x (%v)", x.LogContext, want, err)
	}
	if m.service != n.id.String() {
		t.Errorf("the token's service is %q, want %q", m.service, n.id)
	}
}

// checkGrant looks at a granted container and its token.
func checkGrant(t *testing.T, w *world, n *fakeNode, attempt yarn.AttemptID, c *pb.Container) {
	t.Helper()
	x, err := token.ParseContainer(c.GetContainerToken().GetIdentifier(), yarn.BasicResourceTypes())
	if err != nil || !token.Verify(n.container.GetBytes(), c.GetContainerToken().GetIdentifier(), c.GetContainerToken().GetPassword()) {
		t.Fatalf("bad token of a granted container: %v", err)
	}
	expires := time.Until(time.UnixMilli(x.Expires))
	if x.ID != convert.ContainerID(c.Id) || x.ID.Attempt != attempt || x.NodeAddress != n.id.String() || x.Submitter != "alice" || x.Resource != yarn.NewResource(512, 1) ||
		x.Issuer != w.term().started || x.Priority != 1 || x.Master || x.ExecutionType != yarn.Guaranteed || x.Version != 0 || x.AllocationRequestID != 7 ||
		expires < 9*time.Minute || expires > 10*time.Minute {
		t.Errorf("token of a granted container: %+v", x)
	}
	if c.GetContainerToken().GetKind() != token.KindContainer || c.GetContainerToken().GetService() != n.id.String() {
		t.Errorf("kind and service of the token: %v", c.ContainerToken)
	}
	if c.GetNodeHttpAddress() != "127.0.0.1:8042" || c.GetAllocationRequestId() != 7 || c.GetPriority().GetPriority() != 1 {
		t.Errorf("granted container: %v", c)
	}
}

// A repeated heartbeat is answered with the same bytes, to nodes and to masters.
func TestRepeatedHeartbeats(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	w.as("alice").submit()
	m := n.launched()
	m.register()

	q := n.beats()
	first, err := n.tracker.raw("nodeHeartbeat", q)
	again, err2 := n.tracker.raw("nodeHeartbeat", q)
	if err != nil || err2 != nil || len(first) == 0 || !bytes.Equal(first, again) {
		t.Errorf("answers to the same heartbeat: %x, %x (%v, %v)", first, again, err, err2)
	}

	m.gets(n, 1, asks(1, 512))
	ask := asks(1, 1024)
	ask.ResponseId = proto.Int32(m.response)
	first, err = m.raw("allocate", ask)
	again, err2 = m.raw("allocate", ask)
	if err != nil || err2 != nil || len(first) == 0 || !bytes.Equal(first, again) {
		t.Errorf("answers to the same allocate: %x, %x (%v, %v)", first, again, err, err2)
	}

	// Any other id is out of order.
	for _, id := range []int32{m.response + 2, m.response + 7, -1, m.response - 1} {
		_, err = m.raw("allocate", &pb.AllocateRequest{ResponseId: &id})
		refused(t, err, serve.InvalidMasterRequest, strconv.Itoa(int(m.response+1)))
	}
	_, err = m.raw("registerApplicationMaster", &pb.RegisterApplicationMasterRequest{})
	refused(t, err, serve.InvalidMasterRequest, "already registered")
}

// A node that nobody knows, or that has lost the thread, starts anew.
func TestResync(t *testing.T) {
	w := newWorld(t, twoQueues)
	stranger := w.unregistered()
	if r := stranger.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC || r.GetDiagnosticsMessage() == "" {
		t.Errorf("an unknown node is answered %v", r)
	}
	n := w.newNode()
	for range 3 {
		n.beat()
	}
	n.last = 77
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC {
		t.Errorf("a node with the wrong response id is answered %v", r)
	}
	n.register(8192, 8)
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL || r.GetResponseId() != 1 {
		t.Errorf("after registering anew: %v", r)
	}
	must(n.tracker, "unRegisterNodeManager", &pb.UnRegisterNodeManagerRequest{NodeId: convert.ToNodeID(n.id)}, &pb.UnRegisterNodeManagerResponse{})
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC {
		t.Errorf("after good-bye: %v", r)
	}
	nodes := must(w.as("alice"), "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).NodeReports
	if len(nodes) != 1 || nodes[0].GetNodeState() != pb.NodeState_NS_SHUTDOWN {
		t.Errorf("nodes after good-bye: %v", nodes)
	}
}

// A master gets one token for each node, and another one after the node has
// started anew.
func TestNodeTokenOnce(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	w.as("alice").submit()
	m := n.launched()
	m.register()
	if _, tokens := m.gets(n, 1, asks(1, 256)); len(tokens) != 1 || !genuine(n, tokens[0]) {
		t.Fatalf("first grant came with %v", tokens)
	}
	if _, tokens := m.gets(n, 1, asks(1, 256)); len(tokens) != 0 {
		t.Fatalf("second grant came with %v", tokens)
	}
	// The node comes back with what it has, so that the master survives.
	n.register(8192, 8, &pb.NMContainerStatus{ContainerId: convert.ToContainerID(m.token.ID), ContainerState: pb.ContainerState_C_RUNNING.Enum(), Resource: size(512, 1)})
	if _, tokens := m.gets(n, 1, asks(1, 256)); len(tokens) != 1 || !genuine(n, tokens[0]) {
		t.Fatalf("grant after the node registered anew came with %v", tokens)
	}
}

func genuine(n *fakeNode, t *pb.NMToken) bool {
	return token.Verify(n.nm.GetBytes(), t.GetToken().GetIdentifier(), t.GetToken().GetPassword()) && t.GetToken().GetService() == n.id.String() && t.GetToken().GetKind() == token.KindNM
}

// A node that refuses the master costs an attempt; the last one the application.
func TestLaunchFailure(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	n.refuse = "the disk is on fire"
	alice := w.as("alice")
	id := alice.submit()
	n.beat()
	r := alice.reaches(id, pb.YarnApplicationState_FAILED)
	if r.GetCurrentApplicationAttemptId().GetAttemptId() != 2 || r.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_FAILED ||
		!bytes.Contains([]byte(r.GetDiagnostics()), []byte("the disk is on fire")) {
		t.Errorf("after two failed launches: %v", r)
	}
	attempts := must(alice, "getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: convert.ToApplicationID(id)}, &pb.GetApplicationAttemptsResponse{}).ApplicationAttempts
	if len(attempts) != 2 || attempts[0].GetYarnApplicationAttemptState() != pb.YarnApplicationAttemptState_APP_ATTEMPT_FAILED {
		t.Errorf("attempts: %v", attempts)
	}
}

// Killing ends the application and stops its master on the node.
func TestKill(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit()
	m := n.launched()
	m.register()
	kill := &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id), Diagnostics: proto.String("enough")}
	until(t, "a kill that is complete", func() bool {
		return must(alice, "forceKillApplication", kill, &pb.KillApplicationResponse{}).GetIsKillCompleted()
	})
	if stopped, ok := receive(n.stopped); !ok || stopped != m.token.ID {
		t.Errorf("stopped %s, want %s", stopped, m.token.ID)
	}
	r := alice.reaches(id, pb.YarnApplicationState_KILLED)
	if r.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_KILLED || !bytes.Contains([]byte(r.GetDiagnostics()), []byte("killed by user alice at 127.0.0.1 with diagnostic message: enough")) {
		t.Errorf("report after a kill: %v", r)
	}
	_, err := w.master(m.own(t)).raw("allocate", &pb.AllocateRequest{})
	refused(t, err, ipc.ClassInvalidToken, m.attempt.String())
}

// own is the token that the master logged in with.
func (m *fakeMaster) own(t testing.TB) token.Token {
	t.Helper()
	c, err := token.ParseCredentials(m.spec.Tokens)
	if err != nil {
		t.Fatal(err)
	}
	login, _ := c.Token("")
	return login
}
