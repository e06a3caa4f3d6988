package loop

import (
	"errors"
	"syscall"

	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Loss is why nothing more can be stored. The loop goes on with what needs no store until it is ended; nobody was told that anything is
// stored which is not.
type Loss struct {
	Kind LossKind
	Err  error // what the store said last
}

// LossKind is what whoever runs the loop decides by.
type LossKind int

// The kinds.
const (
	Fenced  LossKind = iota // another ResourceManager owns the store: it is active, and this one must not be
	Full                    // there was no room for as long as is waited for a store
	Away                    // it did not answer for as long
	Damaged                 // it no longer holds what was written: checking and repairing it is the only way on
	Refused                 // it takes a single change neither now nor later
)

var lossTexts = [...]string{Fenced: "it was taken over", Full: "its disk is full", Away: "it is away", Damaged: "it is damaged", Refused: "it refuses a change"}

func (k LossKind) String() string { return lossTexts[k] }

func (l *Loss) Error() string {
	return "the state store is lost: " + l.Kind.String() + ": " + l.Err.Error()
}

func (l *Loss) Unwrap() error { return l.Err }

// lossOf sorts the error with which the committer gives up.
func lossOf(err error) *Loss {
	kind := Refused
	switch {
	case errors.Is(err, store.ErrFenced):
		kind = Fenced
	case errors.As(err, new(*store.DamagedError)):
		kind = Damaged
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind = Full
	case errors.As(err, new(*store.UnavailableError)):
		kind = Away
	}
	return &Loss{kind, err}
}
