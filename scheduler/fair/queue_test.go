package fair

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// Queues that come in any order have ranks in the order of their names, and so have their slots.
func TestRank(t *testing.T) {
	add := func(up *Queue, name string) {
		q := &Queue{}
		q.Path, q.place.name, q.place.queue = name, name, q
		up.rank(q)
		up.wanting.put(&q.place, &key{}, true, 0)
	}
	check := func(up *Queue) string {
		for i, q := range up.byName {
			if i > 0 && (up.byName[i-1].Path >= q.Path || up.byName[i-1].order >= q.order) {
				return fmt.Sprintf("%s has rank %d, %s before it %d", q.Path, q.order, up.byName[i-1].Path, up.byName[i-1].order)
			}
			if s := up.wanting.list[i]; s.queue != q || s.order != q.order {
				return fmt.Sprintf("%s stands in the lineup at %d with rank %d, and has place %d and rank %d", s.name, i, s.order, i, q.order)
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
