package scan

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// AppendToken appends a TokenProto.
func AppendToken(dst []byte, num protowire.Number, t token.Token) []byte {
	dst, mark := field.Open(dst, num)
	return field.Shut(t.AppendProto(dst), mark)
}

// AppendExecution appends an ExecutionTypeProto.
func AppendExecution(dst []byte, num protowire.Number, t yarn.ExecutionType) []byte {
	if t == yarn.Opportunistic {
		return field.AppendInt(dst, num, executionQueued)
	}
	return field.AppendInt(dst, num, executionGuaranteed)
}
