package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

const (
	fairClass = "yarn.resourcemanager.scheduler.class org.apache.hadoop.yarn.server.resourcemanager.scheduler.fair.FairScheduler\n"

	goodAllocations = `<allocations>
  <queue name="training"><weight>2</weight></queue>
  <queue name="services"><minResources>4096 mb, 4 vcores</minResources></queue>
</allocations>`
	badAllocations = `<allocations>
  <queue name="training"><wieght>2</wieght></queue>
  <queue name="services"><maxRunningApps>many</maxRunningApps></queue>
</allocations>`
)

func TestQueueLintAllocationsText(t *testing.T) {
	dir := confDirOf(t, "queues.xml", badAllocations)
	file := filepath.Join(dir, "queues.xml")
	got := newWorld("HADOOP_CONF_DIR="+t.TempDir()).run("queue", "-lint", file)
	same(t, "text", got.out, file+":2:26: warning [unknown-key] root.training/wieght: nothing reads this element, so it has no effect; did you mean weight?\n"+
		file+`:3:26: error [refused] root.services/maxRunningApps = "many": the file is refused: it is not a whole number up to 2147483647; `+
		"write how many applications may run at once\n"+
		file+": errors: 1, warnings: 1, hints: 0\n")
	if got.code != 1 || got.err != "" {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
}

func TestQueueLintAllocationsJSON(t *testing.T) {
	dir := confDirOf(t, "fair-scheduler.xml", badAllocations, "yarn-site.xml", fairClass)
	got := newWorld().run("queue", "-lint", dir, "--output", "json")
	var d struct {
		Schema, Kind, File      string
		Errors, Warnings, Hints int
		Findings                []struct {
			Severity, Code, File, Key, What, Fix string
			Value                                *string
			Line, Column                         int
		}
	}
	if err := json.Unmarshal([]byte(got.out), &d); err != nil || got.code != 1 {
		t.Fatalf("%v, exit code %d: %s", err, got.code, got.out)
	}
	file := filepath.Join(dir, "fair-scheduler.xml")
	if d.Schema != Schema || d.Kind != "queueLint" || d.File != file || d.Errors != 1 || d.Warnings != 1 || d.Hints != 0 || len(d.Findings) != 2 {
		t.Fatalf("%+v", d)
	}
	if f := d.Findings[0]; f.Severity != "warning" || f.Code != "unknown-key" || f.Line != 2 || f.Column != 26 || f.Value != nil || f.Key != "root.training/wieght" {
		t.Errorf("%+v", f)
	}
	if f := d.Findings[1]; f.Severity != "error" || f.Code != "refused" || f.Line != 3 || f.Column != 26 || f.Value == nil || *f.Value != "many" || f.File != file {
		t.Errorf("%+v", f)
	}
}

func TestQueueLintAllocationsExitCodes(t *testing.T) {
	elsewhere := confDirOf(t, "allocations.xml", badAllocations)
	gpu := strings.ReplaceAll(goodAllocations, "4096 mb, 4 vcores", "memory-mb=4096, gpu=1")
	at := func(path string) string { return fairClass + "yarn.scheduler.fair.allocation.file " + path }
	for _, x := range []struct {
		name, args string // the directory takes the place of DIR
		files      []string
		code       int
		says       string
	}{
		{"a file", "queue -lint DIR/a.xml -strict", []string{"a.xml", goodAllocations}, 0, "a.xml: errors: 0, warnings: 0, hints: 0"},
		{"strict", "queue -lint DIR/a.xml -strict", []string{"a.xml", strings.ReplaceAll(goodAllocations, "weight", "wait")}, 1, "warnings: 1"},
		{"configured", "queue -lint DIR", []string{"fair-scheduler.xml", goodAllocations, "yarn-site.xml", fairClass}, 0, "fair-scheduler.xml: errors: 0"},
		{"configuration directory", "--config DIR queue -lint", []string{"fair-scheduler.xml", badAllocations, "yarn-site.xml", fairClass}, 1, "fair-scheduler.xml: errors: 1"},
		{"other name", "queue -lint DIR", []string{"a.xml", goodAllocations, "yarn-site.xml", at("a.xml")}, 0, "a.xml: errors: 0"},
		{"other directory", "queue -lint DIR", []string{"yarn-site.xml", at(elsewhere + "/allocations.xml")}, 1, "allocations.xml: errors: 1"},
		{"scheme", "queue -lint DIR", []string{"yarn-site.xml", at("file://" + elsewhere + "/allocations.xml")}, 1, "allocations.xml: errors: 1"},
		{"other file system", "queue -lint DIR", []string{"yarn-site.xml", at("hdfs://h/a.xml")}, 2, "hdfs://h/a.xml is not a file of this machine"},
		{"properties", "queue -lint DIR", []string{"fair-scheduler.xml", badAllocations, "yarn-site.xml", fairClass + "yarn.scheduler.fair.max.assign few"}, 1, "fair-scheduler.xml: errors: 2, warnings: 1"},
		{"no file system", "queue -lint DIR", []string{"yarn-site.xml", at("ftp://h/a.xml")}, 2, "uses an unsupported filesystem"},
		{"relative URL", "queue -lint DIR", []string{"yarn-site.xml", at("file:a.xml")}, 2, "an absolute path"},
		{"absent", "queue -lint DIR", []string{"yarn-site.xml", fairClass}, 2, "no such file"},
		{"alone", "queue -lint DIR", []string{"fair-scheduler.xml", badAllocations}, 2, "DIR has fair-scheduler.xml and no capacity-scheduler.xml, and yarn-site.xml does not ask for the FairScheduler (yarn.resourcemanager.scheduler.class): " +
			"yarn queue -lint DIR/fair-scheduler.xml checks the file all the same"},
		{"not configured", "queue -lint DIR", []string{"fair-scheduler.xml", badAllocations, "capacity-scheduler.xml", goodQueues}, 0, "capacity-scheduler.xml: errors: 0"},
		{"wrong root", "queue -lint DIR/fair-scheduler.xml", []string{"fair-scheduler.xml", "<allocation/>"}, 1, "the root element is <allocation>"},
		{"broken", "queue -lint DIR/a.xml", []string{"a.xml", "<allocations>"}, 1, "a.xml:1:14: error [file]: the allocation file of the FairScheduler is refused: not well-formed XML"},
		{"broken in its first tag", "queue -lint DIR/a.xml", []string{"a.xml", "<allocations\n  <queue/>\n</allocations>"}, 1, "a.xml:2:3: error [file]: the allocation file of the FairScheduler is refused: not well-formed XML"},
		{"broken in its first character", "queue -lint DIR/a.xml", []string{"a.xml", "<?xml version=\"1.0\"?>\nallocations>\n<queue/>\n</allocations>"}, 1, "a.xml:1:22: error [file]: the allocation file of the FairScheduler is refused: not well-formed XML"},
		{"broken before", "queue -lint DIR/a.xml", []string{"a.xml", "<!-- of -- all -->\n<allocations/>"}, 1, "a.xml:1:12: error [file]: the allocation file of the FairScheduler is refused: not well-formed XML"},
		{"unknown encoding", "queue -lint DIR/a.xml", []string{"a.xml", `<?xml version="1.0" encoding="UTF-16"?><allocations/>`}, 1, "the allocation file of the FairScheduler is refused: not well-formed XML: opening charset"},
		{"the other kind, broken", "queue -lint DIR/a.xml", []string{"a.xml", "<configuration\n <allocations/>"}, 1, "a.xml:2:2: error [file]: not well-formed XML"},
		{"types", "queue -lint DIR/a.xml", []string{"a.xml", gpu, "resource-types.xml", "yarn.resource-types gpu"}, 0, "errors: 0"},
		{"unknown types", "queue -lint DIR/a.xml", []string{"a.xml", gpu}, 1, `there is no resource type "gpu"`},
		{"bad site", "queue -lint DIR/a.xml", []string{"a.xml", goodAllocations, "yarn-site.xml", "yarn.cluster.max-application-priority many"}, 1, "yarn-site.xml:2:61: error [file]"},
		{"broken site", "queue -lint DIR/a.xml", []string{"a.xml", goodAllocations, "yarn-site.xml", "<configuration>"}, 1, "yarn-site.xml:1:16: error [file]"},
		{"cluster", "queue -lint DIR/a.xml -cluster memory-mb=2048,vcores=8", []string{"a.xml", goodAllocations}, 0, "at least 4096 memory-mb together, and the cluster has 2048"},
		{"large cluster", "queue -lint DIR/a.xml -strict -cluster memory-mb=8192,vcores=8", []string{"a.xml", goodAllocations}, 0, "warnings: 0"},
	} {
		t.Run(x.name, func(t *testing.T) {
			dir := confDirOf(t, x.files...)
			got := newWorld("HADOOP_CONF_DIR=" + t.TempDir()).run(strings.Fields(strings.ReplaceAll(x.args, "DIR", dir))...)
			if got.code != x.code || !strings.Contains(got.out+got.err, strings.ReplaceAll(x.says, "DIR", dir)) {
				t.Errorf("exit code %d, want %d with %q:\n%s%s", got.code, x.code, x.says, got.out, got.err)
			}
		})
	}
}
