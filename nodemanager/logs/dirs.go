package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of a container's log directory.
const (
	MaxFiles = 100_000 // names in it
	maxName  = 255     // bytes of one
)

var (
	errChanged   = errors.New("it was exchanged while it was opened")
	errIrregular = errors.New("it is not a regular file")
	errDirectory = errors.New("it is not a directory")
	errMany      = fmt.Errorf("it holds more than %d files", MaxFiles)
)

// openContainer opens what a container has in one log directory; the error is
// fs.ErrNotExist if it has nothing there.
func openContainer(logDir string, id yarn.ContainerID) (*os.Root, error) {
	top, err := os.OpenRoot(logDir)
	if err != nil {
		return nil, err
	}
	defer top.Close()
	app, err := openBelow(top, id.Attempt.Application.String())
	if err != nil {
		return nil, err
	}
	defer app.Close()
	return openBelow(app, id.String())
}

// openBelow opens a directory in a directory, unless the name is a link: what is
// opened has to be what has the name.
func openBelow(parent *os.Root, name string) (*os.Root, error) {
	before, err := parent.Lstat(name)
	if err == nil && !before.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errDirectory}
	}
	if err != nil {
		return nil, err
	}
	dir, err := parent.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	after, err := dir.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = &fs.PathError{Op: "open", Path: name, Err: errChanged}
	}
	if err != nil {
		dir.Close()
		return nil, err
	}
	return dir, nil
}

// openFile opens a regular file in the same way, and never waits for a pipe.
func openFile(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err == nil && !before.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: name, Err: errIrregular}
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	if err == nil && !os.SameFile(before, after) {
		err = &fs.PathError{Op: "open", Path: name, Err: errChanged}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, after, nil
}

// listFiles are the regular files in a directory by name, and how many entries
// of other kinds there are. With errMany there are as many as are allowed.
func listFiles(dir *os.Root) (files []view.LogFile, others int, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, 0, err
	}
	defer d.Close()
	names, err := d.Readdirnames(MaxFiles)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	for _, name := range names {
		info, err := dir.Lstat(name)
		if err != nil || !info.Mode().IsRegular() {
			others++
			continue
		}
		files = append(files, logFile(info))
	}
	slices.SortFunc(files, func(a, b view.LogFile) int { return strings.Compare(a.Name, b.Name) })
	if more, _ := d.Readdirnames(1); len(more) > 0 {
		return files, others, errMany
	}
	return files, others, nil
}

func logFile(i fs.FileInfo) view.LogFile {
	return view.LogFile{Name: i.Name(), Size: i.Size(), Modified: i.ModTime().UnixMilli()}
}
