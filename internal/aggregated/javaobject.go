package aggregated

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Limits of a stream of Java's serialization.
const (
	maxJavaDepth  = 64
	maxJavaValues = 1 << 20 // values, classes and fields in a stream, null ones included
	maxJavaFields = 64      // of a class
	maxJavaSupers = 16
)

// javaObject is an object as java.io.ObjectOutputStream writes it.
type javaObject struct {
	class *javaClass
	// values are those of the fields of class.line, in turn: int64 for numbers, string, *javaObject, *javaClass, or nil.
	values []any
	// more is what methods writeObject of the class and of its ancestors wrote besides: values, blocks as []byte.
	more []any
}

type javaClass struct {
	name   string
	flags  byte
	fields []javaField
	super  *javaClass
	line   []*javaClass // the class and its ancestors, from the eldest on; once an object has needed it
}

type javaField struct {
	name string
	kind byte
}

// field is the value of a field; nil for one that is not there.
func (o *javaObject) field(name string) any {
	i := 0
	for _, c := range o.class.line {
		for _, f := range c.fields {
			if f.name == name && i < len(o.values) {
				return o.values[i]
			}
			i++
		}
	}
	return nil
}

// text is a field that holds a string; null is "".
func (o *javaObject) text(name string) (string, error) {
	switch v := o.field(name).(type) {
	case string:
		return v, nil
	case nil:
		return "", nil
	}
	return "", fmt.Errorf("%s.%s is not a text", o.class.name, name)
}

func (o *javaObject) number(name string) (int64, error) {
	n, ok := o.field(name).(int64)
	if !ok {
		return 0, fmt.Errorf("%s.%s is not a number", o.class.name, name)
	}
	return n, nil
}

// elements are those of a java.util.ArrayList.
func elements(v any) ([]any, error) {
	o, ok := v.(*javaObject)
	if !ok || o.class.name != "java.util.ArrayList" || len(o.more) == 0 {
		return nil, errors.New("a list of another kind than java.util.ArrayList")
	}
	return o.more[1:], nil // after a block with the capacity
}

// pairs are the keys and values of a java.util.HashMap, in turn; null is an empty one.
func pairs(v any) ([]any, error) {
	if v == nil {
		return nil, nil
	}
	o, ok := v.(*javaObject)
	if !ok || o.class.name != "java.util.HashMap" && o.class.name != "java.util.LinkedHashMap" || len(o.more)%2 == 0 {
		return nil, errors.New("a map of another kind than java.util.HashMap")
	}
	return o.more[1:], nil // after a block with capacity and size
}

// The marks of the stream.
const (
	javaHead       = 0xaced0005
	markNull       = 0x70
	markReference  = 0x71
	markClass      = 0x72
	markObject     = 0x73
	markString     = 0x74
	markBlock      = 0x77
	markEnd        = 0x78
	markLongBlock  = 0x7a
	markLongString = 0x7c
	markEnum       = 0x7e

	firstHandle = 0x7e0000

	flagWriteObject = 1
	flagSerial      = 2
	flagEnum        = 16
)

var errJavaShort = errors.New("it ends too early")

// javaStream reads objects, strings and enumerations' constants (as strings); arrays and the like are refused.
type javaStream struct {
	b       []byte
	handles []any
	values  int
}

// readJava reads the one object of a stream, and counts its values.
func readJava(b []byte) (o *javaObject, values int, err error) {
	s := &javaStream{b: b}
	head, err := s.uint(4)
	if err != nil {
		return nil, 0, err
	}
	if head != javaHead {
		return nil, 0, errors.New("it does not begin as a stream of Java's serialization")
	}
	v, err := s.value(0)
	if err != nil {
		return nil, 0, err
	}
	o, ok := v.(*javaObject)
	if !ok {
		return nil, 0, errors.New("not an object")
	}
	return o, s.values, nil
}

func (s *javaStream) take(n int) ([]byte, error) {
	if n < 0 || n > len(s.b) {
		return nil, errJavaShort
	}
	b := s.b[:n]
	s.b = s.b[n:]
	return b, nil
}

func (s *javaStream) uint(size int) (uint64, error) {
	b, err := s.take(size)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[8-size:], b)
	return binary.BigEndian.Uint64(full[:]), nil
}

// text reads a string after a length of so many bytes.
func (s *javaStream) text(size int) (string, error) {
	n, err := s.uint(size)
	if err != nil {
		return "", err
	}
	if n > uint64(len(s.b)) {
		return "", errJavaShort
	}
	b, err := s.take(int(n))
	return decodeText(b), err
}

// count counts values, classes and fields before there is memory for them.
func (s *javaStream) count(n int) error {
	if s.values += n; s.values > maxJavaValues {
		return fmt.Errorf("more than %d values", maxJavaValues)
	}
	return nil
}

func (s *javaStream) keep(v any) int {
	s.handles = append(s.handles, v)
	return len(s.handles) - 1
}

// endOfMore is the mark that ends what a writeObject wrote.
type endOfMore struct{}

func (s *javaStream) value(depth int) (any, error) {
	if depth > maxJavaDepth {
		return nil, fmt.Errorf("nested deeper than %d", maxJavaDepth)
	}
	if err := s.count(1); err != nil {
		return nil, err
	}
	mark, err := s.uint(1)
	if err != nil {
		return nil, err
	}
	switch mark {
	case markNull:
		return nil, nil
	case markReference:
		return s.reference()
	case markClass:
		return s.class()
	case markObject:
		return s.object(depth)
	case markString, markLongString:
		size := 2
		if mark == markLongString {
			size = 8
		}
		text, err := s.text(size)
		s.keep(text)
		return text, err
	case markEnum:
		return s.constant(depth)
	case markBlock, markLongBlock:
		size := 1
		if mark == markLongBlock {
			size = 4
		}
		n, err := s.uint(size)
		if err != nil {
			return nil, err
		}
		return s.take(int(n))
	case markEnd:
		return endOfMore{}, nil
	}
	return nil, fmt.Errorf("the mark %#x is not known here", mark)
}

func (s *javaStream) reference() (any, error) {
	n, err := s.uint(4)
	if err != nil {
		return nil, err
	}
	if n < firstHandle || n-firstHandle >= uint64(len(s.handles)) {
		return nil, errors.New("a reference to nothing")
	}
	return s.handles[n-firstHandle], nil
}

// class reads the description of a class after its mark, and those of its ancestors.
func (s *javaStream) class() (*javaClass, error) {
	c, err := s.oneClass()
	for at, n := c, 0; err == nil; n++ {
		var mark uint64
		if mark, err = s.uint(1); err != nil {
			break
		}
		switch {
		case n == maxJavaSupers:
			err = fmt.Errorf("more than %d ancestors", maxJavaSupers)
		case mark == markNull:
			return c, nil
		case mark == markReference:
			at.super, err = s.referenceToClass()
			return c, err
		case mark == markClass:
			at.super, err = s.oneClass()
			at = at.super
		default:
			err = fmt.Errorf("the mark %#x where a class must be", mark)
		}
	}
	return nil, err
}

func (s *javaStream) referenceToClass() (*javaClass, error) {
	v, err := s.reference()
	if err != nil {
		return nil, err
	}
	c, ok := v.(*javaClass)
	if !ok {
		return nil, errors.New("a reference to something else than a class")
	}
	return c, nil
}

func (s *javaStream) oneClass() (*javaClass, error) {
	name, err := s.text(2)
	if err != nil {
		return nil, err
	}
	if _, err := s.take(8); err != nil { // serialVersionUID
		return nil, err
	}
	c := &javaClass{name: name}
	s.keep(c)
	flags, err := s.uint(1)
	if err != nil {
		return nil, err
	}
	c.flags = byte(flags)
	count, err := s.uint(2)
	if err != nil {
		return nil, err
	}
	if count > maxJavaFields {
		return nil, fmt.Errorf("%d fields; at most %d are read", count, maxJavaFields)
	}
	if err := s.count(1 + int(count)); err != nil {
		return nil, err
	}
	for range count {
		f, err := s.field()
		if err != nil {
			return nil, err
		}
		c.fields = append(c.fields, f)
	}
	if end, err := s.uint(1); err != nil || end != markEnd {
		return nil, errors.Join(err, fmt.Errorf("the class %.100q has annotations", name))
	}
	return c, nil
}

func (s *javaStream) field() (javaField, error) {
	kind, err := s.uint(1)
	if err != nil {
		return javaField{}, err
	}
	name, err := s.text(2)
	if err != nil {
		return javaField{}, err
	}
	if kind == 'L' || kind == '[' {
		err = s.typeName()
	}
	return javaField{name, byte(kind)}, err
}

// typeName passes over the name of a field's type: a string, or a reference to one.
func (s *javaStream) typeName() error {
	mark, err := s.uint(1)
	if err != nil {
		return err
	}
	switch mark {
	case markString:
		text, err := s.text(2)
		s.keep(text)
		return err
	case markReference:
		_, err := s.reference()
		return err
	}
	return fmt.Errorf("the mark %#x where the name of a type must be", mark)
}

// classThere reads a class where it may be new or known.
func (s *javaStream) classThere() (*javaClass, error) {
	mark, err := s.uint(1)
	switch {
	case err != nil:
		return nil, err
	case mark == markClass:
		return s.class()
	case mark == markReference:
		return s.referenceToClass()
	}
	return nil, fmt.Errorf("the mark %#x where a class must be", mark)
}

// constant reads a constant of an enumeration: its name.
func (s *javaStream) constant(depth int) (any, error) {
	if _, err := s.classThere(); err != nil {
		return nil, err
	}
	at := s.keep(nil)
	name, err := s.value(depth + 1)
	s.handles[at] = name
	return name, err
}

func (s *javaStream) object(depth int) (any, error) {
	c, err := s.classThere()
	if err != nil {
		return nil, err
	}
	if err := c.lineUp(); err != nil {
		return nil, err
	}
	fields := 0
	for _, part := range c.line {
		fields += len(part.fields)
	}
	if err := s.count(fields); err != nil {
		return nil, err
	}
	o := &javaObject{class: c, values: make([]any, 0, fields)}
	s.keep(o)
	for _, part := range c.line {
		if err := s.part(o, part, depth); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (c *javaClass) lineUp() error {
	if c.line != nil {
		return nil
	}
	var line []*javaClass
	for at := c; at != nil; at = at.super {
		if len(line) == maxJavaSupers {
			return fmt.Errorf("more than %d ancestors", maxJavaSupers)
		}
		line = append(line, at)
	}
	slices.Reverse(line)
	c.line = line
	return nil
}

// part reads what one class of an object's line has.
func (s *javaStream) part(o *javaObject, c *javaClass, depth int) error {
	if c.flags&flagSerial == 0 || c.flags&flagEnum != 0 {
		return fmt.Errorf("the class %.100q is written in its own way", c.name)
	}
	for _, f := range c.fields {
		v, err := s.fieldValue(f.kind, depth)
		if err != nil {
			return err
		}
		o.values = append(o.values, v)
	}
	for c.flags&flagWriteObject != 0 {
		v, err := s.value(depth + 1)
		if err != nil {
			return err
		}
		if _, end := v.(endOfMore); end {
			break
		}
		o.more = append(o.more, v)
	}
	return nil
}

func (s *javaStream) fieldValue(kind byte, depth int) (any, error) {
	size := 0
	switch kind {
	case 'B', 'Z':
		size = 1
	case 'C', 'S':
		size = 2
	case 'I', 'F':
		size = 4
	case 'J', 'D':
		size = 8
	case 'L':
	default:
		return nil, fmt.Errorf("a field of the kind %q is not read", kind)
	}
	if size > 0 {
		n, err := s.uint(size)
		if kind == 'I' {
			return int64(int32(n)), err
		}
		return int64(n), err
	}
	v, err := s.value(depth + 1)
	if _, end := v.(endOfMore); end {
		err = errors.New("an end where a value must be")
	}
	return v, err
}
