package aggregated

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/yarn"
)

// Unfinished ends the name of a file that is still being written.
const Unfinished = ".tmp"

// buckets is over how many directories the applications of a user are spread.
const buckets = 10_000

// tfileClass is the end of the name of the class that writes TFiles.
const tfileClass = ".LogAggregationTFileController"

// Layout is one place where aggregated logs are kept, all in one format.
type Layout struct {
	Format  string         // a name in yarn.log-aggregation.file-formats
	TFile   bool           // Hadoop's first format
	Indexed bool           // Hadoop's second format; other formats are known only by name
	Root    filesystem.URL // yarn.nodemanager.remote-app-log-dir
	Suffix  string         // of the directory below each user's: "logs-tfile"
	Older   bool           // look where Hadoop put logs before 3.3, too
}

// ReadLayouts are the places of all formats of
// yarn.log-aggregation.file-formats, in their order: Writable says to which logs
// are written, all are looked for. property gives the value of a property, "" for one that
// is not set. The error names the property that is wrong.
func ReadLayouts(property func(name string) string) ([]Layout, error) {
	const formats = "yarn.log-aggregation.file-formats"
	var out []Layout
	for _, name := range strings.Split(property(formats), ",") {
		name = strings.TrimSpace(name)
		if name == "" || strings.ContainsAny(name, "/. \t") {
			return nil, fmt.Errorf("%s = %q: not a list of names", formats, property(formats))
		}
		l, err := readLayout(property, name)
		if err != nil {
			return nil, err
		}
		out = append(out, l)
	}
	return out, nil
}

// Writable is the first layout in a format that is known here; false if there is none.
func Writable(list []Layout) (Layout, bool) {
	if i := slices.IndexFunc(list, func(l Layout) bool { return l.TFile || l.Indexed }); i >= 0 {
		return list[i], true
	}
	return Layout{}, false
}

func readLayout(property func(string) string, format string) (Layout, error) {
	class := property("yarn.log-aggregation.file-controller." + format + ".class")
	if class == "" {
		return Layout{}, fmt.Errorf("yarn.log-aggregation.file-controller.%s.class is not set, and yarn.log-aggregation.file-formats names %[1]s", format)
	}
	l := Layout{Format: format, TFile: strings.HasSuffix(class, tfileClass), Indexed: strings.HasSuffix(class, indexedClass),
		Older: property("yarn.nodemanager.remote-app-log-dir-include-older") != "false"}
	root := "yarn.log-aggregation." + format + ".remote-app-log-dir"
	if property(root) == "" {
		root = "yarn.nodemanager.remote-app-log-dir"
	}
	var err error
	if l.Root, err = filesystem.ParseURL(property(root)); err != nil {
		return Layout{}, fmt.Errorf("%s: %w", root, err)
	}
	suffix := "yarn.log-aggregation." + format + ".remote-app-log-dir-suffix"
	if l.Suffix = property(suffix); l.Suffix == "" {
		suffix = "yarn.nodemanager.remote-app-log-dir-suffix"
		l.Suffix = property(suffix) + "-" + strings.ToLower(format)
	}
	if !plainName(l.Suffix) {
		return Layout{}, fmt.Errorf("%s = %q: not the name of a directory", suffix, l.Suffix)
	}
	return l, nil
}

// plainName tells whether s can be one name in a path.
func plainName(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\x00")
}

// Dirs are the directories of an application from the user's on downwards; the
// last holds one file for each node. The error is a user who cannot have any.
func (l Layout) Dirs(user string, id yarn.ApplicationID) ([]filesystem.URL, error) {
	if !plainName(user) {
		return nil, fmt.Errorf("%q cannot own logs: it is no name of a directory", user)
	}
	out := make([]filesystem.URL, 0, 4)
	at := l.Root.Path
	for _, name := range []string{user, "bucket-" + l.Suffix, fmt.Sprintf("%04d", id.Sequence%buckets), id.String()} {
		at = path.Join(at, name)
		out = append(out, l.Root.At(at))
	}
	return out, nil
}

// Dir is the last of Dirs.
func (l Layout) Dir(user string, id yarn.ApplicationID) (filesystem.URL, error) {
	dirs, err := l.Dirs(user, id)
	if err != nil {
		return filesystem.URL{}, err
	}
	return dirs[len(dirs)-1], nil
}

// olderDir is where Hadoop before 3.3 put them.
func (l Layout) olderDir(user string, id yarn.ApplicationID) filesystem.URL {
	return l.Root.At(path.Join(l.Root.Path, user, l.Suffix, id.String()))
}

// NodeName is the name of a node's file of an application: host_port.
func NodeName(id yarn.NodeID) string { return strings.ReplaceAll(id.String(), ":", "_") }

// RolledName is the name of what a node collected at that time, in milliseconds
// since 1970, of an application that went on running.
func RolledName(id yarn.NodeID, ms int64) string { return fmt.Sprintf("%s_%d", NodeName(id), ms) }
