package aggregated

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

// The numbers as Apache's tfile.Utils writes them.
func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{
		0: "00", 1: "01", -1: "ff", -32: "e0", -33: "cbdf", 127: "7f", 128: "cc80", 5119: "dfff", 5120: "a81400", -5120: "b800", -5121: "a7ebff",
		1048575: "b7ffff", 1048576: "90100000", -1048576: "980000", -1048577: "8fefffff", 134217727: "97ffffff", 134217728: "8308000000",
		-134217728: "88000000", -134217729: "83f7ffffff", 2147483647: "837fffffff", 2147483648: "840080000000", -2147483648: "8380000000",
		-2147483649: "84ff7fffffff", 549755813887: "847fffffffff", 549755813888: "85008000000000", -549755813889: "85ff7fffffffff",
		140737488355328: "8600800000000000", -140737488355329: "86ff7fffffffffff", 36028797018963968: "870080000000000000",
		math.MaxInt64: "877fffffffffffffff", math.MinInt64: "878000000000000000",
	} {
		b := appendVint(nil, n)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
		if got, err := readVint(bytes.NewReader(b)); got != n || err != nil {
			t.Errorf("%s: %d, %v, want %d", want, got, err, n)
		}
		for cut := 1; cut < len(b); cut++ {
			if _, err := readVint(bytes.NewReader(b[:cut])); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("%s cut to %d bytes: %v", want, cut, err)
			}
		}
	}
	for _, b := range []byte{0x80, 0x81, 0x82} {
		if n, err := readVint(bytes.NewReader([]byte{b, 1, 2, 3, 4, 5, 6, 7, 8})); err == nil {
			t.Errorf("%x: %d", b, n)
		}
	}
	if _, err := readVint(bytes.NewReader(nil)); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// The texts as Java's DataOutput.writeUTF writes them.
func TestTexts(t *testing.T) {
	for s, want := range map[string]string{"": "0000", "stdout": "00067374646f7574", "ä€": "0005c3a4e282ac", "\x00": "0002c080", "😀": "0006eda0bdedb880"} {
		b, err := appendText(nil, s)
		if got := hex.EncodeToString(b); got != want || err != nil {
			t.Errorf("%q: %s, %v, want %s", s, got, err, want)
		}
		if got, err := readText(bytes.NewReader(b)); got != s || err != nil {
			t.Errorf("%s: %q, %v", want, got, err)
		}
	}
	for from, want := range map[string]string{"\xff": "\ufffd", "\xc3": "\ufffd", "\xe2\x82": "\ufffd\ufffd", "\xed\xa0\xbd": "\ufffd", "\xed\xa0\xbda": "\ufffda"} {
		if got := decodeText([]byte(from)); got != want {
			t.Errorf("%q: %q, want %q", from, got, want)
		}
	}
	if b, err := appendText(nil, "\xff"); err != nil || string(b) != "\x00\x03\ufffd" {
		t.Errorf("%q, %v", b, err)
	}
}

// forged is a small file that is not packed, with these records.
func forged(records ...string) []byte {
	file := append(slices.Clone(magic), "\x09\x00\x07VERSION\x04\x00\x00\x00\x01"...)
	file = append(file, strings.Join(records, "")...)
	file = append(file, "\x00\x01\x00\x00\x01\x00 indexes that nobody reads"...)
	return append(append(file, make([]byte, trailerSize-len(magic))...), magic...)
}

const soundRecord = "\x03\x00\x01c\x07\x00\x01f\x00\x011x"

func TestHostileFiles(t *testing.T) {
	sound := forged(soundRecord)
	if _, got, err := readAll(sound); err != nil || len(got) != 1 || len(got[0].files) != 1 || got[0].files[0] != (content{"f", "x"}) {
		t.Fatalf("the sound one: %q, %v", got, err)
	}
	packed := func(block string) []byte { return append(slices.Clone(magic), block...) }
	gz := write(t, Gzip, small)
	for what, file := range map[string][]byte{
		"an unknown version":          forged("\x09\x00\x07VERSION\x04\x00\x00\x00\x02"),
		"half a version":              forged("\x09\x00\x07VERSION\x02\x00\x00"),
		"half an owner":               forged("\x13\x00\x11APPLICATION_OWNER\x02\x00\x05"),
		"half a list":                 forged("\x11\x00\x0fAPPLICATION_ACL\x03\x00\x01a"),
		"many lists":                  forged("\x11\x00\x0fAPPLICATION_ACL" + string(appendVint(nil, 400)) + strings.Repeat("\x00\x00", 200)),
		"a key of negative size":      forged("\xff\x00\x01c"),
		"a key too short":             forged("\x01\x00"),
		"a key larger than allowed":   forged(string(appendVint(nil, maxKeyBytes+1))),
		"a text longer than its key":  forged("\x03\x00\x0fcontainer_17000"),
		"a number that is none":       forged("\x80\x00\x01c"),
		"a chunk too large":           forged("\x03\x00\x01c" + string(appendVint(nil, 1<<40))),
		"a chunk that is cut":         forged("\x03\x00\x01c" + string(appendVint(nil, 1<<30))),
		"a size that is no number":    forged("\x03\x00\x01c\x07\x00\x01f\x00\x02xx"),
		"a negative size":             forged("\x03\x00\x01c\x07\x00\x01f\x00\x02-1"),
		"a name without a size":       forged("\x03\x00\x01c\x03\x00\x01f"),
		"another version at the end":  bytes.Replace(sound, []byte("\x00\x01\x00\x00\x01\x00 "), []byte("\x00\x02\x00\x00\x01\x00 "), 1),
		"another magic at the end":    append(slices.Clone(sound), 1),
		"nothing but magic":           magic,
		"no magic":                    sound[1:],
		"packed with something else":  packed("\x89LZO"),
		"packed badly":                packed("\x78\x00\x00"),
		"packed, then something else": bytes.Replace(gz, []byte("\x00\x01\x00\x00"), []byte("\x99\x01\x00\x00"), 1),
		"packed and damaged":          append(append(slices.Clone(gz[:60]), gz[60]^0xff), gz[61:]...),
	} {
		t.Run(what, func(t *testing.T) {
			if _, got, err := readAll(file); err == nil {
				t.Errorf("read as %q", got)
			} else if errors.Is(err, io.EOF) {
				t.Errorf("a plain end: %v", err)
			}
		})
	}
}

// Of a file that was not written to its end, what is there is read.
func TestFilesThatAreCut(t *testing.T) {
	for _, c := range []Compression{Uncompressed, Gzip} {
		file := write(t, c, small)
		for cut := range file {
			_, got, err := readAll(file[:cut])
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("%s cut to %d of %d bytes: %v", c, cut, len(file), err)
			}
			if cut == len(file)-1 {
				equal(t, got, small)
			}
		}
	}
}

// compat: Hadoop leaves fewer bytes than it announced when a file shrinks; what
// is there can be read, and so can the next container.
func TestAFileShorterThanAnnounced(t *testing.T) {
	r, err := NewReader(bytes.NewReader(forged("\x03\x00\x01c\x09\x00\x01f\x00\x029912", "\x03\x00\x01d\x07\x00\x01g\x00\x011x")))
	if err != nil {
		t.Fatal(err)
	}
	r.NextContainer()
	if got, err := r.NextFile(); err != nil || got != (File{Name: "f", Size: 99}) {
		t.Fatalf("%v, %v", got, err)
	}
	if got, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != "12" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := r.NextFile(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if id, err := r.NextContainer(); id != "d" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	if got, err := r.NextFile(); err != nil || got != (File{Name: "g", Size: 1}) {
		t.Errorf("%v, %v", got, err)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(stock(f, "stock.tfile"))
	f.Add(stock(f, "stock-gz.tfile"))
	f.Add(forged(soundRecord))
	f.Add(write(f, Gzip, small))
	f.Fuzz(func(t *testing.T, file []byte) {
		_, all, err := readAll(file)
		if err != nil {
			return
		}
		for _, k := range all { // what can be read can be written
			if k.id == keyVersion || k.id == keyACLs || k.id == keyOwner {
				t.Fatalf("the reserved key %s came out as a container", k.id)
			}
		}
	})
}

func FuzzVint(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(math.MinInt64))
	f.Fuzz(func(t *testing.T, n int64) {
		r := bufio.NewReader(bytes.NewReader(appendVint(nil, n)))
		if got, err := readVint(r); got != n || err != nil || r.Buffered() != 0 {
			t.Errorf("%d: %d, %v, %d bytes left", n, got, err, r.Buffered())
		}
	})
}
