package tree

import (
	"io"
	"unicode/utf8"

	"github.com/heddle-project/heddle/internal/visible"
)

// WriteJSON writes the document as Hadoop's JSON.
func WriteJSON(w io.Writer, d Document) error {
	return writing(w, func(b *out) {
		if d.Bare {
			jsonObject(b, d.Body)
			return
		}
		b.byte('{')
		jsonText(b, d.Root)
		b.byte(':')
		jsonObject(b, d.Body)
		b.byte('}')
	})
}

func jsonObject(b *out, o *Object) {
	if !o.kept {
		jsonMembers(b, o)
		return
	}
	if o.json == nil {
		var alone out
		jsonMembers(&alone, o)
		o.json = alone.buf
	}
	b.buf = append(b.buf, o.json...)
}

func jsonMembers(b *out, o *Object) {
	if o.draw != nil {
		(&Members{b: b}).object("", o.draw)
		return
	}
	b.byte('{')
	first := true
	if o.Type != "" {
		b.text(`"type":`)
		jsonText(b, o.Type)
		first = false
	}
	for i := range o.members {
		if jsonMember(b, &o.members[i], first) {
			first = false
		}
	}
	b.byte('}')
}

// jsonMember writes a member unless it is an empty list, and tells whether it did.
func jsonMember(b *out, m *member, first bool) bool {
	elements, repeated := each(m.value)
	if !repeated {
		jsonName(b, m.name, first)
		jsonValue(b, m.value)
		return true
	}
	open := false
	for e := range elements {
		if !b.next() {
			break
		}
		if open {
			b.byte(',')
		} else {
			jsonName(b, m.name, first)
			b.byte('[')
			open = true
		}
		jsonValue(b, e)
	}
	if open {
		b.byte(']')
	}
	return open
}

func jsonName(b *out, name string, first bool) {
	if !first {
		b.byte(',')
	}
	jsonText(b, name)
	b.byte(':')
}

func jsonValue(b *out, v Value) {
	switch x := v.(type) {
	case *Object:
		jsonObject(b, x)
	case string:
		jsonText(b, x)
	default:
		b.buf = scalar(b.buf, v, `"`)
	}
}

// jsonText writes a quoted text. What is not UTF-8 becomes the replacement
// character; what would not be seen is escaped, which changes no value.
func jsonText(b *out, s string) {
	b.byte('"')
	for n := plainJSON(s); ; n = plainJSON(s) {
		b.text(s[:n])
		if s = s[n:]; s == "" {
			break
		}
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '"' || r == '\\':
			b.byte('\\')
			b.byte(byte(r))
		case visible.Hides(r):
			b.buf = visible.Escape(b.buf, r)
		default:
			b.rune(r)
		}
	}
	b.byte('"')
}

// plainJSON is how many bytes at the beginning of a text are characters of ASCII that JSON has as they are.
func plainJSON(s string) int {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			return i
		}
	}
	return len(s)
}
