package leveldb

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/syndtr/goleveldb/leveldb"
	"github.com/syndtr/goleveldb/leveldb/journal"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"github.com/syndtr/goleveldb/leveldb/storage"
	"golang.org/x/sys/unix"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
	"github.com/heddle-project/heddle/yarn"
)

// Major and Minor are the version of the layout that Hadoop 3 writes.
const (
	Major = 1
	Minor = 1
)

const (
	database  = "yarn-rm-state"        // the directory below yarn.resourcemanager.leveldb-state-store.path
	current   = "CURRENT"              // is there in every database
	sequence  = "RMDTSequentialNumber" // of delegation tokens
	maxLog    = 1 << 30                // bytes; LevelDB begins another one after 4 MiB
	separator = "/"                    // of keys
)

// Read reads all records. Epoch of the result is the one that the next start has to use. Errors: fs.ErrNotExist if there is no
// database, *store.DamagedError, and others if it is in use or of another version. odd is what an operator should know besides.
func Read(dir string, o store.Options) (s *state.Snapshot, odd []string, err error) {
	if dir, err = locate(dir); err != nil {
		return nil, nil, err
	}
	release, err := claim(dir)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	files, err := storage.OpenFile(dir, true)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the LevelDB in %s: %w", dir, err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	if odd, err = checkLogs(files); err != nil {
		return nil, nil, damaged(dir, err)
	}
	// Options that are read-only keep the library from writing, and its default strictness has it check all sums of tables.
	db, err := leveldb.Open(files, &opt.Options{ReadOnly: true, ErrorIfMissing: true})
	if err != nil {
		return nil, nil, damaged(dir, err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if s, err = read(db, dir, o); err != nil {
		return nil, nil, err
	}
	return s, odd, nil
}

// locate is the directory of the database.
func locate(dir string) (string, error) {
	var err error
	for _, d := range []string{dir, filepath.Join(dir, database)} {
		if _, err = os.Stat(filepath.Join(d, current)); err == nil {
			return d, nil
		}
	}
	return "", fmt.Errorf("there is no LevelDB in %s: %w", dir, err)
}

func damaged(dir string, err error) error {
	return &store.DamagedError{Err: fmt.Errorf("the LevelDB in %s is damaged: %w: nothing was taken from it. Start Apache's ResourceManager on it once, or restore a copy", dir, err)}
}

// claim takes the lock that LevelDB holds on a database that is open: of the kind of fcntl, which the library does not take.
func claim(dir string) (release func(), err error) {
	name := filepath.Join(dir, "LOCK")
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil // a copy
	}
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
	if err := syscall.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock); err != nil {
		f.Close()
		return nil, fmt.Errorf("the LevelDB in %s is in use (%s: %w): stop the ResourceManager that has it", dir, name, err)
	}
	return func() { f.Close() }, nil
}

// checkLogs reads the logs and the manifest, of which the library passes over whatever it cannot read. odd tells of ends that are not whole.
func checkLogs(files storage.Storage) (odd []string, err error) {
	manifest, err := files.GetMeta()
	if err != nil {
		return nil, fmt.Errorf("its manifest is not there: %w", err)
	}
	logs, err := files.List(storage.TypeJournal)
	if err != nil {
		return nil, err
	}
	for _, fd := range append(logs, manifest) {
		rest, err := checkLog(files, fd)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", fd, err)
		}
		if rest > 0 {
			odd = append(odd, fmt.Sprintf("%s ends within a write that was not finished: its last %d bytes were passed over", fd, rest))
		}
	}
	return odd, nil
}

// tail finds where a reader of a log could not go on.
type tail struct {
	log  *bytes.Reader
	at   int64 // first byte that could not be read
	last error // nil: all could be
}

// Drop implements journal.Dropper. The library reads a log block by block, and drops what is left of one.
func (t *tail) Drop(err error) {
	if t.last != nil {
		return
	}
	t.last, t.at = err, t.log.Size()-int64(t.log.Len())
	var bad *journal.ErrCorrupted
	if errors.As(err, &bad) {
		t.at -= int64(bad.Size)
	}
}

// headerSize and its parts: four bytes of a sum, two of the length of what follows, one of the kind.
const headerSize = 7

// checkLog is an error if something else than the end of a log cannot be read. rest is how many bytes of its end were written and cannot:
// those of one write that was not finished. LevelDB fills a log with zeros first.
func checkLog(files storage.Storage, fd storage.FileDesc) (rest int, err error) {
	in, err := files.Open(fd)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	all, err := io.ReadAll(io.LimitReader(in, maxLog+1))
	if err == nil && len(all) > maxLog {
		err = fmt.Errorf("it has more than %d bytes", maxLog)
	}
	if err != nil {
		return 0, err
	}
	t := &tail{log: bytes.NewReader(all)}
	for r := journal.NewReader(t.log, t, false, true); ; {
		record, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = t.last // and there is more behind it
		}
		if err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, record); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
	}
	if t.last == nil {
		return 0, nil
	}
	end := all[t.at:]
	size := headerSize
	if len(end) >= headerSize {
		size += int(binary.LittleEndian.Uint16(end[4:]))
	}
	written := len(bytes.TrimRight(end, "\x00"))
	if written > size {
		return 0, t.last // more than one write
	}
	return written, nil
}

func read(db *leveldb.DB, dir string, o store.Options) (*state.Snapshot, error) {
	epoch := o.Epochs.Base
	o = o.WithDefaults()
	o.Codec = apache.Codec{Types: o.Types}
	values := map[state.Key][]byte{}
	bad := map[state.Key]string{}
	all := db.NewIterator(nil, nil)
	defer all.Release()
	versioned := false
	for all.Next() {
		name, value := string(all.Key()), all.Value()
		var err error
		switch name {
		case apache.Version:
			versioned = true
			err = apache.CheckVersion(value, Major, Minor)
		case apache.Epoch:
			epoch, err = apache.NextEpoch(value, o.Epochs)
		default:
			key, holds, why := identify(name)
			switch {
			case why != nil:
				bad[key] = why.Error()
			case holds && key.Table == state.Reservations:
				plan, _, _ := strings.Cut(strings.TrimPrefix(name, apache.Reservations+separator), separator)
				values[key] = apache.WithPlan(append([]byte(nil), value...), plan)
			case holds:
				values[key] = append([]byte(nil), value...)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("the LevelDB in %s: %w", dir, err)
		}
	}
	if err := all.Error(); err != nil {
		return nil, damaged(dir, err)
	}
	if !versioned {
		return nil, fmt.Errorf("the LevelDB in %s has no %s: it is no state store of a ResourceManager", dir, apache.Version)
	}
	r := o.Reader(epoch)
	for key, value := range values {
		r.Add(key, value)
	}
	for key, why := range bad {
		r.Quarantine(key, why)
	}
	s := r.Snapshot()
	apache.Settle(s)
	return s, nil
}

// identify is the record that a key names. An error is the reason to quarantine it.
func identify(name string) (key state.Key, holds bool, err error) {
	parts := strings.Split(name, separator)
	last := parts[len(parts)-1]
	switch {
	case parts[0] == apache.Applications && len(parts) == 2:
		_, err = yarn.ParseApplicationID(last)
		return state.Key{Table: state.Applications, Name: last}, true, err
	case parts[0] == apache.Applications && len(parts) == 3:
		id, err := yarn.ParseAttemptID(last)
		if err == nil && id.Application.String() != parts[1] {
			err = fmt.Errorf("it is below %s", parts[1])
		}
		return state.Key{Table: state.Attempts, Name: last}, true, err
	case name == apache.Delegation+separator+sequence:
		return state.DelegationSequence{}.Key(), true, nil
	case parts[0] == apache.Delegation && len(parts) == 2:
		return apache.DelegationRecord(last)
	case name == apache.AMRM:
		return state.MasterKeys{}.Key(), true, nil
	case parts[0] == apache.Reservations && len(parts) == 3:
		return state.Key{Table: state.Reservations, Name: last}, true, nil
	}
	return key, false, nil
}
