package reserve

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
)

// Kind says why something is refused. Its text is the simple name of the exception
// that Apache's classes throw for it.
type Kind string

// The kinds. The first ones are exceptions that a client gets as a YarnException
// (PlanningException and its subclasses), the last ones are RuntimeExceptions.
const (
	Invalid         Kind = "YarnException"               // the request's own checks
	NotPlanned      Kind = "PlanningException"           // no room is found
	OverQuota       Kind = "PlanningQuotaException"      // the policy CapacityOverTime says no
	OverCommitted   Kind = "ResourceOverCommitException" // the policy NoOverCommit says no
	BadStage        Kind = "ContractValidationException" // a stage cannot be meant
	IllegalArgument Kind = "IllegalArgumentException"
	Arithmetic      Kind = "ArithmeticException"
	NullPointer     Kind = "NullPointerException"
)

// Runtime tells whether it is a RuntimeException of Java, which reaches the caller as it is.
func (k Kind) Runtime() bool { return k == IllegalArgument || k == Arithmetic || k == NullPointer }

// Refusal is the error of every call that says no.
type Refusal struct {
	Kind    Kind
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func refuse(kind Kind, format string, args ...any) error {
	return &Refusal{kind, fmt.Sprintf(format, args...)}
}

// checked tells whether it is a refusal that is no RuntimeException of Java: another agent may try.
func checked(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && !r.Kind.Runtime()
}

// refusal makes an error of package timeline one of ours.
func refusal(err error) error {
	switch {
	case errors.Is(err, timeline.ErrNegative):
		return refuse(NotPlanned, "more is committed than the plan has, or than is left of it, in the time that was asked for; ask for another time, or for less")
	case errors.Is(err, timeline.ErrReversed):
		return refuse(IllegalArgument, "a stage would have to end before it begins; ask for a later deadline or for shorter stages")
	case errors.Is(err, timeline.ErrUnknown):
		return refuse(NullPointer, "what is available at the end of the time that was asked for is not known; ask for another time")
	}
	return err
}
