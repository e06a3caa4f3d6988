package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/heddle-project/heddle/internal/progress"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/leveldb"
)

const levelPath = "yarn.resourcemanager.leveldb-state-store.path"

// ImportStore puts what Apache's ResourceManager has stored in LevelDB into the state store. The directory stays as it is. It fails
// if a ResourceManager uses either, if the store is not empty, and if the directory is damaged. Records that cannot be used are named.
func ImportStore(o Options, out io.Writer) (err error) {
	site, err := o.Load()
	if err != nil {
		return err
	}
	dir := strings.TrimSpace(site.Get(levelPath))
	if dir == "" {
		return fmt.Errorf("%s is not set: it names the directory to import", levelPath)
	}
	r, err := storeOf(o)
	if err != nil {
		return fmt.Errorf("cannot tell what to import into: %w: the property names the store that takes the records; without it that is the built-in one", err)
	}
	settings := store.Options{Types: r.bolt.Types}
	switch r.kind {
	case storeFiles:
		settings = r.files.Options
	case storeZooKeeper:
		settings = r.zookeeper.Options
	}
	from, odd, err := leveldb.Read(dir, store.Options{Types: settings.Types, Epochs: settings.Epochs})
	if err != nil {
		return fmt.Errorf("cannot import (%s): %w", levelPath, err)
	}
	if r.kind != storeFiles && r.kind != storeZooKeeper {
		from.DropUnknown() // it is of Hadoop's records
	}
	if err := r.importFrom(from, progress.New(out, time.Now, "importing", progress.Count("changes"))); err != nil {
		return err
	}
	fmt.Fprintf(out, "imported from %s into the state store %s: %d applications, %d attempts, %d delegation tokens, %d reservations\n",
		dir, r.where, len(from.Applications), len(from.Attempts), len(from.DelegationTokens), len(from.Reservations))
	for _, text := range odd {
		fmt.Fprintln(out, text)
	}
	for _, q := range from.Quarantined {
		fmt.Fprintf(out, "not imported: %s: %s\n", q.Key, q.Reason)
	}
	return nil
}

// importFrom stores a snapshot in a store that has nothing. The next start has a later epoch than the snapshot's.
func (r *records) importFrom(from *state.Snapshot, meter *progress.Meter) (err error) {
	was := *r
	for _, e := range []*state.Epochs{&r.bolt.Epochs, &r.files.Epochs, &r.zookeeper.Epochs} {
		e.Base = from.Epoch
	}
	ctx := context.Background()
	s, had, err := r.load(ctx)
	if err != nil {
		// The epoch of a store that is in use already may be the reason.
		other, has, otherErr := was.load(ctx)
		if otherErr != nil {
			return err
		}
		if err := other.Close(); err != nil {
			return err
		}
		if had = has; had.Empty() {
			return err
		}
	} else {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	if !had.Empty() {
		return fmt.Errorf("the state store %s (%s) is not empty: nothing was imported. yarn resourcemanager -format-state-store sets it aside", r.where, r.property)
	}
	defer meter.End()
	ops := from.Ops()
	meter.Total(int64(len(ops)))
	for len(ops) > 0 {
		n := min(len(ops), store.MaxOps)
		if err := commitSome(ctx, s, &n, ops); err != nil {
			return fmt.Errorf("the state store %s has a part of the records only: set it aside with yarn resourcemanager -format-state-store, and import again: %w", r.where, err)
		}
		ops = ops[n:]
		meter.Add(int64(n))
	}
	return nil
}

// load opens the store and loads it.
func (r *records) load(ctx context.Context) (store.Store, *state.Snapshot, error) {
	s, err := r.open(bolt.Open)
	if err != nil {
		return nil, nil, err
	}
	had, err := s.Load(ctx)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("cannot import into the state store %s: %w", r.where, err), s.Close())
	}
	return s, had, nil
}

// commitSome commits the first n changes, or as many as one batch takes.
func commitSome(ctx context.Context, s store.Store, n *int, ops []state.Op) error {
	for {
		err := s.Commit(ctx, ops[:*n])
		if !errors.As(err, new(*store.BatchError)) || *n == 1 {
			return err
		}
		*n /= 2
	}
}
