package queue

import "github.com/heddle-project/heddle/yarn"

// Unit is how the amount of one resource in a capacity is written.
type Unit uint8

// The units of capacities.
const (
	NoUnit Unit = iota
	Absolute
	Percent
	Weight
)

// Vector is a capacity with an amount for each resource type, as it is configured.
type Vector struct {
	Value [yarn.MaxResourceTypes]float64
	Unit  [yarn.MaxResourceTypes]Unit
}

// Empty tells whether nothing is set.
func (v *Vector) Empty() bool { return v.Unit == [yarn.MaxResourceTypes]Unit{} }

// Only tells whether something is set and all of it in that unit.
func (v *Vector) Only(u Unit) bool {
	for _, is := range v.Unit {
		if is != NoUnit && is != u {
			return false
		}
	}
	return !v.Empty()
}

// OnlyWeight is the weight of a vector in which every type has the same.
func (v *Vector) OnlyWeight() (float32, bool) {
	weight, found := 0.0, false
	for i, u := range v.Unit {
		switch {
		case u == NoUnit:
		case u != Weight || found && v.Value[i] != weight:
			return 0, false
		default:
			weight, found = v.Value[i], true
		}
	}
	return float32(weight), found
}
