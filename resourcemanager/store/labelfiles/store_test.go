package labelfiles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/memory"
	"github.com/heddle-project/heddle/resourcemanager/store/storetest"
	"github.com/heddle-project/heddle/yarn"
)

// place is a directory of labels, and what was logged about it.
type place struct {
	t   *testing.T
	o   Options
	log bytes.Buffer
}

func newPlace(t *testing.T) *place {
	t.Helper()
	systems, err := filesystem.New(filesystem.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p := &place{t: t}
	p.o = Options{Systems: systems, URL: filesystem.URL{Scheme: "file", Path: filepath.Join(t.TempDir(), "up", "node-labels")}, Nodes: true,
		Limits: Limits{Labels: 10, Nodes: 20}, Log: slog.New(slog.NewTextHandler(&p.log, nil))}
	return p
}

func (p *place) file(name string) string { return filepath.Join(p.o.URL.Path, name) }

func (p *place) write(name string, content []byte) {
	p.t.Helper()
	if err := os.MkdirAll(p.o.URL.Path, 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.file(name), content, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// recorded is a file that Apache's ResourceManager has written.
func recorded(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// load opens, loads and closes the store.
func (p *place) load() (string, error) {
	p.t.Helper()
	s, err := Open(p.t.Context(), p.o)
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Close()
	snapshot, err := s.Load(p.t.Context())
	if err != nil {
		return "", err
	}
	return text(snapshot.Labels), nil
}

func (p *place) loads(want string) {
	p.t.Helper()
	if got, err := p.load(); err != nil || got != want {
		p.t.Errorf("labels are %q (%v), want %q", got, err, want)
	}
}

// text is "gpu ssd:shared h1:0=gpu".
func text(l state.Labels) string {
	var out []string
	for _, x := range l.Known {
		name := x.Name
		if !x.Exclusive {
			name += ":shared"
		}
		out = append(out, name)
	}
	for _, x := range l.Nodes {
		out = append(out, x.Node.String()+"="+x.Label)
	}
	return strings.Join(out, " ")
}

// labels reads what text writes.
func labels(s string) state.Labels {
	var l state.Labels
	for _, word := range strings.Fields(s) {
		if node, label, ok := strings.Cut(word, "="); ok {
			host, port, _ := strings.Cut(node, ":")
			id := yarn.NodeID{Host: host}
			fmt.Sscan(port, &id.Port)
			l.Nodes = append(l.Nodes, state.LabelledNode{Node: id, Label: label})
			continue
		}
		name, shared := strings.CutSuffix(word, ":shared")
		l.Known = append(l.Known, state.NodeLabel{Name: name, Exclusive: !shared})
	}
	return l
}

// What the recorded files say: first.editlog, and mirror with second.editlog.
const (
	fromLog  = "gpu old ssd:shared h1:0=gpu h1:12=ssd h2:7=old h3:0=ssd h3:9="
	fromBoth = "gpu late ssd:shared h1:0=ssd h1:12=gpu h3:0=ssd h4:0=late h4:1=gpu" // Apache's mirror leaves h3:9 out
)

// What Apache's ResourceManager has left is read, put into the mirror, and stays so.
func TestReadsApaches(t *testing.T) {
	p := newPlace(t)
	p.loads("")
	p.write(logFile, recorded(t, "first.editlog"))
	p.loads(fromLog)
	if _, err := os.Stat(p.file(logFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the log is still there: %v", err)
	}
	p.loads(fromLog)

	p.write(mirrorFile, recorded(t, "mirror"))
	p.write(logFile, recorded(t, "second.editlog"))
	p.loads(fromBoth)
	p.loads(fromBoth)
	p.write(logFile, recorded(t, "second.editlog")) // the start was killed before it emptied the log
	p.loads(fromBoth)
}

// A start of Apache's may be killed while it renames.
func TestMirrorsBesides(t *testing.T) {
	p := newPlace(t)
	p.write(oldMirror, recorded(t, "mirror"))
	p.write(writing, []byte("half a mir"))
	p.write(logFile, recorded(t, "second.editlog"))
	p.loads(fromBoth)
	p.write(oldMirror, []byte("never read"))
	p.loads(fromBoth)

	p = newPlace(t)
	p.o.NoLog = true
	p.write(newMirror, recorded(t, "mirror"))
	p.write(logFile, recorded(t, "second.editlog"))
	want := strings.Replace(fromLog, "h3:0=ssd h3:9=", "h3:0=ssd", 1)
	p.loads(want)
	if _, err := os.Stat(p.file(newMirror)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", newMirror, err)
	}
	p.loads(want)
}

// A log is cut anywhere: the changes before the cut hold, and the rest is kept aside.
func TestTornLog(t *testing.T) {
	whole := recorded(t, "first.editlog")
	seen := map[string]bool{}
	for n := range whole {
		p := newPlace(t)
		p.write(logFile, whole[:n])
		got, err := p.load()
		if err != nil {
			t.Fatalf("cut at byte %d: %v", n, err)
		}
		torn, _ := os.ReadFile(p.file(tornLog))
		if told := strings.Contains(p.log.String(), "incomplete"); told != (torn != nil) || told && !bytes.Equal(torn, whole[:n]) {
			t.Errorf("cut at byte %d: told %t, kept %q", n, told, torn)
		}
		seen[got] = true
		p.loads(got)
	}
	// after each of the five changes but the last
	want := []string{"", "gpu old ssd:shared", "gpu old ssd:shared h1:0=gpu", "gpu old ssd:shared h1:0=gpu h1:12=ssd h2:7=old", "gpu old ssd:shared h1:0=gpu h1:12=ssd h2:7=old h3:0=ssd"}
	for _, w := range want {
		if !seen[w] {
			t.Errorf("no cut left %q", w)
		}
		delete(seen, w)
	}
	if len(seen) > 0 {
		t.Errorf("half a change: %v", seen)
	}
}

// What makes no sense is an error that says where, and changes nothing.
func TestGarbage(t *testing.T) {
	good := recorded(t, "first.editlog")
	for _, c := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"a kind that is none", logFile, slices.Concat(good, []byte{0, 0, 0, 9, 0}), fmt.Sprintf("from byte %d on: 9 is not a kind", len(good))},
		{"a length that is none", logFile, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, "from byte 0 on"},
		{"too long", logFile, []byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, "cannot have 4294967295 bytes"},
		{"no message", logFile, []byte{0, 0, 0, 0, 2, 0xff, 0xff}, "from byte 0 on"},
		{"no name", logFile, []byte{0, 0, 0, 0, 2, 0x12, 0}, "label added is empty or exceeds 255"},
		{"not a name", logFile, []byte{0, 0, 0, 0, 4, 0x0a, 2, 'a', '\n'}, "label name should only contains"},
		{"no host", logFile, []byte{0, 0, 0, 1, 2, 0x0a, 0}, "is not a node"},
		{"empty mirror", mirrorFile, nil, "from byte 0 on: the file ends"},
		{"half a mirror", mirrorFile, recorded(t, "mirror")[:60], "the file ends here"},
		{"text", mirrorFile, []byte("labels: gpu, ssd and others\n"), "from byte 0 on"},
		{"more than a mirror", mirrorFile, append(recorded(t, "mirror"), 0), "nothing should follow"},
	} {
		p := newPlace(t)
		p.write(c.file, c.content)
		_, err := p.load()
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), p.file(c.file)) || !strings.Contains(err.Error(), "move the file away") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if after, _ := os.ReadFile(p.file(c.file)); !bytes.Equal(after, c.content) {
			t.Errorf("%s: the file was changed", c.name)
		}
	}
	p := newPlace(t)
	p.o.Limits = Limits{Labels: 2, Nodes: 20}
	p.write(logFile, good)
	if _, err := p.load(); err == nil || !strings.Contains(err.Error(), "more than 2 labels") {
		t.Errorf("too many labels: %v", err)
	}
	p.o.Limits = Limits{Labels: 10, Nodes: 2}
	if _, err := p.load(); err == nil || !strings.Contains(err.Error(), "more than 2 hosts") {
		t.Errorf("too many nodes: %v", err)
	}
}

func FuzzLog(f *testing.F) {
	for _, name := range []string{"first.editlog", "second.editlog", "mirror"} {
		b, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, read := range []func(*content, *source, bool) error{(*content).readLog, (*content).readMirror} {
			c := newContent(Limits{Labels: 10, Nodes: 20})
			if err := read(c, newSource(bytes.NewReader(b)), true); err != nil {
				continue
			}
			l := c.record()
			again, err := mirror(l, true, 1)
			if err != nil {
				t.Fatal(err)
			}
			c = newContent(Limits{Labels: 10, Nodes: 20})
			if err := c.readMirror(newSource(bytes.NewReader(again)), true); err != nil || !reflect.DeepEqual(c.record(), l) {
				t.Fatalf("%q was written and reads %q (%v)", text(l), text(c.record()), err)
			}
		}
	})
}

// Where nodes name their own labels, those that they were given do not count.
func TestWithoutNodes(t *testing.T) {
	p := newPlace(t)
	p.o.Nodes = false
	p.write(mirrorFile, recorded(t, "mirror"))
	p.write(logFile, recorded(t, "second.editlog"))
	p.loads("gpu late ssd:shared")
	p.o.Nodes = true
	p.loads("gpu late ssd:shared")
}

func put(s string) state.Op { return state.Put(labels(s)) }

// What Commit has acknowledged is there after the process was killed, whole; the
// other store gets everything else.
func TestCommit(t *testing.T) {
	p, disk := newPlace(t), memory.NewDisk()
	p.o.Over = disk.Open(store.Options{})
	s, err := Open(t.Context(), p.o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), []state.Op{put("x")}); !errors.Is(err, store.ErrNotLoaded) {
		t.Errorf("before it was loaded: %v", err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); !errors.Is(err, store.ErrLoaded) {
		t.Errorf("loaded again: %v", err)
	}
	const first = "gpu ssd:shared h1:0=gpu h1:8041=ssd h1:8042="
	key := state.DelegationKey{ID: 1, Bytes: []byte("key")}
	if err := s.Commit(t.Context(), []state.Op{put("x"), state.Put(key), put(first)}); err != nil {
		t.Fatal(err)
	}
	var poison *store.PoisonError
	if err := s.Commit(t.Context(), []state.Op{put("y"), state.Put(key), state.Put(state.NodeDeadline{})}); !errors.As(err, &poison) || poison.Index != 2 {
		t.Errorf("a record that the other store refuses: %v", err)
	}
	if len(disk.Values()) != 1 {
		t.Errorf("%d records are in the other store, want 1", len(disk.Values()))
	}
	another := p.o
	another.Over = nil
	if _, err := Open(t.Context(), another); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("a second ResourceManager: %v", err)
	}
	// The process is killed: nobody closes anything, the kernel lets go of the lock.
	s.(*files).claim.Close()
	p.o.Over = disk.Open(store.Options{})
	p.loads(first)
}

// Whoever was fenced off changes no labels either, though nothing else is to be stored.
func TestLabelsAreFenced(t *testing.T) {
	p, disk := newPlace(t), memory.NewDisk()
	faults, err := storetest.NewFaults(disk.Open(store.Options{}), "commit 2.. fenced")
	if err != nil {
		t.Fatal(err)
	}
	p.o.Over = faults
	s, err := Open(t.Context(), p.o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), []state.Op{put("x")}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Commit(t.Context(), []state.Op{put("x y")}); !errors.Is(err, store.ErrFenced) {
			t.Errorf("fenced: %v", err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	p.o.Over = disk.Open(store.Options{})
	p.loads("x")
}

// A directory that cannot be written to refuses changes of labels, and nothing else.
func TestCommitFails(t *testing.T) {
	p := newPlace(t)
	s, err := Open(t.Context(), p.o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), []state.Op{put("x")}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.file(writing), 0o700); err != nil {
		t.Fatal(err)
	}
	var poison *store.PoisonError
	if err := s.Commit(t.Context(), []state.Op{state.Put(state.DelegationSequence{Last: 1}), put("y")}); !errors.As(err, &poison) || poison.Index != 1 {
		t.Errorf("without a place to write to: %v", err)
	}
	if err := s.Commit(t.Context(), []state.Op{state.Put(state.DelegationSequence{Last: 1})}); err != nil {
		t.Errorf("what is no label: %v", err)
	}
	if err := os.Remove(p.file(writing)); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, []state.Op{put("y")}); !errors.As(err, new(*store.UnavailableError)) {
		t.Errorf("cancelled: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Commit(t.Context(), []state.Op{put("y")}); !errors.Is(err, store.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	p.loads("x")
}
