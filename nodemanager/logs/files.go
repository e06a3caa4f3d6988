package logs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// ErrName is a name that no log file can have, such as one that leads out of
// its directory.
var ErrName = errors.New("not the name of a log file")

// Files shows the log files of containers, whether these still run or not.
type Files struct {
	// Dirs are the log directories that can be read now.
	Dirs func() []string
}

// List tells what log files a container has, by name; of a name in several log
// directories the first counts, as for Open. The error is fs.ErrNotExist if the
// container has no directory here.
func (f *Files) List(id yarn.ContainerID) ([]view.LogFile, error) {
	var out []view.LogFile
	found := false
	for _, root := range f.dirs() {
		dir, err := openContainer(root, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("the logs of %s in %s: %w", id, root, err)
		}
		files, _, err := listFiles(dir)
		dir.Close()
		if err != nil && !errors.Is(err, errMany) {
			return nil, fmt.Errorf("the logs of %s in %s: %w", id, root, err)
		}
		found = true
		for _, one := range files {
			if !slices.ContainsFunc(out, func(o view.LogFile) bool { return o.Name == one.Name }) {
				out = append(out, one)
			}
		}
	}
	if !found {
		return nil, fmt.Errorf("the logs of %s: %w", id, fs.ErrNotExist)
	}
	slices.SortFunc(out, func(a, b view.LogFile) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// dirs are sorted, so that the first is always the same.
func (f *Files) dirs() []string { return slices.Sorted(slices.Values(f.Dirs())) }

// File is an open log file.
type File struct {
	view.LogFile // as it was when it was opened
	file         *os.File
}

// Close closes it.
func (f *File) Close() error { return f.file.Close() }

// Open opens a log file of a container. Errors: ErrName, fs.ErrNotExist, or why
// it cannot be read.
func (f *Files) Open(id yarn.ContainerID, name string) (*File, error) {
	if name == "" || name == "." || name == ".." || len(name) > maxName || strings.ContainsAny(name, "/\x00") {
		return nil, fmt.Errorf("%.300q: %w", name, ErrName)
	}
	failure := fs.ErrNotExist
	for _, root := range f.dirs() {
		file, err := openOne(root, id, name)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			failure = err
		}
	}
	return nil, fmt.Errorf("the log file %s of %s: %w", name, id, failure)
}

func openOne(root string, id yarn.ContainerID, name string) (*File, error) {
	dir, err := openContainer(root, id)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	file, info, err := openFile(dir, name)
	if err != nil {
		return nil, err
	}
	return &File{logFile(info), file}, nil
}

// Range is a part of a file that does not exist: it ends before it begins.
type Range struct{ Start, End int64 }

func (r Range) Error() string {
	return fmt.Sprintf("Invalid start and end values. Start: [%d], end[%d]", r.Start, r.End)
}

// Section is the part of the file from start up to end, both in bytes. Negative
// ones count from the file's end; an end beyond it is that end. The error is a
// Range.
func (f *File) Section(start, end int64) (*io.SectionReader, error) {
	if start < 0 {
		start = max(f.Size+start, 0)
	}
	if end < 0 {
		end += f.Size
	}
	if end < 0 || end > f.Size {
		end = f.Size
	}
	if start > end {
		return nil, Range{start, end}
	}
	return io.NewSectionReader(f.file, start, end-start), nil
}
