// Package container serves ContainerManagementProtocol: masters start, stop, change and ask about containers. Callers have
// logged in with a node token; each container needs a token of its own.
package container

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
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

// Name is the protocol's on the wire.
const Name = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// Bounds of one request.
const (
	MaxContainers = 10_000 // containers that one call names
	MaxResources  = 10_000 // local resources of one container
)

// Services are the auxiliary services of the node.
type Services interface {
	// Metadata is what each tells masters, by its name.
	Metadata() map[string][]byte
	// Data hands a service what a container brings for it, at the container's start.
	Data(app yarn.ApplicationID, user, service string, data []byte) error
}

// Config is what the protocol needs.
type Config struct {
	Loop     *loop.Loop
	Keys     *secrets.Keys
	Services Services
	Types    yarn.ResourceTypes
	Node     func() yarn.NodeID // as registered
	// Issuer is the start time of the ResourceManager that the node is registered with; 0: it is not registered.
	Issuer func() int64
	// Closed is why the node starts and changes nothing at the moment; "" if it does.
	Closed func() string
	Audit  *audit.Log
}

type protocol struct{ Config }

// Protocol is the table of methods.
func Protocol(cfg Config) ipc.Protocol {
	p := &protocol{cfg}
	return ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"startContainers":              serve.With(func() *pb.StartContainersRequest { return &pb.StartContainersRequest{} }, p.start),
		"stopContainers":               serve.With(func() *pb.StopContainersRequest { return &pb.StopContainersRequest{} }, p.stop),
		"getContainerStatuses":         ipc.InTurn(serve.With(func() *pb.GetContainerStatusesRequest { return &pb.GetContainerStatusesRequest{} }, p.statuses)),
		"signalToContainer":            serve.With(func() *pb.SignalContainerRequest { return &pb.SignalContainerRequest{} }, p.signal),
		"updateContainer":              serve.With(func() *pb.ContainerUpdateRequest { return &pb.ContainerUpdateRequest{} }, p.update),
		"increaseContainersResource":   serve.With(func() *pb.IncreaseContainersResourceRequest { return &pb.IncreaseContainersResourceRequest{} }, p.increase),
		"localize":                     serve.Missing("localization for running containers"),
		"reInitializeContainer":        serve.Missing("upgrades of running containers"),
		"restartContainer":             serve.Missing("upgrades of running containers"),
		"rollbackLastReInitialization": serve.Missing("upgrades of running containers"),
		"commitLastReInitialization":   serve.Missing("upgrades of running containers"),
		"getLocalizationStatuses":      serve.Missing("localization for running containers"),
	}}
}

// caller reads the node token that the caller has logged in with. All nodes have the same keys, so that a token which another
// node may accept is genuine here too.
func (p *protocol) caller(c *ipc.Call) (token.NM, bool) {
	id, err := token.ParseNM(c.Caller.TokenIdentifier)
	node := p.Node()
	switch {
	case err != nil:
		serve.Refuse(c, serve.YarnException, "the call %s needs a node token: %v", c.Method, err)
	case c.Caller.User != id.Attempt.String():
		serve.Refuse(c, serve.YarnException, "Expected applicationAttemptId: %sFound: %s", c.Caller.User, id.Attempt)
	case id.Node != node:
		serve.Refuse(c, ipc.ClassInvalidToken, "Given NMToken for application : %s is not valid for current node manager.expected : %s found : %s", id.Attempt, node, id.Node)
	default:
		return id, true
	}
	return id, false
}

// starter is a caller that may start and change containers: the key of its token must still be good.
func (p *protocol) starter(c *ipc.Call) (token.NM, bool) {
	id, ok := p.caller(c)
	switch {
	case !ok:
	case !p.Keys.Good(id):
		serve.Refuse(c, ipc.ClassInvalidToken, "Older NMToken should not be used while starting the container.")
	case p.Issuer() == 0:
		serve.Refuse(c, serve.NotYetReady, "Rejecting new containers as NodeManager has not yet connected with ResourceManager")
	default:
		if why := p.Closed(); why != "" {
			serve.Refuse(c, serve.YarnException, "%s is refused: %s", c.Method, why)
			return id, false
		}
		return id, true
	}
	return id, false
}

// gather collects the outcomes of the containers that one call names, in whatever order they come, and answers when the
// last is there.
type gather struct {
	mu        sync.Mutex
	left      int
	succeeded []*pb.ContainerId
	failed    []*pb.ContainerExceptionMap
	answer    func(g *gather)
}

func (g *gather) outcome(id yarn.ContainerID, err error) {
	g.mu.Lock()
	if err == nil {
		g.succeeded = append(g.succeeded, convert.ToContainerID(id))
	} else {
		g.failed = append(g.failed, &pb.ContainerExceptionMap{ContainerId: convert.ToContainerID(id), Exception: exception(err)})
	}
	g.mu.Unlock()
	g.done()
}

// done is called once for each container and once by who asked for them.
func (g *gather) done() {
	g.mu.Lock()
	g.left--
	last := g.left == 0
	g.mu.Unlock()
	if last {
		g.answer(g)
	}
}

// exception is an error as a field of an answer.
func exception(err error) *pb.SerializedException {
	class, text := serve.YarnException, err.Error()
	var remote *ipc.RemoteError
	var refused *engine.Error
	switch {
	case errors.As(err, &remote):
		class, text = remote.Class, remote.Message
	case errors.As(err, &refused) && refused.Kind == engine.NotReady:
		class = serve.NotYetReady
	}
	return &pb.SerializedException{ClassName: &class, Message: &text}
}

func refusal(class, format string, args ...any) error {
	return &ipc.RemoteError{Class: class, Message: fmt.Sprintf(format, args...)}
}

// tooMany refuses a call that names too many containers.
func tooMany(c *ipc.Call, n int) bool {
	if n > MaxContainers {
		serve.Refuse(c, serve.YarnException, "%s names %d containers; at most %d are allowed", c.Method, n, MaxContainers)
	}
	return n > MaxContainers
}

// audited writes a line of the audit log about a container that a call names.
func (p *protocol) audited(c *ipc.Call, operation string, id yarn.ContainerID, err error) {
	e := audit.Entry{User: c.Caller.User, From: c.Caller.Remote.Addr(), Operation: operation, Target: "ContainerManageImpl", // compat: spelt so
		Application: id.Attempt.Application, Container: id}
	if err != nil {
		e.Failed, e.Description, e.Target = true, err.Error(), "ContainerManagerImpl"
	}
	p.Audit.Write(e)
}

// stop ends containers.
func (p *protocol) stop(c *ipc.Call, m *pb.StopContainersRequest) {
	id, ok := p.caller(c)
	if !ok || tooMany(c, len(m.GetContainerId())) {
		return
	}
	g := &gather{left: 1 + len(m.GetContainerId()), answer: func(g *gather) {
		serve.Answer(c, &pb.StopContainersResponse{SucceededRequests: g.succeeded, FailedRequests: g.failed})
	}}
	for _, x := range m.GetContainerId() {
		what := convert.ContainerID(x)
		if what.Attempt.Application != id.Attempt.Application {
			err := fmt.Errorf("%s attempted to stop non-application container : %s", id.Attempt, what)
			p.audited(c, audit.StopContainer, what, err)
			g.outcome(what, err)
			continue
		}
		p.Loop.Ask(func(t engine.Ticket) engine.Command { return engine.Stop{Ticket: t, ID: what} }, func(err error) {
			p.audited(c, audit.StopContainer, what, err)
			g.outcome(what, err)
		})
	}
	g.done()
}

// statuses tells how containers are.
func (p *protocol) statuses(c *ipc.Call, m *pb.GetContainerStatusesRequest) {
	id, ok := p.caller(c)
	if !ok || tooMany(c, len(m.GetContainerId())) {
		return
	}
	answer := &pb.GetContainerStatusesResponse{}
	for _, x := range m.GetContainerId() {
		what := convert.ContainerID(x)
		status, err := p.status(id, what)
		if err != nil {
			answer.FailedRequests = append(answer.FailedRequests, &pb.ContainerExceptionMap{ContainerId: x, Exception: exception(err)})
			continue
		}
		answer.Status = append(answer.Status, status)
	}
	serve.Answer(c, answer)
}

func (p *protocol) status(id token.NM, what yarn.ContainerID) (*pb.ContainerStatus, error) {
	if what.Attempt.Application != id.Attempt.Application {
		return nil, fmt.Errorf("%s attempted to get status for non-application container : %s", id.Attempt, what)
	}
	v := p.Loop.Container(what)
	if v == nil {
		return nil, fmt.Errorf("Container %s is not handled by this NodeManager", what) //nolint:staticcheck // Hadoop's text
	}
	return Status(v, p.Types, p.Node().Host), nil
}

// Status is a container as ContainerStatusProto.
// compat: until it is cleaned up, a container is RUNNING.
func Status(v *engine.View, types yarn.ResourceTypes, host string) *pb.ContainerStatus {
	state := pb.ContainerState_C_RUNNING
	if v.Done() {
		state = pb.ContainerState_C_COMPLETE
	}
	execution := pb.ExecutionType_GUARANTEED
	if v.Execution == yarn.Opportunistic {
		execution = pb.ExecutionType_OPPORTUNISTIC
	}
	return &pb.ContainerStatus{ContainerId: convert.ToContainerID(v.ID), State: &state, Diagnostics: proto.String(v.Text), ExitStatus: proto.Int32(v.Exit),
		Capability: convert.ToResource(v.Resource, types), ExecutionType: &execution, ContainerSubState: pb.ContainerSubState(v.Sub).Enum(),
		ContainerAttributes: []*pb.StringStringMap{{Key: proto.String("HOST"), Value: proto.String(host)}}}
}

func (p *protocol) signal(c *ipc.Call, m *pb.SignalContainerRequest) {
	id, ok := p.caller(c)
	if !ok {
		return
	}
	what := convert.ContainerID(m.GetContainerId())
	if what.Attempt.Application != id.Attempt.Application {
		serve.Refuse(c, serve.YarnException, "%s attempted to signal non-application container : %s", id.Attempt, what)
		return
	}
	p.Loop.Ask(func(t engine.Ticket) engine.Command {
		return engine.Signal{Ticket: t, ID: what, Signal: int32(m.GetCommand())}
	}, func(err error) {
		if err != nil {
			serve.Refuse(c, serve.YarnException, "%v", err)
			return
		}
		serve.Answer(c, &pb.SignalContainerResponse{})
	})
}

// check applies the rules that a genuine container token must pass; starting says which of the two kinds of calls it is.
func (p *protocol) check(id token.NM, what *token.Container, starting bool) error {
	doing, whom := "increase container resource.", "increasing resource of "
	if starting {
		doing, whom = "start container.", "starting "
	}
	now := time.Now().UnixMilli()
	switch {
	case what.ID.Attempt.Application != id.Attempt.Application:
		return fmt.Errorf("Unauthorized request to %s\nNMToken for application attempt : %s was used for %scontainer with container token issued for application attempt : %s", //nolint:staticcheck // Hadoop's text
			doing, id.Attempt, whom, what.ID.Attempt)
	case starting && !p.Keys.Fresh(what.ID):
		return fmt.Errorf("Unauthorized request to %s\n Attempt to relaunch the same container with id %s.", doing, what.ID) //nolint:staticcheck // Hadoop's text
	case what.Expires < now:
		return fmt.Errorf("Unauthorized request to %s\nThis token is expired. current time is %d found %d\nNote: System times on machines may be out of sync. Check system time and time zones.", //nolint:staticcheck // Hadoop's text
			doing, now, what.Expires)
	case what.Issuer != p.Issuer():
		return refusal(serve.InvalidContainer, "\nContainer %s rejected as it is allocated by a previous RM", what.ID)
	case !plain(what.Submitter):
		return fmt.Errorf("the user %q of container %s cannot have directories", what.Submitter, what.ID)
	}
	return nil
}

// plain tells whether a user's name can be the name of a directory.
func plain(user string) bool {
	return user != "" && user != "." && user != ".." && len(user) <= 255 && utf8.ValidString(user) && !strings.ContainsFunc(user, func(r rune) bool {
		return r == '/' || unicode.IsControl(r)
	})
}
