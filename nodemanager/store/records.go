package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// The buckets. The layout is written into the file; a file of another one is refused.
var (
	meta         = []byte("meta")
	containers   = []byte("containers")   // id → JSON
	ended        = []byte("ended")        // application id "/" container id → JSON
	applications = []byte("applications") // id → JSON
	resources    = []byte("resources")    // number, 8 bytes → JSON
	parts        = []byte("parts")        // part 0 key → what the part gave
	layoutKey    = []byte("layout")
	layout       = []byte("1")
)

func apply(tx *bbolt.Tx, op state.Op) error {
	switch op := op.(type) {
	case state.PutContainer:
		return put(tx, containers, containerKey(op.Container), op.Container)
	case state.DropContainer:
		return tx.Bucket(containers).Delete([]byte(op.ID.String()))
	case state.PutEnded:
		return put(tx, ended, endedKey(op.Ended), op.Ended)
	case state.PutApplication:
		return put(tx, applications, applicationKey(op.Application), op.Application)
	case state.DropApplication:
		return dropApplication(tx, op.ID)
	case state.PutResource:
		return put(tx, resources, resourceKey(op.Resource), op.Resource)
	case state.DropResource:
		return tx.Bucket(resources).Delete([]byte(number(op.Number)))
	case state.PutPart:
		return tx.Bucket(parts).Put([]byte(op.Part+"\x00"+op.Key), op.Value)
	case state.DropPart:
		return tx.Bucket(parts).Delete([]byte(op.Part + "\x00" + op.Key))
	}
	return errors.New("this change is not known")
}

func put(tx *bbolt.Tx, bucket []byte, key string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return tx.Bucket(bucket).Put([]byte(key), b)
}

func dropApplication(tx *bbolt.Tx, id yarn.ApplicationID) error {
	prefix := endedPrefix(id)
	c := tx.Bucket(ended).Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Seek(prefix) {
		if err := c.Delete(); err != nil {
			return err
		}
	}
	return tx.Bucket(applications).Delete([]byte(id.String()))
}

// The keys of records, by which a record that is read is known to be the one that was written.
func containerKey(x state.Container) string     { return x.ID.String() }
func applicationKey(x state.Application) string { return x.ID.String() }
func resourceKey(x state.Resource) string       { return number(x.Number) }
func endedKey(x state.Ended) string {
	return string(endedPrefix(x.ID.Attempt.Application)) + x.ID.String()
}

func endedPrefix(app yarn.ApplicationID) []byte { return []byte(app.String() + "/") }

// number is a key that sorts as the number does.
func number(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func load(tx *bbolt.Tx, out *state.Snapshot) {
	list(tx, out, containers, containerKey, &out.Containers)
	list(tx, out, ended, endedKey, &out.Ended)
	list(tx, out, applications, applicationKey, &out.Applications)
	list(tx, out, resources, resourceKey, &out.Resources)
	c := tx.Bucket(parts).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		part, key, ok := bytes.Cut(k, []byte{0})
		if !ok || v == nil {
			out.Damaged = append(out.Damaged, state.Damage{Key: fmt.Sprintf("%s %q", parts, k), Reason: "no part has such a record"})
			continue
		}
		if out.Parts[string(part)] == nil {
			out.Parts[string(part)] = map[string][]byte{}
		}
		out.Parts[string(part)][string(key)] = bytes.Clone(v)
	}
}

func list[T any](tx *bbolt.Tx, out *state.Snapshot, bucket []byte, key func(T) string, to *[]T) {
	c := tx.Bucket(bucket).Cursor()
	for k, v := c.First(); k != nil; k, v = c.Next() {
		x, err := read(k, v, key)
		if err != nil {
			out.Damaged = append(out.Damaged, state.Damage{Key: fmt.Sprintf("%s %q", bucket, k), Reason: err.Error()})
			continue
		}
		*to = append(*to, x)
	}
}

// read reads a record, which must say of itself what its key says.
func read[T any](k, v []byte, key func(T) string) (x T, err error) {
	if err := json.Unmarshal(v, &x); err != nil {
		return x, err
	}
	if key(x) != string(k) {
		return x, fmt.Errorf("it is a record of %q", key(x))
	}
	return x, nil
}
