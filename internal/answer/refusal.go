package answer

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/visible"
	"github.com/heddle-project/heddle/yarn"
)

// Kind is the kind of a refusal; each has one HTTP status.
type Kind uint8

// The kinds of refusals.
const (
	Unavailable  Kind = iota // 503: not active, or too slow
	Invalid                  // 400
	Unauthorized             // 401: an ACL says no (AuthorizationException)
	Forbidden                // 403
	NotFound                 // 404
	WrongState               // 400 in Hadoop: not possible in the state of things
	NotBuilt                 // 501: this version does not have it
)

// Error is a refusal with a text for the caller.
type Error struct {
	Kind Kind
	Text string
}

func (e *Error) Error() string { return e.Text }

// Errorf is a refusal.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{kind, fmt.Sprintf(format, args...)}
}

// KindOf is the kind of an error; Unavailable if it is no refusal.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Unavailable
}

// ParseApplication reads an application's id from an address.
func ParseApplication(text string) (yarn.ApplicationID, error) {
	id, err := yarn.ParseApplicationID(text)
	switch {
	case err == nil:
		return id, nil
	case !strings.HasPrefix(text, "application"):
		return id, Errorf(Invalid, "Invalid ApplicationId prefix: %s. The valid ApplicationId should start with prefix application", text)
	}
	return id, Errorf(Invalid, "Invalid ApplicationId: %s", text)
}

// Plain answers with a line of text, which may repeat what others wrote.
func Plain(w http.ResponseWriter, status int, text string) {
	http.Error(w, visible.Text(text), status)
}
