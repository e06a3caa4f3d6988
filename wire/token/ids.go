package token

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/yarn"
)

func appendNonEmpty(dst []byte, num protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return field.AppendText(dst, num, s)
}

func appendNonZero(dst []byte, num protowire.Number, v int64) []byte {
	if v == 0 {
		return dst
	}
	return field.AppendInt(dst, num, v)
}

func parseNode(b []byte, id *yarn.NodeID) error {
	s := field.Walk{Rest: b}
	for s.Next() {
		switch s.Tag {
		case 1<<3 | field.Block:
			id.Host = string(s.Data)
		case 2<<3 | field.Varint:
			id.Port = int32(s.V)
		}
	}
	return s.Err
}
