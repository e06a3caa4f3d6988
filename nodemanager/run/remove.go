package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxDepth     = 50      // directories that are open at a time
	removePart   = 512     // names that are asked for at a time
	maxPasses    = 100_000 // through one directory, which somebody may be filling
	maxRemoveErr = 10      // failures that are told
)

// RemoveTree deletes a file, a link or a directory with all that is in it, given by a plain absolute path. What is not there is no error. Symbolic links are
// never followed, whatever happens meanwhile; directories that deny access are opened up first; a file system mounted in
// there is left alone. It goes on after a failure and tells the first few.
func RemoveTree(name string) error {
	if err := removable(name); err != nil {
		return err
	}
	name = filepath.Clean(name)
	parent, err := openDir(unix.AT_FDCWD, filepath.Dir(name), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	defer unix.Close(parent)
	r := remover{stash: -1}
	r.remove(parent, filepath.Base(name), name, 0)
	return errors.Join(r.errs...)
}

// removable refuses names that nobody who knows what they delete would give: relative ones, those that go upwards and the
// root.
func removable(name string) error {
	if !filepath.IsAbs(name) || filepath.Clean(name) == "/" || slices.Contains(strings.Split(name, "/"), "..") {
		return fmt.Errorf("remove %q: not a plain absolute path", name)
	}
	return nil
}

// remover deletes one tree. Its directories are reached by the file descriptors of their parents, never by name.
type remover struct {
	errs  []error
	stash int // the topmost directory, to which deep ones are moved; negative: none yet
}

func (r *remover) fail(path string, err error) bool {
	err = fmt.Errorf("remove %s: %w", path, err)
	again := slices.ContainsFunc(r.errs, func(old error) bool { return old.Error() == err.Error() })
	if len(r.errs) < maxRemoveErr && !again {
		r.errs = append(r.errs, err)
	}
	return false
}

// remove deletes the entry of the directory, and tells whether that is done. path is for messages.
func (r *remover) remove(parent int, name, path string, depth int) bool {
	err := unlink(parent, name, 0)
	if err == nil {
		return true
	}
	if !errors.Is(err, unix.EISDIR) {
		return r.fail(path, err)
	}
	if mounted(parent, name) {
		return r.fail(path, errors.New("a file system is mounted there"))
	}
	dir, err := openDir(parent, name, unix.O_NOFOLLOW)
	if errors.Is(err, unix.EACCES) && openUp(parent, name) == nil {
		dir, err = openDir(parent, name, unix.O_NOFOLLOW)
	}
	if err != nil {
		return r.fail(path, err)
	}
	defer unix.Close(dir)
	r.empty(dir, path, depth)
	if err := unlink(parent, name, unix.AT_REMOVEDIR); err != nil {
		return r.fail(path, err)
	}
	return true
}

// empty deletes the entries of the directory, going through it until nothing more can be deleted: file systems may leave
// names out while others go.
func (r *remover) empty(dir int, path string, depth int) {
	_ = unix.Fchmod(dir, 0o700) // nothing can be deleted from a directory that is not writable
	if r.stash < 0 {
		r.stash = dir
	}
	for range maxPasses {
		n, err := r.pass(dir, path, depth)
		if err != nil {
			r.fail(path, err)
		}
		if n == 0 || err != nil {
			return
		}
	}
	r.fail(path, errors.New("it fills up again and again"))
}

// pass goes through the directory once and tells how many entries went away.
func (r *remover) pass(dir int, path string, depth int) (int, error) {
	again, err := openDir(dir, ".", 0)
	if err != nil {
		return 0, err
	}
	f := os.NewFile(uintptr(again), path)
	defer f.Close()
	gone := 0
	for {
		names, err := f.Readdirnames(removePart)
		for _, name := range names {
			if depth >= maxDepth && r.move(dir, name) || r.remove(dir, name, filepath.Join(path, name), depth+1) {
				gone++
			}
		}
		if errors.Is(err, io.EOF) {
			return gone, nil
		}
		if err != nil {
			return gone, err
		}
	}
}

// move puts a directory that lies deep into the topmost one, whose next pass deletes it: no tree can use up the daemon's
// file descriptors. Nobody can have taken the name.
func (r *remover) move(dir int, name string) bool {
	if unlink(dir, name, 0) == nil {
		return true
	}
	_ = openUp(dir, name) // else it cannot be moved either
	return unix.Renameat(dir, name, r.stash, fmt.Sprintf(".deep-%016x", rand.Uint64())) == nil
}

// unlink takes what is not there for deleted.
func unlink(parent int, name string, flags int) error {
	err := unix.Unlinkat(parent, name, flags)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	return err
}

func openDir(parent int, name string, flags int) (int, error) {
	return unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|flags, 0)
}

// openUp makes a directory accessible to its owner. The mode is changed by a descriptor, which cannot come to be a link.
func openUp(parent int, name string) error {
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// mounted tells whether another file system begins there, as far as the kernel can say.
func mounted(parent int, name string) bool {
	var stat unix.Statx_t
	err := unix.Statx(parent, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, unix.STATX_TYPE, &stat)
	return err == nil && stat.Attributes_mask&stat.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}
