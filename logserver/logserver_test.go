package logserver

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

const (
	app   = "application_1700000000000_0007"
	first = "container_1700000000000_0007_01_000001"
	other = "container_1700000000000_0007_01_000002"
)

// collect puts a file that Hadoop wrote where alice's logs are, and returns the root and the
// application's directory.
func collect(t *testing.T) (root, dir string) {
	t.Helper()
	root = t.TempDir()
	dir = filepath.Join(root, "alice", "bucket-logs-tfile", "0007", app)
	put(t, "stock.tfile", filepath.Join(dir, "h1_8041"))
	return root, dir
}

// put puts a file that Hadoop wrote somewhere.
func put(t *testing.T, stock, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../internal/aggregated/testdata/" + stock)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts the whole daemon on a free port.
func serve(t *testing.T, root string, more map[string]string) string {
	t.Helper()
	over := []conf.Override{{Name: "mapreduce.jobhistory.webapp.address", Value: "127.0.0.1:0"}, {Name: "yarn.nodemanager.remote-app-log-dir", Value: "file://" + root},
		{Name: "hadoop.security.group.mapping", Value: "org.apache.hadoop.security.NullGroupsMapping"}}
	for k, v := range more {
		over = append(over, conf.Override{Name: k, Value: v})
	}
	d, err := Start(Options{User: "yarn", Log: slog.New(slog.DiscardHandler), Load: func() (*conf.Properties, error) {
		return conf.Load(conf.Options{Overrides: over, Env: func(string) (string, bool) { return "", false }})
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Stop)
	return "http://" + d.listener.Addr().String()
}

func get(t *testing.T, url string, accept string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.RequestURI = ""
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// TestAnswers compares with what the JobHistoryServer of Hadoop 3.5.0 answers: forms, texts and statuses,
// but for those that docs/differences.md tells.
func TestAnswers(t *testing.T) {
	root, _ := collect(t)
	base := serve(t, root, nil)
	for _, x := range []struct {
		path   string
		status int
		want   string
	}{
		{"/ws/v1/history/containers/" + first + "/logs", 200, `{"containerLogsInfoes":{"containerLogsInfo":{"containerLogInfo":[{"fileName":"prelaunch.out","fileSize":`},
		{"/ws/v1/history/containers/" + first + "/logs", 200, `"logAggregationType":"AGGREGATED","containerId":"` + first + `","nodeId":"h1_8041"}}}`},
		{"/ws/v1/history/aggregatedlogs?appid=" + app, 200, `{"containerLogsInfoes":{"containerLogsInfo":[{"containerLogInfo":[`},
		{"/ws/v1/history/aggregatedlogs?containerid=" + first + "&appid=application_1_0001", 400, `"Container ` + first + ` does not belong to application application_1_0001!"`},
		{"/ws/v1/history/aggregatedlogs", 400, "Should set application id, application attempt id or container id."},
		{"/ws/v1/history/aggregatedlogs?appid=application_1_0001", 404, "there are no collected logs of application_1_0001"},
		{"/ws/v1/history/containers/bad/logs", 400, `"message":"Invalid container id: bad"`},
		{"/ws/v1/history/remote-log-dir?user=ada&appid=" + app, 200, `{"remoteLogDirPathResult":{"paths":{"fileController":"TFile","path":"file:` + root + "/ada/bucket-logs-tfile/0007/" + app + `"}}}`},
		{"/ws/v1/history/remote-log-dir?user=" + "..%2Fx", 400, "no name of a directory"},
		{"/ws/v1/history/info", 200, `{"historyInfo":{"startedOn":`},
		{"/ws/v1/history/mapreduce/jobs", 501, "no history of MapReduce jobs"},
	} {
		status, body := get(t, base+x.path, "application/json")
		if status != x.status || !strings.Contains(strings.ReplaceAll(body, "file:///", "file:/"), x.want) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s\nwant %d %s", x.path, status, body, x.status, x.want)
		}
	}
	for _, x := range []struct {
		path   string
		status int
		want   string
	}{
		{"/ws/v1/history/containerlogs/" + first + "/stdout", 200, "Container: " + first + " on h1_8041\nLogAggregationType: AGGREGATED\n===="},
		{"/ws/v1/history/containerlogs/" + first + "/stdout", 200, "\nEnd of LogType:stdout\n****"},
		{"/ws/v1/history/containers/" + first + "/logs/stdout", 200, "LogType:stdout\n"},
		{"/ws/v1/history/containerlogs/" + first + "/nosuch", 404, "Can not find logs for container:" + first},
		{"/ws/v1/history/containerlogs/bad/x", 404, "Not Found. Invalid ContainerId: bad"},
		{"/ws/v1/history/containerlogs/" + first + "/stdout?format=foo", 400, "The valid values for the parameter : format are [text, octet-stream]"},
		{"/jobhistory/logs/h1:8041/" + first + "/x/alice", 200, "<h2>stdout</h2>"},
		{"/jobhistory/logs/h1:8041/" + first + "/x/alice/stdout?start=0&end=3", 200, "Showing 3 bytes of "},
		{"/jobhistory/logs/h2:8041/" + first + "/x/alice", 404, "No logs available for container " + first},
		{"/jobhistory/logs/h1:8041/" + first + "/x/alice/nosuch", 404, "Unable to locate &#39;nosuch&#39; log"},
		{"/jobhistory/logs/h1:8041/" + first + "/x/..", 404, ""},
		{"/jobhistory/logs/h1/" + first + "/x/alice", 400, "Invalid nodeId: h1"},
		{"/jobhistory/logs/h1:8041/" + first + "/x/alice?start=x", 400, "start is not a whole number"},
		{"/jobhistory/job/job_1_0001", 404, "no history of MapReduce jobs"},
		{"/jobhistory", 200, "Where collected logs are"},
	} {
		if status, body := get(t, base+x.path, ""); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s: %d %s\nwant %d %s", x.path, status, body, x.status, x.want)
		}
	}
}

// TestRights: with yarn.acl.enable logs are for the owner, those in VIEW_APP, and administrators.
func TestRights(t *testing.T) {
	root, _ := collect(t)
	base := serve(t, root, map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "root"})
	for user, want := range map[string]int{"alice": 200, "bob": 200, "root": 200, "yarn": 200, "eve": 403, "": 403} {
		as := "?user.name=" + user
		if user == "" {
			as = ""
		}
		for _, path := range []string{"/ws/v1/history/containers/" + first + "/logs", "/ws/v1/history/containerlogs/" + other + "/stdout", "/jobhistory/logs/h1:8041/" + first + "/x/alice"} {
			status, body := get(t, base+path+as, "")
			if status != want || want == 403 && !strings.Contains(body, "is not authorized to view the logs for") {
				t.Errorf("%s as %q: %d %s, want %d", path, user, status, body, want)
			}
		}
	}
}

// TestDamaged: what a user writes into his directory is an answer without it, not a failure.
func TestDamaged(t *testing.T) {
	root, dir := collect(t)
	whole, err := os.ReadFile(filepath.Join(dir, "h1_8041"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"h2_8041": []byte("nonsense"), "h3_8041": nil, "h4_8041": whole[:len(whole)/2]} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if status, body := get(t, serve(t, root, nil)+"/ws/v1/history/aggregatedlogs?appid="+app, "application/json"); status != 200 || strings.Count(body, `"h1_8041"`) != 2 {
		t.Errorf("%d %s", status, body)
	}
}

// TestSweep: only what is old goes, of ended applications whole, of running ones by file, and nothing
// beyond a symbolic link.
func TestSweep(t *testing.T) {
	now := time.Now()
	old := now.Add(-48 * time.Hour)
	root, outside := t.TempDir(), t.TempDir()
	put := func(at string, when time.Time) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(at, when, when); err != nil {
			t.Fatal(err)
		}
	}
	id := func(n string) string { return "application_1_000" + n }
	bucket := filepath.Join(root, "alice", "bucket-logs-tfile", "0001")
	for n, files := range map[string]map[string]time.Time{
		"1": {"a_1": old, "b_1": old}, // ended: goes
		"2": {"a_1": old, "b_1": now}, // ended, not all old
		"3": {"a_1": old, "b_1": now}, // runs: a_1 goes
		"5": {"a_1": now},
	} {
		for name, when := range files {
			put(filepath.Join(bucket, id(n), name), when)
		}
	}
	put(filepath.Join(bucket, "precious", "a"), old)
	put(filepath.Join(root, "alice", "notes", "0001", id("1"), "a"), old)
	put(filepath.Join(outside, "0001", id("1"), "a_1"), old)
	for link, to := range map[string]string{filepath.Join(root, "alice", "bucket-elsewhere"): outside, filepath.Join(root, "eve"): filepath.Join(root, "alice"),
		filepath.Join(bucket, id("6")): filepath.Join(outside, "0001", id("1"))} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	dirs, err := filepath.Glob(filepath.Join(bucket, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range append(dirs, filepath.Join(outside, "0001", id("1"))) {
		if info, err := os.Lstat(d); err == nil && info.IsDir() {
			if err := os.Chtimes(d, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	at, err := filesystem.ParseURL("file://" + root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := systems.Connect(t.Context(), at, "yarn")
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	s := sweeper{files: files, root: at, cutoff: now.Add(-24 * time.Hour).UnixMilli(), log: slog.New(slog.DiscardHandler),
		ended: func(_ context.Context, id yarn.ApplicationID) (bool, error) { return id.Sequence != 3, nil }}
	s.sweep(t.Context())
	for path, there := range map[string]bool{bucket + "/" + id("1"): false, bucket + "/" + id("2") + "/a_1": true, bucket + "/" + id("3") + "/a_1": false, bucket + "/" + id("3") + "/b_1": true,
		bucket + "/" + id("5") + "/a_1": true, bucket + "/precious/a": true, root + "/alice/notes/0001/" + id("1") + "/a": true,
		outside + "/0001/" + id("1") + "/a_1": true} {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: there %v, want %v", path, err == nil, there)
		}
	}
	if s.deleted != 2 {
		t.Errorf("%d deleted", s.deleted)
	}
	for _, n := range []string{"7", "8"} {
		put(filepath.Join(bucket, id(n), "a_1"), old)
		if err := os.Chtimes(filepath.Join(bucket, id(n)), old, old); err != nil {
			t.Fatal(err)
		}
	}
	asked := 0
	s.ended = func(context.Context, yarn.ApplicationID) (bool, error) {
		asked++
		return false, context.DeadlineExceeded
	}
	s.sweep(t.Context())
	if s.deleted != 2 || asked != 1 {
		t.Errorf("without an answer: %d deleted after %d questions", s.deleted, asked)
	}
	if err := files.(filesystem.BelowRemover).RemoveBelow(root, []string{"alice", "bucket-elsewhere", "0001", id("1")}); err == nil {
		t.Error("a link out of the directory was followed")
	}
	if err := files.(filesystem.BelowRemover).RemoveBelow(root, []string{"eve", "notes"}); err == nil {
		t.Error("a link beside it was followed")
	}
}
