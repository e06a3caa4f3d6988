package state

import "github.com/heddle-project/heddle/yarn"

// EpochLimit is how many epochs fit into a container's number.
const EpochLimit = 1 << (63 - yarn.EpochShift)

// Epochs are the epochs that one ResourceManager may use. In a federation each has its
// own, so that container ids are never equal.
type Epochs struct {
	Base  int64 // yarn.resourcemanager.epoch
	Range int64 // yarn.resourcemanager.epoch.range; 0: as many as fit
}

// Next is the epoch after the given one; Base follows the last of the range.
func (e Epochs) Next(epoch int64) int64 {
	span := e.Range
	if span <= 0 || span > EpochLimit-e.Base {
		span = EpochLimit - e.Base
	}
	return e.Base + (epoch-e.Base+1)%span
}

// Valid tells whether the epoch can be used in a container's number.
func (e Epochs) Valid(epoch int64) bool { return epoch >= e.Base && epoch >= 0 && epoch < EpochLimit }
