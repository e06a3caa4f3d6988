// Package visible shows foreign text as it is. Applications, nodes and their
// logs hold whatever somebody wrote: control characters of terminals, characters
// that turn the direction of writing around and those that cannot be seen at all would
// make people read something else than is there. They become escapes, which are those
// of JSON, so that a quoted text in JSON keeps its value.
package visible

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Hides tells whether a character steers what is around it instead of being
// seen: controls, also those of terminals above 0x80, format characters, of
// which those of bidirectional text are the worst, and the separators of lines
// and paragraphs. What joins letters of Arabic and Indic scripts and the parts of
// a picture (U+200C, U+200D) does not.
func Hides(r rune) bool {
	switch {
	case r < 0x20 || r == 0x7f:
		return true
	case r < 0x7f, r == 0x200c, r == 0x200d:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Escape appends the escape of a character.
func Escape(b []byte, r rune) []byte {
	switch r {
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	if r > 0xffff { // the two halves of UTF-16
		r -= 0x10000
		return Escape(Escape(b, 0xd800+r>>10), 0xdc00+r&0x3ff)
	}
	const hex = "0123456789abcdef"
	return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// Line is a text on one line, for cells of tables and lines of logs.
func Line(s string) string { return text(s, false) }

// Text is a text whose lines and tabs stay. A line ends with \n; the \r before
// it is dropped.
func Text(s string) string { return text(s, true) }

func text(s string, lines bool) string {
	if plain(s) {
		return s
	}
	b, _ := show(make([]byte, 0, len(s)+16), s, lines, true)
	return string(b)
}

// plain tells whether a text is of printable ASCII alone.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

// show appends what a text looks like and tells how much of it that was: unless
// it is the last piece, a character that is cut at its end waits for the rest.
func show[T string | []byte](b []byte, s T, lines, last bool) ([]byte, int) {
	for i := 0; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			b = append(b, c)
			i++
			continue
		}
		rest := string(s[i:min(i+utf8.UTFMax, len(s))])
		if !last && (rest == "\r" || !utf8.FullRuneInString(rest)) {
			return b, i
		}
		r, n := utf8.DecodeRuneInString(rest)
		switch {
		case lines && (r == '\n' || r == '\t'):
			b = append(b, byte(r))
		case lines && strings.HasPrefix(rest, "\r\n"):
		case Hides(r):
			b = Escape(b, r)
		default:
			b = utf8.AppendRune(b, r) // U+FFFD for what is no UTF-8
		}
		i += n
	}
	return b, len(s)
}

// Writer writes Text of all that is written to it. Flush writes what waits for
// the rest of a character.
type Writer struct {
	to   io.Writer
	held []byte
}

// NewWriter is a Writer on top of another.
func NewWriter(to io.Writer) *Writer { return &Writer{to: to} }

func (w *Writer) Write(p []byte) (int, error) {
	if err := w.write(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush ends the text.
func (w *Writer) Flush() error { return w.write(nil, true) }

func (w *Writer) write(p []byte, last bool) error {
	in := p
	if len(w.held) > 0 {
		in = append(w.held, p...)
	}
	out, n := show(make([]byte, 0, len(in)+16), in, true, last)
	w.held = append([]byte(nil), in[n:]...)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}
