package aggregated

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

// MaxApps bounds the list of a user's applications.
const MaxApps = 100_000

// maxBuckets is how many directories are looked at where the buckets of a user are.
const maxBuckets = 2 * buckets

// place is a directory that has a user's applications, or buckets with them.
type place struct {
	files    filesystem.FileSystem
	path     string
	bucketed bool
}

// places are those of a user: layout after layout, in each where Hadoop put logs before 3.3 first. The error is a *NotFound if
// there are none.
func (s *Store) places(owner string) ([]place, error) {
	var nowhere NotFound
	var out []place
	looked := map[filesystem.URL]bool{}
	for _, l := range s.layouts {
		dirs, err := l.Dirs(owner, yarn.ApplicationID{})
		if err != nil {
			return nil, err
		}
		f, err := s.at(l)
		if err != nil {
			return nil, err
		}
		try := []place{{f, dirs[1].Path, true}}
		if l.Older {
			try = []place{{f, path.Dir(l.olderDir(owner, yarn.ApplicationID{}).Path), false}, try[0]}
		}
		for _, p := range try {
			at := l.Root.At(p.path)
			if looked[at] {
				continue
			}
			looked[at] = true
			_, err := f.Stat(p.path)
			switch {
			case err == nil:
				out = append(out, p)
			case !errors.Is(err, fs.ErrNotExist):
				return nil, err
			case p.bucketed:
				nowhere.Places = append(nowhere.Places, fmt.Sprintf("File %s does not exist", at))
			}
		}
	}
	if len(out) == 0 {
		return nil, &nowhere
	}
	return out, nil
}

// Known tells whether a user has a directory for logs in any layout: the error is a *NotFound if not.
func (s *Store) Known(owner string) error {
	_, err := s.places(owner)
	return err
}

// Applications are those that a user has directories for, each once, in the order of these directories: layout after layout, and
// by name. The error is a *NotFound if the user has no directory in any layout, and filesystem.ErrTooMany beyond MaxApps.
func (s *Store) Applications(owner string) ([]yarn.ApplicationID, error) {
	all, err := s.places(owner)
	if err != nil {
		return nil, err
	}
	var out []yarn.ApplicationID
	seen := map[yarn.ApplicationID]bool{}
	for _, p := range all {
		dirs := []string{p.path}
		if p.bucketed {
			if dirs, err = subdirs(p.files, p.path, maxBuckets); err != nil {
				return nil, err
			}
		}
		for _, dir := range dirs {
			apps, err := subdirs(p.files, dir, MaxApps)
			if err != nil {
				return nil, err
			}
			for _, app := range apps {
				id, err := yarn.ParseApplicationID(path.Base(app))
				if err != nil || id.String() != path.Base(app) || seen[id] {
					continue
				}
				if len(out) == MaxApps {
					return nil, filesystem.ErrTooMany
				}
				seen[id] = true
				out = append(out, id)
			}
		}
	}
	return out, nil
}

// subdirs are the paths of the directories in a directory, by name. One that has just been deleted has none.
func subdirs(f filesystem.FileSystem, dir string, limit int) ([]string, error) {
	all, err := f.List(dir, limit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []string
	for _, i := range all {
		if i.Dir {
			out = append(out, path.Join(dir, i.Name))
		}
	}
	slices.Sort(out)
	return out, nil
}
