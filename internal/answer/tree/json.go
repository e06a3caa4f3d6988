package tree

import (
	"bufio"
	"io"

	"github.com/heddle-project/heddle/internal/visible"
)

// WriteJSON writes the document as Hadoop's JSON.
func WriteJSON(w io.Writer, d Document) error {
	b := bufio.NewWriter(w)
	if d.Bare {
		jsonObject(b, d.Body)
		return b.Flush()
	}
	b.WriteByte('{')
	jsonText(b, d.Root)
	b.WriteByte(':')
	jsonObject(b, d.Body)
	b.WriteByte('}')
	return b.Flush()
}

func jsonObject(b *bufio.Writer, o *Object) {
	b.WriteByte('{')
	first := true
	if o.Type != "" {
		b.WriteString(`"type":`)
		jsonText(b, o.Type)
		first = false
	}
	for i := range o.members {
		if jsonMember(b, &o.members[i], first) {
			first = false
		}
	}
	b.WriteByte('}')
}

// jsonMember writes a member unless it is an empty list, and tells whether it did.
func jsonMember(b *bufio.Writer, m *member, first bool) bool {
	elements, repeated := each(m.value)
	if !repeated {
		jsonName(b, m.name, first)
		jsonValue(b, m.value)
		return true
	}
	open := false
	for e := range elements {
		if _, err := b.Write(nil); err != nil {
			break // the caller has left
		}
		if open {
			b.WriteByte(',')
		} else {
			jsonName(b, m.name, first)
			b.WriteByte('[')
			open = true
		}
		jsonValue(b, e)
	}
	if open {
		b.WriteByte(']')
	}
	return open
}

func jsonName(b *bufio.Writer, name string, first bool) {
	if !first {
		b.WriteByte(',')
	}
	jsonText(b, name)
	b.WriteByte(':')
}

func jsonValue(b *bufio.Writer, v Value) {
	switch x := v.(type) {
	case *Object:
		jsonObject(b, x)
	case string:
		jsonText(b, x)
	default:
		b.Write(scalar(b.AvailableBuffer(), v, `"`))
	}
}

// jsonText writes a quoted text. What is not UTF-8 becomes the replacement
// character; what would not be seen is escaped, which changes no value.
func jsonText(b *bufio.Writer, s string) {
	b.WriteByte('"')
	if plain(s) {
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case visible.Hides(r):
			b.Write(visible.Escape(b.AvailableBuffer(), r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// plain tells whether neither form has to escape anything.
func plain(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20 || c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}
