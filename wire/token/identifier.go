package token

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/yarn"
)

// MaxIdentifier bounds an identifier that is read, in bytes. The largest ones
// carry an application's log aggregation patterns.
const MaxIdentifier = 256 << 10

// noKey is the id that the protocol gives to a key id that is not set.
const noKey = -1

// AMRM identifies an attempt's master towards the ResourceManager.
type AMRM struct {
	Attempt yarn.AttemptID
	KeyID   int32
}

// NM lets an attempt's master talk to one node.
type NM struct {
	Attempt   yarn.AttemptID
	Node      yarn.NodeID
	Submitter string // the application's user
	KeyID     int32
}

// ClientToAM lets a client talk to an attempt's master.
type ClientToAM struct {
	Attempt yarn.AttemptID
	Client  string // user name
}

// Delegation lets its holder act as a user for a while, towards the
// ResourceManager or the timeline server.
type Delegation struct {
	Owner    string
	Renewer  string
	RealUser string // who acts for the owner, if it is another one
	Issued   int64  // milliseconds since 1970
	Expires  int64  // the last moment to which it can be renewed, likewise
	Sequence int32
	KeyID    int32
}

// User is the name of who logs in with the token: the attempt.
func (id AMRM) User() string { return id.Attempt.String() }

// User is the name of who logs in with the token: the attempt.
func (id NM) User() string { return id.Attempt.String() }

// Append appends an AMRMTokenIdentifierProto as Java writes it.
func (id AMRM) Append(dst []byte) []byte {
	return appendInt(appendAttempt(dst, 1, id.Attempt), 2, int64(id.KeyID))
}

// Append appends an NMTokenIdentifierProto as Java writes it.
func (id NM) Append(dst []byte) []byte {
	dst = appendAttempt(dst, 1, id.Attempt)
	dst, mark := open(dst, 2)
	dst = appendInt(appendString(dst, 1, id.Node.Host), 2, int64(id.Node.Port))
	dst = shut(dst, mark)
	return appendInt(appendString(dst, 3, id.Submitter), 4, int64(id.KeyID))
}

// Append appends a ClientToAMTokenIdentifierProto as Java writes it.
func (id ClientToAM) Append(dst []byte) []byte {
	return appendString(appendAttempt(dst, 1, id.Attempt), 2, id.Client)
}

// Append appends a YARNDelegationTokenIdentifierProto as Java writes it: what is
// empty or zero is left out.
func (id Delegation) Append(dst []byte) []byte {
	dst = appendNonEmpty(dst, 1, id.Owner)
	dst = appendNonEmpty(dst, 2, id.Renewer)
	dst = appendNonEmpty(dst, 3, id.RealUser)
	dst = appendNonZero(dst, 4, id.Issued)
	dst = appendNonZero(dst, 5, id.Expires)
	dst = appendNonZero(dst, 6, int64(id.Sequence))
	return appendNonZero(dst, 7, int64(id.KeyID))
}

// ParseAMRM reads an AMRMTokenIdentifierProto. Unknown fields are skipped.
func ParseAMRM(b []byte) (AMRM, error) {
	id := AMRM{KeyID: noKey}
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.message(1):
			s.fail(parseAttempt(s.body, &id.Attempt))
		case s.varint(2):
			id.KeyID = int32(s.n)
		}
	}
	if err := checkAttempt(b, s.err, id.Attempt); err != nil {
		return AMRM{}, fmt.Errorf("reading an %s identifier: %w", KindAMRM, err)
	}
	return id, nil
}

// ParseNM reads an NMTokenIdentifierProto. Unknown fields are skipped.
func ParseNM(b []byte) (NM, error) {
	id := NM{KeyID: noKey}
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.message(1):
			s.fail(parseAttempt(s.body, &id.Attempt))
		case s.message(2):
			s.fail(parseNode(s.body, &id.Node))
		case s.text(3):
			id.Submitter = string(s.body)
		case s.varint(4):
			id.KeyID = int32(s.n)
		}
	}
	if err := checkAttempt(b, s.err, id.Attempt); err != nil {
		return NM{}, fmt.Errorf("reading an %s identifier: %w", KindNM, err)
	}
	return id, nil
}

// ParseClientToAM reads a ClientToAMTokenIdentifierProto. Unknown fields are skipped.
func ParseClientToAM(b []byte) (ClientToAM, error) {
	var id ClientToAM
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.message(1):
			s.fail(parseAttempt(s.body, &id.Attempt))
		case s.text(2):
			id.Client = string(s.body)
		}
	}
	if err := checkAttempt(b, s.err, id.Attempt); err != nil {
		return ClientToAM{}, fmt.Errorf("reading a %s identifier: %w", KindClientToAM, err)
	}
	return id, nil
}

// ParseDelegation reads a YARNDelegationTokenIdentifierProto. Unknown fields are skipped.
func ParseDelegation(b []byte) (Delegation, error) {
	var id Delegation
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.text(1):
			id.Owner = string(s.body)
		case s.text(2):
			id.Renewer = string(s.body)
		case s.text(3):
			id.RealUser = string(s.body)
		case s.varint(4):
			id.Issued = int64(s.n)
		case s.varint(5):
			id.Expires = int64(s.n)
		case s.varint(6):
			id.Sequence = int32(s.n)
		case s.varint(7):
			id.KeyID = int32(s.n)
		}
	}
	if err := checkSize(b, s.err); err != nil {
		return Delegation{}, fmt.Errorf("reading a delegation token identifier: %w", err)
	}
	return id, nil
}

var errNoAttempt = errors.New("it names no application attempt")

func checkAttempt(b []byte, err error, id yarn.AttemptID) error {
	if err = checkSize(b, err); err == nil && id.IsZero() {
		return errNoAttempt
	}
	return err
}

func checkSize(b []byte, err error) error {
	if len(b) > MaxIdentifier {
		return fmt.Errorf("%d bytes are more than the limit of %d", len(b), MaxIdentifier)
	}
	return err
}
