package nodemanager

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// attempt is the world's application's only one; others are of other applications.
func (w *world) attempt() yarn.AttemptID { return yarn.AttemptID{Application: w.app, Attempt: 1} }

func (w *world) id(n int64) yarn.ContainerID {
	return yarn.ContainerID{Attempt: w.attempt(), Number: n}
}

// asks has a master with this token call the node.
func (w *world) asks(t *ipc.Token, method string, in, out proto.Message) error {
	w.Helper()
	c := ipc.NewClient(ipc.ClientConfig{Credentials: ipc.Credentials{User: "ann", Tokens: func(string) *ipc.Token { return t }}, Timeout: patience})
	defer c.Close()
	body, err := proto.Marshal(in)
	if err != nil {
		w.Fatal(err)
	}
	answer, err := c.Call(context.Background(), w.node().String(), container.Name, method, body)
	if err != nil {
		return err
	}
	return proto.Unmarshal(answer, out)
}

// token is that of the attempt's master.
func (w *world) token() *ipc.Token {
	return w.rm.introduce(token.NM{Attempt: w.attempt(), Node: w.node(), Submitter: "ann"})
}

// what is a container as the ResourceManager allows it, after some changes.
func (w *world) what(n int64, changes ...func(*token.Container)) token.Container {
	c := token.Container{ID: w.id(n), NodeAddress: w.node().String(), Submitter: "ann", Resource: yarn.NewResource(1024, 1), Expires: time.Now().Add(time.Hour).UnixMilli(),
		Issuer: w.rm.issuer, AllocationRequestID: -1}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// request is a container with these contents; a script is what runs.
func (w *world) request(n int64, script string, changes ...func(*token.Container)) *pb.StartContainerRequest {
	w.Helper()
	file := w.path(fmt.Sprintf("script%d.sh", n))
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		w.Fatal(err)
	}
	return &pb.StartContainerRequest{ContainerToken: w.rm.admit(w.what(n, changes...)),
		ContainerLaunchContext: &pb.ContainerLaunchContext{Command: []string{"exec", "/bin/bash", file, "1><LOG_DIR>/stdout", "2><LOG_DIR>/stderr"}}}
}

func (w *world) start1(r *pb.StartContainerRequest) (*pb.StartContainersResponse, error) {
	w.Helper()
	out := &pb.StartContainersResponse{}
	return out, w.asks(w.token(), "startContainers", &pb.StartContainersRequest{StartContainerRequest: []*pb.StartContainerRequest{r}}, out)
}

// accepted has containers started, all of which must be.
func (w *world) accepted(list ...*pb.StartContainerRequest) {
	w.Helper()
	out := &pb.StartContainersResponse{}
	if err := w.asks(w.token(), "startContainers", &pb.StartContainersRequest{StartContainerRequest: list}, out); err != nil || len(out.SucceededRequests) != len(list) {
		w.Fatalf("%v %v", out, err)
	}
}

// next is a number that no container has had.
func (w *world) next() int64 { return w.last.Add(1) }

// runs starts a script as a container.
func (w *world) runs(script string, changes ...func(*token.Container)) yarn.ContainerID {
	w.Helper()
	n := w.next()
	w.accepted(w.request(n, script, changes...))
	return w.id(n)
}

// stop ends a container as its master does.
func (w *world) stop(id yarn.ContainerID) {
	w.Helper()
	out := &pb.StopContainersResponse{}
	err := w.asks(w.token(), "stopContainers", &pb.StopContainersRequest{ContainerId: []*pb.ContainerId{convert.ToContainerID(id)}}, out)
	if err != nil || len(out.SucceededRequests) != 1 {
		w.Fatalf("%v %v", out, err)
	}
}

// ended waits until the ResourceManager has heard of a container's end.
func (w *world) ended(id yarn.ContainerID) *pb.ContainerStatus {
	w.Helper()
	await(w, "the end of "+id.String(), func() bool { return w.rm.latest(id).GetState() == pb.ContainerState_C_COMPLETE })
	return w.rm.latest(id)
}

// exits checks how a container ends, and parts of its diagnostics.
func (w *world) exits(id yarn.ContainerID, code int32, parts ...string) {
	w.Helper()
	s := w.ended(id)
	if s.GetExitStatus() != code {
		w.Errorf("%s exits with %d instead of %d: %s", id, s.GetExitStatus(), code, s.GetDiagnostics())
	}
	for _, part := range parts {
		if !strings.Contains(s.GetDiagnostics(), part) {
			w.Errorf("%s lacks %q: %s", id, part, s.GetDiagnostics())
		}
	}
}

// works checks that a plain container still runs and that the web port answers.
func (w *world) works() {
	w.Helper()
	id := w.runs("echo works; exit 0")
	w.exits(id, 0)
	if text := w.output(id, "stdout"); text != "works\n" {
		w.Errorf("a plain container has written %q", text)
	}
	if status, _, err := w.get("/ws/v1/node/containers/" + id.String()); status != http.StatusOK || err != nil {
		w.Errorf("the web port answers with %d %v", status, err)
	}
}

// output is a log file of a container; nothing if it is not there.
func (w *world) output(id yarn.ContainerID, name string) string {
	text, _ := os.ReadFile(w.path("logs", id.Attempt.Application.String(), id.String(), name))
	return string(text)
}

// printed waits for a line of a container's output.
func (w *world) printed(id yarn.ContainerID, text string) {
	w.Helper()
	await(w, fmt.Sprintf("%s prints %q", id, text), func() bool { return strings.Contains(w.output(id, "stdout"), text) })
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func toID(id yarn.ContainerID) *pb.ContainerId { return convert.ToContainerID(id) }
