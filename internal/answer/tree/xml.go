package tree

import (
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
	return writing(w, func(b *out) {
		b.text(xmlHead)
		xmlElement(b, d.Root, d.Body)
	})
}

func xmlElement(b *out, name string, v Value) {
	b.byte('<')
	b.text(name)
	o, ok := v.(*Object)
	if !ok {
		b.byte('>')
		if text, ok := v.(string); ok {
			xmlText(b, text)
		} else {
			b.buf = scalar(b.buf, v, "")
		}
		xmlClose(b, name)
		return
	}
	if o.Type != "" {
		b.text(xmlSchema)
		xmlText(b, o.Type)
		b.byte('"')
	}
	if !xmlBody(b, o) {
		b.text("/>")
		return
	}
	xmlClose(b, name)
}

// xmlBody is xmlMembers of an object that may be drawn, or kept.
func xmlBody(b *out, o *Object) bool {
	if !o.kept {
		return xmlDrawn(b, o)
	}
	if o.xml == nil {
		alone := out{buf: []byte{}}
		xmlDrawn(&alone, o)
		o.xml = alone.buf
	}
	b.buf = append(b.buf, o.xml...)
	return len(o.xml) > 0
}

func xmlDrawn(b *out, o *Object) bool {
	if o.draw == nil {
		return xmlMembers(b, o)
	}
	m := Members{b: b, xml: true}
	b.open++
	o.draw(&m)
	b.open--
	return m.written
}

// xmlMembers ends the start tag and writes the members; without any it writes
// nothing and says so.
func xmlMembers(b *out, o *Object) bool {
	open := false
	write := func(name string, v Value) {
		if !open {
			b.byte('>')
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
			if !b.next() {
				break
			}
			write(m.name, e)
		}
	}
	return open
}

func xmlClose(b *out, name string) {
	b.text("</")
	b.text(name)
	b.byte('>')
}

// xmlText escapes what could be taken for markup, as MOXy does: ">" only where
// XML demands it. What would not be seen is a reference to the character, which
// changes no value. Characters that XML cannot hold at all become the replacement
// character: one control character in an application's name must not make the
// whole list unreadable.
func xmlText(b *out, s string) {
	for i := 0; i < len(s); {
		if n := plainXML(s[i:]); n > 0 {
			b.text(s[i : i+n])
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '&':
			b.text("&amp;")
		case r == '<':
			b.text("&lt;")
		case r == '>' && i >= 2 && s[i-2:i] == "]]":
			b.text("&gt;")
		case r == '"':
			b.text("&quot;")
		case r == '\r':
			b.text("&#xd;")
		case !inXML(r):
			b.rune(utf8.RuneError)
		case r != '\n' && r != '\t' && visible.Hides(r):
			b.text("&#x" + strconv.FormatInt(int64(r), 16) + ";")
		default:
			b.rune(r)
		}
		i += n
	}
}

func inXML(r rune) bool {
	return r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000
}

// plainXML is how many bytes at the beginning of a text are characters of ASCII that XML has as they are.
func plainXML(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c < 0x20 || c >= 0x7f, c == '"', c == '<', c == '>', c == '&':
			return i
		}
	}
	return len(s)
}
