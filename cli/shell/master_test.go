package shell

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

var quick = pace{beat: 2 * time.Millisecond, linger: 2 * time.Millisecond, look: 5 * time.Millisecond, hold: 10 * time.Millisecond, patience: 10 * time.Second}

// cluster is a ResourceManager that grants what is asked for, one node, and the
// node's web server.
type cluster struct {
	t    *testing.T
	rm   *clienttest.RM
	node *clienttest.Node
	web  *httptest.Server
	// fate is what becomes of the n-th container, from 1: its exit status, or an
	// error with which it is not started. Nil lets it run on.
	fate func(n int64) any
	// surplus is how many containers come on top of the first request.
	surplus int64
	refuse  error // of every heartbeat with an ask

	mu        sync.Mutex
	url       string // of the master's page
	last      int64  // container
	answer    *pb.AllocateResponse
	released  []int64
	asked     []int32
	launched  map[int64]string
	finish    *pb.FinishApplicationMasterRequest
	beats     int
	registers chan struct{}
}

func start(t *testing.T, fate func(int64) any) *cluster {
	t.Helper()
	c := &cluster{t: t, fate: fate, answer: &pb.AllocateResponse{}, launched: map[int64]string{}, registers: make(chan struct{})}
	c.rm = clienttest.StartForMasters(t, map[string]clienttest.Method{
		"registerApplicationMaster": c.register, "allocate": c.allocate, "finishApplicationMaster": c.end})
	c.node = clienttest.StartNode(t, map[string]clienttest.Method{"startContainers": c.launch})
	c.web = httptest.NewServer(http.HandlerFunc(c.logs))
	t.Cleanup(c.web.Close)
	return c
}

func (c *cluster) register(b []byte) (proto.Message, error) {
	in := &pb.RegisterApplicationMasterRequest{}
	err := proto.Unmarshal(b, in)
	c.url = in.GetTrackingUrl()
	close(c.registers)
	return &pb.RegisterApplicationMasterResponse{}, err
}

func (c *cluster) allocate(b []byte) (proto.Message, error) {
	in := &pb.AllocateRequest{}
	if err := proto.Unmarshal(b, in); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beats++
	if c.refuse != nil && len(in.GetAsk()) > 0 {
		return nil, c.refuse
	}
	out := c.answer
	c.answer = &pb.AllocateResponse{}
	out.ResponseId = proto.Int32(in.GetResponseId() + 1)
	for _, id := range in.GetRelease() {
		c.released = append(c.released, id.GetId())
	}
	for _, row := range in.GetAsk() {
		if row.GetResourceName() != yarn.AnyHost {
			continue
		}
		c.asked = append(c.asked, row.GetNumContainers())
		for range int64(row.GetNumContainers()) + c.surplus {
			c.last++
			out.AllocatedContainers = append(out.AllocatedContainers, &pb.Container{Id: convert.ToContainerID(containerID(c.last)),
				NodeId: convert.ToNodeID(c.node.ID), NodeHttpAddress: proto.String(strings.TrimPrefix(c.web.URL, "http://")), AllocationRequestId: proto.Int64(row.GetAllocationRequestId()),
				ContainerToken: &pb.Token{Identifier: []byte(fmt.Sprint(c.last)), Password: []byte{}, Kind: proto.String(token.KindContainer), Service: proto.String("")}})
		}
		c.surplus = 0
		t := clienttest.NodeToken(attempt, c.node.ID)
		out.NmTokens = []*pb.NMToken{{NodeId: convert.ToNodeID(c.node.ID), Token: &pb.Token{Identifier: t.Identifier, Password: t.Password, Kind: &t.Kind, Service: &t.Service}}}
	}
	return out, nil
}

func (c *cluster) launch(b []byte) (proto.Message, error) {
	in := &pb.StartContainersRequest{}
	if err := proto.Unmarshal(b, in); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &pb.StartContainersResponse{}
	for _, r := range in.GetStartContainerRequest() {
		var n int64
		fmt.Sscan(string(r.GetContainerToken().GetIdentifier()), &n)
		c.launched[n] = r.GetContainerLaunchContext().GetCommand()[0]
		switch fate := c.fate(n).(type) {
		case error:
			out.FailedRequests = append(out.FailedRequests, &pb.ContainerExceptionMap{ContainerId: convert.ToContainerID(containerID(n)),
				Exception: &pb.SerializedException{ClassName: proto.String("a.B"), Message: proto.String(fate.Error())}})
		case int:
			c.ends(n, int32(fate))
		}
	}
	return out, nil
}

// ends has the next heartbeat told of a container's end. Call it locked.
func (c *cluster) ends(n int64, exit int32) {
	c.answer.CompletedContainerStatuses = append(c.answer.CompletedContainerStatuses, &pb.ContainerStatus{
		ContainerId: convert.ToContainerID(containerID(n)), ExitStatus: &exit, Diagnostics: proto.String("diagnostics")})
}

func (c *cluster) end(b []byte) (proto.Message, error) {
	in := &pb.FinishApplicationMasterRequest{}
	err := proto.Unmarshal(b, in)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish = in
	return &pb.FinishApplicationMasterResponse{IsUnregistered: proto.Bool(true)}, err
}

func (c *cluster) logs(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/stdout") {
		http.NotFound(w, r)
		return
	}
	id := strings.Split(r.URL.Path, "/")[5]
	(&nodeLog{data: []byte("out of " + id + "\n")}).ServeHTTP(w, r)
}

// master runs a job in the cluster.
func (c *cluster) master(ctx context.Context, j *Job, p pace) <-chan error {
	c.t.Helper()
	for _, pair := range []string{"yarn.resourcemanager.scheduler.address=" + c.rm.Address, "ipc.client.connect.max.retries=0",
		"yarn.client.nodemanager-connect.retry-interval-ms=1", "yarn.client.nodemanager-connect.max-wait-ms=1"} {
		name, value, _ := strings.Cut(pair, "=")
		j.Properties = append(j.Properties, conf.Override{Name: name, Value: value})
	}
	b, err := j.Credentials()
	must(c.t, err)
	credentials, err := token.ParseCredentials(b)
	must(c.t, err)
	credentials.SetToken("", clienttest.LoginToken(attempt, 1))
	done := make(chan error, 1)
	go func() {
		done <- runAt(ctx, Master{Credentials: credentials, Host: "127.0.0.1", Log: slog.New(slog.DiscardHandler)}, p)
	}()
	return done
}

// story follows a job and tells each container's events.
func (c *cluster) story(j *Job) []string {
	c.t.Helper()
	<-c.registers
	out := make([]string, j.Containers)
	ctx, cancel := context.WithTimeout(c.t.Context(), 30*time.Second)
	defer cancel()
	err := follow(ctx, []string{c.url}, j.Secret, func(e Event) {
		text := ""
		switch e.Kind {
		case Started: // may be known after the end
			return
		case Output:
			id, err := yarn.ParseContainerID(strings.TrimSpace(strings.TrimPrefix(string(e.Data), "out of ")))
			must(c.t, err)
			text = fmt.Sprint("out", id.Number)
		default:
			text = fmt.Sprint(string(e.Kind), e.Exit)
		}
		out[e.Number] += " " + text
	}, time.Millisecond)
	must(c.t, err)
	slices.Sort(out)
	return out
}

func TestAJobFromBeginningToEnd(t *testing.T) {
	c := start(t, func(n int64) any {
		return map[int64]any{1: 0, 2: int(yarn.ExitPreempted), 3: fmt.Errorf("no room"), 5: 0, 6: 5}[n]
	})
	c.surplus = 1 // container 4
	j := sample()
	j.Containers, j.Tries = 3, 2
	stage := filepath.Join(t.TempDir(), "app")
	must(t, os.Mkdir(stage, 0o755))
	j.Staging = "file://" + stage
	done := c.master(t.Context(), j, quick)
	got := c.story(j)
	must(t, <-done)
	for i := range got { // the second one's log may be read before it is told to be lost
		got[i] = strings.Replace(got[i], " out2", "", 1)
	}
	slices.Sort(got)
	// The second and the third take the fifth and the sixth container, in either order.
	want := []string{" lost-1000 out5 ended0", " lost-102 out6 ended5", " out1 ended0"}
	other := []string{" lost-1000 out6 ended5", " lost-102 out5 ended0", " out1 ended0"}
	if !slices.Equal(got, want) && !slices.Equal(got, other) {
		t.Errorf("%q", got)
	}
	if !slices.Equal(c.released, []int64{4, 3}) && !slices.Equal(c.released, []int64{3, 4}) {
		t.Error("released", c.released)
	}
	if f := c.finish; f.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_FAILED || !strings.HasPrefix(f.GetDiagnostics(), "2 of 3 containers ended with exit code 0; container ") {
		t.Error(f)
	}
	if !strings.Contains(c.launched[1], "YARN_SHELL_CONTAINER='0'") || !strings.Contains(c.launched[6], "YARN_SHELL_TRY='2'") {
		t.Error(c.launched)
	}
	if _, err := os.Stat(stage); !os.IsNotExist(err) {
		t.Error("the staging directory is still there", err)
	}
}

func TestAContainerThatRunsOnIsFollowed(t *testing.T) {
	c := start(t, func(n int64) any { return nil })
	j := sample()
	j.Containers = 1
	done := c.master(t.Context(), j, quick)
	<-c.registers
	seen := make(chan Event, 100)
	over := make(chan error, 1)
	go func() {
		over <- follow(t.Context(), []string{c.url}, j.Secret, func(e Event) { seen <- e }, time.Millisecond)
	}()
	if e := <-seen; e.Kind != Started || e.Container != containerID(1).String() || e.Node != c.node.ID.String() || e.Try != 1 {
		t.Errorf("%+v", e)
	}
	if e := <-seen; e.Kind != Output || e.Stream != "stdout" || !strings.HasPrefix(string(e.Data), "out of container_") {
		t.Errorf("%+v", e)
	}
	res, err := http.Get(c.url)
	must(t, err)
	defer res.Body.Close()
	b := make([]byte, 200)
	n, _ := res.Body.Read(b)
	if text := string(b[:n]); text != "yarn shell: of 1 containers 0 wait, 0 start, 1 run, 0 have ended\n" {
		t.Error(text)
	}
	c.mu.Lock()
	c.ends(1, 0)
	c.mu.Unlock()
	if e := <-seen; e.Kind != Ended || e.Exit != 0 || e.Detail != "" {
		t.Errorf("%+v", e)
	}
	must(t, <-over)
	must(t, <-done)
	if c.finish.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_SUCCEEDED {
		t.Error(c.finish)
	}
	http.DefaultClient.CloseIdleConnections()
}

func TestAnOutputThatCannotBeReadIsSaid(t *testing.T) {
	c := start(t, func(n int64) any { return 0 })
	c.web.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	j := sample()
	j.Containers = 1
	done := c.master(t.Context(), j, quick)
	<-c.registers
	detail := ""
	must(t, follow(t.Context(), []string{c.url}, j.Secret, func(e Event) { detail += e.Detail }, time.Millisecond))
	if !strings.Contains(detail, "its stderr could not be read to the end") || !strings.Contains(detail, "403") {
		t.Error(detail)
	}
	must(t, <-done)
}

func TestARefusedRequestFailsTheApplication(t *testing.T) {
	c := start(t, nil)
	c.refuse = &ipc.RemoteError{Class: "a.InvalidResourceRequestException", Message: "too large"}
	if err := <-c.master(t.Context(), sample(), quick); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Error(err)
	}
	if f := c.finish; f.GetFinalApplicationStatus() != pb.FinalApplicationStatus_APP_FAILED || !strings.Contains(f.GetDiagnostics(), "too large") {
		t.Error(f)
	}
}

func TestNobodyIsWaitedForForEver(t *testing.T) {
	c := start(t, func(n int64) any { return 3 })
	p := quick
	p.patience = 20 * time.Millisecond
	if err := <-c.master(t.Context(), sample(), p); err != nil || c.finish == nil {
		t.Error(err, c.finish)
	}
}

func TestTheApplicationIsKeptAliveUntilAllIsFetched(t *testing.T) {
	c := start(t, func(n int64) any { return 0 })
	done := c.master(t.Context(), sample(), quick)
	<-c.registers
	for {
		c.mu.Lock()
		n := c.beats
		c.mu.Unlock()
		if n > 50 { // long after the end of both
			break
		}
		time.Sleep(time.Millisecond)
	}
	if c.finish != nil {
		t.Error("finished before anybody has fetched anything")
	}
	if got := c.story(&Job{Containers: 2, Secret: "5ec2e7"}); got[0] != " out1 ended0" && got[0] != " out2 ended0" {
		t.Errorf("%q", got)
	}
	must(t, <-done)
}

func TestTheMasterEndsWithItsContext(t *testing.T) {
	c := start(t, func(n int64) any { return nil })
	ctx, cancel := context.WithCancel(t.Context())
	done := c.master(ctx, sample(), quick)
	<-c.registers
	cancel()
	if err := <-done; err == nil || c.finish != nil {
		t.Error(err, c.finish)
	}
}

func TestAMasterNeedsAJob(t *testing.T) {
	if err := Run(t.Context(), Master{}); err == nil || !strings.Contains(err.Error(), "not by hand") {
		t.Error(err)
	}
	b, err := sample().Credentials()
	must(t, err)
	c, err := token.ParseCredentials(b)
	must(t, err)
	if err := Run(t.Context(), Master{Credentials: c}); err == nil || !strings.Contains(err.Error(), token.KindAMRM) {
		t.Error(err)
	}
}
