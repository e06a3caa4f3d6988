package localize

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
)

// modes are those of everything in a cache.
type modes struct{ file, dir fs.FileMode }

func modesOf(v Visibility) modes {
	if v == Public {
		return modes{0o555, 0o755}
	}
	return modes{0o500, 0o700}
}

// tree writes files, directories and links below a directory that nothing written can leave.
type tree struct {
	root *os.Root
	*budget
	modes
	outside bool     // links out of the tree are kept
	links   []string // symbolic ones that were made, to be looked at in the end unless they are kept wherever they lead
}

// clean is an entry's name relative to the tree: "." for the tree itself.
//
// compat: what names an absolute path is taken from the tree's root on, as tar does.
func (t *tree) clean(name string) (string, error) {
	if len(name) > t.limits.Path {
		return "", fmt.Errorf("entry %.64q…: a name of more than %d bytes", name, t.limits.Path)
	}
	if strings.IndexByte(name, 0) >= 0 {
		return "", fmt.Errorf("entry %q: a zero byte in the name", name)
	}
	local := path.Clean(strings.TrimLeft(name, "/"))
	if leaves(local) {
		return "", fmt.Errorf("entry %q would be outside of the directory it is unpacked to", name)
	}
	if strings.Count(local, "/") >= t.limits.Depth {
		return "", fmt.Errorf("entry %q: more than %d directories deep", name, t.limits.Depth)
	}
	return local, nil
}

func leaves(clean string) bool { return clean == ".." || strings.HasPrefix(clean, "../") }

// dir creates a directory with what is missing above it. One that exists stays.
func (t *tree) dir(name string) error {
	name, err := t.clean(name)
	if err != nil || name == "." {
		return err
	}
	return t.make(name, true, func() error {
		if err := t.root.Mkdir(name, 0o700); err != nil {
			return err
		}
		if err := t.entry(name); err != nil {
			return err
		}
		return t.root.Chmod(name, t.modes.dir)
	})
}

// file creates a file; an earlier entry of that name gives way, as it does for tar and unzip. A zero time is now.
func (t *tree) file(name string, modified time.Time, content io.Reader) error {
	name, err := t.clean(name)
	if err != nil {
		return err
	}
	if err := t.entry(name); err != nil {
		return err
	}
	var f *os.File
	err = t.make(name, false, func() (err error) {
		f, err = t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = t.copy(f, content)
	if err == nil {
		err = f.Chmod(t.modes.file)
	}
	err = errors.Join(err, f.Close())
	if err == nil && modified.Unix() > 0 {
		err = t.root.Chtimes(name, modified, modified)
	}
	return err
}

// symlink creates a symbolic link. Where it leads in the end is looked at by finish, when all is there.
func (t *tree) symlink(name, target string) error {
	name, err := t.clean(name)
	if err != nil {
		return err
	}
	if target == "" || len(target) > t.limits.Path || strings.IndexByte(target, 0) >= 0 {
		return fmt.Errorf("the symbolic link %q has no usable target", name)
	}
	if err := t.entry(name + target); err != nil {
		return err
	}
	if !t.outside && (path.IsAbs(target) || leaves(path.Join(path.Dir(name), target))) {
		return leadsOut(name, target)
	}
	if !t.outside {
		t.links = append(t.links, name)
	}
	return t.make(name, false, func() error { return t.root.Symlink(target, name) })
}

func leadsOut(name, target string) error {
	return fmt.Errorf("the symbolic link %q to %q leads out of the directory it is unpacked to", name, target)
}

// link creates another name for a file that was unpacked before.
func (t *tree) link(name, target string) error {
	name, err := t.clean(name)
	if err != nil {
		return err
	}
	if target, err = t.clean(target); err != nil {
		return err
	}
	if err := t.entry(name); err != nil {
		return err
	}
	if i, err := t.root.Lstat(target); err != nil || i.IsDir() {
		return fmt.Errorf("the hard link %q leads to %q, which is not a file of this archive", name, target)
	}
	if name == target {
		return nil
	}
	return t.make(name, false, func() error { return t.root.Link(target, name) })
}

// make creates something, if need be after the directories above it, and in the place of what has the name already: of
// anything but a directory, and a directory stays one.
func (t *tree) make(name string, dir bool, create func() error) error {
	if name == "." {
		return errors.New("an entry without a name that is not a directory")
	}
	err := create()
	if errors.Is(err, fs.ErrNotExist) {
		if err := t.dir(path.Dir(name)); err != nil {
			return err
		}
		err = create()
	}
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	switch old, err := t.root.Lstat(name); {
	case err != nil:
		return err
	case old.IsDir() && dir:
		return nil
	case old.IsDir():
		return fmt.Errorf("entry %q is a directory, and then something else", name)
	}
	if err := t.root.Remove(name); err != nil {
		return err
	}
	return create()
}

// finish refuses symbolic links that lead out of the tree by way of others. Links to nothing stay.
func (t *tree) finish() error {
	if t.outside {
		return nil
	}
	for _, name := range t.links {
		_, err := t.root.Stat(name)
		nowhere := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
		if err != nil && !nowhere {
			target, _ := t.root.Readlink(name)
			return leadsOut(name, target)
		}
	}
	return nil
}
