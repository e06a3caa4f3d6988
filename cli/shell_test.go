package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/cli/shell"
	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
)

func TestOwnWords(t *testing.T) {
	for _, x := range []struct{ line, own, program string }{
		{"", "", ""},
		{"ls -l", "", "ls -l"},
		{"-n 3 grep -n x", "-n 3", "grep -n x"},
		{"--n=3 -env A=b --output json -- -strange --output y", "--n=3 -env A=b --output json", "-strange --output y"},
		{"-help", "-help", ""},
		{"-bogus x", "-bogus", "x"},
		{"-n", "-n", ""},
		{"--containers 2 - x", "--containers 2", "- x"},
		{"-- -- x", "", "-- x"},
	} {
		own, program := ownWords(shellOptions, strings.Fields(x.line))
		if strings.Join(own, " ") != x.own || strings.Join(program, " ") != x.program {
			t.Errorf("%q: %q and %q", x.line, own, program)
		}
	}
}

// fakeShell is a cluster in which a shell's application tells the given events.
type fakeShell struct {
	*clienttest.RM
	*world
	events []shell.Event
	final  *pb.ApplicationReport // when all have been fetched
	proxy  bool                  // the master is reached through the proxy only

	mu        sync.Mutex
	submitted *pb.ApplicationSubmissionContext
	job       shell.Job
	over      bool
	killed    string
	onPoll    func()
	site      *httptest.Server
}

func startShell(t *testing.T, events ...shell.Event) *fakeShell {
	t.Helper()
	f := &fakeShell{events: events, final: &pb.ApplicationReport{FinalApplicationStatus: pb.FinalApplicationStatus_APP_SUCCEEDED.Enum()}}
	f.site = httptest.NewServer(http.HandlerFunc(f.serve))
	t.Cleanup(f.site.Close)
	f.RM = clienttest.Start(t, methods{
		"getNewApplication": clienttest.Answer(&pb.GetNewApplicationResponse{ApplicationId: appID(1, 5), MaximumCapability: amount(4096, 4)}),
		"getClusterNodes": clienttest.Answer(&pb.GetClusterNodesResponse{NodeReports: []*pb.NodeReport{
			{NodeId: &pb.NodeId{Host: text("a"), Port: proto.Int32(1)}, RackName: text("/r1")}, {NodeId: &pb.NodeId{Host: text("b"), Port: proto.Int32(1)}, RackName: text("/r1")},
			{NodeId: &pb.NodeId{Host: text("c"), Port: proto.Int32(1)}, RackName: text("/r2")}}}),
		"submitApplication": f.submit, "getApplicationReport": f.report, "forceKillApplication": f.kill})
	binary := filepath.Join(t.TempDir(), "yarn")
	if err := os.WriteFile(binary, []byte("#!"), 0o755); err != nil {
		t.Fatal(err)
	}
	f.world = newWorld("HADOOP_CONF_DIR=" + f.ConfDir(t))
	f.Program = binary
	return f
}

func (f *fakeShell) submit(b []byte) (proto.Message, error) {
	in := &pb.SubmitApplicationRequest{}
	if err := proto.Unmarshal(b, in); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.submitted = in.GetApplicationSubmissionContext()
	c, err := token.ParseCredentials(f.submitted.GetAmContainerSpec().GetTokens())
	if err != nil {
		return nil, err
	}
	job, _ := c.Secret(shell.SecretAlias)
	return &pb.SubmitApplicationResponse{}, json.Unmarshal(job, &f.job)
}

func (f *fakeShell) report([]byte) (proto.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := &pb.ApplicationReport{}
	state := pb.YarnApplicationState_RUNNING
	if f.over {
		a, state = proto.Clone(f.final).(*pb.ApplicationReport), pb.YarnApplicationState_FINISHED
		if a.YarnApplicationState != nil {
			state = a.GetYarnApplicationState()
		}
	}
	direct := f.site.URL
	if f.proxy {
		direct = "http://127.0.0.1:1"
	}
	a.ApplicationId, a.YarnApplicationState, a.Host = appID(1, 5), &state, text("m")
	a.OriginalTrackingUrl, a.TrackingUrl = text(direct+"/"), text(f.site.URL+"/proxy/application_1_0005/")
	return &pb.GetApplicationReportResponse{ApplicationReport: a}, nil
}

func (f *fakeShell) kill(b []byte) (proto.Message, error) {
	in := &pb.KillApplicationRequest{}
	err := proto.Unmarshal(b, in)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.killed = in.GetDiagnostics()
	return &pb.KillApplicationResponse{IsKillCompleted: proto.Bool(true)}, err
}

func (f *fakeShell) serve(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	want := "/events/" + f.job.Secret
	if f.proxy {
		want = "/proxy/application_1_0005" + want
	}
	if r.URL.Path != want {
		http.NotFound(w, r)
		return
	}
	if f.onPoll != nil {
		f.onPoll()
	}
	var from int
	fmt.Sscan(r.URL.Query().Get("from"), &from)
	page := shell.Page{Next: int64(len(f.events)), Over: f.onPoll == nil}
	for n, e := range f.events[from:] {
		e.Seq = int64(from + n)
		page.Events = append(page.Events, e)
	}
	if from == len(f.events) {
		f.over = f.onPoll == nil
	}
	b, _ := json.Marshal(page)
	w.Write(b)
}

// story is one container that starts, prints and ends.
func story(number int, exit int32, out string) []shell.Event {
	e := shell.Event{Number: number, Try: 1, Container: fmt.Sprint("container_1_0005_01_00000", number+2), Node: "a:1"}
	started, output, ended := e, e, e
	started.Kind, output.Kind, ended.Kind = shell.Started, shell.Output, shell.Ended
	output.Stream, output.Data, ended.Exit = "stdout", []byte(out), exit
	return []shell.Event{started, output, ended}
}

func TestShellPrintsAndEndsAsItsContainersDo(t *testing.T) {
	events := slices.Concat(story(1, 7, "one\ntwo"), story(0, 0, "zero\n"))
	events = append(events, shell.Event{Kind: shell.Output, Number: 2, Stream: "stderr", Data: []byte("oops\n")},
		shell.Event{Kind: shell.Lost, Number: 2, Try: 1, Exit: -102, Detail: "preempted\n\tat java"}, shell.Event{Kind: shell.Ended, Number: 2, Try: 2, Exit: -104, Detail: "too much memory"})
	f := startShell(t, events...)
	f.final.FinalApplicationStatus, f.final.Diagnostics = pb.FinalApplicationStatus_APP_FAILED.Enum(), text("1 of 3")
	got := f.run("shell", "-n", "3", "--memory=512", "-queue", "q", "-env", "A=b c", "-env", "B=", "-name", "N", "-label", "gpu", "-attempts", "2", "-timeout", "10m", "--", "grep", "-n", "x")
	if got.code != 7 || got.out != "[1] one\n[1] two\n[0] zero\n" {
		t.Errorf("%+v", got)
	}
	want := `yarn shell: application_1_0005 is submitted: 3 containers of 512 MB, 1 vcores
yarn shell: application_1_0005 is RUNNING, its master on m
yarn shell: container 1 runs as container_1_0005_01_000003 on a:1
yarn shell: container 1 ended with exit code 7
yarn shell: container 0 runs as container_1_0005_01_000002 on a:1
yarn shell: container 0 ended with exit code 0
[2] oops
yarn shell: container 2 was lost with exit status -102 and is asked for again: preempted
yarn shell: container 2 ended with exit code -104: too much memory
yarn shell: application_1_0005 is over: FAILED: 1 of 3
`
	same(t, "standard error", got.err, want)
	j := f.job
	if !slices.Equal(j.Command, []string{"grep", "-n", "x"}) || !slices.Equal(j.Environment, []string{"A=b c", "B="}) || j.Containers != 3 || j.MemoryMB != 512 ||
		j.VCores != 1 || j.Tries != 2 || j.Label != "gpu" || j.User != "alice" || len(j.Secret) != 32 || len(j.Files) != 0 || j.Staging != "" {
		t.Errorf("%+v", j)
	}
	s := f.submitted
	file := s.GetAmContainerSpec().GetLocalResources()[0]
	if s.GetQueue() != "q" || s.GetApplicationName() != "N" || s.GetApplicationType() != "SHELL" || s.GetMaxAppAttempts() != 1 || s.GetApplicationTimeouts()[0].GetTimeout() != 660 ||
		s.NodeLabelExpression != nil || file.GetKey() != shellMasterFile || file.GetValue().GetResource().GetFile() != f.Program ||
		!strings.HasPrefix(s.GetAmContainerSpec().GetCommand()[0], `exec './yarn-shell-master' 'shell-master' 1>`) {
		t.Error(s)
	}
	if strings.Contains(s.String(), j.Secret) && !bytes.Contains(s.GetAmContainerSpec().GetTokens(), []byte(j.Secret)) {
		t.Error("the secret is outside of the credentials")
	}
}

func TestShellInJSON(t *testing.T) {
	f := startShell(t, story(0, 0, "zero\xff\nrest")...)
	got := f.run("shell", "--output", "json", "echo x --output json")
	if got.code != 0 || got.err != "" {
		t.Errorf("%+v", got)
	}
	var kinds []string
	for line := range strings.Lines(got.out) {
		var e struct{ Schema, Kind, Event, Line string }
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Schema != Schema || e.Kind != "shell" {
			t.Errorf("%q: %v", line, err)
		}
		kinds = append(kinds, e.Event+e.Line)
	}
	if strings.Join(kinds, " ") != "submitted state started outputzero\ufffd outputrest ended finished" || !strings.Contains(got.out, `"exitCode":0}`) {
		t.Errorf("%q", kinds)
	}
	if !slices.Equal(f.job.Command, []string{"echo x --output json"}) {
		t.Errorf("%q", f.job.Command)
	}
}

func TestShellOfAContainerThatYARNEnded(t *testing.T) {
	f := startShell(t, story(0, -104, "")...)
	f.final.FinalApplicationStatus = pb.FinalApplicationStatus_APP_FAILED.Enum()
	if got := f.run("shell", "true"); got.code != 255 || !strings.Contains(got.err, "container 0 ended with exit code -104") {
		t.Errorf("%+v", got)
	}
}

func TestShellThroughTheProxy(t *testing.T) {
	f := startShell(t, story(0, 0, "zero\n")...)
	f.proxy = true
	if got := f.run("shell", "true"); got.code != 0 || got.out != "[0] zero\n" {
		t.Errorf("%+v", got)
	}
}

func TestShellOnCertainNodes(t *testing.T) {
	for _, x := range []struct{ line, hosts string }{
		{"-node a,c -node b true", "[{a /r1} {c /r2} {b /r1}]"}, {"-rack /r1 true", "[{a /r1} {b /r1}]"}, {"-rack /r2 -node a true", "[{a /r1} {c /r2}]"},
	} {
		f := startShell(t, story(0, 0, "")...)
		if got := f.run(append([]string{"shell"}, strings.Fields(x.line)...)...); got.code != 0 || fmt.Sprint(f.job.Hosts) != x.hosts {
			t.Errorf("%s: %v %+v", x.line, f.job.Hosts, got)
		}
	}
}

func TestShellRefusesWhatCannotBe(t *testing.T) {
	for _, x := range []struct{ line, want string }{
		{"-node z true", "-node z: no running node has that name; the cluster has a, b, c"},
		{"-rack /z true", "-rack /z: no running node is in it; the cluster has /r1, /r2"},
		{"-memory 5000 true", "the cluster's largest has 4096 MB, 4 vcores"},
		{"-vcores 5 true", "the cluster's largest has 4096 MB, 4 vcores"},
		{"-n x true", "-n x: want a number"},
		{"-n 0 true", "0 containers"},
		{"-timeout -1 true", "-timeout -1: want seconds"},
		{"-timeout 1y true", "-timeout 1y: want seconds"},
		{"-env A true", "NAME=VALUE"},
		{"-file /no/such true", "/no/such"},
		{"-file a#b/c true", "cannot have a file named"},
		{"-bogus true", "Unrecognized option: -bogus"},
	} {
		f := startShell(t)
		got := f.run(append([]string{"shell"}, strings.Fields(x.line)...)...)
		if got.code != 1 || !strings.Contains(got.err, x.want) || f.submitted != nil {
			t.Errorf("%s: %+v", x.line, got)
		}
	}
	w := newWorld("HADOOP_CONF_DIR=" + startShell(t).ConfDir(t))
	if got := w.run("shell"); got.code != 255 || !strings.HasPrefix(got.out, "usage: yarn shell [OPTIONS] [--] COMMAND [ARG...]\n") {
		t.Errorf("%+v", got)
	}
	if got := w.run("shell", "-help"); got.code != 0 || !strings.Contains(got.out, "YARN_SHELL_CONTAINER") {
		t.Errorf("%+v", got)
	}
}

func TestShellCopiesFilesAndRemovesThem(t *testing.T) {
	f := startShell(t, story(0, 0, "")...)
	stage := t.TempDir()
	if got := f.run("shell", "-staging", "file://"+stage, "-file", f.Program+"#tool", "./tool", "x"); got.code != 0 {
		t.Errorf("%+v", got)
	}
	dir := "file:" + stage + "/application_1_0005"
	if f.job.Staging != dir || f.job.Files["tool"].Path != stage+"/application_1_0005/tool" || len(f.job.Files) != 1 {
		t.Errorf("%+v", f.job)
	}
	if left, err := os.ReadDir(stage); err != nil || len(left) != 0 {
		t.Error(left, err)
	}
}

func TestShellInterrupted(t *testing.T) {
	f := startShell(t)
	ctx, cancel := context.WithCancel(context.Background())
	f.onPoll = cancel
	code := f.Run(ctx, []string{"shell", "sleep", "100"})
	if code != 130 || f.killed != "yarn shell: interrupted" || !strings.Contains(f.err.String(), "interrupted; killing application_1_0005\n") {
		t.Errorf("%d %q %s", code, f.killed, f.err.String())
	}
}

func TestShellUnread(t *testing.T) {
	f := startShell(t)
	f.onPoll = func() { _ = syscall.Kill(os.Getpid(), syscall.SIGPIPE) } // as the kernel does when a pipe's reader has gone
	got := f.run("shell", "yes")
	if got.code != 141 || f.killed != "yarn shell: nobody reads the output" {
		t.Errorf("%q %+v", f.killed, got)
	}
}

func TestShellTimesOut(t *testing.T) {
	f := startShell(t)
	f.onPoll = func() {}
	got := f.run("shell", "-timeout", "20ms", "sleep", "100")
	if got.code != 124 || f.killed != "yarn shell: timed out after 20ms" {
		t.Errorf("%q %+v", f.killed, got)
	}
}

func TestShellOfAnApplicationThatFails(t *testing.T) {
	f := startShell(t)
	f.over = true
	f.final = &pb.ApplicationReport{YarnApplicationState: pb.YarnApplicationState_FAILED.Enum(), Diagnostics: text("File file:" + f.Program + " does not exist\n\tat java\nCaused by: a disk\n\t... 3 more\n")}
	got := f.run("shell", "true")
	if got.code != 1 || !strings.Contains(got.err, "is over: FAILED: File file:") || strings.Contains(got.err, "at java") || !strings.Contains(got.err, " does not exist\n  Caused by: a disk\n") || !strings.Contains(got.err, "each node reads "+f.Program+" from its own disks") {
		t.Errorf("%+v", got)
	}
	f = startShell(t)
	f.over = true
	got = f.run("shell", "true") // ended before its master could be asked
	if got.code != 0 || !strings.Contains(got.err, "what 1 containers printed, and their exit codes, are not known here") {
		t.Errorf("%+v", got)
	}
}

func TestShellMasterIsNotForUsers(t *testing.T) {
	w := newWorld()
	if got := w.run("shell-master"); got.code != 1 || !strings.Contains(got.err, "HADOOP_TOKEN_FILE_LOCATION is not set") {
		t.Errorf("%+v", got)
	}
	if got := w.run("--help"); strings.Contains(got.out, "shell-master") || !strings.Contains(got.out, "\nshell  ") {
		t.Errorf("%s", got.out)
	}
}

func TestLongLinesArePrintedInPieces(t *testing.T) {
	var out bytes.Buffer
	p := &shellPrinter{out: &out, err: &out, partial: map[shellStream][]byte{}}
	long := strings.Repeat("x", maxShellLine)
	for _, piece := range []string{long[:100], long[100:], "y", "\n", long + "zz\nend"} {
		p.output(shell.Event{Stream: "stdout", Data: []byte(piece)})
	}
	p.flush()
	p.flush()
	want := "[0] " + long + "\n[0] y\n[0] " + long + "\n[0] zz\n[0] end\n"
	if out.String() != want {
		t.Errorf("%d bytes, want %d: %s", out.Len(), len(want), base64.StdEncoding.EncodeToString(out.Bytes()[:20]))
	}
}

// A node that asks for a thread dump gets one, and the shell's master goes on.
func TestAThreadDumpDoesNotEndTheMaster(t *testing.T) {
	r, w := io.Pipe()
	stop := dumpStacks(w)
	if err := syscall.Kill(os.Getpid(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	first := make([]byte, len("goroutine "))
	if _, err := io.ReadFull(r, first); err != nil || string(first) != "goroutine " {
		t.Errorf("%q, %v", first, err)
	}
	r.Close()
	stop()
}
