package resourcemanager

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
)

// deletes asks for the deletion of a queue, and returns its path or the refusal.
func (w *world) deletes(user, queue string) (status int, text string) {
	w.t.Helper()
	var x struct {
		Deleted         struct{ QueuePath string }
		RemoteException struct{ Message string }
	}
	status = w.web(http.MethodDelete, "queues/"+queue+"?"+user, "", &x)
	return status, x.Deleted.QueuePath + x.RemoteException.Message
}

// TestQueuesAreDeletedOnRequest of those who administer them or the cluster, and only if nobody uses them.
func TestQueuesAreDeletedOnRequest(t *testing.T) {
	t.Parallel()
	w, _ := newFairWorld(t, `<allocations>
		<queue name="root"><aclSubmitApps>*</aclSubmitApps><aclAdministerApps> </aclAdministerApps>
			<queue name="teams" type="parent"><aclAdministerApps>carol</aclAdministerApps></queue>
		</queue></allocations>`, "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	alice := w.as("alice")
	for _, queue := range []string{"root.teams.a", "root.teams.b", "root.other"} {
		id := alice.submit(unmanaged, inQueue(queue))
		alice.reaches(id, pb.YarnApplicationState_ACCEPTED)
		if queue == "root.teams.b" {
			continue
		}
		_, err := alice.raw("forceKillApplication", &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)})
		if err != nil {
			t.Fatal(err)
		}
		alice.reaches(id, pb.YarnApplicationState_KILLED)
	}
	const denied = http.StatusUnauthorized
	for _, c := range []struct {
		user, queue string
		status      int
		text        string
	}{
		{"", "root.other", http.StatusForbidden, ""},
		{"user.name=alice", "root.teams.a", denied, "alice is neither."},
		{"user.name=carol", "root.other", denied, "carol is neither."},
		{"user.name=carol", "root.teams.b", http.StatusBadRequest, "the queue root.teams.b is not deleted: it has 1 application"},
		{"user.name=carol", "teams", http.StatusBadRequest, "the queue root.teams is not deleted: the allocation file names it"},
		{"user.name=carol", "teams.a", http.StatusOK, "root.teams.a"},
		{"user.name=carol", "teams.a", http.StatusNotFound, "there is no queue teams.a"},
		{"user.name=" + operator, "root.other", http.StatusOK, "root.other"},
		{"user.name=" + operator, "root.a%2Fb%20c", http.StatusNotFound, "there is no queue root.a/b c"},
		{"user.name=" + operator, "root.users.%3Cb%3E%E2%80%AE", http.StatusNotFound, `there is no queue root.users.<b>` + "\u202e"},
	} {
		if status, text := w.deletes(c.user, c.queue); status != c.status || !strings.HasSuffix(text, c.text) {
			t.Errorf("%s deletes %s: %d %s", c.user, c.queue, status, text)
		}
	}
	if alice.hasQueue("root.teams.a") || alice.hasQueue("root.other") || !alice.hasQueue("root.teams.b") {
		t.Error("other queues are there than those that were not deleted")
	}
	for _, want := range []string{"USER=carol | IP=127.0.0.1 | OPERATION=deleteQueue | TARGET=AdminService | RESULT=SUCCESS | QUEUENAME=teams.a",
		"USER=alice | IP=127.0.0.1 | OPERATION=deleteQueue | TARGET=AdminService | RESULT=FAILURE | DESCRIPTION=Unauthorized user",
		"RESULT=FAILURE | DESCRIPTION=the queue root.teams.b is not deleted: it has 1 application"} {
		until(t, "the line "+want, func() bool { return strings.Contains(strings.Join(w.audits("OPERATION=deleteQueue"), "\n"), want) })
	}
}

// TestNoDeletion: other schedulers delete no queues on request.
func TestNoDeletion(t *testing.T) {
	w := newWorld(t, twoQueues)
	if status, text := w.deletes("user.name="+operator, "default"); status != http.StatusBadRequest ||
		text != "the queue root.default is not deleted: only the FairScheduler deletes queues on request" {
		t.Errorf("%d %s", status, text)
	}
}
