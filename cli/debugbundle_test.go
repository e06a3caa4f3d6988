package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/client/clienttest"
)

// unpacked are the files of a bundle, by name below its directory.
func unpacked(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zip, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF { //nolint:errorlint // tar returns it bare
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		out[name] = string(b)
	}
}

func TestDebugBundle(t *testing.T) {
	logs := t.TempDir()
	recording := filepath.Join(logs, "a.blackbox")
	// What must not be in it: values of secret properties, wherever they turn up, and what looks like a secret.
	secrets := []string{"hunter2hunter2", "wJalrXUtnFEMI", "cookie-signing-key", "s3kr3t-in-url", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl", "MIIEvQIBADANBgk",
		"AKIAIOSFODNN7EXAMPLE", "opensesame", "c29tZXRva2Vu", "bearer-of-bad-news", "123456789012"}
	page := func(r *http.Request) string {
		switch r.URL.Path {
		case "/conf":
			return `{"properties":[{"key":"my.password","value":"<redacted>"},{"key":"x","value":"jdbc:x?password=opensesame&y=1"},{"key":"y","value":"hunter2hunter2"}]}`
		case "/jmx":
			return `{"beans":[{"name":"a","delegationTokens":17,"authToken":"c29tZXRva2Vu"}]}`
		case "/stacks":
			return "goroutine 1 [running]:\nmain.main()\n"
		case "/prom":
			return "# HELP queue_metrics_a tokens: none\nqueue_metrics_a{queue=\"root\"} 7\n"
		case "/ws/v1/cluster/recording":
			return `{"recording":{"commands":12,"missing":0,"file":"` + recording + `"}}`
		case "/ws/v1/cluster/apps":
			return `{"apps":{"app":[{"id":"application_1_0001","name":"load https://bob:s3kr3t-in-url@host/x --password hunter2hunter2"}]}}`
		case "/ws/v1/cluster/drains":
			return ""
		}
		return `{"ok":true}`
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("user.name") != "alice" {
			t.Errorf("%s in nobody's name", r.URL)
		}
		if text := page(r); text != "" {
			_, _ = io.WriteString(w, text)
			return
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer web.Close()
	write := func(name, text string) string {
		path := filepath.Join(logs, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	recorded := func(text string) string { // as package blackbox writes them
		var out bytes.Buffer
		out.WriteString("Heddle black box 1\n")
		zip := gzip.NewWriter(&out)
		_, _ = io.WriteString(zip, strings.Repeat("frame ", 100_000)+text) // in the middle of what is unpacked
		_ = zip.Close()
		return out.String()
	}
	write("a.blackbox", recorded("commands"))
	signature := write("signature", "cookie-signing-key\n")
	write("hadoop-yarn-resourcemanager-h.log", "2026-11-26 INFO a: start\nmy.password=opensesame, next\nAuthorization: Bearer bearer-of-bad-news\n"+
		"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgk\n-----END RSA PRIVATE KEY-----\nid AKIAIOSFODNN7EXAMPLE and eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl\n"+
		"key cookie-signing-key\nthe user hunter2hunter2 came\napi-key = 123456789012\nsecret: 'opensesame'\nlast line\n")
	write("rm-audit.log", "USER=bob\tRESULT=SUCCESS\n")
	write("other.log", "not a daemon's")
	node := simpleNode(22717, 1, 3)
	node.HttpAddress = proto.String(strings.TrimPrefix(web.URL, "http://"))
	rm := clienttest.Start(t, methods{"getClusterNodes": nodesOf(node)})
	dir := rm.ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"), "my.password=hunter2hunter2", "fs.s3a.secret.key=wJalrXUtnFEMI",
		"hadoop.http.authentication.signature.secret.file="+signature, "plain=seen", "built=${my.password}-and-more")
	out := filepath.Join(t.TempDir(), "bundle.tar.gz")
	run := func(args ...string) result {
		return newWorld("HADOOP_LOG_DIR=" + logs).run(append([]string{"--config", dir, "debug", "bundle"}, args...)...)
	}
	got := run("-out", out, "-node", "localhost,nowhere")
	if got.code != 0 || got.err != "" || !strings.Contains(got.out, "without secrets") || !strings.Contains(got.out, "drains: 503 Service Unavailable") || !strings.Contains(got.out, "nowhere: the ResourceManager knows no such node") {
		t.Fatalf("%+v", got)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	files := unpacked(t, out)
	for name, text := range files {
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s has the secret %s", name, s)
			}
		}
		var x any
		if strings.HasSuffix(name, ".json") && json.Unmarshal([]byte(text), &x) != nil {
			t.Errorf("%s is no JSON any more: %s", name, text)
		}
	}
	web1 := strings.ReplaceAll(strings.TrimPrefix(web.URL, "http://"), ":", "_")
	for name, want := range map[string]string{
		"manifest.json": `"kind": "debugBundle"`, "conf.json": `"value": "seen"`, "resourcemanager-" + web1 + "/goroutines.txt": "goroutine 1", "resourcemanager-" + web1 + "/metrics.txt": "queue_metrics_a{queue=\"root\"} 7",
		"resourcemanager-" + web1 + "/jmx.json": `"delegationTokens":17`, "resourcemanager-" + web1 + "/scheduler.json": "ok", "nodemanager-" + web1 + "/containers.json": "ok",
		"last-commands.blackbox": recorded("commands"), "logs/hadoop-yarn-resourcemanager-h.log": "last line", "logs/rm-audit.log": "USER=bob",
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s has no %s: %q", name, want, files[name])
		}
	}
	if _, ok := files["logs/other.log"]; ok {
		t.Error("a file that is no daemon's log was taken")
	}
	// The same file is not written over; a recording with a secret stays out.
	if got := run("-out", out); got.code != 1 || !strings.Contains(got.err, "exists") {
		t.Errorf("%+v", got)
	}
	for why, text := range map[string]string{"secrets is in it": recorded("x hunter2hunter2 x"), "its first line is missing": strings.Repeat("x", 100), "cannot be looked through": "Heddle black box 1\nplain"} {
		write("a.blackbox", text)
		to := filepath.Join(t.TempDir(), "bundle.tar.gz")
		if got := run("-out", to); got.code != 0 || !strings.Contains(got.out, "not in it: the last commands") || !strings.Contains(got.out, why) || unpacked(t, to)["last-commands.blackbox"] != "" {
			t.Errorf("%s: %+v", why, got)
		}
	}
}

// A secret is found where pieces meet, and no more is unpacked than is allowed.
func TestCleanRecording(t *testing.T) {
	s := scrubberOf(t, "my.password=hunter2hunter2")
	for _, one := range []int{1, 5, 1000} {
		if err := s.clean(&drip{text: "abc hunter2hunter2 def", most: one}, 1000); !errors.Is(err, errNotClean) {
			t.Errorf("%d bytes at a time: %v", one, err)
		}
		if err := s.clean(&drip{text: "abc hunter2hunter def", most: one}, 1000); err != nil {
			t.Errorf("%d bytes at a time: %v", one, err)
		}
	}
	if err := s.clean(strings.NewReader(strings.Repeat("x", 2000)), 1000); err == nil || errors.Is(err, errNotClean) {
		t.Errorf("too much: %v", err)
	}
	var out bytes.Buffer
	out.WriteString("Heddle black box 1\n")
	zip := gzip.NewWriter(&out)
	_, _ = io.WriteString(zip, "commands")
	_ = zip.Flush() // and no end, as if the process had been killed
	if err := s.cleanRecording(out.Bytes()); err != nil {
		t.Errorf("without an end: %v", err)
	}
}

// drip gives a text in small pieces.
type drip struct {
	text string
	most int
}

func (d *drip) Read(b []byte) (int, error) {
	if d.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), d.most)], d.text)
	d.text = d.text[n:]
	return n, nil
}
