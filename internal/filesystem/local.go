package filesystem

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// local is this machine's file system, with the rights of this process, whoever the connection is for.
type local struct {
	ctx    context.Context
	cancel context.CancelFunc
	url    URL
	names  sync.Map // of users and groups, by "u" or "g" and number
}

func newLocal(ctx context.Context, u URL) *local {
	l := &local{url: u}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

func (l *local) Close() error { l.cancel(); return nil }

// fail gives an error the URL in place of the path.
func (l *local) fail(op, file string, err error) error {
	if err == nil {
		return nil
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return &fs.PathError{Op: op, Path: l.url.At(file).String(), Err: err}
}

func (l *local) Stat(file string) (Info, error) {
	info, err := os.Stat(file)
	if err != nil {
		return Info{}, l.fail("stat", file, err)
	}
	return l.info(info), nil
}

func (l *local) info(i fs.FileInfo) Info {
	out := Info{Name: i.Name(), Size: i.Size(), ModTime: i.ModTime().UnixMilli(), Dir: i.IsDir(),
		Mode: i.Mode() & (fs.ModePerm | fs.ModeSticky | fs.ModeDir)}
	if s, ok := i.Sys().(*syscall.Stat_t); ok {
		out.Owner, out.Group = l.name("u", s.Uid, userName), l.name("g", s.Gid, groupName)
	}
	return out
}

func userName(id string) (string, error) {
	u, err := user.LookupId(id)
	if err != nil {
		return "", err
	}
	return u.Username, nil
}

func groupName(id string) (string, error) {
	g, err := user.LookupGroupId(id)
	if err != nil {
		return "", err
	}
	return g.Name, nil
}

func (l *local) name(kind string, id uint32, look func(string) (string, error)) string {
	number := strconv.FormatUint(uint64(id), 10)
	if name, ok := l.names.Load(kind + number); ok {
		return name.(string)
	}
	name, err := look(number)
	if err != nil {
		name = number
	}
	l.names.Store(kind+number, name)
	return name
}

// Open refuses what is not a regular file: a pipe would wait for ever, a device may never end.
func (l *local) Open(file string) (io.ReadCloser, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, l.fail("open", file, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		f.Close()
		return nil, l.fail("open", file, err)
	}
	return &localFile{f, l, file}, nil
}

// localFile looks at the context before every step.
type localFile struct {
	f    *os.File
	l    *local
	path string
}

func (f *localFile) Read(p []byte) (int, error) {
	if f.l.ctx.Err() != nil {
		return 0, f.l.fail("read", f.path, context.Cause(f.l.ctx))
	}
	n, err := f.f.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = f.l.fail("read", f.path, err)
	}
	return n, err
}

func (f *localFile) Write(p []byte) (int, error) {
	if f.l.ctx.Err() != nil {
		return 0, f.l.fail("write", f.path, context.Cause(f.l.ctx))
	}
	n, err := f.f.Write(p)
	return n, f.l.fail("write", f.path, err)
}

func (f *localFile) Seek(offset int64, whence int) (int64, error) {
	at, err := f.f.Seek(offset, whence)
	return at, f.l.fail("seek", f.path, err)
}

// Sync implements Syncer.
func (f *localFile) Sync() error { return f.l.fail("sync", f.path, f.f.Sync()) }

func (f *localFile) Close() error { return f.f.Close() }

func (l *local) List(dir string, limit int) ([]Info, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, l.fail("list", dir, err)
	}
	defer f.Close()
	var out []Info
	for seen := 0; ; {
		names, err := f.Readdirnames(min(limit-seen+1, 1024))
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && seen+len(names) > limit {
			err = ErrTooMany
		}
		if err == nil {
			err = context.Cause(l.ctx)
		}
		if err != nil {
			return nil, l.fail("list", dir, err)
		}
		seen += len(names)
		for _, name := range names {
			info, err := os.Stat(filepath.Join(dir, name))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, l.fail("list", under(dir, name), err)
			}
			one := l.info(info)
			one.Name = name
			if self, err := os.Lstat(filepath.Join(dir, name)); err != nil || !os.SameFile(self, info) {
				one.Link = true // or it has been replaced just now
			}
			out = append(out, one)
		}
	}
}

func (l *local) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC | syscall.O_NONBLOCK
	if !overwrite {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(file, flags, mode.Perm())
	if err != nil {
		return nil, l.fail("create", file, err)
	}
	if err := f.Chmod(mode); err != nil { // whatever the umask took away
		f.Close()
		return nil, l.fail("create", file, err)
	}
	return &localFile{f, l, file}, nil
}

// Append implements Appender.
func (l *local) Append(file string) (io.WriteCloser, error) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, l.fail("append", file, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".crc"))
	}
	if err != nil {
		f.Close()
		return nil, l.fail("append", file, err)
	}
	return &localFile{f, l, file}, nil
}

func (l *local) MkdirAll(dir string, mode fs.FileMode) error {
	return mkdirAll(dir, func(dir string) error {
		err := os.Mkdir(dir, mode.Perm())
		if err == nil {
			err = os.Chmod(dir, mode)
		}
		return l.fail("mkdir", dir, err)
	}, l.Stat)
}

// mkdirAll creates what is missing from the top down.
func mkdirAll(dir string, mkdir func(string) error, stat func(string) (Info, error)) error {
	info, err := stat(dir)
	if err == nil && !info.Dir {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if err == nil || !errors.Is(err, fs.ErrNotExist) || dir == "/" {
		return err
	}
	if err := mkdirAll(path.Dir(dir), mkdir, stat); err != nil {
		return err
	}
	err = mkdir(dir)
	if errors.Is(err, fs.ErrExist) { // somebody else was quicker
		if info, e := stat(dir); e == nil && info.Dir {
			return nil
		}
	}
	return err
}

func (l *local) Rename(from, to string) error { return l.fail("rename", from, os.Rename(from, to)) }

func (l *local) Remove(file string) error {
	if path.Clean(file) == "/" {
		return l.fail("remove", file, fs.ErrInvalid)
	}
	return l.fail("remove", file, os.RemoveAll(file))
}

// RemoveBelow implements BelowRemover. Each directory is opened in the one before it, and must be what stands there.
func (l *local) RemoveBelow(dir string, names []string) error {
	err := removeBelow(dir, names)
	return l.fail("remove", path.Join(append([]string{dir}, names...)...), err)
}

var errLink = errors.New("a symbolic link is on the way")

func removeBelow(dir string, names []string) error {
	if len(names) == 0 {
		return fs.ErrInvalid
	}
	at, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { at.Close() }()
	for _, name := range names[:len(names)-1] {
		self, err := at.Lstat(name)
		if err != nil {
			return err
		}
		next, err := at.OpenRoot(name)
		if err != nil {
			return err
		}
		at.Close()
		at = next
		if opened, err := at.Stat("."); err != nil || !os.SameFile(self, opened) {
			return errors.Join(errLink, err)
		}
	}
	return at.RemoveAll(names[len(names)-1])
}

func (l *local) Chmod(file string, mode fs.FileMode) error {
	return l.fail("chmod", file, os.Chmod(file, mode))
}

func (l *local) SetOwner(file, owner, group string) error {
	uid, gid := -1, -1
	if owner != "" {
		u, err := user.Lookup(owner)
		if err != nil {
			return l.fail("chown", file, err)
		}
		uid, _ = strconv.Atoi(u.Uid)
	}
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			return l.fail("chown", file, err)
		}
		gid, _ = strconv.Atoi(g.Gid)
	}
	return l.fail("chown", file, os.Chown(file, uid, gid))
}
