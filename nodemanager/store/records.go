package store

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// The buckets. The layout is written into the file; a file of another one is refused, but for the one before: it had no sums
// and no seal, and is given them.
const (
	meta         = "meta"
	containers   = "containers"   // id → JSON
	ended        = "ended"        // application id "/" container id → JSON
	applications = "applications" // id → JSON
	resources    = "resources"    // number, 8 bytes → JSON
	parts        = "parts"        // part 0 key → what the part gave
	layoutKey    = "layout"
	layout       = "2"
	layoutBefore = "1"
)

var buckets = []string{containers, ended, applications, resources, parts}

const advice = "Stop the NodeManager if it runs, then look with `yarn nodemanager -check-recovery-store`; `yarn nodemanager -repair-recovery-store` sets the file aside, " +
	"keeps what can be read and lists what is lost. A copy is put back together with its .witness, or with none"

func options() sealed.Options {
	return sealed.Options{Kind: "recovery store", Holder: "NodeManager", Advice: advice, Own: meta, Prepare: prepare, Owner: owner,
		Intact: func(sealed bool, _ string, _, value []byte) error {
			if !sealed {
				return nil
			}
			_, err := unsum(value)
			return err
		}}
}

// prepare makes what a new file needs and refuses one that is another program's or release's.
func prepare(tx *sealed.Tx, sealed bool) error {
	if names := tx.Buckets(); len(names) > 0 {
		if !slices.Contains(names, meta) || tx.Get(meta, layoutKey) == nil {
			return errors.New("it is a bbolt file, but no NodeManager's store: move it away, or set yarn.nodemanager.recovery.dir to another directory")
		}
		want := layout
		if !sealed {
			want = layoutBefore
		}
		if have := string(tx.Get(meta, layoutKey)); have != want {
			return fmt.Errorf("its layout is %.20q and this release reads %q: use the release that wrote it, or move it away to start without recovery", have, want)
		}
	}
	if err := tx.Make(append([]string{meta}, buckets...)...); err != nil {
		return err
	}
	if !sealed {
		if err := sumAll(tx); err != nil {
			return err
		}
	}
	return tx.Put(meta, layoutKey, []byte(layout))
}

// sumAll gives the records of the layout before their sums.
func sumAll(tx *sealed.Tx) error {
	for _, bucket := range buckets {
		values := map[string][]byte{}
		err := tx.ForEach(bucket, func(k, v []byte) error {
			values[string(k)] = sum(v)
			return nil
		})
		if err != nil {
			return err
		}
		for k, v := range values {
			if err := tx.Put(bucket, k, v); err != nil {
				return err
			}
		}
	}
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum is a value with its CRC-32C behind it.
func sum(v []byte) []byte {
	return binary.BigEndian.AppendUint32(slices.Clip(v), crc32.Checksum(v, castagnoli))
}

// unsum takes it off.
func unsum(v []byte) ([]byte, error) {
	at := len(v) - crc32.Size
	if at < 0 || crc32.Checksum(v[:at], castagnoli) != binary.BigEndian.Uint32(v[at:]) {
		return nil, errors.New("checksum does not match: the stored bytes are damaged")
	}
	return v[:at], nil
}

// owner is the bucket that a record can only be of.
func owner(k, v []byte) string {
	v, err := unsum(v)
	switch {
	case err != nil:
	case reads(k, v, containerKey):
		return containers
	case reads(k, v, endedKey):
		return ended
	case reads(k, v, applicationKey):
		return applications
	case reads(k, v, resourceKey):
		return resources
	case bytes.IndexByte(k, 0) > 0:
		return parts
	}
	return ""
}

func reads[T any](k, v []byte, key func(T) string) bool {
	_, err := read(k, v, key)
	return err == nil
}

func apply(tx *sealed.Tx, op state.Op) error {
	switch op := op.(type) {
	case state.PutContainer:
		return put(tx, containers, containerKey(op.Container), op.Container)
	case state.DropContainer:
		return tx.Delete(containers, op.ID.String())
	case state.PutEnded:
		return put(tx, ended, endedKey(op.Ended), op.Ended)
	case state.PutApplication:
		return put(tx, applications, applicationKey(op.Application), op.Application)
	case state.DropApplication:
		if err := tx.DeleteAll(ended, endedPrefix(op.ID)); err != nil {
			return err
		}
		return tx.Delete(applications, op.ID.String())
	case state.PutResource:
		return put(tx, resources, resourceKey(op.Resource), op.Resource)
	case state.DropResource:
		return tx.Delete(resources, number(op.Number))
	case state.PutPart:
		return tx.Put(parts, op.Part+"\x00"+op.Key, sum(op.Value))
	case state.DropPart:
		return tx.Delete(parts, op.Part+"\x00"+op.Key)
	}
	return errors.New("this change is not known")
}

func put(tx *sealed.Tx, bucket, key string, value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return tx.Put(bucket, key, sum(b))
}

// The keys of records, by which a record that is read is known to be the one that was written.
func containerKey(x state.Container) string     { return x.ID.String() }
func applicationKey(x state.Application) string { return x.ID.String() }
func resourceKey(x state.Resource) string       { return number(x.Number) }
func endedKey(x state.Ended) string {
	return endedPrefix(x.ID.Attempt.Application) + x.ID.String()
}

func endedPrefix(app yarn.ApplicationID) string { return app.String() + "/" }

// number is a key that sorts as the number does.
func number(n int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(n)))
}

func load(tx *sealed.Tx, out *state.Snapshot) error {
	return errors.Join(
		list(tx, out, containers, containerKey, &out.Containers),
		list(tx, out, ended, endedKey, &out.Ended),
		list(tx, out, applications, applicationKey, &out.Applications),
		list(tx, out, resources, resourceKey, &out.Resources),
		tx.ForEach(parts, func(k, v []byte) error {
			part, key, ok := bytes.Cut(k, []byte{0})
			v, bad := unsum(v)
			if whole := ok && bad == nil; !whole {
				out.Damaged = append(out.Damaged, state.Damage{Key: fmt.Sprintf("%s %q", parts, k), Reason: "no part has such a record"})
				return nil
			}
			if out.Parts[string(part)] == nil {
				out.Parts[string(part)] = map[string][]byte{}
			}
			out.Parts[string(part)][string(key)] = bytes.Clone(v)
			return nil
		}))
}

func list[T any](tx *sealed.Tx, out *state.Snapshot, bucket string, key func(T) string, to *[]T) error {
	return tx.ForEach(bucket, func(k, v []byte) error {
		v, bad := unsum(v)
		var x T
		if bad == nil {
			x, bad = read(k, v, key)
		}
		if bad == nil {
			*to = append(*to, x)
		} else { // it is reported, and the others are read
			out.Damaged = append(out.Damaged, state.Damage{Key: fmt.Sprintf("%s %q", bucket, k), Reason: bad.Error()})
		}
		return nil
	})
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
