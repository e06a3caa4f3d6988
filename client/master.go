package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// How a master deals with a ResourceManager that was restarted or is slow.
const (
	maxResyncs  = 5                      // registrations within one call
	finishPause = 100 * time.Millisecond // until the end is asked for again
)

// Master is an ApplicationMaster's session with the ResourceManager
// (ApplicationMasterProtocol): [Master.Register], then [Master.Allocate] at
// least once in yarn.am.liveness-monitor.expiry-interval-ms, then
// [Master.Finish].
//
// What the master wants is said with Want, Release, Avoid and Change between
// the heartbeats. It is sent with the next one, kept until it has been sent, and
// sent again as a whole when the ResourceManager has been restarted. An error of
// Allocate loses nothing: the next heartbeat says it again. Two refusals are
// final, since the ResourceManager runs another attempt or none:
// ClassAttemptNotFound and ClassInvalidToken.
//
// Register, Allocate and Finish are for one goroutine, the rest for any.
type Master struct {
	attempt yarn.AttemptID
	client  *Client
	group   *ipc.Group

	mu       sync.Mutex
	at       *place
	login    *ipc.Token
	response int32 // id of the last answer
	tokens   map[yarn.NodeID]token.Token
	books    books
}

// place is the address with which a master registered.
type place struct {
	host string
	port int32
}

// NewMaster reads addresses and retry policy from props, and from credentials
// the token that names the attempt. It connects to nothing yet.
func NewMaster(props *conf.Properties, credentials token.Credentials, o Options) (*Master, error) {
	login, ok := credentials.OfKind(token.KindAMRM)
	if !ok {
		return nil, fmt.Errorf("the credentials hold no token of kind %s: only the container of an ApplicationMaster has one", token.KindAMRM)
	}
	id, err := token.ParseAMRM(login.Identifier)
	if err != nil {
		return nil, fmt.Errorf("reading the token of an ApplicationMaster: %w", err)
	}
	s, err := readMaster(props)
	if err != nil {
		return nil, err
	}
	m := &Master{attempt: id.Attempt, tokens: map[yarn.NodeID]token.Token{}, books: newBooks(), login: bearer(login)}
	m.client = connect(s, ipc.Credentials{User: id.User(), Tokens: func(string) *ipc.Token { return m.bearer() }}, o)
	m.group, err = m.client.group(s.Master)
	return m, err
}

func bearer(t token.Token) *ipc.Token {
	return &ipc.Token{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service}
}

func (m *Master) bearer() *ipc.Token {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.login
}

// Attempt is whose master this is.
func (m *Master) Attempt() yarn.AttemptID { return m.attempt }

// Close ends the connections and the calls on them.
func (m *Master) Close() error { return m.client.Close() }

// NodeToken is the token with which the master logs in at a node. The
// ResourceManager sends it with the first container granted there.
func (m *Master) NodeToken(node yarn.NodeID) (token.Token, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t, ok := m.tokens[node]
	return t, ok
}

func (m *Master) call(ctx context.Context, method string, in, out proto.Message) error {
	return m.client.call(ctx, m.group, m.client.settings.Master, masterProtocol, method, in, out)
}

// Register announces the master. host and port are where its clients find it,
// port -1 for nowhere; trackingURL, which may be "", is where its page is.
func (m *Master) Register(ctx context.Context, host string, port int32, trackingURL string) (Registration, error) {
	m.mu.Lock()
	m.at = &place{host, port}
	m.books.url = trackingURL
	m.mu.Unlock()
	return m.register(ctx)
}

func (m *Master) register(ctx context.Context) (Registration, error) {
	m.mu.Lock()
	in := &pb.RegisterApplicationMasterRequest{Host: &m.at.host, RpcPort: &m.at.port, TrackingUrl: proto.String(m.books.url)}
	m.mu.Unlock()
	out := &pb.RegisterApplicationMasterResponse{}
	if err := m.call(ctx, "registerApplicationMaster", in, out); err != nil {
		return Registration{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.response = 0
	m.keep(out.GetNmTokensFromPreviousAttempts())
	return fromRegistration(out), nil
}

func (m *Master) keep(tokens []*pb.NMToken) {
	for _, t := range tokens {
		m.tokens[fromNodeID(t.GetNodeId())] = fromToken(t.GetToken())
	}
}

// Allocate makes one heartbeat: it sends everything that has not been sent yet,
// and the progress of the work from 0 to 1.
func (m *Master) Allocate(ctx context.Context, progress float32) (*Allocation, error) {
	for resyncs := 0; ; resyncs++ {
		in, sent := m.heartbeat(progress)
		out := &pb.AllocateResponse{}
		err := m.call(ctx, "allocate", in, out)
		if err == nil {
			a := fromAllocation(out)
			a.Resynced = resyncs > 0
			m.take(out, a, sent)
			return a, nil
		}
		m.mu.Lock()
		m.books.restore(sent)
		m.mu.Unlock()
		if !Is(err, ClassMasterNotRegistered) || resyncs >= maxResyncs {
			return nil, err
		}
		if err := m.resync(ctx); err != nil {
			return nil, err
		}
	}
}

// resync registers again with a ResourceManager that has been restarted, and
// marks everything to be sent again.
func (m *Master) resync(ctx context.Context) error {
	m.mu.Lock()
	registered := m.at != nil
	m.mu.Unlock()
	if !registered {
		return fmt.Errorf("%s is not registered yet", m.attempt)
	}
	if _, err := m.register(ctx); err != nil {
		return fmt.Errorf("registering again after the ResourceManager was restarted: %w", err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.books.again()
	return nil
}

func (m *Master) heartbeat(progress float32) (*pb.AllocateRequest, sent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	in := &pb.AllocateRequest{ResponseId: proto.Int32(m.response), Progress: &progress}
	return in, m.books.write(in)
}

// take keeps what an answer holds for later calls.
func (m *Master) take(out *pb.AllocateResponse, a *Allocation, told sent) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.response = out.GetResponseId()
	m.keep(out.GetNmTokens())
	if t := out.GetAmRmToken(); t != nil {
		// Keys roll; connections made from now on log in with this one.
		m.login = bearer(fromToken(t))
	}
	m.books.apply(a, told)
}

// Finish ends the application with the master's own verdict. It returns when
// the end is stored. trackingURL, which may be "", is where the page is from
// now on.
func (m *Master) Finish(ctx context.Context, status yarn.FinalStatus, diagnostics, trackingURL string) error {
	in := &pb.FinishApplicationMasterRequest{FinalApplicationStatus: pb.FinalApplicationStatus(status).Enum(),
		Diagnostics: &diagnostics, TrackingUrl: &trackingURL}
	for resyncs := 0; ; {
		out := &pb.FinishApplicationMasterResponse{}
		err := m.call(ctx, "finishApplicationMaster", in, out)
		switch {
		case Is(err, ClassMasterNotRegistered) && resyncs < maxResyncs:
			resyncs++
			if err := m.resync(ctx); err != nil {
				return err
			}
			continue
		case err != nil || out.GetIsUnregistered():
			return err
		}
		select {
		case <-time.After(finishPause):
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of %s to be stored: %w", m.attempt, context.Cause(ctx))
		}
	}
}
