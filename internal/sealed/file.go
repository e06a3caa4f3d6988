package sealed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
)

// DefaultLock is how long Open waits for another process to let go of the file: less
// than `yarn --daemon start` waits for a daemon to stand, so that it tells of the failure.
const DefaultLock = 500 * time.Millisecond

// lockPause is how often a lock that somebody holds is tried.
const lockPause = 10 * time.Millisecond

// releaseTimeout bounds the wait for bbolt to close a file. It takes long only
// when a panic in a damaged file has left one of bbolt's locks held.
const releaseTimeout = 5 * time.Second

// Options say what a file is for.
type Options struct {
	Kind   string // "state store", in errors
	Holder string // "ResourceManager": who may have it open
	Advice string // what to do about a damaged one, in whole sentences
	Own    string // the bucket of the file's own: version and the like, and the seal
	// Prepare is the first transaction of each opening: it refuses a file that
	// is not the program's and makes what is missing. sealed is false for a file
	// that had no seal: a new one, or one of a program that made no seals.
	Prepare func(tx *Tx, sealed bool) error
	// Intact tells what is wrong with a single record, by its own checksum; nil if nothing
	// is. sealed is false for a file written by a program that made no seals. Records of Own
	// have no checksums.
	Intact func(sealed bool, bucket string, key, value []byte) error
	// Owner names the bucket that a record is of, "" if that cannot be told. It
	// is asked by a repair about records on pages that no bucket leads to.
	Owner func(key, value []byte) string
	// Each takes every record of a file that is opened, the file's own included, by several
	// goroutines at once. key and value are its own only until it returns, and count only if
	// Open succeeds. nil: nobody does.
	Each  func(bucket string, key, value []byte)
	Parts *Parts            // takes those of one bucket in its stead; nil: there is no such bucket
	Warn  func(text string) // is told what is odd but no damage; nil: nobody is
	Lock  time.Duration     // 0: DefaultLock
	// Map is how much address space the file gets from the start, in bytes. While the file is
	// smaller than that, a writer never waits until readers have ended. 0: as much as the file has.
	Map int

	unsynced bool // for tests, which open thousands of files
}

func (o *Options) intact(sealed bool, bucket string, key, value []byte) error {
	if bucket == o.Own {
		return nil
	}
	return o.Intact(sealed, bucket, key, value)
}

func (o *Options) warn(format string, args ...any) {
	if o.Warn != nil {
		o.Warn(fmt.Sprintf(format, args...))
	}
}

func (o *Options) patience() time.Duration {
	if o.Lock > 0 {
		return o.Lock
	}
	return DefaultLock
}

// File is an open file. It is used by one goroutine at a time.
type File struct {
	o       Options
	path    string
	db      *bbolt.DB
	file    *os.File    // the db's own
	info    fs.FileInfo // what was opened, to notice that it was replaced
	seal    *seal
	own     map[string][]byte // as reading.own
	hasher  hasher
	witness *os.File // nil until the first seal
}

// Open opens the file, making it and its directory if need be. A file that is
// damaged is left as it is: *DamageError.
func Open(path string, o Options) (*File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	t, err := hear(path)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(path); {
	case err == nil && info.Size() > 0:
		return open(path, o, t)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case t.exists:
		return nil, o.gone(path, err == nil)
	}
	return o.create(path, 0)
}

// gone is the damage of a file of which only the witness is left.
func (o *Options) gone(path string, empty bool) error {
	var found Findings
	if empty {
		found.file("it is empty")
	} else {
		found.file("it is gone")
	}
	found.Told[0] += ", and " + witnessOf(path) + " shows that there was one"
	return &DamageError{path, o.Kind, found, o.Advice}
}

func open(path string, o Options, t testimony) (*File, error) {
	var x *reading
	f := &File{o: o, path: path}
	err := f.openBolt(path, func(file *os.File, size int64) error {
		mapped := mapFile(file, size)
		defer unmapFile(mapped)
		if x = o.examine(file, mapped, size, t); !x.found.None() {
			return &DamageError{path, o.Kind, x.found, o.Advice}
		}
		return x.refused
	})
	if err != nil {
		return nil, err
	}
	if x.warning != "" {
		o.warn("%s: %s", path, x.warning)
	}
	if f.seal = x.seal; f.seal == nil {
		f.seal = &seal{buckets: x.sums}
	} else if t.seal == nil {
		o.warn("%s is missing or cannot be read, and is made anew: whether the last transactions of the %s are there cannot be told", witnessOf(path), o.Kind)
	}
	f.own = x.own
	err = f.prepare(x.seal != nil, t)
	if err == nil {
		err = f.secure()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// create makes a new file beside the path and puts it there when it is whole,
// so a path never has half of one. Its first seal has the number after last.
func (o *Options) create(path string, last uint64) (*File, error) {
	f := &File{o: *o, path: path, seal: &seal{number: last, buckets: map[string]sum{}}, own: map[string][]byte{}}
	making := path + ".new"
	err := f.openBolt(making, func(file *os.File, _ int64) error { return file.Truncate(0) })
	if err != nil {
		return nil, err
	}
	if err = f.update(func(tx *Tx) error { return o.Prepare(tx, false) }); err == nil {
		err = os.Rename(making, path)
	}
	if err == nil {
		err = f.secure()
	}
	if err == nil {
		err = f.testify()
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// prepare runs the first transaction, which brings the witness up to date, or makes
// it.
func (f *File) prepare(sealed bool, t testimony) (err error) {
	if t.seal != nil {
		if f.witness, err = os.OpenFile(witnessOf(f.path), os.O_RDWR, 0); err != nil {
			return err
		}
	}
	if err := f.Update(func(tx *Tx) error { return f.o.Prepare(tx, sealed) }); err != nil {
		return err
	}
	return f.o.sync(f.witness)
}

func (o *Options) sync(file *os.File) error {
	if o.unsynced {
		return nil
	}
	return file.Sync()
}

// openBolt opens the file with bbolt, once look has seen it and it is locked.
func (f *File) openBolt(path string, look func(file *os.File, size int64) error) error {
	var refused error
	openFile := func(name string, flag int, mode fs.FileMode) (*os.File, error) {
		f.file, refused = f.o.lock(name, flag, mode, syscall.LOCK_EX)
		if refused != nil {
			return nil, refused
		}
		info, err := f.file.Stat()
		if err == nil {
			err = look(f.file, info.Size())
		}
		if err != nil {
			refused = err
			_ = f.file.Close()
			return nil, err
		}
		return f.file, nil
	}
	// The list of free pages is stored (the default): to rebuild it, bbolt would
	// walk the file in a goroutine whose panic at a damaged page nobody can catch.
	err := catchPanic(func() (err error) {
		f.db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: f.o.patience(), FreelistType: bbolt.FreelistMapType, OpenFile: openFile, InitialMmapSize: f.o.Map,
			NoSync: f.o.unsynced, NoGrowSync: f.o.unsynced})
		return err
	})
	switch {
	case refused != nil:
		return refused
	case errors.Is(err, ErrDamaged):
		// bbolt has not cleaned up. The mapping that it leaves keeps the lock alive
		// over closing, so the lock is given back by hand.
		_ = syscall.Flock(int(f.file.Fd()), syscall.LOCK_UN)
		_ = f.file.Close()
		return &DamageError{path, f.o.Kind, Findings{Files: 1, Told: []string{err.Error()}}, f.o.Advice}
	}
	return err
}

// lock opens a file and locks it for this process: bbolt does the same once
// more, but only after it has asked for the file. A file that was replaced
// meanwhile is opened again.
func (o *Options) lock(path string, flag int, mode fs.FileMode, how int) (*os.File, error) {
	for end := time.Now().Add(o.patience()); ; time.Sleep(lockPause) {
		file, err := os.OpenFile(path, flag, mode)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			have, err1 := file.Stat()
			want, err2 := os.Stat(path)
			if err1 == nil && err2 == nil && os.SameFile(have, want) {
				return file, nil
			}
		}
		_ = file.Close()
		switch {
		case err != nil && !errors.Is(err, syscall.EWOULDBLOCK):
			return nil, fmt.Errorf("lock %s: %w", path, err)
		case time.Now().After(end):
			return nil, &HeldError{path, o.Holder, o.patience()}
		}
	}
}

// HeldError tells that another process has the file open.
type HeldError struct {
	Path, Holder string
	Waited       time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("another process has held the lock of %s for %v: is a %s running already?", e.Path, e.Waited, e.Holder)
}

// secure sets the mode of a file that was there before and makes the entry of a
// new one in its directory durable.
func (f *File) secure() (err error) {
	if err := os.Chmod(f.path, 0o600); err != nil {
		return err
	}
	if err := f.o.syncDir(f.path); err != nil {
		return err
	}
	f.info, err = os.Stat(f.path)
	return err
}

// syncDir makes the entry of path in its directory durable.
func (o *Options) syncDir(path string) error {
	if o.unsynced {
		return nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// InPlace fails if the file was deleted or replaced: what is written to it would
// be lost when the process ends.
func (f *File) InPlace() error {
	info, err := os.Stat(f.path)
	if err != nil {
		return fmt.Errorf("the %s in use is gone: %w; move the file back, or copy /proc/%d/fd/%d there while this process runs and start it again", f.o.Kind, err, os.Getpid(), f.file.Fd())
	}
	if !os.SameFile(info, f.info) {
		return fmt.Errorf("the %s %s was replaced by another file while in use; move the one that is in use back", f.o.Kind, f.path)
	}
	return nil
}

// Path is where the file was opened.
func (f *File) Path() string { return f.path }

// Disk is the file itself, for what concerns its room on the disk. Nobody else writes to it.
func (f *File) Disk() *os.File { return f.file }

// Update makes all changes of do durable, or none of them.
func (f *File) Update(do func(*Tx) error) error {
	if err := f.update(do); err != nil {
		return err
	}
	if err := f.testify(); err != nil {
		return fmt.Errorf("write the witness of %s: %w", f.path, err)
	}
	return nil
}

func (f *File) update(do func(*Tx) error) error {
	next := f.seal.clone()
	next.number++
	var own map[string][]byte
	err := catchPanic(func() error {
		return f.db.Update(func(tx *bbolt.Tx) error {
			t := &Tx{tx: tx, own: f.o.Own, seal: next, hasher: &f.hasher, records: f.own, buckets: map[string]*bbolt.Bucket{}}
			if err := do(t); err != nil {
				return err
			}
			next.txid, own = uint64(tx.ID()), t.records
			b, err := t.bucket(f.o.Own)
			if err != nil {
				return err
			}
			return b.Put([]byte(sealKey), next.encode())
		})
	})
	if err == nil {
		f.seal, f.own = next, own
	}
	return err
}

// View reads.
func (f *File) View(do func(*Tx) error) error {
	return catchPanic(func() error {
		return f.db.View(func(tx *bbolt.Tx) error {
			return do(&Tx{tx: tx, own: f.o.Own, buckets: map[string]*bbolt.Bucket{}})
		})
	})
}

// Close lets the file go.
func (f *File) Close() error {
	if f.witness != nil {
		_ = f.o.sync(f.witness)
		_ = f.witness.Close()
	}
	done := make(chan error, 1)
	go func() { done <- catchPanic(f.db.Close) }()
	select {
	case err := <-done:
		return err
	case <-time.After(releaseTimeout):
		return fmt.Errorf("bbolt did not let go of the file within %v; the lock stays until the process ends", releaseTimeout)
	}
}

// ErrDamaged tells that a file could not be read, or that bbolt panicked at what it read.
var ErrDamaged = errors.New("it was damaged while it was read")

// catchFault returns the fault of do as an error: a mapped file was cut short, or the disk cannot read it. Other panics are defects and go on.
func catchFault(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		panicked := recover()
		if _, fault := panicked.(interface{ Addr() uintptr }); fault {
			err = fmt.Errorf("%w (%v)", ErrDamaged, panicked)
		} else if panicked != nil {
			panic(panicked)
		}
	}()
	return do()
}

// catchPanic returns any panic of do as an error, faults too: bbolt panics at a damaged file.
func catchPanic(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("%w (%v)", ErrDamaged, panicked)
		}
	}()
	return do()
}
