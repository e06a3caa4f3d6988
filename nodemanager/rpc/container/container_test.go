package container

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Only a genuine token for this node lets anybody do anything.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	id := func(change func(*token.NM)) []byte {
		x := token.NM{Attempt: attempt, Node: node, Submitter: "ann", KeyID: nodeKey.ID}
		change(&x)
		return x.Append(nil)
	}
	as := func(identifier []byte, key secrets.Key) error {
		m := w.with(&ipc.Token{Identifier: identifier, Password: token.Sign(key.Bytes, identifier), Kind: token.KindNM})
		_, err := m.start(request(1))
		return err
	}
	good := id(func(*token.NM) {})
	refused(t, as(id(func(x *token.NM) { x.KeyID++ }), nodeKey), ipc.ClassInvalidToken, "seems to have been generated illegally")
	if err := as(good, nodeKey); err != nil {
		t.Fatal(err)
	}
	refused(t, as([]byte("rubbish"), nodeKey), ipc.ClassInvalidToken, "")
	if err := as(good, theKey); err == nil {
		t.Error("a forged token is good")
	}
	if _, err := w.with(nil).start(request(1)); err == nil {
		t.Error("no token is good")
	}
	elsewhere := id(func(x *token.NM) { x.Node.Port++ })
	m := w.with(&ipc.Token{Identifier: elsewhere, Password: token.Sign(nodeKey.Bytes, elsewhere), Kind: token.KindNM})
	signal, err := proto.Marshal(&pb.SignalContainerRequest{ContainerId: convert.ToContainerID(number(1)), Command: pb.SignalContainerCommand_FORCEFUL_SHUTDOWN.Enum()})
	if err != nil {
		t.Fatal(err)
	}
	for method, body := range map[string][]byte{"startContainers": nil, "stopContainers": nil, "getContainerStatuses": nil, "signalToContainer": signal,
		"updateContainer": nil, "increaseContainersResource": nil} {
		_, err := m.raw(method, body)
		refused(t, err, ipc.ClassInvalidToken, "is not valid for current node manager.expected : n1:45454 found : n1:45455")
	}
}

// The validation matrix: what is wrong with one container fails that container.
func TestStartRefusals(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	many := &pb.ContainerLaunchContext{}
	for range MaxResources + 1 {
		many.LocalResources = append(many.LocalResources, &pb.StringLocalResourceMap{Key: proto.String("a"), Value: localResource("/a")})
	}
	data := func(service, value string) *pb.ContainerLaunchContext {
		return &pb.ContainerLaunchContext{ServiceData: []*pb.StringBytesMap{{Key: &service, Value: []byte(value)}}}
	}
	without := func(change func(*pb.LocalResource)) *pb.LocalResource {
		r := localResource("/a")
		change(r)
		return r
	}
	for _, x := range []struct {
		r     *pb.StartContainerRequest
		class string
		text  string
	}{
		{request(1, func(c *token.Container) { c.ID.Attempt = other }), serve.YarnException, "Unauthorized request to start container.\nNMToken for application attempt : " +
			attempt.String() + " was used for starting container with container token issued for application attempt : " + other.String()},
		{request(2, func(c *token.Container) { c.Expires = time.Now().UnixMilli() - 1 }), serve.YarnException, "This token is expired. current time is "},
		{request(3, func(c *token.Container) { c.Expires = -1 << 63 }), serve.YarnException, "This token is expired"},
		{request(4, func(c *token.Container) { c.Issuer-- }), serve.InvalidContainer, "Container " + number(4).String() + " rejected as it is allocated by a previous RM"},
		{request(5, func(c *token.Container) { c.Submitter = "../x" }), serve.YarnException, "cannot have directories"},
		{request(6, func(c *token.Container) { c.Submitter = "" }), serve.YarnException, "cannot have directories"},
		{request(7, func(c *token.Container) { c.Submitter = ".." }), serve.YarnException, "cannot have directories"},
		{request(8, func(c *token.Container) { c.Submitter = "ann\nbob" }), serve.YarnException, "cannot have directories"},
		{request(9, func(c *token.Container) { c.Submitter = strings.Repeat("a", 256) }), serve.YarnException, "cannot have directories"},
		{launching(10, data("spark_shuffle", "x")), serve.InvalidAuxService, "The auxService:spark_shuffle does not exist"},
		{launching(11, data("mapreduce_shuffle", "rubbish")), serve.YarnException, "the auxiliary service mapreduce_shuffle refuses " + number(11).String() + ": this is no token"},
		{launching(12, many), serve.YarnException, "10001 local resources; at most 10000"},
		{launching(13, &pb.ContainerLaunchContext{Tokens: []byte("HDTS\x00\x7f")}), serve.YarnException, "cannot read the credentials"},
		{resourced(14, "a", nil), serve.YarnException, "Null resource URL for local resource a"},
		{resourced(15, "a", without(func(r *pb.LocalResource) { r.Resource = nil })), serve.YarnException, "Null resource URL for local resource a"},
		{resourced(16, "a", without(func(r *pb.LocalResource) { r.Type = nil })), serve.YarnException, "Null resource type for local resource a"},
		{resourced(17, "a", without(func(r *pb.LocalResource) { r.Visibility = nil })), serve.YarnException, "Null resource visibility for local resource a"},
		{resourced(18, "a", without(func(r *pb.LocalResource) { r.Visibility = pb.LocalResourceVisibility(9).Enum() })), serve.YarnException, "visibility"},
		{resourced(19, "../../x", localResource("/a")), serve.YarnException, "leads out of the container's working directory"},
		{resourced(20, "a/../../x", localResource("/a")), serve.YarnException, "leads out of the container's working directory"},
	} {
		out, err := m.start(x.r)
		if err != nil || len(out.SucceededRequests) != 0 || len(out.FailedRequests) != 1 {
			t.Errorf("%s: %v %v", x.text, out, err)
			continue
		}
		got := out.FailedRequests[0].Exception
		if got.GetClassName() != x.class || !strings.Contains(got.GetMessage(), x.text) {
			t.Errorf("got %s: %s\nwant %s: %s", got.GetClassName(), got.GetMessage(), x.class, x.text)
		}
	}
	w.sync()
	if n := len(w.loop.Containers()); n != 0 || len(w.given()) != 0 {
		t.Errorf("%d containers; services have %v", n, w.given())
	}
	// what was refused has used no token up
	for n := range int64(20) {
		m.started(request(n + 1))
	}
}

// What is wrong with a token fails the whole call, before anything is started.
func TestStartForged(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	forged := request(2)
	forged.ContainerToken.Password[0]++
	changed := request(2)
	changed.ContainerToken = signed(theKey, 2, func(c *token.Container) { c.Master = true })
	changed.ContainerToken.Password = request(2).ContainerToken.Password
	for text, bad := range map[string]*pb.StartContainerRequest{
		"Invalid container token used for starting container on : n1:45454":                                                                 forged,
		"Invalid container token used":                                                                                                      changed,
		"Given Container " + number(2).String() + " seems to have an illegally generated token.":                                            {ContainerToken: signed(secrets.Key{ID: 5, Bytes: []byte("x")}, 2)},
		"Given Container " + number(2).String() + " identifier is not valid for current Node manager. Expected : n1:45454 Found : n2:45454": request(2, func(c *token.Container) { c.NodeAddress = "n2:45454" }),
		"reading": {ContainerToken: &pb.Token{Identifier: []byte("rubbish"), Password: []byte{}, Kind: proto.String(""), Service: proto.String("")}},
		"":        {},
	} {
		_, err := m.start(request(1), bad)
		refused(t, err, ipc.ClassInvalidToken, text)
	}
	w.sync()
	if n := len(w.loop.Containers()); n != 0 {
		t.Errorf("%d containers were started", n)
	}
	_, err := m.start(slices.Repeat([]*pb.StartContainerRequest{{}}, MaxContainers+1)...)
	refused(t, err, serve.YarnException, "startContainers names 10001 containers; at most 10000")
	out, err := m.start()
	if err != nil || len(out.ServicesMetaData) != 2 {
		t.Errorf("no containers: %v %v", out, err)
	}
}

// One call with good and bad containers: each has its own outcome, and all services' metadata come along.
func TestStartPartly(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	late := request(3, func(c *token.Container) { c.Expires = 1 })
	secondAttempt := request(4, func(c *token.Container) { c.ID.Attempt.Attempt = 2 })
	withData := launching(5, &pb.ContainerLaunchContext{ServiceData: []*pb.StringBytesMap{{Key: proto.String("mapreduce_shuffle"), Value: []byte("job token")}}})
	out, err := m.start(request(1), request(2), late, request(1), secondAttempt, withData, &pb.StartContainerRequest{ContainerToken: signed(theKey, 6)})
	if err != nil {
		t.Fatal(err)
	}
	var good []int64
	for _, id := range convert.ContainerIDs(out.SucceededRequests) {
		good = append(good, id.Number)
	}
	if slices.Sort(good); !slices.Equal(good, []int64{1, 2, 4, 5, 6}) || len(out.FailedRequests) != 2 {
		t.Errorf("%v", out)
	}
	failed(t, out.FailedRequests, 3, serve.YarnException, "expired")
	failed(t, out.FailedRequests, 1, serve.YarnException, number(1).String()) // it runs already, or its token is used up: whichever shows first
	if len(out.ServicesMetaData) != 2 || out.ServicesMetaData[1].GetKey() != "mapreduce_shuffle" || string(out.ServicesMetaData[1].Value) != "\x00\x00\x34\xfa" {
		t.Errorf("%v", out.ServicesMetaData)
	}
	if got := w.given(); len(got) != 1 || got["7/ann/mapreduce_shuffle"] != "job token" {
		t.Errorf("services have %v", got)
	}
}

// A token starts its container once: while it runs, after its end, and after it was forgotten.
func TestReplay(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	r := request(1)
	m.started(r)
	again := func() {
		t.Helper()
		out, err := m.start(r)
		if err != nil {
			t.Fatal(err)
		}
		failed(t, out.FailedRequests, 1, serve.YarnException, "Unauthorized request to start container.\n Attempt to relaunch the same container with id "+number(1).String()+".")
	}
	again()
	w.loop.Post(engine.Exited{ID: number(1)})
	w.sync()
	again()
	w.loop.Post(engine.Orders{Forget: []yarn.ContainerID{number(1)}})
	w.sync()
	again()
	if w.loop.Container(number(1)) != nil {
		t.Error("it is there again")
	}
}

// Containers of an application that ends are refused before any service hears of them.
func TestStartOfEnded(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	m.started(request(1))
	w.loop.Post(engine.Orders{Finish: []yarn.ApplicationID{app}})
	w.sync()
	out, err := m.start(launching(2, &pb.ContainerLaunchContext{ServiceData: []*pb.StringBytesMap{{Key: proto.String("another"), Value: []byte("x")}}}))
	if err != nil {
		t.Fatal(err)
	}
	failed(t, out.FailedRequests, 2, serve.YarnException, "application_1700000000000_0007 has ended")
	if got := w.given(); len(got) != 0 {
		t.Errorf("services have %v", got)
	}
}

// A node that is not registered starts nothing, and says that it may later.
func TestNotRegistered(t *testing.T) {
	w := newWorld(t)
	w.issuer.Store(0)
	m := w.master(attempt)
	_, err := m.start(request(1))
	refused(t, err, serve.NotYetReady, "has not yet connected with ResourceManager")
	w.issuer.Store(issuer)
	m.started(request(1))
}

// Keys roll: who has started a container goes on with an old token, who has not does not; the others' tokens end.
func TestKeysRoll(t *testing.T) {
	w := newWorld(t)
	m, idle := w.master(attempt), w.master(other)
	m.started(request(1))
	if _, err := idle.start(); err != nil { // it has logged in
		t.Fatal(err)
	}
	next := secrets.Key{ID: 23, Bytes: []byte("next")}
	w.keys.SetContainerKey(next)
	m.started(request(2), &pb.StartContainerRequest{ContainerToken: signed(next, 3)})
	w.keys.SetContainerKey(secrets.Key{ID: 24, Bytes: []byte("last")})
	_, err := m.start(request(4))
	refused(t, err, ipc.ClassInvalidToken, "illegally generated")
	w.keys.SetNodeKey(secrets.Key{ID: 12, Bytes: []byte("x")})
	w.keys.SetNodeKey(secrets.Key{ID: 13, Bytes: []byte("y")})
	m.started(&pb.StartContainerRequest{ContainerToken: signed(next, 5)})
	w.master(attempt).started(&pb.StartContainerRequest{ContainerToken: signed(next, 6)}) // logs in anew
	_, err = idle.start()
	refused(t, err, ipc.ClassInvalidToken, "Older NMToken should not be used while starting the container.")
	_, err = w.master(other).start()
	refused(t, err, ipc.ClassInvalidToken, "generated illegally")
}

// Statuses tell all that a master may know, of its own application's containers.
func TestStatuses(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	m.started(request(1), request(2))
	w.loop.Post(engine.Launched{ID: number(1), PID: 77})
	w.loop.Post(engine.Exited{ID: number(2), Code: 3, Text: "it broke"})
	w.sync()
	out := &pb.GetContainerStatusesResponse{}
	ask := &pb.GetContainerStatusesRequest{ContainerId: convert.ToContainerIDs([]yarn.ContainerID{number(1), number(2), number(3), {Attempt: other, Number: 1}, {}})}
	if err := m.call("getContainerStatuses", ask, out); err != nil || len(out.Status) != 2 || len(out.FailedRequests) != 3 {
		t.Fatalf("%v %v", out, err)
	}
	one, two := out.Status[0], out.Status[1]
	if one.GetState() != pb.ContainerState_C_RUNNING || one.GetExitStatus() != -1000 || one.GetContainerSubState() != pb.ContainerSubState_CSS_RUNNING ||
		one.GetCapability().GetMemory() != 1024 || one.GetExecutionType() != pb.ExecutionType_GUARANTEED || one.ContainerAttributes[0].GetValue() != "n1" {
		t.Errorf("running: %v", one)
	}
	if two.GetState() != pb.ContainerState_C_COMPLETE || two.GetExitStatus() != 3 || two.GetContainerSubState() != pb.ContainerSubState_CSS_DONE || !strings.Contains(two.GetDiagnostics(), "it broke") {
		t.Errorf("ended: %v", two)
	}
	failed(t, out.FailedRequests, 3, serve.YarnException, "Container "+number(3).String()+" is not handled by this NodeManager")
	if got := out.FailedRequests[1].Exception.GetMessage(); got != attempt.String()+" attempted to get status for non-application container : "+(yarn.ContainerID{Attempt: other, Number: 1}).String() {
		t.Errorf("another's: %s", got)
	}
	ask.ContainerId = slices.Repeat(ask.ContainerId[:1], MaxContainers+1)
	refused(t, m.call("getContainerStatuses", ask, out), serve.YarnException, "at most 10000")
}

// Masters stop their own containers, however often, and hear which ones they cannot.
func TestStop(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	m.started(request(1), resourced(2, "a", localResource("/a")))
	stop := func(ids ...yarn.ContainerID) *pb.StopContainersResponse {
		t.Helper()
		out := &pb.StopContainersResponse{}
		if err := m.call("stopContainers", &pb.StopContainersRequest{ContainerId: convert.ToContainerIDs(ids)}, out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	out := stop(number(1), number(2), number(1), number(3), yarn.ContainerID{Attempt: other, Number: 1})
	if len(out.SucceededRequests) != 3 || len(out.FailedRequests) != 2 {
		t.Errorf("%v", out)
	}
	failed(t, out.FailedRequests, 3, serve.YarnException, "is not handled by this NodeManager")
	if one, two := w.loop.Container(number(1)), w.loop.Container(number(2)); one.State != "KILLING" || two.Exit != engine.KilledByMaster {
		t.Errorf("%+v, %+v", one, two)
	}
	w.loop.Post(engine.Exited{ID: number(1), Code: 143})
	w.loop.Post(engine.Orders{Forget: []yarn.ContainerID{number(1), number(2)}})
	w.sync()
	if out = stop(number(1), number(2)); len(out.SucceededRequests) != 2 {
		t.Errorf("containers that have ended: %v", out)
	}
	if err := m.call("stopContainers", &pb.StopContainersRequest{ContainerId: make([]*pb.ContainerId, MaxContainers+1)}, out); err == nil {
		t.Error("too many")
	}
}

// A signal reaches a running container of the caller's application.
func TestSignal(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	m.started(request(1))
	w.loop.Post(engine.Launched{ID: number(1)})
	signal := func(id yarn.ContainerID) error {
		return m.call("signalToContainer", &pb.SignalContainerRequest{ContainerId: convert.ToContainerID(id), Command: pb.SignalContainerCommand_GRACEFUL_SHUTDOWN.Enum()},
			&pb.SignalContainerResponse{})
	}
	if err := signal(number(1)); err != nil {
		t.Error(err)
	}
	refused(t, signal(number(2)), serve.YarnException, "is not running on this NodeManager")
	refused(t, signal(yarn.ContainerID{Attempt: other, Number: 1}), serve.YarnException, "attempted to signal non-application container")
	w.sync()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.effects[len(w.effects)-1]; got != (engine.Deliver{ID: number(1), Signal: int32(pb.SignalContainerCommand_GRACEFUL_SHUTDOWN)}) {
		t.Errorf("%#v", got)
	}
}

// An update needs a newer token of a container that is there; the older form of the call does the same.
func TestUpdate(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	m.started(request(1), request(2))
	larger := func(version int32) func(*token.Container) {
		return func(c *token.Container) { c.Version, c.Resource = version, yarn.NewResource(1024+int64(version), 2) }
	}
	out := &pb.ContainerUpdateResponse{}
	err := m.call("updateContainer", &pb.ContainerUpdateRequest{UpdateContainerToken: []*pb.Token{signed(theKey, 1, larger(2)), signed(theKey, 1, larger(2)),
		signed(theKey, 2, larger(0)), signed(theKey, 3, larger(1)), signed(theKey, 4, func(c *token.Container) { c.Expires = 7 }),
		signed(theKey, 5, func(c *token.Container) { c.ID.Attempt = other }), signed(theKey, 6, func(c *token.Container) { c.Issuer++ })}}, out)
	if err != nil || len(out.SucceededRequests) != 1 || len(out.FailedRequests) != 6 {
		t.Fatalf("%v %v", out, err)
	}
	failed(t, out.FailedRequests, 1, serve.YarnException, "has update version [2] >= requested version [2]")
	failed(t, out.FailedRequests, 2, serve.YarnException, "has update version [0] >= requested version [0]")
	failed(t, out.FailedRequests, 3, serve.YarnException, "is not handled by this NodeManager")
	failed(t, out.FailedRequests, 4, serve.YarnException, "Unauthorized request to increase container resource.\nThis token is expired")
	failed(t, out.FailedRequests, 6, serve.InvalidContainer, "allocated by a previous RM")
	if v := w.loop.Container(number(1)); v.Resource != yarn.NewResource(1026, 2) || v.Version != 2 {
		t.Errorf("%+v", v)
	}
	forged := signed(theKey, 1, larger(3))
	forged.Password = []byte("x")
	older := &pb.IncreaseContainersResourceResponse{}
	err = m.call("increaseContainersResource", &pb.IncreaseContainersResourceRequest{IncreaseContainers: []*pb.Token{signed(theKey, 1, larger(3)), forged}}, older)
	refused(t, err, ipc.ClassInvalidToken, "Invalid container token")
	if v := w.loop.Container(number(1)); v.Version != 2 {
		t.Errorf("half of a forged call is done: %+v", v)
	}
	err = m.call("increaseContainersResource", &pb.IncreaseContainersResourceRequest{IncreaseContainers: []*pb.Token{signed(theKey, 1, larger(3))}}, older)
	if err != nil || len(older.SucceededRequests) != 1 {
		t.Errorf("%v %v", older, err)
	}
}

// What Hadoop has and Heddle has not is refused by name.
func TestMissing(t *testing.T) {
	m := newWorld(t).master(attempt)
	for _, method := range []string{"localize", "reInitializeContainer", "restartContainer", "rollbackLastReInitialization", "commitLastReInitialization", "getLocalizationStatuses"} {
		_, err := m.raw(method, nil)
		refused(t, err, serve.YarnException, method+" is not available")
	}
	_, err := m.raw("nothing", nil)
	refused(t, err, ipc.ClassNoSuchMethod, "nothing")
}

// A node that goes down answers who still waits, and what it has not accepted has used no token up.
func TestStopping(t *testing.T) {
	w := newWorld(t)
	ctx, end := context.WithCancel(t.Context())
	end()
	ended := loop.New(loop.Config{Engine: engine.New(engine.Settings{}), Clock: clock.System()})
	ended.Run(ctx)
	p := &protocol{Config{Loop: ended, Keys: w.keys, Services: w, Types: types, Issuer: w.issuer.Load}}
	r := request(1)
	what, err := w.keys.Container(r.ContainerToken.Identifier, r.ContainerToken.Password)
	if err != nil {
		t.Fatal(err)
	}
	answers := 0
	g := &gather{left: 2, answer: func(g *gather) {
		answers++
		failed(t, g.failed, 1, serve.YarnException, "the NodeManager is stopping")
	}}
	p.startOne(&ipc.Call{Caller: &ipc.Identity{}}, token.NM{Attempt: attempt, KeyID: nodeKey.ID}, &what, r, g)
	g.done()
	if answers != 1 || !w.keys.Fresh(number(1)) {
		t.Errorf("%d answers", answers)
	}
}

// A container is read again from what is kept of it as it was accepted.
func TestSpec(t *testing.T) {
	launch := &pb.ContainerLaunchContext{
		LocalResources: []*pb.StringLocalResourceMap{{Key: proto.String("a"), Value: localResource("/1")}, {Key: proto.String("b"), Value: localResource("/2")},
			{Key: proto.String("a"), Value: localResource("/3")}},
		Application_ACLs: []*pb.ApplicationACLMap{{AccessType: pb.ApplicationAccessType_APPACCESS_MODIFY_APP.Enum(), Acl: proto.String("bob")},
			{AccessType: pb.ApplicationAccessType_APPACCESS_VIEW_APP.Enum(), Acl: proto.String("*")}},
		ContainerRetryContext: &pb.ContainerRetryContext{RetryPolicy: pb.ContainerRetryPolicy_RETRY_ON_SPECIFIC_ERROR_CODES.Enum(), ErrorCodes: []int32{1, 2},
			MaxRetries: proto.Int32(-1), RetryInterval: proto.Int32(7), FailuresValidityInterval: proto.Int64(9)},
	}
	x := signed(theKey, 1, func(c *token.Container) {
		c.Master, c.ExecutionType, c.Label, c.LogContext, c.AllocationTags = true, yarn.Opportunistic, "gpu", []byte{0x0a, 0x01, 'x'}, []string{"t"}
	})
	what, err := token.ParseContainer(x.Identifier, types)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Spec(&what, x.Identifier, launch)
	if err != nil {
		t.Fatal(err)
	}
	if !s.Master || s.Execution != yarn.Opportunistic || s.Label != "gpu" || len(s.LogContext) != 3 || s.AllocationTags[0] != "t" || s.User != "ann" || s.Priority != 3 || s.Created != 5 {
		t.Errorf("%+v", s)
	}
	if len(s.Resources) != 2 || s.Resources[0].Name != "a" || !strings.Contains(s.Resources[0].Key, "/3") || s.Resources[1].Name != "b" || s.Resources[0].Visibility != engine.Application {
		t.Errorf("%+v", s.Resources)
	}
	if len(s.ACLs) != 2 || s.ACLs["MODIFY_APP"] != "bob" || s.ACLs["VIEW_APP"] != "*" {
		t.Errorf("%v", s.ACLs)
	}
	if want := (engine.Retry{Policy: engine.RetryOnCodes, Codes: []int32{1, 2}, Max: engine.RetryForever, Interval: 7, Validity: 9}); !reflect.DeepEqual(s.Retry, want) {
		t.Errorf("%+v", s.Retry)
	}
	kept := &pb.ContainerLaunchContext{}
	if err := proto.Unmarshal(s.Launch, kept); err != nil {
		t.Fatal(err)
	}
	if what, err = token.ParseContainer(s.Token, types); err != nil {
		t.Fatal(err)
	}
	if again, err := Spec(&what, s.Token, kept); err != nil || !reflect.DeepEqual(again, s) {
		t.Errorf("got\n%+v\nwant\n%+v (%v)", again, s, err)
	}
	if s, err := Spec(&what, s.Token, nil); err != nil || len(s.Launch) != 0 || s.Retry.Policy != engine.NeverRetry {
		t.Errorf("without a launch context: %+v %v", s, err)
	}
	if _, err := Spec(&what, s.Token, &pb.ContainerLaunchContext{LocalResources: make([]*pb.StringLocalResourceMap, 1)}); err == nil {
		t.Error("an entry that is not there")
	}
}
