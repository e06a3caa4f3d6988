package localize

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// aside marks a directory that was renamed to be deleted. Apache's NodeManager uses the same, so either deletes the
// other's.
const aside = "_DEL_"

// swept are the directories of a local directory that hold the work of one life.
var swept = []string{"usercache", "filecache", "nmPrivate"}

// Sweep empties local directories at a start without recovery: usercache, filecache and nmPrivate are renamed aside at
// once, to <name>_DEL_<wall milliseconds>. It returns what is to be deleted, with what an earlier life left to be deleted.
// An error is about some directory only; the rest has been done.
func Sweep(localDirs []string, wall int64) (doomed []string, err error) {
	var s search
	for _, local := range localDirs {
		for _, name := range swept {
			from := filepath.Join(local, name)
			err := os.Rename(from, from+aside+strconv.FormatInt(wall, 10))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				s.failed(fmt.Errorf("set aside %s: %w", from, err))
			}
		}
		s.setAside(local)
	}
	return s.doomed, errors.Join(s.errs...)
}

// Leftovers finds what is to be deleted at a start with recovery: in every cache of the local directories, what a fetch
// was filling, and numbered directories that hold none of the known paths (Result.Path, or the numbered directories
// themselves); and what an earlier life had renamed aside. What looks like neither is left alone. All of it is renamed
// aside, to filecache_DEL_<wall milliseconds>.<n> of its local directory, as this life gives out their numbers again.
func Leftovers(localDirs, known []string, wall int64) (doomed []string, err error) {
	s := search{keep: map[string]bool{}, prefix: "filecache" + aside + strconv.FormatInt(wall, 10)}
	for _, k := range known {
		k = filepath.Clean(k)
		s.keep[k], s.keep[filepath.Dir(k)] = true, true
	}
	for _, local := range localDirs {
		s.setAside(local)
		s.local = local
		s.cache(filepath.Join(local, "filecache"), 0)
		users := filepath.Join(local, "usercache")
		s.each(users, func(user string) {
			s.cache(filepath.Join(users, user, "filecache"), 0)
			applications := filepath.Join(users, user, "appcache")
			s.each(applications, func(a string) { s.cache(filepath.Join(applications, a, "filecache"), 0) })
		})
	}
	return s.doomed, errors.Join(s.errs...)
}

// PutAside renames directories of the local directories to usercache_DEL_<wall milliseconds>.<n>, so that others can have
// their names at once. It returns their new paths, to be deleted. An error is about some of them only.
func PutAside(localDirs, paths []string, wall int64) (doomed []string, err error) {
	s := search{prefix: "usercache" + aside + strconv.FormatInt(wall, 10)}
	for _, local := range localDirs {
		s.local = local
		for _, path := range paths {
			if strings.HasPrefix(path, local+"/") {
				s.putAside(path)
			}
		}
	}
	return s.doomed, errors.Join(s.errs...)
}

// maxErrors is how many failures of one search are told.
const maxErrors = 10

// search collects what is to be deleted.
type search struct {
	keep   map[string]bool
	local  string // where things are renamed to,
	prefix string // and how
	asides int
	doomed []string
	errs   []error
}

func (s *search) failed(err error) {
	if err != nil && len(s.errs) < maxErrors {
		s.errs = append(s.errs, err)
	}
}

func (s *search) each(dir string, visit func(name string)) { s.failed(eachName(dir, visit)) }

// setAside finds what was renamed, in this life or an earlier one.
func (s *search) setAside(local string) {
	s.each(local, func(name string) {
		for _, one := range swept {
			if strings.HasPrefix(name, one+aside) {
				s.doomed = append(s.doomed, filepath.Join(local, name))
			}
		}
	})
}

// maxLevels is how deep levels of a cache may lie: 36^12 directories.
const maxLevels = 12

func (s *search) cache(dir string, depth int) {
	s.each(dir, func(name string) {
		at := filepath.Join(dir, name)
		number, filling := strings.CutSuffix(name, Suffix)
		switch {
		case len(name) == 1 && isLevel(name[0]) && depth < maxLevels:
			s.cache(at, depth+1)
		case isNumber(number) && (filling || !s.keep[at]):
			s.putAside(at)
		}
	})
}

// putAside renames a directory out of the way, which takes no time however
// large it is.
func (s *search) putAside(at string) {
	s.asides++
	to := filepath.Join(s.local, s.prefix+"."+strconv.Itoa(s.asides))
	if err := os.Rename(at, to); err != nil {
		s.failed(fmt.Errorf("set aside %s: %w", at, err))
		to = at
	}
	s.doomed = append(s.doomed, to)
}

func isLevel(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' }

// isNumber tells of a name that Place gives.
func isNumber(s string) bool {
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && n >= FirstNumber && strconv.FormatInt(n, 10) == s
}

// eachName visits the names in a directory, some at a time. A directory that is not there, or a file, has none; links are
// not followed.
func eachName(dir string, visit func(name string)) error {
	info, err := os.Lstat(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		names, err := f.Readdirnames(1024)
		for _, name := range names {
			visit(name)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
