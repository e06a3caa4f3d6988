package fair

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// The orders of queues follow their names, whatever order they are made in, and their entries have the same orders.
func TestRank(t *testing.T) {
	add := func(up *Queue, name string) {
		q := &Queue{}
		q.Path, q.candidate.name, q.candidate.queue = name, name, q
		up.rank(q)
		up.asking.put(&q.candidate, &sortKey{}, true, 0)
	}
	check := func(up *Queue) string {
		for i, q := range up.byName {
			if i > 0 && (up.byName[i-1].Path >= q.Path || up.byName[i-1].order >= q.order) {
				return fmt.Sprintf("%s has order %d, %s before it %d", q.Path, q.order, up.byName[i-1].Path, up.byName[i-1].order)
			}
			if s := up.asking.list[i]; s.queue != q || s.order != q.order {
				return fmt.Sprintf("%s has entry %d with order %d, and should have %d and %d", s.name, i, s.order, i, q.order)
			}
		}
		return ""
	}
	down := &Queue{}
	for i := range 1000 { // each before all others: there is no room soon
		add(down, fmt.Sprintf("q%03d", 999-i))
	}
	if bad := check(down); bad != "" {
		t.Error(bad)
	}
	rapid.Check(t, func(t *rapid.T) {
		up := &Queue{}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, 9999), 0, 300, rapid.ID[int]).Draw(t, "names") {
			add(up, fmt.Sprintf("q%04d", n))
		}
		for i := range rapid.IntRange(0, 40).Draw(t, "more") { // each right behind the first
			if len(up.byName) > 0 {
				add(up, fmt.Sprintf("%s%02d", up.byName[0].Path[:5], 99-i))
			}
		}
		if bad := check(up); bad != "" {
			t.Fatal(bad)
		}
	})
}
