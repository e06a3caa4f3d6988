package container

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const issuer = 1_700_000_000_000

var (
	types   = yarn.ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}}
	node    = yarn.NodeID{Host: "n1", Port: 45454}
	app     = yarn.ApplicationID{ClusterTimestamp: issuer, Sequence: 7}
	attempt = yarn.AttemptID{Application: app, Attempt: 1}
	other   = yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: issuer, Sequence: 8}, Attempt: 1}
	nodeKey = secrets.Key{ID: 11, Bytes: []byte("node key")}
	theKey  = secrets.Key{ID: 22, Bytes: []byte("container key")}
)

// world is a port with a loop behind it, on which processes are what the test says.
type world struct {
	t      testing.TB
	loop   *loop.Loop
	keys   *secrets.Keys
	port   *ipc.Server
	issuer atomic.Int64

	mu      sync.Mutex
	effects []engine.Effect
	data    map[string]string // application/user/service → what it was given
}

func newWorld(t testing.TB) *world {
	w := &world{t: t, data: map[string]string{}}
	w.issuer.Store(issuer)
	log := slog.New(slog.DiscardHandler)
	set := engine.Settings{CacheInterval: 1 << 40, TrackStopped: 600_000, MaxDiagnostics: 1000, Placed: func(n int64) string { return strconv.FormatInt(n, 10) }, Zone: time.UTC}
	w.loop = loop.New(loop.Config{Engine: engine.New(set), Clock: clock.System(), Do: w.do, Log: log, Fatal: func(err error) { t.Error(err) }})
	w.keys = secrets.New(types, func(op state.Op) { w.loop.Post(engine.Keep{Op: op}) })
	w.keys.SetNodeKey(nodeKey)
	w.keys.SetContainerKey(theKey)
	var err error
	w.port, err = ipc.Listen(ipc.ServerConfig{Name: "containers", Address: "127.0.0.1:0", Methods: []ipc.Method{ipc.MethodToken}, Tokens: w.keys, TokenKind: token.KindNM,
		Log: log, Protocols: []ipc.Protocol{Protocol(Config{Loop: w.loop, Keys: w.keys, Services: w, Types: types,
			Node: func() yarn.NodeID { return node }, Issuer: w.issuer.Load, Closed: func() string { return "" }})}})
	if err != nil {
		t.Fatal(err)
	}
	w.serve()
	w.loop.Post(engine.Disks{Local: []string{"/d"}, Log: []string{"/l"}})
	return w
}

func (w *world) serve() {
	ctx, end := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { w.loop.Run(ctx) })
	work.Go(func() {
		if err := w.port.Serve(); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(func() {
		if err := w.port.Close(context.Background()); err != nil {
			w.t.Error(err)
		}
		end()
		work.Wait()
		if s := w.port.Stats(); s.Panics > 0 || s.AnsweredTwice > 0 {
			w.t.Errorf("%d panics, %d answered twice", s.Panics, s.AnsweredTwice)
		}
	})
}

func (w *world) do(x engine.Effect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.effects = append(w.effects, x)
}

// Metadata implements Services.
func (w *world) Metadata() map[string][]byte {
	return map[string][]byte{"mapreduce_shuffle": {0, 0, 0x34, 0xfa}, "another": {}}
}

// Data implements Services.
func (w *world) Data(app yarn.ApplicationID, user, service string, data []byte) error {
	if string(data) == "rubbish" {
		return errors.New("this is no token")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.data[fmt.Sprintf("%d/%s/%s", app.Sequence, user, service)] = string(data)
	return nil
}

func (w *world) given() map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.data)
}

// sync waits until all that was posted shows.
func (w *world) sync() {
	w.t.Helper()
	if err := w.loop.Sync(context.Background()); err != nil {
		w.t.Fatal(err)
	}
}

// master is somebody who has logged in with a node token.
type master struct {
	w      *world
	client *ipc.Client
}

func (w *world) master(of yarn.AttemptID) *master {
	id := token.NM{Attempt: of, Node: node, Submitter: "ann", KeyID: nodeKey.ID}.Append(nil)
	return w.with(&ipc.Token{Identifier: id, Password: token.Sign(nodeKey.Bytes, id), Kind: token.KindNM})
}

func (w *world) with(t *ipc.Token) *master {
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "ann", Tokens: func(string) *ipc.Token { return t }}, Timeout: 10 * time.Second})
	w.t.Cleanup(func() { c.Close() })
	return &master{w, c}
}

func (m *master) raw(method string, body []byte) ([]byte, error) {
	return m.client.Call(context.Background(), m.w.port.Addr().String(), Name, method, body)
}

func (m *master) call(method string, in, out proto.Message) error {
	m.w.t.Helper()
	body, err := proto.Marshal(in)
	if err != nil {
		m.w.t.Fatal(err)
	}
	answer, err := m.raw(method, body)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(answer, out); err != nil {
		m.w.t.Fatal(err)
	}
	return nil
}

func (m *master) start(list ...*pb.StartContainerRequest) (*pb.StartContainersResponse, error) {
	out := &pb.StartContainersResponse{}
	return out, m.call("startContainers", &pb.StartContainersRequest{StartContainerRequest: list}, out)
}

// started has containers started, all of which must be.
func (m *master) started(list ...*pb.StartContainerRequest) {
	m.w.t.Helper()
	out, err := m.start(list...)
	if err != nil || len(out.SucceededRequests) != len(list) || len(out.FailedRequests) > 0 {
		m.w.t.Fatalf("%v %v", out, err)
	}
}

func number(n int64) yarn.ContainerID { return yarn.ContainerID{Attempt: attempt, Number: n} }

// request is a container as a master starts it, after some changes to what the ResourceManager has said of it.
func request(n int64, changes ...func(*token.Container)) *pb.StartContainerRequest {
	return &pb.StartContainerRequest{ContainerToken: signed(theKey, n, changes...), ContainerLaunchContext: &pb.ContainerLaunchContext{Command: []string{"sleep 1"}}}
}

func signed(key secrets.Key, n int64, changes ...func(*token.Container)) *pb.Token {
	what := token.Container{ID: number(n), NodeAddress: node.String(), Submitter: "ann", Resource: yarn.NewResource(1024, 1),
		Expires: time.Now().Add(time.Hour).UnixMilli(), KeyID: key.ID, Issuer: issuer, Priority: 3, Created: 5, AllocationRequestID: -1}
	for _, change := range changes {
		change(&what)
	}
	id := what.Append(nil, types)
	return &pb.Token{Identifier: id, Password: token.Sign(key.Bytes, id), Kind: proto.String(token.KindContainer), Service: proto.String("")}
}

// launching is a request with a launch context.
func launching(n int64, launch *pb.ContainerLaunchContext) *pb.StartContainerRequest {
	r := request(n)
	r.ContainerLaunchContext = launch
	return r
}

func resourced(n int64, name string, r *pb.LocalResource) *pb.StartContainerRequest {
	return launching(n, &pb.ContainerLaunchContext{LocalResources: []*pb.StringLocalResourceMap{{Key: &name, Value: r}}})
}

func localResource(file string) *pb.LocalResource {
	return &pb.LocalResource{Resource: &pb.URL{Scheme: proto.String("file"), File: &file}, Size: proto.Int64(1), Timestamp: proto.Int64(2),
		Type: pb.LocalResourceType_FILE.Enum(), Visibility: pb.LocalResourceVisibility_APPLICATION.Enum()}
}

// refused checks that a whole call is.
func refused(t *testing.T, err error, class, text string) {
	t.Helper()
	var remote *ipc.RemoteError
	if !errors.As(err, &remote) || remote.Class != class || !strings.Contains(remote.Message, text) {
		t.Errorf("got %v\nwant %s: %s", err, class, text)
	}
}

// failed checks that one container of a call is refused alone.
func failed(t *testing.T, list []*pb.ContainerExceptionMap, n int64, class, text string) {
	t.Helper()
	for _, x := range list {
		if convert.ContainerID(x.ContainerId) == number(n) && x.Exception.GetClassName() == class && strings.Contains(x.Exception.GetMessage(), text) {
			return
		}
	}
	t.Errorf("got %v\nwant %s for %s: %s", list, class, number(n), text)
}
