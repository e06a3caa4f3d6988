package logs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func content(t *testing.T, dir string) (all []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Name()+"="+string(b))
	}
	return all
}

func write(t *testing.T, f *File, lines ...string) {
	t.Helper()
	for _, l := range lines {
		if _, err := f.Write([]byte(l)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLogIsRotated(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there")
	made, err := OpenFile(filepath.Join(dir, "rm.log"), 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	made.Close()
	if _, err := OpenFile(filepath.Join(dir, "rm.log", "x"), 4, 2); err == nil {
		t.Error("a log was opened below a file")
	}
	path := filepath.Join(dir, "rm.log")
	if err := os.WriteFile(path, []byte("ab"), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "cd", "efg", "a line longer than a file", "h", "i")
	if got, want := content(t, dir), []string{"rm.log=hi", "rm.log.1=a line longer than a file", "rm.log.2=efg"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Lines that come together are parted where a file is full.
func TestLinesTogetherAreParted(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFile(filepath.Join(dir, "rm.log"), 6, 9)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "a\n", "b\nc\nd\ntoo long a line\ne\nf\n")
	if got, want := content(t, dir), []string{"rm.log=e\nf\n", "rm.log.1=too long a line\n", "rm.log.2=d\n", "rm.log.3=a\nb\nc\n"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLogWithoutOlderOnes(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFile(filepath.Join(dir, "rm.log"), 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "abcd", "e")
	if got, want := content(t, dir), []string{"rm.log=e"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A log that somebody has moved away is opened anew; one that cannot be opened stays as it is.
func TestLogIsReopened(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	path := filepath.Join(dir, "rm.log")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(path, 1000, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, f, "a")
	if err := os.Rename(path, filepath.Join(dir, "moved")); err != nil {
		t.Fatal(err)
	}
	write(t, f, "b")
	if err := f.Reopen(); err != nil {
		t.Fatal(err)
	}
	write(t, f, "c")
	if got, want := content(t, dir), []string{"moved=ab", "rm.log=c"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if f.Reopen() == nil {
		t.Error("a log was opened in a directory that is not there")
	}
	write(t, f, "d")
	if got, want := content(t, dir+".away"), []string{"moved=ab", "rm.log=cd"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSizesOfLogs(t *testing.T) {
	for text, want := range map[string]int64{"256MB": 256 << 20, "10kb": 10 << 10, "1GB": 1 << 30, "12": 12, "": 0, "-1": 0, "MB": 0, "9999999999GB": 0, "1.5MB": 0} {
		if got, err := ParseSize(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
}
