package measure

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/yarn"
)

// TestCompareIsAnOrder sees that no three amounts contradict each other, as long
// as the cluster has something. In an empty one, amounts of which each has more
// of something are equal, compat with Apache.
func TestCompareIsAnOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := Calculator{Dominant: rapid.Bool().Draw(t, "dominant"), Types: rapid.IntRange(2, 4).Draw(t, "types")}
		draw := func(what string, most int64) (r yarn.Resource) {
			for i := range c.Types {
				r[i] = rapid.Int64Range(0, most).Draw(t, what)
			}
			return r
		}
		cluster := draw("cluster", 12)
		cluster[yarn.Memory]++
		list := []yarn.Resource{draw("a", 4), draw("b", 4), draw("c", 4)}
		sign := func(i, j int) int { return min(max(c.Compare(&cluster, &list[i], &list[j]), -1), 1) }
		for i := range list {
			for j := range list {
				if sign(i, j) != -sign(j, i) {
					t.Fatalf("%v and %v compare as %d and %d", list[i], list[j], sign(i, j), sign(j, i))
				}
				for k := range list {
					if x, y, z := sign(i, j), sign(j, k), sign(i, k); x == y && z != x || x == 0 && z != y {
						t.Fatalf("in %v, %v %v %v compare as %d %d %d", cluster, list[i], list[j], list[k], x, y, z)
					}
				}
			}
		}
	})
}
