package yarn

import (
	"fmt"
	"strconv"
	"strings"
)

// MaxResourceTypes bounds how many resource types a cluster may have: memory,
// vcores and up to six more. A configuration with more is refused at start.
const MaxResourceTypes = 8

// Positions of the two resources that every cluster has.
const (
	Memory = 0 // mebibytes
	VCores = 1
)

// Resource is an amount of each resource type, in the order of the cluster's
// ResourceTypes; memory in MiB, vcores and custom types as counts. Types that
// the cluster does not have are zero, so that == compares amounts.
type Resource [MaxResourceTypes]int64

// NewResource is an amount of memory, in MiB, and vcores, and of nothing else.
func NewResource(memoryMB, vcores int64) Resource { return Resource{Memory: memoryMB, VCores: vcores} }

// MemoryMB is the memory in MiB.
func (r Resource) MemoryMB() int64 { return r[Memory] }

// VCoreCount is the number of virtual cores.
func (r Resource) VCoreCount() int64 { return r[VCores] }

// IsZero tells whether every amount is zero.
func (r Resource) IsZero() bool {
	var any int64
	for i := range r {
		any |= r[i]
	}
	return any == 0
}

// Increase adds o in place.
func (r *Resource) Increase(o *Resource) {
	r[0] += o[0]
	r[1] += o[1]
	r[2] += o[2]
	r[3] += o[3]
	r[4] += o[4]
	r[5] += o[5]
	r[6] += o[6]
	r[7] += o[7]
}

// Decrease takes o away in place; what is left may be negative.
func (r *Resource) Decrease(o *Resource) {
	r[0] -= o[0]
	r[1] -= o[1]
	r[2] -= o[2]
	r[3] -= o[3]
	r[4] -= o[4]
	r[5] -= o[5]
	r[6] -= o[6]
	r[7] -= o[7]
}

// Add is the sum of both, type by type.
func (r Resource) Add(o Resource) Resource {
	for i := range r {
		r[i] += o[i]
	}
	return r
}

// Sub is the difference, type by type; it may be negative.
func (r Resource) Sub(o Resource) Resource {
	for i := range r {
		r[i] -= o[i]
	}
	return r
}

// FitsIn tells whether no amount is larger than that of o.
func (r Resource) FitsIn(o Resource) bool {
	for i := range r {
		if r[i] > o[i] {
			return false
		}
	}
	return true
}

// String prints memory and vcores as Hadoop's logs and reports do, further
// types by position; use ResourceTypes.Format where names matter.
func (r Resource) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[Memory], r[VCores])
	for i := 2; i < MaxResourceTypes; i++ {
		if r[i] != 0 {
			b.WriteString(", #" + strconv.Itoa(i) + ":" + strconv.FormatInt(r[i], 10))
		}
	}
	return b.String() + ">"
}

// ResourceType is a countable resource that nodes have and containers take.
type ResourceType struct {
	Name  string // "memory-mb", "vcores", "yarn.io/gpu"
	Units string // unit in which amounts are counted: "Mi" for memory, "" for plain counts
}

// ResourceTypes are the types of a cluster. Memory and vcores come first.
type ResourceTypes []ResourceType

// BasicResourceTypes are those of a cluster without resource-types.xml.
func BasicResourceTypes() ResourceTypes {
	return ResourceTypes{{Name: "memory-mb", Units: "Mi"}, {Name: "vcores"}}
}

// Index is the position of the type with that name, or -1.
func (t ResourceTypes) Index(name string) int {
	for i := range t {
		if t[i].Name == name {
			return i
		}
	}
	return -1
}

// Format prints every type of the cluster by its name, as Hadoop does.
func (t ResourceTypes) Format(r Resource) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<memory:%d, vCores:%d", r[Memory], r[VCores])
	for i := 2; i < len(t); i++ {
		fmt.Fprintf(&b, ", %s: %d", t[i].Name, r[i])
	}
	return b.String() + ">"
}
