package resourcemanager

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// TestReports: what reports say of applications that have no attempt, or no master here.
func TestReports(t *testing.T) {
	alice := newWorld(t, twoQueues).as("alice")

	r := alice.reaches(alice.submit(inQueue("nowhere")), pb.YarnApplicationState_FAILED)
	id := convert.ApplicationID(r.GetApplicationId()).String()
	if r.GetCurrentApplicationAttemptId().GetAttemptId() != -1 || !strings.HasSuffix(r.GetTrackingUrl(), "/proxy/"+id+"/") {
		t.Errorf("without an attempt: %v", r)
	}
	if r.AmNodeLabelExpression == nil {
		t.Error("the label of a managed master is not there")
	}

	r = alice.reaches(alice.submit(unmanaged), pb.YarnApplicationState_ACCEPTED)
	until(t, "a launched attempt", func() bool {
		r = alice.report(convert.ApplicationID(r.GetApplicationId()))
		return strings.Contains(r.GetDiagnostics(), "waiting for AM container to Register with RM")
	})
	if r.AmNodeLabelExpression != nil {
		t.Errorf("an unmanaged master has a label: %v", r)
	}
}

// TestNoResources: a master that asks for nothing is refused, unless it runs elsewhere.
func TestNoResources(t *testing.T) {
	alice := newWorld(t, twoQueues).as("alice")
	none := func(m *pb.ApplicationSubmissionContext) { m.Resource = nil }
	_, err := alice.raw("submitApplication", submission(alice.newID(), none))
	refused(t, err, serve.InvalidResource, "no resources requested for its master")
	alice.submit(none, unmanaged)
}

// TestBadTimeout: that there is no such application is said first.
func TestBadTimeout(t *testing.T) {
	alice := newWorld(t, twoQueues).as("alice")
	soon := []*pb.ApplicationUpdateTimeoutMap{{ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: proto.String("soon")}}
	_, err := alice.raw("updateApplicationTimeouts", &pb.UpdateApplicationTimeoutsRequest{ApplicationId: alice.newID(), ApplicationTimeouts: soon})
	refused(t, err, serve.ApplicationNotFound, "doesn't exist in RM")
	known := alice.newID()
	must(alice, "submitApplication", submission(known, unmanaged), &pb.SubmitApplicationResponse{})
	for want, list := range map[string][]*pb.ApplicationUpdateTimeoutMap{"invalid time \"soon\"": soon, "expected one timeout": nil} {
		_, err = alice.raw("updateApplicationTimeouts", &pb.UpdateApplicationTimeoutsRequest{ApplicationId: known, ApplicationTimeouts: list})
		refused(t, err, yarnException, want)
	}
}
