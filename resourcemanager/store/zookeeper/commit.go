package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// surprises is how often a transaction is made anew because nodes were not as expected.
const surprises = 3

// commit carries changes out in one transaction.
func (k *keeper) commit(ctx context.Context, changes []store.Change, ops int) error {
	var err error
	for range surprises {
		if err = k.makeSure(ctx); err != nil {
			return err
		}
		b := builder{k: k, touched: map[string]bool{}}
		if err = b.all(changes); err == nil {
			err = k.conn.Multi(ctx, k.guarded(b.ops)...)
		}
		if err == nil {
			return nil
		}
		b.undo()
		if errors.As(err, new(*store.PoisonError)) {
			return err
		}
		if errors.Is(err, zk.ErrTooLarge) { // nothing was sent
			if ops == 1 {
				return &store.PoisonError{Index: changes[0].Op, Key: changes[0].Key, Err: err}
			}
			return &store.BatchError{Ops: ops, Bytes: b.size}
		}
		for at := range b.touched {
			k.unsure[at] = true
		}
		if err = k.judge(err); !errors.Is(err, errSurprise) {
			return err
		}
	}
	return err
}

var errSurprise = errors.New("the nodes in ZooKeeper were changed by others")

// guarded is the transaction of changes, which only the last to have loaded the store
// can carry out.
func (k *keeper) guarded(ops []zk.Op) []zk.Op {
	checks := []zk.Op{{Kind: zk.OpCheck, Path: k.absolute(apache.Epoch), Version: k.epoch}, {Kind: zk.OpCheck, Path: k.absolute(k.mark)}}
	return append(checks, k.transaction(ops...)...)
}

// judge says what it means that a transaction was refused.
func (k *keeper) judge(err error) error {
	var refused *zk.MultiError
	if !errors.As(err, &refused) {
		return fenced(err)
	}
	lost := fmt.Errorf("%w: %w", store.ErrFenced, err)
	switch {
	case errors.Is(err, zk.ErrNoAuth):
		return lost
	case refused.Index == 0 && errors.Is(err, zk.ErrBadVersion): // another start has counted the epoch up
		return lost
	case refused.Index == 1 && errors.Is(err, zk.ErrNoNode): // another start has made an epoch of the same version
		return lost
	case refused.Index == 2 && errors.Is(err, zk.ErrNodeExists):
		return lost
	case refused.Index <= 2 && errors.Is(err, zk.ErrNoNode):
		return &store.DamagedError{Err: fmt.Errorf("the state store %s in ZooKeeper was removed: %w", k.root, err)}
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrNotEmpty):
		return fmt.Errorf("%w: %w", errSurprise, err)
	}
	return err
}

// makeSure finds out which of the nodes are there that a transaction with an unknown
// outcome was about.
func (k *keeper) makeSure(ctx context.Context) error {
	if len(k.unsure) == 0 {
		return nil
	}
	if err := k.conn.Sync(ctx, k.root); err != nil {
		return err
	}
	for _, at := range slices.Sorted(maps.Keys(k.unsure)) { // parents first
		there, stat, err := k.conn.Exists(ctx, k.absolute(at))
		if err != nil {
			return err
		}
		var names []string
		if there && stat.Children > 0 {
			if names, _, err = k.conn.Children(ctx, k.absolute(at)); err != nil {
				return err
			}
		}
		for name := range k.tree[at] {
			if !slices.Contains(names, name) {
				k.tree.forget(path.Join(at, name))
			}
		}
		if there {
			k.tree.add(at)
		} else {
			k.tree.forget(at)
		}
		for _, name := range names {
			k.tree.add(path.Join(at, name))
		}
		delete(k.unsure, at)
	}
	return nil
}

// builder makes operations of changes, and enters them in the tree on the way.
type builder struct {
	k       *keeper
	ops     []zk.Op
	size    int
	back    []func() // in order; undone from the end
	touched map[string]bool
}

func (b *builder) undo() {
	for _, f := range slices.Backward(b.back) {
		f()
	}
}

// all is a *store.PoisonError, or wraps zk.ErrTooLarge if the changes are too much for one transaction. A chroot, which
// makes each path longer, is not known here: the connection may find them too large as well.
func (b *builder) all(changes []store.Change) error {
	fixed := 0
	for _, op := range b.k.guarded(nil) {
		fixed += zk.RequestSize(op)
	}
	limit := b.k.options.Connection.MaxRequest - fixed
	for _, c := range changes {
		before := b.size
		if err := b.change(c); err != nil {
			return err
		}
		if size := b.size - before; size > limit && len(c.Value) > 0 {
			return &store.PoisonError{Index: c.Op, Key: c.Key, Err: &store.SizeError{Size: size, Limit: limit}}
		}
		if b.size > limit {
			return fmt.Errorf("%d bytes of changes, at most %d fit into a transaction: %w", b.size, limit, zk.ErrTooLarge)
		}
	}
	return nil
}

func (b *builder) change(c store.Change) error {
	if c.Prefix {
		return nil // the attempts of an application go with its node
	}
	at, err := b.k.place(c.Key, c.Record)
	if err == nil && c.Value != nil {
		err = zk.CheckPath(b.k.absolute(at))
	}
	if err != nil {
		return &store.PoisonError{Index: c.Op, Key: c.Key, Err: err}
	}
	switch {
	case c.Value != nil:
		b.put(at, c.Value)
	case c.Key.Table == state.AMRMKeys, c.Key.Table == state.DelegationSequences: // nodes that always are there
		if b.k.tree.has(at) {
			b.put(at, nil)
		}
	default:
		b.removeAll(at)
		if parent := path.Dir(at); prunable(parent) && b.k.tree.has(parent) && len(b.k.tree[parent]) == 0 {
			b.remove(parent)
		}
	}
	return nil
}

func (b *builder) op(op zk.Op, at string) {
	op.Path = b.k.absolute(at)
	b.ops = append(b.ops, op)
	b.size += zk.RequestSize(op)
	b.touched[at] = true
}

func (b *builder) put(at string, value []byte) {
	if b.k.tree.has(at) {
		b.op(zk.SetOp("", value), at)
		return
	}
	b.create(at, value)
}

// create makes a node, and those above it.
func (b *builder) create(at string, value []byte) {
	if parent := path.Dir(at); !b.k.tree.has(parent) {
		b.create(parent, nil)
	}
	b.op(zk.CreateOp("", value, b.k.options.ACL), at)
	b.k.tree.add(at)
	b.back = append(b.back, func() { b.k.tree.remove(at) })
}

func (b *builder) removeAll(at string) {
	if !b.k.tree.has(at) {
		return
	}
	var names []string
	for name := range b.k.tree[at] {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		b.removeAll(path.Join(at, name))
	}
	b.remove(at)
}

func (b *builder) remove(at string) {
	b.op(zk.DeleteOp(""), at)
	b.k.tree.remove(at)
	b.back = append(b.back, func() { b.k.tree.add(at) })
}
