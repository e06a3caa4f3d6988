package aggregated

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of what is looked at.
const (
	MaxUsers = 100_000 // directories below a root
	MaxNodes = 100_000 // files of an application
)

// Store finds applications' logs in all layouts and opens them. It serves one
// goroutine.
type Store struct {
	layouts []Layout
	connect func(filesystem.URL) (filesystem.FileSystem, error)
	open    map[filesystem.URL]filesystem.FileSystem // by root
}

// NewStore connects to nothing yet. connect gives the file system that serves a
// URL, on behalf of whoever wants to read.
func NewStore(layouts []Layout, connect func(filesystem.URL) (filesystem.FileSystem, error)) *Store {
	return &Store{layouts, connect, map[filesystem.URL]filesystem.FileSystem{}}
}

// Close ends the connections, and with them what was opened.
func (s *Store) Close() error {
	var all error
	for _, f := range s.open {
		all = errors.Join(all, f.Close())
	}
	clear(s.open)
	return all
}

func (s *Store) at(l Layout) (filesystem.FileSystem, error) {
	if f := s.open[l.Root]; f != nil {
		return f, nil
	}
	f, err := s.connect(l.Root)
	if err == nil {
		s.open[l.Root] = f
	}
	return f, err
}

// NodeLogs is a file with one node's logs of an application, or with a part of them.
type NodeLogs struct {
	Name    string // of the node, as NodeName or RolledName
	Size    int64  // bytes
	ModTime int64  // milliseconds since 1970
	layout  Layout
	path    string
	app     yarn.ApplicationID
	check   string // the path of the file that says up to where it is complete; "" if it is complete
}

// NameIn is what lists call the node: what its file says, or else the file's name.
//
// compat: files of the two formats differ in this.
func (n NodeLogs) NameIn(r *Reader) string {
	if name := r.Node(); name != "" {
		return name
	}
	return n.Name
}

// Modified is when a log file in it was changed last, or else when it was collected.
func (n NodeLogs) Modified(f File) int64 {
	if f.Modified > 0 {
		return f.Modified
	}
	return n.ModTime
}

// Complete is false for a file that is still being written, or never was
// written to its end.
func (n NodeLogs) Complete() bool { return !strings.HasSuffix(n.Name, Unfinished) }

// Of tells whether it is of that node, "host:port"; "" is every node.
//
// compat: a part of the name is enough.
func (n NodeLogs) Of(node string) bool {
	return strings.Contains(n.Name, strings.ReplaceAll(node, ":", "_"))
}

// NotFound tells that an application has no logs. The text has a line, with its end, for each
// place that could not be read.
type NotFound struct{ Places []string }

func (n *NotFound) Error() string {
	var b strings.Builder
	for _, p := range n.Places {
		b.WriteString(p + "\n")
	}
	return b.String()
}

// Nodes lists the files of an application, format after format, each by name: nodes
// need not all write the same one. The error is a *NotFound if there are none. A place
// that cannot be read hides nothing that was found before it.
func (s *Store) Nodes(id yarn.ApplicationID, owner string) ([]NodeLogs, error) {
	var nowhere NotFound
	var out []NodeLogs
	looked := map[filesystem.URL]bool{}
	for _, l := range s.layouts {
		dir, err := l.Dir(owner, id)
		if err != nil {
			return nil, err
		}
		dirs := []filesystem.URL{dir}
		if l.Older {
			dirs = []filesystem.URL{l.olderDir(owner, id), dir}
		}
		dirs = slices.DeleteFunc(dirs, func(d filesystem.URL) bool { return looked[d] }) // two formats in one directory: the first counts
		for _, d := range dirs {
			looked[d] = true
		}
		found, err := s.nodes(l, id, dirs, &nowhere)
		if err != nil && len(out) == 0 {
			return nil, err
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, &nowhere
	}
	return out, nil
}

func (s *Store) nodes(l Layout, id yarn.ApplicationID, dirs []filesystem.URL, nowhere *NotFound) ([]NodeLogs, error) {
	f, err := s.at(l)
	if err != nil {
		return nil, err
	}
	var out []NodeLogs
	for _, dir := range dirs {
		all, err := f.List(dir.Path, MaxNodes)
		if errors.Is(err, fs.ErrNotExist) {
			nowhere.Places = append(nowhere.Places, fmt.Sprintf("File %s does not exist", dir))
			continue
		}
		if err != nil {
			nowhere.Places = append(nowhere.Places, err.Error())
			continue
		}
		slices.SortFunc(all, func(a, b filesystem.Info) int { return strings.Compare(a.Name, b.Name) })
		checks, err := s.checks(f, l, dir.Path, all)
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			if err := readable(l, id, i); err != nil {
				return nil, fmt.Errorf("%s: %w", dir, err)
			}
			if !i.Dir && !checksum(i.Name) && !check(l, i) {
				out = append(out, NodeLogs{i.Name, i.Size, i.ModTime, l, dir.Path + "/" + i.Name, id, checks[i.Name]})
			}
		}
	}
	return out, nil
}

// check tells whether a file says of an indexed one up to where it is complete.
func check(l Layout, i filesystem.Info) bool {
	return l.Indexed && !i.Dir && strings.HasSuffix(i.Name, checkSuffix)
}

// checks are the paths of such files by the name of the file that they are about.
func (s *Store) checks(f filesystem.FileSystem, l Layout, dir string, all []filesystem.Info) (map[string]string, error) {
	out := map[string]string{}
	for _, i := range all {
		if !check(l, i) {
			continue
		}
		file, err := f.Open(dir + "/" + i.Name)
		if errors.Is(err, fs.ErrNotExist) { // what was listed may have been in the middle of a round: look again when it is opened
			for _, of := range all {
				if out[of.Name] == "" && strings.HasPrefix(of.Name, strings.TrimSuffix(i.Name, checkSuffix)) {
					out[of.Name] = dir + "/" + i.Name
				}
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		name, _, err := readCheck(file)
		file.Close()
		if err == nil { // Apache writes it anew after a failure; until then it says nothing
			out[name] = dir + "/" + i.Name
		}
	}
	return out, nil
}

// checksum tells whether a file is a checksum that Java's local file system keeps beside another one.
func checksum(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, ".crc")
}

var errElsewhere = errors.New("this program cannot read that; use Hadoop's own yarn logs")

func readable(l Layout, id yarn.ApplicationID, i filesystem.Info) error {
	switch {
	case i.Dir && i.Name == id.String()+".har":
		return fmt.Errorf("the logs have been archived (mapred archive-logs): %w", errElsewhere)
	case !l.TFile && !l.Indexed:
		return fmt.Errorf("the logs are in the format %s: %w", l.Format, errElsewhere)
	}
	return nil
}

// Open begins to read a file. Close the Reader after use.
func (s *Store) Open(n NodeLogs) (*Reader, error) {
	f, err := s.at(n.layout)
	if err != nil {
		return nil, err
	}
	size, err := n.complete(f) // before the file is opened: on HDFS that fixes how much of it can be read
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.layout.Root.At(n.path), err)
	}
	file, err := f.Open(n.path)
	if err != nil {
		return nil, err
	}
	var r *Reader
	if n.layout.Indexed {
		r, err = n.openIndexed(file, size)
	} else {
		r, err = NewReader(file)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", n.layout.Root.At(n.path), err)
	}
	r.closer = file
	return r, nil
}

// complete is how many bytes of a file are complete.
func (n NodeLogs) complete(f filesystem.FileSystem) (int64, error) {
	if n.check == "" {
		return n.Size, nil
	}
	c, err := f.Open(n.check)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	if err == nil {
		name, end, err := readCheck(c)
		c.Close()
		switch {
		case err != nil:
			return 0, fmt.Errorf("%s: %w", n.check, err)
		case name == n.Name && end == 0:
			return 0, errors.New("nothing in it is complete yet")
		case name == n.Name:
			return end, nil
		}
	}
	info, err := f.Stat(n.path) // it has been completed since it was listed
	return info.Size, err
}

func (n NodeLogs) openIndexed(file io.Reader, size int64) (*Reader, error) {
	seeker, ok := file.(io.ReadSeeker)
	if !ok {
		return nil, errors.New("an indexed file can be read only where files can be read from anywhere")
	}
	records, err := openIndexed(seeker, size, n.app)
	if err != nil {
		return nil, fmt.Errorf("not an indexed file of aggregated logs, or a damaged one: %w", err)
	}
	return &Reader{records: records}, nil
}

// Owner finds whose application it is: guess if that user has logs of it, else
// the only user who has; "" if there is none, or more than one.
func (s *Store) Owner(id yarn.ApplicationID, guess string) (string, error) {
	for _, l := range s.layouts {
		f, err := s.at(l)
		if err != nil {
			return "", err
		}
		if plainName(guess) {
			has, err := owns(f, l, guess, id)
			if has || err != nil {
				return guess, err
			}
		}
		users, err := f.List(l.Root.Path, MaxUsers)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		if owner, err := search(f, l, users, id); owner != "" || err != nil {
			return owner, err
		}
	}
	return "", nil
}

func search(f filesystem.FileSystem, l Layout, users []filesystem.Info, id yarn.ApplicationID) (string, error) {
	var owners []string
	for _, u := range users {
		if !u.Dir {
			continue
		}
		has, err := owns(f, l, u.Name, id)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			return "", err
		}
		if has {
			owners = append(owners, u.Name)
		}
	}
	if len(owners) != 1 {
		return "", nil
	}
	return owners[0], nil
}

func owns(f filesystem.FileSystem, l Layout, user string, id yarn.ApplicationID) (bool, error) {
	dir, err := l.Dir(user, id)
	if err != nil {
		return false, err
	}
	dirs := []filesystem.URL{dir}
	if l.Older {
		dirs = append(dirs, l.olderDir(user, id))
	}
	for _, d := range dirs {
		_, err := f.Stat(d.Path)
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, err
		}
	}
	return false, nil
}
