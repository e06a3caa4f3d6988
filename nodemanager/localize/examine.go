package localize

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// examine checks a resource before it is fetched: it is the file that the submitter saw, and if it is to be PUBLIC, then
// everybody may read it where it is.
func examine(source filesystem.FileSystem, req Request, b *budget, now time.Time) (filesystem.Info, error) {
	info, err := source.Stat(req.URL.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return info, missing{req.URL}
	}
	if err != nil {
		return info, fmt.Errorf("localize %s: %w", req.URL, err)
	}
	if info.ModTime != req.Timestamp && !timeless(req) {
		return info, fmt.Errorf("Resource %s changed on src filesystem - expected: %q, was: %q, current time: %q",
			req.URL, stamp(req.Timestamp), stamp(info.ModTime), stamp(now.UnixMilli()))
	}
	if req.Visibility != Public || web(req) {
		return info, nil
	}
	public, err := isPublic(source, req.URL.Path, info, b)
	if err != nil {
		return info, fmt.Errorf("cannot tell whether resource %s is publicly accessible: %w", req.URL, err)
	}
	if !public {
		return info, fmt.Errorf("Resource %s is not publicly accessible and as such cannot be part of the public cache.", req.URL)
	}
	return info, nil
}

// missing is fs.ErrNotExist in Hadoop's words.
type missing struct{ url filesystem.URL }

func (m missing) Error() string { return "File does not exist: " + m.url.String() }
func (m missing) Unwrap() error { return fs.ErrNotExist }

func web(req Request) bool {
	return strings.EqualFold(req.URL.Scheme, "http") || strings.EqualFold(req.URL.Scheme, "https")
}

// timeless tells of a request that fits any time.
//
// compat: Hadoop's file system over HTTP gives 0 as the time of everything, so that this is what submitters ask for.
func timeless(req Request) bool { return web(req) && req.Timestamp == 0 }

// stamp is a time as Hadoop's messages have it, in the zone of this machine.
func stamp(ms int64) string { return time.UnixMilli(ms).Format("2006-01-02T15:04:05.000-0700") }

// Permission bits of "others".
const (
	othersRead    = 0o004
	othersExecute = 0o001
)

// isPublic: everybody may read a file, or everything below a directory, and pass through all directories above it.
func isPublic(source filesystem.FileSystem, file string, info filesystem.Info, b *budget) (bool, error) {
	entries := b.limits.Entries
	if ok, err := b.readable(source, file, info, &entries, b.limits.Depth); !ok || err != nil {
		return false, err
	}
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		above, err := source.Stat(dir)
		if err != nil || above.Mode&othersExecute == 0 {
			return false, err
		}
		if dir == "/" {
			return true, nil
		}
	}
}

func (b *budget) readable(source filesystem.FileSystem, file string, info filesystem.Info, entries *int, depth int) (bool, error) {
	if !info.Dir {
		return info.Mode&othersRead != 0, nil
	}
	if info.Mode&othersRead == 0 || info.Mode&othersExecute == 0 {
		return false, nil
	}
	if depth == 0 {
		return false, fmt.Errorf("%s: too many directories deep", file)
	}
	infos, err := b.list(source, file, *entries)
	if err != nil {
		return false, err
	}
	defer b.unlist(infos)
	*entries -= len(infos)
	for _, i := range infos {
		if ok, err := b.readable(source, file+"/"+i.Name, i, entries, depth-1); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
