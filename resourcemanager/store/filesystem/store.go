package filesystem

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// The version of the layout.
const (
	Major = 1
	Minor = 3
)

// Options are those of every store and of this one.
type Options struct {
	store.Options
	Systems *filesystem.Systems
	URL     filesystem.URL // of the directory (yarn.resourcemanager.fs.state-store.uri)
	User    string         // who this is, to HDFS

	// Step, if not nil, is asked before each change of the directory, which it can refuse: "make" a directory, "create", "write" and "rename" a
	// file, "remove" anything, and "sync", which is left to it. Changes come one after the other then. It is for tests, which have the process or
	// the machine go down there.
	Step func(op, path, to string) error

	// Connect, if not nil, connects to the file system of the URL instead of Systems. It is for tests.
	Connect func() (filesystem.FileSystem, error)

	noSync bool // tests that lose no power need not wait for disks
}

const rootName = "FSRMStateRoot"

type keeper struct {
	options Options
	root    string // path within the file system
	where   string // the same as a URL, for messages
	local   bool

	mu sync.Mutex
	store.Life
	sys       filesystem.FileSystem // nil: to be connected
	hangUp    context.CancelFunc    // ends what sys is about to do
	lock      *os.File              // nil: not local, or not loaded
	epoch     []byte                // what EpochNode holds as long as nobody else takes the store over; nil: there was none, or it is not read yet
	start     string                // random, of this start
	plans     map[string]string     // of reservations, by name
	sequences map[string]bool       // files whose names are sequence numbers
	journaled bool                  // there may be a journal
}

// Open prepares a store; it reads nothing yet.
func Open(o Options) (store.Store, error) {
	o.Options = o.Options.WithDefaults()
	o.Codec = apache.Codec{Types: o.Types}
	u := o.Systems.Resolve(o.URL)
	if !o.Systems.Serves(u) || strings.HasPrefix(strings.ToLower(u.Scheme), "http") {
		return nil, fmt.Errorf("the state store cannot be at %s: only file: and hdfs: are built", u)
	}
	root := path.Join(u.Path, rootName)
	return &keeper{options: o, root: root, where: u.At(root).String(), local: strings.EqualFold(u.Scheme, "file"), plans: map[string]string{}, sequences: map[string]bool{}}, nil
}

// SetAside renames the store, so that the next start makes a new one. aside is the name
// under which it is kept. It fails while a ResourceManager of ours on this machine uses it.
func SetAside(ctx context.Context, o Options, now time.Time) (aside string, err error) {
	s, err := Open(o)
	if err != nil {
		return "", err
	}
	k := s.(*keeper)
	if err := k.connect(ctx); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	if _, err := k.sys.Stat(k.root); err != nil {
		return "", err
	}
	if err := k.hold(); err != nil {
		return "", err
	}
	to := k.root + now.UTC().Format(".20060102T150405Z")
	if err := k.sys.Rename(k.root, to); err != nil {
		return "", err
	}
	return strings.TrimSuffix(k.where, rootName) + path.Base(to), nil
}

func (k *keeper) connect(ctx context.Context) error {
	if k.sys != nil {
		return nil
	}
	base, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, hangUp)()
	connect := k.options.Connect
	if connect == nil {
		connect = func() (filesystem.FileSystem, error) {
			return k.options.Systems.Connect(base, k.options.URL, k.options.User)
		}
	}
	sys, err := connect()
	if err != nil {
		hangUp()
		return fmt.Errorf("the state store %s: %w", k.where, err)
	}
	k.sys, k.hangUp = sys, hangUp
	if k.options.Step != nil {
		k.sys = stepped{sys, k.options.Step}
	}
	return nil
}

// until has calls to HDFS, of which none has a context of its own, end with ctx, until done is called. The next call connects anew then.
func (k *keeper) until(ctx context.Context) (done func()) {
	if k.local || k.sys == nil {
		return func() {}
	}
	sys, stop := k.sys, context.AfterFunc(ctx, k.hangUp)
	return func() {
		if !stop() && k.sys == sys {
			_ = k.disconnect()
		}
	}
}

func (k *keeper) disconnect() error {
	if k.sys == nil {
		return nil
	}
	err := k.sys.Close()
	k.hangUp()
	k.sys = nil
	return err
}

// hold takes the lock of a local store.
func (k *keeper) hold() error {
	if !k.local || k.lock != nil {
		return nil
	}
	dir := path.Join(k.root, apache.OwnRoot)
	if err := k.makeDirs(apache.OwnRoot); err != nil {
		return err
	}
	f, err := os.OpenFile(path.Join(dir, lockName), os.O_CREATE|os.O_RDWR, fileMode)
	if err != nil {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return &heldError{fmt.Errorf("the state store %s: another process has the lock %s: is a ResourceManager running already? (%w)", k.where, f.Name(), err)}
	}
	k.lock = f
	return nil
}

// heldError tells that another process uses the store.
type heldError struct{ err error }

func (e *heldError) Error() string { return e.err.Error() }

func (e *heldError) Unwrap() error { return e.err }

// versionError tells that the store is not one for this program.
type versionError struct{ err error }

func (e *versionError) Error() string { return e.err.Error() }

func (e *versionError) Unwrap() error { return e.err }

// Load implements store.Store.
func (k *keeper) Load(ctx context.Context) (*state.Snapshot, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.MayLoad(ctx); err != nil {
		return nil, err
	}
	err := k.connect(ctx)
	if err == nil {
		err = k.hold()
	}
	if err != nil {
		return nil, k.outcome(err)
	}
	defer k.until(ctx)()
	snapshot, err := k.load(ctx)
	if err != nil {
		return nil, k.outcome(err)
	}
	k.Loaded = true
	return snapshot, nil
}

// Commit implements store.Store.
func (k *keeper) Commit(ctx context.Context, ops []state.Op) error {
	changes, err := k.options.Changes(ops)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := k.MayCommit(ctx); err != nil {
		return err
	}
	err = k.connect(ctx)
	if err == nil {
		defer k.until(ctx)()
		err = k.commit(changes)
	}
	return k.outcome(err)
}

// outcome makes an error of the interface of what the file system said.
func (k *keeper) outcome(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrFenced), errors.As(err, new(*store.DamagedError)):
		k.Broken = err
		return err
	case errors.As(err, new(*store.PoisonError)), errors.As(err, new(*versionError)), errors.As(err, new(*heldError)):
		return err
	}
	if !k.local { // the next call connects anew
		_ = k.disconnect()
	}
	return &store.UnavailableError{Err: err}
}

// Close implements store.Store.
func (k *keeper) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Closed = true
	var errs []error
	if k.lock != nil {
		errs = append(errs, k.lock.Close())
		k.lock = nil
	}
	return errors.Join(append(errs, k.disconnect())...)
}

// Modes of what is made: there are keys in it.
const (
	dirMode  fs.FileMode = 0o700
	fileMode fs.FileMode = 0o600
)
