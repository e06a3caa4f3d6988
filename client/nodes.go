package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Nodes calls NodeManagers for an application attempt: it starts, stops and
// asks about containers (ContainerManagementProtocol). It is safe for concurrent
// use; connections are made when they are needed and end when they are idle.
//
// A node that cannot be reached is tried again every
// yarn.client.nodemanager-connect.retry-interval-ms, for
// yarn.client.nodemanager-connect.max-wait-ms; so is one that is still starting.
// A call that got no answer in ipc.client.rpc-timeout.ms is not repeated: the
// node may have acted.
//
// A call about several containers can fail for some of them. Those are in a map
// of failures by container, each an [*Error]; the call's own error means that it
// failed as a whole.
type Nodes struct {
	attempt  yarn.AttemptID
	tokens   func(yarn.NodeID) (token.Token, bool)
	rpc      *ipc.Client
	attempts int
	pause    time.Duration
	retrying func(NodeRetry)
}

// NodesOptions of calls to nodes.
type NodesOptions struct {
	// Token finds the token for a node: [Master.NodeToken]. It is required.
	Token func(yarn.NodeID) (token.Token, bool)
	// Retrying, when set, is told of every failure to reach a node that is
	// tried again. It must not block.
	Retrying func(NodeRetry)
}

// NodeRetry is one failed try to reach a node.
type NodeRetry struct {
	Node  yarn.NodeID
	Tries int // from 1
	Err   error
}

// NodeUnreachable is a call that a node did not answer, after all retries.
type NodeUnreachable struct {
	Method string
	Node   yarn.NodeID
	Err    error // of the last try
}

func (e *NodeUnreachable) Error() string {
	return fmt.Sprintf("%s: the NodeManager at %s does not answer: %v", e.Method, e.Node, e.Err)
}

func (e *NodeUnreachable) Unwrap() error { return e.Err }

// NewNodes reads the retry policy from props. It connects to nothing yet.
func NewNodes(props *conf.Properties, attempt yarn.AttemptID, o NodesOptions) (*Nodes, error) {
	r := conf.NewReader(props)
	s := common(r)
	const maxWait = "yarn.client.nodemanager-connect.max-wait-ms"
	wait := r.Int64(maxWait, 180_000, conf.NotBelow(-1))
	interval := r.Int64("yarn.client.nodemanager-connect.retry-interval-ms", 10_000, conf.Positive)
	if wait == 0 {
		r.Fail(maxWait, "0 is refused, as it is by Hadoop; use -1 to wait for ever")
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	n := &Nodes{attempt: attempt, tokens: o.Token, attempts: attempts(wait, interval), pause: milliseconds(interval), retrying: o.Retrying}
	// Connections are tried once beneath the policy, as NMProxy sets it.
	n.rpc = ipc.NewClient(ipc.ClientConfig{Timeout: s.CallTimeout, Connect: ipc.Connect{Timeout: s.Connect.Timeout}})
	return n, nil
}

// Close ends all connections and the calls on them.
func (n *Nodes) Close() error { return n.rpc.Close() }

func (n *Nodes) call(ctx context.Context, node yarn.NodeID, method string, in, out proto.Message) error {
	t, ok := n.tokens(node)
	if !ok {
		return fmt.Errorf("%s: the ResourceManager has sent no token for %s, which comes with the first container there", method, node)
	}
	request, err := proto.Marshal(in)
	if err != nil {
		return fmt.Errorf("%s: encoding the request: %w", method, err)
	}
	as := &ipc.Credentials{User: n.attempt.String(), Tokens: func(string) *ipc.Token { return bearer(t) }}
	answer, err := n.patiently(ctx, node, func() ([]byte, error) {
		return n.rpc.CallAs(ctx, as, node.String(), containerProtocol, method, request)
	})
	if err != nil {
		return nodeFailure(method, node, err)
	}
	if err := proto.Unmarshal(answer, out); err != nil {
		return fmt.Errorf("%s: the answer of %s, %d bytes, does not parse: %w", method, node, len(answer), err)
	}
	return nil
}

// patiently repeats try until it succeeds, fails for good, or has been made
// often enough. As in NMProxy the number of attempts is bounded, not the time.
func (n *Nodes) patiently(ctx context.Context, node yarn.NodeID, try func() ([]byte, error)) ([]byte, error) {
	for tries := 1; ; tries++ {
		answer, err := try()
		if err == nil || ctx.Err() != nil || !again(err) {
			return answer, err
		}
		if tries >= n.attempts {
			return nil, fmt.Errorf("gave up after %d attempts: %w", tries, err)
		}
		if n.retrying != nil {
			n.retrying(NodeRetry{node, tries, err})
		}
		select {
		case <-time.After(n.pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (last attempt: %w)", context.Cause(ctx), err)
		}
	}
}

// again tells whether a call is to be tried again: NMProxy repeats what failed
// in the network and what a node that is starting refuses.
func again(err error) bool {
	var remote *ipc.RemoteError
	if errors.As(err, &remote) {
		return remote.Class == ipc.ClassRetriable || remote.Class == ClassNodeNotReady
	}
	var connect *ipc.ConnectError
	if errors.Is(err, os.ErrDeadlineExceeded) && !errors.As(err, &connect) {
		return false
	}
	return ipc.Judge(err, false, true) == ipc.Again
}

func nodeFailure(method string, node yarn.NodeID, err error) error {
	var r *ipc.RemoteError
	if errors.As(err, &r) {
		return &Error{Method: method, Class: r.Class, Message: r.Message}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ipc.ErrClosed) {
		return fmt.Errorf("%s: %w", method, err)
	}
	return &NodeUnreachable{Method: method, Node: node, Err: err}
}

// Start is a container to start: what runs in it, and the token of its Grant.
type Start struct {
	Launch Launch
	Token  token.Token
}

// Start starts containers on their node. services is the metadata of the node's
// auxiliary services by name.
func (n *Nodes) Start(ctx context.Context, node yarn.NodeID, list ...Start) (services map[string][]byte, failed map[yarn.ContainerID]error, err error) {
	const method = "startContainers"
	in := &pb.StartContainersRequest{StartContainerRequest: each(list, func(s Start) *pb.StartContainerRequest {
		return &pb.StartContainerRequest{ContainerLaunchContext: toLaunch(s.Launch), ContainerToken: toToken(s.Token)}
	})}
	out := &pb.StartContainersResponse{}
	if err := n.call(ctx, node, method, in, out); err != nil {
		return nil, nil, err
	}
	services = map[string][]byte{}
	for _, s := range out.GetServicesMetaData() {
		services[s.GetKey()] = s.GetValue()
	}
	return services, failures(method, out.GetFailedRequests()), nil
}

// Stop ends containers; their exit status is then yarn.ExitKilledByAM.
func (n *Nodes) Stop(ctx context.Context, node yarn.NodeID, ids ...yarn.ContainerID) (failed map[yarn.ContainerID]error, err error) {
	out := &pb.StopContainersResponse{}
	err = n.call(ctx, node, "stopContainers", &pb.StopContainersRequest{ContainerId: each(ids, toContainerID)}, out)
	return failures("stopContainers", out.GetFailedRequests()), err
}

// Status is what a node says of a container.
type Status struct {
	ID          yarn.ContainerID
	State       string // NEW, RUNNING, COMPLETE; RUNNING also while it waits
	ExitStatus  int32  // yarn.ExitInvalid until it has ended
	Diagnostics string
	Size        Resource
}

// Statuses asks about containers.
func (n *Nodes) Statuses(ctx context.Context, node yarn.NodeID, ids ...yarn.ContainerID) (list []Status, failed map[yarn.ContainerID]error, err error) {
	out := &pb.GetContainerStatusesResponse{}
	err = n.call(ctx, node, "getContainerStatuses", &pb.GetContainerStatusesRequest{ContainerId: each(ids, toContainerID)}, out)
	list = each(out.GetStatus(), func(m *pb.ContainerStatus) Status {
		return Status{fromContainerID(m.GetContainerId()), trimPrefix(m.GetState().String(), "C_"), m.GetExitStatus(), m.GetDiagnostics(), fromResource(m.GetCapability())}
	})
	return list, failures("getContainerStatuses", out.GetFailedRequests()), err
}

// Signal has a container's process signalled.
func (n *Nodes) Signal(ctx context.Context, node yarn.NodeID, id yarn.ContainerID, s Signal) error {
	in := &pb.SignalContainerRequest{ContainerId: toContainerID(id), Command: pb.SignalContainerCommand(s).Enum()}
	return n.call(ctx, node, "signalToContainer", in, &pb.SignalContainerResponse{})
}

// Change tells a node of changes that the ResourceManager has granted, by their
// new tokens.
func (n *Nodes) Change(ctx context.Context, node yarn.NodeID, tokens ...token.Token) (failed map[yarn.ContainerID]error, err error) {
	out := &pb.ContainerUpdateResponse{}
	err = n.call(ctx, node, "updateContainer", &pb.ContainerUpdateRequest{UpdateContainerToken: each(tokens, toToken)}, out)
	return failures("updateContainer", out.GetFailedRequests()), err
}

func failures(method string, list []*pb.ContainerExceptionMap) map[yarn.ContainerID]error {
	out := map[yarn.ContainerID]error{}
	for _, f := range list {
		e := f.GetException()
		out[fromContainerID(f.GetContainerId())] = &Error{Method: method, Class: e.GetClassName(), Message: e.GetMessage()}
	}
	return out
}
