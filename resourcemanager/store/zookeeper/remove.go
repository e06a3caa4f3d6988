package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	zk "github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/store/apache"
)

// removeAtOnce is how many nodes one transaction removes.
const removeAtOnce = 500

// Remove removes the store with all that is in it. The root goes last, so that it can be
// called again. A ResourceManager that uses the store can store nothing more. There being
// no store is a zk.ErrNoNode.
func Remove(ctx context.Context, o Options) error {
	s, err := Open(o)
	if err != nil {
		return err
	}
	defer s.Close()
	k := s.(*keeper)
	return k.retry(ctx, func() error { return k.removeStore(ctx) })
}

func (k *keeper) removeStore(ctx context.Context) error {
	if there, _, err := k.conn.Exists(ctx, k.root); err != nil {
		return err
	} else if !there {
		return fmt.Errorf("%s: %w", k.root, zk.ErrNoNode)
	}
	if _, err := k.conn.SetACL(ctx, k.root, k.options.rootACL(), zk.AnyVersion); err != nil {
		return fenced(err)
	}
	if err := k.conn.Delete(ctx, k.absolute(apache.Epoch), zk.AnyVersion); err != nil && !errors.Is(err, zk.ErrNoNode) { // whoever runs can store nothing from now on
		return fenced(err)
	}
	if _, err := k.walk(ctx); err != nil {
		return err
	}
	nodes := slices.Sorted(maps.Keys(k.tree))
	slices.SortStableFunc(nodes, func(a, b string) int { return strings.Count(b, "/") - strings.Count(a, "/") }) // the deepest first
	nodes = append(slices.DeleteFunc(nodes, func(at string) bool { return at == "." }), ".")
	for part := range slices.Chunk(nodes, removeAtOnce) {
		var ops []zk.Op
		for _, at := range part {
			ops = append(ops, zk.DeleteOp(k.absolute(path.Clean(at))))
		}
		if err := k.conn.Multi(ctx, ops...); err != nil {
			if errors.Is(err, zk.ErrNotEmpty) {
				return fmt.Errorf("the state store %s is being written by somebody else; stop the ResourceManager first: %w", k.root, err)
			}
			return fenced(err)
		}
	}
	return nil
}
