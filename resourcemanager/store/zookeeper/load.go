package zookeeper

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// Limits of a load.
const (
	maxNodes = 4 << 20 // of the store
	readers  = 32      // nodes that are read at the same time
)

// absolute is the path of a node below the root.
func (k *keeper) absolute(at string) string { return absolute(k.root, at) }

func absolute(root, at string) string {
	if at == "." {
		return root
	}
	return root + "/" + at
}

// takeOver makes this the owner of the store, stores the next epoch and reads all.
func (k *keeper) takeOver(ctx context.Context) (*state.Snapshot, error) {
	if err := k.retry(ctx, func() error { return k.prepare(ctx) }); err != nil {
		return nil, err
	}
	if err := k.retry(ctx, func() error { return k.checkVersion(ctx) }); err != nil {
		return nil, err
	}
	var epoch int64
	if err := k.retry(ctx, func() (err error) { epoch, err = k.nextEpoch(ctx); return err }); err != nil {
		return nil, err
	}
	if snapshot := k.takeCopy(ctx, epoch); snapshot != nil {
		return snapshot, nil
	}
	var values map[string][]byte
	if err := k.retry(ctx, func() (err error) { values, err = k.walk(ctx); return err }); err != nil {
		return nil, err
	}
	return k.read(epoch, values), nil
}

// takeCopy takes what was followed, if that is whole. Nobody else can change anything any more.
func (k *keeper) takeCopy(ctx context.Context, epoch int64) *state.Snapshot {
	f := k.options.Follower
	if f == nil {
		return nil
	}
	nodes, found, err := f.take(ctx, k.mark)
	if err != nil {
		k.options.Warn(fmt.Sprintf("the copy of the state store cannot be used, all is read: %v", err))
	}
	if nodes == nil {
		return nil
	}
	k.tree, k.unsure = found, map[string]bool{}
	return k.gather(epoch, func(yield func(entry) bool) {
		for _, n := range nodes {
			if !yield(n.entry) {
				return
			}
		}
	})
}

// retry tries a call again that was lost, as often as Options say.
func (k *keeper) retry(ctx context.Context, call func() error) error {
	for tries := 0; ; tries++ {
		err := call()
		if err == nil || !zk.Lost(err) || tries >= k.options.Retries {
			return err
		}
		if tries == 0 {
			k.options.Warn(fmt.Sprintf("waiting for ZooKeeper at %s: %v", k.options.Connection.Address, err))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(k.options.Interval):
		}
	}
}

// prepare makes the nodes that are always there, and the access list of the root ours.
func (k *keeper) prepare(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := zk.MakeParents(ctx, k.conn, k.options.Parent, k.options.ACL); err != nil {
		return fenced(err)
	}
	acl := k.options.rootACL()
	if _, err := k.conn.Create(ctx, k.root, nil, zk.Persistent, acl); err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fenced(err)
	}
	if err := k.conn.Sync(ctx, k.root); err != nil {
		return err
	}
	now, _, err := k.conn.GetACL(ctx, k.root)
	if err != nil {
		return fenced(err)
	}
	if !slices.Equal(now, acl) {
		if _, err := k.conn.SetACL(ctx, k.root, acl, zk.AnyVersion); err != nil {
			return fenced(err)
		}
	}
	if err := k.conn.Delete(ctx, k.absolute(lockName), zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fenced(err)
	}
	for _, at := range skeleton() {
		there, _, err := k.conn.Exists(ctx, k.absolute(at))
		if err == nil && !there {
			_, err = k.conn.Create(ctx, k.absolute(at), nil, zk.Persistent, k.options.ACL)
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fenced(err)
		}
	}
	return nil
}

// fenced tells that another ResourceManager has the store if ZooKeeper does not let us.
func fenced(err error) error {
	if errors.Is(err, zk.ErrNoAuth) {
		return fmt.Errorf("%w: %w", store.ErrFenced, err)
	}
	return err
}

// checkVersion refuses a store of another major version, and writes ours.
func (k *keeper) checkVersion(ctx context.Context) error {
	ours, err := apache.EncodeVersion(Major, Minor)
	if err != nil {
		return err
	}
	at := k.absolute(apache.Version)
	found, stat, err := k.conn.Get(ctx, at)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		err = k.conn.Multi(ctx, k.transaction(zk.CreateOp(at, ours, k.options.ACL))...)
	case err != nil:
	case slices.Equal(found, ours):
		return nil
	default:
		if err := apache.CheckVersion(found, Major, Minor); err != nil {
			return &versionError{fmt.Errorf("the state store %s in ZooKeeper: %w", k.root, err)}
		}
		err = k.conn.Multi(ctx, k.transaction(zk.Op{Kind: zk.OpSet, Path: at, Data: ours, Version: stat.Version})...)
	}
	return fenced(err)
}

// nextEpoch reads the epoch of this start and stores the next one, with a mark that tells
// this start from all others. The version of the epoch's node and that the mark is there
// are what all later transactions check.
func (k *keeper) nextEpoch(ctx context.Context) (int64, error) {
	at := k.absolute(apache.Epoch)
	if err := k.conn.Sync(ctx, k.root); err != nil {
		return 0, err
	}
	epoch, version := k.options.Epochs.Base, int32(0)
	found, stat, err := k.conn.Get(ctx, at)
	there := !errors.Is(err, zk.ErrNoNode)
	if there {
		if err != nil {
			return 0, err
		}
		if epoch, err = apache.NextEpoch(found, k.options.Epochs); err != nil {
			return 0, &versionError{fmt.Errorf("the state store %s in ZooKeeper: %w", k.root, err)}
		}
		version = stat.Version + 1
	}
	next, err := apache.EncodeEpoch(k.options.Epochs.Next(epoch))
	if err != nil {
		return 0, err
	}
	op := zk.CreateOp(at, next, k.options.ACL)
	if there {
		op = zk.Op{Kind: zk.OpSet, Path: at, Data: next, Version: stat.Version}
	}
	names, _, err := k.conn.Children(ctx, k.absolute(apache.OwnRoot))
	if err != nil {
		return 0, fenced(err)
	}
	mark := path.Join(apache.OwnRoot, markPrefix+rand.Text())
	ops := []zk.Op{op, zk.CreateOp(k.absolute(mark), nil, k.options.ACL)}
	for _, name := range names {
		if strings.HasPrefix(name, markPrefix) {
			ops = append(ops, zk.DeleteOp(k.absolute(path.Join(apache.OwnRoot, name))))
		}
	}
	if err := k.conn.Multi(ctx, k.transaction(ops...)...); err != nil {
		if errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNodeExists) {
			return 0, fmt.Errorf("another ResourceManager is taking the store over at this moment: %w", store.ErrFenced)
		}
		return 0, fenced(err)
	}
	k.epoch, k.mark = version, mark
	return epoch, nil
}

// transaction puts the fence around changes.
func (k *keeper) transaction(ops ...zk.Op) []zk.Op {
	lock := k.absolute(lockName)
	out := append([]zk.Op{zk.CreateOp(lock, []byte{}, k.options.ACL)}, ops...)
	return append(out, zk.DeleteOp(lock))
}

// walk reads all nodes below the root, by path below it. Those without data are nil.
func (k *keeper) walk(ctx context.Context) (map[string][]byte, error) {
	if err := k.conn.Sync(ctx, k.root); err != nil {
		return nil, err
	}
	values := map[string][]byte{}
	k.tree = tree{}
	k.unsure = map[string]bool{}
	for level := []string{"."}; len(level) > 0; {
		if len(values)+len(level) > maxNodes {
			return nil, fmt.Errorf("the state store %s in ZooKeeper has more than %d nodes", k.root, maxNodes)
		}
		found, err := visit(level, readers, func(at string) (visited, error) { return k.look(ctx, at) })
		if err != nil {
			return nil, err
		}
		var next []string
		for i, n := range found {
			if n.gone {
				continue
			}
			k.tree.add(level[i])
			values[level[i]] = n.data
			slices.Sort(n.children)
			for _, name := range n.children {
				next = append(next, path.Join(level[i], name))
			}
		}
		level = next
	}
	return values, nil
}

type visited struct {
	data     []byte
	children []string
	gone     bool
}

// visit reads nodes, some at the same time.
func visit[T any](level []string, readers int, look func(at string) (T, error)) ([]T, error) {
	out := make([]T, len(level))
	errs := make([]error, readers)
	var all sync.WaitGroup
	for w := range min(readers, len(level)) {
		all.Go(func() {
			for i := w; i < len(level) && errs[w] == nil; i += readers {
				out[i], errs[w] = look(level[i])
			}
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

func (k *keeper) look(ctx context.Context, at string) (v visited, err error) {
	data, stat, err := k.conn.Get(ctx, k.absolute(at))
	if err == nil && stat.Children > 0 {
		v.children, _, err = k.conn.Children(ctx, k.absolute(at))
	}
	if errors.Is(err, zk.ErrNoNode) {
		return visited{gone: true}, nil
	}
	v.data = data
	return v, fenced(err)
}

// mayBeEmpty tells whether a node without data is no record, and nothing is wrong with it.
func mayBeEmpty(t state.Table) bool {
	return t == state.Applications || t == state.AMRMKeys || t == state.DelegationSequences
}

// entry is what a node means: nothing, a record, or why it is none.
type entry struct {
	key    state.Key
	record state.Record // nil: there is none
	reason string       // why it cannot be used; "" unless record is nil
}

// entry makes a record of what a node holds.
func (o *Options) entry(at string, value []byte) entry {
	key, holds, err := identify(at)
	if !holds || len(value) == 0 && mayBeEmpty(key.Table) { // a node that only holds others, or nothing yet
		return entry{}
	}
	e := entry{key: key}
	if err == nil {
		if key.Table == state.Reservations {
			value = apache.WithPlan(slices.Clone(value), path.Base(path.Dir(at)))
		}
		e.record, err = o.Codec.Decode(key, value)
	}
	if err != nil {
		e.record, e.reason = nil, err.Error()
	}
	return e
}

// gather makes a snapshot of entries.
func (k *keeper) gather(epoch int64, entries iter.Seq[entry]) *state.Snapshot {
	snapshot := &state.Snapshot{Epoch: epoch}
	for e := range entries {
		switch {
		case e.record != nil:
			snapshot.Add(e.record)
		case e.reason != "":
			snapshot.Quarantine(e.key, e.reason)
		}
	}
	snapshot.Finish()
	apache.Settle(snapshot)
	return snapshot
}

// read makes records of what was read.
func (k *keeper) read(epoch int64, values map[string][]byte) *state.Snapshot {
	return k.gather(epoch, func(yield func(entry) bool) {
		for at, value := range values {
			if !yield(k.options.entry(at, value)) {
				return
			}
		}
	})
}
