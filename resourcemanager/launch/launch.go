// Package launch starts masters' containers on their nodes, and stops them, as a client
// of ContainerManagementProtocol. It posts the outcomes of launches to the loop as
// commands.
package launch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

const containerProtocol = "org.apache.hadoop.yarn.api.ContainerManagementProtocolPB"

// Bounds and times of launches.
const (
	MaxWaiting  = 100_000          // launches and stops that wait for a worker
	callTimeout = 60 * time.Second // one call to a node
	retryPause  = time.Second
)

// Config is what launching needs.
type Config struct {
	Workers int           // launches at once (yarn.resourcemanager.amlauncher.thread-count)
	Retry   time.Duration // how long calls to a node that does not answer are repeated
	Limits  ipc.Limits
	// Context is the submission context of an application, as it was submitted.
	Context        func(yarn.ApplicationID) ([]byte, error)
	ContainerToken func(engine.Grant) token.Token
	NodeToken      func(yarn.AttemptID, yarn.NodeID, string) token.Token
	LoginToken     func(yarn.AttemptID) token.Token
	Post           func(engine.Command)
	Leads          func() bool // tells whether this ResourceManager may still be active: else no node is called; nil: always
	Log            *slog.Logger
}

// Launcher is a bounded queue of launches and stops, with its workers.
type Launcher struct {
	cfg  Config
	mu   sync.Mutex
	jobs []any // engine.Launch and engine.Stop, oldest first
	more sync.Cond
	done bool
	work sync.WaitGroup
	ctx  context.Context
	end  context.CancelFunc
}

// New starts the workers.
func New(cfg Config) *Launcher {
	l := &Launcher{cfg: cfg}
	l.more.L = &l.mu
	l.ctx, l.end = context.WithCancel(context.Background())
	for range max(cfg.Workers, 1) {
		l.work.Add(1)
		go l.worker()
	}
	return l
}

// Launch queues a launch. It does not block. If the queue is full LaunchFailed is posted
// by another goroutine: the caller is the loop, whose mailbox may be full.
func (l *Launcher) Launch(x engine.Launch) {
	if !l.put(x) && l.ctx.Err() == nil {
		go l.cfg.Post(engine.LaunchFailed{Attempt: x.Attempt, Why: fmt.Sprintf("more than %d launches wait already", MaxWaiting)})
	}
}

// Stop queues a stop. It does not block. If the queue is full the stop is dropped: the
// node also learns from its next heartbeat that it has to clean up.
func (l *Launcher) Stop(x engine.Stop) { l.put(x) }

func (l *Launcher) put(job any) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) >= MaxWaiting || l.done {
		return false
	}
	l.jobs = append(l.jobs, job)
	l.more.Signal()
	return true
}

// Close drops what waits, cancels the calls under way and waits for the workers.
func (l *Launcher) Close() {
	l.end()
	l.mu.Lock()
	l.done = true
	l.jobs = nil
	l.mu.Unlock()
	l.more.Broadcast()
	l.work.Wait()
}

func (l *Launcher) next() any {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.jobs) == 0 && !l.done {
		l.more.Wait()
	}
	if l.done {
		return nil
	}
	job := l.jobs[0]
	l.jobs[0] = nil
	l.jobs = l.jobs[1:]
	return job
}

func (l *Launcher) worker() {
	defer l.work.Done()
	for {
		switch job := l.next().(type) {
		case nil:
			return
		case engine.Launch:
			err := l.launch(job)
			switch {
			case err != nil && l.ctx.Err() != nil, errors.Is(err, errLeadsNoMore):
				// The launcher was closed, or will be. The launch may have succeeded, so it has not failed.
			case err != nil:
				l.cfg.Log.Warn("cannot launch a master", "attempt", job.Attempt, "node", job.Grant.Node, "error", err)
				l.cfg.Post(engine.LaunchFailed{Attempt: job.Attempt, Why: err.Error()})
			default:
				l.cfg.Post(engine.Launched{Attempt: job.Attempt})
			}
		case engine.Stop:
			if err := l.stop(job); err != nil && !strings.Contains(err.Error(), "is not handled by this NodeManager") {
				l.cfg.Log.Info("cannot stop a master's container", "container", job.Container, "node", job.Node, "error", err)
			}
		}
	}
}

func (l *Launcher) launch(x engine.Launch) error {
	spec, err := l.spec(x)
	if err != nil {
		return err
	}
	request := &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{{
		ContainerLaunchContext: spec, ContainerToken: toToken(l.cfg.ContainerToken(x.Grant))}}}
	answer := &pb.StartContainersResponse{}
	if err := l.call(x.Attempt, x.Grant.Node, x.User, "startContainers", request, answer); err != nil {
		return err
	}
	for _, f := range answer.GetFailedRequests() {
		return fmt.Errorf("%s: %s", f.GetException().GetClassName(), f.GetException().GetMessage())
	}
	return nil
}

// spec is the launch context as submitted, with what the ResourceManager adds:
// two variables and the token by which the master logs in.
func (l *Launcher) spec(x engine.Launch) (*pb.ContainerLaunchContext, error) {
	app := x.Attempt.Application
	submitted := &pb.ApplicationSubmissionContext{}
	context, err := l.cfg.Context(app)
	if err == nil {
		err = proto.Unmarshal(context, submitted)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the submission context of %s: %w", app, err)
	}
	spec := submitted.GetAmContainerSpec()
	if spec == nil {
		return nil, fmt.Errorf("the submission of %s holds no launch context", app)
	}
	spec.Environment = append(spec.Environment,
		variable("APPLICATION_WEB_PROXY_BASE", "/proxy/"+app.String()),
		variable("APP_SUBMIT_TIME_ENV", strconv.FormatInt(x.Submit, 10)))
	var credentials token.Credentials
	if len(spec.Tokens) > 0 {
		if credentials, err = token.ParseCredentials(spec.Tokens); err != nil {
			return nil, fmt.Errorf("cannot read the credentials of %s: %w", app, err)
		}
	}
	credentials.SetToken("", l.cfg.LoginToken(x.Attempt))
	spec.Tokens = credentials.Append(nil)
	return spec, nil
}

func variable(name, value string) *pb.StringStringMap {
	return &pb.StringStringMap{Key: &name, Value: &value}
}

func (l *Launcher) stop(x engine.Stop) error {
	answer := &pb.StopContainersResponse{}
	request := &pb.StopContainersRequest{ContainerId: []*pb.ContainerId{convert.ToContainerID(x.Container)}}
	if err := l.call(x.Attempt, x.Node, x.User, "stopContainers", request, answer); err != nil {
		return err
	}
	for _, f := range answer.GetFailedRequests() {
		return errors.New(f.GetException().GetMessage())
	}
	return nil
}

// errLeadsNoMore is why a node is not called: another ResourceManager may be active, and know of other masters.
var errLeadsNoMore = errors.New("this ResourceManager may be active no more")

func (l *Launcher) leads() bool { return l.cfg.Leads == nil || l.cfg.Leads() }

// call calls a node as the attempt, with a token made for this call. If the node cannot
// be reached or is not ready the call is repeated until Retry is over.
func (l *Launcher) call(attempt yarn.AttemptID, node yarn.NodeID, user, method string, request, answer proto.Message) error {
	body, err := proto.Marshal(request)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", method, err)
	}
	t := l.cfg.NodeToken(attempt, node, user)
	client := ipc.NewClient(ipc.ClientConfig{
		Credentials: ipc.Credentials{User: attempt.String(), Tokens: func(string) *ipc.Token {
			if !l.leads() { // it was paused since it connected
				return nil
			}
			return &ipc.Token{Identifier: t.Identifier, Password: t.Password, Kind: t.Kind, Service: t.Service}
		}},
		Timeout: callTimeout, Limits: l.cfg.Limits,
	})
	defer client.Close()
	giveUp := time.Now().Add(l.cfg.Retry)
	for {
		if !l.leads() {
			return errLeadsNoMore
		}
		out, err := client.Call(l.ctx, node.String(), containerProtocol, method, body)
		if err == nil {
			return proto.Unmarshal(out, answer)
		}
		var remote *ipc.RemoteError
		if !l.leads() {
			return errLeadsNoMore
		}
		if errors.As(err, &remote) && remote.Class != "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException" || time.Now().After(giveUp) || l.ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-l.ctx.Done():
		}
	}
}

func toToken(t token.Token) *pb.Token {
	return &pb.Token{Identifier: t.Identifier, Password: t.Password, Kind: &t.Kind, Service: &t.Service}
}
