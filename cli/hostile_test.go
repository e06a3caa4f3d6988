package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/wire/pb"
)

// TestOthersWords: whatever applications, queues and nodes are called, and
// whatever an error says, nothing steers the terminal, and no cell looks like
// another line.
func TestOthersWords(t *testing.T) {
	const evil = "\x1b]0;x\a\u009b2J\u202e\u2066\U000e0041\x7f\n\tState : FINISHED\tx"
	app := labelled()
	app.Name, app.User, app.Queue, app.ApplicationType, app.OriginalTrackingUrl, app.Host = text(evil), text(evil), text(evil), text(evil), text(evil), text(evil)
	app.Diagnostics, app.AppNodeLabelExpression, app.ApplicationTags = text("one\ntwo\x1b[2J"), text(evil), []string{evil}
	try := attempt()
	try.Host, try.TrackingUrl, try.Diagnostics = text(evil), text(evil), text("\x1b")
	node := reportedNode()
	node.RackName, node.HealthReport, node.HttpAddress, node.NodeLabels = text(evil), text("\x1b"), text(evil), []string{evil}
	node.NodeAttributes[0].AttributeValue = text(evil)
	q := queueReport(evil, evil, pb.QueueState_Q_RUNNING, 0, 0, 0)
	q.ChildQueues = []*pb.QueueInfo{queueReport(evil, evil, pb.QueueState_Q_RUNNING, 0, 0, 0)}
	kept := containers()
	kept[1].LogUrl, kept[1].NodeHttpAddress, kept[1].DiagnosticsInfo = text(evil), text(evil), text("\x1b")
	rm := clienttest.Start(t, methods{
		"getApplications": clienttest.Answer(&pb.GetApplicationsResponse{Applications: []*pb.ApplicationReport{app}}), "getApplicationReport": report(app),
		"getApplicationAttempts":      clienttest.Answer(&pb.GetApplicationAttemptsResponse{ApplicationAttempts: []*pb.ApplicationAttemptReport{try}}),
		"getApplicationAttemptReport": clienttest.Answer(&pb.GetApplicationAttemptReportResponse{ApplicationAttemptReport: try}),
		"getContainers":               clienttest.Answer(&pb.GetContainersResponse{Containers: kept}),
		"getContainerReport":          clienttest.Answer(&pb.GetContainerReportResponse{ContainerReport: kept[1]}),
		"getClusterNodes":             nodesOf(node), "getQueueInfo": queueAnswer(q),
		"getClusterNodeLabels":   clienttest.Answer(&pb.GetClusterNodeLabelsResponse{NodeLabels: []*pb.NodeLabel{{Name: text(evil)}}}),
		"failApplicationAttempt": clienttest.Refuse("org.apache.hadoop.yarn.exceptions.YarnException", "\x1b[2J\u202e"),
	})
	hidden := func(r rune) bool { return r != '\n' && r != '\t' && visible.Hides(r) }
	for _, line := range []string{"application -list", "application -status application_1795305895472_0001", "applicationattempt -list application_1795305251364_0005",
		"applicationattempt -status appattempt_1795305251364_0005_000001", "container -list appattempt_1795305251364_0005_000001",
		"container -status container_1795305251364_0005_01_000001", "node -list -all -showDetails", "node -status localhost:20612", "queue -list all", "queue -status x",
		"cluster -lnl", "applicationattempt -fail appattempt_1795305251364_0005_000001"} {
		got := against(t, rm, strings.Fields(line)...)
		both := got.out + got.err
		if at := strings.IndexFunc(both, hidden); at >= 0 {
			t.Errorf("%s: %q", line, both[max(0, at-80):min(len(both), at+80)])
		}
		if strings.Contains(both, "\n\tState : FINISHED") || !strings.Contains(both, `\u001b`) {
			t.Errorf("%s: %s", line, both)
		}
	}
	got := against(t, rm, "application", "-status", "application_1795305895472_0001")
	if !strings.Contains(got.out, "\tDiagnostics : one\ntwo\\u001b[2J\n") {
		t.Errorf("diagnostics have lost their lines: %s", got.out)
	}
	got = against(t, rm, "application", "-list", "--output=json")
	var back struct{ Applications []struct{ Name string } }
	if err := json.Unmarshal([]byte(got.out), &back); err != nil || len(back.Applications) != 1 || back.Applications[0].Name != evil || strings.ContainsFunc(got.out, hidden) {
		t.Errorf("%v %q", err, got.out)
	}
}
