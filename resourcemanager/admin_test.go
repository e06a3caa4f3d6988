package resourcemanager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// Whoever is no administrator changes nothing.
func TestAdminsOnly(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.admin.acl", "root staff")
	for _, c := range adminMethods {
		if c.method == "getGroupsForUser" { // open to all, as in Hadoop
			continue
		}
		_, err := w.admin("mallory").raw(c.method, c.request)
		refused(t, err, yarnException, ipc.ClassAccessControl+": User mallory doesn't have permission to call '"+c.method+"'")
	}
	for _, user := range []string{"root", "alice", operator} { // by name, by group, by owning the daemon
		must(w.admin(user), "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	}
	until(t, "a line of the audit log for each call", func() bool {
		return len(w.audits("USER=mallory")) == len(adminMethods)-1 && len(w.audits("OPERATION=refreshQueues")) == 4
	})
	w.set("yarn.admin.acl", "carol")
	must(w.admin("root"), "refreshAdminAcls", &pb.RefreshAdminAclsRequest{}, &pb.RefreshAdminAclsResponse{})
	_, err := w.admin("root").raw("refreshQueues", &pb.RefreshQueuesRequest{})
	refused(t, err, yarnException, "root doesn't have permission")
	must(w.admin("carol"), "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
}

func (c caller) queue(name string) *pb.QueueInfo {
	c.t.Helper()
	return must(c, "getQueueInfo", &pb.GetQueueInfoRequest{QueueName: &name, IncludeChildQueues: proto.Bool(true)}, &pb.GetQueueInfoResponse{}).QueueInfo
}

// A good queue file takes effect; a bad one, for whatever reason, changes nothing.
func TestRefreshQueues(t *testing.T) {
	w := newWorld(t, twoQueues)
	root, alice := w.admin(operator), w.as("alice")
	id := alice.submit()
	w.writeQueues(queueFile(`
		root.queues            default,other,third
		root.default.capacity  20
		root.other.capacity    30
		root.third.capacity    50
		maximum-am-resource-percent 1`))
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	if q := alice.queue("third"); q.GetQueuePath() != "root.third" || q.GetCapacity() != 0.5 {
		t.Errorf("the new queue: %v", q)
	}
	before, err := alice.raw("getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	schedule := w.term().access.schedule.Load()
	for name, text := range map[string]string{
		"no XML":         "<configuration><property>",
		"no file":        "",
		"sums to 90":     queueFile("root.queues a,b\nroot.a.capacity 40\nroot.b.capacity 50"),
		"a queue in use": queueFile("root.queues other\nroot.other.capacity 100"),
		"not a number":   queueFile("root.queues default\nroot.default.capacity much"),
	} {
		want := ""
		if w.writeQueues(text); text == "" {
			if err := os.Remove(filepath.Join(w.dir, "capacity-scheduler.xml")); err != nil {
				t.Fatal(err)
			}
			want = "capacity-scheduler.xml"
		}
		_, err := root.raw("refreshQueues", &pb.RefreshQueuesRequest{})
		refused(t, err, yarnException, want)
		after, err := alice.raw("getQueueInfo", &pb.GetQueueInfoRequest{QueueName: proto.String("root"), IncludeChildQueues: proto.Bool(true), Recursive: proto.Bool(true)})
		if err != nil || string(after) != string(before) || w.term().access.schedule.Load() != schedule {
			t.Errorf("%s: the queues have changed (%v)", name, err)
		}
	}
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
}

// A cluster starts without its lists of nodes, and says so.
func TestStartWithoutLists(t *testing.T) {
	for property, without := range map[string]string{"yarn.resourcemanager.nodes.include-path": "every node may join", "yarn.resourcemanager.nodes.exclude-path": "no node is excluded"} {
		w := newWorld(t, twoQueues, property, "/nowhere/list")
		if log := w.log.String(); !strings.Contains(log, without) || !strings.Contains(log, property) || !strings.Contains(log, "/nowhere/list") {
			t.Errorf("%s: the log does not say that it is missing:\n%s", property, log)
		}
		if r := w.newNode().beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
			t.Errorf("%s: a node is told %v", property, r)
		}
		_, err := w.admin(operator).raw("refreshNodes", &pb.RefreshNodesRequest{})
		refused(t, err, yarnException, "refreshNodes failed and changed nothing")
	}
}

// Nodes on the exclude list leave at once and cannot come back until it lets them.
func TestRefreshNodes(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	list := filepath.Join(w.dir, "exclude")
	write := func(text string) {
		if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	refresh := func() {
		must(w.admin(operator), "refreshNodes", &pb.RefreshNodesRequest{}, &pb.RefreshNodesResponse{})
	}
	write("somebody.else\n")
	w.set("yarn.resourcemanager.nodes.exclude-path", list)
	refresh()
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Fatalf("a node that is not excluded is told %v", r)
	}
	write("127.0.0.1\n")
	refresh()
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || !strings.Contains(r.GetDiagnosticsMessage(), "Disallowed") {
		t.Errorf("an excluded node is told %v", r)
	}
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || !strings.Contains(r.GetDiagnosticsMessage(), "Disallowed NodeManager from  127.0.0.1") {
		t.Errorf("an excluded node registers and is told %v", r)
	}
	m := must(w.as("alice"), "getClusterMetrics", &pb.GetClusterMetricsRequest{}, &pb.GetClusterMetricsResponse{}).ClusterMetrics
	if m.GetNumDecommissionedNms() != 1 || m.GetNumNodeManagers() != 0 {
		t.Errorf("metrics with an excluded node: %v", m)
	}
	w.set("yarn.resourcemanager.nodes.exclude-path", list+".missing")
	_, err := w.admin(operator).raw("refreshNodes", &pb.RefreshNodesRequest{})
	refused(t, err, yarnException, "refreshNodes failed and changed nothing")
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN {
		t.Errorf("after a failed refresh the node is told %v", r)
	}
	write("")
	w.set("yarn.resourcemanager.nodes.exclude-path", list)
	refresh()
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL {
		t.Errorf("a node that is admitted again is told %v", r)
	}
}

// A node that is decommissioned gracefully stays while an application that ran there goes on; which timeout it gets.
func TestDrain(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", "700")
	n := w.newNode()
	alice := w.as("alice")
	id := alice.submit()
	alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
	n.beat()
	n.launched()
	n.beat()
	list := filepath.Join(w.dir, "exclude.xml")
	refresh := func(how pb.DecommissionType, seconds *int32, xml string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(xml), 0o600); err != nil {
			t.Fatal(err)
		}
		w.set("yarn.resourcemanager.nodes.exclude-path", list)
		must(w.admin(operator), "refreshNodes", &pb.RefreshNodesRequest{DecommissionType: how.Enum(), DecommissionTimeout: seconds}, &pb.RefreshNodesResponse{})
	}
	report := func() *pb.NodeReport {
		t.Helper()
		return must(alice, "getClusterNodes", &pb.GetClusterNodesRequest{}, &pb.GetClusterNodesResponse{}).NodeReports[0]
	}
	draining := func() int {
		t.Helper()
		return len(must(w.admin(operator), "checkForDecommissioningNodes", &pb.CheckForDecommissioningNodesRequest{}, &pb.CheckForDecommissioningNodesResponse{}).DecommissioningNodes)
	}
	here, timed := "<hosts><host><name>127.0.0.1</name></host></hosts>", "<hosts><host><name>127.0.0.1</name><timeout>900</timeout></host></hosts>"
	for _, c := range []struct {
		seconds *int32
		xml     string
		want    uint32
	}{{nil, here, 700}, {proto.Int32(800), here, 800}, {proto.Int32(800), timed, 900}, {proto.Int32(-1), here, 0}} {
		refresh(pb.DecommissionType_GRACEFUL, c.seconds, c.xml)
		r := report()
		if r.GetNodeState() != pb.NodeState_NS_DECOMMISSIONING || r.GetDecommissioningTimeout() != c.want || (r.DecommissioningTimeout == nil) != (c.want == 0) || draining() != 1 {
			t.Fatalf("with %v and %s: %v", c.seconds, c.xml, r)
		}
	}
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_NODE_ACTION_NORMAL || r.GetResource().GetMemory() != report().GetUsed().GetMemory() {
		t.Errorf("a draining node is told %v", r)
	}
	// A refresh that is refused leaves the lists as they were: a new node on this host is still turned away.
	w.set("yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", "many")
	if err := os.WriteFile(list, []byte("<hosts/>"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := w.admin(operator).raw("refreshNodes", &pb.RefreshNodesRequest{})
	refused(t, err, yarnException, "graceful-decommission-timeout-secs")
	if r := w.unregistered().register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN {
		t.Errorf("after a refused refresh a node of an excluded host is told %v", r)
	}
	w.set("yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs", "700")
	must(w.admin(operator), "refreshNodes", &pb.RefreshNodesRequest{DecommissionType: pb.DecommissionType_FORCEFUL.Enum()}, &pb.RefreshNodesResponse{})
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || draining() != 0 || report().GetNodeState() != pb.NodeState_NS_DECOMMISSIONED {
		t.Errorf("a node that was forced to go is told %v", r)
	}
}

// A node too small or too old is turned away, with the reason.
func TestTurnedAway(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.nodemanager.minimum.version", "3.5.1")
	n := w.unregistered()
	if r := n.register(8192, 8); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || !strings.Contains(r.GetDiagnosticsMessage(), "Disallowed NodeManager Version 3.5.0, is less than the minimum version 3.5.1") {
		t.Errorf("an old node is told %v", r)
	}
	w = newWorld(t, twoQueues)
	n = w.unregistered()
	if r := n.register(128, 1); r.GetNodeAction() != pb.NodeAction_SHUTDOWN || !strings.Contains(r.GetDiagnosticsMessage(), "doesn't satisfy minimum allocations") {
		t.Errorf("a small node is told %v", r)
	}
	if r := n.beat(); r.GetNodeAction() != pb.NodeAction_RESYNC {
		t.Errorf("a node that was turned away is told %v", r)
	}
}

// An administrator resizes one node at a time; the node learns it.
func TestNodeResource(t *testing.T) {
	w := newWorld(t, twoQueues)
	n := w.newNode()
	entry := func(memory int64) *pb.NodeResourceMap {
		return &pb.NodeResourceMap{NodeId: convert.ToNodeID(n.id), ResourceOption: &pb.ResourceOption{Resource: size(memory, 4)}}
	}
	root := w.admin(operator)
	must(root, "updateNodeResource", &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{entry(4096)}}, &pb.UpdateNodeResourceResponse{})
	if r := n.beat().GetResource(); r.GetMemory() != 4096 || r.GetVirtualCores() != 4 {
		t.Errorf("the node is told %v", r)
	}
	if r := n.beat().GetResource(); r != nil {
		t.Errorf("the node is told again: %v", r)
	}
	_, err := root.raw("updateNodeResource", &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{entry(-1)}})
	refused(t, err, yarnException, "less than nothing")
	_, err = root.raw("updateNodeResource", &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{entry(1), entry(2)}})
	refused(t, err, yarnException, "one node at a time")
	unknown := entry(1024)
	unknown.NodeId.Port = proto.Int32(1)
	_, err = root.raw("updateNodeResource", &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{unknown}})
	refused(t, err, yarnException, "127.0.0.1:1")
}

// The highest priority of applications is read anew on request, on HUP and by the next term; what runs keeps what it has.
func TestMaxPriorityIsReadAnew(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.cluster.max-application-priority", "5")
	root, alice := w.admin(operator), w.as("alice")
	nine := func(c *pb.ApplicationSubmissionContext) { c.Priority = &pb.Priority{Priority: proto.Int32(9)} }
	first := alice.submit(nine)
	w.site["yarn.cluster.max-application-priority"] = "7"
	must(root, "refreshClusterMaxPriority", &pb.RefreshClusterMaxPriorityRequest{}, &pb.RefreshClusterMaxPriorityResponse{})
	second := alice.submit(nine)
	if a, b := alice.report(first).GetPriority().GetPriority(), alice.report(second).GetPriority().GetPriority(); a != 5 || b != 7 {
		t.Errorf("priorities %d and %d", a, b)
	}
	w.site["yarn.cluster.max-application-priority"] = "much"
	_, err := root.raw("refreshClusterMaxPriority", &pb.RefreshClusterMaxPriorityRequest{})
	refused(t, err, yarnException, "yarn.cluster.max-application-priority")
	if n := w.term().maxPriority.Load(); n != 7 {
		t.Errorf("after a bad file it is %d", n)
	}
	w.site["yarn.cluster.max-application-priority"] = "3" // a refresh of queues is about queues
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	if n := alice.report(alice.submit(nine)).GetPriority().GetPriority(); n != 7 {
		t.Errorf("after a refresh of queues priorities are cut to %d", n)
	}
	w.d.stepDown()
	w.leads()
	if n := alice.report(alice.submit(nine)).GetPriority().GetPriority(); n != 3 {
		t.Errorf("in the next term priorities are cut to %d", n)
	}
	w.site["yarn.cluster.max-application-priority"] = "4"
	w.d.Reread(t.Context())
	if n := alice.report(alice.submit(nine)).GetPriority().GetPriority(); n != 4 {
		t.Errorf("after HUP priorities are cut to %d", n)
	}
}

// Nodes have the sizes of dynamic-resources.xml, those that are there and those that come.
func TestDynamicResources(t *testing.T) {
	w := newWorld(t, twoQueues)
	n, root := w.newNode(), w.admin(operator)
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(w.dir, "dynamic-resources.xml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set := func(name, value string) string {
		return "<property><name>yarn.resource.dynamic." + name + "</name><value>" + value + "</value></property>"
	}
	other := w.unregistered()
	sound := "<configuration>" + set("nodes", n.id.String()+","+other.id.String()) + set(n.id.String()+".memory", "2048") + set(n.id.String()+".vcores", "3") +
		set(other.id.String()+".memory", "1024") + "</configuration>"
	put(sound)
	must(root, "refreshNodesResources", &pb.RefreshNodesResourcesRequest{}, &pb.RefreshNodesResourcesResponse{})
	if r := n.beat().GetResource(); r.GetMemory() != 2048 || r.GetVirtualCores() != 3 {
		t.Errorf("the node is told %v", r)
	}
	other.register(4096, 4)
	if r := other.beat().GetResource(); r.GetMemory() != 1024 || r.GetVirtualCores() != 8 {
		t.Errorf("the new node is told %v", r)
	}
	for _, bad := range []string{"<configuration>", strings.ReplaceAll(sound, "2048", "much"), strings.ReplaceAll(sound, "2048", "-1"), strings.ReplaceAll(sound, n.id.String()+",", "nonsense,")} {
		put(bad)
		_, err := root.raw("refreshNodesResources", &pb.RefreshNodesResourcesRequest{})
		refused(t, err, yarnException, "")
	}
	if s, ok := w.term().sizeOf(n.id); !ok || s.MemoryMB != 2048 {
		t.Errorf("after a bad file: %+v", s)
	}
}

// Groups are those of the configuration.
func TestGroupsForUser(t *testing.T) {
	w := newWorld(t, twoQueues)
	name := "alice"
	r := must(w.admin("mallory"), "getGroupsForUser", &pb.GetGroupsForUserRequest{User: &name}, &pb.GetGroupsForUserResponse{})
	if got := strings.Join(r.Groups, " "); got != "users staff" {
		t.Errorf("groups of alice: %q", got)
	}
	must(w.admin(operator), "refreshUserToGroupsMappings", &pb.RefreshUserToGroupsMappingsRequest{}, &pb.RefreshUserToGroupsMappingsResponse{})
	_, err := w.admin(operator).raw("refreshServiceAcls", &pb.RefreshServiceAclsRequest{})
	refused(t, err, yarnException, "hadoop.security.authorization")
}

// There is no standby: this ResourceManager is active and stays it.
func TestHighAvailability(t *testing.T) {
	w := newWorld(t, twoQueues)
	ha := w.caller(adminPort, admin.HAName, operator, "")
	r := must(ha, "getServiceStatus", &pb.GetServiceStatusRequest{}, &pb.GetServiceStatusResponse{})
	if r.GetState() != pb.HAServiceState_ACTIVE || !r.GetReadyToBecomeActive() {
		t.Errorf("status: %v", r)
	}
	must(ha, "monitorHealth", &pb.MonitorHealthRequest{}, &pb.MonitorHealthResponse{})
	_, err := ha.raw("transitionToStandby", &pb.TransitionToStandbyRequest{ReqInfo: &pb.HAStateChangeRequestInfo{ReqSource: pb.HARequestSource_REQUEST_BY_USER.Enum()}})
	refused(t, err, serve.YarnException, "high availability")
}
