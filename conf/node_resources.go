package conf

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Machine is what a node's hardware has.
type Machine struct {
	MemoryMB   int64 // physical memory
	Processors int   // logical processors
	Cores      int   // physical cores
}

// What a node offers when nothing is set and nothing is detected.
const (
	defaultNodeMB     = 8192
	defaultNodeVCores = 8
)

// Total is what the node offers to containers. Only Detect makes it depend on
// the machine. The error names the property to set.
//
// A fifth of the memory stays for the system, as in Hadoop; nothing is taken off
// for the daemon's own heap, which is small here.
func (n NodeResources) Total(m Machine) (yarn.Resource, error) {
	total := n.Amounts
	if total[yarn.Memory] == 0 {
		total[yarn.Memory] = n.memory(m)
	}
	if total[yarn.VCores] == 0 {
		total[yarn.VCores] = n.vcores(m)
	}
	if total[yarn.Memory] <= 0 {
		return yarn.Resource{}, fmt.Errorf("%sresource.memory-mb: of %d MB nothing is left for containers (%sresource.system-reserved-memory-mb is %d)",
			nm, m.MemoryMB, nm, n.ReservedMB)
	}
	if total[yarn.VCores] <= 0 {
		return yarn.Resource{}, fmt.Errorf("%sresource.cpu-vcores: %d processors with %d cores give no vcores (%sresource.pcores-vcores-multiplier is %g)",
			nm, m.Processors, m.Cores, nm, n.VCoresPerCore)
	}
	return total, nil
}

func (n NodeResources) memory(m Machine) int64 {
	switch {
	case n.MemoryMB != -1:
		return n.MemoryMB
	case !n.Detect:
		return defaultNodeMB
	case n.ReservedMB != -1:
		return m.MemoryMB - n.ReservedMB
	}
	return m.MemoryMB * 4 / 5
}

func (n NodeResources) vcores(m Machine) int64 {
	switch {
	case n.VCores != -1:
		return int64(n.VCores)
	case !n.Detect:
		return defaultNodeVCores
	}
	got := n.ContainerCores(m) * n.VCoresPerCore
	if 0 < got && got < 1 {
		return 1
	}
	return int64(math.Floor(min(got, math.MaxInt32) + 0.5))
}

// ContainerCores are the cores that all containers together may use
// (yarn.nodemanager.resource.percentage-physical-cpu-limit).
func (n NodeResources) ContainerCores(m Machine) float64 {
	cores := m.Cores
	if n.LogicalAsCores {
		cores = m.Processors
	}
	return float64(cores) * float64(n.CPUPercent) / 100
}

func (r *Reader) nodeResources() NodeResources {
	const p = nm + "resource."
	n := NodeResources{
		MemoryMB:       int64(r.Int32(p+"memory-mb", -1, NotBelow(-1))),
		VCores:         r.Int32(p+"cpu-vcores", -1, NotBelow(-1)),
		Detect:         r.Bool(p+"detect-hardware-capabilities", false),
		ReservedMB:     int64(r.Int32(p+"system-reserved-memory-mb", -1, NotBelow(-1))),
		LogicalAsCores: r.Bool(p+"count-logical-processors-as-cores", false),
		VCoresPerCore:  r.Float(p+"pcores-vcores-multiplier", 1, 0.001, 1_000_000),
		CPUPercent:     min(100, r.Int(p+"percentage-physical-cpu-limit", 100, Positive)),
		Types:          r.resourceTypes(),
	}
	for name, amount := range map[string]int64{"memory-mb": n.MemoryMB, "cpu-vcores": int64(n.VCores)} {
		if amount == 0 {
			r.Fail(p+name, "not allowed, expected -1 or more than 0")
		}
	}
	n.Amounts = r.nodeAmounts(n.Types)
	return n
}

// resourceTypes are those of the cluster, as the ResourceManager reads them.
func (r *Reader) resourceTypes() yarn.ResourceTypes {
	const name = "yarn.resource-types"
	types := yarn.BasicResourceTypes()
	for _, t := range r.Strings(name) {
		switch {
		case types.Index(t) >= 0:
		case t == "" || strings.ContainsAny(t, " \t\n"):
			r.Fail(name, "%q is not a name of a resource type", clip(t))
		case len(types) == yarn.MaxResourceTypes:
			r.Fail(name, "more than %d resource types, with memory and vcores", yarn.MaxResourceTypes)
			return types
		default:
			types = append(types, yarn.ResourceType{Name: t, Units: r.String(name+"."+t+".units", "")})
		}
	}
	return types
}

// nodeAmounts are the properties yarn.nodemanager.resource-type.NAME: numbers
// with a unit, converted to that of the type.
func (r *Reader) nodeAmounts(types yarn.ResourceTypes) yarn.Resource {
	const p = nm + "resource-type."
	var out yarn.Resource
	for _, v := range r.props.WithPrefix(p) {
		name := v.Name[len(p):]
		i := types.Index(name)
		text := r.String(v.Name, "")
		if i < 0 {
			r.Fail(v.Name, "%s is not among yarn.resource-types", clip(name))
			continue
		}
		n, ok := amountIn(text, types[i].Units)
		if !ok {
			r.Fail(v.Name, "not allowed, expected a whole number from 0, with a unit (p n u m k M G T P Ki Mi Gi Ti Pi) that fits %q", types[i].Units)
			continue
		}
		out[i] = n
	}
	return out
}

// unitSizes are the units of resource amounts, p for 10^-12 to Pi for 2^50.
var unitSizes = map[string]*big.Rat{
	"": big.NewRat(1, 1), "p": big.NewRat(1, 1e12), "n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1), "T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1), "Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1),
}

// amountIn reads "4Gi" as a count of units, rounded down. compat: a bare number
// counts base units, not the type's.
func amountIn(text, units string) (int64, bool) {
	i := strings.IndexFunc(text, func(c rune) bool { return (c < '0' || c > '9') && c != '-' && c != '+' })
	if i < 0 {
		i = len(text)
	}
	n, ok := parseDecimal(text[:i])
	from, to := unitSizes[text[i:]], unitSizes[units]
	if !ok || n < 0 || from == nil || to == nil {
		return 0, false
	}
	amount := new(big.Rat).Mul(new(big.Rat).SetInt64(n), from)
	amount.Quo(amount, to)
	whole := new(big.Int).Quo(amount.Num(), amount.Denom())
	if !whole.IsInt64() {
		return 0, false
	}
	return whole.Int64(), true
}
