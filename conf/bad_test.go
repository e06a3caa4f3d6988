package conf

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/bad*/*.err")

// TestBadFiles holds each bad file of the corpus to its exact error.
func TestBadFiles(t *testing.T) {
	badFiles(t, "testdata/bad", 25, func(p *Properties) error { _, err := ReadResourceManager(p); return err })
}

// TestBadNodeFiles does so for the NodeManager's properties.
func TestBadNodeFiles(t *testing.T) {
	badFiles(t, "testdata/badnode", 12, func(p *Properties) error { _, err := ReadNodeManager(p); return err })
}

func badFiles(t *testing.T, dir string, least int, read func(*Properties) error) {
	files, err := filepath.Glob(dir + "/*.xml")
	if err != nil || len(files) < least {
		t.Fatalf("corpus: %d files, %v", len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			got := fmt.Sprint(startError(path, read)) + "\n"
			golden := strings.TrimSuffix(path, ".xml") + ".err"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := readText(t, golden); got != want {
				t.Errorf("got  %swant %s", got, want)
			}
			if got == "<nil>\n" {
				t.Error("the file was accepted")
			}
		})
	}
}

// startError is what a daemon's start would say about one file.
func startError(path string, read func(*Properties) error) error {
	p, err := Load(Options{Dir: filepath.Dir(path), Files: []string{filepath.Base(path)}, System: map[string]string{"yarn.log.dir": "/logs"}})
	if err != nil {
		return err
	}
	return read(p)
}

// memory serves files to Load.
func memory(files map[string]string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

func TestLimits(t *testing.T) {
	wrap := func(s string) string { return "<configuration>" + s + "</configuration>" }
	property := func(name, value string) string {
		return "<property><name>" + name + "</name><value>" + value + "</value></property>"
	}
	deep := func(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }
	for _, c := range []struct{ what, file, want string }{
		{"depth 64", wrap(deep(63)), ""},
		{"depth 65", wrap(deep(64)), "f.xml:1:205: elements are nested more than 64 deep"},
		{"name", wrap(property(strings.Repeat("n", MaxNameBytes+1), "v")), "f.xml:1:4136: a property name is longer than 4096 bytes"},
		{"value", wrap(property("n", strings.Repeat("v", MaxValueBytes+1))), "f.xml:1:47: text is longer than 1048576 bytes"},
		{"size", strings.Repeat(" ", MaxFileBytes+1), "f.xml: the file is larger than 67108864 bytes"},
		{"properties", wrap(strings.Repeat(`<property name="n"/>`, MaxProperties+1)), "f.xml:1:10485776: more than 524288 properties"},
	} {
		_, err := Load(Options{NoDefaults: true, Files: []string{"f.xml"}, Read: memory(map[string]string{"f.xml": c.file})})
		if got := errText(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestIncludeLimits(t *testing.T) {
	files := map[string]string{}
	for i := range 12 {
		files[fmt.Sprintf("f%d.xml", i)] = fmt.Sprintf(`<configuration><include href="f%d.xml"/></configuration>`, i+1)
	}
	files["wide.xml"] = "<configuration>" + strings.Repeat(`<include href="f12.xml"/>`, maxIncludes+1) + "</configuration>"
	files["f12.xml"] = "<configuration/>"
	for name, want := range map[string]string{
		"f0.xml":   `f8.xml:1:16: include of "f9.xml": files are included more than 8 deep`,
		"wide.xml": `wide.xml:1:2516: include of "f12.xml": more than 100 files are included`,
		"f4.xml":   "",
	} {
		_, err := Load(Options{NoDefaults: true, Files: []string{name}, Read: memory(files)})
		if got := errText(err); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestMissingFiles(t *testing.T) {
	if _, err := Load(Options{Dir: t.TempDir()}); err != nil {
		t.Errorf("the standard files must be optional: %v", err)
	}
	_, err := Load(Options{Dir: "/nowhere", NoDefaults: true, Files: []string{"capacity-scheduler.xml"}})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/nowhere/capacity-scheduler.xml") {
		t.Errorf("a required file that is missing: %v", err)
	}
	if _, err := Load(Options{Dir: "/nowhere", NoDefaults: true, Files: []string{"x.xml"}, Optional: true}); err != nil {
		t.Errorf("an optional file that is missing: %v", err)
	}
	if _, err := ReadFile(t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("reading a directory: %v", err)
	}
}
