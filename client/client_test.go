package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/internal/freeport"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, rm *clienttest.RM, more ...string) *Client {
	t.Helper()
	c, err := New(rm.Properties(t, more...), "alice", Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// decodeInto makes a Method that hands the parsed request to f.
func decodeInto[M proto.Message](m M, f func(M) (proto.Message, error)) clienttest.Method {
	return func(body []byte) (proto.Message, error) {
		proto.Reset(m)
		if err := proto.Unmarshal(body, m); err != nil {
			return nil, err
		}
		return f(m)
	}
}

var app7 = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 7}

func TestKillPollsUntilTheEndIsStored(t *testing.T) {
	tries := 0
	rm := clienttest.Start(t, map[string]clienttest.Method{
		"forceKillApplication": decodeInto(&pb.KillApplicationRequest{}, func(in *pb.KillApplicationRequest) (proto.Message, error) {
			if tries++; in.GetApplicationId().GetId() != 7 || in.GetDiagnostics() != "enough" {
				return nil, fmt.Errorf("unexpected request %v", in)
			}
			return &pb.KillApplicationResponse{IsKillCompleted: proto.Bool(tries == 3)}, nil
		}),
	})
	if err := open(t, rm).KillApplication(t.Context(), app7, "enough"); err != nil || tries != 3 {
		t.Fatalf("%d tries, %v", tries, err)
	}
	if got := rm.Calls()[0]; got.User != "alice" || got.Protocol != userProtocol {
		t.Errorf("called as %+v", got)
	}
}

func TestPollTimeoutNamesItsProperty(t *testing.T) {
	rm := clienttest.Start(t, map[string]clienttest.Method{"forceKillApplication": clienttest.Answer(&pb.KillApplicationResponse{})})
	err := open(t, rm, "yarn.client.application-client-protocol.poll-timeout-ms=5").KillApplication(t.Context(), app7, "")
	if err == nil || !strings.Contains(err.Error(), "poll-timeout-ms") || !strings.Contains(err.Error(), app7.String()) {
		t.Fatal(err)
	}
}

func TestPollEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	rm := clienttest.Start(t, map[string]clienttest.Method{"forceKillApplication": func([]byte) (proto.Message, error) {
		cancel()
		return &pb.KillApplicationResponse{}, nil
	}})
	if err := open(t, rm).KillApplication(ctx, app7, ""); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestRefusalsKeepClassAndMessage(t *testing.T) {
	rm := clienttest.Start(t, map[string]clienttest.Method{
		"getApplicationReport": clienttest.Refuse(ClassApplicationNotFound, "no such thing\n\tat Some.java:1")})
	_, err := open(t, rm).Application(t.Context(), app7)
	var e *Error
	if !errors.As(err, &e) || !Is(err, ClassApplicationNotFound) || Is(err, ClassStandby) || e.FirstLine() != "no such thing" ||
		e.Method != "getApplicationReport" || !strings.Contains(e.Message, "Some.java") {
		t.Fatalf("%#v", err)
	}
}

func TestListSendsTheFilter(t *testing.T) {
	var got *pb.GetApplicationsRequest
	rm := clienttest.Start(t, map[string]clienttest.Method{
		"getApplications": decodeInto(&pb.GetApplicationsRequest{}, func(in *pb.GetApplicationsRequest) (proto.Message, error) {
			got = proto.Clone(in).(*pb.GetApplicationsRequest)
			return &pb.GetApplicationsResponse{Applications: []*pb.ApplicationReport{{ApplicationId: toApplicationID(app7)}}}, nil
		})})
	c := open(t, rm)
	apps, err := c.Applications(t.Context(), ApplicationFilter{States: []yarn.PublicState{yarn.PublicRunning}, Types: []string{"SPARK"}, Tags: []string{"a"}})
	if err != nil || len(apps) != 1 || apps[0].ID != app7 || apps[0].Diagnostics != nil || apps[0].Usage != nil {
		t.Fatal(apps, err)
	}
	if got.ApplicationStates[0] != pb.YarnApplicationState_RUNNING || got.GetLimit() != math.MaxInt64 || got.ApplicationTypes[0] != "SPARK" ||
		got.ApplicationTags[0] != "a" || got.GetScope() != pb.ApplicationsRequestScope_ALL {
		t.Fatal(got)
	}
	if _, err := c.Applications(t.Context(), ApplicationFilter{Limit: 3, Name: "n", Users: []string{"u"}, Queues: []string{"q"}}); err != nil {
		t.Fatal(err)
	}
	if got.GetLimit() != 3 || got.GetName() != "n" || got.Users[0] != "u" || got.Queues[0] != "q" || len(got.ApplicationStates) != 0 {
		t.Fatal(got)
	}
}

func TestSubmitWaitsAndSubmitsAgainAfterFailover(t *testing.T) {
	submitted, asked := 0, 0
	rm := clienttest.Start(t, map[string]clienttest.Method{
		"submitApplication": decodeInto(&pb.SubmitApplicationRequest{}, func(in *pb.SubmitApplicationRequest) (proto.Message, error) {
			s := in.GetApplicationSubmissionContext()
			if submitted++; s.GetQueue() != "default" || s.GetApplicationName() != "job" || s.GetResource().GetMemory() != 512 ||
				s.GetAmContainerSpec().GetCommand()[0] != "true" || s.GetApplicationTimeouts()[0].GetTimeout() != 60 {
				return nil, fmt.Errorf("unexpected request %v", in)
			}
			return &pb.SubmitApplicationResponse{}, nil
		}),
		"getApplicationReport": func([]byte) (proto.Message, error) {
			switch asked++; asked {
			case 1:
				return nil, &ipc.RemoteError{Class: ClassApplicationNotFound, Message: "lost"}
			case 2:
				return &pb.GetApplicationReportResponse{ApplicationReport: &pb.ApplicationReport{YarnApplicationState: pb.YarnApplicationState_SUBMITTED.Enum()}}, nil
			}
			return &pb.GetApplicationReportResponse{ApplicationReport: &pb.ApplicationReport{YarnApplicationState: pb.YarnApplicationState_ACCEPTED.Enum()}}, nil
		},
	})
	err := open(t, rm).Submit(t.Context(), Submission{ID: app7, Name: "job", Master: Resource{MemoryMB: 512, VCores: 1},
		Launch: Launch{Commands: []string{"true"}}, LifetimeSeconds: 60})
	if err != nil || submitted != 2 || asked != 3 {
		t.Fatal(err, submitted, asked)
	}
}

// dead is an address where nobody listens, and that no connection takes by chance.
func dead(t *testing.T) string {
	t.Helper()
	ports, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", ports[0])
}

func TestUnreachableSaysWhereAndWhichProperty(t *testing.T) {
	address := dead(t)
	var mu sync.Mutex
	var told []Retry
	c, err := New(clienttest.Properties(t, "yarn.resourcemanager.address="+address), "alice", Options{Retrying: func(r Retry) {
		mu.Lock()
		told = append(told, r)
		mu.Unlock()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Metrics(t.Context())
	var u *Unreachable
	if !errors.As(err, &u) || u.Method != "getClusterMetrics" || !strings.Contains(err.Error(), address+" (yarn.resourcemanager.address)") {
		t.Fatal(err)
	}
	// Five attempts of the policy (20 ms / 5 ms + 1), two tries each: notices at the first, never at the tenth.
	if len(told) != 1 || told[0].Tries != 1 || told[0].Target.Address != address || !strings.Contains(told[0].String(), "yarn.resourcemanager.address") {
		t.Errorf("told %v", told)
	}
}

func TestFailoverFindsTheActiveOne(t *testing.T) {
	standby := clienttest.Start(t, map[string]clienttest.Method{"getClusterMetrics": clienttest.Refuse(ClassStandby, "not me")})
	active := clienttest.Start(t, map[string]clienttest.Method{
		"getClusterMetrics": clienttest.Answer(&pb.GetClusterMetricsResponse{ClusterMetrics: &pb.YarnClusterMetrics{NumNodeManagers: proto.Int32(5)}}),
		"getServiceStatus":  clienttest.Answer(&pb.GetServiceStatusResponse{State: pb.HAServiceState_ACTIVE.Enum()}),
	})
	c, err := New(clienttest.Properties(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2,rm3",
		"yarn.resourcemanager.address.rm1="+dead(t), "yarn.resourcemanager.address.rm2="+standby.Address, "yarn.resourcemanager.address.rm3="+active.Address,
		"yarn.resourcemanager.hostname.rm1=h1", "yarn.resourcemanager.hostname.rm2=h2", "yarn.resourcemanager.admin.address.rm3="+active.Address), "alice", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m, err := c.Metrics(t.Context())
	if err != nil || m.NodeManagers != 5 {
		t.Fatal(m, err)
	}
	admin := c.AdminAddresses()
	if !c.HA() || admin[0] != (Target{"rm1", "h1:8033", "yarn.resourcemanager.hostname.rm1"}) || admin[2].Property != "yarn.resourcemanager.admin.address.rm3" {
		t.Error(admin)
	}
	s, err := c.ServiceStatus(t.Context(), admin[2])
	if err != nil || s.State != "active" {
		t.Error(s, err)
	}
}

// Whoever asks for states waits for a ResourceManager that hangs no longer than for this.
func TestAResourceManagerThatHangsIsGivenUp(t *testing.T) {
	hangs, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hangs.Close()
	c, err := New(clienttest.Properties(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1", "yarn.resourcemanager.hostname.rm1=h1",
		"yarn.resourcemanager.admin.address.rm1="+hangs.Addr().String(), "ha.failover-controller.cli-check.rpc-timeout.ms=20"), "alice", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.ServiceStatus(t.Context(), c.AdminAddresses()[0])
	var u *Unreachable
	for _, err := range []error{err, c.MonitorHealth(t.Context(), c.AdminAddresses()[0])} {
		if !errors.As(err, &u) || !strings.HasSuffix(err.Error(), "(yarn.resourcemanager.admin.address.rm1): no answer within 20ms") {
			t.Error(err)
		}
	}
}

// A wait while all ResourceManagers are standbys is told, but not that one of them is.
func TestNobodyIsActive(t *testing.T) {
	var addresses []string
	for range 2 {
		addresses = append(addresses, clienttest.Start(t, map[string]clienttest.Method{"getClusterMetrics": clienttest.Refuse(ClassStandby, "not me")}).Address)
	}
	var told []Retry
	c, err := New(clienttest.Properties(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2", "yarn.resourcemanager.hostname.rm1=h1",
		"yarn.resourcemanager.hostname.rm2=h2", "yarn.resourcemanager.address.rm1="+addresses[0], "yarn.resourcemanager.address.rm2="+addresses[1],
		"yarn.client.failover-max-attempts=23", "yarn.client.failover-sleep-base-ms=1", "yarn.client.failover-sleep-max-ms=1"), "alice",
		Options{Retrying: func(r Retry) { told = append(told, r) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Metrics(t.Context()); err == nil || !strings.Contains(err.Error(), "not me") {
		t.Error(err)
	}
	if len(told) != 1 || told[0].Tries != 2 ||
		told[0].String() != "no ResourceManager serves: the one at "+addresses[1]+" (yarn.resourcemanager.address.rm2) answers org.apache.hadoop.ipc.StandbyException: not me" {
		t.Errorf("told %v", told)
	}
}

// The answer of a standby is told also if the other ResourceManager cannot be reached.
func TestNobodyIsActiveAndOneIsDown(t *testing.T) {
	standby := clienttest.Start(t, map[string]clienttest.Method{"getClusterMetrics": clienttest.Refuse(ClassStandby, "not me")})
	var told []Retry
	c, err := New(clienttest.Properties(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=rm1,rm2", "yarn.resourcemanager.hostname.rm1=h1",
		"yarn.resourcemanager.hostname.rm2=h2", "yarn.resourcemanager.address.rm1="+standby.Address, "yarn.resourcemanager.address.rm2="+dead(t),
		"yarn.client.failover-max-attempts=6", "yarn.client.failover-sleep-base-ms=1", "yarn.client.failover-sleep-max-ms=1"), "alice",
		Options{Retrying: func(r Retry) { told = append(told, r) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Metrics(t.Context()); err == nil {
		t.Error("answered")
	}
	if len(told) != 2 || told[0].Nobody || told[0].Target.ID != "rm2" || !told[1].Nobody || told[1].Target.ID != "rm1" || told[1].Tries != 3 {
		t.Errorf("told %v", told)
	}
}

// While nobody is active that is told once a minute, however many calls find it out.
func TestNobodyIsToldOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := 0
		w := newWarner(func(Retry) { told++ }, settings{})
		for range 150 {
			for attempt := range 3 {
				w.retried(ipc.Retry{Attempt: attempt, Err: &ipc.RemoteError{Class: ClassStandby}, Nobody: true})
			}
			time.Sleep(time.Second)
		}
		if told != 3 {
			t.Error(told)
		}
	})
}

func TestConfigurationErrorsNameEveryProperty(t *testing.T) {
	for _, x := range []struct{ set, want string }{
		{"yarn.resourcemanager.address=a b", "yarn.resourcemanager.address"},
		{"yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids"},
		{"hadoop.security.authentication=kerberos", "not built yet"},
	} {
		_, err := New(clienttest.Properties(t, x.set), "alice", Options{})
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v", x.set, err)
		}
	}
	_, err := New(clienttest.Properties(t, "yarn.resourcemanager.ha.enabled=true", "yarn.resourcemanager.ha.rm-ids=x,y"), "alice", Options{})
	if err == nil || !strings.Contains(err.Error(), "yarn.resourcemanager.address.y") {
		t.Error(err)
	}
}

func TestActsForAnother(t *testing.T) {
	rm := clienttest.Start(t, map[string]clienttest.Method{"refreshQueues": clienttest.Answer(&pb.RefreshQueuesResponse{})})
	c, err := New(rm.Properties(t), "bob", Options{RealUser: "oozie"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.RefreshQueues(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := rm.Calls()[0]; got != (clienttest.Seen{Protocol: adminProtocol, Method: "refreshQueues", User: "bob", RealUser: "oozie"}) {
		t.Error(got)
	}
}

func TestGarbageIsAnError(t *testing.T) {
	rm := clienttest.Start(t, map[string]clienttest.Method{"getApplicationReport": clienttest.Answer(&pb.GetApplicationReportResponse{}),
		"getClusterMetrics": clienttest.Answer(&pb.ContainerLaunchContext{Tokens: []byte{1}, Command: []string{"x"}})})
	c := open(t, rm)
	if _, err := c.Application(t.Context(), app7); err == nil || !strings.Contains(err.Error(), "no report") {
		t.Error(err)
	}
	if err := decode("m", []byte{0xff}, &pb.QueueInfo{}); err == nil {
		t.Error("garbage parsed")
	}
}
