package token

import (
	"errors"
	"fmt"

	"github.com/heddle-project/heddle/wire/field"
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
	return field.AppendInt(field.AppendAttemptID(dst, 1, id.Attempt), 2, int64(id.KeyID))
}

// Append appends an NMTokenIdentifierProto as Java writes it.
func (id NM) Append(dst []byte) []byte {
	dst = field.AppendAttemptID(dst, 1, id.Attempt)
	dst, mark := field.Open(dst, 2)
	dst = field.AppendInt(field.AppendText(dst, 1, id.Node.Host), 2, int64(id.Node.Port))
	dst = field.Shut(dst, mark)
	return field.AppendInt(field.AppendText(dst, 3, id.Submitter), 4, int64(id.KeyID))
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
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			s.Fail(field.ReadAttemptID(s.Data, &id.Attempt))
		case 2<<3 | field.Varint:
			id.KeyID = int32(s.V)
		}
	}
	if err := checkAttempt(b, s.Err, id.Attempt); err != nil {
		return AMRM{}, fmt.Errorf("reading an %s identifier: %w", KindAMRM, err)
	}
	return id, nil
}

// ParseNM reads an NMTokenIdentifierProto. Unknown fields are skipped.
func ParseNM(b []byte) (NM, error) {
	id := NM{KeyID: noKey}
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			s.Fail(field.ReadAttemptID(s.Data, &id.Attempt))
		case 2<<3 | field.Block:
			s.Fail(parseNode(s.Data, &id.Node))
		case 3<<3 | field.Block:
			id.Submitter = string(s.Data)
		case 4<<3 | field.Varint:
			id.KeyID = int32(s.V)
		}
	}
	if err := checkAttempt(b, s.Err, id.Attempt); err != nil {
		return NM{}, fmt.Errorf("reading an %s identifier: %w", KindNM, err)
	}
	return id, nil
}

// ParseDelegation reads a YARNDelegationTokenIdentifierProto. Unknown fields are skipped.
func ParseDelegation(b []byte) (Delegation, error) {
	var id Delegation
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			id.Owner = string(s.Data)
		case 2<<3 | field.Block:
			id.Renewer = string(s.Data)
		case 3<<3 | field.Block:
			id.RealUser = string(s.Data)
		case 4<<3 | field.Varint:
			id.Issued = int64(s.V)
		case 5<<3 | field.Varint:
			id.Expires = int64(s.V)
		case 6<<3 | field.Varint:
			id.Sequence = int32(s.V)
		case 7<<3 | field.Varint:
			id.KeyID = int32(s.V)
		}
	}
	if err := checkSize(b, s.Err); err != nil {
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
