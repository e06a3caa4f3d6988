package cli

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
)

func TestWideAndYAML(t *testing.T) {
	raw := []byte(`{"schema":"yarn.cli/1","kind":"things","states":[],"things":[{"id":"a","n":1,"size":{"mb":5,"cores":1},"tags":["x","y"],"none":null},` +
		`{"id":"true","size":{"mb":7},"at":{},"list":[{"k":"v","l":2}],"more":"a\u001b\nb"}]}`)
	wide, err := wideOf(raw)
	want := "id    n  size.mb  size.cores  tags  none  at  list     more\n" +
		"a     1  5        1           x,y   -     -   -        -\n" +
		"true  -  7        -           -     -     -   k=v l=2  a\\u001b\\nb\n"
	if got := trimmed(string(wide)); err != nil || got != trimmed(want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
	out, err := yamlOf(raw)
	var back struct {
		Schema string
		Things []struct {
			ID   string
			Size struct{ MB int }
			More string
		}
	}
	if err != nil || yaml.Unmarshal(out, &back) != nil || back.Schema != "yarn.cli/1" || len(back.Things) != 2 || back.Things[1].ID != "true" || back.Things[1].More != "a\x1b\nb" {
		t.Errorf("%v %+v\n%s", err, back, out)
	}
	if !strings.HasPrefix(string(out), "schema: yarn.cli/1\nkind: things\nstates: []\nthings:\n  - id: a\n    n: 1\n") || !strings.Contains(string(out), `- id: "true"`) {
		t.Errorf("%s", out)
	}
	report, err := wideOf([]byte(`{"schema":"x","kind":"y","node":{"id":"h:1","used":{"mb":3}},"labels":[]}`))
	if err != nil || string(report) != "node.id       h:1\nnode.used.mb  3\nlabels        -\n" {
		t.Errorf("%v %q", err, report)
	}
	if empty, err := wideOf([]byte(`{"schema":"x","kind":"y","nodes":[]}`)); err != nil || len(empty) != 0 {
		t.Errorf("%v %q", err, empty)
	}
}

// trimmed drops the spaces at the ends of lines.
func trimmed(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

// Every command that lists or reports has all formats.
func TestFormatsOfLists(t *testing.T) {
	rm := clienttest.Start(t, methods{
		"getApplications":        clienttest.Answer(&pb.GetApplicationsResponse{Applications: listed()}),
		"getApplicationReport":   report(labelled()),
		"getApplicationAttempts": clienttest.Answer(&pb.GetApplicationAttemptsResponse{ApplicationAttempts: []*pb.ApplicationAttemptReport{attempt()}}),
		"getContainers":          clienttest.Answer(&pb.GetContainersResponse{Containers: containers()}),
		"getClusterNodes":        nodesOf(reportedNode()), "getQueueInfo": queueAnswer(tree()),
		"getClusterNodeLabels": clienttest.Answer(&pb.GetClusterNodeLabelsResponse{NodeLabels: []*pb.NodeLabel{{Name: text("ssd")}}}),
		"getGroupsForUser":     clienttest.Answer(&pb.GetGroupsForUserResponse{Groups: []string{"staff"}}),
	})
	for line, wide := range map[string]string{
		"application -list": "id ", "application -status application_1795305895472_0001": "application.id", "applicationattempt -list application_1795305251364_0005": "id ",
		"container -list appattempt_1795305251364_0005_000001": "id ", "node -list": "id ", "queue -list all": "name ", "cluster -lnl": "name ", "rmadmin -getGroups bob": "user ",
		"version": "hadoop",
	} {
		for _, format := range []string{"yaml", "wide"} {
			got := against(t, rm, append(strings.Fields(line), "--output", format)...)
			if got.code != 0 || got.err != "" || format == "yaml" && !strings.HasPrefix(got.out, "schema: yarn.cli/1\nkind: ") || format == "wide" && !strings.HasPrefix(got.out, wide) {
				t.Errorf("%s --output %s: %+v", line, format, got)
			}
		}
	}
}
