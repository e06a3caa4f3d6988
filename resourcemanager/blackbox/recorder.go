package blackbox

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds.
const (
	DefaultRing = 8 << 20 // bytes of the last commands in memory
	MaxFiles    = 8       // files of last commands in a directory; before one more is written the oldest is removed
	MaxTapes    = 3       // files of all commands, likewise
	blockBytes  = 64 << 10
)

// Options say how much is kept in memory, and where files go.
type Options struct {
	Ring int    // bytes; 0: DefaultRing
	Dir  string // of the files; empty: a crash writes none
	Log  *slog.Logger
}

// Header is what the engine began with.
type Header struct {
	Settings engine.Settings
	Queues   Queues
}

// End is how a recording ended.
type End struct {
	At        int64 // wall clock, milliseconds
	Commands  uint64
	Looked    bool   // State is known
	State     uint64 // engine.Digest
	Panic     string // of the last command; empty: there was none
	Stack     string // of the panic
	Truncated string // why later commands are not in the file; empty: none is missing
}

// block is a number of successive commands. It is not changed once the next one has
// begun.
type block struct {
	first         uint64 // number of its first command, from 0
	count         uint64
	before, after uint64 // hash of all effects before its first command and after its last
	data          []byte
}

// Recorder keeps the last commands. Only the loop's goroutine may use it, unless a
// method says otherwise.
type Recorder struct {
	Options
	head  Header
	ring  []*block // oldest first
	bytes int      // of the ring
	open  *block   // the last one of the ring, which grows
	clock yarn.Now // time of the last command of the open block; zero if it has none
	sum   uint64   // hash of all effects so far
	tape  *Tape    // the file of all commands; nil: there is none
}

// NewRecorder is a recorder for an engine that has not applied anything yet.
func NewRecorder(head Header, o Options) *Recorder {
	if o.Ring == 0 {
		o.Ring = DefaultRing
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{Options: o, head: head}
	r.begin(0)
	return r
}

func (r *Recorder) begin(first uint64) {
	r.open = &block{first: first, before: r.sum, after: r.sum, data: make([]byte, 0, blockBytes+blockBytes/8)}
	r.ring = append(r.ring, r.open)
	r.clock = yarn.Now{}
}

// Add records a command, a Publish, an Explain or a Digest. It must be called before that is applied.
func (r *Recorder) Add(now yarn.Now, c any) {
	if r.tape == nil && outsized(c, r.Ring) {
		r.skip()
		return
	}
	b := r.open
	if len(b.data) >= blockBytes {
		r.turn()
		b = r.open
	}
	b.data = binary.AppendVarint(b.data, now.Mono-r.clock.Mono)
	b.data = binary.AppendVarint(b.data, (now.Wall-now.Mono)-(r.clock.Wall-r.clock.Mono))
	b.data = appendCommand(b.data, c)
	b.count++
	r.clock = now
}

// Carried adds the effects of the command that was added last to the sum.
func (r *Recorder) Carried(fx *engine.Effects) {
	r.sum = Sum(r.sum, fx)
	r.open.after = r.sum
	if r.open.count == 0 { // the command was skipped
		r.open.before = r.sum
	}
}

// skip counts a command for which the ring has no room. With it all commands before are gone.
func (r *Recorder) skip() {
	next := r.Commands() + 1
	clear(r.ring)
	r.ring, r.bytes = r.ring[:0], 0
	if r.open.count > 0 {
		r.begin(next)
		return
	}
	r.open.first, r.open.before, r.open.after = next, r.sum, r.sum // as after the command before, which was skipped, too
	r.ring, r.clock = append(r.ring, r.open), yarn.Now{}
}

// turn begins a new block, and drops the oldest ones for which there is no room.
func (r *Recorder) turn() {
	full := r.open
	r.bytes += cap(full.data)
	if r.tape != nil {
		r.tape.put(full)
	}
	for len(r.ring) > 0 && r.bytes+blockBytes+blockBytes/8 > r.Ring {
		r.bytes -= cap(r.ring[0].data)
		r.ring[0] = nil
		r.ring = r.ring[1:]
	}
	r.begin(full.first + full.count)
}

// Commands counts what was added so far.
func (r *Recorder) Commands() uint64 { return r.open.first + r.open.count }

// Missing counts the first commands that are no longer kept.
func (r *Recorder) Missing() uint64 { return r.ring[0].first }

// last is a copy of the open block. Later commands do not change it: they are appended
// after its data.
func (r *Recorder) last() *block {
	b := *r.open
	return &b
}

// Snapshot is what a recorder keeps at one moment. Any goroutine may use it.
type Snapshot struct {
	head   Header
	blocks []*block
	end    End
}

// Snapshot is what is kept now, as a recording with that end.
func (r *Recorder) Snapshot(end End) *Snapshot {
	blocks := slices.Clone(r.ring)
	blocks[len(blocks)-1] = r.last()
	end.Commands = r.Commands()
	return &Snapshot{r.head, blocks, end}
}

// Missing counts the first commands that are not in the snapshot.
func (s *Snapshot) Missing() uint64 { return s.blocks[0].first }

// Commands counts the commands that are in the snapshot.
func (s *Snapshot) Commands() uint64 { return s.end.Commands - s.Missing() }

// Save writes the snapshot to a new file of the directory.
func (s *Snapshot) Save(dir string) (name string, err error) {
	f, err := create(dir, "resourcemanager-", MaxFiles)
	if err != nil {
		return "", err
	}
	w := newWriter(f)
	w.header(s.head)
	for _, b := range s.blocks {
		w.block(b)
	}
	w.end(s.end)
	if err := w.close(); err != nil {
		return "", fmt.Errorf("cannot write %s: %w", f.Name(), err)
	}
	return f.Name(), nil
}

// suffix ends the names of files.
const suffix = ".blackbox"

// create makes a new file whose name begins with prefix. Before that it removes the
// oldest such files, so that there are at most kept with the new one.
func create(dir, prefix string, kept int) (*os.File, error) {
	if dir == "" {
		return nil, fmt.Errorf("there is no directory for recordings")
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	old, err := filepath.Glob(filepath.Join(quoteGlob(dir), prefix+"[0-9]*"+suffix))
	if err != nil {
		return nil, err
	}
	slices.Sort(old) // by time
	for len(old) >= kept {
		if err := os.Remove(old[0]); err != nil {
			return nil, fmt.Errorf("cannot make room for a recording: %w", err)
		}
		old = old[1:]
	}
	name := prefix + time.Now().UTC().Format("20060102T150405.000000") + suffix
	return os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// quoteGlob is a pattern that matches that name alone.
func quoteGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(name)
}

// Crashed writes what is kept to a file after a panic of the last command, and logs the
// name of the file. look is engine.Digest.
func (r *Recorder) Crashed(cause any, stack []byte, look func() uint64) {
	end := End{At: time.Now().UnixMilli(), Panic: fmt.Sprint(cause), Stack: string(stack)}
	end.State, end.Looked = Look(look)
	s := r.Snapshot(end)
	if r.tape != nil {
		state, err := r.Detach(end)()
		r.Log.Error("the recording of all commands ends with the crash; see it again with: yarn sim rerun FILE", "file", state.File, "ended before", state.Full, "error", err)
	}
	if r.Dir == "" {
		return
	}
	name, err := s.Save(r.Dir)
	switch {
	case err != nil:
		r.Log.Error("the last commands are lost", "error", err)
	case s.Missing() > 0:
		r.Log.Error("the last commands are in a file; list them with: yarn sim rerun -list FILE. The first ones are missing, so it cannot be played; "+
			"yarn.resourcemanager.heddle.black-box.record has all commands kept from the start", "file", name, "commands", s.Commands(), "missing", s.Missing())
	default:
		r.Log.Error("all commands since the start are in a file; see the crash again with: yarn sim rerun FILE", "file", name, "commands", s.Commands())
	}
}

// Look calls engine.Digest on an engine that may be broken; ok is false if that panics.
func Look(look func() uint64) (state uint64, ok bool) {
	defer func() {
		if recover() != nil {
			state, ok = 0, false
		}
	}()
	return look(), true
}

// format is a hash of the types in a recording. A file with another one cannot be read.
var format = fingerprint(append(slices.Clone(kinds), reflect.TypeFor[Header](), reflect.TypeFor[End]()))

// build is the commit of the program that writes a file.
func build() string { return release.Own().Commit }
