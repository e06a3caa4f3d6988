package localize

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"encoding/binary"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// sharing is a zip file whose directory has n records of the one entry that it holds, under names of their own.
func sharing(t *testing.T, n int) []byte {
	one := zipOf(t, entry{name: "00000000", content: "x"})
	start := bytes.Index(one, []byte(recordMark))
	end := bytes.LastIndex(one, []byte(endMark))
	out := bytes.Clone(one[:start])
	for i := range n {
		record := bytes.Clone(one[start:end])
		copy(record[recordSize:], []byte(strings.Repeat("0", 8-len(strconv.Itoa(i)))+strconv.Itoa(i)))
		out = append(out, record...)
	}
	tail := bytes.Clone(one[end:])
	little.PutUint16(tail[8:], uint16(n))
	little.PutUint16(tail[10:], uint16(n))
	little.PutUint32(tail[12:], uint32(len(out)-start))
	return append(out, tail...)
}

// wide is a zip file whose numbers stand in the record for large ones.
func wide(zip []byte) []byte {
	i := bytes.LastIndex(zip, []byte(endMark))
	out, end := bytes.Clone(zip[:i]), bytes.Clone(zip[i:])
	big := make([]byte, end64Size+locatorSize)
	copy(big, end64Mark)
	little.PutUint64(big[24:], uint64(little.Uint16(end[8:])))
	little.PutUint64(big[32:], uint64(little.Uint16(end[10:])))
	little.PutUint64(big[40:], uint64(little.Uint32(end[12:])))
	little.PutUint64(big[48:], uint64(little.Uint32(end[16:])))
	copy(big[end64Size:], locatorMark)
	little.PutUint64(big[end64Size+8:], uint64(i))
	little.PutUint32(big[end64Size+16:], 1)
	for at := 8; at < 20; at++ {
		end[at] = 0xff
	}
	return append(append(out, big...), end...)
}

// A zip file is unpacked part by part, whatever stands before and behind it.
func TestUnpackInParts(t *testing.T) {
	var entries []entry
	want := map[string]string{"10": "d755", "10/z.zip": "d700"}
	for i := range 3*partEntries + 5 {
		name := "n" + strconv.Itoa(i)
		entries = append(entries, entry{name: name, content: "content of " + name})
		want["10/z.zip/"+name] = "500 content of " + name
	}
	plain := zipOf(t, entries...)
	before := append([]byte("#!/bin/sh\nexec unzip \"$0\"\n"), plain...)
	commented := append(bytes.Clone(plain), "PK\x05\x06 is no end"...)
	little.PutUint16(commented[len(plain)-2:], uint16(len(commented)-len(plain)))
	said := append(bytes.Repeat([]byte("-"), 10), plain...) // and the directory counts what stands before
	at := len(said) - endSize
	little.PutUint32(said[at+16:], little.Uint32(said[at+16:])+10)
	for i := 10; ; {
		n := bytes.Index(said[i:], []byte(recordMark))
		if n < 0 {
			break
		}
		i += n
		little.PutUint32(said[i+42:], little.Uint32(said[i+42:])+10)
		i += recordSize
	}
	for name, content := range map[string][]byte{"plain": plain, "behind a script": before, "with a comment": commented, "wide": wide(plain), "behind something known": said} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, Config{Limits: Limits{Small: 10}})
			if _, err := b.fetch(b.put("z.zip", content, Archive)); err != nil {
				t.Fatal(err)
			}
			b.holds(want)
		})
	}
	for name, c := range map[string]struct {
		content []byte
		why     string
	}{
		"one too few": {func() []byte {
			b := bytes.Clone(plain)
			little.PutUint16(b[len(b)-12:], uint16(len(entries)+1))
			return b
		}(), "entries and has"},
		"shared":           {sharing(t, 1000), `entry "00000001" shares its bytes`},
		"cut record":       {cutRecord(plain), "ends within one"},
		"directory beyond": {func() []byte { b := bytes.Clone(plain); little.PutUint32(b[len(b)-6:], 1<<30); return b }(), "not a valid zip file"},
	} {
		b := newBench(t, Config{})
		if _, err := b.fetch(b.put("z.zip", c.content, Archive)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
		b.holds(map[string]string{})
	}
}

// Few entries are held at a time when each says much about itself.
func TestPartsAreSmall(t *testing.T) {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	const entries = 2 * partEntries
	for i := range entries {
		_, err := w.CreateHeader(&zip.FileHeader{Name: strconv.Itoa(i), Extra: make([]byte, 60_000), Comment: strings.Repeat("c", 60_000)})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := findDirectory(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	index := bufio.NewReader(bytes.NewReader(file.Bytes()[d.start:d.end]))
	seen := 0
	for {
		part, n, err := nextPart(index)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			break
		}
		if seen += n; len(part) > partBytes+recordSize+3<<16 {
			t.Fatalf("%d bytes are held of %d entries", len(part), n)
		}
	}
	if seen != entries {
		t.Errorf("%d of %d entries", seen, entries)
	}
	b := newBench(t, Config{})
	if got, err := b.fetch(b.put("z.zip", file.Bytes(), Archive)); err != nil {
		t.Error(got, err)
	}
}

// cutRecord makes the last record claim a longer name than there is.
func cutRecord(zip []byte) []byte {
	b := bytes.Clone(zip)
	binary.LittleEndian.PutUint16(b[bytes.LastIndex(b, []byte(recordMark))+28:], 60_000)
	return b
}

// lines counts log lines by their message.
type lines struct {
	mu  sync.Mutex
	out map[string]int
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, message := range []string{"a large resource waits"} {
		l.out[message] += bytes.Count(p, []byte(message))
	}
	return len(p), nil
}

// Of large resources one user has a few at once, and nobody else waits for these.
func TestLargeOnesWait(t *testing.T) {
	big := many(20, func(i int) entry { return entry{name: strconv.Itoa(i), content: "x"} })
	content := tarOf(t, big...)
	open := make(chan struct{})
	halfway := make(chan struct{}, 100)
	source := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		const half = 15 * 1024
		_, _ = w.Write(content[:half])
		w.(http.Flusher).Flush()
		halfway <- struct{}{}
		select {
		case <-open:
		case <-r.Context().Done():
		}
		_, _ = w.Write(content[half:])
	}))
	t.Cleanup(source.Close)
	url, err := filesystem.ParseURL(source.URL)
	if err != nil {
		t.Fatal(err)
	}
	said := &lines{out: map[string]int{}}
	b := newBench(t, Config{OthersWorkers: 8, Large: 1, Limits: Limits{Small: 10}, Log: slog.New(slog.NewTextHandler(said, nil))})
	var o outcomes
	submit := func(user, name string, r Request) {
		t.Helper()
		o.done.Add(1)
		if err := b.Submit(t.Context(), Job{Request: r, Dest: filepath.Join(b.cache, name), User: user}, func(_ Result, err error) {
			if err != nil {
				t.Errorf("%s of %s: %v", name, user, err)
			}
			o.done.Done()
		}); err != nil {
			t.Error(err)
		}
	}
	for i := range 3 {
		submit("mallory", strconv.Itoa(10+i), Request{URL: url.At("/" + strconv.Itoa(i) + ".tar"), Type: Archive, Visibility: Private})
	}
	for range 3 {
		<-halfway
	}
	for said.count("a large resource waits") < 2 {
		time.Sleep(time.Millisecond)
	}
	small, large := b.put("small.tar", tarOf(t, big[:9]...), Archive), b.put("large.tar", content, Archive)
	for _, r := range []Request{small, large} {
		if _, err := b.Fetch(t.Context(), r, filepath.Join(b.cache, "20"), "ann"); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(filepath.Join(b.cache, "20")); err != nil {
			t.Error(err)
		}
	}
	close(open)
	o.done.Wait()
	if n := said.count("a large resource waits"); n != 2 || b.large.free != 2 {
		t.Errorf("%d have waited, and %d places are free", n, b.large.free)
	}
}

func (l *lines) count(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out[message]
}

// What is held in memory has bounds of its own.
func TestHeldInMemory(t *testing.T) {
	said := strings.Repeat("r", 3000)
	headers := func() []byte {
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		if err := w.WriteHeader(&tar.Header{Name: "x", PAXRecords: map[string]string{"HEDDLE.said": said}}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}()
	b := newBench(t, Config{Large: 1, Limits: Limits{Headers: 4 << 10, SmallHeaders: 2 << 10}})
	if _, err := b.fetch(b.put("x.tar", headers, Archive)); err != nil || b.large.last != 0 || b.large.free != 2 {
		t.Error(err)
	}
	b = newBench(t, Config{Limits: Limits{Headers: 2 << 10}})
	if _, err := b.fetch(b.put("x.tar", headers, Archive)); err == nil || !strings.Contains(err.Error(), "what it says about one entry is longer than 2048 bytes") {
		t.Error(err)
	}
	b.holds(map[string]string{})
	b = newBench(t, Config{Limits: Limits{SmallListed: 2, Listed: 6}})
	dir := filepath.Join(b.source, "d")
	for _, name := range []string{"a/b/c", "a/b/d", "a/e", "f", "g/h", "i"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := filepath.WalkDir(dir, func(at string, _ os.DirEntry, _ error) error { return os.Chmod(at, 0o755) }); err != nil {
		t.Fatal(err)
	}
	for _, visibility := range []Visibility{Application, Public} {
		r := b.ask(dir, File)
		r.Visibility = visibility
		for _, top := range []string{b.source, filepath.Dir(b.source)} {
			if err := os.Chmod(top, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := b.fetch(r); err == nil || !strings.Contains(err.Error(), "in directories that lie in each other") {
			t.Error(err)
		}
		b.holds(map[string]string{})
	}
	if err := os.RemoveAll(filepath.Join(dir, "a", "b")); err != nil {
		t.Fatal(err)
	}
	if _, err := b.fetch(b.ask(dir, File)); err != nil {
		t.Error(err)
	}
}
