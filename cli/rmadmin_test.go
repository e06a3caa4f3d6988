package cli

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// said keeps requests of a fake in a readable form.
type said struct{ lines []string }

func (s *said) add(format string, args ...any) (proto.Message, error) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
	return &pb.RefreshQueuesResponse{}, nil // all of these answers are empty
}

func administrator(s *said) methods {
	m := methods{
		"refreshNodes": decoded(&pb.RefreshNodesRequest{}, func(in *pb.RefreshNodesRequest) (proto.Message, error) {
			if in.DecommissionTimeout == nil {
				return s.add("nodes %s", in.GetDecommissionType())
			}
			return s.add("nodes %s %d", in.GetDecommissionType(), in.GetDecommissionTimeout())
		}),
		"updateNodeResource": decoded(&pb.UpdateNodeResourceRequest{}, func(in *pb.UpdateNodeResourceRequest) (proto.Message, error) {
			n := in.NodeResourceMap[0]
			var amounts []string
			for _, r := range n.GetResourceOption().GetResource().GetResourceValueMap() {
				amounts = append(amounts, fmt.Sprintf("%s=%d%s", r.GetKey(), r.GetValue(), r.GetUnits()))
			}
			return s.add("%s:%d %s %d", n.GetNodeId().GetHost(), n.GetNodeId().GetPort(), strings.Join(amounts, ","), n.GetResourceOption().GetOverCommitTimeout())
		}),
		"addToClusterNodeLabels": decoded(&pb.AddToClusterNodeLabelsRequest{}, func(in *pb.AddToClusterNodeLabelsRequest) (proto.Message, error) {
			var labels []string
			for _, l := range in.NodeLabels {
				labels = append(labels, fmt.Sprintf("%s:%t", l.GetName(), l.GetIsExclusive()))
			}
			return s.add("add %s", strings.Join(labels, " "))
		}),
		"removeFromClusterNodeLabels": decoded(&pb.RemoveFromClusterNodeLabelsRequest{}, func(in *pb.RemoveFromClusterNodeLabelsRequest) (proto.Message, error) {
			return s.add("remove %s", strings.Join(in.NodeLabels, " "))
		}),
		"replaceLabelsOnNodes": decoded(&pb.ReplaceLabelsOnNodeRequest{}, func(in *pb.ReplaceLabelsOnNodeRequest) (proto.Message, error) {
			var nodes []string
			for _, n := range in.NodeToLabels {
				nodes = append(nodes, fmt.Sprintf("%s:%d=%s", n.GetNodeId().GetHost(), n.GetNodeId().GetPort(), strings.Join(n.NodeLabels, ",")))
			}
			sort.Strings(nodes)
			return s.add("replace %s %t", strings.Join(nodes, " "), in.GetFailOnUnknownNodes())
		}),
		"getGroupsForUser": decoded(&pb.GetGroupsForUserRequest{}, func(in *pb.GetGroupsForUserRequest) (proto.Message, error) {
			if in.GetUser() == "alice" {
				return &pb.GetGroupsForUserResponse{Groups: []string{"staff", "ops"}}, nil
			}
			return &pb.GetGroupsForUserResponse{}, nil
		}),
	}
	for _, name := range []string{"refreshQueues", "refreshNodesResources", "refreshSuperUserGroupsConfiguration", "refreshUserToGroupsMappings",
		"refreshAdminAcls", "refreshServiceAcls", "refreshClusterMaxPriority"} {
		m[name] = func([]byte) (proto.Message, error) { return s.add("%s", name) }
	}
	return m
}

func TestAdministration(t *testing.T) {
	for _, x := range []struct {
		line, said, out, err string
		code                 int
	}{
		{line: "-refreshQueues", said: "refreshQueues"},
		{line: "-refreshNodesResources", said: "refreshNodesResources"},
		{line: "-refreshSuperUserGroupsConfiguration", said: "refreshSuperUserGroupsConfiguration"},
		{line: "-refreshUserToGroupsMappings", said: "refreshUserToGroupsMappings"},
		{line: "-refreshAdminAcls", said: "refreshAdminAcls"},
		{line: "-refreshServiceAcl", said: "refreshServiceAcls"},
		{line: "-refreshClusterMaxPriority", said: "refreshClusterMaxPriority"},
		{line: "-refreshNodes", said: "nodes DECOMMISSION_TYPE_NORMAL"},
		{line: "-refreshNodes -g 600 -server", said: "nodes GRACEFUL 600"},
		{line: "-refreshNodes --graceful -server", said: "nodes GRACEFUL -1"},
		{line: "-refreshNodes -g", err: "Usage: yarn rmadmin [-refreshNodes [-g|graceful [timeout in seconds] -client|server]]\n\nGeneric", code: 255},
		{line: "-refreshNodes -g x -server", err: "refreshNodes: Invalid timeout specified : x\nUsage: yarn rmadmin [-refreshNodes", code: 255},
		{line: "-refreshNodes -g -2 -server", err: "refreshNodes: Invalid timeout specified : -2\nUsage", code: 255},
		{line: "-refreshNodes -x", err: "refreshNodes: Unrecognized option: -x\n", code: 255},
		{line: "-refreshNodes -g -server 600", err: "refreshNodes: 600 belongs to nothing: the timeout stands right after -g", code: 255},
		{line: "-refreshNodes -server", err: "refreshNodes: -server means nothing without -g: did you mean -refreshNodes -g -server? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes -client", err: "refreshNodes: -client means nothing without -g: did you mean -refreshNodes -g -client? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes 600", err: "refreshNodes: 600 means nothing without -g: did you mean -refreshNodes -g 600 -server? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes -client 30", err: "refreshNodes: 30 -client means nothing without -g: did you mean -refreshNodes -g 30 -client? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes 600 -client -server", err: "refreshNodes: 600 -client -server means nothing without -g: did you mean -refreshNodes -g 600 -client? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes graceful 600 -server", err: "refreshNodes: graceful 600 -server means nothing without -g: did you mean -refreshNodes -g 600 -server? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshNodes extra", err: "refreshNodes: extra means nothing without -g: did you mean -refreshNodes -g -server? As it stands all containers on excluded nodes would be lost at once. Nothing was done.\n", code: 255},
		{line: "-refreshQueues extra", err: "Usage: yarn rmadmin [-refreshQueues]\n\nGeneric"},
		{line: "-getGroups", out: "alice : staff ops\n"},
		{line: "-getGroups x alice", out: "x :\nalice : staff ops\n"},
		{line: "-addToClusterNodeLabels a(exclusive=false),b,,c()", said: "add a:false b:true c:true"},
		{line: "-addToClusterNodeLabels a(x=false)", err: "addToClusterNodeLabels: " + labelForm + "\nUsage: yarn rmadmin [-addToClusterNodeLabels", code: 255},
		{line: "-addToClusterNodeLabels a(", err: "addToClusterNodeLabels: " + labelForm + "\nUsage", code: 255},
		{line: "-addToClusterNodeLabels", err: "No cluster node-labels are specified\nUsage: yarn rmadmin [-addToClusterNodeLabels <", code: 255},
		{line: "-removeFromClusterNodeLabels b,a,b", said: "remove a b"},
		{line: "-removeFromClusterNodeLabels ,", err: "removeFromClusterNodeLabels: No cluster node-labels are specified\nUsage", code: 255},
		{line: "-replaceLabelsOnNode h1=a -failOnUnknownNodes", said: "replace h1:0=a true"},
		{line: "-replaceLabelsOnNode h1:5=a\nh2,b\n#no\nh3=\nh1:5=c", said: "replace h1:5=c h2:0=b h3:0= false"},
		{line: "-replaceLabelsOnNode h=a,b", err: "replaceLabelsOnNode: 2 labels specified on host=h, please note", code: 255},
		{line: "-replaceLabelsOnNode =a", err: "replaceLabelsOnNode: node name cannot be empty\nUsage", code: 255},
		{line: "-replaceLabelsOnNode", err: "No node-to-labels mappings are specified\nUsage", code: 255},
		{line: "-updateNodeResource h:1 3500 3", said: "h:1 memory-mb=3500Mi,vcores=3 -1"},
		{line: "-updateNodeResource h:1 3500 3 900", said: "h:1 memory-mb=3500Mi,vcores=3 900"},
		{line: "-updateNodeResource h:1 memory-mb=2Gi,vcores=3,gpu=2 7", said: "h:1 memory-mb=2048Mi,vcores=3,gpu=2 7"},
		{line: "-updateNodeResource h:1 x 3", err: "Resource Types parameter specified for updateNodeResource is wrong. It should be", code: 255},
		{line: "-updateNodeResource h:1 a=b=c", err: "updateNodeResource: Invalid resource type value: (a=b=c) for", code: 255},
		{line: "-updateNodeResource h:1 memory-mb=1", err: "updateNodeResource: Invalid value for resource 'vcores'. Value cannot be 0(zero).\nUsage", code: 255},
		{line: "-updateNodeResource h:1 memory-mb=9999Ti,vcores=1", err: "updateNodeResource: Value '10484711424' for resource memory-mb is more", code: 255},
		{line: "-updateNodeResource h:1", err: "Number of parameters specified for updateNodeResource is wrong.\nUsage: yarn rmadmin [-updateNodeResource", code: 255},
		{line: "-updateNodeResource h 1 2", err: "updateNodeResource: Invalid NodeId [h]. Expected host:port\nUsage", code: 255},
		{line: "-bogus", err: "bogus: Unknown command\nUsage: yarn rmadmin\n   -refreshQueues \n   -refreshNodes [-g|graceful [timeout in seconds] -client|server]\n", code: 255},
		{line: "", err: "Usage: yarn rmadmin\n   -refreshQueues \n", code: 255},
		{line: "-help bogus", err: "Usage: yarn rmadmin\n   -refreshQueues \n"},
		{line: "-help -refreshQueues", err: "Usage: yarn rmadmin [-refreshQueues]\n"},
		{line: "-help", out: "rmadmin is the command to execute YARN administrative commands.\nThe full syntax is: \n\nyarn rmadmin [-refreshQueues] [-refreshNodes [-g"},
		{line: "-getServiceState rm1", out: "Cannot run -getServiceState when ResourceManager HA is not enabled\n", code: 255},
		{line: "-getAllServiceState", out: "Cannot run -getAllServiceState when ResourceManager HA is not enabled\n", code: 255},
	} {
		s := &said{}
		rm := clienttest.Start(t, administrator(s))
		args := strings.Split("rmadmin "+x.line, " ")
		if x.line == "" {
			args = args[:1]
		}
		got := against(t, rm, args...)
		heard := strings.Join(s.lines, "; ")
		if heard != x.said || got.code != x.code || !strings.HasPrefix(got.out, x.out) || !strings.HasPrefix(got.err, x.err) ||
			(x.out == "") != (got.out == "") || (x.err == "") != (got.err == "") {
			t.Errorf("%s: heard %q, %+v", x.line, heard, got)
		}
	}
}

func TestAdministrationRefused(t *testing.T) {
	text := "java.io.IOException: off\n\tat X.java:1\nCaused by: Y"
	rm := clienttest.Start(t, methods{"refreshServiceAcls": clienttest.Refuse(client.ClassYarn, text)})
	if got := against(t, rm, "rmadmin", "-refreshServiceAcl"); got != (result{"", "refreshServiceAcl: " + text + "\n", 255}) {
		t.Errorf("%+v", got)
	}
}

func TestGracefulDecommissionIsAwaited(t *testing.T) {
	s := &said{}
	m := administrator(s)
	left := 1
	m["checkForDecommissioningNodes"] = func([]byte) (proto.Message, error) {
		out := &pb.CheckForDecommissioningNodesResponse{}
		if left > 0 {
			left--
			out.DecommissioningNodes = []*pb.NodeId{nodeID(1), nodeID(2)}
		}
		return out, nil
	}
	got := against(t, clienttest.Start(t, m), "rmadmin", "-refreshNodes", "-g", "9", "-client")
	want := "Nodes 'localhost:1,localhost:2' are still decommissioning.\nGraceful decommissioning completed in 1 seconds.\n"
	if got != (result{want, "", 0}) || s.lines[0] != "nodes GRACEFUL 9" {
		t.Errorf("%+v %v", got, s.lines)
	}
}

// pair is two ResourceManagers, the second active.
func pair(t *testing.T, s *said) (conf string) {
	t.Helper()
	of := func(id string, state pb.HAServiceState) methods {
		return methods{
			"getServiceStatus": clienttest.Answer(&pb.GetServiceStatusResponse{State: state.Enum()}),
			"transitionToActive": decoded(&pb.TransitionToActiveRequest{}, func(in *pb.TransitionToActiveRequest) (proto.Message, error) {
				return s.add("%s active %s", id, in.GetReqInfo().GetReqSource())
			}),
			"transitionToStandby": decoded(&pb.TransitionToStandbyRequest{}, func(in *pb.TransitionToStandbyRequest) (proto.Message, error) {
				return s.add("%s standby %s", id, in.GetReqInfo().GetReqSource())
			}),
			"monitorHealth": func([]byte) (proto.Message, error) {
				if id == "rm1" {
					return nil, &ipc.RemoteError{Class: "org.apache.hadoop.ha.HealthCheckFailedException", Message: "sick\n\tat X"}
				}
				return &pb.MonitorHealthResponse{}, nil
			},
		}
	}
	one, two := clienttest.Start(t, of("rm1", pb.HAServiceState_STANDBY)), clienttest.Start(t, of("rm2", pb.HAServiceState_ACTIVE))
	return one.ConfDir(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2",
		"yarn.resourcemanager.hostname.rm1=127.0.0.1", "yarn.resourcemanager.hostname.rm2=127.0.0.1",
		"yarn.resourcemanager.admin.address.rm1="+one.Address, "yarn.resourcemanager.admin.address.rm2="+two.Address)
}

func TestHighAvailability(t *testing.T) {
	const manual = "-D yarn.resourcemanager.ha.automatic-failover.enabled=false "
	for _, x := range []struct {
		line, stdin, said, out, err string
		code                        int
	}{
		{line: "-getServiceState rm1", out: "standby\n"},
		{line: "-getServiceState rm2", out: "active\n"},
		{line: "-getServiceState rm3", err: "Illegal argument: rm3 is not a valid serviceId. It should be one of rm1 rm2 \n", code: 255},
		{line: "-getServiceState", err: "getServiceState: incorrect number of arguments\nUsage: rmadmin [-getServiceState <serviceId>]\n", code: 255},
		{line: "-checkHealth rm2"},
		{line: "-checkHealth rm1", err: "Health check failed: sick\n", code: 255},
		{line: "-transitionToActive rm1", err: "Automatic failover is enabled", code: 255},
		{line: manual + "-transitionToActive rm1", err: "transitionToActive: Node rm2 is already active\nUsage: rmadmin [-transitionToActive", code: 255},
		{line: manual + "-transitionToActive --forceactive rm1", said: "rm1 active REQUEST_BY_USER"},
		{line: manual + "-transitionToActive rm2", said: "rm2 active REQUEST_BY_USER"},
		{line: manual + "-transitionToStandby rm2", said: "rm2 standby REQUEST_BY_USER"},
		{line: "-transitionToActive --forcemanual rm2", stdin: "y\n", said: "rm2 active REQUEST_BY_USER_FORCED", err: "--forcemanual overrides"},
		{line: "-transitionToActive --forcemanual rm1", stdin: "y\n", err: "--forcemanual overrides automatic failover and can leave two active ResourceManagers.\nContinue? (Y or N) transitionToActive: Node rm2 is already active\n", code: 255},
		{line: "-transitionToStandby --forcemanual rm2", stdin: "y\n", said: "rm2 standby REQUEST_BY_USER_FORCED", err: "--forcemanual overrides"},
		{line: "-transitionToStandby --forcemanual rm2", stdin: "n\n", err: "--forcemanual overrides", code: 255},
		{line: "-transitionToStandby --what rm2", err: "transitionToStandby: incorrect arguments\nUsage", code: 255},
	} {
		s := &said{}
		w := newWorld()
		w.Stdin = strings.NewReader(x.stdin)
		got := w.run(append([]string{"--config", pair(t, s), "rmadmin"}, strings.Fields(x.line)...)...)
		if heard := strings.Join(s.lines, "; "); heard != x.said || got.code != x.code || got.out != x.out || !strings.HasPrefix(got.err, x.err) || (x.err == "") != (got.err == "") {
			t.Errorf("%s: heard %q, %+v", x.line, heard, got)
		}
	}
	got := newWorld().run("--config", pair(t, &said{}), "rmadmin", "-getAllServiceState")
	lines := strings.Split(got.out, "\n")
	if len(lines) != 3 || len(lines[0]) != 61 || !strings.HasPrefix(lines[0], "127.0.0.1:") || !strings.HasSuffix(lines[0], " standby   ") || !strings.HasSuffix(lines[1], " active    ") {
		t.Errorf("%+v", got)
	}
}
