package labelfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync"
	"syscall"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// The files.
const (
	mirrorFile = "nodelabel.mirror"
	logFile    = "nodelabel.editlog"
	writing    = mirrorFile + ".writing"
	newMirror  = mirrorFile + ".new" // the next mirror of Apache's NonAppendableFSNodeLabelStore, if it was interrupted
	oldMirror  = mirrorFile + ".old" // the mirror before, of Apache's FileSystemNodeLabelsStore, likewise
	tornLog    = logFile + ".torn"

	witnessFile = "nodelabel.witness"
	newWitness  = witnessFile + ".new"
)

// Options are where labels are kept, and the store of all other records.
type Options struct {
	Systems *filesystem.Systems
	URL     filesystem.URL // of the directory, file: or hdfs:
	User    string         // the user towards HDFS
	Nodes   bool           // labels of hosts and nodes are kept, too
	NoLog   bool           // as Apache's NonAppendableFSNodeLabelStore: there is no log
	Limits  Limits
	Over    store.Store // the store of all other records; nil: they are not kept
	Log     *slog.Logger
}

// files is a store that keeps labels itself and passes all other records to another.
type files struct {
	o     Options
	mu    sync.Mutex
	claim *os.File // the locked directory, if it is local
	state error    // why nothing can be committed, or nil

	number uint64 // of the change that wrote the mirror
}

// Open makes the directory if need be and, if it is local, locks it, so that a second
// ResourceManager of this machine is refused.
func Open(ctx context.Context, o Options) (store.Store, error) {
	o.URL = o.Systems.Resolve(o.URL)
	f := &files{o: o, state: store.ErrNotLoaded}
	err := f.with(ctx, func(sys filesystem.FileSystem) error { return sys.MkdirAll(o.URL.Path, 0o755) })
	if err == nil && f.local() {
		err = f.lock()
	}
	if err != nil {
		return nil, fmt.Errorf("open the directory of node labels %s: %w", o.URL, err)
	}
	return f, nil
}

func (f *files) local() bool { return f.o.URL.Folded().Scheme == "file" }

func (f *files) lock() (err error) {
	if f.claim, err = os.Open(f.o.URL.Path); err != nil {
		return err
	}
	// A file system that cannot lock a directory is used without a lock.
	if err := syscall.Flock(int(f.claim.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.claim.Close()
		return errors.New("another process has locked it: is a ResourceManager running already?")
	}
	return nil
}

// with calls do with a connection to the directory's file system.
func (f *files) with(ctx context.Context, do func(filesystem.FileSystem) error) error {
	sys, err := f.o.Systems.Connect(ctx, f.o.URL, f.o.User)
	if err != nil {
		return err
	}
	defer sys.Close()
	return do(sys)
}

func (f *files) at(name string) string { return path.Join(f.o.URL.Path, name) }

// Load implements store.Store.
func (f *files) Load(ctx context.Context) (*state.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.state == nil:
		return nil, store.ErrLoaded
	case !errors.Is(f.state, store.ErrNotLoaded):
		return nil, f.state
	}
	snapshot := &state.Snapshot{}
	if f.o.Over != nil {
		var err error
		if snapshot, err = f.o.Over.Load(ctx); err != nil {
			return nil, err
		}
	}
	err := f.with(ctx, func(sys filesystem.FileSystem) error { return f.read(sys, snapshot) })
	if err != nil {
		return nil, fmt.Errorf("read node labels: %w", err)
	}
	f.state = nil
	return snapshot, nil
}

// read reads the labels. If it succeeds they are all in a sealed mirror, and the log and
// Apache's other mirrors are gone.
func (f *files) read(sys filesystem.FileSystem, snapshot *state.Snapshot) error {
	w, err := f.readWitness(sys)
	if err != nil {
		return err
	}
	c := newContent(f.o.Limits)
	m, err := f.readMirrors(sys, c, w)
	if err != nil {
		return err
	}
	logged, torn, err := f.readLog(sys, c)
	if err != nil {
		return err
	}
	snapshot.Labels = c.record()
	f.number = max(m.number, w.number)
	switch {
	case m.name != mirrorFile, !m.sealed, logged:
		err = f.replace(sys, snapshot.Labels)
	case w.number != m.number:
		if err = f.prepareWitness(sys, m.number, snapshot.Labels); err == nil {
			err = f.replaceWitness(sys)
		}
	}
	if err != nil {
		return err
	}
	return f.clear(sys, logged, torn)
}

// replace writes a new mirror in place of the present one.
func (f *files) replace(sys filesystem.FileSystem, l state.Labels) error {
	if err := f.stage(sys, l); err != nil {
		return err
	}
	return f.publish(sys)
}

// mirrorFound is the mirror in force; it has no name if there is none.
type mirrorFound struct {
	name   string
	number uint64 // of the change that wrote it
	sealed bool
}

// readMirrors finds the mirror in force and reads it.
func (f *files) readMirrors(sys filesystem.FileSystem, c *content, w witness) (m mirrorFound, err error) {
	names := []string{mirrorFile, oldMirror}
	if f.o.NoLog {
		names = []string{newMirror, mirrorFile}
	}
	for _, name := range names {
		found, err := f.parse(sys, name, func(s *source) error {
			var err error
			m.number, m.sealed, err = c.readSealed(s, f.o.Nodes, w)
			return err
		})
		if found || err != nil {
			m.name = name
			return m, err
		}
	}
	if w.exists {
		return m, f.damaged(mirrorFile, fmt.Errorf("it is gone, and %s shows that there was one", f.o.URL.At(f.at(witnessFile))))
	}
	return m, nil
}

// readLog applies the changes since the mirror. logged tells whether there are any, torn
// whether the last one is incomplete.
func (f *files) readLog(sys filesystem.FileSystem, c *content) (logged, torn bool, err error) {
	if f.o.NoLog {
		return false, false, nil
	}
	_, err = f.parse(sys, logFile, func(s *source) error {
		err := c.readLog(s, f.o.Nodes)
		logged = s.at > 0
		if torn = errors.Is(err, errTorn); torn {
			f.o.Log.Warn("the last change in the log of node labels is incomplete and left out; nobody was told that it was made",
				"file", f.o.URL.At(f.at(logFile)).String(), "byte", s.began, "kept", f.o.URL.At(f.at(tornLog)).String())
			return nil
		}
		return err
	})
	return logged, torn, err
}

// parse reads one file; found is false when there is none.
func (f *files) parse(sys filesystem.FileSystem, name string, read func(*source) error) (found bool, err error) {
	file, err := sys.Open(f.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	in := &input{Reader: file}
	s := newSource(in)
	err = read(s)
	switch {
	case in.err != nil: // err, if any, follows from it
		return true, fmt.Errorf("read %s: %w", f.o.URL.At(f.at(name)), in.err)
	case err != nil:
		return true, f.damaged(name, fmt.Errorf("it cannot be understood from byte %d on: %w", s.began, err))
	}
	return true, nil
}

// input keeps the error if reading fails, which is no damage of the file.
type input struct {
	io.Reader
	err error
}

func (i *input) Read(b []byte) (int, error) {
	n, err := i.Reader.Read(b)
	if err != nil && err != io.EOF {
		i.err = err
	}
	return n, err
}

// damaged makes a DamageError.
func (f *files) damaged(name string, err error) error {
	return &DamageError{File: f.o.URL.At(f.at(name)).String(), Err: err}
}

// DamageError is a file that cannot be used as it is.
type DamageError struct {
	File string
	Err  error
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("the file of node labels %s is damaged: %v; nothing was changed. Stop the ResourceManager if it runs, then look with `yarn resourcemanager -check-state-store`; "+
		"`yarn resourcemanager -repair-state-store` keeps a copy and what can be read. Or restore a copy, or move the file away, each with %s beside it, to start without the labels in it", e.File, e.Err, witnessFile)
}

func (e *DamageError) Unwrap() error { return e.Err }

// clear removes the files whose content is in the mirror now. A torn log is renamed.
func (f *files) clear(sys filesystem.FileSystem, logged, torn bool) error {
	if torn {
		if err := sys.Rename(f.at(logFile), f.at(tornLog)); err != nil {
			return err
		}
	} else if logged {
		if err := sys.Remove(f.at(logFile)); err != nil {
			return err
		}
	}
	for _, name := range []string{newMirror, oldMirror} {
		if err := sys.Remove(f.at(name)); err != nil {
			return err
		}
	}
	return f.sync("")
}

// stage writes the next mirror and the next witness, durably, beside the present ones:
// a full disk is noticed before anything has changed.
func (f *files) stage(sys filesystem.FileSystem, l state.Labels) error {
	content, err := mirror(l, f.o.Nodes, f.number+1)
	if err != nil {
		return err
	}
	if err := f.write(sys, writing, content); err != nil {
		return err
	}
	return f.prepareWitness(sys, f.number+1, l)
}

// write writes a file, durably.
func (f *files) write(sys filesystem.FileSystem, name string, content []byte) error {
	w, err := sys.Create(f.at(name), 0o644, true)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if closing := w.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = f.sync(name)
	}
	return err
}

// publish puts the next mirror and the next witness in place of the present ones.
func (f *files) publish(sys filesystem.FileSystem) error {
	if err := sys.Rename(f.at(writing), f.at(mirrorFile)); err != nil {
		return err
	}
	f.number++
	if err := f.sync(""); err != nil {
		return err
	}
	return f.replaceWitness(sys)
}

// sync makes a local file durable, or with "" the directory's entries. HDFS makes a file
// durable when it is closed.
func (f *files) sync(name string) error {
	if !f.local() {
		return nil
	}
	file, err := os.Open(f.at(name))
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// Commit implements store.Store. If the next mirror cannot be written, only the change of
// labels fails, with a *store.PoisonError.
func (f *files) Commit(ctx context.Context, ops []state.Op) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != nil {
		return f.state
	}
	var labels *state.Labels
	at := 0
	rest := make([]state.Op, 0, len(ops))
	places := make([]int, 0, len(ops)) // of rest in ops
	for i, op := range ops {
		if l, ok := op.Record.(state.Labels); ok && op.Kind == state.OpPut {
			labels, at = &l, i
			continue
		}
		rest, places = append(rest, op), append(places, i)
	}
	if labels == nil {
		return f.commitRest(ctx, rest, places)
	}
	published := false
	err := f.with(ctx, func(sys filesystem.FileSystem) error {
		if err := f.stage(sys, *labels); err != nil {
			return err
		}
		if err := f.commitRest(ctx, rest, places); err != nil {
			return &restError{err}
		}
		published = true
		return f.publish(sys)
	})
	var other *restError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other):
		return other.err
	case published || ctx.Err() != nil:
		return &store.UnavailableError{Err: err}
	}
	return &store.PoisonError{Index: at, Key: labels.Key(), Err: err}
}

// restError is an error of the other store.
type restError struct{ err error }

func (e *restError) Error() string { return e.err.Error() }

func (f *files) commitRest(ctx context.Context, ops []state.Op, places []int) error {
	if f.o.Over == nil {
		return nil
	}
	err := f.o.Over.Commit(ctx, ops)
	var poison *store.PoisonError
	if errors.As(err, &poison) && poison.Index >= 0 && poison.Index < len(places) {
		return &store.PoisonError{Index: places[poison.Index], Key: poison.Key, Err: poison.Err}
	}
	return err
}

// Close implements store.Store.
func (f *files) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if errors.Is(f.state, store.ErrClosed) {
		return nil
	}
	f.state = store.ErrClosed
	if f.claim != nil {
		f.claim.Close()
	}
	if f.o.Over != nil {
		return f.o.Over.Close()
	}
	return nil
}
