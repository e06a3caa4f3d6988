package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var attempt3 = yarn.AttemptID{Application: app7, Attempt: 3}

func container(n int64) yarn.ContainerID { return yarn.ContainerID{Attempt: attempt3, Number: n} }

// scheduler is a fake that answers heartbeats by a script and keeps what it was told.
type scheduler struct {
	*clienttest.RM
	mu         sync.Mutex
	registered []*pb.RegisterApplicationMasterRequest
	heard      []*pb.AllocateRequest
	finished   []*pb.FinishApplicationMasterRequest
	script     []any // *pb.AllocateResponse or error, one a heartbeat; then empty answers
	finish     []any // bool or error
}

func startScheduler(t *testing.T, script ...any) *scheduler {
	t.Helper()
	s := &scheduler{script: script}
	s.RM = clienttest.StartForMasters(t, map[string]clienttest.Method{
		"registerApplicationMaster": func(b []byte) (proto.Message, error) {
			in := &pb.RegisterApplicationMasterRequest{}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.registered = append(s.registered, in)
			return &pb.RegisterApplicationMasterResponse{MaximumCapability: toResource(Resource{MemoryMB: 4096, VCores: 4}), Queue: proto.String("root.q"),
				NmTokensFromPreviousAttempts: []*pb.NMToken{nodeToken("old")}}, proto.Unmarshal(b, in)
		},
		"allocate": func(b []byte) (proto.Message, error) {
			in := &pb.AllocateRequest{}
			if err := proto.Unmarshal(b, in); err != nil {
				return nil, err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.heard = append(s.heard, in)
			out := &pb.AllocateResponse{}
			if len(s.script) > 0 {
				next := s.script[0]
				s.script = s.script[1:]
				if err, ok := next.(error); ok {
					return nil, err
				}
				out = next.(*pb.AllocateResponse)
			}
			out.ResponseId = proto.Int32(in.GetResponseId() + 1)
			return out, nil
		},
		"finishApplicationMaster": func(b []byte) (proto.Message, error) {
			in := &pb.FinishApplicationMasterRequest{}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.finished = append(s.finished, in)
			next := s.finish[0]
			s.finish = s.finish[1:]
			if err, ok := next.(error); ok {
				return nil, err
			}
			return &pb.FinishApplicationMasterResponse{IsUnregistered: proto.Bool(next.(bool))}, proto.Unmarshal(b, in)
		},
	})
	return s
}

func nodeToken(host string) *pb.NMToken {
	id := yarn.NodeID{Host: host, Port: 1}
	return &pb.NMToken{NodeId: toNodeID(id), Token: toToken(clienttest.NodeToken(attempt3, id))}
}

func notRegistered() error {
	return &ipc.RemoteError{Class: ClassMasterNotRegistered, Message: "who are you"}
}

func credentials(attempt yarn.AttemptID) token.Credentials {
	var c token.Credentials
	c.SetToken("", clienttest.LoginToken(attempt, 1))
	return c
}

func (s *scheduler) properties(t *testing.T) *conf.Properties {
	return clienttest.Properties(t, "yarn.resourcemanager.scheduler.address="+s.Address)
}

// master is registered with the fake.
func (s *scheduler) master(t *testing.T) *Master {
	t.Helper()
	m, err := NewMaster(s.properties(t), credentials(attempt3), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	r, err := m.Register(t.Context(), "host", 17, "http://host:17/")
	if err != nil || r.Queue != "root.q" || r.Maximum.MemoryMB != 4096 {
		t.Fatal(r, err)
	}
	return m
}

func beat(t *testing.T, m *Master) *Allocation {
	t.Helper()
	a, err := m.Allocate(t.Context(), 0.5)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rows are the asks of a heartbeat: "where count relax label".
func rows(in *pb.AllocateRequest) string {
	var out []string
	for _, a := range in.GetAsk() {
		out = append(out, fmt.Sprintf("%d:%s %d %t %s", a.GetAllocationRequestId(), a.GetResourceName(), a.GetNumContainers(), a.GetRelaxLocality(), a.GetNodeLabelExpression()))
	}
	return strings.Join(out, ", ")
}

func granted(request int64, numbers ...int64) *pb.AllocateResponse {
	out := &pb.AllocateResponse{}
	for _, n := range numbers {
		out.AllocatedContainers = append(out.AllocatedContainers, &pb.Container{Id: toContainerID(container(n)), AllocationRequestId: &request,
			NodeId: toNodeID(yarn.NodeID{Host: "h", Port: 1}), NodeHttpAddress: proto.String("h:2"), Resource: toResource(Resource{MemoryMB: 64, VCores: 1}),
			ContainerToken: toToken(token.Token{Identifier: []byte("id"), Password: []byte("pw"), Kind: token.KindContainer})})
	}
	return out
}

func completed(numbers ...int64) *pb.AllocateResponse {
	out := &pb.AllocateResponse{}
	for _, n := range numbers {
		out.CompletedContainerStatuses = append(out.CompletedContainerStatuses, &pb.ContainerStatus{ContainerId: toContainerID(container(n)), ExitStatus: proto.Int32(3), Diagnostics: proto.String("why")})
	}
	return out
}

func TestHeartbeatsCountAndGrantsCountDown(t *testing.T) {
	first := granted(4, 2, 3)
	first.NmTokens = []*pb.NMToken{nodeToken("h")}
	s := startScheduler(t, first, completed(2))
	m := s.master(t)
	if m.Attempt() != attempt3 {
		t.Error(m.Attempt())
	}
	must(t, m.Want(Request{ID: 4, Size: Resource{MemoryMB: 64, VCores: 1}, Count: 5}))
	a := beat(t, m)
	if len(a.Granted) != 2 || a.Granted[0].ID != container(2) || a.Granted[0].RequestID != 4 || string(a.Granted[1].Token.Password) != "pw" || a.Granted[0].NodeHTTPAddress != "h:2" {
		t.Fatalf("%+v", a)
	}
	if _, ok := m.NodeToken(yarn.NodeID{Host: "h", Port: 1}); !ok {
		t.Error("the node's token was not kept")
	}
	if _, ok := m.NodeToken(yarn.NodeID{Host: "old", Port: 1}); !ok {
		t.Error("the token of a node of an earlier attempt was not kept")
	}
	if a = beat(t, m); len(a.Completed) != 1 || a.Completed[0] != (Completion{container(2), 3, "why"}) {
		t.Fatalf("%+v", a)
	}
	if got := rows(s.heard[0]); got != "4:* 5 true " {
		t.Error(got)
	}
	if s.heard[0].GetResponseId() != 0 || s.heard[1].GetResponseId() != 1 || rows(s.heard[1]) != "" || s.heard[1].GetProgress() != 0.5 {
		t.Error(s.heard)
	}
	if r := s.registered[0]; r.GetHost() != "host" || r.GetRpcPort() != 17 || r.GetTrackingUrl() != "http://host:17/" {
		t.Error(r)
	}
	if c := s.Calls()[1]; c.User != attempt3.String() || c.Method != "allocate" {
		t.Error(c)
	}
}

func TestRowsOfARequest(t *testing.T) {
	hosts := []Host{{"a", "/r1"}, {"b", "/r1"}, {"a", "/r1"}, {"c", "/r2"}, {"d", ""}}
	for _, x := range []struct {
		r    Request
		want string
	}{
		{Request{}, "0:* 2 true "},
		{Request{Label: "gpu"}, "0:* 2 true gpu"},
		{Request{Hosts: hosts}, "0:a 2 true , 0:b 2 true , 0:c 2 true , 0:d 2 true , 0:/r1 2 true , 0:/r2 2 true , 0:* 2 true "},
		{Request{Hosts: hosts, Strict: true}, "0:a 2 true , 0:b 2 true , 0:c 2 true , 0:d 2 true , 0:/r1 2 false , 0:/r2 2 false , 0:* 2 false "},
		{Request{Hosts: hosts[:1], Racks: []string{"/r1", "/r9"}, Strict: true}, "0:a 2 true , 0:/r1 2 true , 0:/r9 2 true , 0:* 2 false "},
	} {
		x.r.Count = 2
		if got := rows(&pb.AllocateRequest{Ask: x.r.rows()}); got != x.want {
			t.Errorf("got  %s\nwant %s", got, x.want)
		}
	}
	for _, bad := range []Request{{ID: -1}, {Count: -1}, {Strict: true}} {
		if bad.check() == nil {
			t.Errorf("%+v passed", bad)
		}
	}
}

func TestARestartedResourceManagerIsToldEverythingAgain(t *testing.T) {
	s := startScheduler(t, granted(1, 2, 3), &pb.AllocateResponse{}, notRegistered(), completed(2))
	m := s.master(t)
	must(t, m.Want(Request{ID: 1, Count: 3, Size: Resource{MemoryMB: 64, VCores: 1}}))
	must(t, m.Want(Request{ID: 2, Count: 1, Size: Resource{MemoryMB: 96, VCores: 1}}))
	beat(t, m)
	m.Release(container(2))
	m.Avoid(true, "x", "y")
	m.Avoid(false, "y")
	m.Change(Change{Container: container(3), Version: 1, Type: yarn.IncreaseResource, Size: Resource{MemoryMB: 128}})
	m.SetTrackingURL("http://new/")
	beat(t, m)
	if a := beat(t, m); !a.Resynced {
		t.Error("it does not tell")
	}
	if len(s.registered) != 2 || s.registered[1].GetTrackingUrl() != "http://new/" || s.registered[1].GetHost() != "host" {
		t.Error(s.registered)
	}
	// What was told, what went with the refused one (nothing), what was told again.
	for i, in := range []*pb.AllocateRequest{s.heard[1], s.heard[2], s.heard[3]} {
		asks, id, released := []string{"", "", "1:* 1 true , 2:* 1 true "}[i], []int32{1, 2, 0}[i], []int{1, 0, 1}[i]
		if rows(in) != asks || in.GetResponseId() != id || len(in.GetRelease()) != released || len(in.GetUpdateRequests()) != released {
			t.Errorf("%d: %v", i, in)
		}
	}
	if b := s.heard[1].GetBlacklistRequest(); !slices.Equal(b.GetBlacklistAdditions(), []string{"x"}) || !slices.Equal(b.GetBlacklistRemovals(), []string{"y"}) {
		t.Error(b)
	}
	if b := s.heard[3].GetBlacklistRequest(); !slices.Equal(b.GetBlacklistAdditions(), []string{"x"}) || len(b.GetBlacklistRemovals()) != 0 {
		t.Error(b)
	}
	// Released and reported: not again.
	s.script = []any{notRegistered()}
	beat(t, m)
	if in := s.heard[len(s.heard)-1]; len(in.GetRelease()) != 0 || len(in.GetUpdateRequests()) != 1 {
		t.Error(in)
	}
}

func TestAResourceManagerThatNeverRegistersEndsTheCall(t *testing.T) {
	var script []any
	for range 20 {
		script = append(script, notRegistered())
	}
	s := startScheduler(t, script...)
	m := s.master(t)
	if _, err := m.Allocate(t.Context(), 0); !Is(err, ClassMasterNotRegistered) || len(s.registered) != 1+maxResyncs {
		t.Error(err, len(s.registered))
	}
	early, err := NewMaster(s.properties(t), credentials(attempt3), Options{})
	must(t, err)
	defer early.Close()
	if _, err := early.Allocate(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "not registered yet") {
		t.Error(err)
	}
}

func TestAFailedHeartbeatLosesNothing(t *testing.T) {
	refusal := &ipc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.InvalidResourceRequestException", Message: "too large"}
	s := startScheduler(t, refusal, refusal)
	m := s.master(t)
	must(t, m.Want(Request{ID: 1, Count: 1, Size: Resource{MemoryMB: 1 << 40}}))
	must(t, m.Want(Request{ID: 2, Count: 1, Size: Resource{MemoryMB: 1}}))
	m.Release(container(9))
	m.Avoid(true, "x")
	m.Change(Change{Container: container(8), Type: yarn.DemoteExecutionType})
	m.SetTrackingURL("u")
	for range 2 {
		if _, err := m.Allocate(t.Context(), 0); !Is(err, refusal.Class) {
			t.Fatal(err)
		}
	}
	must(t, m.Want(Request{ID: 1, Size: Resource{MemoryMB: 1 << 40}}))
	beat(t, m)
	beat(t, m)
	for i, want := range []string{"1:* 1 true , 2:* 1 true ", "1:* 1 true , 2:* 1 true ", "2:* 1 true ", ""} {
		in := s.heard[i]
		told := len(in.GetRelease()) == 1 && len(in.GetBlacklistRequest().GetBlacklistAdditions()) == 1 && len(in.GetUpdateRequests()) == 1 && in.GetTrackingUrl() == "u"
		if rows(in) != want || told != (want != "") {
			t.Errorf("%d: %v", i, in)
		}
	}
	if u := s.heard[0].GetUpdateRequests()[0]; u.GetExecutionType() != pb.ExecutionType_OPPORTUNISTIC || u.Capability != nil {
		t.Error(u)
	}
}

// A master is told that no ResourceManager is active; a busy one is.
func TestAMasterIsToldThatNobodyIsActive(t *testing.T) {
	for class, want := range map[string]int{ipc.ClassStandby: 1, ipc.ClassRetriable: 0} {
		refusal := &ipc.RemoteError{Class: class, Message: "not now"}
		s := startScheduler(t, refusal, refusal)
		var told []Retry
		m, err := NewMaster(s.properties(t), credentials(attempt3), Options{Retrying: func(r Retry) { told = append(told, r) }})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		if _, err := m.Register(t.Context(), "", -1, ""); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Allocate(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if len(told) != want || want == 1 && (!told[0].Nobody || !strings.Contains(told[0].String(), s.Address+" (yarn.resourcemanager.scheduler.address)")) {
			t.Errorf("%s: told %v", class, told)
		}
	}
}

func TestGrantsThatCrossARaisedRequest(t *testing.T) {
	s := startScheduler(t, &pb.AllocateResponse{}, granted(1, 2, 3), &pb.AllocateResponse{})
	m := s.master(t)
	r := Request{ID: 1, Count: 5, Size: Resource{MemoryMB: 1}}
	must(t, m.Want(r))
	beat(t, m)
	r.Count = 6 // while two are on their way
	must(t, m.Want(r))
	for range 3 {
		beat(t, m)
	}
	for i, want := range []string{"1:* 5 true ", "1:* 6 true ", "1:* 4 true ", ""} {
		if got := rows(s.heard[i]); got != want {
			t.Errorf("%d: %q, want %q", i, got, want)
		}
	}
	r.Size.MemoryMB++
	if err := m.Want(r); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Error(err)
	}
	r.Size.MemoryMB--
	r.Count = 0
	must(t, m.Want(r))
	beat(t, m)
	r.Size.MemoryMB, r.Count = 7, 1
	must(t, m.Want(r)) // the id is free again
	if got := rows(s.heard[4]); got != "1:* 0 true " {
		t.Error(got)
	}
}

func TestTokensRoll(t *testing.T) {
	next := clienttest.LoginToken(attempt3, 2)
	s := startScheduler(t, &pb.AllocateResponse{AmRmToken: toToken(next)})
	m := s.master(t)
	beat(t, m)
	beat(t, m)
	old := string(clienttest.LoginToken(attempt3, 1).Identifier)
	if got := s.Logins(); !slices.Equal(got, []string{old, old, string(next.Identifier)}) {
		t.Errorf("%q", got)
	}
}

func TestFinishWaitsUntilTheEndIsStored(t *testing.T) {
	s := startScheduler(t)
	s.finish = []any{false, notRegistered(), true}
	m := s.master(t)
	must(t, m.Finish(t.Context(), yarn.FinalSucceeded, "done", ""))
	if len(s.finished) != 3 || len(s.registered) != 2 || s.finished[2].GetDiagnostics() != "done" || s.finished[2].GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_SUCCEEDED {
		t.Error(s.finished, len(s.registered))
	}
	s.finish = []any{&ipc.RemoteError{Class: ClassInvalidMasterCall, Message: "twice"}}
	if err := m.Finish(t.Context(), yarn.FinalFailed, "", ""); !Is(err, ClassInvalidMasterCall) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Finish(ctx, yarn.FinalFailed, "", ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReadCredentials(t *testing.T) {
	vars := map[string]string{}
	lookup := func(n string) (string, bool) { v, ok := vars[n]; return v, ok }
	if _, err := ReadCredentials(lookup); err == nil || !strings.Contains(err.Error(), CredentialsVariable) {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "container_tokens")
	vars[CredentialsVariable] = path
	if _, err := ReadCredentials(lookup); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	must(t, os.WriteFile(path, []byte("HDTX"), 0o600))
	if _, err := ReadCredentials(lookup); err == nil || !strings.Contains(err.Error(), path) {
		t.Error(err)
	}
	c := credentials(attempt3)
	must(t, os.WriteFile(path, c.Append(nil), 0o600))
	got, err := ReadCredentials(lookup)
	must(t, err)
	if _, ok := got.OfKind(token.KindAMRM); !ok {
		t.Error(got)
	}
	if _, err := NewMaster(clienttest.Properties(t), token.Credentials{}, Options{}); err == nil || !strings.Contains(err.Error(), token.KindAMRM) {
		t.Error(err)
	}
	var wrong token.Credentials
	wrong.SetToken("", token.Token{Kind: token.KindAMRM, Identifier: []byte{0xff}})
	if _, err := NewMaster(clienttest.Properties(t), wrong, Options{}); err == nil {
		t.Error("a broken token passed")
	}
}
