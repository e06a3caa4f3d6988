package store

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/nodemanager/state"
)

// A file that is deleted while it is in use, alone or with what it is in, is there again with all that it had.
func TestDeleted(t *testing.T) {
	for name, c := range map[string]struct{ away func(dir string) error }{
		"the file":           {func(dir string) error { return os.Remove(filepath.Join(dir, File)) }},
		"its directory":      {os.RemoveAll},
		"all above it":       {func(dir string) error { return os.RemoveAll(filepath.Dir(dir)) }},
		"moved to elsewhere": {func(dir string) error { return os.Rename(dir, dir+".old") }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "above", "recovery")
			s := open1(t, dir)
			anew := 0
			s.Restored = func() { anew++ }
			ops, want := everything()
			s.mustCommit(t, ops...)
			for n := range 3 {
				if err := c.away(dir); err != nil {
					t.Fatal(err)
				}
				if n == 1 {
					s.mustCommit(t) // a look is enough
				} else {
					s.mustCommit(t, ops[0])
				}
				if _, err := os.Stat(filepath.Join(dir, File)); err != nil || anew != n+1 {
					t.Errorf("written anew %d times: %v", anew, err)
				}
				_ = os.RemoveAll(dir + ".old")
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got := open1(t, dir).mustLoad(t); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "*")); len(left) != 2 { // the file and its witness
				t.Errorf("the directory has %v, %v", left, err)
			}
		})
	}
}

// What cannot be written anew is kept later, when it can.
func TestAway(t *testing.T) {
	for name, c := range map[string]struct {
		away, back func(dir string) error
		why        string
	}{
		"replaced": {func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, File), []byte("mine"), 0o600))
		}, func(dir string) error { return os.Rename(dir, dir+".new") }, "another file has come in its place"},
		"no directory": {func(dir string) error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) }, os.Remove, "not a directory"},
		"no directory, then the old one": {func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.WriteFile(dir, nil, 0o600)) },
			func(dir string) error { return errors.Join(os.Remove(dir), os.Rename(dir+".old", dir)) }, "not a directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "recovery")
			s := open1(t, dir)
			ops, want := everything()
			s.mustCommit(t, ops[:len(ops)-1]...)
			if err := c.away(dir); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := s.Commit(ops[len(ops)-1:]); !errors.Is(err, state.ErrAway) || !strings.Contains(err.Error(), c.why) {
					t.Fatal(err)
				}
			}
			if err := c.back(dir); err != nil {
				t.Fatal(err)
			}
			s.mustCommit(t, ops[len(ops)-1:]...)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if got := open1(t, dir).mustLoad(t); !reflect.DeepEqual(got, want) {
				t.Errorf("got  %+v\nwant %+v", got, want)
			}
		})
	}
}
