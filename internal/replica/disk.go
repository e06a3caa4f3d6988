package replica

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/sealed"
)

// The layout of the file; see the package's description.
const (
	layout    = "1"
	ownBucket = "heddle"
	logBucket = "raft-log"

	layoutKey  = "layout"
	diskKey    = "disk"
	nameKey    = "name"
	hardKey    = "hard"
	firstKey   = "first"
	appliedKey = "applied"
	votersKey  = "voters"
	membersKey = "members"
	remadeKey  = "remade"
)

// table is a transaction.
type table interface {
	Get(bucket, key string) []byte
	Put(bucket, key string, value []byte) error
	Delete(bucket, key string) error
	DeleteAll(bucket, prefix string) error
	ForEach(bucket string, do func(key, value []byte) error) error
}

// disk is where a member keeps what it must not forget. Update makes all changes durable, or none.
type disk interface {
	Update(func(table) error) error
	View(func(table) error) error
}

// position is a place in the log.
type position struct{ index, term uint64 }

func (p position) encode() []byte {
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, p.index), p.term)
}

func decodePosition(b []byte) (p position, err error) {
	if b == nil {
		return p, nil
	}
	if len(b) != 16 {
		return p, errors.New("a position in the log is not 16 bytes long")
	}
	return position{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])}, nil
}

func logKey(index uint64) string { return string(binary.BigEndian.AppendUint64(nil, index)) }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeEntry(e *pb.Entry) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, 4, 4+proto.Size(e)), e)
	if err != nil {
		return nil, err
	}
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], castagnoli))
	return b, nil
}

func decodeEntry(b []byte) (*pb.Entry, error) {
	if err := entryIntact(b); err != nil {
		return nil, err
	}
	e := &pb.Entry{}
	return e, proto.Unmarshal(slices.Clone(b[4:]), e)
}

func entryIntact(b []byte) error {
	if len(b) < 4 || binary.BigEndian.Uint32(b) != crc32.Checksum(b[4:], castagnoli) {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// kept is what a member has on its disk beside the data.
type kept struct {
	disk    uint64
	hard    *pb.HardState
	first   position // before the first entry of the log
	applied position
	voters  *pb.ConfState
	members map[string]uint64
	remade  uint64 // how often Recover has made a new store of one copy
	entries []*pb.Entry
}

func (k *kept) founded() bool { return len(k.voters.GetVoters()) > 0 }

func readKept(d disk) (*kept, error) {
	k := &kept{hard: &pb.HardState{}, voters: &pb.ConfState{}, members: map[string]uint64{}}
	err := d.View(func(t table) (err error) {
		if k.disk, err = decodeDisk(t.Get(ownBucket, diskKey)); err != nil {
			return err
		}
		if k.first, err = decodePosition(t.Get(ownBucket, firstKey)); err != nil {
			return err
		}
		if k.applied, err = decodePosition(t.Get(ownBucket, appliedKey)); err != nil {
			return err
		}
		if k.remade, err = decodeRemade(t.Get(ownBucket, remadeKey)); err != nil {
			return err
		}
		if err := errors.Join(proto.Unmarshal(t.Get(ownBucket, hardKey), k.hard), proto.Unmarshal(t.Get(ownBucket, votersKey), k.voters)); err != nil {
			return err
		}
		if b := t.Get(ownBucket, membersKey); b != nil {
			if err := json.Unmarshal(b, &k.members); err != nil {
				return err
			}
		}
		return t.ForEach(logBucket, func(key, value []byte) error {
			e, err := decodeEntry(value)
			if err != nil {
				return err
			}
			if want := k.first.index + 1 + uint64(len(k.entries)); e.GetIndex() != want || string(key) != logKey(want) {
				return fmt.Errorf("entry %d stands where entry %d should be", e.GetIndex(), want)
			}
			k.entries = append(k.entries, e)
			return nil
		})
	})
	if err == nil && (k.applied.index < k.first.index || k.applied.index > k.first.index+uint64(len(k.entries))) {
		err = fmt.Errorf("entries %d to %d are there, and those up to %d are said to be applied", k.first.index+1, k.first.index+uint64(len(k.entries)), k.applied.index)
	}
	if err != nil {
		return nil, fmt.Errorf("the log of changes cannot be read: %w", err)
	}
	return k, nil
}

func decodeDisk(b []byte) (uint64, error) {
	if len(b) != 8 || binary.BigEndian.Uint64(b) == 0 {
		return 0, errors.New("the number of the disk is missing")
	}
	return binary.BigEndian.Uint64(b), nil
}

func decodeRemade(b []byte) (uint64, error) {
	if b == nil {
		return 0, nil
	}
	if len(b) != 8 {
		return 0, errors.New("the number of recoveries is not 8 bytes long")
	}
	return binary.BigEndian.Uint64(b), nil
}

func encodeRemade(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// newDisk is a number that no other disk has.
func newDisk() []byte {
	b := make([]byte, 8)
	rand.Read(b)
	b[0] &= 0x7f // Raft has uses of its own for the last numbers
	b[7] |= 1    // and for 0
	return b
}

// prepare makes what is missing in a file.
func prepare(buckets []string) func(*sealed.Tx, bool) error {
	return func(tx *sealed.Tx, _ bool) error {
		there := tx.Buckets()
		if len(there) > 0 && !slices.Contains(there, ownBucket) {
			return fmt.Errorf("bbolt file of another program: it has a bucket %q and none called %q", there[0], ownBucket)
		}
		if len(there) > 0 {
			if found := string(tx.Get(ownBucket, layoutKey)); found != layout {
				return fmt.Errorf("its layout is %q, this program reads %q: use the program that wrote it", found, layout)
			}
		}
		if err := tx.Make(append([]string{ownBucket, logBucket}, buckets...)...); err != nil {
			return err
		}
		if tx.Get(ownBucket, diskKey) == nil {
			if err := tx.Put(ownBucket, diskKey, newDisk()); err != nil {
				return err
			}
		}
		return tx.Put(ownBucket, layoutKey, []byte(layout))
	}
}
