package confstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/heddle-project/heddle/internal/replica"
)

// The buckets of the configuration in a replicated store, as those of the file.
const (
	replicaOwn      = "queues"
	replicaValues   = "queues-values"
	replicaHistory  = "queues-history"
	replicaAttempts = "queues-attempts"
)

// ReplicaBuckets are those that OpenReplica needs.
func ReplicaBuckets() []string {
	return []string{replicaOwn, replicaValues, replicaHistory, replicaAttempts}
}

// IsReplicaBucket tells whether a bucket is one of ReplicaBuckets.
func IsReplicaBucket(name string) bool {
	return name == replicaOwn || name == replicaValues || name == replicaHistory || name == replicaAttempts
}

// reader and writer are a transaction on buckets with the names that they have in the file.
type (
	reader interface {
		Get(bucket, key string) []byte
		ForEach(bucket string, do func(key, value []byte) error) error
	}
	writer interface {
		Put(bucket, key string, value []byte) error
		Delete(bucket, key string) error
	}
)

// Replica is the part of a replica.Member that is used.
type Replica interface {
	Commit(context.Context, replica.Batch) error
	View(func(replica.Reader) error) error
}

type replicated struct {
	member Replica
	owned  replica.Condition
	kept   *State // as it is stored; nil: not known

	version []byte // of kept, as it is stored; nil: nothing is
}

// OpenReplica keeps the configuration in a replicated store, as long as a condition of it holds.
func OpenReplica(member Replica, owned replica.Condition) Store {
	return &replicated{member: member, owned: owned}
}

// inReplica reads the buckets under the names that they have in the file.
type inReplica struct{ replica.Reader }

var replicaNames = map[string]string{ownBucket: replicaOwn, valueBucket: replicaValues, historyTable: replicaHistory, attemptTable: replicaAttempts}

// Get implements reader.
func (r inReplica) Get(bucket, key string) []byte { return r.Reader.Get(replicaNames[bucket], key) }

// ForEach implements reader.
func (r inReplica) ForEach(bucket string, do func(key, value []byte) error) error {
	return r.Reader.ForEach(replicaNames[bucket], do)
}

// changes gathers what a state's write does.
type changes struct{ list []replica.Change }

// Put implements writer.
func (c *changes) Put(bucket, key string, value []byte) error {
	if value == nil {
		value = []byte{}
	}
	c.list = append(c.list, replica.Change{Bucket: replicaNames[bucket], Key: key, Value: append([]byte{}, value...)})
	return nil
}

// Delete implements writer.
func (c *changes) Delete(bucket, key string) error {
	c.list = append(c.list, replica.Change{Bucket: replicaNames[bucket], Key: key})
	return nil
}

// Load implements Store.
func (r *replicated) Load(context.Context) (*State, error) {
	s := &State{Values: map[string]string{}}
	var version []byte
	err := r.member.View(func(t replica.Reader) error {
		if b := t.Get(replicaOwn, versionKey); b != nil {
			version = append([]byte{}, b...)
		}
		return s.read(inReplica{t})
	})
	if err == nil {
		err = s.sound()
	}
	if err != nil {
		return nil, fmt.Errorf("read the configuration of the queues in the replicated store: %w", err)
	}
	r.kept, r.version = s, version
	return s.Clone(), nil
}

// Commit implements Store.
func (r *replicated) Commit(ctx context.Context, was int64, next *State) error {
	if r.kept == nil {
		return errors.New("the scheduler configuration store was not loaded, or its last commit failed")
	}
	if r.kept.Version != was {
		return &ConflictError{was, r.kept.Version}
	}
	c := &changes{}
	if err := next.write(c, r.kept); err != nil {
		return err
	}
	version := replica.Condition{Bucket: replicaOwn, Key: versionKey, Value: r.version}
	err := r.member.Commit(ctx, replica.Batch{If: []replica.Condition{r.owned, version}, Changes: c.list})
	var failed *replica.ConditionError
	switch {
	case err == nil:
		r.kept, r.version = next.Clone(), strconv.AppendInt(nil, next.Version, 10)
		return nil
	case errors.As(err, &failed) && failed.Index == 0:
		return ErrFenced
	}
	r.kept = nil
	return fmt.Errorf("write the configuration of the queues to the replicated store: %w", err)
}

// Close implements Store.
func (r *replicated) Close() error { return nil }
