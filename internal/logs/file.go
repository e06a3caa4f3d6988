package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// File is a daemon's log file. When it has its full size it becomes name.1, what was name.1 becomes name.2, and so on, as Hadoop's
// daemons do it; the oldest goes. Its methods are safe for concurrent use.
type File struct {
	path string
	most int64 // bytes of one file
	kept int   // older files

	mu   sync.Mutex
	file *os.File
	size int64
}

// The bounds of a log that Hadoop's log4j.properties has.
const (
	DefaultSize = 256 << 20
	DefaultKept = 20
)

// OpenFile opens a log for appending, in a directory that is made if need be. most is its size in bytes, kept the number of older files; 0
// keeps none.
func OpenFile(path string, most int64, kept int) (*File, error) {
	f := &File{path: path, most: max(most, 1), kept: max(kept, 0)}
	err := f.open()
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // #nosec G301 -- as Hadoop's scripts make it; files are for the daemon's group alone
			return nil, fmt.Errorf("cannot make the directory of the log %s: %w", path, err)
		}
		err = f.open()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) open() error {
	file, err := os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("cannot open the log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return fmt.Errorf("cannot open the log: %w", err)
	}
	f.file, f.size = file, info.Size()
	return nil
}

// Write appends whole lines to the log: as many to one file as it has room for, at least one. A full file that cannot be
// renamed is written to further.
func (f *File) Write(b []byte) (written int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(b) > 0 && err == nil {
		part := b
		if f.size+int64(len(b)) > f.most {
			part = b[:f.fitting(b)]
		}
		if f.size > 0 && f.size+int64(len(part)) > f.most {
			f.rotate()
		}
		var n int
		n, err = f.file.Write(part)
		f.size += int64(n)
		written += n
		b = b[n:]
	}
	return written, err
}

// fitting is the length of the lines for which the file has room, or of the first line.
func (f *File) fitting(b []byte) int {
	end := bytes.IndexByte(b, '\n') + 1
	if end == 0 {
		return len(b)
	}
	if room := f.most - f.size; int64(end) <= room {
		end = bytes.LastIndexByte(b[:min(int64(len(b)), room)], '\n') + 1
	}
	return end
}

func (f *File) rotate() {
	before := f.file
	if f.kept == 0 {
		_ = os.Remove(f.path)
	}
	for i := f.kept; i > 0; i-- {
		_ = os.Rename(f.numbered(i-1), f.numbered(i)) // a gap in the numbers is no failure
	}
	if f.open() == nil {
		before.Close()
	}
	if f.size > 0 { // it could not be moved: not tried again before as much has been written once more
		f.size = 0
	}
}

func (f *File) numbered(i int) string {
	if i == 0 {
		return f.path
	}
	return f.path + "." + strconv.Itoa(i)
}

// Reopen opens the file by its name anew, after somebody else has renamed it. On an error the log stays as it is.
func (f *File) Reopen() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.file
	if err := f.open(); err != nil {
		return err
	}
	return before.Close()
}

// Close closes the file.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.file.Close()
}

// ParseSize reads a size as log4j.properties has it: a number of bytes, with KB, MB or GB for more.
func ParseSize(text string) (int64, error) {
	units := map[string]int64{"KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}
	digits, unit := text, int64(1)
	if len(text) > 2 {
		if u, ok := units[strings.ToUpper(text[len(text)-2:])]; ok {
			digits, unit = text[:len(text)-2], u
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err == nil && (n <= 0 || n > (1<<62)/unit) {
		err = errors.New("out of range")
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not the size of a log, such as 256MB", text)
	}
	return n * unit, nil
}
