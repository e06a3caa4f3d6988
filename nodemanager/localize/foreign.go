package localize

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// Foreign fetches from file systems that this node does not speak to by itself.
type Foreign interface {
	// Fetch downloads a resource to a file or directory of its name in Job.Dest, which it creates, and returns its path. It may
	// also use Dest+Suffix. Once it has returned, nothing writes there any more. The caller trusts none of the result: it checks
	// what was written and, after an error, removes it.
	Fetch(ctx context.Context, j Job) (file string, err error)
}

// foreign has a resource fetched by Config.Foreign.
func (f *Fetcher) foreign(ctx context.Context, j Job) (res Result, err error) {
	for _, dir := range []string{j.Dest, j.Dest + Suffix} {
		if _, err := os.Lstat(dir); err == nil {
			return res, &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
		}
	}
	if err := MakeLevels(filepath.Dir(j.Dest), j.Request.Visibility); err != nil {
		return res, err
	}
	arrived := false
	defer func() { // after a panic, too
		err = errors.Join(err, removeAll(j.Dest+Suffix))
		if !arrived {
			err = errors.Join(err, removeAll(j.Dest))
		}
	}()
	file, err := f.cfg.Foreign.Fetch(ctx, j)
	if err != nil {
		return res, err
	}
	name, err := j.Request.URL.Name()
	if want := filepath.Join(j.Dest, name); err == nil && file != want {
		err = fmt.Errorf("it is said to be at %.300q instead of %s", file, want)
	}
	b := f.budget(ctx, j)
	defer b.end()
	if err == nil {
		err = (&arrival{budget: &b, modes: modesOf(j.Request.Visibility)}).look(j.Dest, name)
	}
	if err != nil {
		return res, fmt.Errorf("what came into %s: %w", j.Dest, err)
	}
	arrived = true
	return Result{file, b.written}, nil
}

// arrival checks what Config.Foreign has put into a numbered directory, and sets the modes of the cache.
type arrival struct {
	root *os.Root
	*budget
	modes
}

// listPart is how many names of a directory are read at a time.
const listPart = 128

func (a *arrival) look(dest, name string) (err error) {
	top, err := os.Lstat(dest)
	if err != nil {
		return err
	}
	if !top.IsDir() {
		return fmt.Errorf("it is no directory but %v", top.Mode().Type())
	}
	if a.root, err = os.OpenRoot(dest); err != nil {
		return err
	}
	defer a.root.Close()
	info, err := a.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is neither a file nor a directory", name)
	}
	if err := a.dir(".", 0); err != nil {
		return err
	}
	return os.Chmod(dest, 0o755)
}

// dir looks at everything in a directory.
func (a *arrival) dir(name string, depth int) error {
	if depth > a.limits.Depth {
		return fmt.Errorf("%s: more than %d directories deep", name, a.limits.Depth)
	}
	if err := a.root.Chmod(name, a.modes.dir); err != nil { // before it is read: one without rights cannot be
		return err
	}
	f, err := a.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(listPart)
		for _, each := range names {
			if err := a.entryAt(path.Join(name, each), depth); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (a *arrival) entryAt(name string, depth int) error {
	if err := a.entry(name); err != nil {
		return err
	}
	info, err := a.root.Lstat(name)
	if err != nil {
		return err
	}
	switch kind := info.Mode().Type(); kind {
	case fs.ModeDir:
		return a.dir(name, depth+1)
	case fs.ModeSymlink: // nothing here ever follows it
		return nil
	case 0:
		if a.written += info.Size(); a.written > a.limits.Bytes {
			return fmt.Errorf("it has more than %d bytes", a.limits.Bytes)
		}
		return a.root.Chmod(name, a.file)
	default:
		return fmt.Errorf("entry %q is no file, directory or link but %v", name, kind)
	}
}

// removeAll removes a tree, with directories in it that nobody may enter.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(at, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
