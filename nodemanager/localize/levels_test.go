package localize

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// The directories above a cache have the modes that Apache's NodeManager gives them.
func TestLevels(t *testing.T) {
	top := t.TempDir()
	for _, c := range []struct {
		dir        string
		visibility Visibility
		modes      map[string]fs.FileMode
	}{
		{"filecache/0", Public, map[string]fs.FileMode{"filecache": 0o755, "filecache/0": 0o755}},
		{"usercache/a/filecache", Private, map[string]fs.FileMode{"usercache/a": 0o750, "usercache/a/filecache": 0o710}},
		{"usercache/ann/appcache/app/filecache", Application, map[string]fs.FileMode{"usercache/ann": 0o750, "usercache/ann/appcache/app": 0o710}},
	} {
		if err := MakeLevels(filepath.Join(top, c.dir), c.visibility); err != nil {
			t.Fatal(err)
		}
		for name, want := range c.modes {
			info, err := os.Stat(filepath.Join(top, name))
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, want %v (%v)", name, info.Mode().Perm(), want, err)
			}
		}
	}
}
