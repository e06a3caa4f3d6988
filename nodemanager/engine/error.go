package engine

import "fmt"

// Error is a refused call. The edge turns the kind into the exception that Hadoop's clients know.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Kind is the kind of a refusal.
type Kind uint8

// The kinds of refusals.
const (
	Failed   Kind = iota // the call makes no sense now: YarnException
	NotReady             // it may make sense later: NMNotYetReadyException
)

func refuse(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}
