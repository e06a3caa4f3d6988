package confstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/filesystem"
)

// Names in the directory.
const (
	confPrefix  = "capacity-scheduler.xml." // and the time in milliseconds: one for each version, the newest is in force
	versionFile = "ConfigVersion"           // the version, 8 bytes
	statePrefix = "heddle-history."         // and the time of a configuration: what else is kept with it, as JSON; ours
	unfinished  = ".tmp"                    // behind names of files that are being written
)

// Bounds of what is read.
const (
	maxEntries = 100_000
	maxFile    = 256 << 20
)

// FSOptions say where a directory is.
type FSOptions struct {
	Systems  *filesystem.Systems
	URL      filesystem.URL
	User     string
	Versions int              // how many files of configurations are kept beside the newest
	Now      func() time.Time // nil: the clock

	// Wrap, if not nil, wraps the file system. Tests use it to have the process die at a write.
	Wrap func(filesystem.FileSystem) filesystem.FileSystem
}

// directory is the store in a directory, with Apache's files. A commit is in force with the renaming of one file; what Apache's
// ResourceManager needs beside it is brought up to date afterwards, or at the next Load.
type directory struct {
	o    FSOptions
	kept *State
	at   int64 // of the file that is in force
}

// OpenFS opens a directory, and makes it if need be.
func OpenFS(ctx context.Context, o FSOptions) (Store, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.URL = o.Systems.Resolve(o.URL)
	d := &directory{o: o}
	if err := d.with(ctx, func(sys filesystem.FileSystem) error { return sys.MkdirAll(o.URL.Path, 0o755) }); err != nil {
		return nil, fmt.Errorf("open scheduler configuration store: %w", err)
	}
	return d, nil
}

func (d *directory) with(ctx context.Context, do func(filesystem.FileSystem) error) (err error) {
	sys, err := d.o.Systems.Connect(ctx, d.o.URL, d.o.User)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sys.Close()) }()
	if d.o.Wrap != nil {
		return do(d.o.Wrap(sys))
	}
	return do(sys)
}

func (d *directory) path(name string) string { return path.Join(d.o.URL.Path, name) }

func confName(at int64) string  { return confPrefix + strconv.FormatInt(at, 10) }
func stateName(at int64) string { return statePrefix + strconv.FormatInt(at, 10) + ".json" }

// times are those of all configurations, the oldest first.
func (d *directory) times(sys filesystem.FileSystem) ([]int64, error) {
	list, err := sys.List(d.o.URL.Path, maxEntries)
	if err != nil {
		return nil, err
	}
	var out []int64
	for _, f := range list {
		if text, ok := strings.CutPrefix(f.Name, confPrefix); ok {
			if at, err := strconv.ParseInt(text, 10, 64); err == nil && at > 0 {
				out = append(out, at)
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func (d *directory) read(sys filesystem.FileSystem, name string) ([]byte, error) {
	f, err := sys.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFile)
	}
	return b, err
}

// Load implements Store.
func (d *directory) Load(ctx context.Context) (*State, error) {
	s := &State{Values: map[string]string{}}
	err := d.with(ctx, func(sys filesystem.FileSystem) error { return d.load(sys, s) })
	if err == nil {
		err = s.sound()
	}
	if err != nil {
		return nil, fmt.Errorf("read scheduler configuration store %s: %w", d.o.URL, err)
	}
	d.kept = s
	return s.Clone(), nil
}

func (d *directory) load(sys filesystem.FileSystem, s *State) error {
	times, err := d.times(sys)
	if err != nil {
		return err
	}
	number, err := d.readVersion(sys)
	if err != nil || len(times) == 0 {
		d.at = 0
		return err
	}
	d.at = times[len(times)-1]
	text, err := d.read(sys, confName(d.at))
	if err != nil {
		return err
	}
	if s.Values, err = parseXML(confName(d.at), text); err != nil {
		return err
	}
	text, err = d.read(sys, stateName(d.at))
	switch {
	case errors.Is(err, fs.ErrNotExist): // Apache's ResourceManager wrote it
		s.Version = max(number, 1)
		s.History = []Version{{Number: s.Version, At: d.at, Source: FromAPI, Reason: "written by another program"}}
		return nil
	case err != nil:
		return err
	}
	rest := struct{ *State }{s}
	values := s.Values
	if err := json.Unmarshal(text, &rest); err != nil {
		return fmt.Errorf("%s: %w", stateName(d.at), err)
	}
	s.Values = values
	if number != s.Version {
		return d.writeVersion(sys, s.Version)
	}
	return nil
}

func (d *directory) readVersion(sys filesystem.FileSystem) (int64, error) {
	b, err := d.read(sys, versionFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case len(b) != 8:
		return 0, fmt.Errorf("%s has %d bytes, not 8", versionFile, len(b))
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

func (d *directory) writeVersion(sys filesystem.FileSystem, number int64) error {
	// Java's local file system keeps sums beside files, which would no longer fit.
	if err := sys.Remove(d.path("." + versionFile + ".crc")); err != nil {
		return err
	}
	return d.replace(sys, versionFile, binary.BigEndian.AppendUint64(nil, uint64(number)))
}

func parseXML(name string, text []byte) (map[string]string, error) {
	p, err := conf.Load(conf.Options{Files: []string{name}, NoDefaults: true, Read: func(string) ([]byte, error) { return text, nil }})
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range p.All() {
		out[v.Name] = v.Raw
	}
	return out, nil
}

// formXML is a configuration in the form of Hadoop's files.
func formXML(values map[string]string) []byte {
	var b bytes.Buffer
	b.WriteString(xml.Header + "<configuration>\n")
	for _, c := range Diff(nil, values) {
		b.WriteString("<property><name>")
		_ = xml.EscapeText(&b, []byte(c.Name))
		b.WriteString("</name><value>")
		_ = xml.EscapeText(&b, []byte(*c.New))
		b.WriteString("</value><final>false</final></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.Bytes()
}

// Commit implements Store.
func (d *directory) Commit(ctx context.Context, was int64, next *State) error {
	if d.kept == nil {
		return errors.New("the scheduler configuration store was not loaded, or its last commit failed")
	}
	if d.kept.Version != was {
		return &ConflictError{was, d.kept.Version}
	}
	err := d.with(ctx, func(sys filesystem.FileSystem) error { return d.commit(sys, next) })
	if err == nil {
		d.kept = next.Clone()
		return nil
	}
	if !errors.As(err, new(*ConflictError)) {
		err = fmt.Errorf("write scheduler configuration store %s: %w", d.o.URL, err)
	}
	d.kept = nil
	return err
}

func (d *directory) commit(sys filesystem.FileSystem, next *State) error {
	times, err := d.times(sys)
	if err != nil {
		return err
	}
	if n := len(times); n > 0 && times[n-1] != d.at || n == 0 && d.at != 0 {
		found, err := d.readVersion(sys)
		return errors.Join(&ConflictError{d.kept.Version, found}, err)
	}
	rest := *next
	rest.Values = nil
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if d.at > 0 && next.Version == d.kept.Version && len(Diff(d.kept.Values, next.Values)) == 0 {
		return d.replace(sys, stateName(d.at), text)
	}
	at := max(d.o.Now().UnixMilli(), d.at+1)
	if err := d.replace(sys, stateName(at), text); err != nil {
		return err
	}
	if err := d.replace(sys, confName(at), formXML(next.Values)); err != nil { // from here on it is in force
		return err
	}
	d.at = at
	if err := d.writeVersion(sys, next.Version); err != nil {
		return err
	}
	return d.clean(sys, append(times, at))
}

// clean removes configurations beyond those that are to be kept, and what belongs to configurations that are gone.
func (d *directory) clean(sys filesystem.FileSystem, times []int64) error {
	old := times[:max(0, len(times)-1-d.o.Versions)]
	for _, at := range old {
		for _, name := range []string{confName(at), "." + confName(at) + ".crc", stateName(at)} {
			if err := sys.Remove(d.path(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// replace writes a file, durably, in place of the one before.
func (d *directory) replace(sys filesystem.FileSystem, name string, text []byte) error {
	tmp := name + unfinished
	f, err := sys.Create(d.path(tmp), 0o644, true)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close(), d.sync(tmp)); err != nil {
		return err
	}
	if err := sys.Rename(d.path(tmp), d.path(name)); err != nil {
		return err
	}
	return d.sync("")
}

// sync makes a local file durable, or the entries of the directory. HDFS makes a file durable when it is closed.
func (d *directory) sync(name string) error {
	if !strings.EqualFold(d.o.URL.Scheme, "file") {
		return nil
	}
	f, err := os.Open(d.path(name))
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// Close implements Store.
func (d *directory) Close() error { return nil }
