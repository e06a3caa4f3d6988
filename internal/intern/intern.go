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

// Texts remember the last results of Of, which is quicker than Text for a text among them. One goroutine at a time may use them. The zero value is ready for
// use; nil remembers nothing.
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
