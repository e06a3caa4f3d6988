package resourcemanager

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// post is what a POST to a web service is answered.
func (w *world) post(path, body string) (status int, text, location string) {
	w.t.Helper()
	r, err := http.Post("http://"+w.d.webAddr+"/ws/v1/cluster/"+path, "application/json", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return r.StatusCode, string(b), r.Header.Get("Location")
}

// TestSubmitOverREST: a submission over REST is one like those of the client protocol, with the same rights, and it runs.
func TestSubmitOverREST(t *testing.T) {
	w := newWorld(t, twoQueues+`
		root.acl_submit_applications         NOBODY
		root.acl_administer_queue            NOBODY
		root.default.acl_submit_applications alice`, "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	n := w.newNode()
	id := w.as("alice").newID()
	app := fmt.Sprintf("application_%d_%04d", id.GetClusterTimestamp(), id.GetId())
	body := func(queue string) string {
		return fmt.Sprintf(`{"application-id":%q,"application-name":"rest","queue":%q,"priority":0,"resource":{"memory":1024,"vCores":1},
			"am-container-spec":{"commands":{"command":"sleep 5"},"environment":{"entry":{"key":"A","value":"1"}}}}`, app, queue)
	}
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"apps", body("default"), 403, "anonymous-writes"},
		{"apps?user.name=bob", body("default"), 400, ipc.ClassAccessControl + ": User bob does not have permission to submit"},
		{"apps?user.name=alice", body("other"), 400, ipc.ClassAccessControl},
		{"apps?user.name=alice", strings.Replace(body("default"), `"priority"`, `"application-tags":{"tag":"grün"},"priority"`, 1), 400, "A tag can only have ASCII characters"},
		{"apps?user.name=alice", strings.Replace(body("default"), `"priority"`, `"app-node-label-expression":"gpu","priority"`, 1), 400, "label"},
		{"apps?user.name=alice", strings.Replace(body("default"), `_0001"`, `_0000"`, 1), 400, "ApplicationId is not provided"},
		{"apps?user.name=alice", body("default"), 202, ""},
		{"apps?user.name=alice", body("default"), 202, ""}, // repeated
	} {
		status, text, location := w.post(c.path, c.body)
		if status != c.status || !strings.Contains(text, c.text) || (status == 202) != (location == "http://"+w.d.webAddr+"/ws/v1/cluster/apps/"+app) {
			t.Errorf("%s %s: %d %s, Location %q, want %d %s", c.path, c.body, status, text, location, c.status, c.text)
		}
	}
	start := n.launched()
	if got := start.run.spec.GetCommand(); !slices.Equal(got, []string{"sleep 5"}) || len(start.run.spec.GetEnvironment()) == 0 {
		t.Errorf("launched with %v", start.run.spec)
	}
	all := must(w.as("alice"), "getApplications", &pb.GetApplicationsRequest{}, &pb.GetApplicationsResponse{}).Applications
	if len(all) != 1 || all[0].GetUser() != "alice" || all[0].GetName() != "rest" || all[0].GetYarnApplicationState() != pb.YarnApplicationState_ACCEPTED {
		t.Errorf("applications %v", all)
	}
	until(t, "the audit log's lines", func() bool { return len(w.audits("Submit Application Request")) >= 2 })
	if lines := w.audits("Submit Application Request"); !strings.Contains(lines[0], "USER=bob | IP=127.0.0.1") || !strings.Contains(lines[0], "RESULT=FAILURE") {
		t.Errorf("audit log:\n%s", strings.Join(lines, "\n"))
	}
}

// TestSignalAndResizeOverREST: a signal goes to the container's node for those who may modify the application, and nodes are
// resized by administrators alone.
func TestSignalAndResizeOverREST(t *testing.T) {
	w := newWorld(t, twoQueues+"\nroot.acl_administer_queue NOBODY", "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	n := w.newNode()
	id := w.as("alice").submit()
	n.launched().register()
	container := fmt.Sprintf("container_%d_%04d_01_000001", id.ClusterTimestamp, id.Sequence)
	for _, c := range []struct {
		path, body string
		status     int
		text       string
	}{
		{"containers/" + container + "/signal/GRACEFUL_SHUTDOWN?user.name=bob", "", 403, "bob cannot perform operation MODIFY_APP"},
		{"containers/" + container + "/signal/GRACEFUL_SHUTDOWN", "", 403, "anonymous-writes"},
		{"containers/container_1_0001_01_000001/signal/GRACEFUL_SHUTDOWN?user.name=alice", "", 500, "Trying to signal an absent container container_1_0001_01_000001"},
		{"containers/" + strings.Replace(container, "_000001", "_000009", 1) + "/signal/GRACEFUL_SHUTDOWN?user.name=alice", "", 500, "Trying to signal an absent container"},
		{"containers/" + container + "/signal/GRACEFUL_SHUTDOWN?user.name=alice", "", 200, "signal success"},
		{"nodes/" + n.id.String() + "/resource?user.name=alice", `{"resource":{"memory":2048,"vCores":2}}`, 403, "doesn't have permission to call 'updateNodeResource'"},
		{"nodes/" + n.id.String() + "/resource?user.name=" + operator, `{"resource":{"memory":2048,"vCores":2}}`, 200, `"memory":2048,"vCores":2`},
	} {
		if status, text, _ := w.post(c.path, c.body); status != c.status || !strings.Contains(text, c.text) {
			t.Errorf("%s: %d %s, want %d %s", c.path, status, text, c.status, c.text)
		}
	}
	if got := w.page("/ws/v1/cluster/nodes/"+n.id.String(), 200); !strings.Contains(got, `"totalResource":{"memory":2048,"vCores":2`) {
		t.Errorf("the node: %s", got)
	}
	until(t, "the audit log's lines", func() bool { return len(w.audits("updateNodeResource")) >= 2 })
	if lines := strings.Join(w.audits("updateNodeResource"), "\n"); strings.Count(lines, "RESULT=FAILURE") != 1 || strings.Count(lines, "RESULT=SUCCESS") != 1 {
		t.Errorf("audit log:\n%s", lines)
	}
	if got := n.beat().GetContainersToSignal(); len(got) != 1 || got[0].GetCommand() != pb.SignalContainerCommand_GRACEFUL_SHUTDOWN {
		t.Errorf("signals of the node: %v", got)
	}
}
