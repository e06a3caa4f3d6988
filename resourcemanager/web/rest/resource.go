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
	rows := make(tree.List, 0, len(types))
	for i := range types {
		top := most[i]
		if top == 0 {
			top = math.MaxInt64
		}
		rows = append(rows, tree.New().
			Add("maximumAllocation", top).
			Add("minimumAllocation", least[i]).
			Add("name", types[i].Name).
			Add("resourceType", "COUNTABLE").
			Add("units", types[i].Units).
			Add("value", r[i]))
	}
	return tree.New().
		Add("memory", r.MemoryMB()).
		Add("vCores", r.VCoreCount()).
		Add("resourceInformations", tree.New().Add("resourceInformation", rows))
}

// amounts is a map of amounts by the name of the resource type.
func amounts(types yarn.ResourceTypes, r yarn.Resource) *tree.Object {
	entries := make(tree.List, 0, len(types))
	for _, i := range hashed(types) {
		entries = append(entries, tree.New().Add("key", types[i].Name).Add("value", r[i]))
	}
	return tree.New().Add("entry", entries)
}

// hashed is the order of the types' names in a Java HashMap with 16 buckets: by the low
// four bits of the folded hash.
//
// compat: maps and capacity vectors are written in this order.
func hashed(types yarn.ResourceTypes) []int {
	bucket := func(name string) uint32 {
		var h uint32
		for _, unit := range utf16.Encode([]rune(name)) {
			h = 31*h + uint32(unit)
		}
		return (h ^ h>>16) & 15
	}
	order := make([]int, len(types))
	for i := range types {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(bucket(types[a].Name), bucket(types[b].Name)) })
	return order
}
