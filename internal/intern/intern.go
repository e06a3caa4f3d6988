// Package intern keeps one copy of equal texts: hundreds of thousands of applications have the same few users and queues.
package intern

import "unique"

// Text returns the copy of s, which all equal texts share.
func Text(s string) string {
	if s == "" {
		return ""
	}
	return unique.Make(s).Value()
}

// Texts is a small cache in front of Text: each slot has the last text that fell into it, and Of is quicker than Text for a text that is there. One goroutine at a
// time may use it. The zero value is ready for use; nil is an empty cache that keeps nothing.
type Texts [64]string

// Of is Text for bytes.
func (t *Texts) Of(b []byte) string {
	if t == nil || len(b) == 0 {
		return Text(string(b))
	}
	end := len(b) - 1
	last := &t[(end+5*int(b[0])+7*int(b[end/2])+11*int(b[max(end-1, 0)])+int(b[end]))%len(t)]
	if *last != string(b) {
		*last = Text(string(b))
	}
	return *last
}
