package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Role tells the two lists apart.
type Role int

// The roles.
const (
	Include Role = iota
	Exclude
)

func (r Role) String() string { return [...]string{"include", "exclude"}[r] }

// Error is why a list cannot be read. Its text names the file and, where there is one, the line.
type Error struct {
	Role Role
	Path string
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("read host list %s: %v", e.Path, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Read reads both lists, each in the form that the ending of its path tells. An empty path is an empty list. A file that both paths name is
// read once, so that both lists are of one version of it. Every error is an *Error.
func Read(include, exclude string) (Lists, error) {
	paths := [...]string{Include: include, Exclude: exclude}
	one := sameFile(include, exclude)
	var data [2][]byte
	var lists [2]*List
	for role, path := range paths {
		var err error
		switch {
		case path == "":
			lists[role] = &List{}
			continue
		case one && Role(role) == Exclude:
			data[role] = data[Include]
		default:
			data[role], err = load(path)
		}
		if err == nil {
			lists[role], err = parse(path, data[role], Role(role), one)
		}
		if err != nil {
			return Lists{}, &Error{Role(role), path, err}
		}
	}
	return Lists{Include: lists[Include], Exclude: lists[Exclude]}, nil
}

// sameFile tells whether both paths name one file, symbolic links followed. It compares paths, not files: these may be replaced meanwhile.
func sameFile(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	return place(a) == place(b)
}

// place is the absolute path to which a path leads.
func place(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return filepath.Clean(path)
}

// load reads a regular file, of which it returns at most one byte more than MaxFile. Anything else, such as a pipe, could block.
func load(path string) ([]byte, error) {
	info, err := os.Stat(path) // first, because to open a device may have effects
	if err != nil {
		return nil, cause(err)
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // another file may be there by now
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return nil, cause(err)
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, cause(err)
	}
	return data, nil
}

func regular(info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	}
	return nil
}

// cause is the error without the path, which Error has.
func cause(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// parse reads the list of a role. both: the other list has the same file.
func parse(path string, data []byte, role Role, both bool) (*List, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".xml":
		return ParseXML(data)
	case ".json":
		return ParseJSON(data, role, both)
	}
	return ParseText(data)
}

// byteOrderMark is what some editors put before UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// text checks that data is UTF-8 of at most MaxFile bytes, and removes a byte order mark.
func text(data []byte) ([]byte, error) {
	if len(data) > MaxFile {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxFile)
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(data, []byte(mark)) {
			return nil, errors.New("line 1: it is UTF-16; it must be UTF-8")
		}
	}
	if utf8.Valid(data) {
		return bytes.TrimPrefix(data, byteOrderMark), nil
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size < 2 {
			return nil, fmt.Errorf("line %d: it is not UTF-8 text", lineAt(data, at))
		}
		at += size
	}
}

// lineAt is the line of an offset, counted from 1.
func lineAt(data []byte, offset int) int {
	return 1 + bytes.Count(data[:min(offset, len(data))], []byte("\n"))
}
