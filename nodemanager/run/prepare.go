package run

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Modes of directories. Others, and files, have what the umask leaves.
const (
	userMode    fs.FileMode = 0o750
	cacheMode   fs.FileMode = 0o710 // also an application's and a container's
	privateMode fs.FileMode = 0o700
	scriptMode  fs.FileMode = 0o700
)

// Prepare creates the container's directories and writes what it needs to start, replacing what an earlier try left. Of
// several local or log directories those that were not chosen may fail, which is logged.
func (l *Launcher) Prepare(c *Container) error {
	if err := c.check(); err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	e, own := l.environment(c)
	if err := e.check(); err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	links, err := expandLinks(c.Links)
	if err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	if err := l.makeDirs(c); err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	c.clearTry(links)
	if err := l.writeFiles(c, l.script(c, e, own, links)); err != nil {
		return fmt.Errorf("prepare %s: %w", c.ID, err)
	}
	c.environ = e.entries()
	return nil
}

// check refuses what would write to places that the caller cannot have meant.
func (c *Container) check() error {
	for _, path := range []string{c.WorkDir, c.LogDir, c.PrivateDir} {
		if !filepath.IsAbs(path) {
			return fmt.Errorf("%q is no absolute path", path)
		}
	}
	if c.User == "" || c.User == "." || c.User == ".." || strings.ContainsAny(c.User, "/\x00\n") {
		return fmt.Errorf("%.100q is no name of a user", c.User)
	}
	return nil
}

func (l *Launcher) makeDirs(c *Container) error {
	for _, dir := range c.UserDirs {
		l.tolerate(c, l.makeDir(dir, userMode))
		l.tolerate(c, l.makeDir(filepath.Join(dir, "appcache"), cacheMode))
		l.tolerate(c, l.makeDir(filepath.Join(dir, "filecache"), cacheMode))
	}
	for _, dir := range c.AppDirs {
		l.tolerate(c, l.makeDir(dir, cacheMode))
	}
	for _, dir := range c.WorkDirs {
		l.tolerate(c, l.makeDir(dir, cacheMode))
	}
	for _, dir := range c.LogDirs {
		l.tolerate(c, l.MakeLogDir(dir))
	}
	return errors.Join(
		l.makeDir(c.WorkDir, cacheMode),
		l.makeDir(filepath.Join(c.WorkDir, "tmp"), cacheMode),
		l.MakeLogDir(c.LogDir),
		l.makeDir(filepath.Dir(filepath.Dir(c.PrivateDir)), privateMode),
		l.makeDir(c.PrivateDir, 0o777&^l.cfg.Umask))
}

// tolerate logs why a directory cannot be used when others can take its place.
func (l *Launcher) tolerate(c *Container, err error) {
	if err != nil {
		l.cfg.Log.Warn("a directory of the container cannot be used", "container", c.ID, "error", err)
	}
}

// MakeLogDir makes the log directory of a container and that of its application above it.
func (l *Launcher) MakeLogDir(dir string) error {
	if err := l.makeDir(filepath.Dir(dir), l.cfg.LogDirMode); err != nil {
		return err
	}
	return l.makeDir(dir, l.cfg.LogDirMode)
}

// makeDir leaves the directory alone if it is there, whatever its mode.
func (l *Launcher) makeDir(dir string, mode fs.FileMode) error {
	dir = filepath.Clean(dir)
	err := os.Mkdir(dir, mode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(filepath.Dir(dir), 0o777&^l.cfg.Umask); err != nil {
			return err
		}
		err = os.Mkdir(dir, mode)
	}
	if errors.Is(err, fs.ErrExist) {
		info, err := os.Lstat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("make directory %s: it is there and is none", dir)
		}
		return err
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, mode) // the process's own umask may have taken bits away
}

// clearTry removes what an earlier try of the container left and the script would stumble over: its process id and exit
// code, and links, into whose targets ln would put new ones.
func (c *Container) clearTry(links []Link) {
	for _, name := range []string{c.pidFile(), c.pidFile() + exitSuffix} {
		_ = os.Remove(name)
	}
	root, err := os.OpenRoot(c.WorkDir)
	if err != nil {
		return
	}
	defer root.Close()
	for _, link := range links {
		if info, err := root.Lstat(link.Name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = root.Remove(link.Name)
		}
	}
}

func (l *Launcher) writeFiles(c *Container, script string) error {
	tokens := c.Tokens
	if len(tokens) == 0 {
		tokens = noTokens
	}
	plain := 0o666 &^ l.cfg.Umask
	for _, file := range []struct {
		name string
		data []byte
		mode fs.FileMode
	}{
		{filepath.Join(c.PrivateDir, launchScript), []byte(script), plain},
		{filepath.Join(c.PrivateDir, c.ID.String()+".tokens"), tokens, plain},
		{filepath.Join(c.WorkDir, launchScript), []byte(script), scriptMode},
		{filepath.Join(c.WorkDir, tokensFile), tokens, plain},
		{filepath.Join(c.WorkDir, sessionScript), []byte(session(c)), scriptMode},
		{filepath.Join(c.WorkDir, wrapperScript), []byte(wrapper(c)), scriptMode},
	} {
		if err := writeFile(file.name, file.data, file.mode); err != nil {
			return err
		}
	}
	return nil
}

// noTokens is a credentials file with neither tokens nor keys.
var noTokens = []byte("HDTS\x00\x00\x00")

// writeFile makes the file anew: a container may have put something else in its place.
func writeFile(name string, data []byte, mode fs.FileMode) error {
	f, err := createFile(name, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func createFile(name string, mode fs.FileMode) (*os.File, error) {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		if err := RemoveTree(name); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, mode)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(mode); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readSmall reads the beginning of a regular file. What is no such file, a pipe perhaps, is not waited for.
func readSmall(name string, limit int64, flags int) ([]byte, error) {
	f, _, err := openRegular(name, flags)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, limit))
}

// openRegular opens a file that a container may have made, without being held up by what is none.
func openRegular(name string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("read %s: it is no regular file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}
