package shuffle

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// The two files of a map output, in usercache/U/appcache/A/output/ATTEMPT/ of a
// local directory; each may be in a different local directory.
const (
	dataFile  = "file.out"
	indexFile = "file.out.index"
)

// Flags for directories on the way and for the files. No part of a path below a
// local directory may be a symbolic link, because users can create links there.
const (
	passDir  = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	stepDir  = passDir | unix.O_NOFOLLOW
	readFile = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC // a FIFO must not block
)

// identity tells whether a path still names the same, unchanged file.
type identity struct {
	device, inode uint64
	size          int64
	modified      unix.Timespec
}

// file is a regular file of an application's output, open for reading.
type file struct {
	fd  int
	dir int // the local directory, as a position in outputs.dirs
	id  identity
}

func (f file) close() { unix.Close(f.fd) }

// ReadAt implements io.ReaderAt.
func (f file) ReadAt(b []byte, at int64) (int, error) {
	done := 0
	for done < len(b) {
		n, err := unix.Pread(f.fd, b[done:], at+int64(done))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return done, err
		case n == 0:
			return done, io.EOF
		default:
			done += n
		}
	}
	return done, nil
}

// outputs opens the files of one application's map outputs. The output directory
// in each local directory is opened when it is first needed.
type outputs struct {
	user, app string
	owner     uint32
	dirs      []string
	roots     []root
}

type root struct {
	fd   int
	err  error
	open bool // or failed to open
}

func (o *outputs) reset(user, app string, owner uint32, dirs []string) {
	o.user, o.app, o.owner, o.dirs = user, app, owner, dirs
	o.roots = append(o.roots[:0], make([]root, len(dirs))...)
}

func (o *outputs) close() {
	for _, r := range o.roots {
		if r.open && r.err == nil {
			unix.Close(r.fd)
		}
	}
	o.roots = o.roots[:0]
}

func (o *outputs) root(dir int) (int, error) {
	r := &o.roots[dir]
	if !r.open {
		r.fd, r.err = walk(o.dirs[dir], "usercache", o.user, "appcache", o.app, "output")
		r.open = true
	}
	return r.fd, r.err
}

// walk opens a directory some steps below another one.
func walk(from string, steps ...string) (int, error) {
	fd, err := openat(unix.AT_FDCWD, from, passDir)
	for _, step := range steps {
		if err != nil {
			return -1, err
		}
		above := fd
		fd, err = openat(above, step, stepDir)
		unix.Close(above)
	}
	return fd, err
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// find opens a file of an attempt in the first local directory that has it.
func (o *outputs) find(attempt, name string) (file, error) {
	var failed error
	for dir := range o.dirs {
		f, err := o.open(dir, attempt, name)
		if err == nil {
			return f, nil
		}
		if failed == nil && !errors.Is(err, unix.ENOENT) {
			failed = err
		}
	}
	if failed == nil {
		failed = fmt.Errorf("%s is in none of the %d local directories", name, len(o.dirs))
	}
	return file{}, failed
}

// open opens a file of an attempt in one local directory. It fails unless that
// is a regular file owned by the user that the application's files must belong
// to.
func (o *outputs) open(dir int, attempt, name string) (file, error) {
	fd, err := o.enter(dir, attempt, name)
	if err != nil {
		return file{}, fmt.Errorf("open %s below %s: %w", name, o.dirs[dir], err)
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = o.check(&st)
	}
	if err != nil {
		unix.Close(fd)
		return file{}, fmt.Errorf("%s below %s: %w", name, o.dirs[dir], err)
	}
	return file{fd: fd, dir: dir, id: identity{st.Dev, st.Ino, st.Size, st.Mtim}}, nil
}

func (o *outputs) enter(dir int, attempt, name string) (int, error) {
	output, err := o.root(dir)
	if err != nil {
		return -1, err
	}
	of, err := openat(output, attempt, stepDir)
	if err != nil {
		return -1, err
	}
	defer unix.Close(of)
	return openat(of, name, readFile)
}

func (o *outputs) check(st *unix.Stat_t) error {
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return errors.New("not a regular file")
	}
	if st.Uid != o.owner {
		return fmt.Errorf("owned by user id %d instead of %d, as the outputs of %s have to be", st.Uid, o.owner, o.user)
	}
	return nil
}
