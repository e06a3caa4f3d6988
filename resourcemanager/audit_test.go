package resourcemanager

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// audits are the lines of the audit log that hold a text, without time and addresses, with " | " for tabs and short ids.
func (w *world) audits(text string) (out []string) {
	for line := range strings.Lines(w.audited.String()) {
		if strings.Contains(line, text) {
			_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "RMAuditLogger: ")
			out = append(out, shortIDs.ReplaceAllString(strings.ReplaceAll(line, "\t", " | "), "$1"))
		}
	}
	return out
}

var shortIDs = regexp.MustCompile(`application_\d+_0*(\d+)`)

// TestAudit: each change has one line that says who asked for it, from where, and what came of it.
func TestAudit(t *testing.T) {
	w := newWorld(t, twoQueues+"\nroot.acl_administer_queue NOBODY", "yarn.acl.enable", "true", "yarn.admin.acl", operator, "yarn.cluster.max-application-priority", "10")
	n := w.newNode()
	alice, bob, root := w.as("alice"), w.as("bob"), w.admin(operator)
	id := alice.submit(func(c *pb.ApplicationSubmissionContext) { c.Priority = &pb.Priority{Priority: proto.Int32(1)} })
	n.launched().register()
	app := convert.ToApplicationID(id)
	evil := "x\tRESULT=SUCCESS\n2026-11-22 02:10:04,123+0000 INFO RMAuditLogger: USER=root"
	_, err := alice.raw("submitApplication", submission(alice.newID(), inQueue(evil), func(c *pb.ApplicationSubmissionContext) { c.ApplicationTags = []string{"grün"} }))
	refused(t, err, yarnException, "Cannot submit")
	absent := convert.ToApplicationID(yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 99})
	for _, who := range []caller{bob, alice} {
		_, _ = who.raw("moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: app, TargetQueue: proto.String("other")})
		_, _ = who.raw("updateApplicationPriority", &pb.UpdateApplicationPriorityRequest{ApplicationId: app, ApplicationPriority: &pb.Priority{Priority: proto.Int32(3)}})
	}
	_, err = alice.raw("forceKillApplication", &pb.KillApplicationRequest{ApplicationId: absent})
	refused(t, err, serve.ApplicationNotFound, "absent")
	put := func(user, id string) {
		r, err := http.NewRequest(http.MethodPut, "http://"+w.d.webAddr+"/ws/v1/cluster/apps/"+id+"/state?user.name="+user, strings.NewReader(`{"state":"KILLED"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	put("bob", id.String())
	until(t, "the kill", func() bool {
		return must(alice, "forceKillApplication", &pb.KillApplicationRequest{ApplicationId: app}, &pb.KillApplicationResponse{}).GetIsKillCompleted()
	})
	must(root, "refreshQueues", &pb.RefreshQueuesRequest{}, &pb.RefreshQueuesResponse{})
	_, err = w.admin("bob").raw("refreshNodes", &pb.RefreshNodesRequest{})
	refused(t, err, yarnException, "permission")
	until(t, "the last lines", func() bool { return len(w.audits("Application Finished")) > 0 && len(w.audits("refreshNodes")) > 0 })

	const ip = " | IP=127.0.0.1 | OPERATION="
	denied := " | RESULT=FAILURE | DESCRIPTION=Unauthorized user | PERMISSIONS=User doesn't have permissions to MODIFY_APP | APPID=1"
	want := []string{
		"USER=alice" + ip + "Submit Application Request | TARGET=ClientRMService | RESULT=SUCCESS | APPID=1 | QUEUENAME=default",
		fmt.Sprintf("USER=alice"+ip+"Register App Master | TARGET=ApplicationMasterService | RESULT=SUCCESS | APPID=1 | APPATTEMPTID=%s", yarn.AttemptID{Application: id, Attempt: 1}),
		"USER=bob" + ip + "Move Application Request | TARGET=ClientRMService" + denied,
		"USER=bob" + ip + "Update Application Priority | TARGET=ClientRMService" + denied,
		"USER=alice" + ip + "Move Application Request | TARGET=ClientRMService | RESULT=SUCCESS | APPID=1",
		"USER=alice" + ip + "Update Application Priority | TARGET=ClientRMService | RESULT=SUCCESS | APPID=1",
		"USER=alice" + ip + "Kill Application Request | TARGET=ClientRMService | RESULT=FAILURE | DESCRIPTION=the application is not known | PERMISSIONS=UNKNOWN | APPID=99",
		"USER=bob" + ip + "Kill Application Request | TARGET=RMWebService" + denied,
		"USER=alice" + ip + "Kill Application Request | TARGET=ClientRMService | RESULT=SUCCESS | APPID=1",
		"USER=alice | OPERATION=Application Finished - Killed | TARGET=RMAppManager | RESULT=SUCCESS | APPID=1",
		"USER=yarn" + ip + "refreshQueues | TARGET=AdminService | RESULT=SUCCESS",
		"USER=bob" + ip + "refreshNodes | TARGET=AdminService | RESULT=FAILURE | DESCRIPTION=Unauthorized user | PERMISSIONS=",
	}
	got := w.audits("")
	for _, line := range want {
		i := slices.Index(got, line)
		if i < 0 {
			t.Errorf("there is no line\n%s", line)
			continue
		}
		got = slices.Delete(got, i, i+1)
	}
	if len(got) != 1 || !strings.HasPrefix(got[0], "USER=alice"+ip+"Submit Application Request | TARGET=ClientRMService | RESULT=FAILURE | DESCRIPTION=Exception in submitting application | PERMISSIONS=") ||
		!strings.HasSuffix(got[0], ` | APPID=2 | QUEUENAME=x\tRESULT=SUCCESS\n2026-11-22 02:10:04,123+0000 INFO RMAuditLogger: USER=root`) {
		t.Errorf("other lines:\n%s", strings.Join(got, "\n"))
	}
}

// TestAuditOfRefreshes: a refresh over the web that is refused leaves a line as one that is done does, and a dry run none.
func TestAuditOfRefreshes(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	for _, x := range []struct {
		who, path string
		status    int
	}{
		{"bob", "queues?dryRun=true&", http.StatusUnauthorized}, {operator, "nodes?dryRun=true&", http.StatusOK},
		{"bob", "queues?", http.StatusUnauthorized}, {"bob", "nodes?", http.StatusUnauthorized}, {operator, "queues?", http.StatusOK},
	} {
		answer, err := http.Post("http://"+w.d.webAddr+"/ws/v1/cluster/refresh/"+x.path+"user.name="+x.who, "application/json", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != x.status {
			t.Errorf("%s of %s: %s", x.path, x.who, answer.Status)
		}
	}
	until(t, "the last line", func() bool { return len(w.audits("RESULT=SUCCESS")) > 0 })
	const refusal = " | TARGET=AdminService | RESULT=FAILURE | DESCRIPTION=Unauthorized user | PERMISSIONS="
	want := []string{"USER=bob | IP=127.0.0.1 | OPERATION=refreshQueues" + refusal, "USER=bob | IP=127.0.0.1 | OPERATION=refreshNodes" + refusal,
		"USER=" + operator + " | IP=127.0.0.1 | OPERATION=refreshQueues | TARGET=AdminService | RESULT=SUCCESS"}
	if got := w.audits("OPERATION=refresh"); !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditOfEnds: an application that fails says why, one that succeeds just that.
func TestAuditOfEnds(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.am.max-attempts", "1")
	n := w.newNode()
	alice := w.as("alice")
	alice.submit()
	m := n.launched()
	m.register()
	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	n.finish(m.token.ID, 0)
	n.beat()
	alice.submit()
	second := n.launched()
	n.finish(second.token.ID, 7)
	n.beat()
	until(t, "both ends", func() bool { return len(w.audits("Application Finished")) == 2 })
	failed, succeeded := w.audits("Application Finished - Failed"), w.audits("Application Finished - Succeeded")
	if len(failed) != 1 || !strings.HasPrefix(failed[0], "USER=alice | OPERATION=Application Finished - Failed | TARGET=RMAppManager | RESULT=FAILURE | DESCRIPTION=App failed with state: FAILED | PERMISSIONS=") ||
		!strings.Contains(failed[0], "exitCode: 7") || !strings.HasSuffix(failed[0], " | APPID=2") {
		t.Errorf("%q", failed)
	}
	if want := []string{"USER=alice | OPERATION=Application Finished - Succeeded | TARGET=RMAppManager | RESULT=SUCCESS | APPID=1"}; !slices.Equal(succeeded, want) {
		t.Errorf("%q", succeeded)
	}
}

// TestAuditOfContainers: each container that is handed out has a line, if that is asked for.
func TestAuditOfContainers(t *testing.T) {
	w := newWorld(t, twoQueues)
	run := func() {
		n := w.newNode()
		w.as("alice").submit()
		m := n.launched()
		m.register()
		m.gets(n, 2, asks(2, 512))
	}
	run()
	w.d.Stop()
	w.audit = audit.New(&w.audited, audit.Options{Name: "resourcemanager.RMAuditLogger", Containers: true})
	t.Cleanup(w.audit.Close)
	d, err := w.start()
	if err != nil {
		t.Fatal(err)
	}
	w.d = d
	t.Cleanup(d.Stop)
	run()
	until(t, "the lines", func() bool { return len(w.audits("AM Allocated Container")) == 3 })
	for i, line := range w.audits("AM Allocated Container") {
		want := regexp.MustCompile(fmt.Sprintf(`^USER=alice \| OPERATION=AM Allocated Container \| TARGET=SchedulerApp \| RESULT=SUCCESS \| APPID=1 \| CONTAINERID=container_\d+_0001_01_%06d$`, i+1))
		if !want.MatchString(line) {
			t.Errorf("%q, want %q", line, want)
		}
	}
}

// TestAuditOfForgotten: the log says which application's end it cannot tell.
func TestAuditOfForgotten(t *testing.T) {
	w := newWorld(t, twoQueues)
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 99}
	w.term().logSummary(id)
	if got := w.audits("Application Finished"); len(got) > 0 || !strings.Contains(w.log.String(), "ended without its line") || !strings.Contains(w.log.String(), id.String()) {
		t.Errorf("%q; log: %s", got, w.log)
	}
}

// TestAuditOfReservations: a line names the reservation as Hadoop does.
func TestAuditOfReservations(t *testing.T) {
	w := newWorld(t, `
		root.queues            default,plan
		root.default.capacity  50
		root.plan.capacity     50
		root.plan.reservable   true`, "yarn.resourcemanager.reservation-system.enable", "true")
	w.newNode()
	alice := w.as("alice")
	made := must(alice, "getNewReservation", &pb.GetNewReservationRequest{}, &pb.GetNewReservationResponse{}).GetReservationId()
	now := time.Now().UnixMilli()
	definition := convert.ToReservationDefinition(&yarn.ReservationDefinition{Arrival: now, Deadline: now + 3_600_000, Interpreter: yarn.AllStages, Recurrence: "0",
		Stages: []yarn.ReservationStage{{Capability: yarn.NewResource(1024, 1), Containers: 1, Concurrency: 1, Duration: 60_000}}}, nil)
	submit := &pb.ReservationSubmissionRequest{ReservationId: made, Queue: proto.String("default"), ReservationDefinition: definition}
	_, err := alice.raw("submitReservation", submit)
	refused(t, err, yarnException, "default")
	submit.Queue = proto.String("plan")
	must(alice, "submitReservation", submit, &pb.ReservationSubmissionResponse{})
	must(alice, "deleteReservation", &pb.ReservationDeleteRequest{ReservationId: made}, &pb.ReservationDeleteResponse{})
	if status, text, _ := w.post("reservation/delete?user.name=alice", `{"reservation-delete-context":{"reservation-id":"`+convert.ReservationID(made).String()+`"}}`); status == 200 {
		t.Errorf("deleted twice: %s", text)
	}

	target := " | TARGET=ClientRMService: " + convert.ReservationID(made).String()
	var got []string
	until(t, "a line for each call", func() bool { got = w.audits("Reservation Request"); return len(got) >= 4 })
	if len(got) != 4 || !strings.Contains(got[3], "OPERATION=Delete Reservation Request"+target+" | RESULT=FAILURE | DESCRIPTION=") || !strings.Contains(got[0], "OPERATION=Submit Reservation Request"+target+" | RESULT=FAILURE | DESCRIPTION=") ||
		!strings.HasSuffix(got[1], "OPERATION=Submit Reservation Request"+target+" | RESULT=SUCCESS") ||
		!strings.HasSuffix(got[2], "OPERATION=Delete Reservation Request"+target+" | RESULT=SUCCESS") {
		t.Errorf("%q", got)
	}
}
