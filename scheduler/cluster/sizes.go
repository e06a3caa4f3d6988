package cluster

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// sizes count nodes by what they have of one type, the least first. Clusters have few
// sizes of nodes, and who has the most is known without a look at all of them.
type sizes []size

type size struct {
	amount int64
	nodes  int
}

// measure counts a node of that size, or forgets it with sign -1.
func (b *Books) measure(total yarn.Resource, sign int) {
	for i, amount := range total {
		b.sizes[i] = b.sizes[i].count(amount, sign)
		b.Largest[i] = b.sizes[i].most()
	}
}

func (l sizes) count(amount int64, by int) sizes {
	i, ok := slices.BinarySearchFunc(l, amount, func(s size, amount int64) int { return cmp.Compare(s.amount, amount) })
	if !ok {
		l = slices.Insert(l, i, size{amount: amount})
	}
	if l[i].nodes += by; l[i].nodes == 0 {
		l = slices.Delete(l, i, i+1)
	}
	return l
}

// most is the largest amount, 0 of none.
func (l sizes) most() int64 {
	if len(l) == 0 {
		return 0
	}
	return max(l[len(l)-1].amount, 0)
}
