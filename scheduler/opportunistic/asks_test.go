package opportunistic

import (
	"fmt"
	"testing"

	"github.com/heddle-project/heddle/yarn"
)

func row(where string, count int32, priority int32) yarn.Ask {
	return yarn.Ask{Priority: priority, Where: where, Capability: yarn.NewResource(1024, 1), Count: count}
}

// TestWithdrawnAsksAreForgotten: what is asked for and withdrawn again leaves nothing behind, and a full list can be emptied.
func TestWithdrawnAsksAreForgotten(t *testing.T) {
	var a Asks
	for i := range 1000 {
		var rows []yarn.Ask
		for k := range int32(100) {
			rows = append(rows, row("*", 1, k), row("*", 0, k))
		}
		if a.Enter(rows); a.Rows() != 0 || len(a.list) > 300 {
			t.Fatalf("after %d calls %d rows, %d wants", i, a.Rows(), len(a.list))
		}
	}
	var hosts []yarn.Ask
	for i := range MaxRows - 2 {
		hosts = append(hosts, row(fmt.Sprint("h", i), 1, 1))
	}
	a.Enter(hosts)
	if more := []yarn.Ask{row("other", 1, 1)}; a.HasRoom(more) {
		t.Errorf("there is room with %d rows", a.Rows())
	}
	for i := range hosts {
		hosts[i].Count = 0
	}
	if !a.HasRoom(hosts) {
		t.Fatal("nothing can be withdrawn")
	}
	a.Enter(hosts)
	if more := []yarn.Ask{row("other", 1, 1)}; !a.HasRoom(more) || a.Rows() > 1 {
		t.Errorf("no room after all was withdrawn: %d rows", a.Rows())
	}
}
