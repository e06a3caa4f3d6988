package golden

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// Every file that a set's index names is there, under the name that the index gives it.
func TestEverySetHoldsWhatItsIndexNames(t *testing.T) {
	sets, err := Sets()
	if err != nil || len(sets) < 5 {
		t.Fatalf("Sets() = %v, %v; want at least five", sets, err)
	}
	for _, set := range sets {
		fsys, err := Open(set)
		if err != nil {
			t.Fatal(err)
		}
		index, err := fs.ReadFile(fsys, "index.tsv")
		if err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.TrimSpace(string(index)), "\n")
		if len(rows) < 20 {
			t.Errorf("%s: only %d rows", set, len(rows))
		}
		for _, row := range rows {
			column := strings.Split(row, "\t")
			if _, err := fs.Stat(fsys, strings.TrimPrefix(column[3], set+"/")); err != nil {
				t.Errorf("%s: row %q: %v", set, column[1], err)
			}
		}
	}
}

// Every trace starts with its header and every later line has what Apache's side saw.
func TestEveryTraceIsReadable(t *testing.T) {
	profiles, err := Profiles()
	if err != nil || len(profiles) < 20 {
		t.Fatalf("Profiles() = %v, %v; want at least twenty", profiles, err)
	}
	for _, p := range profiles {
		fsys, err := Traces(p)
		if err != nil {
			t.Fatal(err)
		}
		names, err := fs.Glob(fsys, "*.jsonl")
		if err != nil || len(names) == 0 {
			t.Errorf("%s: no traces (%v)", p, err)
		}
		for _, name := range names {
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := bytes.Cut(data, []byte("\n"))
			var header struct {
				Trace     int    `json:"trace"` // of a scheduler's decisions
				Scheduler string `json:"scheduler"`
				Plan      int    `json:"plan"` // or of plans
			}
			if err := json.Unmarshal(first, &header); err != nil || header.Plan != 1 && (header.Trace != 1 || header.Scheduler == "") {
				t.Errorf("%s/%s: header %.80s: %v", p, name, first, err)
			}
			if events, saw := bytes.Count(data, []byte("\n")), bytes.Count(data, []byte(`"saw":`)); saw != events-1 {
				t.Errorf("%s/%s: %d lines, %d with an answer", p, name, events, saw)
			}
		}
	}
}

func TestUnknownSetNamesTheKnown(t *testing.T) {
	_, err := Open("nothing")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "capacity") {
		t.Errorf("Open(nothing) = %v", err)
	}
	for _, bad := range []string{"../goldens/fair", "/etc/passwd", ""} {
		if _, err := Open(bad); err == nil {
			t.Errorf("Open(%q) succeeded", bad)
		}
	}
}

func TestReadKeepsItsBounds(t *testing.T) {
	pack := func(names ...string) *bytes.Buffer {
		var buf bytes.Buffer
		zw := gzip.NewWriter(&buf)
		tw := tar.NewWriter(zw)
		for _, n := range names {
			if err := tw.WriteHeader(&tar.Header{Name: n, Size: 10, Mode: 0o644, Typeflag: tar.TypeReg}); err != nil {
				t.Fatal(err)
			}
			if _, err := tw.Write([]byte("0123456789")); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(tw.Close(), zw.Close()); err != nil {
			t.Fatal(err)
		}
		return &buf
	}
	for _, c := range []struct {
		name  string
		names []string
		want  string
	}{
		{"fits", []string{"a/1", "a/2"}, ""},
		{"too many files", []string{"1", "2", "3"}, "more than 2 files"},
		{"outside", []string{"../x"}, "leaves the archive"},
	} {
		_, err := read(pack(c.names...), 2, 100)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := read(pack("a", "b"), 2, 15); err == nil || !strings.Contains(err.Error(), "more content") {
		t.Errorf("too large: %v", err)
	}
	whole := pack("a").Bytes()
	for n := range whole {
		if _, err := Read(bytes.NewReader(whole[:n])); err == nil {
			t.Errorf("an archive cut off at byte %d of %d was read without an error", n, len(whole))
		}
	}
}
