package hosts_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/internal/hosts/hoststest"
)

// Every list that is broken is refused, with its file and, where there is one, its line.
func TestRefusals(t *testing.T) {
	for _, c := range hoststest.Lists() {
		path := filepath.Join(t.TempDir(), c.File)
		if err := os.WriteFile(path, []byte(c.Content), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := hosts.Read("", path)
		var failed *hosts.Error
		if !errors.As(err, &failed) || failed.Role != hosts.Exclude || !strings.Contains(err.Error(), c.Want) || !strings.Contains(err.Error(), path) || len(err.Error()) > 1000 {
			t.Errorf("%.60q: %v, %v; want %q", c.Content, l, err, c.Want)
			continue
		}
		if line := regexp.MustCompile(`: line [1-9]\d*: `); !line.MatchString(err.Error()) && !strings.Contains(c.Want, "larger") {
			t.Errorf("%.60q: %v does not say in which line", c.Content, err)
		}
	}
	entry := `{"include":[` + "\n" + `{"host":"n1","timeoutSecs":5}]}`
	if _, err := hosts.ParseJSON([]byte(entry), hosts.Include, false); err == nil || !strings.Contains(err.Error(), `line 2: "timeoutSecs" is not known here; there is host`) {
		t.Errorf("a timeout in the include list: %v", err)
	}
}

// What is no regular file is refused at once.
func TestOtherThanFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, link, loop, locked := filepath.Join(dir, "pipe.json"), filepath.Join(dir, "link.xml"), filepath.Join(dir, "loop"), filepath.Join(dir, "locked")
	for _, err := range []error{syscall.Mkfifo(pipe, 0o600), os.Symlink(pipe, link), os.Symlink(loop, loop), os.WriteFile(locked, nil, 0)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	type refusal struct{ path, want string }
	cases := []refusal{{dir, "it is a directory"}, {pipe, "it is not a regular file"}, {link, "it is not a regular file"}, {"/dev/zero", "it is not a regular file"},
		{loop, "too many levels"}, {filepath.Join(dir, "gone"), "no such file"}, {filepath.Join(pipe, "below"), "not a directory"}, {dir + "/\x00", "invalid argument"}}
	if os.Getuid() != 0 {
		cases = append(cases, refusal{locked, "permission denied"})
	}
	for _, c := range cases {
		for role, paths := range [][2]string{{c.path, ""}, {"", c.path}} {
			_, err := hosts.Read(paths[0], paths[1])
			var failed *hosts.Error
			if !errors.As(err, &failed) || failed.Role != hosts.Role(role) || !strings.HasPrefix(err.Error(), "read host list "+c.path+": "+c.want) {
				t.Errorf("%s as the %s list: %v", c.path, hosts.Role(role), err)
			}
		}
	}
}
