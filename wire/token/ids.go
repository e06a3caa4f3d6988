package token

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/yarn"
)

func appendNonEmpty(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(dst, num, s)
}

func appendNonZero(dst []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return dst
	}
	return appendInt(dst, num, v)
}

// appendAttempt appends an ApplicationAttemptIdProto.
func appendAttempt(dst []byte, num protowire.Number, id yarn.AttemptID) []byte {
	dst, attempt := open(dst, num)
	dst, app := open(dst, 1)
	dst = appendInt(dst, 1, int64(id.Application.Sequence))
	dst = appendInt(dst, 2, id.Application.ClusterTimestamp)
	dst = shut(dst, app)
	return shut(appendInt(dst, 2, int64(id.Attempt)), attempt)
}

// appendContainerID appends a ContainerIdProto. Its first field, a copy of the
// application, is never written.
func appendContainerID(dst []byte, num protowire.Number, id yarn.ContainerID) []byte {
	dst, mark := open(dst, num)
	dst = appendAttempt(dst, 2, id.Attempt)
	return shut(appendInt(dst, 3, id.Number), mark)
}

func parseApplication(b []byte, id *yarn.ApplicationID) error {
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.varint(1):
			id.Sequence = int32(s.n)
		case s.varint(2):
			id.ClusterTimestamp = int64(s.n)
		}
	}
	return s.err
}

func parseAttempt(b []byte, id *yarn.AttemptID) error {
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.message(1):
			s.fail(parseApplication(s.body, &id.Application))
		case s.varint(2):
			id.Attempt = int32(s.n)
		}
	}
	return s.err
}

func parseContainerID(b []byte, id *yarn.ContainerID) error {
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.message(2):
			s.fail(parseAttempt(s.body, &id.Attempt))
		case s.varint(3):
			id.Number = int64(s.n)
		}
	}
	return s.err
}

func parseNode(b []byte, id *yarn.NodeID) error {
	s := scanner{rest: b}
	for s.next() {
		switch {
		case s.text(1):
			id.Host = string(s.body)
		case s.varint(2):
			id.Port = int32(s.n)
		}
	}
	return s.err
}
