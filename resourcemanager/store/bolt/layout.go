package bolt

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"go.etcd.io/bbolt"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// Version of the layout; see the package's description.
const (
	Major = 1
	Minor = 0
)

var (
	metaBucket = []byte("heddle")
	versionKey = []byte("version")
	epochKey   = []byte("epoch")
)

// prepare checks or writes the version and makes missing buckets.
func prepare(tx *bbolt.Tx) error {
	meta := tx.Bucket(metaBucket)
	if meta == nil {
		if name, _ := tx.Cursor().First(); name != nil {
			return fmt.Errorf("bbolt file of another program: it has a bucket %q and none called %q", name, metaBucket)
		}
		var err error
		if meta, err = tx.CreateBucket(metaBucket); err != nil {
			return err
		}
	} else if err := checkVersion(string(meta.Get(versionKey))); err != nil {
		return err
	}
	for _, table := range state.Tables() {
		if _, err := tx.CreateBucketIfNotExists([]byte(table)); err != nil {
			return fmt.Errorf("bucket %s: %w", table, err)
		}
	}
	return meta.Put(versionKey, fmt.Appendf(nil, "%d.%d", Major, Minor))
}

func checkVersion(text string) error {
	major, minor, ok := strings.Cut(text, ".")
	m, err1 := strconv.Atoi(major)
	_, err2 := strconv.Atoi(minor)
	if !ok || err1 != nil || err2 != nil {
		return fmt.Errorf("its layout version %q is not major.minor: the file is damaged", text)
	}
	if m != Major {
		return fmt.Errorf("its layout version is %s, this program reads %d.x: use the program that wrote it", text, Major)
	}
	return nil
}

// load reads all records and sets the next epoch aside.
func load(tx *bbolt.Tx, o store.Options) (*state.Snapshot, error) {
	meta := tx.Bucket(metaBucket)
	epoch := o.Epochs.Base
	if text := meta.Get(epochKey); text != nil {
		var err error
		if epoch, err = strconv.ParseInt(string(text), 10, 64); err != nil {
			return nil, fmt.Errorf("stored epoch %q is not a number", text)
		}
	}
	if !o.Epochs.Valid(epoch) {
		return nil, fmt.Errorf("epoch %d is not in the configured range that begins at %d", epoch, o.Epochs.Base)
	}
	if err := meta.Put(epochKey, strconv.AppendInt(nil, o.Epochs.Next(epoch), 10)); err != nil {
		return nil, err
	}
	reader := o.Reader(epoch)
	for _, table := range state.Tables() {
		err := tx.Bucket([]byte(table)).ForEach(func(name, value []byte) error {
			reader.Add(state.Key{Table: table, Name: string(name)}, value)
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read bucket %s: %w", table, err)
		}
	}
	return reader.Snapshot(), nil
}

func apply(tx *bbolt.Tx, changes []store.Change) error {
	for _, c := range changes {
		bucket := tx.Bucket([]byte(c.Key.Table))
		var err error
		switch {
		case c.Value != nil:
			err = bucket.Put([]byte(c.Key.Name), c.Value)
		case c.Prefix:
			err = removeAll(bucket, []byte(c.Key.Name))
		default:
			err = bucket.Delete([]byte(c.Key.Name))
		}
		if err != nil {
			return fmt.Errorf("change %s: %w", c.Key, err)
		}
	}
	return nil
}

// removeAll removes the keys that begin with prefix. They are gathered first: a
// cursor may skip a key after a removal.
func removeAll(bucket *bbolt.Bucket, prefix []byte) error {
	var names [][]byte
	cursor := bucket.Cursor()
	for name, _ := cursor.Seek(prefix); bytes.HasPrefix(name, prefix); name, _ = cursor.Next() {
		names = append(names, bytes.Clone(name))
	}
	for _, name := range names {
		if err := bucket.Delete(name); err != nil {
			return err
		}
	}
	return nil
}
