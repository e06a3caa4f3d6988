package logs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

const indexedDir = "alice/bucket-logs-ifile/0007/application_1700000000000_0007"

// indexedRig is a rig that collects logs into indexed files.
func indexedRig(t *testing.T, change ...func(*Config)) *rig {
	r := newRig(t, change...)
	r.cfg.Layout = r.layouts[1]
	return r
}

var rolled = &pb.LogAggregationContext{RolledLogsIncludePattern: proto.String(`\.\d+$`)}

// seen is what readers see in each file, or that the file cannot be read.
func (r *rig) seen() string {
	r.t.Helper()
	store := aggregated.NewStore(r.layouts, func(u filesystem.URL) (filesystem.FileSystem, error) {
		return r.cfg.Systems.Connect(r.t.Context(), u, "alice")
	})
	defer store.Close()
	all, err := store.Nodes(appID, "alice")
	var none *aggregated.NotFound
	if errors.As(err, &none) {
		return ""
	}
	r.must(err)
	var out []string
	for _, n := range all {
		logs, err := store.Open(n)
		if err != nil {
			out = append(out, n.Name+" cannot be read")
			continue
		}
		out = append(out, n.Name+":"+r.contents(logs))
		r.must(logs.Close())
	}
	return strings.Join(out, "; ")
}

func (r *rig) sees(want string) {
	r.t.Helper()
	if got := r.seen(); got != want {
		r.t.Errorf("%q, want %q", got, want)
	}
}

// names are the names of the application's files.
func (r *rig) names() (out []string) {
	all, _ := os.ReadDir(filepath.Join(r.root, indexedDir))
	for _, e := range all {
		out = append(out, e.Name())
	}
	return out
}

func (r *rig) indexedFile(name string) string { return filepath.Join(r.root, indexedDir, name) }

func TestIndexedAtTheEnd(t *testing.T) {
	for _, c := range []aggregated.Compression{aggregated.Gzip, aggregated.Uncompressed} {
		r := indexedRig(t, func(x *Config) { x.Compression, x.Roll = c, time.Hour })
		r.put(0, 1, "stdout", "one")
		file := r.put(1, 2, "stderr", "two")
		at := time.UnixMilli(1700000000123)
		r.must(os.Chtimes(file, at, at))
		r.must(r.open(nil).Upload(t.Context(), ended(1, 2), true))
		r.sees("node1_45454: 1 stdout=one 2 stderr=two")
		if got := r.names(); !slices.Equal(got, []string{"node1_45454"}) || len(r.left()) != 0 {
			t.Errorf("%q, left %q", got, r.left())
		}
		if info, err := os.Stat(r.indexedFile("node1_45454")); err != nil || info.Mode() != 0o640 {
			t.Errorf("%v %v", info.Mode(), err)
		}
	}
}

// Rounds of a running application go into one file, also after a restart of the daemon, until the file has its maximum size.
func TestIndexedRounds(t *testing.T) {
	r := indexedRig(t, func(c *Config) { c.Roll, c.Compression = time.Hour, aggregated.Gzip })
	a := r.open(rolled)
	want := "node1_45454_1795305345000:"
	for n := range 3 {
		r.put(0, 1, fmt.Sprintf("syslog.%d", n), "text")
		r.must(a.Upload(t.Context(), []Container{{ID: containerID(1), Master: true}}, false))
		want += fmt.Sprintf(" 1 syslog.%d=text", n)
		r.sees(want)
		if got := r.names(); !slices.Equal(got, []string{"node1_45454_1795305345000"}) {
			t.Errorf("%q", got)
		}
		r.clock.Advance(time.Hour)
		a = r.open(rolled)
	}
	r.cfg.Indexed.MaxBytes = 100
	r.put(0, 1, "syslog", "last")
	r.must(r.open(rolled).Upload(t.Context(), ended(1), true))
	r.sees(want + fmt.Sprintf("; node1_45454_%d: 1 syslog=last", r.clock.Now().Wall))
	if info, err := os.Stat(r.indexedFile("node1_45454_1795305345000")); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// A file with another compression or of another node, a damaged file and a link are not appended to.
func TestIndexedFilesThatAreLeftAlone(t *testing.T) {
	round := func(r *rig, name string) {
		r.put(0, 1, name, "text")
		r.must(r.open(rolled).Upload(t.Context(), []Container{{ID: containerID(1)}}, false))
		r.clock.Advance(time.Hour)
	}
	for name, change := range map[string]func(*rig){
		"compression": func(r *rig) { r.cfg.Compression = aggregated.Gzip },
		"node":        func(r *rig) { r.cfg.Node = yarn.NodeID{Host: "node1", Port: 4545} },
		"damaged":     func(r *rig) { r.must(os.Truncate(r.indexedFile("node1_45454_1795305345000"), 200)) },
		"a link": func(r *rig) {
			old := r.indexedFile("node1_45454_1795305345000")
			r.must(os.Rename(old, r.root+"/elsewhere"))
			r.must(os.Symlink(r.root+"/elsewhere", old))
		},
	} {
		r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
		round(r, "syslog.1")
		change(r)
		before, err := os.ReadFile(r.indexedFile("node1_45454_1795305345000"))
		r.must(err)
		round(r, "syslog.2")
		after, err := os.ReadFile(r.indexedFile("node1_45454_1795305345000"))
		r.must(err)
		if !bytes.Equal(before, after) || len(r.names()) != 2 || !strings.Contains(r.seen(), "syslog.2=text") {
			t.Errorf("%s: %q, %s", name, r.names(), r.seen())
		}
	}
}

// A round that a crash ends at any byte hides neither earlier rounds nor later ones.
func TestIndexedCrash(t *testing.T) {
	const name = "node1_45454_1795305345000"
	whole := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
	whole.put(0, 1, "syslog.1", "one")
	running := []Container{{ID: containerID(1)}}
	whole.must(whole.open(rolled).Upload(t.Context(), running, false))
	first, err := os.ReadFile(whole.indexedFile(name))
	whole.must(err)
	whole.put(0, 1, "syslog.2", "two")
	whole.must(whole.open(rolled).Upload(t.Context(), running, false))
	second, err := os.ReadFile(whole.indexedFile(name))
	whole.must(err)

	crashed := func(file, check []byte) *rig {
		r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
		r.must(os.MkdirAll(filepath.Join(r.root, indexedDir), 0o755))
		r.must(os.WriteFile(r.indexedFile(name), file, 0o640))
		if check != nil {
			r.must(os.WriteFile(r.indexedFile("node1_45454-checksum"), check, 0o640))
		}
		return r
	}
	upload := func(r *rig) {
		r.clock.Advance(time.Hour)
		r.put(0, 1, "syslog.2", "two")
		r.must(r.open(rolled).Upload(t.Context(), running, false))
		if slices.Contains(r.names(), "node1_45454-checksum") {
			t.Error("the check is still there")
		}
	}
	check := aggregated.AppendCheck(nil, name, int64(len(first)))
	for n := len(first); n <= len(second); n += 31 {
		r := crashed(second[:n], check)
		r.sees(name + ": 1 syslog.1=one")
		r.cfg.Indexed.MaxBytes = 1 // the file left in the middle of a round is appended to nonetheless
		upload(r)
		r.sees(name + ": 1 syslog.1=one 1 syslog.2=two")
	}
	for n := range check { // the crash came while the check was being written
		r := crashed(first, check[:n])
		r.sees(name + ": 1 syslog.1=one")
		upload(r)
		r.sees(name + ": 1 syslog.1=one 1 syslog.2=two")
	}
	// A NodeManager of Apache's has begun this file, and no round in it is complete.
	r := crashed(first[:40], aggregated.AppendCheck(nil, name, 0))
	upload(r)
	r.sees(fmt.Sprintf("node1_45454_%d: 1 syslog.2=two", r.clock.Now().Wall))
	// The check names a file that does not exist, or one of another node.
	for _, other := range []string{"node1_45454_1", "../../../../../../etc/passwd", "other_1_17"} {
		r := crashed(first, aggregated.AppendCheck(nil, other, 100))
		upload(r)
		r.sees(name + ": 1 syslog.1=one 1 syslog.2=two")
	}
	// A new file that was never finished does no harm.
	r = crashed(first, nil)
	r.must(os.WriteFile(r.indexedFile("node1_45454.tmp"), second[:50], 0o640))
	r.cfg.Indexed.MaxBytes = 1
	upload(r)
	r.sees(fmt.Sprintf(name+": 1 syslog.1=one; node1_45454_%d: 1 syslog.2=two", r.clock.Now().Wall))
}

// As long as the check cannot be removed, the round does not count as collected.
func TestIndexedCheckThatStays(t *testing.T) {
	r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
	r.put(0, 1, "syslog.1", "one")
	running := []Container{{ID: containerID(1)}}
	r.must(r.open(rolled).Upload(t.Context(), running, false))
	r.put(0, 1, "syslog.2", "two")
	b := &batch{a: r.open(rolled), ctx: t.Context()}
	r.must(b.container(running[0]))
	b.files = stuck{b.files}
	if err := b.finish(); !errors.Is(err, errStuck) {
		t.Error(err)
	}
	b.abandon()
	r.sees("node1_45454_1795305345000: 1 syslog.1=one")
	r.must(r.open(rolled).Upload(t.Context(), running, false))
	r.sees("node1_45454_1795305345000: 1 syslog.1=one 1 syslog.2=two")
}

var errStuck = errors.New("stuck")

type stuck struct{ filesystem.FileSystem }

func (stuck) Remove(string) error { return errStuck }

// A check that cannot be read now stays, because without it the earlier rounds cannot be read.
func TestIndexedCheckThatCannotBeRead(t *testing.T) {
	const name = "node1_45454_1795305345000"
	for _, why := range []error{errStuck, io.ErrUnexpectedEOF} { // HDFS gives the latter when a connection breaks
		r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
		r.put(0, 1, "syslog.1", "one")
		r.must(r.open(rolled).Upload(t.Context(), []Container{{ID: containerID(1)}}, false))
		r.tear(name, 100)
		r.clock.Advance(time.Hour)
		r.roundOn("syslog.2", func(f filesystem.FileSystem) filesystem.FileSystem { return deaf{wrapped{f}, why} })
		r.sees(name + ": 1 syslog.1=one; node1_45454_1795308945000: 1 syslog.2=text")
	}
}

// roundOn collects a log on what is put in front of the file system.
func (r *rig) roundOn(log string, front func(filesystem.FileSystem) filesystem.FileSystem) {
	r.t.Helper()
	r.put(0, 1, log, "text")
	b := &batch{a: r.open(rolled), ctx: r.t.Context()}
	defer b.abandon()
	files, dir, err := b.a.connect(r.t.Context())
	r.must(err)
	b.files, b.dir = front(files), dir
	r.must(b.createIndexed())
	r.must(b.container(Container{ID: containerID(1)}))
	r.must(b.finish())
	b.commit()
}

// wrapped is a file system to change something of.
type wrapped struct{ filesystem.FileSystem }

func (w wrapped) Append(file string) (io.WriteCloser, error) {
	return w.FileSystem.(filesystem.Appender).Append(file)
}

// tear leaves a file as a crash does in the middle of a round, after so many bytes.
func (r *rig) tear(name string, bytes int64) {
	r.t.Helper()
	info, err := os.Stat(r.indexedFile(name))
	r.must(err)
	r.must(os.WriteFile(r.indexedFile("node1_45454-checksum"), aggregated.AppendCheck(nil, name, info.Size()), 0o640))
	r.must(os.Truncate(r.indexedFile(name), info.Size()+bytes))
}

// deaf opens files that cannot be read.
type deaf struct {
	wrapped
	why error
}

func (d deaf) Open(file string) (io.ReadCloser, error) {
	return io.NopCloser(iotest.ErrReader(&fs.PathError{Op: "read", Path: file, Err: d.why})), nil
}

// A file in which rounds have failed again and again is not appended to for ever, and what is complete in it can be read.
func TestIndexedRoundsThatFail(t *testing.T) {
	const name = "node1_45454_1795305345000"
	r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
	round := func(log string) {
		t.Helper()
		r.put(0, 1, log, "text")
		r.must(r.open(rolled).Upload(t.Context(), []Container{{ID: containerID(1)}}, false))
		r.clock.Advance(time.Hour)
	}
	round("syslog.1")
	r.tear(name, maxTorn)
	round("syslog.2")
	r.sees(name + ": 1 syslog.1=text 1 syslog.2=text")
	r.tear(name, maxTorn+1)
	for n := 3; n < 6; n++ {
		round(fmt.Sprintf("syslog.%d", n))
	}
	r.sees(name + ": 1 syslog.1=text 1 syslog.2=text; node1_45454_1795312545000: 1 syslog.3=text 1 syslog.4=text 1 syslog.5=text")
	if want := []string{name, name + "-checksum", "node1_45454_1795312545000"}; !slices.Equal(r.names(), want) {
		t.Errorf("%q", r.names())
	}
}

// The check is on the disk before anything is appended, and what is appended before the check goes.
func TestIndexedOrderOnDisk(t *testing.T) {
	const name = "node1_45454_1795305345000"
	r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
	var steps []string
	for n := range 2 {
		steps = nil
		r.roundOn(fmt.Sprintf("syslog.%d", n), func(f filesystem.FileSystem) filesystem.FileSystem { return watched{wrapped{f}, &steps} })
		want := []string{"create node1_45454.tmp", "sync", "rename"}
		if n == 1 {
			want = []string{"create node1_45454-checksum", "sync", "append " + name, "sync", "remove node1_45454-checksum"}
		}
		if !slices.Equal(steps, want) {
			t.Errorf("%q, want %q", steps, want)
		}
	}
	r.sees(name + ": 1 syslog.0=text 1 syslog.1=text")
}

// watched is a file system that notes what is done to it.
type watched struct {
	wrapped
	steps *[]string
}

func (w watched) did(step string) { *w.steps = append(*w.steps, step) }

func (w watched) Create(file string, mode fs.FileMode, overwrite bool) (io.WriteCloser, error) {
	w.did("create " + filepath.Base(file))
	f, err := w.FileSystem.Create(file, mode, overwrite)
	return watchedFile{f, w}, err
}

func (w watched) Append(file string) (io.WriteCloser, error) {
	w.did("append " + filepath.Base(file))
	f, err := w.wrapped.Append(file)
	return watchedFile{f, w}, err
}

func (w watched) Remove(file string) error {
	w.did("remove " + filepath.Base(file))
	return w.FileSystem.Remove(file)
}

func (w watched) Rename(from, to string) error {
	w.did("rename")
	return w.FileSystem.Rename(from, to)
}

type watchedFile struct {
	io.WriteCloser
	w watched
}

func (f watchedFile) Sync() error {
	f.w.did("sync")
	return f.WriteCloser.(filesystem.Syncer).Sync()
}

// However many nodes have files of an application, each goes on with its own.
func TestIndexedFilesOfManyNodes(t *testing.T) {
	r := indexedRig(t, func(c *Config) { c.Roll = time.Hour })
	for n := range 2 {
		r.roundOn(fmt.Sprintf("syslog.%d", n), func(f filesystem.FileSystem) filesystem.FileSystem { return crowded{wrapped{f}} })
		r.clock.Advance(time.Hour)
	}
	r.sees("node1_45454_1795305345000: 1 syslog.0=text 1 syslog.1=text")
}

// crowded lists the files of 50,000 other nodes, too.
type crowded struct{ wrapped }

func (c crowded) List(dir string, limit int) ([]filesystem.Info, error) {
	all, err := c.FileSystem.List(dir, limit)
	for n := range 50_000 {
		all = append(all, filesystem.Info{Name: fmt.Sprintf("other%d_45454", n)})
	}
	if len(all) > limit {
		return nil, filesystem.ErrTooMany
	}
	return all, err
}
