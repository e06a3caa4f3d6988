package engine

import "fmt"

// Error is a refused call: what kind of refusal, and a text for the caller.
// The edge turns the kind into the exception that Hadoop's clients know.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Kind is the kind of a refusal.
type Kind uint8

// The kinds of refusals.
const (
	Failed Kind = iota // any other reason: YarnException
	UnknownApplication
	UnknownAttempt
	UnknownContainer
	AccessDenied
	InvalidRequest   // a malformed or impossible resource request
	InvalidLabel     // a request for a partition that does not exist or is not open
	InvalidMaster    // a master's call out of order
	NotRegistered    // the master must register first
	InvalidRelease   // a container that is not the master's
	InvalidBlacklist // a blacklist that names everything
	InvalidConfig    // a configuration that cannot be applied
	NotStored        // the record can never be stored
	UnknownQueue
	IllegalArgument // Java's IllegalArgumentException
	Arithmetic      // Java's ArithmeticException
)

func refuse(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}
