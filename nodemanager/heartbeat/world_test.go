package heartbeat

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

const issuer = 1_700_000_000_000

var (
	types = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}}
	node  = yarn.NodeID{Host: "n1", Port: 45454}
	app   = yarn.ApplicationID{ClusterTimestamp: issuer, Sequence: 7}
)

func number(n int64) yarn.ContainerID {
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: app, Attempt: 1}, Number: n}
}

// memory is a network: by an address one reaches whoever accepts there.
type memory map[string]chan net.Conn

type listener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { close(l.done); return nil }
func (l listener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "memory"} }

func (m memory) dial(ctx context.Context, address string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case m[address] <- far:
		return near, nil
	case <-time.After(time.Second):
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// world is a node that reports, and ResourceManagers that a test plays. Time is that of a synctest bubble.
type world struct {
	t        *testing.T
	r        *Reporter
	loop     *loop.Loop
	keys     *secrets.Keys
	network  memory
	began    time.Time
	end      context.CancelFunc
	ended    chan error
	cfg      Config
	close    func()        // ends the first ResourceManager
	immortal bool          // no process ends, though it is killed
	slow     time.Duration // what keeping a record takes

	mu            sync.Mutex
	register      func(rm string, m *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) // mu is held
	beat          func(rm string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error)             // likewise
	registrations []*pb.RegisterNodeManagerRequest
	beats         []*pb.NodeHeartbeatRequest
	at            []time.Duration // when the beats came
	left          []*pb.UnRegisterNodeManagerRequest
	effects       []engine.Effect
	logs          []LogReport
	resized       []yarn.Resource
	total         Usage
}

// play runs f against a node that knows ResourceManagers by these addresses; f has it report by calling run.
func play(t *testing.T, f func(w *world), rms ...string) {
	synctest.Test(t, func(t *testing.T) {
		if len(rms) == 0 {
			rms = []string{"rm1"}
		}
		w := &world{t: t, network: memory{}, began: time.Now(), ended: make(chan error, 1)}
		for _, name := range rms {
			w.network[name] = make(chan net.Conn)
		}
		w.register = func(string, *pb.RegisterNodeManagerRequest) (*pb.RegisterNodeManagerResponse, error) {
			return registered(), nil
		}
		w.beat = func(_ string, m *pb.NodeHeartbeatRequest) (*pb.NodeHeartbeatResponse, error) { return next(m), nil }
		log := slog.New(slog.DiscardHandler)
		set := engine.Settings{CacheInterval: 1 << 40, TrackStopped: 600_000, MaxDiagnostics: 32 << 20, Placed: func(n int64) string { return strconv.FormatInt(n, 10) }, Zone: time.UTC}
		w.loop = loop.New(loop.Config{Engine: engine.New(set), Clock: clock.System(), Store: w, Do: w.do, Log: log, Fatal: func(err error) { t.Error(err) }})
		w.keys = secrets.New(types, func(op state.Op) { w.loop.Post(engine.Keep{Op: op}) })
		ctx, end := context.WithCancel(t.Context())
		go w.loop.Run(ctx)
		t.Cleanup(func() { end(); w.loop.Wait() })
		w.loop.Post(engine.Disks{Local: []string{"/d"}, Log: []string{"/l"}})
		w.cfg = Config{KeepLogs: 5 * time.Second, Group: w.group(6, rms...), Loop: w.loop, Keys: w.keys, Node: node, HTTPPort: 8042, Total: yarn.NewResource(8192, 8), Physical: yarn.NewResource(16384, 16), Types: types,
			Preserve: true, Health: func() Health { return Health{true, "fine", 77} }, Usage: func() (Usage, Usage) { return w.total, Usage{1, 2, 0.5} },
			Logs: w.collected, Resized: func(r yarn.Resource) { w.resized = append(w.resized, r) }, Registered: func() {}, Log: log}
		w.close = w.open(rms[0])
		f(w)
		synctest.Wait()
	})
}

// group is how the node reaches ResourceManagers.
func (w *world) group(attempts int, rms ...string) *ipc.Group {
	client := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "yarn"}, Connect: ipc.Connect{Dial: w.network.dial}, Timeout: time.Minute})
	w.t.Cleanup(func() { client.Close() })
	group, err := ipc.NewGroup(client, rms, ipc.Policy{Attempts: attempts, Base: 2 * time.Second, Most: 4 * time.Second})
	if err != nil {
		w.t.Fatal(err)
	}
	return group
}

// open has a ResourceManager answer; close ends that.
func (w *world) open(name string) (close func()) {
	s, err := ipc.Listen(ipc.ServerConfig{Name: name, Listener: listener{w.network[name], make(chan struct{})}, Methods: []ipc.Method{ipc.MethodSimple},
		Log: slog.New(slog.DiscardHandler), Protocols: []ipc.Protocol{w.protocol(name)}})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve() }()
	close = sync.OnceFunc(func() {
		if err := errors.Join(s.Close(context.Background()), <-done); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(close)
	return close
}

func (w *world) protocol(name string) ipc.Protocol {
	return ipc.Protocol{Name: protocol, Version: 1, Methods: map[string]ipc.Handler{
		"registerNodeManager": serve.With(func() *pb.RegisterNodeManagerRequest { return &pb.RegisterNodeManagerRequest{} }, func(c *ipc.Call, m *pb.RegisterNodeManagerRequest) {
			w.mu.Lock()
			w.registrations = append(w.registrations, m)
			out, err := w.register(name, m)
			w.mu.Unlock()
			answer(c, out, err)
		}),
		"nodeHeartbeat": serve.With(func() *pb.NodeHeartbeatRequest { return &pb.NodeHeartbeatRequest{} }, func(c *ipc.Call, m *pb.NodeHeartbeatRequest) {
			w.mu.Lock()
			w.beats, w.at = append(w.beats, m), append(w.at, time.Since(w.began))
			out, err := w.beat(name, m)
			w.mu.Unlock()
			answer(c, out, err)
		}),
		"unRegisterNodeManager": serve.With(func() *pb.UnRegisterNodeManagerRequest { return &pb.UnRegisterNodeManagerRequest{} }, func(c *ipc.Call, m *pb.UnRegisterNodeManagerRequest) {
			w.mu.Lock()
			w.left = append(w.left, m)
			w.mu.Unlock()
			serve.Answer(c, &pb.UnRegisterNodeManagerResponse{})
		}),
	}}
}

func answer(c *ipc.Call, m proto.Message, err error) {
	if err != nil {
		c.Fail(err)
		return
	}
	serve.Answer(c, m)
}

// registered is a ResourceManager's ordinary answer to a registration.
func registered() *pb.RegisterNodeManagerResponse {
	return &pb.RegisterNodeManagerResponse{NodeAction: pb.NodeAction_NODE_ACTION_NORMAL.Enum(), RmIdentifier: proto.Int64(issuer), RmVersion: proto.String("3.5.0"),
		ContainerTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(5), Bytes: []byte("five")}, NmTokenMasterKey: &pb.MasterKey{KeyId: proto.Int32(6), Bytes: []byte("six")}}
}

// next is a ResourceManager's ordinary answer to a heartbeat.
func next(m *pb.NodeHeartbeatRequest) *pb.NodeHeartbeatResponse {
	return &pb.NodeHeartbeatResponse{ResponseId: proto.Int32(m.NodeStatus.GetResponseId() + 1), NodeAction: pb.NodeAction_NODE_ACTION_NORMAL.Enum(), NextHeartBeatInterval: proto.Int64(1000)}
}

// Commit implements loop.Store.
func (w *world) Commit([]state.Op) error {
	time.Sleep(w.slow)
	return nil
}

// do carries effects out: what is killed ends, and what has ended asks for a heartbeat.
func (w *world) do(x engine.Effect) {
	w.mu.Lock()
	w.effects = append(w.effects, x)
	w.mu.Unlock()
	switch x := x.(type) {
	case engine.Kill:
		if w.immortal {
			return
		}
		go func() {
			time.Sleep(300 * time.Millisecond)
			w.loop.Post(engine.Exited{ID: x.ID, Code: 137})
		}()
	case engine.Beat:
		if w.r != nil {
			w.r.Soon()
		}
	}
}

func (w *world) collected() []LogReport {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.logs
	w.logs = nil
	return out
}

// run has the node report until the test ends.
func (w *world) run() {
	w.r = New(w.cfg)
	ctx, end := context.WithCancel(w.t.Context())
	w.end = end
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.ended <- w.r.Run(ctx)
	}()
	w.t.Cleanup(func() { end(); <-done })
	synctest.Wait()
}

// containers has some started, in an application.
func (w *world) start(numbers ...int64) {
	w.t.Helper()
	for _, n := range numbers {
		w.loop.Post(engine.Start{Container: engine.Spec{ID: number(n), User: "ann", Resource: yarn.NewResource(1024, 1), Priority: 3, Created: 9, Label: "gpu", AllocationRequestID: 4,
			AllocationTags: []string{"tag"}}})
		w.loop.Post(engine.Launched{ID: number(n)})
	}
	w.sync()
}

func (w *world) sync() {
	w.t.Helper()
	if err := w.loop.Sync(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// pass lets time go by. Whatever the test has done before, others see.
func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	w.mu.Unlock() //nolint:staticcheck // it orders what is before and after
	time.Sleep(d)
	synctest.Wait()
}

// last is the heartbeat that came last.
func (w *world) last() *pb.NodeHeartbeatRequest {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.beats) == 0 {
		w.t.Fatal("there has been no heartbeat")
	}
	return w.beats[len(w.beats)-1]
}

func (w *world) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.beats)
}
