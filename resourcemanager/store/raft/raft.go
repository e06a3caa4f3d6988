package raft

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
)

// The bucket of the store's own, and its keys.
const (
	Bucket   = "store"
	epochKey = "epoch"
	ownerKey = "owner"
)

// maxRecord is the largest record: several have to fit a batch of the log.
const maxRecord = 8 << 20

// Buckets are those of the records and the store's own.
func Buckets() []string {
	out := []string{Bucket}
	for _, t := range state.Tables() {
		out = append(out, string(t))
	}
	return out
}

// Intact tells what is wrong with a stored value, by its own checksum.
func Intact(bucket string, value []byte) error {
	if bucket == Bucket {
		return nil
	}
	return record.Intact(value)
}

// Owned is the condition that the store belongs to the one who has drawn this number.
func Owned(owner string) replica.Condition {
	return replica.Condition{Bucket: Bucket, Key: ownerKey, Value: []byte(owner)}
}

// skipped is how many failovers a copy may have missed.
const skipped = 64

// SkipEpochs are changes for a copy that becomes the whole store: epochs that others may have used, and this copy does not know of, are not used again.
func SkipEpochs(t replica.Reader, epochs state.Epochs) ([]replica.Change, error) {
	text := t.Get(Bucket, epochKey)
	if text == nil {
		return nil, nil
	}
	epoch, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("stored epoch %q is not a number", text)
	}
	for range skipped {
		epoch = epochs.Next(epoch)
	}
	return []replica.Change{{Bucket: Bucket, Key: epochKey, Value: strconv.AppendInt(nil, epoch, 10)}}, nil
}

// Member is the part of replica.Member that the store uses.
type Member interface {
	Commit(context.Context, replica.Batch) error
	View(func(replica.Reader) error) error
	Standing() (replica.Standing, <-chan struct{})
	HandOver(name string)
}

// Options are those of every store and of this one.
type Options struct {
	store.Options
	Member   Member
	Name     string        // of the member
	Patience time.Duration // for becoming the leader, where this member is not
}

// Store is a store.Store that tells who owns it.
type Store struct {
	o Options

	mu     sync.Mutex
	owner  string // "" until it is loaded
	closed bool
}

// Open returns a store of a member, which it leaves open.
func Open(o Options) *Store {
	o.Options = o.WithDefaults()
	o.MaxRecord = min(o.MaxRecord, maxRecord)
	return &Store{o: o}
}

// Owner is the number that Load has drawn; "" before.
func (s *Store) Owner() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// Load implements store.Store.
func (s *Store) Load(ctx context.Context) (*state.Snapshot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, store.ErrClosed
	case s.owner != "":
		return nil, store.ErrLoaded
	}
	if ctx.Err() != nil {
		return nil, &store.UnavailableError{Err: context.Cause(ctx)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.Patience, errors.New("it took too long"))
	defer cancel()
	if err := s.lead(ctx); err != nil {
		return nil, &store.UnavailableError{Err: err}
	}
	owner := rand.Text()
	epoch, err := s.take(ctx, owner)
	if err != nil {
		return nil, err
	}
	reader := s.o.Reader(epoch)
	err = s.o.Member.View(func(t replica.Reader) error {
		if string(t.Get(Bucket, ownerKey)) != owner {
			return store.ErrFenced
		}
		for _, table := range state.Tables() {
			err := t.ForEach(string(table), func(name, value []byte) error {
				reader.Add(state.Key{Table: table, Name: string(name)}, value)
				return nil
			})
			if err != nil {
				return fmt.Errorf("read bucket %s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.owner = owner
	return reader.Snapshot(), nil
}

// lead waits until this member is the leader.
func (s *Store) lead(ctx context.Context) error {
	for again := time.Duration(0); ; again = time.Second {
		standing, changed := s.o.Member.Standing()
		switch {
		case standing.Broken != nil:
			return standing.Broken
		case standing.Leads:
			return nil
		}
		s.o.Member.HandOver(s.o.Name)
		select {
		case <-changed:
		case <-time.After(max(again, 100*time.Millisecond)):
		case <-ctx.Done():
			if standing.Leader == "" {
				return fmt.Errorf("cannot take the store over: there is no leader, since this ResourceManager is in touch with too few others (%w)", context.Cause(ctx))
			}
			return fmt.Errorf("cannot take the store over: it is %s that leads, and it does not hand over (%w)", standing.Leader, context.Cause(ctx))
		}
	}
}

// take makes this one the owner, and returns its epoch.
func (s *Store) take(ctx context.Context, owner string) (epoch int64, err error) {
	for {
		var text []byte
		err := s.o.Member.View(func(t replica.Reader) error {
			if b := t.Get(Bucket, epochKey); b != nil {
				text = append([]byte{}, b...)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if epoch = s.o.Epochs.Base; text != nil {
			if epoch, err = strconv.ParseInt(string(text), 10, 64); err != nil {
				return 0, fmt.Errorf("stored epoch %q is not a number", text)
			}
			if !s.o.Epochs.Valid(epoch) {
				return 0, fmt.Errorf("epoch %d is not in the configured range that begins at %d (yarn.resourcemanager.epoch)", epoch, s.o.Epochs.Base)
			}
		}
		err = s.o.Member.Commit(ctx, replica.Batch{If: []replica.Condition{{Bucket: Bucket, Key: epochKey, Value: text}}, Changes: []replica.Change{
			{Bucket: Bucket, Key: epochKey, Value: strconv.AppendInt(nil, s.o.Epochs.Next(epoch), 10)}, {Bucket: Bucket, Key: ownerKey, Value: []byte(owner)}}})
		if !errors.As(err, new(*replica.ConditionError)) { // else what was read was not the latest
			if err != nil {
				err = &store.UnavailableError{Err: err}
			}
			return epoch, err
		}
	}
}

// Commit implements store.Store.
func (s *Store) Commit(ctx context.Context, ops []state.Op) error {
	changes, err := s.o.Changes(ops)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return store.ErrClosed
	case s.owner == "":
		return store.ErrNotLoaded
	case ctx.Err() != nil:
		return &store.UnavailableError{Err: context.Cause(ctx)}
	case len(changes) == 0:
		return s.owned()
	}
	b := replica.Batch{If: []replica.Condition{Owned(s.owner)}, Changes: make([]replica.Change, len(changes))}
	bytes := 0
	for i, c := range changes {
		b.Changes[i] = replica.Change{Bucket: string(c.Key.Table), Key: c.Key.Name, Prefix: c.Prefix, Value: c.Value}
		bytes += len(c.Value)
	}
	err = s.o.Member.Commit(ctx, b)
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*replica.ConditionError)):
		return store.ErrFenced
	case errors.Is(err, replica.ErrKey) && len(ops) == 1:
		return &store.PoisonError{Key: changes[0].Key, Err: err}
	case errors.Is(err, replica.ErrTooLarge), errors.Is(err, replica.ErrKey):
		return &store.BatchError{Ops: len(ops), Bytes: bytes}
	}
	if fenced := s.owned(); errors.Is(fenced, store.ErrFenced) {
		return fenced
	}
	return &store.UnavailableError{Err: err}
}

// owned is ErrFenced once this member has heard that another one has taken the store over.
func (s *Store) owned() error {
	owner := ""
	err := s.o.Member.View(func(t replica.Reader) error {
		owner = string(t.Get(Bucket, ownerKey))
		return nil
	})
	if err != nil {
		return &store.UnavailableError{Err: err}
	}
	if owner != s.owner {
		return store.ErrFenced
	}
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
