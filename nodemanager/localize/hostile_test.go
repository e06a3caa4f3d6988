package localize

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// small are limits that tests can reach.
var small = Limits{Entries: 50, Bytes: 1 << 20, Ratio: 20, RatioFree: 64 << 10, Names: 2000, Path: 300, Depth: 10, Index: 100 << 10}

func many(n int, one func(i int) entry) (out []entry) {
	for i := range n {
		out = append(out, one(i))
	}
	return out
}

// raw is a tar header with its checksum made right.
func raw(t *testing.T, change func(block []byte)) []byte {
	b := tarOf(t, entry{name: "x", content: "12345"})
	change(b[:512])
	copy(b[148:156], "        ")
	sum := 0
	for _, c := range b[:512] {
		sum += int(c)
	}
	copy(b[148:], []byte(strings.Repeat("0", 6-len(strconv.FormatInt(int64(sum), 8)))+strconv.FormatInt(int64(sum), 8)+"\x00 "))
	return b
}

func TestHostileArchives(t *testing.T) {
	link := func(name, to string) entry { return entry{name: name, kind: tar.TypeSymlink, link: to} }
	hard := func(name, to string) entry { return entry{name: name, kind: tar.TypeLink, link: to} }
	zeros := strings.Repeat("\x00", 900_000)
	honest := zipOf(t, entry{name: "x", content: "hello hello hello"})
	for _, k := range []struct {
		what, name string
		content    []byte
		why        string
	}{
		{"dots", "t.tar", tarOf(t, entry{name: "../../evil", content: "x"}), "outside of the directory"},
		{"dots inside", "t.tar", tarOf(t, entry{name: "a/../../evil", content: "x"}), "outside of the directory"},
		{"directory of dots", "t.tar", tarOf(t, entry{name: "../evil", kind: tar.TypeDir}), "outside of the directory"},
		{"dots in zip", "z.zip", zipOf(t, entry{name: "../evil", content: "x"}), "outside of the directory"},
		{"dots in jar", "z.jar", zipOf(t, entry{name: "a/../../evil", content: "x"}), "outside of the directory"},
		{"absolute link", "t.tar", tarOf(t, link("l", "/etc")), `"l" to "/etc" leads out`},
		{"link of dots", "t.tar", tarOf(t, link("a/l", "../../x")), "leads out"},
		{"link through links", "t.tar", tarOf(t, entry{name: "a/b", kind: tar.TypeDir}, link("a/b/k", "../.."), link("a/m", "b/k/../q")), "leads out"},
		{"write through a link", "t.tar", tarOf(t, entry{name: "a/b", kind: tar.TypeDir}, link("a/b/k", "../.."), link("a/m", "b/k/.."),
			entry{name: "a/m/evil", content: "x"}), "escapes"},
		{"hard link out", "t.tar", tarOf(t, hard("h", "../../../etc/passwd")), "outside of the directory"},
		{"hard link to what is not there", "t.tar", tarOf(t, hard("h", "/etc/passwd")), "not a file of this archive"},
		{"hard link to a directory", "t.tar", tarOf(t, entry{name: "d", kind: tar.TypeDir}, hard("h", "d")), "not a file of this archive"},
		{"device", "t.tar", tarOf(t, entry{name: "d", kind: tar.TypeChar}), "neither a file"},
		{"block device", "t.tar", tarOf(t, entry{name: "d", kind: tar.TypeBlock}), "neither a file"},
		{"pipe", "t.tar", tarOf(t, entry{name: "d", kind: tar.TypeFifo}), "neither a file"},
		{"file below a file", "t.tar", tarOf(t, entry{name: "f", content: "x"}, entry{name: "f/g", content: "x"}), "not a directory"},
		{"directory and file", "t.tar", tarOf(t, entry{name: "d", kind: tar.TypeDir}, entry{name: "d", content: "x"}), "and then something else"},
		{"the root itself", "t.tar", tarOf(t, entry{name: ".", content: "x"}), "without a name"},
		{"many entries", "t.tar", tarOf(t, many(51, func(i int) entry { return entry{name: strconv.Itoa(i)} })...), "more than 50 entries"},
		{"many directories", "t.tar", tarOf(t, many(9, func(i int) entry { return entry{name: strconv.Itoa(i) + "/a/b/c/d/e/f/g", kind: tar.TypeDir} })...), "more than 50 entries"},
		{"many in zip", "z.zip", zipOf(t, many(51, func(i int) entry { return entry{name: strconv.Itoa(i)} })...), "50 entries"},
		{"deep", "t.tar", tarOf(t, entry{name: strings.Repeat("d/", 11) + "x"}), "directories deep"},
		{"long path", "t.tar", tarOf(t, entry{name: strings.Repeat("d", 301)}), "a name of more than 300"},
		{"long name", "t.tar", tarOf(t, entry{name: strings.Repeat("d", 256)}), "file name too long"},
		{"long names together", "t.tar", tarOf(t, many(9, func(i int) entry { return entry{name: strings.Repeat("n", 240) + strconv.Itoa(i)} })...), "longer than 2000 bytes"},
		{"large", "t.tar", tarOf(t, entry{name: "x", content: strings.Repeat("y", 1<<20+1)}), "more than 1048576 bytes"},
		{"tar bomb", "t.tgz", gzipped(t, tarOf(t, entry{name: "x", content: zeros})), "more than 20 times"},
		{"zip bomb", "z.zip", zipOf(t, entry{name: "x", content: zeros}), "more than 20 times"},
		{"headers for ever", "t.tgz", endlessHeaders(t), "more than 20 times"},
		{"lying size", "t.tar", tarOf(t, entry{name: "x", content: strings.Repeat("y", 5000)})[:2000], "unexpected EOF"},
		{"negative size", "t.tar", raw(t, func(b []byte) { copy(b[124:136], "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff") }), "invalid tar header"},
		{"huge sparse size", "t.tar", raw(t, func(b []byte) { copy(b[124:136], "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff") }), "unexpected EOF"},
		{"zip of another size", "z.zip", patched(honest, 24, 3), "entry \"x\""},
		{"wrong sum", "z.zip", patched(honest, 16, 12345), "checksum"},
		{"encrypted", "z.zip", patched(honest, 6, 20|1<<16), "is encrypted"},
		{"unknown compression", "z.zip", patched(honest, 10, 99), "unsupported compression"},
		{"announces too much", "z.zip", announcing(honest), "50 entries"},
		{"no zip", "z.jar", []byte("what?"), "not a valid zip file"},
		{"cut zip", "z.zip", honest[:len(honest)-5], "not a valid zip file"},
		{"no gzip", "t.tgz", []byte("what?"), "not compressed by gzip"},
		{"broken gzip", "t.tgz", gzipped(t, tarOf(t, entry{name: "x", content: "12345"}))[:60], "unexpected EOF"},
		{"zero byte", "z.zip", zipOf(t, entry{name: "a\x00b", content: "x"}), "zero byte"},
	} {
		b := newBench(t, Config{Limits: small})
		before := outside(t, b)
		_, err := b.fetch(b.put(k.name, k.content, Archive))
		if err == nil || !strings.Contains(err.Error(), k.why) {
			t.Errorf("%s: %v", k.what, err)
		}
		b.holds(map[string]string{})
		if after := outside(t, b); !maps.Equal(before, after) {
			t.Errorf("%s: changed %v", k.what, after)
		}
	}
}

// outside is what lies around the cache, the source apart.
func outside(t *testing.T, b *bench) map[string]string {
	got := listing(t, filepath.Dir(b.cache))
	for name := range got {
		if strings.HasPrefix(name, filepath.Base(b.source)) {
			delete(got, name)
		}
	}
	return got
}

// patched changes four bytes of the only entry in the directory of a zip file.
func patched(zip []byte, at int, v uint32) []byte {
	zip = bytes.Clone(zip)
	i := bytes.Index(zip, []byte("PK\x01\x02"))
	if at == 6 || at == 10 { // two fields of two bytes each
		binary.LittleEndian.PutUint16(zip[i+at:], uint16(v))
		if v>>16 != 0 {
			binary.LittleEndian.PutUint16(zip[i+at+2:], binary.LittleEndian.Uint16(zip[i+at+2:])|uint16(v>>16))
		}
		return zip
	}
	binary.LittleEndian.PutUint32(zip[i+at:], v)
	return zip
}

// announcing is a zip file whose 64-bit trailer tells of 2^40 entries.
func announcing(zip []byte) []byte {
	i := bytes.LastIndex(zip, []byte("PK\x05\x06"))
	out := bytes.Clone(zip[:i])
	end := make([]byte, end64Size+locatorSize)
	copy(end, "PK\x06\x06")
	binary.LittleEndian.PutUint64(end[32:], 1<<40)
	copy(end[end64Size:], "PK\x06\x07")
	binary.LittleEndian.PutUint64(end[end64Size+8:], uint64(i))
	return append(append(out, end...), zip[i:]...)
}

// endlessHeaders are extended headers for an entry that never comes.
func endlessHeaders(t *testing.T) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	content := "100010 comment=" + strings.Repeat("c", 99994) + "\n"
	header := raw(t, func(b []byte) {
		b[156] = 'x'
		copy(b[124:136], "00000303252\x00") // 100010
	})[:512]
	for range 40 {
		w.Write(header)
		w.Write([]byte(content))
		w.Write(make([]byte, 512-len(content)%512))
	}
	w.Close()
	return out.Bytes()
}

func TestHostileIndex(t *testing.T) {
	b := newBench(t, Config{Limits: Limits{Index: 1000}})
	var entries []entry
	for i := range 6000 {
		entries = append(entries, entry{name: strconv.Itoa(i) + strings.Repeat("n", 100)})
	}
	if _, err := b.fetch(b.put("z.zip", zipOf(t, entries...), Archive)); err == nil || !strings.Contains(err.Error(), "directory of entries is too large") {
		t.Error(err)
	}
	b.holds(map[string]string{})
}

func TestClash(t *testing.T) {
	b := newBench(t, Config{})
	if _, err := b.fetch(b.put("j.jar", zipOf(t, entry{name: "x"}, entry{name: "./j.jar", content: "y"}), Pattern)); err == nil ||
		!strings.Contains(err.Error(), "the name of the jar itself") {
		t.Error(err)
	}
	r := b.put("k.jar", zipOf(t, entry{name: "x"}), Pattern)
	r.Pattern = "a(?!b)"
	if _, err := b.fetch(r); err == nil || !strings.Contains(err.Error(), "pattern") {
		t.Error(err)
	}
	b.holds(map[string]string{})
}

func TestOutsideLinksAreKept(t *testing.T) {
	b := newBench(t, Config{KeepOutsideLinks: true})
	secret := filepath.Join(b.source, "secret")
	if err := os.WriteFile(secret, []byte("s"), 0o640); err != nil {
		t.Fatal(err)
	}
	python := entry{name: "bin/python", kind: tar.TypeSymlink, link: secret}
	r := b.put("venv.tgz", gzipped(t, tarOf(t, python, entry{name: "up", kind: tar.TypeSymlink, link: "../.."})), Archive)
	if _, err := b.fetch(r); err != nil {
		t.Fatal(err)
	}
	b.holds(map[string]string{"10": "d755", "10/venv.tgz": "d700", "10/venv.tgz/bin": "d700", "10/venv.tgz/bin/python": "-> " + secret, "10/venv.tgz/up": "-> ../.."})
	for i, through := range []entry{{name: "up/evil", content: "x"}, {name: "bin/python", kind: tar.TypeDir}, {name: "h", kind: tar.TypeLink, link: "bin/python"}} {
		at := filepath.Join(b.cache, strconv.Itoa(20+i))
		_, err := b.Fetch(t.Context(), b.put("t.tar", tarOf(t, python, entry{name: "up", kind: tar.TypeSymlink, link: "../.."}, through), Archive), at, "")
		if i == 0 && (err == nil || !strings.Contains(err.Error(), "escapes")) || i > 0 && err != nil {
			t.Error(through.name, err)
		}
	}
	if info, err := os.Stat(secret); err != nil || info.Mode().Perm() != 0o640 {
		t.Error(info, err)
	}
}

func TestTimesOut(t *testing.T) {
	b := newBench(t, Config{Limits: Limits{Time: time.Nanosecond}})
	if _, err := b.fetch(b.put("x", []byte("x"), File)); err == nil || !strings.Contains(err.Error(), "longer than 1ns") {
		t.Error(err)
	}
	b.holds(map[string]string{})
}
