package resourcemanager

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// The master of an unmanaged application gets its token from the report, which
// shows it to the application's user alone, and only while it may register.
func TestUnmanagedToken(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice, bob := w.as("alice"), w.as("bob")
	id := alice.submit(unmanaged)
	var r *pb.ApplicationReport
	until(t, "the token of the unmanaged master", func() bool {
		r = alice.report(id)
		return r.AmRmToken != nil
	})
	if other := bob.report(id).AmRmToken; other != nil {
		t.Errorf("bob was given alice's token: %v", other)
	}
	login := token.Token{Identifier: r.AmRmToken.GetIdentifier(), Password: r.AmRmToken.GetPassword(), Kind: r.AmRmToken.GetKind(), Service: r.AmRmToken.GetService()}
	if login.Kind != token.KindAMRM || login.Service != "" {
		t.Errorf("token of kind %q for %q", login.Kind, login.Service)
	}
	m := &fakeMaster{caller: w.master(login)}
	m.register()
	alice.reaches(id, pb.YarnApplicationState_RUNNING)
	if again := alice.report(id).AmRmToken; again != nil {
		t.Errorf("a registered master's token is still shown: %v", again)
	}
	m.finish(pb.FinalApplicationStatus_APP_SUCCEEDED)
	alice.reaches(id, pb.YarnApplicationState_FINISHED)
}

// Real users act for others if and only if hadoop.proxyuser says so.
func TestProxyUsers(t *testing.T) {
	w := newWorld(t, twoQueues, "hadoop.proxyuser.oozie.hosts", "127.0.0.1", "hadoop.proxyuser.oozie.groups", "users",
		"hadoop.proxyuser.livy.hosts", "10.1.2.3", "hadoop.proxyuser.livy.users", "*")
	as := func(user, realUser string) caller { return w.caller(clientPort, client.Name, user, realUser) }
	id := as("alice", "oozie").submit()
	if user := w.as("alice").report(id).GetUser(); user != "alice" {
		t.Errorf("the application belongs to %s", user)
	}
	for _, c := range []struct{ user, realUser, want string }{
		{"carol", "oozie", "User: oozie is not allowed to impersonate carol"},
		{"alice", "mallory", "User: mallory is not allowed to impersonate alice"},
		{"alice", "livy", "Unauthorized connection for super-user: livy from IP 127.0.0.1"},
	} {
		_, err := as(c.user, c.realUser).raw("getNewApplication", &pb.GetNewApplicationRequest{})
		refused(t, err, ipc.ClassAuthorization, c.want)
	}
	// The rules change without a restart; who is not named in them any more is out.
	w.set("hadoop.proxyuser.oozie.groups", "guests")
	must(w.admin(operator), "refreshSuperUserGroupsConfiguration", &pb.RefreshSuperUserGroupsConfigurationRequest{}, &pb.RefreshSuperUserGroupsConfigurationResponse{})
	as("carol", "oozie").newID()
	_, err := as("alice", "oozie").raw("getNewApplication", &pb.GetNewApplicationRequest{})
	refused(t, err, ipc.ClassAuthorization, "not allowed to impersonate alice")
}

// TestRulesOutlastRefusals: rules that come with something that makes no sense change nothing.
func TestRulesOutlastRefusals(t *testing.T) {
	w := newWorld(t, twoQueues, "hadoop.proxyuser.oozie.hosts", "127.0.0.1", "hadoop.proxyuser.oozie.groups", "users", "yarn.admin.acl", operator)
	w.set("hadoop.proxyuser.oozie.groups", "*")
	w.set("yarn.admin.acl", "*")
	w.set("yarn.nm.liveness-monitor.expiry-interval-ms", "soon")
	if _, err := w.admin(operator).raw("refreshSuperUserGroupsConfiguration", &pb.RefreshSuperUserGroupsConfigurationRequest{}); err == nil {
		t.Fatal("rules for proxy users are taken from files that make no sense")
	}
	if _, err := w.admin(operator).raw("refreshAdminAcls", &pb.RefreshAdminAclsRequest{}); err == nil {
		t.Fatal("administrators are taken from files that make no sense")
	}
	w.caller(clientPort, client.Name, "alice", "oozie").newID()
	_, err := w.caller(clientPort, client.Name, "carol", "oozie").raw("getNewApplication", &pb.GetNewApplicationRequest{})
	refused(t, err, ipc.ClassAuthorization, "User: oozie is not allowed to impersonate carol")
	if _, err := w.admin("carol").raw("refreshAdminAcls", &pb.RefreshAdminAclsRequest{}); err == nil || strings.Contains(err.Error(), "soon") {
		t.Errorf("carol is an administrator: %v", err)
	}
}

// The gist of a rule for proxy users, without a network.
func TestProxyRules(t *testing.T) {
	w := newWorld(t, twoQueues, "hadoop.proxyuser.hue.hosts", "192.168.0.0/16", "hadoop.proxyuser.hue.users", "alice,bob")
	for _, c := range []struct {
		user, from string
		ok         bool
	}{{"alice", "192.168.3.4", true}, {"carol", "192.168.3.4", false}, {"bob", "192.169.0.1", false}, {"bob", "::ffff:192.168.0.9", true}} {
		if err := w.d.rights.Allow("hue", c.user, netip.MustParseAddr(c.from)); (err == nil) != c.ok {
			t.Errorf("hue as %s from %s: %v", c.user, c.from, err)
		}
	}
}

// With yarn.acl.enable the rights on queues decide who submits, sees and changes.
func TestQueueRights(t *testing.T) {
	w := newWorld(t, twoQueues+`
		root.acl_submit_applications        NOBODY
		root.acl_administer_queue           NOBODY
		root.default.acl_submit_applications alice
		root.default.acl_administer_queue   NOBODY staff`, "yarn.acl.enable", "true", "yarn.admin.acl", "root")
	alice, bob, carol, root := w.as("alice"), w.as("bob"), w.as("carol"), w.as("root")
	id := alice.submit(func(m *pb.ApplicationSubmissionContext) {
		view, modify := pb.ApplicationAccessType_APPACCESS_VIEW_APP, pb.ApplicationAccessType_APPACCESS_MODIFY_APP
		m.AmContainerSpec.Application_ACLs = []*pb.ApplicationACLMap{{AccessType: &view, Acl: proto.String("bob")}, {AccessType: &modify, Acl: proto.String(" ")}}
	})
	for _, queue := range []string{"default", "other"} {
		_, err := bob.raw("submitApplication", submission(bob.newID(), inQueue(queue)))
		refused(t, err, yarnException, ipc.ClassAccessControl+": User bob does not have permission to submit")
	}
	_, err := alice.raw("submitApplication", submission(alice.newID(), inQueue("other")))
	refused(t, err, yarnException, ipc.ClassAccessControl)

	if d := bob.report(id).GetDiagnostics(); d == view.NotAvailable {
		t.Error("bob may view the application and is not shown it")
	}
	if r := carol.report(id); r.GetDiagnostics() != view.NotAvailable || r.GetTrackingUrl() != view.NotAvailable || r.GetAppResource_Usage().GetNumUsedContainers() != -1 ||
		r.GetCurrentApplicationAttemptId().GetAttemptId() != -1 || r.GetProgress() != 0 {
		t.Errorf("carol may not view the application and is shown %v", r)
	}
	_, err = carol.raw("getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: convert.ToApplicationID(id)})
	refused(t, err, yarnException, "carol does not have privilege to see")

	kill := &pb.KillApplicationRequest{ApplicationId: convert.ToApplicationID(id)}
	for _, c := range []caller{bob, carol} {
		_, err = c.raw("forceKillApplication", kill)
		refused(t, err, yarnException, "java.security.AccessControlException: User")
	}
	_, err = alice.raw("moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: convert.ToApplicationID(id), TargetQueue: proto.String("other")})
	refused(t, err, yarnException, "User alice may not submit to queue other")
	must(root, "forceKillApplication", kill, &pb.KillApplicationResponse{}) // an administrator
	alice.reaches(id, pb.YarnApplicationState_KILLED)

	rights := map[string]string{}
	for _, q := range must(alice, "getQueueUserAcls", &pb.GetQueueUserAclsInfoRequest{}, &pb.GetQueueUserAclsInfoResponse{}).QueueUserAcls {
		rights[q.GetQueueName()] = fmt.Sprint(q.UserAcls)
	}
	// alice is of the group staff, which administers default.
	if got := fmt.Sprint(rights); got != "map[root:[] root.default:[QACL_SUBMIT_APPLICATIONS QACL_ADMINISTER_QUEUE] root.other:[]]" {
		t.Errorf("alice's rights: %s", got)
	}
}

// Rights on a queue that the configuration does not know are those above it.
func TestRightsOfUnknownQueue(t *testing.T) {
	w := newWorld(t, twoQueues+`
		root.acl_submit_applications        NOBODY
		root.acl_administer_queue           NOBODY
		root.default.acl_submit_applications alice
		root.default.acl_administer_queue   NOBODY`, "yarn.acl.enable", "true", "yarn.admin.acl", "root")
	alice := &ipc.Identity{User: "alice"}
	got := w.term().access.QueueRights(alice, []string{"root.default.made.later", "root.gone", "root", ""})
	want := []client.Rights{{Submit: true}, {}, {}, {}}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("rights %d: %+v, want %+v", i, got[i], want[i])
		}
	}
}

// Tags are bounded in number and length and are plain ASCII.
func TestTagLimits(t *testing.T) {
	w := newWorld(t, twoQueues, "yarn.resourcemanager.application.max-tags", "2", "yarn.resourcemanager.application.max-tag.length", "5")
	alice := w.as("alice")
	tagged := func(tags ...string) func(*pb.ApplicationSubmissionContext) {
		return func(m *pb.ApplicationSubmissionContext) { m.ApplicationTags = tags }
	}
	for _, c := range []struct {
		tags []string
		want string
	}{
		{[]string{"a", "b", "c"}, "Too many applicationTags, a maximum of only 2 are allowed"},
		{[]string{"sixsix"}, `Tag "sixsix" is too long, maximum allowed length of a tag is 5`},
		{[]string{"täg"}, "A tag can only have ASCII characters"},
	} {
		_, err := alice.raw("submitApplication", submission(alice.newID(), tagged(c.tags...)))
		refused(t, err, serve.YarnException, serve.IllegalArgument+": "+c.want)
	}
	id := alice.submit(tagged("Two", "ONE"))
	if tags := strings.Join(alice.report(id).ApplicationTags, " "); tags != "one two" {
		t.Errorf("tags %q, want them in lower case and in order", tags)
	}
}

// Submissions that make no sense are refused by name and leave nothing behind.
func TestBadSubmissions(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	change := func(f func(*pb.ApplicationSubmissionContext)) func(*pb.ApplicationSubmissionContext) { return f }
	for name, c := range map[string]struct {
		change      func(*pb.ApplicationSubmissionContext)
		class, want string
	}{
		"no id":      {change(func(m *pb.ApplicationSubmissionContext) { m.ApplicationId = nil }), serve.IDNotProvided, "ApplicationId is not provided"},
		"no launch":  {change(func(m *pb.ApplicationSubmissionContext) { m.AmContainerSpec = nil }), yarnException, "no launch context"},
		"long name":  {change(func(m *pb.ApplicationSubmissionContext) { m.ApplicationName = proto.String(strings.Repeat("x", 1025)) }), yarnException, "1025 bytes"},
		"long queue": {inQueue(strings.Repeat("q", 5000)), yarnException, "5000 bytes"},
		"bad tokens": {change(func(m *pb.ApplicationSubmissionContext) { m.AmContainerSpec.Tokens = []byte("HDTS\x00\x01\xff") }), yarnException, "credentials cannot be read"},
		"too large":  {change(func(m *pb.ApplicationSubmissionContext) { m.Resource = size(1<<40, 1) }), serve.InvalidResource, "memory"},
		"negative":   {change(func(m *pb.ApplicationSubmissionContext) { m.Resource = size(-5, 1) }), serve.InvalidResource, ""},
		"strange type": {change(func(m *pb.ApplicationSubmissionContext) {
			m.Resource.ResourceValueMap = []*pb.ResourceInformation{{Key: proto.String("yarn.io/gpu"), Value: proto.Int64(1)}}
		}), serve.InvalidResource, "yarn.io/gpu"},
		"no lifetime": {change(func(m *pb.ApplicationSubmissionContext) {
			m.ApplicationTimeouts = []*pb.ApplicationTimeoutMap{{ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), Timeout: proto.Int64(0)}}
		}), yarnException, "LIFETIME"},
		"two masters": {change(func(m *pb.ApplicationSubmissionContext) {
			row := &pb.ResourceRequest{ResourceName: proto.String("*"), Capability: size(256, 1), NumContainers: proto.Int32(1)}
			m.AmContainerResourceRequest = []*pb.ResourceRequest{row, row}
		}), serve.InvalidResource, "exactly one"},
		"many requests": {change(func(m *pb.ApplicationSubmissionContext) {
			m.AmContainerResourceRequest = slices.Repeat([]*pb.ResourceRequest{{ResourceName: proto.String("h"), Capability: size(256, 1)}}, 1001)
		}), serve.InvalidResource, "more than 1000 requests for the master's container"},
	} {
		t.Run(name, func(t *testing.T) {
			id := alice.newID()
			_, err := alice.raw("submitApplication", submission(id, c.change))
			refused(t, err, c.class, c.want)
			_, err = alice.raw("getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: id})
			refused(t, err, serve.ApplicationNotFound, convert.ApplicationID(id).String())
			if b := w.term().contexts.find(convert.ApplicationID(id)); b != nil {
				t.Errorf("the context of a refused submission is kept: %d bytes", len(b.bytes))
			}
		})
	}
}

// compat: an application for a queue that takes none is accepted and fails.
func TestUnknownQueue(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	for _, queue := range []string{"nowhere", "root"} {
		id := alice.submit(inQueue(queue))
		if d := alice.reaches(id, pb.YarnApplicationState_FAILED).GetDiagnostics(); !strings.Contains(d, queue) {
			t.Errorf("diagnostics of an application for %q: %q", queue, d)
		}
	}
}

// Submitting an application again succeeds and changes nothing.
func TestSubmitTwice(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	id := alice.submit()
	must(alice, "submitApplication", submission(convert.ToApplicationID(id), inQueue("other")), &pb.SubmitApplicationResponse{})
	if q := alice.report(id).GetQueue(); q != "default" && q != "root.default" {
		t.Errorf("the second submission moved the application to %s", q)
	}
}

// What is not there is named by the exception that Hadoop's clients know.
func TestUnknownThings(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	known := convert.ToApplicationID(alice.submit())
	unknown := &pb.ApplicationId{ClusterTimestamp: proto.Int64(1), Id: proto.Int32(2)}
	attempt := func(app *pb.ApplicationId, n int32) *pb.ApplicationAttemptId {
		return &pb.ApplicationAttemptId{ApplicationId: app, AttemptId: &n}
	}
	container := func(a *pb.ApplicationAttemptId) *pb.ContainerId {
		return &pb.ContainerId{AppAttemptId: a, Id: proto.Int64(9)}
	}
	const (
		app        = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
		attempts   = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
		container1 = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
	)
	for _, c := range []struct {
		method  string
		request proto.Message
		class   string
	}{
		{"getApplicationReport", &pb.GetApplicationReportRequest{ApplicationId: unknown}, app},
		{"getApplicationReport", &pb.GetApplicationReportRequest{}, app},
		{"forceKillApplication", &pb.KillApplicationRequest{ApplicationId: unknown}, app},
		{"failApplicationAttempt", &pb.FailApplicationAttemptRequest{ApplicationAttemptId: attempt(unknown, 1)}, app},
		{"moveApplicationAcrossQueues", &pb.MoveApplicationAcrossQueuesRequest{ApplicationId: unknown, TargetQueue: proto.String("other")}, app},
		{"updateApplicationPriority", &pb.UpdateApplicationPriorityRequest{ApplicationId: unknown, ApplicationPriority: convert.ToPriority(1)}, app},
		{"getApplicationAttempts", &pb.GetApplicationAttemptsRequest{ApplicationId: unknown}, app},
		{"getApplicationAttemptReport", &pb.GetApplicationAttemptReportRequest{ApplicationAttemptId: attempt(unknown, 1)}, app},
		{"getApplicationAttemptReport", &pb.GetApplicationAttemptReportRequest{ApplicationAttemptId: attempt(known, 5)}, attempts},
		{"failApplicationAttempt", &pb.FailApplicationAttemptRequest{ApplicationAttemptId: attempt(known, 5)}, attempts},
		{"getContainers", &pb.GetContainersRequest{ApplicationAttemptId: attempt(known, 5)}, attempts},
		{"getContainerReport", &pb.GetContainerReportRequest{ContainerId: container(attempt(known, 1))}, container1},
		{"signalToContainer", &pb.SignalContainerRequest{ContainerId: container(attempt(known, 1)), Command: pb.SignalContainerCommand_OUTPUT_THREAD_DUMP.Enum()}, yarnException},
	} {
		says := ""
		if c.class == attempts {
			says = "ApplicationAttempt with id 'appattempt_"
		}
		_, err := alice.raw(c.method, c.request)
		refused(t, err, c.class, says)
	}
}

// Lists of applications are filtered; the filter is bounded.
func TestApplicationList(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice, bob := w.as("alice"), w.as("bob")
	first := alice.submit(func(m *pb.ApplicationSubmissionContext) {
		m.ApplicationType, m.ApplicationTags = proto.String("a type of more than twenty letters"), []string{"Mine"}
	})
	second := bob.submit(inQueue("other"))
	for name, c := range map[string]struct {
		q    *pb.GetApplicationsRequest
		want string
	}{
		"all":             {&pb.GetApplicationsRequest{}, fmt.Sprint(second, first)},
		"newest":          {&pb.GetApplicationsRequest{Limit: proto.Int64(1)}, second.String()},
		"none":            {&pb.GetApplicationsRequest{Limit: proto.Int64(0)}, ""},
		"by user":         {&pb.GetApplicationsRequest{Users: []string{"alice"}}, first.String()},
		"by queue":        {&pb.GetApplicationsRequest{Queues: []string{"other"}}, second.String()},
		"by path":         {&pb.GetApplicationsRequest{Queues: []string{"root.other", "nowhere"}}, second.String()},
		"by parent":       {&pb.GetApplicationsRequest{Queues: []string{"root"}}, fmt.Sprint(second, first)},
		"by type":         {&pb.GetApplicationsRequest{ApplicationTypes: []string{"A TYPE OF MORE THAN twenty letters"}}, first.String()},
		"by tag":          {&pb.GetApplicationsRequest{ApplicationTags: []string{"MINE"}}, first.String()},
		"own":             {&pb.GetApplicationsRequest{Scope: pb.ApplicationsRequestScope_OWN.Enum()}, first.String()},
		"in no state":     {&pb.GetApplicationsRequest{ApplicationStates: []pb.YarnApplicationState{99}}, ""},
		"started earlier": {&pb.GetApplicationsRequest{StartEnd: proto.Int64(1)}, ""},
	} {
		var got []any
		for _, a := range must(alice, "getApplications", c.q, &pb.GetApplicationsResponse{}).Applications {
			got = append(got, convert.ApplicationID(a.ApplicationId))
		}
		if text := fmt.Sprint(got...); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
	_, err := alice.raw("getApplications", &pb.GetApplicationsRequest{Users: make([]string, client.MaxFilters+1)})
	refused(t, err, yarnException, "at most")
}

// Where a list names no groups, none are looked up.
func TestGroupsAreSpared(t *testing.T) {
	r := &rights{}
	for _, text := range []string{"*", "alice", "alice,bob ", " "} {
		if got := r.groupsFor(yarn.ParseACL(text), "alice"); got != nil { // looking up would panic: there is nothing to ask
			t.Errorf("%q: %v", text, got)
		}
	}
}

// Stock clients catch YarnException, and find what it wraps at the head of its text.
func TestExceptionsAreWrapped(t *testing.T) {
	w := newWorld(t, twoQueues)
	alice := w.as("alice")
	forged := must(alice, "getDelegationToken", &pb.GetDelegationTokenRequest{Renewer: proto.String("yarn")}, &pb.GetDelegationTokenResponse{}).Token
	forged.Password = []byte("guessed")
	for _, c := range []struct {
		method string
		in     proto.Message
		wraps  string
	}{
		{"renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: aToken}, ipc.ClassInvalidToken},
		{"cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: aToken}, ipc.ClassInvalidToken},
		{"renewDelegationToken", &pb.RenewDelegationTokenRequest{Token: forged}, ipc.ClassAccessControl},
		{"cancelDelegationToken", &pb.CancelDelegationTokenRequest{Token: forged}, ipc.ClassAccessControl},
	} {
		_, err := alice.raw(c.method, c.in)
		refused(t, err, serve.YarnException, c.wraps+": ")
	}
}
