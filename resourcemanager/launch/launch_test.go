package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/freeport"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 60 * time.Second

var secret = []byte("a key that everybody here knows")

// fakeNode answers calls by a script; the last line holds for all that follow.
type fakeNode struct {
	id      yarn.NodeID
	mu      sync.Mutex
	script  []error // of startContainers and stopContainers; nil does what is asked
	failing string  // what failed_requests say; empty when they are empty
	calls   []string
	logins  int // that asked for a password
	started []*pb.StartContainerRequest
	hang    chan struct{} // when set, calls are answered after it is closed
}

func serve(t *testing.T, script ...error) *fakeNode {
	t.Helper()
	n := &fakeNode{script: script}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.listen(t, l)
	return n
}

func (n *fakeNode) listen(t *testing.T, l net.Listener) {
	t.Helper()
	server, err := ipc.Listen(ipc.ServerConfig{Name: "node", Listener: l, Methods: []ipc.Method{ipc.MethodToken}, Tokens: n, TokenKind: token.KindNM,
		Log: slog.New(slog.DiscardHandler), Protocols: []ipc.Protocol{{Name: containerProtocol, Version: 1,
			Methods: map[string]ipc.Handler{"startContainers": n.handle, "stopContainers": n.handle}}}})
	if err != nil {
		t.Fatal(err)
	}
	n.id = yarn.NodeID{Host: "127.0.0.1", Port: int32(l.Addr().(*net.TCPAddr).Port)}
	done := make(chan error, 1)
	go func() { done <- server.Serve() }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Close(ctx); err != nil {
			t.Error(err)
		}
		<-done
	})
}

// Password implements ipc.Tokens.
func (n *fakeNode) Password(identifier []byte) ([]byte, string, error) {
	n.mu.Lock()
	n.logins++
	n.mu.Unlock()
	id, err := token.ParseNM(identifier)
	if err != nil || id.Node != n.id {
		return nil, "", &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: "not for this node"}
	}
	return token.Sign(secret, identifier), id.User(), nil
}

func (n *fakeNode) handle(c *ipc.Call) {
	n.mu.Lock()
	n.calls = append(n.calls, c.Method+" by "+c.Caller.User)
	var err error
	if len(n.script) > 0 {
		if err = n.script[0]; len(n.script) > 1 {
			n.script = n.script[1:]
		}
	}
	hang := n.hang
	n.mu.Unlock()
	body := append([]byte(nil), c.Body...)
	go func() {
		if hang != nil {
			<-hang
		}
		if err != nil {
			c.Fail(err)
			return
		}
		c.Reply(n.answer(c.Method, body))
	}()
}

func (n *fakeNode) answer(method string, body []byte) []byte {
	n.mu.Lock()
	defer n.mu.Unlock()
	var failed []*pb.ContainerExceptionMap
	if n.failing != "" {
		failed = append(failed, &pb.ContainerExceptionMap{ContainerId: convert.ToContainerID(yarn.ContainerID{}),
			Exception: &pb.SerializedException{ClassName: proto.String("org.apache.hadoop.yarn.exceptions.YarnException"), Message: &n.failing}})
	}
	var out proto.Message = &pb.StopContainersResponse{FailedRequests: failed}
	if method == "startContainers" {
		m := &pb.StartContainersRequest{}
		if err := proto.Unmarshal(body, m); err != nil {
			panic(err)
		}
		n.started = append(n.started, m.StartContainerRequest...)
		out = &pb.StartContainersResponse{FailedRequests: failed}
	}
	b, err := proto.Marshal(out)
	if err != nil {
		panic(err)
	}
	return b
}

func (n *fakeNode) seen() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.calls...)
}

var attempt = yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1000, Sequence: 7}, Attempt: 2}

// desk is a launcher and the commands that it has posted.
type desk struct {
	*Launcher
	posted chan engine.Command
	fallen atomic.Bool // the ResourceManager may be active no more
}

// open starts a launcher on submissions of that context.
func open(t *testing.T, retry time.Duration, submitted []byte) *desk {
	t.Helper()
	d := &desk{posted: make(chan engine.Command, 1024)}
	d.Launcher = New(Config{Workers: 2, Retry: retry, Log: slog.New(slog.DiscardHandler), Post: func(c engine.Command) { d.posted <- c },
		Leads:   func() bool { return !d.fallen.Load() },
		Context: func(yarn.ApplicationID) ([]byte, error) { return submitted, nil },
		ContainerToken: func(g engine.Grant) token.Token {
			return token.Token{Identifier: []byte(g.ID.String()), Password: []byte("p"), Kind: token.KindContainer, Service: g.Node.String()}
		},
		NodeToken: func(a yarn.AttemptID, n yarn.NodeID, user string) token.Token {
			id := token.NM{Attempt: a, Node: n, Submitter: user, KeyID: 1}.Append(nil)
			return token.Token{Identifier: id, Password: token.Sign(secret, id), Kind: token.KindNM, Service: n.String()}
		},
		LoginToken: func(yarn.AttemptID) token.Token {
			return token.Token{Identifier: []byte("login"), Password: []byte("word"), Kind: token.KindAMRM}
		}})
	t.Cleanup(d.Close)
	return d
}

// submitted is a submission context with that launch context.
func submitted(t testing.TB, spec *pb.ContainerLaunchContext) []byte {
	t.Helper()
	b, err := proto.Marshal(&pb.ApplicationSubmissionContext{AmContainerSpec: spec})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (d *desk) next(t *testing.T) engine.Command {
	t.Helper()
	select {
	case c := <-d.posted:
		return c
	case <-time.After(patience):
		t.Fatal("the launcher reports nothing")
		return nil
	}
}

// launchOn queues the launch of attempt's master.
func (d *desk) launchOn(n yarn.NodeID) {
	d.Launch(engine.Launch{Attempt: attempt, User: "alice", Submit: 123, Grant: engine.Grant{ID: yarn.ContainerID{Attempt: attempt, Number: 1}, Node: n}})
}

// fails waits for a LaunchFailed whose reason contains want.
func (d *desk) fails(t *testing.T, want string) {
	t.Helper()
	c, ok := d.next(t).(engine.LaunchFailed)
	if !ok || c.Attempt != attempt || !strings.Contains(c.Why, want) {
		t.Errorf("reported %+v, want a failure with %q", c, want)
	}
}

// A launch hands over the context as submitted, with what the master needs.
func TestLaunch(t *testing.T) {
	var mine token.Credentials
	mine.SetToken("hdfs", token.Token{Identifier: []byte("i"), Password: []byte("w"), Kind: "K", Service: "s"})
	mine.SetToken("", token.Token{Identifier: []byte("old")}) // the client's own idea of a login
	n := serve(t)
	d := open(t, time.Minute, submitted(t, &pb.ContainerLaunchContext{Tokens: mine.Append(nil), Command: []string{"run"},
		Environment: []*pb.StringStringMap{variable("A", "b")}}))
	d.launchOn(n.id)
	if c := d.next(t); c != (engine.Launched{Attempt: attempt}) {
		t.Fatalf("reported %+v", c)
	}
	if got := n.seen(); len(got) != 1 || got[0] != "startContainers by "+attempt.String() {
		t.Errorf("calls: %v", got)
	}
	r := n.started[0]
	if string(r.GetContainerToken().GetIdentifier()) != "container_1000_0007_02_000001" || r.GetContainerLaunchContext().GetCommand()[0] != "run" {
		t.Errorf("request: %v", r)
	}
	env := ""
	for _, v := range r.GetContainerLaunchContext().GetEnvironment() {
		env += v.GetKey() + "=" + v.GetValue() + " "
	}
	if env != "A=b APPLICATION_WEB_PROXY_BASE=/proxy/application_1000_0007 APP_SUBMIT_TIME_ENV=123 " {
		t.Errorf("environment: %s", env)
	}
	c, err := token.ParseCredentials(r.GetContainerLaunchContext().GetTokens())
	if err != nil || len(c.Tokens) != 2 {
		t.Fatalf("credentials %v (%v)", c, err)
	}
	if login, ok := c.Token(""); !ok || string(login.Identifier) != "login" || login.Kind != token.KindAMRM {
		t.Errorf("login token: %v", login)
	}
}

// What cannot be launched is said, with the reason.
func TestLaunchFails(t *testing.T) {
	n := serve(t)
	good := submitted(t, &pb.ContainerLaunchContext{})
	n.failing = "the disk is full"
	open(t, 0, good).failsOn(t, n.id, "org.apache.hadoop.yarn.exceptions.YarnException: the disk is full")
	refusing := serve(t, &ipc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.YarnException", Message: "go away\n\tat X"})
	open(t, time.Minute, good).failsOn(t, refusing.id, "go away")
	open(t, time.Minute, nil).failsOn(t, n.id, "holds no launch context")
	open(t, time.Minute, []byte{0xff}).failsOn(t, n.id, "cannot read the submission context")
	open(t, time.Minute, submitted(t, &pb.ContainerLaunchContext{Tokens: []byte("rubbish")})).failsOn(t, n.id, "cannot read the credentials")
	if len(n.seen()) != 1 {
		t.Errorf("calls: %v", n.seen())
	}
}

func (d *desk) failsOn(t *testing.T, n yarn.NodeID, want string) {
	t.Helper()
	d.launchOn(n)
	d.fails(t, want)
}

// A node that refuses the token is not asked again.
func TestBadToken(t *testing.T) {
	n := serve(t)
	d := open(t, time.Minute, submitted(t, &pb.ContainerLaunchContext{}))
	d.cfg.NodeToken = func(yarn.AttemptID, yarn.NodeID, string) token.Token {
		return token.Token{Identifier: token.NM{Attempt: attempt}.Append(nil), Kind: token.KindNM}
	}
	d.failsOn(t, n.id, ipc.ClassInvalidToken)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.logins != 1 {
		t.Errorf("%d logins: the refusal was not the last word", n.logins)
	}
}

// A node that does not answer, or is not ready, is tried again for a while.
func TestRetry(t *testing.T) {
	notReady := &ipc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException", Message: "recovering"}
	good := submitted(t, &pb.ContainerLaunchContext{})
	t.Run("not ready", func(t *testing.T) {
		t.Parallel()
		n := serve(t, notReady, nil)
		d := open(t, time.Minute, good)
		d.launchOn(n.id)
		if c := d.next(t); c != (engine.Launched{Attempt: attempt}) || len(n.seen()) != 2 {
			t.Errorf("reported %+v after %v", c, n.seen())
		}
	})
	t.Run("never ready", func(t *testing.T) {
		t.Parallel()
		n := serve(t, notReady)
		open(t, retryPause*9/10, good).failsOn(t, n.id, "recovering") // over when the second try comes
		if len(n.seen()) != 2 {
			t.Errorf("calls: %v", n.seen())
		}
	})
	t.Run("away for a moment", func(t *testing.T) {
		t.Parallel()
		d := open(t, time.Minute, good)
		n, id := &fakeNode{}, nobody(t)
		d.launchOn(id)
		time.Sleep(retryPause / 4) // the first try finds nobody
		l, err := net.Listen("tcp", id.String())
		if err != nil {
			t.Fatal(err)
		}
		n.listen(t, l)
		if c := d.next(t); c != (engine.Launched{Attempt: attempt}) {
			t.Errorf("reported %+v", c)
		}
	})
	t.Run("away for good", func(t *testing.T) {
		t.Parallel()
		open(t, 0, good).failsOn(t, nobody(t), "refused")
	})
}

// nobody is a node that is not there; no connection takes its port by chance.
func nobody(t *testing.T) yarn.NodeID {
	t.Helper()
	ports, err := freeport.Loopback(1)
	if err != nil {
		t.Fatal(err)
	}
	return yarn.NodeID{Host: "127.0.0.1", Port: int32(ports[0])}
}

// Once this ResourceManager may be active no more, nodes hear nothing of it, and nothing of what waited is told.
func TestLeadsNoMore(t *testing.T) {
	good := submitted(t, &pb.ContainerLaunchContext{})
	notReady := &ipc.RemoteError{Class: "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException", Message: "recovering"}
	quiet := func(t *testing.T, d *desk, n *fakeNode, calls int) {
		t.Helper()
		d.Close() // what is under way ends
		if len(n.seen()) != calls || len(d.posted) != 0 {
			t.Errorf("%v, and %d commands", n.seen(), len(d.posted))
		}
	}
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		n, d := serve(t, nil), open(t, time.Minute, good)
		d.fallen.Store(true)
		d.launchOn(n.id)
		for len(d.waiting()) > 0 {
			time.Sleep(time.Millisecond)
		}
		quiet(t, d, n, 0)
	})
	t.Run("between two tries", func(t *testing.T) {
		t.Parallel()
		n, d := serve(t, notReady, nil), open(t, time.Minute, good)
		n.hang = make(chan struct{})
		d.launchOn(n.id)
		for len(n.seen()) == 0 {
			time.Sleep(time.Millisecond)
		}
		d.fallen.Store(true)
		close(n.hang) // it is answered
		time.Sleep(retryPause + retryPause/4)
		quiet(t, d, n, 1)
	})
	t.Run("while it connects", func(t *testing.T) {
		t.Parallel()
		n, d := serve(t, nil), open(t, 0, good)
		var asked atomic.Int32
		d.cfg.Leads = func() bool { return asked.Add(1) == 1 } // the next time the connection asks who calls
		d.Stop(engine.Stop{Attempt: attempt, Node: n.id, User: "alice"})
		for end := time.Now().Add(patience); asked.Load() < 2; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("it was not asked")
			}
		}
		time.Sleep(retryPause / 4)
		quiet(t, d, n, 0)
	})
}

// waiting is what no worker has taken.
func (l *Launcher) waiting() []any {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs
}

// A master is stopped by its attempt; that the node has forgotten it is no news.
func TestStop(t *testing.T) {
	n := serve(t)
	d := open(t, time.Minute, nil)
	stop := engine.Stop{Attempt: attempt, User: "alice", Node: n.id, Container: yarn.ContainerID{Attempt: attempt, Number: 1}}
	if err := d.stop(stop); err != nil {
		t.Error(err)
	}
	n.failing = "Container x is not handled by this NodeManager"
	if err := d.stop(stop); err == nil || !strings.Contains(err.Error(), "is not handled") {
		t.Errorf("a node that refuses: %v", err)
	}
	d.Stop(stop)
	d.Close() // ends after the stop, or instead of it
	select {
	case c := <-d.posted:
		t.Errorf("a stop reported %+v", c)
	default:
	}
	if got := n.seen(); got[0] != "stopContainers by "+attempt.String() {
		t.Errorf("calls: %v", got)
	}
}

// Beyond the bound launches fail at once, and whoever queues never waits.
func TestBoundedQueue(t *testing.T) {
	n := serve(t)
	n.hang = make(chan struct{})
	defer close(n.hang)
	d := open(t, time.Minute, submitted(t, &pb.ContainerLaunchContext{}))
	d.launchOn(n.id)
	d.launchOn(n.id)
	for end := time.Now().Add(patience); len(n.seen()) < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the workers take nothing")
		}
	}
	stop := engine.Stop{Attempt: attempt, Node: n.id}
	for range MaxWaiting {
		d.Stop(stop)
	}
	d.launchOn(n.id)
	d.fails(t, fmt.Sprintf("more than %d launches wait already", MaxWaiting))
	d.Stop(stop) // dropped
	if len(d.jobs) != MaxWaiting {
		t.Errorf("%d jobs wait", len(d.jobs))
	}
}

// Close interrupts calls under way and pauses, drops what waits and posts nothing: no
// attempt fails because the launcher is closed.
func TestClose(t *testing.T) {
	hanging := serve(t)
	hanging.hang = make(chan struct{})
	defer close(hanging.hang)
	away := yarn.NodeID{Host: "127.0.0.1", Port: 1}
	d := open(t, time.Hour, submitted(t, &pb.ContainerLaunchContext{}))
	d.launchOn(hanging.id)
	d.launchOn(away)
	for range 100 {
		d.launchOn(away)
	}
	for end := time.Now().Add(patience); len(hanging.seen()) < 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the workers take nothing")
		}
	}
	start := time.Now()
	d.Close()
	if took := time.Since(start); took > time.Second {
		t.Errorf("the end took %s", took)
	}
	d.launchOn(away)
	d.Close()
	select {
	case c := <-d.posted:
		t.Errorf("the end reported %+v", c)
	default:
	}
}

// FuzzSpec builds launch contexts from hostile submissions: whatever comes out
// holds the login token and the two variables.
func FuzzSpec(f *testing.F) {
	var c token.Credentials
	c.SetToken("x", token.Token{Identifier: []byte("i")})
	c.SetSecret("s", []byte("v"))
	f.Add(submitted(f, &pb.ContainerLaunchContext{}))
	f.Add(submitted(f, &pb.ContainerLaunchContext{Tokens: c.Append(nil), Environment: []*pb.StringStringMap{variable("A", "b")}}))
	f.Add(submitted(f, &pb.ContainerLaunchContext{Tokens: []byte("HDTS\x00\xff\xff\xff")}))
	f.Add([]byte{0x2a, 0x80})
	f.Fuzz(func(t *testing.T, b []byte) {
		l := &Launcher{cfg: Config{Context: func(yarn.ApplicationID) ([]byte, error) { return b, nil },
			LoginToken: func(yarn.AttemptID) token.Token {
				return token.Token{Identifier: []byte("login"), Kind: token.KindAMRM}
			}}}
		spec, err := l.spec(engine.Launch{Attempt: attempt})
		if err != nil {
			return
		}
		got, err := token.ParseCredentials(spec.Tokens)
		if login, ok := got.Token(""); err != nil || !ok || string(login.Identifier) != "login" {
			t.Errorf("credentials %v (%v)", got, err)
		}
		if n := len(spec.Environment); n < 2 || spec.Environment[n-1].GetKey() != "APP_SUBMIT_TIME_ENV" {
			t.Errorf("environment %v", spec.Environment)
		}
		if _, err := proto.Marshal(spec); err != nil && !errors.Is(err, proto.Error) {
			t.Error(err)
		}
	})
}
