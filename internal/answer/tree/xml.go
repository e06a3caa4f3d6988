package tree

import (
	"bufio"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/heddle-project/heddle/internal/visible"
)

const (
	xmlHead   = `<?xml version="1.0" encoding="UTF-8"?>`
	xmlSchema = ` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="`
)

// WriteXML writes the document as Hadoop's XML.
func WriteXML(w io.Writer, d Document) error {
	b := bufio.NewWriter(w)
	b.WriteString(xmlHead)
	xmlElement(b, d.Root, d.Body)
	return b.Flush()
}

func xmlElement(b *bufio.Writer, name string, v Value) {
	b.WriteByte('<')
	b.WriteString(name)
	o, ok := v.(*Object)
	if !ok {
		b.WriteByte('>')
		if text, ok := v.(string); ok {
			xmlText(b, text)
		} else {
			b.Write(scalar(b.AvailableBuffer(), v, ""))
		}
		xmlClose(b, name)
		return
	}
	if o.Type != "" {
		b.WriteString(xmlSchema)
		xmlText(b, o.Type)
		b.WriteByte('"')
	}
	if !xmlMembers(b, o) {
		b.WriteString("/>")
		return
	}
	xmlClose(b, name)
}

// xmlMembers ends the start tag and writes the members; without any it writes
// nothing and says so.
func xmlMembers(b *bufio.Writer, o *Object) bool {
	open := false
	write := func(name string, v Value) {
		if !open {
			b.WriteByte('>')
			open = true
		}
		xmlElement(b, name, v)
	}
	for i := range o.members {
		m := &o.members[i]
		elements, repeated := each(m.value)
		if !repeated {
			write(m.name, m.value)
			continue
		}
		for e := range elements {
			if _, err := b.Write(nil); err != nil {
				break // the caller has left
			}
			write(m.name, e)
		}
	}
	return open
}

func xmlClose(b *bufio.Writer, name string) {
	b.WriteString("</")
	b.WriteString(name)
	b.WriteByte('>')
}

// xmlText escapes what could be taken for markup, as MOXy does: ">" only where
// XML demands it. What would not be seen is a reference to the character, which
// changes no value. Characters that XML cannot hold at all become the replacement
// character: one control character in an application's name must not make the
// whole list unreadable.
func xmlText(b *bufio.Writer, s string) {
	if plain(s) {
		b.WriteString(s)
		return
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '&':
			b.WriteString("&amp;")
		case r == '<':
			b.WriteString("&lt;")
		case r == '>' && i >= 2 && s[i-2:i] == "]]":
			b.WriteString("&gt;")
		case r == '"':
			b.WriteString("&quot;")
		case r == '\r':
			b.WriteString("&#xd;")
		case !inXML(r):
			b.WriteRune(utf8.RuneError)
		case r != '\n' && r != '\t' && visible.Hides(r):
			b.WriteString("&#x" + strconv.FormatInt(int64(r), 16) + ";")
		default:
			b.WriteRune(r)
		}
		i += n
	}
}

func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}
