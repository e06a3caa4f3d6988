package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/yarn"
)

const storePath = "yarn.resourcemanager.heddle.state-store.path"

// FormatStore sets the state store aside, whole or damaged, so that the next
// start begins with an empty one. It fails while a ResourceManager uses the
// store. Node labels are no part of it.
func FormatStore(o Options, out io.Writer) error {
	path, b, err := storeOf(o)
	if err != nil {
		return err
	}
	aside, err := bolt.SetAside(path, b, time.Now())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		fmt.Fprintf(out, "there is no state store at %s (%s): nothing to format\n", path, storePath)
		return nil
	case err != nil:
		return fmt.Errorf("cannot format the state store (%s): %w", storePath, err)
	case aside == "":
		fmt.Fprintf(out, "the state store %s is formatted; its file was gone already\n", path)
	default:
		fmt.Fprintf(out, "the state store %s is formatted: the next start begins with an empty one\nwhat it held is kept as %s; it has keys of tokens in it, so remove it once it is not needed\n", path, aside)
	}
	return nil
}

// RemoveFromStore removes an application and its attempts from the state store.
// It fails while a ResourceManager uses the store, and when it does not have
// the application.
func RemoveFromStore(o Options, application string, out io.Writer) (err error) {
	id, err := yarn.ParseApplicationID(application)
	if err != nil {
		return err
	}
	path, b, err := storeOf(o)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("the state store (%s): %w", storePath, err)
	}
	s, err := bolt.Open(path, b)
	if err != nil {
		return fmt.Errorf("cannot open the state store (%s): %w", storePath, err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx := context.Background()
	snapshot, err := s.Load(ctx)
	if err != nil {
		return err
	}
	key := state.Application{ID: id}.Key()
	if !slices.ContainsFunc(snapshot.Applications, func(a state.Application) bool { return a.ID == id }) &&
		!slices.ContainsFunc(snapshot.Quarantined, func(q state.Quarantined) bool { return q.Key == key }) {
		return fmt.Errorf("%s is not in the state store %s", id, path)
	}
	if err := s.Commit(ctx, []state.Op{state.RemoveApplication(id)}); err != nil {
		return fmt.Errorf("cannot remove %s from the state store %s: %w", id, path, err)
	}
	fmt.Fprintf(out, "%s is removed from the state store %s\n", id, path)
	return nil
}

// storeOf is where the state store is, whether recovery is on or not.
func storeOf(o Options) (path string, b bolt.Options, err error) {
	site, err := o.Load()
	if err != nil {
		return "", b, err
	}
	settings, err := conf.ReadResourceManager(site)
	if err != nil {
		return "", b, err
	}
	r := &settings.Recovery
	if r.Store != "bolt" {
		return "", b, fmt.Errorf("yarn.resourcemanager.store.class asks for %q, not for heddle.bolt, the store that this command knows", r.Store)
	}
	cluster, err := (&process{Options: o}).readCluster(site)
	if err != nil {
		return "", b, err
	}
	return r.Path, bolt.Options{Options: store.Options{Types: cluster.Types}}, nil
}
