package confstore_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/confstore/confstoretest"
)

// oneMember is a replica of buckets in memory, which makes changes as a member does.
type oneMember map[string]map[string][]byte

func (m oneMember) Get(bucket, key string) []byte { return m[bucket][key] }

func (m oneMember) ForEach(bucket string, do func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(m[bucket])) {
		if err := do([]byte(k), m[bucket][k]); err != nil {
			return err
		}
	}
	return nil
}

func (m oneMember) View(do func(replica.Reader) error) error { return do(m) }

func (m oneMember) Commit(_ context.Context, b replica.Batch) error {
	for i, c := range b.If {
		if have := m[c.Bucket][c.Key]; (have == nil) != (c.Value == nil) || !bytes.Equal(have, c.Value) {
			return &replica.ConditionError{Index: i}
		}
	}
	for _, c := range b.Changes {
		if m[c.Bucket] == nil {
			m[c.Bucket] = map[string][]byte{}
		}
		if c.Value == nil {
			delete(m[c.Bucket], c.Key)
		} else {
			m[c.Bucket][c.Key] = c.Value
		}
	}
	return nil
}

var ours = replica.Condition{Bucket: "store", Key: "owner", Value: []byte("me")}

func TestReplicated(t *testing.T) {
	confstoretest.Run(t, confstoretest.Kind{Place: func(*rapid.T) func() (confstore.Store, error) {
		m := oneMember{"store": {"owner": []byte("me")}}
		return func() (confstore.Store, error) { return confstore.OpenReplica(m, ours), nil }
	}})
}

// TestReplicatedFenced: whoever has lost the state store has lost the queues, too; and all buckets are known.
func TestReplicatedFenced(t *testing.T) {
	m := oneMember{"store": {"owner": []byte("me")}}
	s := confstore.OpenReplica(m, ours)
	state, err := s.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	next := state.Clone()
	next.Accept(map[string]string{"a": "1"}, confstore.Version{User: "alice", Source: confstore.FromAPI})
	next.Note(confstore.Attempt{User: "alice"}, 3)
	if err := s.Commit(t.Context(), 0, next); err != nil {
		t.Fatal(err)
	}
	for bucket := range m {
		if bucket != "store" && !confstore.IsReplicaBucket(bucket) || confstore.IsReplicaBucket(bucket) != slices.Contains(confstore.ReplicaBuckets(), bucket) {
			t.Errorf("bucket %s", bucket)
		}
	}
	m["store"]["owner"] = []byte("another")
	again := next.Clone()
	again.Accept(map[string]string{"a": "2"}, confstore.Version{User: "alice", Source: confstore.FromAPI})
	if err := s.Commit(t.Context(), 1, again); !errors.Is(err, confstore.ErrFenced) {
		t.Fatalf("got %v", err)
	}
	if after, err := confstore.OpenReplica(m, ours).Load(t.Context()); err != nil || after.Values["a"] != "1" {
		t.Fatalf("%v, %v", after, err)
	}
}

// TestReplicatedTwoWriters: if two owners of the store have loaded the same version and both commit, the second commit is refused and has no effect.
func TestReplicatedTwoWriters(t *testing.T) {
	m := oneMember{"store": {"owner": []byte("me")}}
	one, two := confstore.OpenReplica(m, ours), confstore.OpenReplica(m, ours)
	for i, s := range []confstore.Store{one, two} {
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(i, err)
		}
	}
	for i, s := range []confstore.Store{one, two} {
		next := &confstore.State{}
		next.Accept(map[string]string{"a": string(rune('1' + i))}, confstore.Version{User: "alice", Source: confstore.FromAPI})
		if err := s.Commit(t.Context(), 0, next); (err == nil) != (i == 0) {
			t.Errorf("commit %d: %v", i, err)
		}
	}
	if after, err := two.Load(t.Context()); err != nil || after.Version != 1 || after.Values["a"] != "1" {
		t.Errorf("%+v, %v", after, err)
	}
}
