package container

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
)

// start accepts containers. One with a forged token fails the whole call, as stock masters expect; others fail alone.
func (p *protocol) start(c *ipc.Call, m *pb.StartContainersRequest) {
	requests := m.GetStartContainerRequest()
	id, ok := p.starter(c)
	if !ok || tooMany(c, len(requests)) {
		return
	}
	tokens := make([]token.Container, len(requests))
	for i, r := range requests {
		what, err := p.genuine(r.GetContainerToken())
		if err != nil {
			c.Fail(err)
			return
		}
		tokens[i] = what
	}
	g := &gather{left: 1 + len(tokens), answer: func(g *gather) {
		serve.Answer(c, &pb.StartContainersResponse{ServicesMetaData: p.metadata(), SucceededRequests: g.succeeded, FailedRequests: g.failed})
	}}
	for i, r := range requests {
		p.startOne(c, id, &tokens[i], r, g)
	}
	g.done()
}

// genuine reads a container token that the ResourceManager has given out for this node.
func (p *protocol) genuine(t *pb.Token) (token.Container, error) {
	what, err := p.Keys.Container(t.GetIdentifier(), t.GetPassword())
	if node := p.Node().String(); err == nil && what.NodeAddress != node {
		err = refusal(ipc.ClassInvalidToken, "Given Container %s identifier is not valid for current Node manager. Expected : %s Found : %s", what.ID, node, what.NodeAddress)
	}
	return what, err
}

func (p *protocol) metadata() []*pb.StringBytesMap {
	var out []*pb.StringBytesMap
	all := p.Services.Metadata()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, &pb.StringBytesMap{Key: proto.String(name), Value: all[name]})
	}
	return out
}

// startOne has a container started. Only one that was accepted uses its token up, and makes the key of its master's token
// worth remembering.
func (p *protocol) startOne(c *ipc.Call, id token.NM, what *token.Container, r *pb.StartContainerRequest, g *gather) {
	spec, err := p.admissible(id, what, r)
	if err != nil {
		p.audited(c, audit.StartContainer, what.ID, err)
		g.outcome(what.ID, err)
		return
	}
	p.Loop.Ask(func(t engine.Ticket) engine.Command { return engine.Start{Ticket: t, Container: spec} }, func(err error) {
		if err == nil {
			p.Keys.Remember(id)
			p.Keys.Started(what.ID, what.Expires, time.Now().UnixMilli())
		}
		p.audited(c, audit.StartContainer, what.ID, err)
		g.outcome(what.ID, err)
	})
}

// admissible checks all that can be checked before the engine sees a container, and passes the auxiliary services their data.
func (p *protocol) admissible(id token.NM, what *token.Container, r *pb.StartContainerRequest) (engine.Spec, error) {
	if err := p.check(id, what, true); err != nil {
		return engine.Spec{}, err
	}
	launch := r.GetContainerLaunchContext()
	metadata := p.Services.Metadata()
	for _, d := range launch.GetServiceData() {
		if _, known := metadata[d.GetKey()]; !known {
			return engine.Spec{}, refusal(serve.InvalidAuxService, "The auxService:%s does not exist", d.GetKey())
		}
	}
	spec, err := Spec(what, r.GetContainerToken().GetIdentifier(), launch)
	if err != nil {
		return spec, err
	}
	if len(launch.GetTokens()) > 0 {
		if _, err := token.ParseCredentials(launch.GetTokens()); err != nil {
			return spec, fmt.Errorf("cannot read the credentials of %s: %w", what.ID, err)
		}
	}
	app := what.ID.Attempt.Application
	if a, known := p.Loop.Application(app); known && a.State != engine.ApplicationRunning {
		return spec, fmt.Errorf("container %s cannot start: %s has ended", what.ID, app) // no service would hear of its end again
	}
	for _, d := range launch.GetServiceData() {
		if err := p.Services.Data(app, what.Submitter, d.GetKey(), d.GetValue()); err != nil {
			return spec, fmt.Errorf("the auxiliary service %s refuses %s: %w", d.GetKey(), what.ID, err)
		}
	}
	return spec, nil
}

// Spec reads a container from its token and its launch context.
func Spec(what *token.Container, identifier []byte, launch *pb.ContainerLaunchContext) (engine.Spec, error) {
	s := engine.Spec{ID: what.ID, User: what.Submitter, Resource: what.Resource, Priority: what.Priority, Created: what.Created,
		Execution: what.ExecutionType, Version: what.Version, AllocationRequestID: what.AllocationRequestID, AllocationTags: what.AllocationTags,
		Label: what.Label, Master: what.Master, LogContext: what.LogContext, Token: append([]byte(nil), identifier...), Retry: retry(launch.GetContainerRetryContext())}
	for _, a := range launch.GetApplication_ACLs() {
		if s.ACLs == nil {
			s.ACLs = map[string]string{}
		}
		s.ACLs[accessNames[a.GetAccessType()]] = a.GetAcl()
	}
	if n := len(launch.GetLocalResources()); n > MaxResources {
		return s, fmt.Errorf("container %s wants %d local resources; at most %d are allowed", what.ID, n, MaxResources)
	}
	var err error
	if s.Resources, err = requests(launch.GetLocalResources()); err != nil {
		return s, err
	}
	s.Launch, err = proto.Marshal(launch)
	return s, err
}

// requests reads the map of local resources. Of two entries with one name the later counts, as in Java's maps.
func requests(list []*pb.StringLocalResourceMap) ([]engine.Request, error) {
	var out []engine.Request
	at := make(map[string]int, len(list))
	for _, m := range list {
		request, err := resource(m)
		if err != nil {
			return nil, err
		}
		if i, again := at[request.Name]; again {
			out[i] = request
			continue
		}
		at[request.Name] = len(out)
		out = append(out, request)
	}
	return out, nil
}

// accessNames are ApplicationAccessType's.
var accessNames = map[pb.ApplicationAccessType]string{
	pb.ApplicationAccessType_APPACCESS_VIEW_APP:   "VIEW_APP",
	pb.ApplicationAccessType_APPACCESS_MODIFY_APP: "MODIFY_APP",
}

// resource reads one entry of the map of local resources.
func resource(m *pb.StringLocalResourceMap) (engine.Request, error) {
	r := m.GetValue()
	switch {
	case r.GetResource() == nil:
		return engine.Request{}, fmt.Errorf("Null resource URL for local resource %s", m.GetKey()) //nolint:staticcheck // Hadoop's text
	case r.Type == nil:
		return engine.Request{}, fmt.Errorf("Null resource type for local resource %s", m.GetKey()) //nolint:staticcheck // Hadoop's text
	case r.Visibility == nil:
		return engine.Request{}, fmt.Errorf("Null resource visibility for local resource %s", m.GetKey()) //nolint:staticcheck // Hadoop's text
	}
	if slices.Contains(strings.Split(m.GetKey(), "/"), "..") {
		return engine.Request{}, fmt.Errorf("the name %q of a local resource leads out of the container's working directory", m.GetKey())
	}
	request, err := localize.FromWire(r)
	if err != nil {
		return engine.Request{}, fmt.Errorf("the local resource %s: %w", m.GetKey(), err)
	}
	body, err := proto.Marshal(r)
	if err != nil {
		return engine.Request{}, err
	}
	return engine.Request{Name: m.GetKey(), Visibility: engine.Visibility(request.Visibility), Key: request.Key(), Resource: body}, nil
}

func retry(r *pb.ContainerRetryContext) engine.Retry {
	if r == nil {
		return engine.Retry{}
	}
	policy := map[pb.ContainerRetryPolicy]engine.RetryPolicy{pb.ContainerRetryPolicy_RETRY_ON_ALL_ERRORS: engine.RetryOnAll,
		pb.ContainerRetryPolicy_RETRY_ON_SPECIFIC_ERROR_CODES: engine.RetryOnCodes}[r.GetRetryPolicy()]
	return engine.Retry{Policy: policy, Codes: r.GetErrorCodes(), Max: r.GetMaxRetries(), Interval: int64(r.GetRetryInterval()), Validity: r.GetFailuresValidityInterval()}
}

// update changes what running containers may use.
func (p *protocol) update(c *ipc.Call, m *pb.ContainerUpdateRequest) {
	p.change(c, m.GetUpdateContainerToken(), func(g *gather) proto.Message {
		return &pb.ContainerUpdateResponse{SucceededRequests: g.succeeded, FailedRequests: g.failed}
	})
}

// increase is update's older form.
func (p *protocol) increase(c *ipc.Call, m *pb.IncreaseContainersResourceRequest) {
	p.change(c, m.GetIncreaseContainers(), func(g *gather) proto.Message {
		return &pb.IncreaseContainersResourceResponse{SucceededRequests: g.succeeded, FailedRequests: g.failed}
	})
}

func (p *protocol) change(c *ipc.Call, tokens []*pb.Token, answer func(*gather) proto.Message) {
	id, ok := p.starter(c)
	if !ok || tooMany(c, len(tokens)) {
		return
	}
	changes := make([]token.Container, len(tokens))
	for i, t := range tokens {
		what, err := p.genuine(t)
		if err != nil {
			c.Fail(err)
			return
		}
		changes[i] = what
	}
	g := &gather{left: 1 + len(tokens), answer: func(g *gather) { serve.Answer(c, answer(g)) }}
	for i := range changes {
		p.changeOne(id, &changes[i], bytes.Clone(tokens[i].GetIdentifier()), g)
	}
	g.done()
}

func (p *protocol) changeOne(id token.NM, what *token.Container, identifier []byte, g *gather) {
	if err := p.check(id, what, false); err != nil {
		g.outcome(what.ID, err)
		return
	}
	p.Loop.Ask(func(t engine.Ticket) engine.Command {
		return engine.Update{Ticket: t, ID: what.ID, Resource: what.Resource, Execution: what.ExecutionType, Version: what.Version, Token: identifier}
	}, func(err error) {
		if err == nil {
			p.Keys.Remember(id)
		}
		g.outcome(what.ID, err)
	})
}
