package cluster

import (
	"maps"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// Part is the dense index of a partition. The default one is 0.
type Part int32

// Partition is one partition of the cluster.
type Partition struct {
	Name      string
	Known     bool // declared as a label of the cluster; the default one is
	Exclusive bool
	Total     yarn.Resource // of its nodes
	Nodes     int
}

// Parts are partitions, by index and by name.
type Parts struct {
	list   []Partition
	byName map[string]Part
}

func newParts() Parts {
	return Parts{list: []Partition{{Known: true, Exclusive: true}}, byName: map[string]Part{"": 0}}
}

// Clone is a copy, in which other partitions may get the next indexes.
func (p *Parts) Clone() *Parts {
	return &Parts{slices.Clone(p.list), maps.Clone(p.byName)}
}

// Equal tells whether both have the same partitions, with the same nodes in them.
func (p *Parts) Equal(other *Parts) bool { return slices.Equal(p.list, other.list) }

// PartOf is the index of the partition with that name, a new one if need be.
// Callers bound the names: they come from configuration and declared labels.
func (p *Parts) PartOf(label string) Part {
	if i, ok := p.byName[label]; ok {
		return i
	}
	i := Part(len(p.list))
	p.list = append(p.list, Partition{Name: label, Exclusive: true})
	p.byName[label] = i
	return i
}

// FindPart is the index of the partition with that name, if it has one.
func (p *Parts) FindPart(label string) (Part, bool) {
	i, ok := p.byName[label]
	return i, ok
}

// Partition is the partition at that index.
func (p *Parts) Partition(i Part) *Partition { return &p.list[i] }

// Partitions is how many partitions have an index.
func (p *Parts) Partitions() int { return len(p.list) }
