package replay

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/golden"
)

// equal are the profiles of recorded decisions that must be reproduced to the
// letter; all of their traces are played.
var equal = []string{"cap-amlimit", "cap-basic", "cap-drf", "cap-labels", "cap-locality", "cap-mapping", "cap-mixed", "cap-modes", "cap-move",
	"cap-nodes", "cap-preempt", "cap-preempt-lazy", "cap-preempt-move", "cap-preempt-wild", "cap-priority", "cap-refresh", "cap-reserve", "cap-update", "cap-userlimit", "cap-wild", "fifo",
	"fair-basic", "fair-drf", "fair-limits", "fair-locality", "fair-preempt", "fair-queues", "fair-wild",
	"plan-any", "plan-basic", "plan-gang", "plan-order", "plan-periodic", "plan-quota", "plan-refuse", "plan-replan"}

func TestRecorded(t *testing.T) {
	for _, profile := range equal {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			files, err := golden.Traces(profile)
			if err != nil {
				t.Fatal(err)
			}
			names, err := fs.Glob(files, "*.jsonl")
			if err != nil || len(names) == 0 {
				t.Fatal("no traces", err)
			}
			for _, name := range names {
				same(t, files, name)
			}
		})
	}
}

func TestExamples(t *testing.T) {
	files, err := golden.Traces("examples")
	if err != nil {
		t.Fatal(err)
	}
	names, err := fs.Glob(files, "*.jsonl")
	if err != nil || len(names) == 0 {
		t.Fatal("no traces", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(name, ".jsonl"), func(t *testing.T) { same(t, files, name) })
	}
}

// TestRevisions: what revision 1 of the recorder left in its traces is not in those of
// the next one.
func TestRevisions(t *testing.T) {
	files, err := golden.Traces("examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, where := range map[string]string{
		"snapshot-counts-users.jsonl": "event 106 (queues) differs at queues.root.d.dan.users.dan.limit",
		"types-of-resources-1.jsonl":  "event 6 (beat) differs at allocated.0",
	} {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			t.Fatal(err)
		}
		later := `{"recorder":2,` + strings.TrimPrefix(string(text), "{")
		var out bytes.Buffer
		if err := Check(strings.NewReader(later), name, &out); err == nil || !strings.Contains(out.String(), where) {
			t.Errorf("%s: error %v, want %s\n%s", name, err, where, out.String())
		}
	}
}

// same plays a trace and wants what Apache decided.
func same(t *testing.T, files fs.FS, name string) {
	t.Helper()
	f, err := files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out bytes.Buffer
	if err := guarded(name, func() error { return Check(f, name, &out) }); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

const head = `{"trace":1,"scheduler":"capacity","yarn-site":{"yarn.scheduler.minimum-allocation-mb":1024},` +
	`"capacity-scheduler":{"yarn.scheduler.capacity.root.queues":"a","yarn.scheduler.capacity.root.a.capacity":100,"yarn.scheduler.capacity.maximum-am-resource-percent":1},"groups":{}}` + "\n"

const life = `{"do":"node-add","node":"h1:1","resource":{"memory-mb":8192,"vcores":8}}
{"do":"submit","app":"a1","user":"ann","queue":"a","am":{"memory-mb":1024,"vcores":1}}
{"do":"beat","node":"h1:1"}
{"do":"am-register","app":"a1"}
{"do":"am-register","app":"a1"}
{"do":"ask","app":"a1","asks":[{"resource":{"memory-mb":2048,"vcores":1},"count":2,"where":"*"}]}
{"do":"beat","node":"h1:1"}
{"do":"ask","app":"a1"}
{"do":"ask","app":"a1","release":["a1/h1:1/p1/2048x1#1"]}
{"do":"app-priority","app":"a1","priority":3}
{"do":"am-finish","app":"a1"}
{"do":"beat","node":"h1:1","completed":["a1/am"]}
{"do":"submit","app":"a2","user":"ann","queue":"b","am":{"memory-mb":1024,"vcores":1}}
{"do":"node-remove","node":"h1:1"}
`

// As Apache answers.
const lifeSaw = `{"n":1,"saw":{"ok":true}}
{"n":2,"saw":{"queue":"root.a","state":"ACCEPTED"}}
{"n":3,"saw":{"allocated":["a1/am"],"finished":[],"reserved":null}}
{"n":4,"saw":{"apps":{"a1":"RUNNING"},"ok":true}}
{"n":5,"saw":{"ok":false}}
{"n":6,"saw":{"completed":[],"granted":[],"headroom":{"memory-mb":7168,"vcores":7},"preempt":null}}
{"n":7,"saw":{"allocated":["a1/h1:1/p1/2048x1#1"],"finished":[],"reserved":null}}
{"n":8,"saw":{"completed":[],"granted":["a1/h1:1/p1/2048x1#1"],"headroom":{"memory-mb":5120,"vcores":6},"preempt":null}}
{"n":9,"saw":{"completed":[{"name":"a1/h1:1/p1/2048x1#1","exit":"aborted"}],"finished":["a1/h1:1/p1/2048x1#1"],"granted":[],"headroom":{"memory-mb":7168,"vcores":7},"preempt":null}}
{"n":10,"saw":{"ok":true,"priority":0}}
{"n":11,"saw":{"apps":{"a1":"FINISHING"},"ok":true}}
{"n":12,"saw":{"allocated":[],"apps":{"a1":"FINISHED"},"finished":["a1/am"],"reserved":null}}
{"n":13,"saw":{"queue":null,"state":"FAILED"}}
{"n":14,"saw":{}}
`

func TestPlay(t *testing.T) {
	var out bytes.Buffer
	if err := Play(strings.NewReader(head+life), "life", &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != lifeSaw {
		t.Errorf("got\n%s\nwant\n%s", out.String(), lifeSaw)
	}
}

// TestBad: what cannot be played is an error that says where and why.
func TestBad(t *testing.T) {
	for events, want := range map[string]string{
		`{"do":"dance"}`:                               "x:2: event 1 (dance): no such event is known",
		`{"do":"fair-update"}`:                         "an event of the FairScheduler",
		`{"do":"beat","node":"h1:1"}`:                  `no such node: "h1:1"`,
		`{"do":"node-add","node":"h1"}`:                "h1",
		`{"do":"node-add","node":"h1:1","label":"x"}`:  `partition "x" is not`,
		`{"do":"app-kill","app":"a1"}`:                 `no such application: "a1"`,
		`{"do":"submit","app":""}`:                     "a name of its own",
		`{"do":"submit","app":"a","am":{"gpu":1}}`:     "a type that the cluster does not have",
		`{"do":"queue-round","policy":"sing"}`:         "no such policy",
		`{"do":"queue-round","advance-ms":-1}`:         "must not be negative",
		`{"do":"refresh-queues"}`:                      "needs the properties",
		`{"do":"refresh-queues","fair-scheduler":"x"}`: "needs the properties of capacity-scheduler",
	} {
		err := Play(strings.NewReader(head+events), "x", io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x:2") {
			t.Errorf("%s: error %v, want %s", events, err, want)
		}
	}
	for header, want := range map[string]string{
		`{"trace":1,"scheduler":"fair"}`:      "fair-scheduler.xml",
		`{"trace":1,"scheduler":"fare"}`:      `no scheduler is called "fare"`,
		`{"trace":1,"scheduler":"capacity"}`:  "x: header:",
		strings.Replace(head, "1024", "0", 1): "minimum-allocation-mb",
	} {
		if err := Play(strings.NewReader(header), "x", io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", header, err, want)
		}
	}
}

// TestDiverged: an ask that names a container which was never granted here is
// an answer that differs, not the end of the replay.
func TestDiverged(t *testing.T) {
	events := strings.Join(strings.SplitAfter(life, "\n")[:4], "") + `{"do":"ask","app":"a1","release":["a1/h9:1/p1/1x1#1"]}` + "\n" + `{"do":"queues"}`
	var out bytes.Buffer
	if err := Play(strings.NewReader(head+events), "x", &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `{"n":5,"saw":{"error":"no such container here: a1/h9:1/p1/1x1#1"}}`) || !strings.Contains(out.String(), `"root.a"`) {
		t.Error(out.String())
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, other := write("good.jsonl", head+life), write("other.jsonl", head+life)
	bad := write("bad.jsonl", head+`{"do":"dance"}`)
	var recorded strings.Builder
	saws := strings.Split(lifeSaw, "\n")
	for i, line := range strings.Split(strings.TrimSpace(life), "\n") {
		_, saw, _ := strings.Cut(strings.TrimSuffix(saws[i], "}"), `"saw":`)
		recorded.WriteString(strings.TrimSuffix(line, "}") + `,"saw":` + saw + "}\n")
	}
	checked := write("checked.jsonl", head+recorded.String())
	differs := write("differs.jsonl", head+strings.Replace(recorded.String(), `"allocated":["a1/h1:1/p1/2048x1#1"]`, `"allocated":[]`, 1))
	out := filepath.Join(dir, "out")
	for _, c := range []struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		{[]string{good}, 0, lifeSaw, ""},
		{[]string{good, other}, 2, "", "several traces need --out"},
		{[]string{good, other, "--out", out}, 0, "", ""},
		{[]string{good, good, "--out", out}, 2, "", "one file"},
		{[]string{bad, good, "--out=" + out}, 1, "1 of 2 traces replayed, answers in " + out + "\n", "bad.jsonl:2: event 1 (dance)"},
		{[]string{"--check", checked, differs}, 1, "1 of 2 traces equal\n", ""},
		{[]string{"--check", checked}, 0, "14 events equal", ""},
		{[]string{"--check", checked, differs}, 1, "event 7 (beat) differs at allocated\n", ""},
		{[]string{"--check", good}, 1, "", "was never recorded"},
		{[]string{filepath.Join(dir, "none")}, 1, "", "no such file"},
		{[]string{"--fast", good}, 2, "", "unknown option --fast"},
		{[]string{"--help"}, 0, "Usage: yarn sim replay", ""},
		{nil, 2, "", "no trace is given"},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(c.args, &stdout, &stderr)
		if code != c.code || !strings.Contains(stdout.String(), c.stdout) || !strings.Contains(stderr.String(), c.stderr) {
			t.Errorf("%v: exit %d, want %d\nstdout %s\nstderr %s", c.args, code, c.code, stdout.String(), stderr.String())
		}
	}
	for _, name := range []string{"good.jsonl", "other.jsonl"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(b) != lifeSaw {
			t.Errorf("%s: %v %s", name, err, b)
		}
	}
}
