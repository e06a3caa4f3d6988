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
	if len(got) == 0 || got[0].Code != lint.NotBuilt || got[0].Severity != lint.Hint || rendered(got[1:]) != want {
		t.Errorf("got\n%swant after a hint\n%s", rendered(got), want)
	}
	for _, f := range got[1:3] {
		complete(t, f)
	}

	in.Notes = nil
	got = lint.CheckAllocations(in, []byte(strings.Repeat("\n", 7)+"<allocations"))
	if bad, _, _ := lint.Count(got); bad != 1 || !strings.Contains(rendered(got), "f.xml:8:13: error [file]: the file is refused: not well-formed XML: unexpected EOF; correct the file") {
		t.Errorf("%s", rendered(got))
	}
	got = lint.CheckAllocations(in, []byte("<allocations>"+strings.Repeat("<a/>", lint.MaxFindings+5)+"</allocations>"))
	if len(got) != lint.MaxFindings+1 || got[lint.MaxFindings].Code != "more" {
		t.Errorf("%d findings", len(got))
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
