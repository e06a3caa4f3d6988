package resourcemanager

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a fuzzed conversation.
const (
	maxCalls  = 16     // of one input
	daemonAge = 20_000 // calls until a new daemon takes over
	mostHeap  = 512 << 20
)

// target is one method of one protocol.
type target struct {
	protocol
	method
}

func targets() (all []target) {
	for _, p := range protocols {
		for _, m := range p.methods {
			all = append(all, target{p, m})
		}
	}
	return all
}

// say appends a call to an input: the method's number, the length of the
// request, the request.
func say(input []byte, method int, body []byte) []byte {
	input = append(input, byte(method))
	input = binary.BigEndian.AppendUint16(input, uint16(len(body)))
	return append(input, body...)
}

// scope is a test that outlasts the input under test: what is cleaned up at
// its end is cleaned up by end.
type scope struct {
	testing.TB
	dir  string
	last []func()
}

func (s *scope) Cleanup(f func()) { s.last = append(s.last, f) }
func (s *scope) TempDir() string  { return s.dir }

func (s *scope) end() {
	for i := len(s.last) - 1; i >= 0; i-- {
		s.last[i]()
	}
	s.last = nil
}

// talk is a daemon in a fuzzed conversation, and everybody who talks to it.
type talk struct {
	w       *world
	callers map[string]caller
	user    caller
	calls   int
}

func newTalk(t testing.TB) *talk {
	w := newWorld(t, twoQueues, "hadoop.security.token.service.use_ip", "false")
	w.term().outside.launcher.Close() // nodes that a fuzzer invents are not called
	k := &talk{w: w, callers: map[string]caller{}, user: w.as("alice")}
	for _, p := range protocols {
		if p.port != masterPort {
			k.callers[p.name] = w.caller(p.port, p.name, operator, "")
		}
	}
	k.master()
	return k
}

// master puts a new unmanaged master in the place of one that has ended.
func (k *talk) master() {
	id := k.user.submit(unmanaged)
	until(k.w.t, "a master that may register", func() bool {
		return k.user.report(id).GetYarnApplicationState() == pb.YarnApplicationState_ACCEPTED && k.user.report(id).AmRmToken != nil
	})
	r := k.user.report(id).AmRmToken
	k.callers[masterName] = k.w.master(token.Token{Identifier: r.GetIdentifier(), Password: r.GetPassword(), Kind: r.GetKind()})
}

// call makes one call and checks that it is answered, and once.
func (k *talk) call(t *testing.T, x target, body []byte) {
	k.calls++
	c := k.callers[x.name]
	_, err := c.client.Call(t.Context(), c.address, c.protocol, x.method.method, body)
	var remote *ipc.RemoteError
	if err != nil && !errors.As(err, &remote) {
		t.Fatalf("%s with %x: no answer: %v", x.method.method, body, err)
	}
	if remote != nil && x.port == masterPort && (remote.Class == ipc.ClassInvalidToken || strings.HasSuffix(remote.Class, "NotFoundException")) {
		k.master()
	}
	if s := k.w.d.servers[x.port].Stats(); s.Panics > 0 || s.AnsweredTwice > 0 {
		t.Fatalf("%s with %x: %d panics, %d answered twice\n%s", x.method.method, body, s.Panics, s.AnsweredTwice, k.w.log)
	}
}

// FuzzRequests hands bytes to every method of every protocol of a running
// daemon: nothing panics, and every call is answered exactly once. The daemon
// lives on from input to input; what breaks it may need what came before.
func FuzzRequests(f *testing.F) {
	all := targets()
	whole := []byte(nil)
	for i, x := range all {
		b, err := proto.Marshal(x.request)
		if err != nil {
			f.Fatalf("%s: %v", x.method.method, err)
		}
		f.Add(say(nil, i, b))
		f.Add(say(nil, i, b[:len(b)/2]))
		whole = say(whole, i, b)
	}
	f.Add(whole[len(whole)/2:])
	for _, b := range hostileRequests(f) {
		f.Add(b)
	}
	var k *talk
	life := &scope{dir: f.TempDir()}
	f.Cleanup(life.end)
	f.Fuzz(func(t *testing.T, input []byte) {
		life.TB = t
		if k == nil || k.calls > daemonAge {
			if n := heap(); n > mostHeap {
				t.Fatalf("after %d calls the heap has %d MiB", k.calls, n>>20)
			}
			life.end()
			k = newTalk(life)
		}
		for range maxCalls {
			if len(input) < 3 {
				break
			}
			x, n := all[int(input[0])%len(all)], int(binary.BigEndian.Uint16(input[1:]))
			n = min(n, len(input)-3)
			k.call(t, x, input[3:3+n])
			input = input[3+n:]
		}
	})
}

// hostileRequests are messages that can be read and make no sense.
func hostileRequests(t testing.TB) (out [][]byte) {
	const most, least = 1<<63 - 1, -1 << 63
	huge := &pb.NodeId{Host: proto.String(strings.Repeat("h", 255)), Port: proto.Int32(65535)}
	for method, m := range map[string]proto.Message{
		"registerNodeManager": &pb.RegisterNodeManagerRequest{NodeId: huge, HttpPort: proto.Int32(-1), Resource: size(most, 1<<31-1), NmVersion: proto.String("9999999999999999999.x.-1")},
		"submitApplication": &pb.SubmitApplicationRequest{ApplicationSubmissionContext: &pb.ApplicationSubmissionContext{
			ApplicationId: &pb.ApplicationId{ClusterTimestamp: proto.Int64(least), Id: proto.Int32(1<<31 - 1)}, Resource: size(most, 1<<31-1), MaxAppAttempts: proto.Int32(-7),
			AmContainerSpec: &pb.ContainerLaunchContext{Tokens: []byte("HDTS\x00\x7f")}, Priority: convert.ToPriority(-1 << 31),
			ApplicationTimeouts: []*pb.ApplicationTimeoutMap{{ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), Timeout: proto.Int64(most)}}}},
		"allocate": &pb.AllocateRequest{ResponseId: proto.Int32(0), Ask: []*pb.ResourceRequest{
			{Priority: convert.ToPriority(1<<31 - 1), ResourceName: proto.String("*"), Capability: size(8192, 4), NumContainers: proto.Int32(1<<31 - 1)},
			{Priority: convert.ToPriority(-1 << 31), ResourceName: proto.String("/r"), Capability: size(least, -1<<31), NumContainers: proto.Int32(-1 << 31), AllocationRequestId: proto.Int64(least)}}},
		"updateNodeResource":        &pb.UpdateNodeResourceRequest{NodeResourceMap: []*pb.NodeResourceMap{{NodeId: aNode, ResourceOption: &pb.ResourceOption{Resource: size(most, 1<<31-1)}}}},
		"getApplications":           &pb.GetApplicationsRequest{Limit: proto.Int64(least), StartBegin: proto.Int64(most), ApplicationStates: []pb.YarnApplicationState{-5, 99}},
		"signalToContainer":         &pb.SignalContainerRequest{ContainerId: &pb.ContainerId{Id: proto.Int64(least)}, Command: pb.SignalContainerCommand(-9).Enum()},
		"updateApplicationTimeouts": &pb.UpdateApplicationTimeoutsRequest{ApplicationId: anApplication, ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{{ExpireTime: proto.String("9999-99-99")}}},
		"nodeHeartbeat": &pb.NodeHeartbeatRequest{NodeStatus: &pb.NodeStatus{NodeId: aNode, ResponseId: proto.Int32(-1 << 31),
			ContainersUtilization: &pb.ResourceUtilization{Pmem: proto.Int32(-1), Cpu: proto.Float32(-1)}}},
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range targets() {
			if x.method.method == method {
				out = append(out, say(nil, i, b))
			}
		}
	}
	return out
}

// Messages that make no sense are answered, and the daemon goes on to serve.
func TestHostileRequests(t *testing.T) {
	k := newTalk(t)
	all := targets()
	for _, b := range hostileRequests(t) {
		k.call(t, all[b[0]], b[3:])
	}
	k.w.as("bob").newID()
}

// FuzzLogContext cuts from bytes what protobuf finds in them.
func FuzzLogContext(f *testing.F) {
	b, err := proto.Marshal(&pb.ApplicationSubmissionContext{ApplicationName: proto.String("x"), LogAggregationContext: &pb.LogAggregationContext{IncludePattern: proto.String("y")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte{0x72, 0xff, 0xff, 0xff, 0xff, 0x07})
	f.Add([]byte{0x73, 0x74})
	f.Fuzz(func(t *testing.T, b []byte) {
		got := logContext(b)
		if len(got) > 0 && !bytes.Contains(b, got) {
			t.Errorf("%x is not part of %x", got, b)
		}
	})
}

// What is cut out of a kept submission travels in container tokens.
func TestLogContextOfSubmission(t *testing.T) {
	c := newContexts()
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	want := []byte{0x0a, 0x01, 'y'}
	b, err := proto.Marshal(submission(nil, func(m *pb.ApplicationSubmissionContext) {
		m.LogAggregationContext = &pb.LogAggregationContext{IncludePattern: proto.String("y")}
	}).ApplicationSubmissionContext)
	if err != nil {
		t.Fatal(err)
	}
	c.Keep(id, b)
	if got := logContext(c.find(id).context()); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	if got := logContext(nil); got != nil {
		t.Errorf("of nothing: %x", got)
	}
	c.Drop(id)
	if c.find(id) != nil {
		t.Error("a dropped context is still there")
	}
}

// Of several submissions under one id only what was accepted is launched.
func TestContexts(t *testing.T) {
	c := newContexts()
	id := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	first, ok := c.Keep(id, []byte("a"))
	again, ok2 := c.Keep(id, []byte("a")) // a client that heard no answer
	if _, other := c.Keep(id, []byte("b")); !ok || !ok2 || other {
		t.Fatalf("%v %v, and another context %v", ok, ok2, other)
	}
	first(false)
	if string(c.find(id).context()) != "a" {
		t.Error("a context that somebody waits for was forgotten")
	}
	again(false)
	if c.find(id) != nil || len(c.byID) != 0 {
		t.Error("a refused context is kept")
	}
	second, ok := c.Keep(id, []byte("b"))
	if !ok {
		t.Fatal("the id is free again")
	}
	second(true)
	late, ok := c.Keep(id, []byte("c")) // answered with success, changes nothing
	if !ok {
		t.Fatal("submitting a known application again is no error")
	}
	late(true)
	if string(c.find(id).context()) != "b" {
		t.Errorf("kept %q", c.find(id).context())
	}
	c.Drop(id)
	third, _ := c.Keep(id, []byte("d"))
	second(false)
	if string(c.find(id).context()) != "d" {
		t.Error("an old submission's end took a new one's context")
	}
	third(false)
}
