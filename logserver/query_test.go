package logserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/javaregexp"
	"github.com/heddle-project/heddle/yarn"
)

const (
	queryPath = "/ws/v1/history/extended-log-query"
	app8      = "application_1700000000000_0008"
	collected = 1700000001000 // when h1_8041 and h3_8041 were, milliseconds since 1970; files in n1_45454 are a second older
	nothing   = `{"containerLogsInfoes":""}`
)

// collectTwo puts logs of two applications of the user "yarn", whom the daemon runs as, in both formats.
func collectTwo(t *testing.T) (root, home string) {
	t.Helper()
	root = t.TempDir()
	home = filepath.Join(root, "yarn")
	for name, stock := range map[string]string{
		"bucket-logs-tfile/0007/" + app + "/h1_8041":   "stock.tfile",
		"bucket-logs-tfile/0008/" + app8 + "/h3_8041":  "stock.tfile",
		"bucket-logs-ifile/0007/" + app + "/n1_45454":  "stock-gz.ifile",
		"bucket-logs-tfile/0008/" + app8 + "/h4_1.tmp": "stock.tfile",
	} {
		put(t, stock, filepath.Join(home, name))
		if err := os.Chtimes(filepath.Join(home, name), time.UnixMilli(collected), time.UnixMilli(collected)); err != nil {
			t.Fatal(err)
		}
	}
	return root, home
}

func both(more map[string]string) map[string]string {
	out := map[string]string{"yarn.log-aggregation.file-formats": "IFile,TFile",
		"yarn.log-aggregation.file-controller.IFile.class": "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController"}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// brief is each log file that an answer lists as container:node:name:size:time, of containers the last digit.
func brief(t *testing.T, body string) string {
	t.Helper()
	type file struct {
		FileName         string
		FileSize         int64
		LastModifiedTime int64
	}
	var v struct {
		ContainerLogsInfoes struct{ ContainerLogsInfo json.RawMessage }
	}
	if body == nothing {
		return ""
	}
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		return body
	}
	var out []string
	for _, c := range alike[struct {
		ContainerLogInfo                        json.RawMessage
		LogAggregationType, ContainerID, NodeID string
	}](t, v.ContainerLogsInfoes.ContainerLogsInfo) {
		for _, f := range alike[file](t, c.ContainerLogInfo) {
			out = append(out, fmt.Sprintf("%s:%s:%s:%d:%d", c.ContainerID[len(c.ContainerID)-1:], c.NodeID, f.FileName, f.FileSize, f.LastModifiedTime-collected))
		}
	}
	return strings.Join(out, " ")
}

// alike reads a list, of which what is alone is no array.
func alike[T any](t *testing.T, text json.RawMessage) (out []T) {
	t.Helper()
	if !strings.HasPrefix(string(text), "[") {
		text = json.RawMessage("[" + string(text) + "]")
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return out
}

// TestExtendedQuery compares with what the JobHistoryServer of Hadoop 3.5.0 answers about the same files, but for the order of files and
// the texts about patterns.
func TestExtendedQuery(t *testing.T) {
	root, _ := collectTwo(t)
	base := serve(t, root, both(nil))
	const (
		out1, out2 = "1:h1_8041:stdout:15:0", "2:h1_8041:stdout:13:0"
		out3, out4 = "1:h3_8041:stdout:15:0", "2:h3_8041:stdout:13:0"
		outN       = "1:n1_45454:stdout:8:-1000 2:n1_45454:stdout:4:-1000"
	)
	stdouts := outN + " " + out1 + " " + out2 + " " + out3 + " " + out4
	for _, x := range []struct{ query, want string }{
		{"nm.id=h1_8041", "1:h1_8041:prelaunch.out:45:0 1:h1_8041:stderr:0:0 " + out1 + " 2:h1_8041:binary:6:0 2:h1_8041:grüße-😀.log:19:0 " + out2},
		{"filename=stdout", stdouts},
		{"filename=stdout&user=bob", stdouts}, // Hadoop has no such parameter here
		{"filename=std", ""},
		{"filename=", ""},
		{"filename=stdo|stdout&nm.id=h1.*", out1 + " " + out2},
		{"filename=stdout&filename=stderr", stdouts},
		{"filename=gr%C3%BC.*&nm.id=.*1_8041", "2:h1_8041:grüße-😀.log:19:0"},
		{"filename=stdout&nm.id=h3_8041&nm.id=h1_8041", out3 + " " + out4},
		{"nm.id=h1:8041", ""},
		{"nm.id=", ""},
		{"nm.id=h4.*", ""}, // not complete
		{"filename=stdout&appid=" + app8, out3 + " " + out4},
		{"filename=stdout&appid=" + app8 + "&appid=" + app, out3 + " " + out4},
		{"appid=application_1700000000000_8", ""},
		{"appid=application_1_0001", ""},
		{"appid=", ""},
		{"appid=nonsense", ""},
		{"filename=stdout&containerid=" + first, "1:n1_45454:stdout:8:-1000 " + out1},
		{"filename=stdout&containerid=" + first + "&appid=" + app, "1:n1_45454:stdout:8:-1000 " + out1},
		{"filename=stdout&containerid=" + other + "&appid=" + app8, out4},
		{"containerid=" + first + "&appid=application_1_0001", ""},
		{"containerid=container_1700000000000_7_1_1", ""},
		{"containerid=x", ""},
		{"containerid=", ""},
		{"file_size=15", out1 + " " + out3},
		{"file_size=15&file_size=15", out1 + " " + out3},
		{"file_size=%2B15", out1 + " " + out3},
		{"file_size=15&file_size=%3E14", out1 + " " + out3},
		{"file_size=15&file_size=%3E15", ""},
		{"file_size=%3E13&file_size=%3C19", out1 + " " + out3},
		{"file_size=%3C1&nm.id=h1.*", "1:h1_8041:stderr:0:0"},
		{"file_size=-15", ""},
		{"filename=stdout&modification_time=1700000000000", outN},
		{"filename=stdout&modification_time=%3E1700000000000&modification_time=%3C1700000001001&nm.id=[hn]1.*", out1 + " " + out2},
		{"filename=stdout&modification_time=%3E1700000001000", ""},
	} {
		status, body := get(t, base+queryPath+"?"+x.query, "application/json")
		if got := brief(t, body); status != 200 || got != x.want {
			t.Errorf("%s: %d %s\nwant %s", x.query, status, got, x.want)
		}
	}
	const number, argument = "java.lang.NumberFormatException", "java.lang.IllegalArgumentException"
	for _, x := range []struct{ query, message, class string }{
		{"file_size=abc", `For input string: "abc"`, number},
		{"file_size=", `For input string: ""`, number},
		{"file_size=%3E", `For input string: ""`, number},
		{"file_size=%3E%3D3", `For input string: "=3"`, number},
		{"file_size=+15", `For input string: " 15"`, number},
		{"file_size=99999999999999999999", `For input string: "99999999999999999999"`, number},
		{"modification_time=x", `For input string: "x"`, number},
		{"modification_time=x&nm.id=(", `For input string: "x"`, number},
		{"modification_time=x&file_size=y", `For input string: "y"`, number},
		{"file_size=5&file_size=6&file_size=x", "Can not process more, than one exact match. Matches: 5 6 x", argument},
		{"file_size=x&filename=(", "filename: the pattern", argument},
		{"nm.id=*", "nm.id: the pattern", argument},
		{"filename=(%3F%3Da)", "no look-around", argument},
		{"filename=" + strings.Repeat("a", javaregexp.MaxLength+1), "a pattern of 4097 bytes; at most 4096 are allowed", argument},
		{"filename=" + strings.Repeat("(a{100}){10}", 11), "more than 10000 steps", argument},
		{strings.Repeat("file_size=1&", maxComparisons+1), "33 values of one parameter; at most 32 are allowed", argument},
	} {
		status, body := get(t, base+queryPath+"?"+x.query, "application/json")
		var e struct {
			RemoteException struct{ Message, JavaClassName string }
		}
		if err := json.Unmarshal([]byte(body), &e); err != nil || status != 400 || !strings.Contains(e.RemoteException.Message, x.message) || e.RemoteException.JavaClassName != x.class {
			t.Errorf("%.50s: %d %s, want %s", x.query, status, body, x.message)
		}
	}
	const xmlHead = `<?xml version="1.0" encoding="UTF-8"?>`
	for query, want := range map[string]string{
		"containerid=" + first + "&file_size=15": `<containerLogsInfoes><containerLogsInfo><containerLogInfo><fileName>stdout</fileName><fileSize>15</fileSize><lastModifiedTime>1700000001000</lastModifiedTime>` +
			`</containerLogInfo><logAggregationType>AGGREGATED</logAggregationType><containerId>` + first + `</containerId><nodeId>h1_8041</nodeId></containerLogsInfo></containerLogsInfoes>`,
		"appid=x": "<containerLogsInfoes/>",
	} {
		if status, body := get(t, base+queryPath+"?"+query, "application/xml"); status != 200 || body != xmlHead+want {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if status, body := get(t, base+queryPath+"?appid=x", "application/json"); status != 200 || body != nothing {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, base+queryPath+"?containerid="+first+"&file_size=15", "application/json"); status != 200 ||
		body != `{"containerLogsInfoes":{"containerLogsInfo":{"containerLogInfo":{"fileName":"stdout","fileSize":15,"lastModifiedTime":1700000001000},"logAggregationType":"AGGREGATED",`+
			`"containerId":"`+first+`","nodeId":"h1_8041"}}}` {
		t.Errorf("%d %s", status, body)
	}
}

// TestExtendedQueryRights: an application that is asked for is refused as everywhere; else what the caller may not see is left out.
func TestExtendedQueryRights(t *testing.T) {
	root, _ := collectTwo(t)
	base := serve(t, root, both(map[string]string{"yarn.acl.enable": "true", "yarn.admin.acl": "root"}))
	for user, sees := range map[string]bool{"alice": true, "bob": true, "root": true, "yarn": true, "eve": false, "": false} {
		as := ""
		if user != "" {
			as = "&user.name=" + user
		}
		for query, refused := range map[string]int{"file_size=15": 200, "file_size=15&appid=" + app: 403, "file_size=15&containerid=" + first: 403} {
			status, body := get(t, base+queryPath+"?"+query+as, "application/json")
			switch {
			case sees && (status != 200 || !strings.Contains(body, "h1_8041")), !sees && (status != refused || strings.Contains(body, "fileName")),
				status == 403 && !strings.Contains(body, "is not authorized to view the logs for"):
				t.Errorf("%s as %q: %d %s", query, user, status, body)
			}
		}
	}
}

// TestExtendedQueryOddities: what else is below the directory hides nothing, and a user without one is told so.
func TestExtendedQueryOddities(t *testing.T) {
	root, home := collectTwo(t)
	for _, name := range []string{"bucket-logs-tfile/0007/foo/h1_1", "bucket-logs-tfile/0007/" + app + "/h9_1/x", "bucket-logs-tfile/0009/application_1_0009/application_1_0009.har/x",
		"bucket-logs-ifile/0007/" + app + "/n2_1"} { // a TFile is no indexed file
		put(t, "stock.tfile", filepath.Join(home, name))
	}
	for _, name := range []string{"bucket-logs-tfile/0010", "bucket-logs-tfile/0011/application_1_0011"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	put(t, "stock-rolled.ifile", filepath.Join(home, "bucket-logs-ifile/0007", app, "n3_1"))
	base := serve(t, root, both(nil))
	if status, body := get(t, base+queryPath+"?filename=stdout&nm.id=n.*", ""); status != 200 ||
		brief(t, body) != "1:n1_45454:stdout:8:-1000 2:n1_45454:stdout:4:-1000 1:n3_1:stdout:8:-1000 2:n3_1:stdout:4:-1000" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, base+queryPath+"?file_size=15", ""); status != 200 || brief(t, body) != "1:h1_8041:stdout:15:0 1:h3_8041:stdout:15:0" {
		t.Errorf("%d %s", status, body)
	}
	if status, body := get(t, base+queryPath+"?appid=application_1_0009", ""); status != 503 || !strings.Contains(body, "archived") {
		t.Errorf("archived: %d %s", status, body)
	}
	if err := os.RemoveAll(filepath.Join(home, "bucket-logs-ifile")); err != nil {
		t.Fatal(err)
	}
	if status, body := get(t, base+queryPath+"?file_size=15", ""); status != 200 || brief(t, body) != "1:h1_8041:stdout:15:0 1:h3_8041:stdout:15:0" {
		t.Errorf("without a directory for one of two formats: %d %s", status, body)
	}
	if err := os.RemoveAll(home); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{"", "?appid=" + app, "?appid=x", "?containerid=" + first} {
		if status, body := get(t, base+queryPath+query, ""); status != 404 || !strings.Contains(body, "yarn/bucket-logs-ifile does not exist") || !strings.Contains(body, `"java.io.FileNotFoundException"`) {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
}

// TestExtendedQueryBounds: a query ends when it has read too much, whatever it has found.
func TestExtendedQueryBounds(t *testing.T) {
	root, _ := collectTwo(t)
	over := map[string]string{"yarn.log-aggregation.file-formats": "TFile",
		"yarn.log-aggregation.file-controller.TFile.class": "x.LogAggregationTFileController", "yarn.nodemanager.remote-app-log-dir": "file://" + root,
		"yarn.nodemanager.remote-app-log-dir-suffix": "logs"}
	layouts, err := aggregated.ReadLayouts(func(name string) string { return over[name] })
	if err != nil {
		t.Fatal(err)
	}
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	store := aggregated.NewStore(layouts, func(u filesystem.URL) (filesystem.FileSystem, error) { return systems.Connect(t.Context(), u, "yarn") })
	defer store.Close()
	id, err := yarn.ParseApplicationID(app8)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := store.Nodes(id, "yarn")
	if err != nil || len(nodes) != 2 {
		t.Fatalf("%v, %v", nodes, err)
	}
	q, err := readQuery(url.Values{"filename": {"stdout"}})
	if err != nil {
		t.Fatal(err)
	}
	read := func(ctx context.Context, f *found) error {
		chosen, err := f.choose(nodes)
		if err != nil {
			return err
		}
		file, err := store.Open(chosen[0])
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		container, err := file.NextContainer()
		if err != nil {
			t.Fatal(err)
		}
		return f.visit(ctx, chosen[0], container, file)
	}
	for _, x := range []struct {
		found
		want string
	}{
		{found{opened: maxOpened - 1, looked: maxLooked - 3, listed: maxListed - 1}, ""}, // the container has three log files
		{found{opened: maxOpened}, "more than 10000 files of nodes"},
		{found{looked: maxLooked - 2}, "more than 1000000 log files would have"},
		{found{listed: maxListed}, "more than 100000 log files"},
	} {
		x.query = &q
		err := read(t.Context(), &x.found)
		if x.want == "" && (err != nil || len(x.logs) != 1) || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want) || answer.KindOf(err) != answer.Invalid) {
			t.Errorf("%v, want %q", err, x.want)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := read(gone, &found{query: &q}); err == nil {
		t.Error("goes on for a caller who has left")
	}
	full := make(chan struct{}, 1)
	full <- struct{}{}
	if _, err := place(gone, full); err == nil {
		t.Error("there was no place left")
	}
}
