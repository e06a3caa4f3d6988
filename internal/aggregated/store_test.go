package aggregated

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

// properties are Hadoop's defaults with some on top.
func properties(more map[string]string) func(string) string {
	return func(name string) string {
		if v, ok := more[name]; ok {
			return v
		}
		return map[string]string{
			"yarn.log-aggregation.file-formats":                 "TFile",
			"yarn.log-aggregation.file-controller.TFile.class":  "org.apache.hadoop.yarn.logaggregation.filecontroller.tfile.LogAggregationTFileController",
			"yarn.nodemanager.remote-app-log-dir":               "/tmp/logs",
			"yarn.nodemanager.remote-app-log-dir-suffix":        "logs",
			"yarn.nodemanager.remote-app-log-dir-include-older": "true",
		}[name]
	}
}

var seventh = yarn.ApplicationID{ClusterTimestamp: 1700000000000, Sequence: 10_007}

func TestLayouts(t *testing.T) {
	all, err := ReadLayouts(properties(nil))
	if err != nil || len(all) != 1 || !all[0].TFile || !all[0].Older {
		t.Fatalf("%+v, %v", all, err)
	}
	dirs, err := all[0].Dirs("alice", seventh)
	want := []string{"/tmp/logs/alice", "/tmp/logs/alice/bucket-logs-tfile", "/tmp/logs/alice/bucket-logs-tfile/0007",
		"/tmp/logs/alice/bucket-logs-tfile/0007/application_1700000000000_10007"}
	for i := range want {
		if err != nil || dirs[i].String() != want[i] {
			t.Errorf("%s, %v, want %s", dirs[i], err, want[i])
		}
	}
	all, err = ReadLayouts(properties(map[string]string{
		"yarn.log-aggregation.file-formats":                      "IndexedFile, Mine",
		"yarn.log-aggregation.file-controller.IndexedFile.class": "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
		"yarn.log-aggregation.file-controller.Mine.class":        "x.LogAggregationTFileController",
		"yarn.log-aggregation.Mine.remote-app-log-dir":           "hdfs://nn:8020/app-logs/",
		"yarn.log-aggregation.Mine.remote-app-log-dir-suffix":    "of-mine",
		"yarn.nodemanager.remote-app-log-dir-include-older":      "false",
	}))
	if err != nil || len(all) != 2 || all[0].TFile || all[0].Suffix != "logs-indexedfile" || all[0].Older || !all[1].TFile {
		t.Fatalf("%+v, %v", all, err)
	}
	if dir, err := all[1].Dir("bob", seventh); err != nil || dir.String() != "hdfs://nn:8020/app-logs/bob/bucket-of-mine/0007/application_1700000000000_10007" {
		t.Errorf("%s, %v", dir, err)
	}
	node := yarn.NodeID{Host: "host.example.org", Port: 45454}
	if NodeName(node) != "host.example.org_45454" || RolledName(node, 1700) != "host.example.org_45454_1700" {
		t.Error(NodeName(node), RolledName(node, 1700))
	}
}

func TestBadLayouts(t *testing.T) {
	for name, value := range map[string]string{
		"yarn.log-aggregation.file-formats":                    "",
		"yarn.log-aggregation.file-controller.TFile.class":     "",
		"yarn.nodemanager.remote-app-log-dir":                  "relative",
		"yarn.log-aggregation.TFile.remote-app-log-dir":        "http:/\x00",
		"yarn.log-aggregation.TFile.remote-app-log-dir-suffix": "a/b",
	} {
		if got, err := ReadLayouts(properties(map[string]string{name: value})); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s = %q: %+v, %v", name, value, got, err)
		}
	}
	all, _ := ReadLayouts(properties(nil))
	for _, user := range []string{"", ".", "..", "a/b", "a\x00"} {
		if dir, err := all[0].Dir(user, seventh); err == nil {
			t.Errorf("%q: %s", user, dir)
		}
	}
}

// remote is a root of aggregated logs and a Store over it.
type remote struct {
	*Store
	t    *testing.T
	root string
}

func newRemote(t *testing.T, more map[string]string) *remote {
	t.Helper()
	r := &remote{t: t, root: t.TempDir()}
	all := map[string]string{"yarn.nodemanager.remote-app-log-dir": r.root}
	for k, v := range more {
		all[k] = v
	}
	layouts, err := ReadLayouts(properties(all))
	if err != nil {
		t.Fatal(err)
	}
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r.Store = NewStore(layouts, func(u filesystem.URL) (filesystem.FileSystem, error) {
		return systems.Connect(t.Context(), u, "alice")
	})
	t.Cleanup(func() { r.Close() })
	return r
}

func (r *remote) put(name string, content []byte) {
	r.t.Helper()
	name = filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(name, content, 0o640); err != nil {
		r.t.Fatal(err)
	}
	at := time.UnixMilli(1795305345000)
	if err := os.Chtimes(name, at, at); err != nil {
		r.t.Fatal(err)
	}
}

func names(all []NodeLogs) (out []string) {
	for _, n := range all {
		out = append(out, n.Name)
	}
	return out
}

func TestFindsLogs(t *testing.T) {
	const bucket, older = "alice/bucket-logs-tfile/0007/application_1700000000000_10007/", "alice/logs-tfile/application_1700000000000_10007/"
	r := newRemote(t, nil)
	file := write(t, Uncompressed, small)
	for _, name := range []string{bucket + "b_1", bucket + "a_1", bucket + ".a_1.crc", bucket + "c_1.tmp", bucket + "dir/x", older + "z_1"} {
		r.put(name, file)
	}
	all, err := r.Nodes(seventh, "alice")
	if got := names(all); err != nil || !slices.Equal(got, []string{"z_1", "a_1", "b_1", "c_1.tmp"}) {
		t.Fatalf("%q, %v", got, err)
	}
	if all[3].Complete() || !all[2].Complete() || !all[1].Of("a:1") || all[1].Of("b:1") || !all[1].Of("") || all[1].ModTime != 1795305345000 {
		t.Errorf("%+v", all)
	}
	logs, err := r.Open(all[1])
	if err != nil {
		t.Fatal(err)
	}
	defer logs.Close()
	id, err := logs.NextContainer()
	f, err2 := logs.NextFile()
	text, err3 := io.ReadAll(logs)
	if errors.Join(err, err2, err3) != nil || id != small[0].id || f.Name != "prelaunch.out" || string(text) != small[0].files[0].text {
		t.Errorf("%s %v %q, %v", id, f, text, errors.Join(err, err2, err3))
	}
	r.put(bucket+"bad", []byte("damaged"))
	all, _ = r.Nodes(seventh, "alice")
	if _, err := r.Open(all[3]); err == nil || !strings.Contains(err.Error(), bucket+"bad") {
		t.Errorf("%v", err)
	}
}

func TestLogsThatAreNotThere(t *testing.T) {
	r := newRemote(t, nil)
	_, err := r.Nodes(seventh, "alice")
	var none *NotFound
	if !errors.As(err, &none) {
		t.Fatal(err)
	}
	want := "File " + r.root + "/alice/logs-tfile/application_1700000000000_10007 does not exist\n" +
		"File " + r.root + "/alice/bucket-logs-tfile/0007/application_1700000000000_10007 does not exist\n"
	if err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if _, err := r.Nodes(seventh, ".."); err == nil || errors.As(err, &none) {
		t.Error(err)
	}
}

// Logs that only Hadoop's own command can read are not passed over in silence.
func TestLogsOfOtherFormats(t *testing.T) {
	r := newRemote(t, map[string]string{
		"yarn.log-aggregation.file-formats":                "Other,TFile",
		"yarn.log-aggregation.file-controller.Other.class": "x.OtherController",
	})
	r.put("bob/bucket-logs-tfile/0007/application_1700000000000_10007/a_1", nil)
	r.put("alice/bucket-logs-other/0007/application_1700000000000_10007/a_1", nil)
	r.put("carol/bucket-logs-tfile/0007/application_1700000000000_10007/application_1700000000000_10007.har/_index", nil)
	if all, err := r.Nodes(seventh, "bob"); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	for user, what := range map[string]string{"alice": "Other", "carol": "archived"} {
		if all, err := r.Nodes(seventh, user); !errors.Is(err, errElsewhere) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %+v, %v", user, all, err)
		}
	}
}

func TestOwners(t *testing.T) {
	r := newRemote(t, nil)
	if got, err := r.Owner(seventh, "alice"); got != "" || err != nil {
		t.Errorf("without a root: %q, %v", got, err)
	}
	r.put("README", nil)
	r.put("bob/bucket-logs-tfile/0007/application_1700000000000_10007/a_1", nil)
	r.put("alice/bucket-logs-tfile/0008/application_1700000000000_10008/a_1", nil)
	for _, guess := range []string{"bob", "alice", "", ".."} {
		if got, err := r.Owner(seventh, guess); got != "bob" || err != nil {
			t.Errorf("%q: %q, %v", guess, got, err)
		}
	}
	r.put("carol/logs-tfile/application_1700000000000_10007/a_1", nil)
	if got, err := r.Owner(seventh, "carol"); got != "carol" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := r.Owner(seventh, "alice"); got != "" || err != nil {
		t.Errorf("of two: %q, %v", got, err)
	}
}

func TestTextsAroundLogs(t *testing.T) {
	h := Heading{"container_1_0001_01_000001", "localhost_1", Aggregated, "größe-😀.log", "Sat Nov 21 23:55:45 +0000 2026", 19}
	want := "Container: container_1_0001_01_000001 on localhost_1\nLogAggregationType: AGGREGATED\n" +
		"====================================================\nLogType:größe-😀.log\nLogLastModifiedTime:Sat Nov 21 23:55:45 +0000 2026\nLogLength:19\nLogContents:\n"
	if got := h.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := Ending("größe-😀.log"), "\nEnd of LogType:größe-😀.log\n"+strings.Repeat("*", 77)+"\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := LocalEnding("stdout", ""), "End of LogType:stdout.\n"+strings.Repeat("*", 71)+"\n\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := LocalEnding("stdout", "container_1"); !strings.HasPrefix(got, "End of LogType:stdout.This log file belongs to a running container (container_1) and so may not be complete.\n***") {
		t.Errorf("%q", got)
	}
	for _, w := range []struct{ size, bytes, skip, length int64 }{
		{100, 10, 0, 10}, {100, 1000, 0, 100}, {100, 0, 0, 0}, {100, -10, 90, 10}, {100, -100, 0, 100}, {100, -1 << 63, 0, 100}, {0, -5, 0, 0},
	} {
		if skip, length := Window(w.size, w.bytes); skip != w.skip || length != w.length {
			t.Errorf("%+v: %d, %d", w, skip, length)
		}
	}
}

// A user's applications come in the order of their directories, and nothing else that is there does.
func TestApplications(t *testing.T) {
	r := newRemote(t, map[string]string{
		"yarn.log-aggregation.file-formats":                   "IFile,TFile,Same",
		"yarn.log-aggregation.file-controller.IFile.class":    "x.LogAggregationIndexedFileController",
		"yarn.log-aggregation.file-controller.Same.class":     "x.LogAggregationIndexedFileController",
		"yarn.log-aggregation.Same.remote-app-log-dir-suffix": "logs-tfile",
	})
	for _, name := range []string{"bucket-logs-ifile/0002/application_1_0002/a_1", "bucket-logs-tfile/0002/application_1_0002/a_1", "bucket-logs-tfile/0001/application_1_10001/a_1",
		"bucket-logs-tfile/0001/application_1_0001/a_1", "logs/application_1_0009/a_1", "bucket-logs-tfile/0001/notes/a_1", "bucket-logs-tfile/0001/application_1_3/a_1",
		"bucket-logs-tfile/0001/application_1_0004", "bucket-logs-tfile/note"} {
		r.put("alice/"+name, nil)
	}
	apps, err := r.Applications("alice")
	if got := fmt.Sprint(apps); err != nil || got != "[application_1_0002 application_1_0001 application_1_10001]" {
		t.Errorf("%s, %v", got, err)
	}
	r.put("alice/logs-tfile/application_1_0005/a_1", nil)
	if apps, err := r.Applications("alice"); err != nil || len(apps) != 4 || apps[1].Sequence != 5 {
		t.Errorf("with an older directory: %v, %v", apps, err)
	}
	var none *NotFound
	if _, err := r.Applications("bob"); !errors.As(err, &none) || !strings.HasSuffix(none.Places[0], "/bob/bucket-logs-ifile does not exist") {
		t.Errorf("%v", err)
	}
	if err := r.Known("bob"); !errors.As(err, &none) {
		t.Errorf("%v", err)
	}
	if err := r.Known("alice"); err != nil {
		t.Error(err)
	}
	if _, err := r.Applications(".."); err == nil || errors.As(err, &none) {
		t.Errorf("of a user who is none: %v", err)
	}
}

// Nodes and rounds of one application need not have the same format. A directory that two formats share is looked at once, and
// what cannot be read hides nothing that was found before it.
func TestLogsInSeveralFormats(t *testing.T) {
	const app = "/0007/application_1700000000000_10007/"
	r := newRemote(t, map[string]string{
		"yarn.log-aggregation.file-formats":                   "IFile,TFile,Same,Other",
		"yarn.log-aggregation.file-controller.IFile.class":    "x.LogAggregationIndexedFileController",
		"yarn.log-aggregation.file-controller.Same.class":     "x.LogAggregationIndexedFileController",
		"yarn.log-aggregation.Same.remote-app-log-dir-suffix": "logs-tfile",
		"yarn.log-aggregation.file-controller.Other.class":    "x.OtherController",
	})
	r.put("alice/bucket-logs-tfile"+app+"a_1", write(t, Uncompressed, small))
	r.put("alice/bucket-logs-tfile"+app+"c_1", nil)
	r.put("alice/bucket-logs-ifile"+app+"b_1", nil)
	r.put("alice/bucket-logs-other"+app+"d_1", nil)
	all, err := r.Nodes(seventh, "alice")
	if got := names(all); err != nil || !slices.Equal(got, []string{"b_1", "a_1", "c_1"}) {
		t.Fatalf("%q, %v", got, err)
	}
	logs, err := r.Open(all[1])
	if err != nil {
		t.Fatal(err)
	}
	logs.Close()
}
