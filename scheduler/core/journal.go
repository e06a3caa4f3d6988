package core

import "slices"

// Journal remembers what a query overwrites on its way, so that all of it can be taken
// back. Nil is the journal of a command: it remembers nothing.
type Journal struct{ back []func() }

// Keep remembers a value that is about to change.
func Keep[T any](j *Journal, at *T) {
	if j != nil {
		keep(j, at)
	}
}

func keep[T any](j *Journal, at *T) {
	was := *at
	j.back = append(j.back, func() { *at = was })
}

// KeepList remembers a list whose elements are about to change, too.
func KeepList[T any](j *Journal, at *[]T) {
	if j != nil {
		was := slices.Clone(*at)
		j.back = append(j.back, func() { *at = was })
	}
}

// Undo takes everything back, the last first.
func (j *Journal) Undo() {
	for _, back := range slices.Backward(j.back) {
		back()
	}
	clear(j.back)
	j.back = j.back[:0]
}
