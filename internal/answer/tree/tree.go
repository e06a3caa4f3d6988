// Package tree is an ordered document that can be written as Hadoop's JSON and
// as Hadoop's XML. The web services of Hadoop 3.5 have one description of each
// answer and two forms of it; clients depend on the order of members, on how
// numbers are printed and on what is left out, so that neither encoding/json
// nor encoding/xml will do.
//
// The rules (compat: the MOXy provider of Hadoop 3.5.0):
//
//   - a List is always an array in JSON, with one element too, and a repeated
//     element in XML; an empty one leaves no trace of its name;
//   - an empty Object is {} or <name/>;
//   - a missing member is left out, an empty text is kept;
//   - floating point numbers always have a fraction: 100.0;
//   - the type of a polymorphic object is the member "type" in JSON and the
//     attribute xsi:type in XML.
package tree

import "iter"

// Value is what a member can be: string, bool, int, int32, int64, float32,
// float64, *Object, List or Stream. Anything else is a programming error and
// panics when it is written.
type Value any

// Object is an ordered set of members.
type Object struct {
	Type    string // of a polymorphic object; empty for others
	members []member
	draw    func(*Members) // instead of members
	kept    bool
	json    []byte // of a kept one, once it has been written
	xml     []byte // likewise, without its name; empty: it has no members
}

// Keep says that the object will be written several times in one document and does
// not change any more. Its text is made once.
func (o *Object) Keep() *Object {
	o.kept = true
	return o
}

type member struct {
	name  string
	value Value
}

// List repeats a member.
type List []Value

// Stream repeats a member without holding all of them: long lists are made
// while they are written.
type Stream iter.Seq[Value]

// Document is a whole answer.
type Document struct {
	Root string
	Bare bool // JSON without the root's name around it
	Body *Object
}

// usual is how many members most objects have at most.
const usual = 6

// New is an object without members.
func New() *Object { return &Object{members: make([]member, 0, usual)} }

// Add appends a member and returns the object.
func (o *Object) Add(name string, v Value) *Object {
	o.members = append(o.members, member{name, v})
	return o
}

// AddIf appends a member if ok.
func (o *Object) AddIf(ok bool, name string, v Value) *Object {
	if ok {
		o.Add(name, v)
	}
	return o
}

// each walks the elements of a repeated member.
func each(v Value) (iter.Seq[Value], bool) {
	switch l := v.(type) {
	case List:
		return func(yield func(Value) bool) {
			for _, e := range l {
				if !yield(e) {
					return
				}
			}
		}, true
	case Stream:
		return iter.Seq[Value](l), true
	}
	return nil, false
}
