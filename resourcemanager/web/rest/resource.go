package rest

import (
	"cmp"
	"math"
	"slices"
	"unicode/utf16"

	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/yarn"
)

// resource is an amount with a row for every resource type of the cluster.
//
// compat: the minimum and maximum in the rows are those of an unlimited type.
func resource(types yarn.ResourceTypes, r yarn.Resource) *tree.Object {
	return bounded(types, r, yarn.Resource{}, yarn.Resource{})
}

// bounded is a resource whose rows have the minimum and maximum of an allocation; a
// maximum of zero is no maximum.
func bounded(types yarn.ResourceTypes, r, least, most yarn.Resource) *tree.Object {
	return tree.Draw(func(m *tree.Members) {
		m.Int("memory", r.MemoryMB()).Int("vCores", r.VCoreCount())
		m.Object("resourceInformations", func(m *tree.Members) {
			m.Each("resourceInformation", len(types), func(i int, m *tree.Members) {
				top := most[i]
				if top == 0 {
					top = math.MaxInt64
				}
				m.Int("maximumAllocation", top).Int("minimumAllocation", least[i]).Text("name", types[i].Name).
					Text("resourceType", "COUNTABLE").Text("units", types[i].Units).Int("value", r[i])
			})
		})
	})
}

// amounts is a map of amounts by the name of the resource type.
func amounts(types yarn.ResourceTypes, r yarn.Resource) *tree.Object {
	return tree.Draw(func(m *tree.Members) { drawAmounts(m, types, hashed(types), &r) })
}

// drawAmounts writes a map of amounts; order is that of hashed.
func drawAmounts(m *tree.Members, types yarn.ResourceTypes, order []int, r *yarn.Resource) {
	m.Each("entry", len(order), func(i int, m *tree.Members) { m.Text("key", types[order[i]].Name).Int("value", r[order[i]]) })
}

// hashed is the order of the types' names in a Java HashMap.
//
// compat: maps and capacity vectors are written in this order.
func hashed(types yarn.ResourceTypes) []int {
	names := make([]string, len(types))
	for i := range types {
		names[i] = types[i].Name
	}
	return hashOrder(names)
}

// hashOrder is the order of names in a Java HashMap that has them alone: by the low bits of the folded hash, four at least.
func hashOrder(names []string) []int {
	buckets := uint32(16)
	for int(buckets)*3/4 < len(names) {
		buckets *= 2
	}
	bucket := func(name string) uint32 {
		var h uint32
		for _, unit := range utf16.Encode([]rune(name)) {
			h = 31*h + uint32(unit)
		}
		return (h ^ h>>16) & (buckets - 1)
	}
	order := make([]int, len(names))
	for i := range names {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bucket(names[a]), bucket(names[b])) })
	return order
}
