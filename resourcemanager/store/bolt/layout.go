package bolt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/internal/giveway"
	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/yarn"
)

// The version of the layout; see the package's description.
const (
	Major = 2
	Minor = 0
)

// unsealed is the major version of files that have no seal yet.
const unsealed = 1

const (
	ownBucket  = "heddle"
	versionKey = "version"
	epochKey   = "epoch"
)

// advice is what to do about a damaged file.
const advice = "Stop the ResourceManager if it runs, then look with `yarn resourcemanager -check-state-store`; `yarn resourcemanager -repair-state-store` sets the file aside, " +
	"keeps what can be read and lists what is lost. A copy is put back together with its .witness, or with none"

func (o Options) sealed() sealed.Options {
	codec := record.Codec{Types: o.WithDefaults().Types}
	return sealed.Options{Kind: "state store", Holder: "ResourceManager", Advice: advice, Own: ownBucket, Prepare: prepare, Lock: o.LockTimeout, Warn: o.Warn,
		Intact: func(_ bool, _ string, _, value []byte) error { return record.Intact(value) },
		Owner:  func(key, value []byte) string { return owner(codec, key, value) }}
}

// owner is the table to which a record belongs: the one as whose record it can be
// decoded; empty if there is none.
func owner(codec record.Codec, name, value []byte) string {
	for _, table := range state.Tables() {
		if _, err := codec.Decode(state.Key{Table: table, Name: string(name)}, value); err == nil {
			return string(table)
		}
	}
	return ""
}

// prepare checks or writes the version and makes missing buckets.
func prepare(tx *sealed.Tx, sealed bool) error {
	names := tx.Buckets()
	known := false
	for _, name := range names {
		known = known || name == ownBucket
	}
	if !known && len(names) > 0 {
		return fmt.Errorf("bbolt file of another program: it has a bucket %q and none called %q; name another file in yarn.resourcemanager.heddle.state-store.path", names[0], ownBucket)
	}
	if known {
		if err := checkVersion(string(tx.Get(ownBucket, versionKey)), sealed); err != nil {
			return err
		}
	}
	if err := tx.Make(ownBucket); err != nil {
		return err
	}
	for _, table := range state.Tables() {
		if err := tx.Make(string(table)); err != nil {
			return err
		}
	}
	return tx.Put(ownBucket, versionKey, fmt.Appendf(nil, "%d.%d", Major, Minor))
}

func checkVersion(text string, sealed bool) error {
	major, minor, ok := strings.Cut(text, ".")
	m, err1 := strconv.Atoi(major)
	_, err2 := strconv.Atoi(minor)
	switch {
	case !ok || err1 != nil || err2 != nil:
		return fmt.Errorf("its layout version %q is not major.minor: the file is damaged. %s", text, advice)
	case m == unsealed && !sealed, m == Major && sealed:
		return nil
	case m == Major || m == unsealed:
		return fmt.Errorf("its layout version is %s and its seal says otherwise: the file is damaged. %s", text, advice)
	}
	return fmt.Errorf("its layout version is %s, this program reads %d.x and %d.x: use the program that wrote it", text, unsealed, Major)
}

// known is an error if the records of a layout version cannot be read, so that nobody tries. A file without one, and whether it goes with the seal, is for prepare.
func known(version []byte) error {
	if version == nil {
		return nil
	}
	text := string(version)
	return checkVersion(text, !strings.HasPrefix(text, strconv.Itoa(unsealed)+"."))
}

// begin stores the epoch of the start after this one.
func begin(tx *sealed.Tx, epochs state.Epochs, epoch int64) error {
	return tx.Put(ownBucket, epochKey, strconv.AppendInt(nil, epochs.Next(epoch), 10))
}

// rank is the place of an application's record among others: the one of its id, which is not that of its name. A name that is no id comes first.
func rank(name []byte) sealed.Rank {
	text, ok := bytes.CutPrefix(name, []byte("application_"))
	first, second, both := bytes.Cut(text, []byte("_"))
	timestamp, ok1 := number(first)
	sequence, ok2 := number(second)
	if !ok || !both || !ok1 || !ok2 {
		return sealed.Rank{}
	}
	return sealed.Rank{timestamp, sequence}
}

func number(digits []byte) (n int64, ok bool) {
	for _, d := range digits {
		if d < '0' || d > '9' || len(digits) > 18 {
			return 0, false
		}
		n = 10*n + int64(d-'0')
	}
	return n, len(digits) > 0
}

// application reads one record; it is zero if there is none.
func application(tx *sealed.Tx, o store.Options, id yarn.ApplicationID) (state.Application, error) {
	key := state.Application{ID: id}.Key()
	value := tx.Get(string(key.Table), key.Name)
	if value == nil {
		return state.Application{}, nil
	}
	r, err := record.Codec{Types: o.Types}.Decode(key, value)
	if err != nil {
		return state.Application{}, fmt.Errorf("%w: %s: %w", sealed.ErrDamaged, key, err)
	}
	return r.(state.Application), nil
}

// epochOf is the epoch of this start, as the file has it in text. If it does not have it, as after a repair,
// it is one after those of all known masters' containers.
func epochOf(text []byte, epochs state.Epochs, s *state.Snapshot) (int64, error) {
	if text == nil {
		epoch := epochs.Base
		for _, t := range s.Attempts {
			if used := t.MasterContainer.Number >> yarn.EpochShift; used >= epoch {
				epoch = epochs.Next(used)
			}
		}
		return epoch, nil
	}
	epoch, err := strconv.ParseInt(string(text), 10, 64)
	switch {
	case err != nil:
		return 0, fmt.Errorf("stored epoch %q is not a number", text)
	case !epochs.Valid(epoch):
		return 0, fmt.Errorf("epoch %d is not in the configured range that begins at %d (yarn.resourcemanager.epoch)", epoch, epochs.Base)
	}
	return epoch, nil
}

func apply(tx *sealed.Tx, changes []store.Change) error {
	for i, c := range changes {
		giveway.After(i)
		table := string(c.Key.Table)
		var err error
		switch {
		case c.Value != nil:
			err = tx.Put(table, c.Key.Name, c.Value)
		case c.Prefix:
			err = tx.DeleteAll(table, c.Key.Name)
		default:
			err = tx.Delete(table, c.Key.Name)
		}
		if err != nil {
			return fmt.Errorf("change %s: %w", c.Key, err)
		}
	}
	return nil
}
