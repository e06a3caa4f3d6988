package client

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// openNodes is for a fake's tokens, with pauses short enough for tests.
func openNodes(t *testing.T, told func(NodeRetry), more ...string) *Nodes {
	t.Helper()
	props := clienttest.Properties(t, append([]string{"yarn.client.nodemanager-connect.max-wait-ms=3", "yarn.client.nodemanager-connect.retry-interval-ms=1"}, more...)...)
	n, err := NewNodes(props, attempt3, NodesOptions{Retrying: told,
		Token: func(id yarn.NodeID) (token.Token, bool) {
			return clienttest.NodeToken(attempt3, id), id.Host != "unknown"
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func exception(n int64, class, message string) *pb.ContainerExceptionMap {
	return &pb.ContainerExceptionMap{ContainerId: toContainerID(container(n)), Exception: &pb.SerializedException{ClassName: &class, Message: &message}}
}

func TestStartSeveral(t *testing.T) {
	var got *pb.StartContainersRequest
	node := clienttest.StartNode(t, map[string]clienttest.Method{
		"startContainers": decodeInto(&pb.StartContainersRequest{}, func(in *pb.StartContainersRequest) (proto.Message, error) {
			got = proto.Clone(in).(*pb.StartContainersRequest)
			return &pb.StartContainersResponse{SucceededRequests: []*pb.ContainerId{toContainerID(container(2))},
				ServicesMetaData: []*pb.StringBytesMap{{Key: proto.String("mapreduce_shuffle"), Value: []byte{0, 0, 52, 250}}},
				FailedRequests:   []*pb.ContainerExceptionMap{exception(3, "a.B", "no\n\tat")}}, nil
		})})
	n := openNodes(t, nil)
	services, failed, err := n.Start(t.Context(), node.ID,
		Start{Launch{Commands: []string{"true"}, Environment: map[string]string{"A": "b"}, Resources: map[string]File{"x": {Scheme: "file", Path: "/x", Port: -1, Size: 3, Timestamp: 4, Type: PlainFile, Visibility: Private}}}, token.Token{Kind: token.KindContainer, Identifier: []byte("two")}},
		Start{Launch{}, token.Token{Kind: token.KindContainer}})
	must(t, err)
	if len(services["mapreduce_shuffle"]) != 4 || len(failed) != 1 || !Is(failed[container(3)], "a.B") || failed[container(3)].Error() != "a.B: no" {
		t.Error(services, failed)
	}
	first := got.GetStartContainerRequest()[0]
	if spec := first.GetContainerLaunchContext(); string(first.GetContainerToken().GetIdentifier()) != "two" || spec.GetCommand()[0] != "true" ||
		spec.GetLocalResources()[0].GetValue().GetResource().GetFile() != "/x" || spec.GetEnvironment()[0].GetValue() != "b" {
		t.Error(got)
	}
	if c := node.Calls()[0]; c.User != attempt3.String() {
		t.Error(c)
	}
}

func TestStopAskSignalAndChange(t *testing.T) {
	one := []*pb.ContainerExceptionMap{exception(3, "a.B", "unknown")}
	node := clienttest.StartNode(t, map[string]clienttest.Method{
		"stopContainers":  clienttest.Answer(&pb.StopContainersResponse{FailedRequests: one}),
		"updateContainer": clienttest.Answer(&pb.ContainerUpdateResponse{FailedRequests: one}),
		"getContainerStatuses": clienttest.Answer(&pb.GetContainerStatusesResponse{FailedRequests: one, Status: []*pb.ContainerStatus{
			{ContainerId: toContainerID(container(2)), State: pb.ContainerState_C_COMPLETE.Enum(), ExitStatus: proto.Int32(7), Diagnostics: proto.String("d")}}}),
		"signalToContainer": decodeInto(&pb.SignalContainerRequest{}, func(in *pb.SignalContainerRequest) (proto.Message, error) {
			if in.GetCommand() != pb.SignalContainerCommand_GRACEFUL_SHUTDOWN || in.GetContainerId().GetId() != 2 {
				return nil, errors.New("unexpected")
			}
			return &pb.SignalContainerResponse{}, nil
		})})
	n := openNodes(t, nil)
	failed, err := n.Stop(t.Context(), node.ID, container(2), container(3))
	if err != nil || !Is(failed[container(3)], "a.B") {
		t.Error(failed, err)
	}
	failed, err = n.Change(t.Context(), node.ID, token.Token{Kind: token.KindContainer})
	if err != nil || len(failed) != 1 {
		t.Error(failed, err)
	}
	list, failed, err := n.Statuses(t.Context(), node.ID, container(2), container(3))
	if err != nil || len(failed) != 1 || len(list) != 1 || list[0].State != "COMPLETE" || list[0].ExitStatus != 7 || list[0].ID != container(2) {
		t.Error(list, failed, err)
	}
	must(t, n.Signal(t.Context(), node.ID, container(2), GracefulShutdown))
}

func TestANodeThatStartsIsTriedAgain(t *testing.T) {
	refusals := []string{ClassNodeNotReady, ipc.ClassRetriable}
	node := clienttest.StartNode(t, map[string]clienttest.Method{"stopContainers": func([]byte) (proto.Message, error) {
		if len(refusals) > 0 {
			class := refusals[0]
			refusals = refusals[1:]
			return nil, &ipc.RemoteError{Class: class, Message: "wait"}
		}
		return &pb.StopContainersResponse{}, nil
	}})
	var told []NodeRetry
	if _, err := openNodes(t, func(r NodeRetry) { told = append(told, r) }).Stop(t.Context(), node.ID); err != nil || len(told) != 2 || told[1].Tries != 2 || told[1].Node != node.ID {
		t.Error(err, told)
	}
}

func TestARefusalIsFinal(t *testing.T) {
	node := clienttest.StartNode(t, map[string]clienttest.Method{"stopContainers": clienttest.Refuse("a.B", "no")})
	if _, err := openNodes(t, nil).Stop(t.Context(), node.ID); !Is(err, "a.B") || len(node.Calls()) != 1 {
		t.Error(err, node.Calls())
	}
	other := node.ID
	other.Host = "localhost" // a token for another node than it thinks it is
	if _, err := openNodes(t, nil).Stop(t.Context(), other); !Is(err, ClassInvalidToken) {
		t.Error(err)
	}
	if _, err := openNodes(t, nil).Stop(t.Context(), yarn.NodeID{Host: "unknown", Port: 1}); err == nil || !strings.Contains(err.Error(), "no token for unknown:1") {
		t.Error(err)
	}
}

func TestANodeThatIsGoneIsGivenUp(t *testing.T) {
	id, err := yarn.ParseNodeID(dead(t))
	must(t, err)
	var told []NodeRetry
	_, err = openNodes(t, func(r NodeRetry) { told = append(told, r) }).Stop(t.Context(), id)
	var gone *NodeUnreachable
	if !errors.As(err, &gone) || gone.Node != id || len(told) != 3 || !strings.Contains(err.Error(), "gave up after 4 attempts") {
		t.Error(err, told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	n := openNodes(t, func(NodeRetry) { cancel() }, "yarn.client.nodemanager-connect.max-wait-ms=-1")
	if _, err := n.Stop(ctx, id); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := NewNodes(clienttest.Properties(t, "yarn.client.nodemanager-connect.max-wait-ms=0"), attempt3, NodesOptions{}); err == nil {
		t.Error("0 passed")
	}
}

func TestACallWithoutAnAnswerIsNotRepeated(t *testing.T) {
	hang := make(chan struct{})
	var once sync.Once
	open := func() { once.Do(func() { close(hang) }) }
	node := clienttest.StartNode(t, map[string]clienttest.Method{"stopContainers": func([]byte) (proto.Message, error) {
		<-hang
		return &pb.StopContainersResponse{}, nil
	}})
	t.Cleanup(open)
	_, err := openNodes(t, nil, "ipc.client.rpc-timeout.ms=30").Stop(t.Context(), node.ID)
	var gone *NodeUnreachable
	if open(); !errors.As(err, &gone) || len(node.Calls()) != 1 {
		t.Error(err, node.Calls())
	}
}
