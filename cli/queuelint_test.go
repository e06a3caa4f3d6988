package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// confDirOf is a configuration directory; files are pairs of name and content,
// a line of content being the name and the value of a property.
func confDirOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		text := files[i+1]
		if !strings.HasPrefix(text, "<") {
			var b strings.Builder
			b.WriteString("<configuration>\n")
			for line := range strings.Lines(text) {
				if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
					b.WriteString("<property><name>" + name + "</name><value>" + strings.TrimSpace(value) + "</value></property>\n")
				}
			}
			text = b.String() + "</configuration>\n"
		}
		if err := os.WriteFile(filepath.Join(dir, files[i]), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const goodQueues = `
	yarn.scheduler.capacity.root.queues default,other
	yarn.scheduler.capacity.root.default.capacity 50
	yarn.scheduler.capacity.root.other.capacity 50`

func TestQueueLintText(t *testing.T) {
	dir := confDirOf(t, "capacity-scheduler.xml", goodQueues+`
	yarn.scheduler.capacity.root.other.maximum-capcity 80
	yarn.scheduler.capacity.root.other.state PAUSED`)
	got := newWorld().run("--config", dir, "queue", "-lint")
	file := filepath.Join(dir, "capacity-scheduler.xml")
	const prefix = "yarn.scheduler.capacity.root.other."
	same(t, "text", got.out, file+`:5:74: warning [unknown-key] `+prefix+`maximum-capcity = "80": nothing reads it, so it has no effect; did you mean `+prefix+"maximum-capacity?\n"+
		file+`:6:64: error [refused] `+prefix+`state = "PAUSED": the configuration is refused: must be RUNNING or STOPPED; write RUNNING or STOPPED, without spaces around it`+"\n"+
		file+": errors: 1, warnings: 1, hints: 0\n")
	if got.code != 1 || got.err != "" {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

func TestQueueLintJSON(t *testing.T) {
	dir := confDirOf(t, "capacity-scheduler.xml", goodQueues+"\n\tyarn.scheduler.capacity.root.default.user-limit-factor 50")
	got := newWorld().run("queue", "-lint", dir, "--output", "json")
	var d struct {
		Schema, Kind, File      string
		Errors, Warnings, Hints int
		Findings                []struct {
			Severity, Code, File, Key, Value, What, Fix string
			Line, Column                                int
		}
	}
	if err := json.Unmarshal([]byte(got.out), &d); err != nil || got.code != 0 {
		t.Fatalf("%v, exit code %d: %s", err, got.code, got.out)
	}
	if d.Schema != Schema || d.Kind != "queueLint" || d.Errors != 0 || d.Warnings != 1 || len(d.Findings) != 1 {
		t.Fatalf("%+v", d)
	}
	f := d.Findings[0]
	if f.Severity != "warning" || f.Code != "unit-trap" || f.Line != 5 || f.Column != 78 || f.Value != "50" || f.What == "" || f.Fix == "" ||
		f.File != filepath.Join(dir, "capacity-scheduler.xml") || f.Key != "yarn.scheduler.capacity.root.default.user-limit-factor" {
		t.Errorf("%+v", f)
	}
	got = newWorld().run("queue", "-lint", confDirOf(t, "capacity-scheduler.xml", goodQueues), "--output=json")
	if got.code != 0 || !strings.Contains(got.out, `"findings": []`) {
		t.Errorf("exit code %d: %s", got.code, got.out)
	}
}

func TestQueueLintExitCodes(t *testing.T) {
	warned := goodQueues + "\n\tyarn.scheduler.capacity.other.queues x"
	priority := goodQueues + "\n\tyarn.scheduler.capacity.root.other.default-application-priority 5"
	small := strings.NewReplacer("default.capacity 50", "default.capacity 2", "other.capacity 50", "other.capacity 98").Replace(goodQueues)
	site := "yarn.cluster.max-application-priority 10"
	for _, x := range []struct {
		name, args string // the directory takes the place of DIR
		files      []string
		code       int
		says       string
	}{
		{"good", "queue -lint DIR", []string{"capacity-scheduler.xml", goodQueues}, 0, "errors: 0, warnings: 0, hints: 0"},
		{"file", "queue -lint DIR/queues.xml", []string{"queues.xml", goodQueues}, 0, "queues.xml: errors: 0"},
		{"warning", "queue -lint DIR", []string{"capacity-scheduler.xml", warned}, 0, "[missing-root]"},
		{"strict", "queue -lint DIR -strict", []string{"capacity-scheduler.xml", warned}, 1, "[missing-root]"},
		{"site", "queue -lint DIR", []string{"capacity-scheduler.xml", priority}, 0, "becomes 0"},
		{"site beside it", "queue -lint DIR -strict", []string{"capacity-scheduler.xml", priority, "yarn-site.xml", site}, 0, "warnings: 0"},
		{"site on the command line", "queue -D " + strings.ReplaceAll(site, " ", "=") + " -lint DIR -strict", []string{"capacity-scheduler.xml", priority}, 0, "warnings: 0"},
		{"bad site", "queue -lint DIR", []string{"capacity-scheduler.xml", goodQueues, "yarn-site.xml", "yarn.cluster.max-application-priority many"}, 1, "yarn-site.xml:2:61: error [file]"},
		{"types", "queue -lint DIR -strict", []string{"capacity-scheduler.xml", strings.ReplaceAll(goodQueues, "capacity 50", "capacity [memory=1024,gpu=2]") +
			"\n\tyarn.scheduler.capacity.resource-calculator org.apache.hadoop.yarn.util.resource.DominantResourceCalculator",
			"resource-types.xml", "yarn.resource-types gpu"}, 0, "warnings: 0"},
		{"cluster", "queue -lint DIR --cluster memory-mb=8192,vcores=8 -strict", []string{"capacity-scheduler.xml", small}, 1, "guaranteed 163 MB"},
		{"broken", "queue -lint DIR", []string{"capacity-scheduler.xml", "<configuration>"}, 1, "not well-formed XML"},
		{"rules in a file", "queue -lint DIR", []string{"capacity-scheduler.xml", goodQueues + "\n\tyarn.scheduler.capacity.mapping-rule-format json\n\tyarn.scheduler.capacity.mapping-rule-json-file /nowhere/rules.json"}, 1, "no such file"},
		{"no file", "queue -lint DIR", nil, 2, "no such file"},
		{"no directory", "queue -lint DIR/nowhere", nil, 2, "no such file"},
		{"two files", "queue -lint DIR DIR", []string{"capacity-scheduler.xml", goodQueues}, 2, "one file or directory"},
		{"size", "queue -lint DIR -cluster 8192", []string{"capacity-scheduler.xml", goodQueues}, 2, "want memory-mb="},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := newWorld("HADOOP_CONF_DIR=" + t.TempDir()).run(strings.Fields(strings.ReplaceAll(x.args, "DIR", confDirOf(t, x.files...)))...)
			if got.code != x.code || !strings.Contains(got.out+got.err, x.says) {
				t.Errorf("exit code %d, want %d with %q:\n%s%s", got.code, x.code, x.says, got.out, got.err)
			}
		})
	}
}
