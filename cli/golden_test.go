package cli

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
)

// The tables in testdata were printed by Hadoop 3.5's own tools. Each test
// gives the fake ResourceManager the reports that they had been given.

const (
	cluster1 = 1795305251364
	cluster2 = 1795305895472
	trouble  = "http://localhost:22050/cluster/app/"
)

// row is a report as the list of applications shows it.
func row(n int32, name, kind, user, queue string, state pb.YarnApplicationState, final pb.FinalApplicationStatus, progress float32, url string) *pb.ApplicationReport {
	return &pb.ApplicationReport{ApplicationId: appID(cluster1, n), Name: &name, ApplicationType: &kind, User: &user, Queue: &queue,
		YarnApplicationState: &state, FinalApplicationStatus: &final, Progress: &progress, OriginalTrackingUrl: &url}
}

func listed() []*pb.ApplicationReport {
	const (
		accepted, running = pb.YarnApplicationState_ACCEPTED, pb.YarnApplicationState_RUNNING
		none              = pb.FinalApplicationStatus_APP_UNDEFINED
		fail              = pb.FinalApplicationStatus_APP_FAILED
	)
	return []*pb.ApplicationReport{
		row(9, "rest", "REST", "bob", "root.closed", pb.YarnApplicationState_FAILED, fail, 0, "N/A"),
		row(7, "rest", "REST", "bob", "root.dev", accepted, none, 0, "N/A"),
		row(8, "rest", "REST", "bob", "root.dev", accepted, none, 0, "N/A"),
		row(5, "running", "YARN", "carol", "root.prod.etl.slow", running, none, 0, "N/A"),
		row(6, "running2", "YARN", "alice", "root.prod.adhoc", running, none, 0, "N/A"),
		row(3, "rest", "REST", "bob", "root.prod.adhoc", pb.YarnApplicationState_FAILED, fail, 0, trouble+"application_1795305251364_0003"),
		row(4, "rest", "REST", "carol", "root.prod.adhoc", pb.YarnApplicationState_KILLED, pb.FinalApplicationStatus_APP_KILLED, 1, trouble+"application_1795305251364_0004"),
		row(1, "finished", "YARN", "alice", "root.prod.etl.fast", pb.YarnApplicationState_FINISHED, pb.FinalApplicationStatus_APP_SUCCEEDED, 1, "N/A"),
		row(2, "unsuccessful", "YARN", "bob", "root.prod.adhoc", pb.YarnApplicationState_FINISHED, fail, 1, "N/A"),
	}
}

// killed is the report of application-status-running.
func killed() *pb.ApplicationReport {
	r := listed()[3]
	proto.Merge(r, &pb.ApplicationReport{YarnApplicationState: pb.YarnApplicationState_KILLED.Enum(), FinalApplicationStatus: pb.FinalApplicationStatus_APP_KILLED.Enum(),
		Priority: &pb.Priority{Priority: proto.Int32(0)}, StartTime: proto.Int64(1795305374585), FinishTime: proto.Int64(1795305974130), Progress: proto.Float32(1),
		OriginalTrackingUrl: text(trouble + "application_1795305251364_0005"), RpcPort: proto.Int32(-1), Host: text("N/A"),
		AppResource_Usage: &pb.ApplicationResourceUsageReport{
			ApplicationResourceUsageMap:          seconds("memory-mb", 607937, "vcores", 1773),
			ApplicationPreemptedResourceUsageMap: seconds("memory-mb", 0, "vcores", 0)},
		LogAggregationStatus:   pb.LogAggregationStatus_LOG_SUCCEEDED.Enum(),
		Diagnostics:            text("Application application_1795305251364_0005 was killed by user carol at 127.0.0.1"),
		AppNodeLabelExpression: text("<Not set>"), AmNodeLabelExpression: text("<DEFAULT_PARTITION>"), AppTimeouts: lifetime("UNLIMITED", -1)})
	return r
}

func lifetime(expiry string, left int64) []*pb.AppTimeoutsMap {
	kind := pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum()
	return []*pb.AppTimeoutsMap{{ApplicationTimeoutType: kind, ApplicationTimeout: &pb.ApplicationTimeout{
		ApplicationTimeoutType: kind, ExpireTime: &expiry, RemainingTime: &left}}}
}

// labelled is the report of application-status-label, of a cluster with more
// types of resources.
func labelled() *pb.ApplicationReport {
	return &pb.ApplicationReport{ApplicationId: appID(cluster2, 1), Name: text("rest"), ApplicationType: text("REST"), User: text("dora"), Queue: text("root.default"),
		YarnApplicationState: pb.YarnApplicationState_ACCEPTED.Enum(), StartTime: proto.Int64(1795306182139), OriginalTrackingUrl: text("N/A"),
		RpcPort: proto.Int32(-1), Host: text("N/A"), LogAggregationStatus: pb.LogAggregationStatus_LOG_DISABLED.Enum(),
		AppResource_Usage: &pb.ApplicationResourceUsageReport{
			ApplicationResourceUsageMap:          seconds("memory-mb", 31946, "yarn.io/gpu", 0, "licence", 0, "vcores", 62),
			ApplicationPreemptedResourceUsageMap: seconds("memory-mb", 0, "licence", 0, "vcores", 0, "yarn.io/gpu", 0)},
		Diagnostics:            text("AM container is launched, waiting for AM container to Register with RM"),
		AppNodeLabelExpression: text("gpu"), AmNodeLabelExpression: text("gpu"), AppTimeouts: lifetime("2026-11-22T01:09:41.873+0000", 3535)}
}

func containers() []*pb.ContainerReport {
	var out []*pb.ContainerReport
	for _, c := range []struct {
		number, created int64
	}{{3, 1795305386000}, {1, 1795305374595}, {2, 1795305386000}} {
		id := "container_1795305251364_0005_01_00000" + string(rune('0'+c.number))
		out = append(out, &pb.ContainerReport{ContainerId: containerID(cluster1, 5, 1, c.number), NodeId: nodeID(26839), CreationTime: proto.Int64(c.created),
			ContainerState: pb.ContainerState_C_RUNNING.Enum(), NodeHttpAddress: text("http://localhost:18576"),
			LogUrl: text("http://localhost:18576/node/containerlogs/" + id + "/carol")})
	}
	return out
}

func attempt() *pb.ApplicationAttemptReport {
	return &pb.ApplicationAttemptReport{ApplicationAttemptId: attemptID(cluster1, 5, 1), Host: text("vm/127.0.0.1"), RpcPort: proto.Int32(-1),
		TrackingUrl: text("http://localhost:22050/proxy/application_1795305251364_0005/"), Diagnostics: text(""),
		YarnApplicationAttemptState: pb.YarnApplicationAttemptState_APP_ATTEMPT_RUNNING.Enum(), AmContainerId: containerID(cluster1, 5, 1, 1)}
}

func nodesOf(reports ...*pb.NodeReport) clienttest.Method {
	return clienttest.Answer(&pb.GetClusterNodesResponse{NodeReports: reports})
}

func simpleNode(port, web, containers int32) *pb.NodeReport {
	return &pb.NodeReport{NodeId: nodeID(port), HttpAddress: text("localhost:" + itoa(web)), NumContainers: &containers, NodeState: pb.NodeState_NS_RUNNING.Enum()}
}

func use(physical, virtual int32, cpu float32) *pb.ResourceUtilization {
	return &pb.ResourceUtilization{Pmem: &physical, Vmem: &virtual, Cpu: &cpu}
}

// labelledNodes are those of node-list-details; the second also of node-status.
func labelledNodes() []*pb.NodeReport {
	licence := &pb.ResourceInformation{Key: text("licence"), Value: proto.Int64(5)}
	none := &pb.ResourceInformation{Key: text("licence"), Value: proto.Int64(0)}
	a, b := simpleNode(13582, 19995, 0), simpleNode(20612, 29573, 1)
	a.Capability, a.Used, a.NodeUtilization, a.ContainersUtilization = amount(4096, 4, licence), amount(0, 0, none), use(4944, 4946, 1.9926691), use(0, 0, 0)
	b.Capability, b.Used, b.NodeUtilization, b.ContainersUtilization = amount(4096, 4, licence), amount(512, 1, none), use(4915, 4915, 1.9946808), use(1, 2, 0)
	b.NodeLabels = []string{"gpu"}
	return []*pb.NodeReport{a, b}
}

func reportedNode() *pb.NodeReport {
	n := labelledNodes()[1]
	n.RackName, n.HealthReport, n.LastHealthReportTime = text("/default-rack"), text(""), proto.Int64(1795306209091)
	n.NodeUtilization = use(4824, 4824, 1.9860046)
	n.NodeAttributes = []*pb.NodeAttribute{{AttributeKey: &pb.NodeAttributeKey{AttributeName: text("zone")}, AttributeValue: text("west")}}
	return n
}

// queueReport is a CapacityScheduler's.
func queueReport(name, path string, state pb.QueueState, capacity, current, maximum float32) *pb.QueueInfo {
	return &pb.QueueInfo{QueueName: &name, QueuePath: &path, State: &state, Capacity: &capacity, CurrentCapacity: &current, MaximumCapacity: &maximum,
		Weight: proto.Float32(-1), MaxParallelApps: proto.Int32(2147483647), SchedulerType: text("CapacityScheduler"),
		AccessibleNodeLabels: []string{"*"}, PreemptionDisabled: proto.Bool(false), IntraQueuePreemptionDisabled: proto.Bool(true)}
}

func tree() *pb.QueueInfo {
	up, down := pb.QueueState_Q_RUNNING, pb.QueueState_Q_STOPPED
	etl := queueReport("etl", "root.prod.etl", up, 0.6, 0.2977, 1)
	etl.ChildQueues = []*pb.QueueInfo{queueReport("fast", "root.prod.etl.fast", up, 0.5, 0, 1), queueReport("slow", "root.prod.etl.slow", up, 0.5, 0.5953, 1)}
	prod := queueReport("prod", "root.prod", up, 0.7, 0.4018, 0.95)
	prod.ChildQueues = []*pb.QueueInfo{etl, queueReport("adhoc", "root.prod.adhoc", up, 0.4, 0.5582, 0.8)}
	root := queueReport("root", "root", up, 1, 0.3438, 1)
	root.ChildQueues = []*pb.QueueInfo{prod, queueReport("dev", "root.dev", up, 0.2, 0.3126, 1), queueReport("closed", "root.closed", down, 0.1, 0, 1)}
	return root
}

func planQueue() *pb.QueueInfo {
	q := queueReport("plan", "root.plan", pb.QueueState_Q_RUNNING, 0.3, 0, 1)
	q.PreemptionDisabled = proto.Bool(true)
	return q
}

func fairQueue() *pb.QueueInfo {
	return &pb.QueueInfo{QueueName: text("root.prod.etl.slow"), SchedulerType: text("FairScheduler"), State: pb.QueueState_Q_RUNNING.Enum(), Weight: proto.Float32(1),
		MinResourceVCore: proto.Int32(6), MinResourceMemory: proto.Int64(777), MaxResourceMemory: proto.Int64(6144), SteadyFairShareMemory: proto.Int64(1024), SteadyFairShareVCore: proto.Int32(1),
		PreemptionDisabled: proto.Bool(true)}
}

func queueAnswer(q *pb.QueueInfo) clienttest.Method {
	return clienttest.Answer(&pb.GetQueueInfoResponse{QueueInfo: q})
}

func refusal(class string) clienttest.Method { return clienttest.Refuse(class, "gone") }

type methods = map[string]clienttest.Method

func TestTablesAreHadoops(t *testing.T) {
	for _, x := range []struct {
		golden, line string
		code         int
		methods      methods
	}{
		{"application-list-all", "application -list -appStates ALL", 0, methods{"getApplications": clienttest.Answer(&pb.GetApplicationsResponse{Applications: listed()})}},
		{"application-list-badstate", "app --list --appStates=BOGUS", 255, nil},
		{"application-status-running", "application -status application_1795305251364_0005", 0, methods{"getApplicationReport": report(killed())}},
		{"application-status-label", "application -status application_1795305895472_0001", 0, methods{"getApplicationReport": report(labelled())}},
		{"application-status-unknown", "application -status application_1_0001", 255, methods{"getApplicationReport": refusal(client.ClassApplicationNotFound)}},
		{"applicationattempt-list", "applicationattempt -list application_1795305251364_0005", 0, methods{"getApplicationAttempts": clienttest.Answer(&pb.GetApplicationAttemptsResponse{ApplicationAttempts: []*pb.ApplicationAttemptReport{attempt()}})}},
		{"applicationattempt-status", "applicationattempt -status appattempt_1795305251364_0005_000001", 0, methods{"getApplicationAttemptReport": clienttest.Answer(&pb.GetApplicationAttemptReportResponse{ApplicationAttemptReport: attempt()})}},
		{"applicationattempt-status-unknown", "applicationattempt -status appattempt_1_0001_000001", 255, methods{"getApplicationAttemptReport": refusal(client.ClassApplicationNotFound)}},
		{"container-list", "container -list appattempt_1795305251364_0005_000001", 0, methods{"getContainers": clienttest.Answer(&pb.GetContainersResponse{Containers: containers()})}},
		{"container-status", "container -status container_1795305251364_0005_01_000001", 0, methods{"getContainerReport": clienttest.Answer(&pb.GetContainerReportResponse{ContainerReport: containers()[1]})}},
		{"container-status-unknown", "container -status container_1_0001_01_000001", 255, methods{"getContainerReport": refusal(client.ClassApplicationNotFound)}},
		{"node-list", "node -list", 0, methods{"getClusterNodes": nodesOf(simpleNode(22717, 11475, 3), simpleNode(26839, 18576, 5))}},
		{"node-list-empty", "node -list", 0, methods{"getClusterNodes": nodesOf()}},
		{"node-list-badstate", "node -list -states BOGUS", 255, nil},
		{"node-list-details", "node -list -showDetails", 0, methods{"getClusterNodes": nodesOf(labelledNodes()...)}},
		{"node-status", "node -status localhost:20612", 0, methods{"getClusterNodes": nodesOf(simpleNode(1, 2, 3), reportedNode())}},
		{"queue-list-all", "queue -list ALL", 0, methods{"getQueueInfo": queueAnswer(tree())}},
		{"queue-list-one", "queue -list root.prod.etl.slow", 0, methods{"getQueueInfo": queueAnswer(queueReport("slow", "", pb.QueueState_Q_RUNNING, 0, 0, 0))}},
		{"queue-status-path", "queue -status root.prod.etl.slow", 0, methods{"getQueueInfo": queueAnswer(queueReport("slow", "root.prod.etl.slow", pb.QueueState_Q_RUNNING, 0.5, 0.5953, 1))}},
		{"queue-status-plan", "queue -status plan", 0, methods{"getQueueInfo": queueAnswer(planQueue())}},
		{"queue-status-fair", "queue -status root.prod.etl.slow", 0, methods{"getQueueInfo": queueAnswer(fairQueue())}},
		{"queue-status-unknown", "queue -status nowhere", 255, methods{"getQueueInfo": clienttest.Answer(&pb.GetQueueInfoResponse{})}},
		{"cluster-lnl", "cluster -lnl", 0, methods{"getClusterNodeLabels": clienttest.Answer(&pb.GetClusterNodeLabelsResponse{NodeLabels: []*pb.NodeLabel{
			{Name: text("ssd"), IsExclusive: proto.Bool(false)}, {Name: text("hdd"), IsExclusive: proto.Bool(false)}, {Name: text("gpu")}}})}},
		{"cluster-lna", "cluster --list-node-attributes", 0, methods{"getClusterNodeAttributes": clienttest.Answer(&pb.GetClusterNodeAttributesResponse{NodeAttributes: []*pb.NodeAttributeInfo{
			{AttributeKey: &pb.NodeAttributeKey{AttributeName: text("zone")}, AttributeType: pb.NodeAttributeType_STRING.Enum()}}})}},
	} {
		t.Run(x.golden, func(t *testing.T) {
			got := against(t, clienttest.Start(t, x.methods), strings.Fields(x.line)...)
			same(t, x.line, got.out, golden(t, x.golden))
			if got.code != x.code || got.err != "" {
				t.Errorf("exit code %d, want %d; standard error %q", got.code, x.code, got.err)
			}
		})
	}
}

func report(r *pb.ApplicationReport) clienttest.Method {
	return clienttest.Answer(&pb.GetApplicationReportResponse{ApplicationReport: r})
}

func TestUncaughtErrorsLookLikeExceptions(t *testing.T) {
	rm := clienttest.Start(t, methods{"getApplicationAttempts": clienttest.Refuse(client.ClassApplicationNotFound, "no such\n\tat Some.java:1"),
		"getClusterNodes": nodesOf()})
	for _, x := range []struct{ line, err string }{
		{"application -bogus", "org.apache.commons.cli.UnrecognizedOptionException: Unrecognized option: -bogus"},
		{"application -kill bogus", "java.lang.IllegalArgumentException: Invalid ApplicationId prefix: bogus. The valid ApplicationId should start with prefix application"},
		{"application -kill application_x_1", "java.lang.IllegalArgumentException: Invalid ApplicationId: application_x_1"},
		{"application -updateLifetime x -appId application_1_0001", `java.lang.NumberFormatException: For input string: "x"`},
		{"applicationattempt -status bogus", "java.lang.IllegalArgumentException: Invalid AppAttemptId prefix: bogus"},
		{"applicationattempt -list application_1_0001", client.ClassApplicationNotFound + ": no such"},
		{"container -status bogus", "java.lang.IllegalArgumentException: Invalid ContainerId prefix: bogus"},
		{"container -signal container_1_0001_01_000001 BOGUS", "java.lang.IllegalArgumentException: No enum constant org.apache.hadoop.yarn.api.records.SignalContainerCommand.BOGUS"},
		{"node -status nowhere", "java.lang.IllegalArgumentException: Invalid NodeId [nowhere]. Expected host:port"},
	} {
		got := against(t, rm, strings.Fields(x.line)...)
		if want := `Exception in thread "main" ` + x.err + "\n"; got.code != 1 || got.err != want || got.out != "" {
			t.Errorf("%s: %+v, want %q", x.line, got, want)
		}
	}
	if got := against(t, rm, "node", "-status", "nowhere:1"); got != (result{"Could not find the node report for node id : nowhere:1\n", "", 0}) {
		t.Errorf("%+v", got)
	}
}

// A FairScheduler leaves fields out that the table shows all the same.
func TestFairQueuesInTheTable(t *testing.T) {
	q := fairQueue()
	q.Capacity, q.ChildQueues = proto.Float32(0), []*pb.QueueInfo{fairQueue()}
	rm := clienttest.Start(t, methods{"getQueueInfo": queueAnswer(q)})
	got := against(t, rm, "queue", "-list", "root")
	if lines := strings.Split(got.out, "\n"); len(lines) != 8 || lines[5] != "| root.prod.etl.slow |    null    | RUNNING | -100.00% |       .00%       |     -100.00%     |  1.00  |          -1           |" {
		t.Errorf("%+v", got)
	}
	got = against(t, rm, "queue", "-status", "root", "--output=json")
	if !strings.Contains(got.out, `"maximum": {
      "memory-mb": 6144,
      "vcores": 6
    }`) || strings.Contains(got.out, `"minimum"`) {
		t.Errorf("%+v", got)
	}
}
