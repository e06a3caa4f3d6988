package visible

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		"plain <b>&amp; \"quoted\" \\ ~": "plain <b>&amp; \"quoted\" \\ ~",
		"two\nlines\tand a tab":          "two\nlines\tand a tab",
		"one\r\ntwo\rthree\r\r\n":        `one` + "\n" + `two\rthree\r` + "\n",
		"\x1b]0;title\x07\x1b[2J":        `\u001b]0;title\u0007\u001b[2J`,
		"\u009b31m\x7f\x00":              `\u009b31m\u007f\u0000`,
		"user\u202etxt.exe":              `user\u202etxt.exe`,
		"\u2066\u2069\u200e\u200f\u061c": `\u2066\u2069\u200e\u200f\u061c`,
		"\u200b\ufeff\u00ad\u2028\u2029": `\u200b\ufeff\u00ad\u2028\u2029`,
		"\U000e0041":                     `\udb40\udc41`,
		"\xff\xc0a\xe2\x80":              "\ufffd\ufffda\ufffd\ufffd",
		"größe 名前 שלום می\u200cخواهم 👩\u200d💻": "größe 名前 שלום می\u200cخواهم 👩\u200d💻",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := Line("a\r\nb\tc\n"); got != `a\r\nb\tc\n` {
		t.Errorf("%q", got)
	}
}

// FuzzText: nothing hidden comes out, a quoted text keeps its value, and a Writer
// that gets it in pieces writes the same.
func FuzzText(f *testing.F) {
	for _, s := range []string{"a\x1b[0m\r\n", "\u202e\xff", "\r", "\xe2\x80", "\U000e0041x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		text := Text(s)
		if at := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && Hides(r) }); at >= 0 || !utf8.ValidString(text) {
			t.Errorf("%q became %q", s, text)
		}
		if strings.ContainsFunc(Line(s), Hides) {
			t.Errorf("%q became %q", s, Line(s))
		}
		quoted, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := json.Unmarshal([]byte(Line(string(quoted))), &after); err != nil || json.Unmarshal(quoted, &before) != nil || before != after {
			t.Errorf("%q became %q: %v", before, after, err)
		}
		var out bytes.Buffer
		w := NewWriter(&out)
		if _, err := io.Copy(struct{ io.Writer }{w}, iotest.OneByteReader(strings.NewReader(s))); err != nil || w.Flush() != nil || out.String() != text {
			t.Errorf("in pieces %q, at once %q: %v", out.String(), text, err)
		}
	})
}
