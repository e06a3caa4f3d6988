package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/lint"
	"github.com/heddle-project/heddle/yarn"
)

// TestCheckAllocations: findings of an allocation file have the linter's form, order and bounds.
func TestCheckAllocations(t *testing.T) {
	in := lint.Input{File: "f.xml", Cluster: config.Cluster{Types: yarn.BasicResourceTypes()}, Size: yarn.NewResource(1024, 0),
		Notes: []lint.Finding{{Severity: lint.Warning, Code: "file", Origin: "yarn-site.xml:1:1", What: "x", Fix: "y"}}}
	const text = `<allocations>
  <queue name="a"><minResources>memory-mb=9223372036854775807</minResources></queue>
  <queue name="b"><minResources>memory-mb=9223372036854775807</minResources></queue>
  <queue name="b"/>
</allocations>`
	want := `f.xml: warning [sum] root/queue: the queues below root are to have at least 9223372036854775807 memory-mb together, and the cluster has 1024; lower minResources of some
f.xml:4:3: warning [repeated] root.b: the queue is also in line 3: what both say is put together, and of what both set the last one counts; write each queue once
yarn-site.xml:1:1: warning [file]: x; y
`
	got := lint.CheckAllocations(in, []byte(text))
	if rendered(got) != want {
		t.Fatalf("got\n%swant\n%s", rendered(got), want)
	}
	for _, f := range got[:2] {
		complete(t, f)
	}

	in.Notes = nil
	got = lint.CheckAllocations(in, []byte(strings.Repeat("\n", 7)+"<allocations"))
	if bad, _, _ := lint.Count(got); bad != 1 || !strings.Contains(rendered(got), "f.xml:8:13: error [file]: the allocation file of the FairScheduler is refused: not well-formed XML: unexpected EOF; correct the file") {
		t.Errorf("%s", rendered(got))
	}
	got = lint.CheckAllocations(in, []byte("<allocations>"+strings.Repeat("<a/>", lint.MaxFindings+5)+"</allocations>"))
	if len(got) != lint.MaxFindings {
		t.Errorf("%d findings", len(got))
	}
}

// TestCheckFair: what is refused is what config.Parse refuses, all of it at once: properties, and the lines of the file.
func TestCheckFair(t *testing.T) {
	set := func(name, value string, line int) config.Property {
		return config.Property{Name: config.FairPrefix + name, Value: value, Origin: fmt.Sprintf("yarn-site.xml:%d:1", line)}
	}
	in := lint.Input{File: "f.xml", Cluster: config.Cluster{Policy: config.FairPolicy, Types: yarn.BasicResourceTypes(),
		MinAllocation: yarn.NewResource(1024, 1), MaxAllocation: yarn.NewResource(8192, 4), Allocations: &config.AllocationFile{Name: "f.xml", Text: `<allocations>
  <queue name="a"><weight>heavy</weight></queue>
  <queue name="b"><maxRunningApps>many</maxRunningApps></queue>
</allocations>`}},
		Properties: []config.Property{set("max.assign", "few", 3), set("waitTimeBeforeKill", "long", 4), set("update-interval-ms", "-1", 5)}}
	want := []string{"f.xml:2:19: error [refused] root.a/weight = \"heavy\": the file is refused: ", "f.xml:3:19: error [refused] root.b/maxRunningApps = \"many\": the file is refused: ",
		"yarn-site.xml:3:1: error [refused] yarn.scheduler.fair.max.assign = \"few\": the configuration is refused: ",
		"yarn-site.xml:4:1: error [refused] yarn.scheduler.fair.waitTimeBeforeKill = \"long\": the configuration is refused: ",
		"yarn-site.xml:5:1: warning [refused] yarn.scheduler.fair.update-interval-ms = \"-1\": must not be negative; 500 is used; "}
	got := lint.CheckFair(in)
	if len(got) != len(want) {
		t.Fatalf("%s", rendered(got))
	}
	for i, f := range got {
		if !strings.HasPrefix(f.String(), want[i]) {
			t.Errorf("got  %s\nwant %s", f, want[i])
		}
		complete(t, f)
	}
	in.Properties = in.Properties[2:]
	in.Cluster.Allocations = nil
	if got := lint.CheckFair(in); rendered(got) != "yarn-site.xml:5:1: warning [refused] yarn.scheduler.fair.update-interval-ms = \"-1\": must not be negative; 500 is used; remove it, or correct it\n" {
		t.Errorf("without a file: %s", rendered(got))
	}
}

func TestAllocationFile(t *testing.T) {
	for text, want := range map[string]bool{"<allocations/>": true, "<configuration/>": false, "": false, "<allocations><": true} {
		if lint.AllocationFile([]byte(text)) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
	if s := fmt.Sprint(lint.Repeated); s != "repeated" {
		t.Error(s)
	}
}
