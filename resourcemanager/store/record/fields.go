package record

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// writer appends fields; zero values are left out.
type writer struct{ b []byte }

func (w *writer) int(number protowire.Number, v int64) {
	if v != 0 {
		w.b = protowire.AppendTag(w.b, number, protowire.VarintType)
		w.b = protowire.AppendVarint(w.b, protowire.EncodeZigZag(v))
	}
}

func (w *writer) bool(number protowire.Number, v bool) {
	if v {
		w.int(number, 1)
	}
}

func (w *writer) text(number protowire.Number, s string) {
	if s != "" {
		w.b = protowire.AppendTag(w.b, number, protowire.BytesType)
		w.b = protowire.AppendString(w.b, s)
	}
}

func (w *writer) bytes(number protowire.Number, b []byte) {
	if len(b) > 0 {
		w.nested(number, b)
	}
}

// nested appends even an empty value: it may be an element of a list.
func (w *writer) nested(number protowire.Number, b []byte) {
	w.b = protowire.AppendTag(w.b, number, protowire.BytesType)
	w.b = protowire.AppendBytes(w.b, b)
}

// field is one field as read. Its methods store the value in to, or set err, and return
// true.
type field struct {
	number protowire.Number
	kind   protowire.Type
	varint uint64
	data   []byte
	err    error
}

var errKind = errors.New("wire type does not fit the field")

// visitor reads a field; it returns false if it does not know the number.
type visitor func(*field) bool

// read walks the fields of b and returns the raw bytes of those that visit does
// not know. Only varints and byte strings can occur in known fields.
func read(b []byte, visit visitor) (unknown []byte, err error) {
	for len(b) > 0 {
		f, size, err := next(b)
		if err != nil {
			return nil, err
		}
		if !visit(&f) {
			unknown = append(unknown, b[:size]...)
		}
		if f.err != nil {
			return nil, fmt.Errorf("field %d: %w", f.number, f.err)
		}
		b = b[size:]
	}
	return unknown, nil
}

// wellFormed is an error unless b consists of fields.
func wellFormed(b []byte) error {
	for len(b) > 0 {
		_, size, err := next(b)
		if err != nil {
			return err
		}
		b = b[size:]
	}
	return nil
}

func next(b []byte) (f field, size int, err error) {
	number, kind, n := protowire.Number(0), protowire.Type(0), 1
	if len(b) > 0 && b[0] >= 1<<3 && b[0] < 0x80 { // one byte, as in most fields
		number, kind = protowire.Number(b[0]>>3), protowire.Type(b[0]&7)
	} else if number, kind, n = protowire.ConsumeTag(b); n < 0 {
		return f, 0, fmt.Errorf("field tag: %w", protowire.ParseError(n))
	}
	f.number, f.kind = number, kind
	m := 0
	switch kind {
	case protowire.VarintType:
		f.varint, m = protowire.ConsumeVarint(b[n:])
	case protowire.BytesType:
		f.data, m = protowire.ConsumeBytes(b[n:])
	case protowire.Fixed32Type, protowire.Fixed64Type:
		m = protowire.ConsumeFieldValue(number, kind, b[n:])
	default: // groups could nest without end and are never written
		return f, 0, fmt.Errorf("field %d: wire type %d is not in use", number, kind)
	}
	if m < 0 {
		return f, 0, fmt.Errorf("field %d: %w", number, protowire.ParseError(m))
	}
	return f, n + m, nil
}

func (f *field) int64(to *int64) bool {
	if f.kind != protowire.VarintType {
		f.err = errKind
		return true
	}
	*to = protowire.DecodeZigZag(f.varint)
	return true
}

func (f *field) int32(to *int32) bool {
	var v int64
	f.int64(&v)
	if v < math.MinInt32 || v > math.MaxInt32 {
		f.err = fmt.Errorf("%d does not fit into 32 bits", v)
	}
	*to = int32(v)
	return true
}

func (f *field) bool(to *bool) bool {
	var v int64
	f.int64(&v)
	*to = v != 0
	return true
}

// small reads a value of one of the enumerations of package yarn.
func small[T ~uint8](f *field, to *T) bool {
	var v int64
	f.int64(&v)
	if v < 0 || v > math.MaxUint8 {
		f.err = fmt.Errorf("%d does not fit into 8 bits", v)
	}
	*to = T(v)
	return true
}

func (f *field) text(to *string) bool {
	if f.kind != protowire.BytesType {
		f.err = errKind
		return true
	}
	*to = string(f.data)
	return true
}

// bytes copies: the value may be in memory of the store that is valid only for a while.
func (f *field) bytes(to *[]byte) bool {
	if f.kind != protowire.BytesType {
		f.err = errKind
		return true
	}
	*to = append([]byte(nil), f.data...)
	return true
}

// message reads a nested message; unknown fields inside it are dropped.
func (f *field) message(visit visitor) bool {
	if f.kind != protowire.BytesType {
		f.err = errKind
		return true
	}
	if _, err := read(f.data, visit); err != nil {
		f.err = err
	}
	return true
}
