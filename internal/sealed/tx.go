package sealed

import (
	"bytes"
	"fmt"
	"maps"

	"go.etcd.io/bbolt"
)

// Tx is a transaction; what it returns is valid until its end.
type Tx struct {
	tx      *bbolt.Tx
	own     string
	seal    *seal // that this transaction will write; nil for a reader
	hasher  *hasher
	records map[string][]byte // of the own bucket; copied when one changes
	buckets map[string]*bbolt.Bucket
}

// Buckets are the names of all buckets.
func (t *Tx) Buckets() (names []string) {
	_ = t.tx.ForEach(func(name []byte, _ *bbolt.Bucket) error {
		names = append(names, string(name))
		return nil
	})
	return names
}

// Make makes buckets that are not there yet.
func (t *Tx) Make(names ...string) error {
	for _, name := range names {
		if _, err := t.tx.CreateBucketIfNotExists([]byte(name)); err != nil {
			return fmt.Errorf("bucket %s: %w", name, err)
		}
		if _, ok := t.seal.buckets[name]; !ok {
			t.seal.buckets[name] = sum{}
		}
	}
	return nil
}

func (t *Tx) bucket(name string) (*bbolt.Bucket, error) {
	b := t.buckets[name]
	if b == nil {
		if b = t.tx.Bucket([]byte(name)); b == nil {
			return nil, fmt.Errorf("there is no bucket %s", name)
		}
		t.buckets[name] = b
	}
	return b, nil
}

// Get is the value of a key, nil if there is none.
func (t *Tx) Get(bucket, key string) []byte {
	b, err := t.bucket(bucket)
	if err != nil {
		return nil
	}
	return b.Get([]byte(key))
}

// Put stores a value in place of the one before.
func (t *Tx) Put(bucket, key string, value []byte) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	if value == nil {
		value = []byte{} // nil is what Get says of a key that is not there
	}
	k := []byte(key)
	if old := b.Get(k); old != nil {
		t.seal.buckets[bucket] = t.seal.buckets[bucket].minus(t.hasher.of(bucket, k, old))
	}
	if err := b.Put(k, value); err != nil {
		return err
	}
	t.seal.buckets[bucket] = t.seal.buckets[bucket].plus(t.hasher.of(bucket, k, value))
	t.keep(bucket, key, value)
	return nil
}

// Delete removes a key, if it is there.
func (t *Tx) Delete(bucket, key string) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	k := []byte(key)
	old := b.Get(k)
	if old == nil {
		return nil
	}
	t.seal.buckets[bucket] = t.seal.buckets[bucket].minus(t.hasher.of(bucket, k, old))
	t.keep(bucket, key, nil)
	return b.Delete(k)
}

// DeleteAll removes the keys that begin with prefix. They are gathered first: a
// cursor may skip a key after a removal.
func (t *Tx) DeleteAll(bucket, prefix string) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	var keys []string
	c := b.Cursor()
	for k, _ := c.Seek([]byte(prefix)); k != nil && bytes.HasPrefix(k, []byte(prefix)); k, _ = c.Next() {
		keys = append(keys, string(k))
	}
	for _, key := range keys {
		if err := t.Delete(bucket, key); err != nil {
			return err
		}
	}
	return nil
}

// keep follows the records of the own bucket, of which the witness has a copy.
func (t *Tx) keep(bucket, key string, value []byte) {
	if bucket != t.own {
		return
	}
	t.records = maps.Clone(t.records)
	if value == nil {
		delete(t.records, key)
		return
	}
	t.records[key] = bytes.Clone(value)
}

// ForEach calls back with each record of a bucket, in the order of keys.
func (t *Tx) ForEach(bucket string, do func(key, value []byte) error) error {
	b, err := t.bucket(bucket)
	if err != nil {
		return err
	}
	return b.ForEach(func(key, value []byte) error {
		if bucket == t.own && string(key) == sealKey {
			return nil
		}
		return do(key, value)
	})
}

// Size is how many bytes of the file are in use.
func (t *Tx) Size() int64 { return t.tx.Size() }
