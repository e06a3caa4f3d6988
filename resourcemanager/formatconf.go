package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/heddle-project/heddle/internal/sealed"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
)

// FormatConfStore takes the queue file instead of what the store of the queues' configuration holds, for the next start. What was before stays in the
// history. A damaged file of the built-in store is set aside. It fails while a ResourceManager uses that store.
func FormatConfStore(o Options, out io.Writer) (err error) {
	p := &process{Options: o, openZooKeeper: zookeeper.Open}
	if p.site, err = o.Load(); err != nil {
		return err
	}
	if p.settings, err = p.readSettings(p.site); err != nil {
		return err
	}
	t := &term{process: p}
	s := &p.settings.QueueConf
	switch {
	case p.settings.Allocation.Scheduler != "capacity" || s.Store == "file":
		return errors.New("Scheduler Configuration format only supported by MutableConfScheduler: yarn.scheduler.configuration.store.class names no store")
	case p.settings.HA.Raft.Enabled && s.Store == "bolt":
		return errors.New("the configuration of the queues is kept by the ResourceManagers together (yarn.resourcemanager.store.class is heddle.raft), and only they can change it: " +
			"give them a whole configuration with `yarn schedulerconf -apply FILE` while they run")
	case s.Store == "memory":
		fmt.Fprintln(out, "yarn.scheduler.configuration.store.class is memory: nothing is kept, and there is nothing to format")
		return nil
	}
	file, err := t.readQueueFile()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), zooKeeperPatience)
	defer cancel()
	store, err := t.openConfStore(ctx)
	if errors.As(err, new(*sealed.DamageError)) {
		aside, err := confstore.SetBoltAside(filepath.Join(s.Path, confFile), time.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "the store of the queues' configuration was damaged, and is kept as %s: the next start begins with %s, and without a history\n", aside, queueFileName)
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	now, err := store.Load(ctx)
	if err != nil {
		return err
	}
	next := now.Clone()
	next.Accept(file, confstore.Version{User: o.User, At: time.Now().UnixMilli(), Source: confstore.FromFormat, Reason: "-format-conf-store"})
	next.Attempts, next.Trial, next.File = nil, nil, confstore.Digest(file)
	if err := store.Commit(ctx, now.Version, next); err != nil {
		return err
	}
	fmt.Fprintf(out, "the next start begins with %s, as version %d of the queues' configuration; version %d stays in the history\n", queueFileName, next.Version, now.Version)
	return nil
}
