package client

import (
	"errors"
	"fmt"
	"strings"
)

// Java's names of the refusals that callers tell apart.
const (
	ClassApplicationNotFound = "org.apache.hadoop.yarn.exceptions.ApplicationNotFoundException"
	ClassAttemptNotFound     = "org.apache.hadoop.yarn.exceptions.ApplicationAttemptNotFoundException"
	ClassContainerNotFound   = "org.apache.hadoop.yarn.exceptions.ContainerNotFoundException"
	ClassYarn                = "org.apache.hadoop.yarn.exceptions.YarnException"
	ClassAccessControl       = "org.apache.hadoop.security.AccessControlException"
	ClassStandby             = "org.apache.hadoop.ipc.StandbyException"

	// Answers to a master: it must register again; it called out of turn; it has
	// no permission to talk to the node.
	ClassMasterNotRegistered = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException"
	ClassInvalidMasterCall   = "org.apache.hadoop.yarn.exceptions.InvalidApplicationMasterRequestException"
	ClassInvalidToken        = "org.apache.hadoop.security.token.SecretManager$InvalidToken"
	ClassNodeNotReady        = "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
)

// Error is an exception that the ResourceManager answered with.
type Error struct {
	Method  string // of the protocol, such as getApplicationReport
	Class   string // Java's name of the exception
	Message string // may hold a Java stack trace after the first line
}

func (e *Error) Error() string {
	if e.Message == "" {
		return e.Class
	}
	return e.Class + ": " + e.FirstLine()
}

// FirstLine is the message without a stack trace.
func (e *Error) FirstLine() string {
	line, _, _ := strings.Cut(e.Message, "\n")
	return line
}

// Is tells whether err is, or wraps, a refusal with that Java class.
func Is(err error, class string) bool {
	var e *Error
	return errors.As(err, &e) && e.Class == class
}

// Target is where one ResourceManager listens for a protocol.
type Target struct {
	ID       string // rm-id under high availability, else ""
	Address  string // host:port
	Property string // that the address was read from
}

// Unreachable is a call that reached no ResourceManager, after all retries.
type Unreachable struct {
	Method  string
	Targets []Target
	Err     error // of the last try
}

func (e *Unreachable) Error() string {
	places := make([]string, len(e.Targets))
	for i, t := range e.Targets {
		places[i] = t.Address + " (" + t.Property + ")"
	}
	return fmt.Sprintf("%s: no ResourceManager answers at %s: %v", e.Method, strings.Join(places, ", "), e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }
