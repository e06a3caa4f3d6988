package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	files "github.com/heddle-project/heddle/resourcemanager/store/filesystem"
	"github.com/heddle-project/heddle/resourcemanager/store/zookeeper"
	"github.com/heddle-project/heddle/yarn"
)

const storePath = "yarn.resourcemanager.heddle.state-store.path"

// FormatStore sets the state store aside, whole or damaged, so that the next
// start begins with an empty one; one in ZooKeeper is removed. It fails while a
// ResourceManager on this machine uses the store. Node labels are no part of it.
func FormatStore(o Options, out io.Writer) error {
	r, err := storeOf(o)
	if err != nil {
		return err
	}
	aside := ""
	switch r.kind {
	case storeBolt:
		aside, err = bolt.SetAside(r.where, r.bolt, time.Now())
	case storeFiles:
		aside, err = files.SetAside(context.Background(), r.files, time.Now())
	case storeZooKeeper:
		err = zookeeper.Remove(context.Background(), r.zookeeper)
	case storeRaft:
		aside, err = replica.SetAside(r.where, time.Now())
	}
	switch {
	case isMissing(err):
		fmt.Fprintf(out, "there is no state store at %s (%s): nothing to format\n", r.where, r.property)
		return nil
	case err != nil:
		return fmt.Errorf("cannot format the state store (%s): %w", r.property, err)
	case r.kind == storeZooKeeper:
		fmt.Fprintf(out, "the state store %s is removed: the next start begins with an empty one\n", r.where)
	case r.kind == storeRaft && aside != "":
		fmt.Fprintf(out, "this ResourceManager's copy of the state store is set aside as %s; it has keys of tokens in it, so remove it once it is not needed\n"+
			"the next start gets everything from the other ResourceManagers. To begin with an empty store, stop all of them and format each\n", aside)
	case aside == "":
		fmt.Fprintf(out, "the state store %s is formatted; its file was gone already\n", r.where)
	default:
		fmt.Fprintf(out, "the state store %s is formatted: the next start begins with an empty one\nwhat it held is kept as %s; it has keys of tokens in it, so remove it once it is not needed\n", r.where, aside)
	}
	return nil
}

// RemoveFromStore removes an application and its attempts from the state store.
// It fails while a ResourceManager on this machine uses the store, and when it does not
// have the application. One elsewhere loses the store to this.
func RemoveFromStore(o Options, application string, out io.Writer) (err error) {
	id, err := yarn.ParseApplicationID(application)
	if err != nil {
		return err
	}
	r, err := storeOf(o)
	if err != nil {
		return err
	}
	if r.kind == storeRaft {
		return errTogether
	}
	if err := r.missing(); err != nil {
		return fmt.Errorf("the state store (%s): %w", r.property, err)
	}
	s, err := r.open(bolt.Open)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx := context.Background()
	snapshot, err := s.Load(ctx)
	if err != nil {
		return err
	}
	key := state.Application{ID: id}.Key()
	if !slices.ContainsFunc(snapshot.Applications, func(a *state.Application) bool { return a.ID == id }) &&
		!slices.ContainsFunc(snapshot.Quarantined, func(q state.Quarantined) bool { return q.Key == key }) {
		return fmt.Errorf("%s is not in the state store %s", id, r.where)
	}
	if err := s.Commit(ctx, []state.Op{state.RemoveApplication(id)}); err != nil {
		return fmt.Errorf("cannot remove %s from the state store %s: %w", id, r.where, err)
	}
	fmt.Fprintf(out, "%s is removed from the state store %s\n", id, r.where)
	return nil
}

// storeOf is where the state store is, whether recovery is on or not.
func storeOf(o Options) (r records, err error) {
	site, err := o.Load()
	if err != nil {
		return r, err
	}
	settings, err := conf.ReadResourceManager(site)
	if err != nil {
		return r, err
	}
	p := &process{Options: o}
	cluster, err := p.readCluster(site)
	if err != nil {
		return r, err
	}
	return p.records(site, settings, store.Options{Types: cluster.Types})
}
