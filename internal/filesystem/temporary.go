package filesystem

import (
	"os"
	"path/filepath"
	"strings"
)

// Temporary names the directory of temporary files that a path of this machine lies below, as it is written or by the links on its way; "" if
// there is none. Systems empty these directories when they start, or of what has not been used for days.
func Temporary(path string) string {
	for _, p := range []string{path, target(path)} {
		p, err := filepath.Abs(p)
		if err != nil {
			continue
		}
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm", filepath.Clean(os.TempDir())} {
			if dir != "/" && (p == dir || strings.HasPrefix(p, dir+"/")) {
				return dir
			}
		}
	}
	return ""
}

// target follows the links of what exists of a path.
func target(path string) string {
	rest := ""
	for p := filepath.Clean(path); ; p = filepath.Dir(p) {
		if to, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(to, rest)
		}
		if p == filepath.Dir(p) {
			return path
		}
		rest = filepath.Join(filepath.Base(p), rest)
	}
}
