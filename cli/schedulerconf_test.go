package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/client/clienttest"
	kept "github.com/heddle-project/heddle/internal/golden"
)

// confServer answers every call with a status and a text, and remembers the last one.
type confServer struct {
	status                    int
	text, asked, sent, expect string
}

func (s *confServer) start(t *testing.T) (dir string) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.asked, s.sent, s.expect = r.Method+" "+r.URL.RequestURI(), string(body), r.Header.Get("If-Match")
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.text)
	}))
	t.Cleanup(web.Close)
	return clienttest.Start(t, nil).ConfDir(t, "yarn.resourcemanager.webapp.address="+strings.TrimPrefix(web.URL, "http://"))
}

// TestSchedulerConfAsRecorded: lines and exit codes are those of Hadoop 3.5.0's command. Where that one sent what its ResourceManager passes by,
// ours is refused as that ResourceManager refuses the change.
func TestSchedulerConfAsRecorded(t *testing.T) {
	files, err := kept.Open("schedconf")
	if err != nil {
		t.Fatal(err)
	}
	server := &confServer{}
	dir := server.start(t)
	played := 0
	for _, set := range []string{"memory.jsonl", "file.jsonl"} {
		f, err := files.Open(set)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var s struct {
				Do       string
				Args     []string
				Out, Err string
				Status   int
			}
			if err := json.Unmarshal(lines.Bytes(), &s); err != nil {
				t.Fatal(err)
			}
			if s.Do != "cli" || s.Args[0] != "schedulerconf" {
				continue
			}
			played++
			server.status, server.text = answered(t, s.Out, s.Err)
			got := newWorld().run(append([]string{"--config", dir}, s.Args...)...)
			var wanted []string
			for line := range strings.Lines(s.Err) {
				if !strings.Contains(line, "WARN") && !strings.HasPrefix(line, "\tat ") {
					wanted = append(wanted, line)
				}
			}
			got.out = strings.TrimSuffix(got.out, ownConfUsage)
			if want := strings.Join(wanted, ""); got.code != s.Status || sortedLines(got.out) != sortedLines(s.Out) || !strings.HasPrefix(got.err, want) {
				t.Errorf("%v: %+v\nwant exit %d\n%s%s", s.Args, got, s.Status, s.Out, want)
			}
		}
		_ = f.Close()
	}
	if played < 16 {
		t.Errorf("only %d commands were played", played)
	}
}

// answered is what a ResourceManager answered, as the command printed it.
func answered(t *testing.T, out, err string) (status int, text string) {
	for line := range strings.Lines(err) {
		for _, head := range []string{"Failed to get scheduler configuration: ", "Failed to format scheduler configuration: ", "Configuration change unsuccessful: "} {
			if text, ok := strings.CutPrefix(line, head); ok {
				return 400, strings.TrimSpace(text)
			}
		}
	}
	if !strings.Contains(out, "<configuration>") {
		return 200, "Configuration change successfully applied."
	}
	var list []map[string]string
	for block := range strings.SplitSeq(out, "<property>") {
		_, name, ok := strings.Cut(block, "<name>")
		if !ok {
			continue
		}
		name, rest, _ := strings.Cut(name, "</name>")
		_, value, _ := strings.Cut(rest, "<value>")
		value, _, _ = strings.Cut(value, "</value>")
		list = append(list, map[string]string{"name": name, "value": value})
	}
	b, bad := json.Marshal(map[string]any{"property": list})
	if bad != nil {
		t.Fatal(bad)
	}
	return 200, string(b)
}

func sortedLines(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestSchedulerConf: what is sent, and what of the answer is shown.
func TestSchedulerConf(t *testing.T) {
	const path = "/ws/v1/cluster/scheduler-conf"
	file := filepath.Join(t.TempDir(), "queues.xml")
	if err := os.WriteFile(file, []byte("<configuration><property><name>a</name><value>${b}</value></property></configuration>"), 0o600); err != nil {
		t.Fatal(err)
	}
	change := `{"schedulerConfDiff":{"change":[{"name":"a","from":"1"},{"name":"b","from":"1","to":"2"}]}}`
	server := &confServer{}
	dir := server.start(t)
	for _, c := range []struct {
		args             []string
		status           int
		answer           string
		asked, sent, tag string
		code             int
		out, err         string
	}{
		{args: []string{"-add", `root.a:capacity=5,users=x\,y;root.b`, "-remove", "root.c;root.d", "-update", "root.e:k=", "-global", "g=1,h=2"}, asked: "PUT " + path + "?user.name=alice",
			sent: `{"add-queue":[{"queue-name":"root.a","params":{"entry":[{"key":"capacity","value":"5"},{"key":"users","value":"x,y"}]}},{"queue-name":"root.b","params":{"entry":null}}],` +
				`"remove-queue":["root.c","root.d"],"update-queue":[{"queue-name":"root.e","params":{"entry":[{"key":"k","value":""}]}}],` +
				`"global-updates":[{"entry":[{"key":"g","value":"1"},{"key":"h","value":"2"}]}]}`, out: "Configuration changed successfully.\n"},
		{args: []string{"-global", "a=b", "-reason", "why not", "-if-version", "7", "-confirm-within", "2m"}, asked: "PUT " + path + "?confirm-within=120&reason=why+not&user.name=alice",
			sent: `{"global-updates":[{"entry":[{"key":"a","value":"b"}]}]}`, tag: `"7"`, out: "Configuration changed"},
		{args: []string{"-global", "a=b", "-confirm-within", "soon"}, code: 1, err: "expected a time"},
		{args: []string{"-global", "a=b", "-confirm-within", ""}, code: 1, err: "expected a time"},
		{args: []string{"-apply", file, "-if-version", ""}, code: 1, err: "-if-version has no version"},
		{args: []string{"-apply", file, "-plan", file}, code: 1, err: "-apply and -plan cannot be given together"},
		{args: []string{"-rollback", "3", "-global", "a=b"}, code: 1, err: "-rollback and -global cannot be given together"},
		{args: []string{"-format", "-plan", file}, code: 1, err: "-plan and -format cannot be given together"},
		{args: []string{"-diff", "1..2", "-plan", file}, code: 2, err: "yarn schedulerconf: -diff and -plan cannot be given together"},
		{args: []string{"-apply", file, "other.xml"}, code: 1, err: `-apply: unexpected "other.xml"`},
		{args: []string{"-diff", "1..2"}, answer: change, asked: "GET " + path + "/diff?from=1&to=2&user.name=alice", code: 1, out: "- a=1\n- b=1\n+ b=2\n"},
		{args: []string{"-diff", "file.."}, answer: `{"schedulerConfDiff":{}}`, asked: "GET " + path + "/diff?from=file&to=in-force&user.name=alice"},
		{args: []string{"-diff", "1"}, code: 2, err: "expected two versions"},
		{args: []string{"-diff", "1..9"}, status: 404, answer: "version 9 is not kept", asked: "GET " + path + "/diff?from=1&to=9&user.name=alice", code: 2, err: "refused: version 9 is not kept"},
		{args: []string{"-rollback", "3"}, answer: `{"configversion":{"versionID":8}}`, asked: "PUT " + path + "/rollback?user.name=alice&version=3", out: "Version 3 is in force again, as version 8.\n"},
		{args: []string{"-rollback", "3"}, status: 409, answer: "on trial", asked: "PUT " + path + "/rollback?user.name=alice&version=3", code: 1, err: "refused: on trial"},
		{args: []string{"-apply", file}, answer: `{"configversion":{"versionID":9}}`, asked: "PUT " + path + "/apply?user.name=alice", sent: `{"property":[{"name":"a","value":"${b}"}]}`, out: "as version 9.\n"},
		{args: []string{"-apply", file + "x"}, code: 1, err: "queues.xmlx"},
		{args: []string{"-confirm"}, answer: `{"configversion":{"versionID":9}}`, asked: "PUT " + path + "/confirm?user.name=alice", out: "Version 9 stays.\n"},
		{args: []string{"-plan", file}, answer: `{"schedulerConfPlan":{"version":4,"accepted":true,"queue":[{"queuePath":"root","partition":"","before":{"state":"RUNNING"},"after":{"state":"RUNNING"}}]}}`,
			asked: "POST " + path + "/plan?user.name=alice", sent: `{"property":[{"name":"a","value":"${b}"}]}`, out: "Against version 4"},
		{args: []string{"-plan", file}, answer: `{"schedulerConfPlan":{"version":4,"accepted":false,"refusal":"no \u202e"}}`, asked: "POST " + path + "/plan?user.name=alice",
			sent: `{"property":[{"name":"a","value":"${b}"}]}`, code: 3, out: "It would be refused: no \\u202e\n"},
		{args: []string{"-plan", file}, answer: `{"schedulerConfPlan":{"version":4,"accepted":true,"finding":[{"kind":"k","queuePath":"root.a","text":"odd","application":["application_1_0001"]}]}}`,
			asked: "POST " + path + "/plan?user.name=alice", sent: `{"property":[{"name":"a","value":"${b}"}]}`, code: 4, out: "root.a: [k] odd\n  application_1_0001\n"},
		{args: []string{"-history"}, answer: `{"schedulerConfHistory":{"version":2,"mutable":true,"drift":[{"name":"a","to":"1"}],"accepted":[{"version":1,"user":"x","source":"file"},{"version":2,"user":"y","source":"api","reason":"so"}]}}`,
			asked: "GET " + path + "/history?user.name=alice", out: "The queue file differs from what is in force:\n+ a=1\n"},
		{args: []string{"-history"}, status: 404, answer: `{"message":"Not Found"}`, asked: "GET " + path + "/history?user.name=alice", code: 1, err: "it is none of Heddle"},
	} {
		server.status, server.text = max(c.status, 200), c.answer
		server.asked, server.sent, server.expect = "", "", ""
		got := newWorld().run(append([]string{"--config", dir, "schedulerconf"}, c.args...)...)
		if server.asked != c.asked || server.sent != c.sent || server.expect != c.tag || got.code != c.code || !strings.Contains(got.out, c.out) || !strings.Contains(got.err, c.err) {
			t.Errorf("%q: asked %q with %s %s\nwant %q with %s\nexit %d, want %d\n%s%s", c.args, server.asked, server.sent, server.expect, c.asked, c.sent, got.code, c.code, got.out, got.err)
		}
	}
}
