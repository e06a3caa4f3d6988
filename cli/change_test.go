package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// decoded makes a Method of a function over parsed requests.
func decoded[M proto.Message](m M, f func(M) (proto.Message, error)) clienttest.Method {
	return func(body []byte) (proto.Message, error) {
		proto.Reset(m)
		if err := proto.Unmarshal(body, m); err != nil {
			return nil, err
		}
		return f(m)
	}
}

// life answers for application 1, which runs, and 2, which has ended.
func life() methods {
	return methods{
		"getApplicationReport": decoded(&pb.GetApplicationReportRequest{}, func(in *pb.GetApplicationReportRequest) (proto.Message, error) {
			r := &pb.ApplicationReport{ApplicationId: in.ApplicationId}
			switch in.GetApplicationId().GetId() {
			case 1:
				r.YarnApplicationState = pb.YarnApplicationState_RUNNING.Enum()
			case 2:
				r.YarnApplicationState = pb.YarnApplicationState_FINISHED.Enum()
			default:
				return nil, &ipc.RemoteError{Class: client.ClassApplicationNotFound, Message: "unknown"}
			}
			return &pb.GetApplicationReportResponse{ApplicationReport: r}, nil
		}),
		"forceKillApplication": clienttest.Answer(&pb.KillApplicationResponse{IsKillCompleted: proto.Bool(true)}),
		"moveApplicationAcrossQueues": decoded(&pb.MoveApplicationAcrossQueuesRequest{}, func(in *pb.MoveApplicationAcrossQueuesRequest) (proto.Message, error) {
			if in.GetTargetQueue() != "root.b" {
				return nil, &ipc.RemoteError{Class: client.ClassYarn, Message: "no queue " + in.GetTargetQueue()}
			}
			return &pb.MoveApplicationAcrossQueuesResponse{}, nil
		}),
		"updateApplicationPriority": decoded(&pb.UpdateApplicationPriorityRequest{}, func(in *pb.UpdateApplicationPriorityRequest) (proto.Message, error) {
			n := min(in.GetApplicationPriority().GetPriority(), 10)
			return &pb.UpdateApplicationPriorityResponse{ApplicationPriority: &pb.Priority{Priority: &n}}, nil
		}),
		"updateApplicationTimeouts": decoded(&pb.UpdateApplicationTimeoutsRequest{}, func(in *pb.UpdateApplicationTimeoutsRequest) (proto.Message, error) {
			if in.ApplicationTimeouts[0].GetExpireTime() > "2026-11-22T02" {
				in.ApplicationTimeouts[0].ExpireTime = text("2026-11-22T02:00:00.000+0000")
			}
			return &pb.UpdateApplicationTimeoutsResponse{ApplicationTimeouts: in.ApplicationTimeouts}, nil
		}),
		"failApplicationAttempt": clienttest.Answer(&pb.FailApplicationAttemptResponse{}),
		"signalToContainer": decoded(&pb.SignalContainerRequest{}, func(in *pb.SignalContainerRequest) (proto.Message, error) {
			if c := in.GetCommand(); c != pb.SignalContainerCommand_FORCEFUL_SHUTDOWN {
				return nil, fmt.Errorf("signal %s", c)
			}
			return &pb.SignalContainerResponse{}, nil
		}),
	}
}

func TestChanges(t *testing.T) {
	rm := clienttest.Start(t, life())
	const one, two, three = "application_1_0001", "application_1_0002", "application_1_0003"
	for _, x := range []struct {
		line string
		out  string
		code int
	}{
		{"application -kill " + one, "Killing application " + one + "\n", 0},
		{"application -kill " + three + " " + two + " " + one, "Application with id '" + three + "' doesn't exist in RM.\nApplication " + two + " has already finished \nKilling application " + one + "\n", 0},
		{"application -kill " + three, "Application with id '" + three + "' doesn't exist in RM.\n", 255},
		{"application -movetoqueue " + one + " -queue root.b", "Moving application " + one + " to queue root.b\nSuccessfully completed move.\n", 0},
		{"application -changeQueue root.b -appId " + one, "Moving application " + one + " to queue root.b\nSuccessfully completed move.\n", 0},
		{"application -changeQueue root.x -appId " + one, "Moving application " + one + " to queue root.x\n", 1},
		{"application -changeQueue root.b -appId " + two, "Application " + two + " has already finished \n", 0},
		{"application -updatePriority 3 -appId " + one, "Updating priority of an application " + one + "\nSuccessfully updated the application " + one + " with priority '3'\n", 0},
		{"application -updatePriority 30 -appId " + one, "Updating priority of an application " + one + "\nUpdated priority of an application  " + one + " to cluster max priority OR keeping old priority as application is in final states\n", 0},
		{"application -updateLifetime 3600 -appId " + one, "Updating timeout for given timeoutType: LIFETIME of an application " + one + "\nSuccessfully updated LIFETIME of an application " + one + ". New expiry time is 2026-11-22T01:11:50.063+0000\n", 0},
		{"application -updateLifetime 7200 -appId " + one, "Updating timeout for given timeoutType: LIFETIME of an application " + one + "\nUpdated lifetime of an application  " + one + " to queue max/default lifetime. New expiry time is 2026-11-22T02:00:00.000+0000\n", 0},
		{"applicationattempt -fail appattempt_1_0001_000002", "Failing attempt appattempt_1_0001_000002 of application application_1_0001\n", 0},
		{"container -signal container_1_0001_01_000002 FORCEFUL_SHUTDOWN", "Signalling container container_1_0001_01_000002\n", 0},
		{"container -signal container_1_0001_01_000002", "Signalling container container_1_0001_01_000002\n", 1},
	} {
		got := against(t, rm, strings.Fields(x.line)...)
		if got.out != x.out || got.code != x.code || (got.err == "") != (x.code != 1) {
			t.Errorf("%s: %+v, want %d %q", x.line, got, x.code, x.out)
		}
	}
}

// What is not an action, or lacks its partner, gets the usage.
func TestMisuse(t *testing.T) {
	rm := clienttest.Start(t, nil)
	for _, x := range []struct {
		line, first, err string
		code             int
	}{
		{"application", "usage: application", "Invalid Command Usage : \n", 0},
		{"application -help", "usage: application", "", 0},
		{"application -status", "Missing argument for options\nusage: application", "", 255},
		{"application -status application_1_0001 more", "usage: application", "", 255},
		{"application -list -kill application_1_0001", "", "", 1}, // compat: -list comes first
		{"application -status application_1_0001 -kill application_1_0001", "usage: application", "", 255},
		{"application -movetoqueue application_1_0001", "usage: application", "", 255},
		{"application -changeQueue q", "usage: application", "", 255},
		{"application -updatePriority 1", "usage: application", "", 255},
		{"application -updateLifetime 1", "usage: application", "", 255},
		{"applicationattempt", "usage: applicationattempt", "Invalid Command Usage : \n", 0},
		{"applicationattempt -list application_1_0001 -help", "usage: applicationattempt", "", 255},
		{"container", "usage: container", "Invalid Command Usage : \n", 0},
		{"node", "usage: node", "Invalid Command Usage : \n", 0},
		{"node -status a:1 b", "usage: node", "", 255},
		{"queue", "usage: queue", "Invalid Command Usage : \n", 255},
		{"queue -list", "Missing argument for options\nusage: queue", "", 255},
		{"cluster", "usage: yarn cluster", "Invalid Command Usage : \n", 0},
		{"cluster -h", "usage: yarn cluster", "", 0},
	} {
		got := against(t, rm, strings.Fields(x.line)...)
		if !strings.HasPrefix(got.out, x.first) || x.code != 1 && got.err != x.err || got.code != x.code {
			t.Errorf("%s: %+v", x.line, got)
		}
	}
}

func TestUnbuiltSaysSo(t *testing.T) {
	rm := clienttest.Start(t, nil)
	for _, line := range []string{"application -status name", "application -launch a b", "container -shell container_1_0001_01_000001", "container -list name",
		"cluster -lnl -dnl", "queue -status a -subClusterId b", "router", "application -list -components x", "container -list appattempt_1_0001_000001 -version 2", "nodemanager", "sim replay x", "resourcemanager",
		"rmadmin -addToClusterNodeLabels x -directlyAccessNodeLabelStore"} {
		got := against(t, rm, strings.Fields(line)...)
		if got.code == 0 || !strings.Contains(got.err, "not built") && !strings.Contains(got.err, "not offered") || got.out != "" || rm.Methods() != "" {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := against(t, rm, "nodeattributes", "-list"); got.code != 1 || !strings.Contains(got.err, "keeps no node attributes") || !strings.Contains(got.err, "-addToClusterNodeLabels") {
		t.Errorf("nodeattributes: %+v", got)
	}
}

func TestJSON(t *testing.T) {
	yes := true
	fair := fairQueue()
	fair.PreemptionDisabled = &yes
	rm := clienttest.Start(t, methods{
		"getApplications":          clienttest.Answer(&pb.GetApplicationsResponse{Applications: listed()}),
		"getApplicationReport":     report(labelled()),
		"getApplicationAttempts":   clienttest.Answer(&pb.GetApplicationAttemptsResponse{ApplicationAttempts: []*pb.ApplicationAttemptReport{attempt()}}),
		"getContainers":            clienttest.Answer(&pb.GetContainersResponse{}),
		"getClusterNodes":          nodesOf(reportedNode()),
		"getQueueInfo":             queueAnswer(fair),
		"getClusterNodeLabels":     clienttest.Answer(&pb.GetClusterNodeLabelsResponse{NodeLabels: []*pb.NodeLabel{{Name: text("gpu")}}}),
		"getClusterNodeAttributes": clienttest.Answer(&pb.GetClusterNodeAttributesResponse{}),
	})
	for line, want := range map[string]string{
		"application -list -appTags x":                `"kind":"applications","types":[],"states":["SUBMITTED","ACCEPTED","RUNNING"],"tags":["x"],"applications":[{"id":"application_1795305251364_0009","name":"rest"`,
		"application -status application_1_0001":      `"seconds":{"memory-mb":31946,"yarn.io/gpu":0,"licence":0,"vcores":62}`,
		"applicationattempt -list application_1_0001": `"masterContainer":"container_1795305251364_0005_01_000001"`,
		"container -list appattempt_1_0001_000001":    `"containers":[]`,
		"node -status localhost:20612":                `"attributes":[{"prefix":"rm.yarn.io","name":"zone","type":"STRING","value":"west"}],"nodeUtilization":{"physicalMemoryMB":4824`,
		"node -list":                                  `"capability":{"memory-mb":4096,"vcores":4,"licence":5},"used":{"memory-mb":512,"vcores":1,"licence":0}`,
		"queue -status q":                             `"preemption":false`, // right here, wrong in the table
		"cluster -lnl":                                `"nodeLabels":[{"name":"gpu","exclusive":true}]`,
		"cluster -lna":                                `"nodeAttributes":[]`,
		"version":                                     `"hadoop":"3.5.0"`,
	} {
		got := against(t, rm, append(strings.Fields(line), "--output", "json")...)
		var flat bytes.Buffer
		if err := json.Compact(&flat, []byte(got.out)); err != nil || got.code != 0 {
			t.Errorf("%s: %v %+v", line, err, got)
			continue
		}
		if !strings.HasPrefix(flat.String(), `{"schema":"yarn.cli/1","kind":"`) || !strings.Contains(flat.String(), want) {
			t.Errorf("%s: %s\nwants %s", line, flat.String(), want)
		}
	}
	if got := against(t, rm, "application", "-kill", "application_1_0001", "--output", "json"); got.code != 1 || !strings.Contains(got.err, "lists and reports") {
		t.Errorf("%+v", got)
	}
}
