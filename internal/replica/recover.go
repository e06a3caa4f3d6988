package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	pb "go.etcd.io/raft/v3/raftpb"

	"github.com/heddle-project/heddle/internal/sealed"
)

// Recovery tells what Recover has done.
type Recovery struct {
	Entry, Term uint64   // the last change of the copy, which is the last one of the store from now on
	Were        []string // the members of before, sorted
}

// AliveError tells that another member answers, so that the store need not be recovered, or may not be.
type AliveError struct{ Name, Address string }

func (e *AliveError) Error() string {
	return fmt.Sprintf("%s answers at %s: the store can only be made anew of one copy while no other member runs. If most of the members are well, start them all, "+
		"and they go on by themselves; else stop %[1]s first", e.Name, e.Address)
}

// answerPatience is how long another member may take to answer.
const answerPatience = 3 * time.Second

// Recover makes the copy of one member the whole store, with this member as the only one that has a vote; the others get everything from it when they start with
// empty directories. also are changes of the data that are made with it. What others had acknowledged and this copy lacks is lost. It is for the loss of most members, and what etcd calls to force a new cluster.
// Members that come with a copy from before are refused, and end. No member may run, this one included: *AliveError, *sealed.HeldError. If
// there is no copy the error is fs.ErrNotExist; a damaged one is a *sealed.DamageError.
func Recover(ctx context.Context, c Config, also func(Reader) ([]Change, error)) (*Recovery, error) {
	path := filepath.Join(c.Dir, fileName)
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	if err := c.alone(ctx); err != nil {
		return nil, err
	}
	file, err := sealed.Open(path, sealedOptions(&c))
	if err != nil {
		return nil, err
	}
	var out *Recovery
	err = file.Update(func(t *sealed.Tx) (err error) {
		if out, err = remake(t, c.Name); err != nil {
			return err
		}
		changes, err := also(t)
		for _, c := range changes {
			err = errors.Join(err, change(t, c))
		}
		return err
	})
	return out, errors.Join(err, file.Close())
}

// alone tells whether none of the others answers.
func (c *Config) alone(ctx context.Context) error {
	names := slices.Sorted(maps.Keys(c.Members))
	answers := make([]error, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		if name == c.Name {
			continue
		}
		asked.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, answerPatience)
			defer cancel()
			if conn, err := c.dial(ctx, c.Members[name]); err == nil {
				_ = conn.Close()
				answers[i] = &AliveError{name, c.Members[name]}
			}
		})
	}
	asked.Wait()
	return errors.Join(append(answers, ctx.Err())...)
}

// remake makes a copy the whole store, in one transaction.
func remake(t table, name string) (*Recovery, error) {
	if owner := string(t.Get(ownBucket, nameKey)); owner != name {
		return nil, fmt.Errorf("it belongs to %q, and this is %s", owner, name)
	}
	k, err := readKept(readOnly{t})
	if err != nil {
		return nil, err
	}
	if !k.founded() {
		return nil, fmt.Errorf("it has never had any data: %w", fs.ErrNotExist)
	}
	n := next{applied: k.applied}
	for _, e := range k.entries[k.applied.index-k.first.index:] { // each may be acknowledged. Those about members are left out: they are of the store of before
		if err := n.apply(t, e); err != nil {
			return nil, err
		}
	}
	hard := &pb.HardState{Term: new(k.hard.GetTerm() + 1), Commit: new(n.applied.index)}
	err = errors.Join(t.DeleteAll(logBucket, ""), t.Put(ownBucket, firstKey, n.applied.encode()), putHard(t, hard),
		putApplied(t, n.applied, &pb.ConfState{Voters: []uint64{k.disk}}, map[string]uint64{name: k.disk}), t.Put(ownBucket, remadeKey, encodeRemade(k.remade+1)))
	return &Recovery{Entry: n.applied.index, Term: n.applied.term, Were: slices.Sorted(maps.Keys(k.members))}, err
}

// readOnly reads within a transaction.
type readOnly struct{ table }

// View implements disk.
func (r readOnly) View(do func(table) error) error { return do(r.table) }

// Update implements disk.
func (readOnly) Update(func(table) error) error { return errors.ErrUnsupported }
