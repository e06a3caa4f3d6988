package loop

import (
	"errors"
	"syscall"

	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Loss is why nothing more can be stored. Until the loop is ended it goes on with what needs no store. Nothing was acknowledged that is not stored.
type Loss struct {
	Kind LossKind
	Err  error // what the store said last
}

// LossKind is the kind of a loss, by which Config.Lost decides what follows.
type LossKind int

// The kinds.
const (
	Fenced  LossKind = iota // another ResourceManager owns the store: that one is active, and this one must not be
	Full                    // its disk had no room for retryFor
	Away                    // it did not answer for retryFor
	Damaged                 // it no longer holds what was written, and must be checked and repaired
	Refused                 // it will never take one of the changes
)

var lossTexts = [...]string{Fenced: "it was taken over", Full: "its disk is full", Away: "it is away", Damaged: "it is damaged", Refused: "it refuses a change"}

func (k LossKind) String() string { return lossTexts[k] }

func (l *Loss) Error() string {
	return "the state store is lost: " + l.Kind.String() + ": " + l.Err.Error()
}

func (l *Loss) Unwrap() error { return l.Err }

// lossOf makes a Loss of the error with which the committer gives up.
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
