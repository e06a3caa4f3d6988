package aggregated

import (
	"encoding/binary"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxTextBytes is the longest text that DataOutput.writeUTF can write, encoded.
const maxTextBytes = 1<<16 - 1

// appendText appends s as DataOutput.writeUTF does: two bytes of length, then
// Java's own UTF-8, in which a zero takes two bytes and a character beyond
// U+FFFF two times three. Bytes that are no UTF-8 become U+FFFD.
func appendText(b []byte, s string) ([]byte, error) {
	start := len(b)
	b = append(b, 0, 0)
	for _, c := range s {
		switch {
		case c == 0:
			b = append(b, 0xc0, 0x80)
		case c > 0xffff:
			c -= 0x10000
			b = appendUnit(appendUnit(b, 0xd800+c>>10), 0xdc00+c&0x3ff)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	size := len(b) - start - 2
	if size > maxTextBytes {
		return b[:start], fmt.Errorf("a text of %d bytes is longer than the format's %d", size, maxTextBytes)
	}
	binary.BigEndian.PutUint16(b[start:], uint16(size))
	return b, nil
}

// appendUnit appends half of a surrogate pair in three bytes.
func appendUnit(b []byte, u rune) []byte {
	return append(b, 0xe0|byte(u>>12), 0x80|(byte(u>>6)&0x3f), 0x80|(byte(u)&0x3f))
}

// readText reads what appendText wrote. The error is io.EOF only where nothing
// at all follows. What is not well formed becomes U+FFFD.
func readText(r io.Reader) (string, error) {
	var head [2]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", err
	}
	b := make([]byte, binary.BigEndian.Uint16(head[:]))
	if _, err := io.ReadFull(r, b); err != nil {
		return "", unexpected(err)
	}
	return decodeText(b), nil
}

func decodeText(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		c, size := decodeUnit(b)
		if c>>10 == 0xd800>>10 {
			if low, more := decodeUnit(b[size:]); low>>10 == 0xdc00>>10 {
				c, size = 0x10000+(c-0xd800)<<10+low-0xdc00, size+more
			}
		}
		s.WriteRune(c) // half a pair becomes U+FFFD here
		b = b[size:]
	}
	return s.String()
}

// decodeUnit reads one 16-bit unit of Java's UTF-8.
func decodeUnit(b []byte) (c rune, size int) {
	follows := func(i int) bool { return len(b) > i && b[i]&0xc0 == 0x80 }
	switch {
	case len(b) == 0:
		return utf8.RuneError, 0
	case b[0] < 0x80:
		return rune(b[0]), 1
	case b[0]&0xe0 == 0xc0 && follows(1):
		return rune(b[0]&0x1f)<<6 | rune(b[1]&0x3f), 2
	case b[0]&0xf0 == 0xe0 && follows(1) && follows(2):
		return rune(b[0]&0xf)<<12 | rune(b[1]&0x3f)<<6 | rune(b[2]&0x3f), 3
	}
	return utf8.RuneError, 1
}
