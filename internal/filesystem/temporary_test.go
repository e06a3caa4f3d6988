package filesystem

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTemporary(t *testing.T) {
	t.Setenv("TMPDIR", "/scratch/")
	for path, want := range map[string]string{
		"/tmp": "/tmp", "/tmp/hadoop-yarn/yarn/system/rmstore.bolt": "/tmp", "/var/../tmp/x": "/tmp", "/var/tmp/x": "/var/tmp", "/dev/shm/x": "/dev/shm",
		"/scratch/x/y": "/scratch", "/scratches": "", "/tmpfiles/x": "", "/var/lib/hadoop-yarn/rmstore.bolt": "", "/": "", "/data/tmp/x": "",
	} {
		if got := Temporary(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestTargetOfLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "real"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := target(filepath.Join(dir, "link", "a", "b")), filepath.Join(dir, "real", "a", "b"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
