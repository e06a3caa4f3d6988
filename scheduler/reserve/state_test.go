package reserve

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// state is all that a plan holds.
func state(p *Plan) string {
	var b strings.Builder
	fmt.Fprintln(&b, p.capacity, p.single, p.cyclic)
	for _, r := range p.all {
		fmt.Fprintf(&b, "%p %+v\n", p.byID[r.ID], *r)
	}
	for _, name := range slices.Sorted(maps.Keys(p.users)) {
		fmt.Fprintln(&b, name, *p.users[name])
	}
	return b.String()
}
