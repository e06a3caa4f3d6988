package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/client/clienttest"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/wire/pb"
)

const logsCluster = 1700000000000

// logsWorld is a cluster with logs: a ResourceManager, the web server that it
// and its nodes share, and a file system.
type logsWorld struct {
	rm    *clienttest.RM
	web   *httptest.Server
	root  string // of the aggregated logs
	asked []string
	// logs is the state of log aggregation of the applications that ended.
	logs pb.LogAggregationStatus
}

func newLogsWorld(t *testing.T, root string) *logsWorld {
	t.Helper()
	w := &logsWorld{root: root, logs: pb.LogAggregationStatus_LOG_DISABLED}
	w.web = httptest.NewServer(w)
	t.Cleanup(w.web.Close)
	w.rm = clienttest.Start(t, methods{"getApplicationReport": w.application, "getContainerReport": w.container,
		"getApplicationAttempts": clienttest.Answer(&pb.GetApplicationAttemptsResponse{ApplicationAttempts: []*pb.ApplicationAttemptReport{
			{ApplicationAttemptId: attemptID(logsCluster, 3, 1), AmContainerId: containerID(logsCluster, 3, 1, 1)}}}),
		"getContainers":   clienttest.Answer(&pb.GetContainersResponse{Containers: []*pb.ContainerReport{w.report(2), w.report(1), w.report(3)}}),
		"getClusterNodes": nodesOf(&pb.NodeReport{NodeId: nodeID(1234), HttpAddress: text(w.address()), NodeState: pb.NodeState_NS_RUNNING.Enum()})})
	w.fill(t)
	return w
}

func (w *logsWorld) address() string { return w.web.Listener.Addr().String() }

func (w *logsWorld) confDir(t *testing.T) string {
	return w.rm.ConfDir(t, "yarn.nodemanager.remote-app-log-dir="+w.root, "yarn.resourcemanager.webapp.address="+w.address(),
		"yarn.nodemanager.log-dirs=/data/logs", "yarn.nodemanager.log.retain-seconds=7200")
}

func (w *logsWorld) run(t *testing.T, args ...string) result {
	t.Helper()
	return newWorld().run(append([]string{"--config", w.confDir(t), "logs"}, args...)...)
}

// application: 2, 7 and 8 have ended, 3 runs, 4 has just been submitted, and
// others are unknown.
func (w *logsWorld) application(request []byte) (proto.Message, error) {
	var r pb.GetApplicationReportRequest
	if err := proto.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	n := r.GetApplicationId().GetId()
	states := map[int32]pb.YarnApplicationState{2: pb.YarnApplicationState_FINISHED, 3: pb.YarnApplicationState_RUNNING, 4: pb.YarnApplicationState_SUBMITTED,
		7: pb.YarnApplicationState_KILLED, 8: pb.YarnApplicationState_FAILED}
	state, ok := states[n]
	if !ok {
		return clienttest.Refuse(client.ClassApplicationNotFound, "Application with id 'x' doesn't exist in RM.")(nil)
	}
	logs := pb.LogAggregationStatus_LOG_SUCCEEDED
	if n == 2 {
		logs = w.logs
	}
	return &pb.GetApplicationReportResponse{ApplicationReport: &pb.ApplicationReport{ApplicationId: appID(logsCluster, n), User: text("alice"),
		YarnApplicationState: &state, LogAggregationStatus: &logs}}, nil
}

// container: 1 to 3 of the running application are known.
func (w *logsWorld) container(request []byte) (proto.Message, error) {
	var r pb.GetContainerReportRequest
	if err := proto.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	if n := r.GetContainerId().GetId(); n <= 3 {
		return &pb.GetContainerReportResponse{ContainerReport: w.report(n)}, nil
	}
	return clienttest.Refuse(client.ClassContainerNotFound, "no such container")(nil)
}

func (w *logsWorld) report(n int64) *pb.ContainerReport {
	return &pb.ContainerReport{ContainerId: containerID(logsCluster, 3, 1, n), NodeId: nodeID(1234), NodeHttpAddress: text("http://" + w.address()),
		ContainerState: pb.ContainerState_C_RUNNING.Enum()}
}

// ServeHTTP answers for the ResourceManager and for nodes. The third container
// has gone from its node.
func (w *logsWorld) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		return // Hadoop's command knocks first
	}
	w.asked = append(w.asked, r.URL.String()+" "+r.Header.Get("Accept"))
	parts := strings.Split(r.URL.Path, "/")
	to.Header().Set("Content-Type", "application/json;charset=utf-8")
	switch last := parts[len(parts)-1]; {
	case last == "appattempts":
		id := strings.Replace(parts[5], "application", "container", 1)
		var attempts []map[string]any
		for n, node := range []string{"a:1", "b:1"} {
			if strings.HasSuffix(id, "3") {
				node = "localhost:1234"
			}
			container := fmt.Sprintf("%s_%02d_000001", id, n+1)
			attempts = append(attempts, map[string]any{"id": n + 1, "containerId": container, "nodeHttpAddress": w.address(), "nodeId": node,
				"logsLink": "http://" + node + "/node/containerlogs/" + container + "/alice"})
		}
		json.NewEncoder(to).Encode(map[string]any{"appAttempts": map[string]any{"appAttempt": attempts}})
	case last == "logs" && strings.HasSuffix(parts[5], "000003"):
		http.Error(to, "gone", http.StatusNotFound)
	case last == "logs":
		fmt.Fprint(to, `{"containerLogsInfo":{"containerLogInfo":[{"fileName":"stdout","fileSize":"14","lastModifiedTime":"Sat Nov 21 23:56:16 +0000 2026"},`+
			`{"fileName":"stderr","fileSize":"0","lastModifiedTime":"Sat Nov 21 23:56:16 +0000 2026"},`+
			`{"fileName":"syslog","fileSize":"30","lastModifiedTime":"Sat Nov 21 23:56:16 +0000 2026"}],"logAggregationType":"LOCAL"}}`)
	case last == "syslog":
		to.WriteHeader(http.StatusInternalServerError)
		fmt.Fprint(to, "broken")
	default:
		to.Header().Set("Content-Type", "text/plain")
		fmt.Fprintf(to, "%s of %s, size %s\n", last, parts[5], r.URL.Query().Get("size"))
	}
}

type logged struct{ name, text string }

type loggedContainer struct {
	id    string
	files []logged
}

// fill writes what nodes would have collected.
func (w *logsWorld) fill(t *testing.T) {
	t.Helper()
	const seven = "container_1700000000000_0007_0"
	one := loggedContainer{seven + "1_000001", []logged{{"prelaunch.out", "Setting up env variables\nLaunching container\n"}, {"stderr", ""}, {"stdout", "hello from one\n"}}}
	two := loggedContainer{seven + "1_000002", []logged{{"binary", "\x00\x01\x02\xff\xfe\n"}, {"grüße-😀.log", "a name beyond ASCII"}, {"stdout", "zwei: äöü\n"}}}
	three := loggedContainer{seven + "1_000003", []logged{{"stdout", "three\n"}, {"syslog", strings.Repeat("0123456789", 10)}}}
	again := loggedContainer{seven + "2_000001", []logged{{"stdout", "second attempt\n"}, {"stderr", ""}}}
	const bucket = "alice/bucket-logs-tfile/0007/application_1700000000000_0007/"
	w.put(t, bucket+"a_1", 1795305345000, aggregated.Uncompressed, one, two)
	w.put(t, bucket+"b_1", 1795305346000, aggregated.Gzip, three, again)
	w.put(t, bucket+"c_2.tmp", 1795305346000, aggregated.Uncompressed, three)
	w.put(t, "alice/logs-tfile/application_1700000000000_0008/a_1", 1795305345000, aggregated.Uncompressed, one)
	w.put(t, "bob/bucket-logs-tfile/0009/application_1700000000000_0009/a_1", 1795305345000, aggregated.Uncompressed,
		loggedContainer{"container_1700000000000_0009_01_000001", []logged{{"stdout", "of bob\n"}}})
	w.put(t, "alice/bucket-logs-tfile/0003/application_1700000000000_0003/localhost_1234_1700000000999", 1795305345000, aggregated.Uncompressed,
		loggedContainer{"container_1700000000000_0003_01_000005", []logged{{"stdout", "rolled\n"}}})
}

func (w *logsWorld) put(t *testing.T, name string, modified int64, c aggregated.Compression, containers ...loggedContainer) {
	t.Helper()
	name = filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	logs, err := aggregated.NewWriter(f, c, "alice", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range containers {
		logs.Container(k.id)
		for _, l := range k.files {
			logs.File(aggregated.File{Name: l.name, Size: int64(len(l.text))}, strings.NewReader(l.text))
		}
	}
	if err := logs.Close(); err != nil {
		t.Fatal(err)
	}
	at := time.UnixMilli(modified)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

// hints begins what this program says after Hadoop's own words.
var hints = regexp.MustCompile(`(?m)^(Log aggregation |The ResourceManager does not know |The nodes have collected |The state of log aggregation |To have logs collected|  The ApplicationMaster's )`)

// testdata/logs holds what Hadoop 3.5's own command printed about the same
// cluster: index.tsv has the name, the exit code and the command line.
func TestLogsAsHadoop(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	index, err := os.ReadFile("testdata/logs/index.tsv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimRight(string(index), "\n"), "\n")
	if len(lines) < 70 {
		t.Fatalf("only %d command lines", len(lines))
	}
	for _, line := range lines {
		f := strings.Split(line, "\t")
		t.Run(f[0], func(t *testing.T) {
			got := w.run(t, strings.Fields(f[2])...)
			if out := recorded(t, w, f[0]+".out"); !strings.HasPrefix(out, "Retrieve logs") {
				same(t, "standard output", got.out, out)
			} else if !strings.HasPrefix(got.out, "usage: yarn logs") {
				t.Errorf("no usage text: %q", got.out)
			}
			if at := hints.FindStringIndex(got.err); at != nil {
				got.err = got.err[:at[0]]
			}
			same(t, "standard error", withoutWarnings(got.err), recorded(t, w, f[0]+".err"))
			if fmt.Sprint(got.code) != f[1] {
				t.Errorf("exit code %d, want %s", got.code, f[1])
			}
		})
	}
}

func recorded(t *testing.T, w *logsWorld, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "logs", name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // what was empty is not there
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "<root>", w.root)
}

func withoutWarnings(s string) string {
	return regexp.MustCompile(`(?m)^WARN .*\n`).ReplaceAllString(s, "")
}

// Who asks for the logs of an application that has none is told where they are.
func TestLogsThatWereNotCollected(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	const masters = "  The ApplicationMaster's container_1700000000000_0002_01_000001 ran on a:1.\n" +
		"  The ApplicationMaster's container_1700000000000_0002_02_000001 ran on b:1.\n"
	stay := "the logs stay on the nodes that ran the containers, each in application_1700000000000_0002/CONTAINER below yarn.nodemanager.log-dirs (here /data/logs), " +
		"and are deleted there 2h0m0s after the application's end (yarn.nodemanager.log.retain-seconds).\n"
	for status, want := range map[pb.LogAggregationStatus]string{
		pb.LogAggregationStatus_LOG_DISABLED: "Log aggregation is off (yarn.log-aggregation-enable), so nobody has collected the logs: " + stay + masters +
			"To have logs collected, set yarn.log-aggregation-enable to true, and yarn.nodemanager.remote-app-log-dir to a directory that all nodes reach (here " + w.root + "), " +
			"in yarn-site.xml of the ResourceManager and of every NodeManager, and restart them. This helps applications that start afterwards.\n",
		pb.LogAggregationStatus_LOG_RUNNING_WITH_FAILURE: "Log aggregation has not finished (RUNNING_WITH_FAILURE): try again in a while. " +
			"Until then the logs are on the nodes that ran the containers, below yarn.nodemanager.log-dirs.\n" + masters,
		pb.LogAggregationStatus_LOG_FAILED: "Log aggregation has failed (FAILED); the page of the application says which node failed and why. What was not collected: " + stay + masters,
		pb.LogAggregationStatus_LOG_SUCCEEDED: "The nodes have collected the logs, but elsewhere, or they have been deleted since (yarn.log-aggregation.retain-seconds): " +
			"this command looked below yarn.nodemanager.remote-app-log-dir = " + w.root + ".\n" + masters,
	} {
		w.logs = status
		for _, line := range []string{"-applicationId application_1700000000000_0002", "-containerId container_1700000000000_0002_01_000001",
			"-applicationId application_1700000000000_0002 -show_container_log_info", "-applicationId application_1700000000000_0002 -list_nodes",
			"-applicationId application_1700000000000_0002 -show_application_log_info", "-applicationId application_1700000000000_0002 -am 1"} {
			got := w.run(t, strings.Fields(line)...)
			if at := hints.FindStringIndex(got.err); at == nil || got.err[at[0]:] != want {
				t.Errorf("%s: %+v\nwant at its end %s", line, got, want)
			}
		}
	}
	got := w.run(t, "-applicationId", "application_1700000000000_0010", "-appOwner", "bob")
	if want := "The ResourceManager does not know the application, so whether its logs were collected is not known; this command looked below " +
		"yarn.nodemanager.remote-app-log-dir = " + w.root; !strings.Contains(got.err, want) {
		t.Errorf("%+v", got)
	}
	if got := w.run(t, "-applicationId", "application_1700000000000_0007", "-log_files", "nothing"); hints.MatchString(got.err) {
		t.Errorf("a hint though there are logs: %+v", got)
	}
}

// compat: unlike Hadoop's command, this one prints only the attempt's logs.
func TestLogsOfAnAttempt(t *testing.T) {
	got := newLogsWorld(t, t.TempDir()).run(t, "-applicationAttemptId", "appattempt_1700000000000_0007_000002")
	if got.code != 0 || strings.Count(got.out, "Container: container_1700000000000_0007_02_000001 on b_1\n") != 2 || strings.Count(got.out, "Container: ") != 2 {
		t.Errorf("%+v", got)
	}
}

func TestLogsThatAreDamaged(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	dir := filepath.Join(w.root, "alice/bucket-logs-tfile/0007/application_1700000000000_0007")
	whole, err := os.ReadFile(filepath.Join(dir, "a_1"))
	if err != nil {
		t.Fatal(err)
	}
	cut := whole[:strings.Index(string(whole), "zwei")+3]
	for name, content := range map[string][]byte{"0_1": []byte("rubbish"), "a_1": cut} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got := w.run(t, "-applicationId", "application_1700000000000_0007", "-log_files", "stdout")
	for _, want := range []string{"hello from one", "LogContents:\nzwe\nEnd of LogType:stdout", "three", "second attempt"} {
		if !strings.Contains(got.out, want) {
			t.Errorf("no %q in %q", want, got.out)
		}
	}
	for _, want := range []string{"WARN the logs of node 0_1 are damaged, or not complete: ", "WARN the logs of node a_1 are damaged, or not complete: "} {
		if !strings.Contains(got.err, want) || got.code != 0 {
			t.Errorf("no %q in %q, exit code %d", want, got.err, got.code)
		}
	}
}

func TestLogsIntoFiles(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	w.put(t, "alice/bucket-logs-tfile/0007/application_1700000000000_0007/a_2", 1795305345000, aggregated.Uncompressed,
		loggedContainer{"../../escaped", []logged{{"stdout", "out of here\n"}}})
	dir := filepath.Join(t.TempDir(), "x", "y")
	got := w.run(t, "-applicationId", "application_1700000000000_0007", "-log_files", "stdout", "-out", dir)
	if got.out != "" || got.code != 0 || !strings.HasPrefix(got.err, "WARN the logs of node a_2: -out: a container without a proper id is not written") {
		t.Errorf("%+v", got)
	}
	if err := os.Remove(filepath.Join(w.root, "alice/bucket-logs-tfile/0007/application_1700000000000_0007/a_2")); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"-applicationId application_1700000000000_0007 -log_files stdout", "-containerId container_1700000000000_0003_01_000001 -log_files stdout"} {
		if got = w.run(t, append(strings.Fields(line), "-out", dir)...); got.out != "" || got.err != "" || got.code != 0 {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for name, want := range map[string]string{
		"a_1/container_1700000000000_0007_01_000001":            "LogLength:15\nLogContents:\nhello from one\n\nEnd of LogType:stdout\n",
		"b_1/container_1700000000000_0007_02_000001":            "second attempt",
		"localhost_1234/container_1700000000000_0003_01_000001": "stdout of container_1700000000000_0003_01_000001, size 9223372036854775807\n\n",
	} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got = w.run(t, "-applicationId", "application_1700000000000_0007", "-out", dir+"/file"); got.code != 255 || got.err != "Invalid value for -out option. Please provide a directory.\n" {
		t.Errorf("%+v", got)
	}
}

func TestLogsOfNodesThatAreNotThere(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	dir := w.confDir(t)
	w.web.Close()
	got := newWorld().run("--config", dir, "logs", "-containerId", "container_1700000000000_0003_01_000001", "-client_max_retries", "3", "-client_retry_interval_ms", "1")
	if got.code != 255 || strings.Count(got.err, "; trying again in 1ms\n") != 2 || !strings.Contains(got.err, "Unable to fetch log files list\n") {
		t.Errorf("%+v", got)
	}
}

func TestLogsRefuse(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	for line, want := range map[string]string{
		"-applicationId application_1700000000000_0007 -log_files_pattern [": "-log_files_pattern: the pattern \"[\" cannot be used",
		"-applicationId application_1700000000000_0007 --output json":        "--output json is for lists and reports",
	} {
		if got := w.run(t, strings.Fields(line)...); got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	if got := w.run(t); got.code != 255 || !strings.HasPrefix(got.out, "usage: yarn logs ") {
		t.Errorf("%+v", got)
	}
	if got := w.run(t, "-help"); got.code != 0 || !strings.HasPrefix(got.out, "usage: yarn logs ") || len(w.asked) > 0 {
		t.Errorf("%+v", got)
	}
}

// What nodes of any version answer is understood.
func TestListsOfLogFiles(t *testing.T) {
	for body, want := range map[string]string{
		`{}`: "", `{"containerLogsInfo":[]}`: "",
		`{"containerLogsInfo":{"logAggregationType":"LOCAL"}}`:                                                                                                   "",
		`{"containerLogsInfo":{"containerLogInfo":{"fileName":"a","fileSize":"1"},"logAggregationType":"LOCAL"}}`:                                                "a 1 LOCAL;",
		`{"containerLogsInfo":[{"containerLogInfo":[{"fileName":"a","fileSize":"x"}]},{"containerLogInfo":{"fileName":"b"},"logAggregationType":"AGGREGATED"}]}`: "a 0 ;b 0 AGGREGATED;",
		`{"containerLogsInfoes":{"containerLogsInfo":[{"containerLogInfo":[{"fileName":"a","fileSize":"-5"}]}]}}`:                                                "a 0 ;",
		`{"containerLogsInfo":5}`: "error", `nonsense`: "error", `{"containerLogsInfo":{"containerLogInfo":[{"fileName":7}]}}`: "error",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) { fmt.Fprint(to, body) }))
		web := &logsWeb{ctx: t.Context(), scheme: "http://", client: server.Client(), retries: 1}
		files, err := web.files(server.Listener.Addr().String(), "container_1_0001_01_000001")
		got := ""
		for _, f := range files {
			got += fmt.Sprintf("%s %d %s;", f.Name, f.bytes(), f.kind)
		}
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q, %v, want %q", body, got, err, want)
		}
		server.Close()
	}
}

// TestLogsOnForeignFileSystem: what this program cannot read is said, with the way that leads to the logs.
func TestLogsOnForeignFileSystem(t *testing.T) {
	w := newLogsWorld(t, t.TempDir())
	w.root = "gs://bucket/logs"
	got := w.run(t, "-applicationId", "application_1700000000000_0002")
	if got.code == 0 || got.out != "" || !strings.Contains(got.err, "cannot read collected logs on gs://bucket/logs: only Java programs can read gs.") || !strings.Contains(got.err, "yarn org.apache.hadoop.yarn.client.cli.LogsCLI") {
		t.Errorf("%+v", got)
	}
}
