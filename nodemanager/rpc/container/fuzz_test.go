package container

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// maxCalls bounds the calls of one input.
const maxCalls = 8

// methods are all of the protocol's, in order.
func methods() []string { return slices.Sorted(maps.Keys(Protocol(Config{}).Methods)) }

// say appends a call to an input: the method's number, the length of the request, the request.
func say(t testing.TB, input []byte, method string, m proto.Message) []byte {
	body, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	input = append(input, byte(slices.Index(methods(), method)))
	input = binary.BigEndian.AppendUint16(input, uint16(len(body)))
	return append(input, body...)
}

// hostile are requests that can be read and make no sense.
func hostile(t testing.TB) (out [][]byte) {
	const most, least = 1<<63 - 1, -1 << 63
	huge := &pb.ContainerId{AppAttemptId: &pb.ApplicationAttemptId{ApplicationId: &pb.ApplicationId{Id: proto.Int32(-1 << 31), ClusterTimestamp: proto.Int64(least)},
		AttemptId: proto.Int32(-1)}, Id: proto.Int64(least)}
	mine := convert.ToContainerID(number(most))
	for _, x := range []struct {
		method string
		m      proto.Message
	}{
		{"startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{{}, request(1)}}},
		{"startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{request(least, func(c *token.Container) {
			c.Resource, c.Expires, c.Priority, c.Created, c.Version = yarn.NewResource(most, -1), most, -1<<31, least, -1<<31
		})}}},
		{"startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{launching(2, &pb.ContainerLaunchContext{
			LocalResources: []*pb.StringLocalResourceMap{{}, {Key: proto.String("*")}}, ServiceData: []*pb.StringBytesMap{{}}, Environment: []*pb.StringStringMap{{}},
			ContainerRetryContext: &pb.ContainerRetryContext{MaxRetries: proto.Int32(-1 << 31), RetryInterval: proto.Int32(-1 << 31), FailuresValidityInterval: proto.Int64(least)},
			Application_ACLs:      []*pb.ApplicationACLMap{{}}})}}},
		{"stopContainers", &pb.StopContainersRequest{ContainerId: []*pb.ContainerId{huge, mine, {}}}},
		{"getContainerStatuses", &pb.GetContainerStatusesRequest{ContainerId: []*pb.ContainerId{huge, mine, {}}}},
		{"signalToContainer", &pb.SignalContainerRequest{ContainerId: huge, Command: pb.SignalContainerCommand(-9).Enum()}},
		{"signalToContainer", &pb.SignalContainerRequest{}},
		{"updateContainer", &pb.ContainerUpdateRequest{UpdateContainerToken: []*pb.Token{signed(theKey, 1, func(c *token.Container) { c.Version, c.Resource = 1<<31-1, yarn.NewResource(least, most) })}}},
		{"increaseContainersResource", &pb.IncreaseContainersResourceRequest{IncreaseContainers: []*pb.Token{signed(theKey, 1)}}},
		{"reInitializeContainer", &pb.ReInitializeContainerRequest{}},
	} {
		out = append(out, say(t, nil, x.method, x.m))
	}
	return out
}

// converse makes the calls of an input; each must be answered.
func converse(t *testing.T, w *world, m *master, input []byte) {
	all := methods()
	for range maxCalls {
		if len(input) < 3 {
			return
		}
		method, n := all[int(input[0])%len(all)], int(binary.BigEndian.Uint16(input[1:]))
		n = min(n, len(input)-3)
		_, err := m.raw(method, input[3:3+n])
		if remote := new(ipc.RemoteError); err != nil && !errors.As(err, &remote) {
			t.Fatalf("%s with %x: no answer: %v", method, input[3:3+n], err)
		}
		if s := w.port.Stats(); s.Panics > 0 || s.AnsweredTwice > 0 {
			t.Fatalf("%s with %x: %d panics, %d answered twice", method, input[3:3+n], s.Panics, s.AnsweredTwice)
		}
		input = input[3+n:]
	}
}

// Requests that make no sense are answered, and the node goes on to serve.
func TestHostileRequests(t *testing.T) {
	w := newWorld(t)
	m := w.master(attempt)
	for _, input := range hostile(t) {
		converse(t, w, m, input)
	}
	m.started(request(99))
}

// FuzzRequests hands bytes to every method: nothing panics, and every call is answered, once. The node lives on from input to
// input.
func FuzzRequests(f *testing.F) {
	for _, input := range hostile(f) {
		f.Add(input)
		f.Add(input[:len(input)/2])
	}
	whole := say(f, nil, "startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{request(1)}})
	whole = say(f, whole, "getContainerStatuses", &pb.GetContainerStatusesRequest{ContainerId: []*pb.ContainerId{convert.ToContainerID(number(1))}})
	f.Add(say(f, whole, "stopContainers", &pb.StopContainersRequest{ContainerId: []*pb.ContainerId{convert.ToContainerID(number(1))}}))
	w := newWorld(f)
	m := w.master(attempt)
	f.Fuzz(func(t *testing.T, input []byte) {
		converse(t, w, m, input)
		w.mu.Lock()
		done := w.effects
		w.effects = nil
		w.mu.Unlock()
		for _, x := range done { // processes are short-lived here
			if launch, ok := x.(engine.Launch); ok {
				w.loop.Post(engine.Exited{ID: launch.Spec.ID})
				w.loop.Post(engine.Orders{Forget: []yarn.ContainerID{launch.Spec.ID}})
			}
		}
	})
}
