package order

import (
	"cmp"

	"github.com/heddle-project/heddle/scheduler/core"
)

// Fifo orders applications by priority, then by age.
func Fifo(a, b *core.App) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), Age(a, b))
}

// Age orders applications by their ids.
func Age(a, b *core.App) int {
	return cmp.Or(a.ID.Compare(b.ID), cmp.Compare(a.StartWall, b.StartWall))
}

// Pending orders applications that wait for admission: recovered ones come first.
func Pending(a, b *core.App) int {
	if a.Recovering != b.Recovering {
		if a.Recovering {
			return -1
		}
		return 1
	}
	return Fifo(a, b)
}
