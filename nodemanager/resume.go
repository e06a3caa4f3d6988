package nodemanager

import (
	"context"
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/nodemanager/localize/java"
	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
	"google.golang.org/protobuf/proto"
)

// resume takes up what the last life left: with recovery its containers, applications and cache; without, it kills its
// containers and deletes its directories.
func (d *Daemon) resume() error {
	if err := java.KillLeftovers(d.settings.Dirs.Local); err != nil {
		d.Log.Warn("localizers of an earlier life may go on", "error", err)
	}
	if d.snapshot == nil {
		if err := d.killLeftovers(nil); err != nil {
			return err
		}
		d.sweepGroups(nil)
		doomed, err := localize.Sweep(d.settings.Dirs.Local, d.started)
		d.deletion.remove(false, doomed...)
		d.makeRoots()
		return err
	}
	d.makeRoots()
	s := d.snapshot
	d.snapshot = nil
	d.sweepGroups(s.Containers)
	doomed, err := localize.Leftovers(d.settings.Dirs.Local, paths(s.Resources))
	d.deletion.remove(false, doomed...)
	d.deletion.remove(true, d.outdated(s)...)
	if err != nil {
		d.Log.Warn("cannot look through the cache for what an earlier life left", "error", err)
	}
	if err := d.restoreServices(s); err != nil {
		d.Log.Error("the shuffle cannot take up a job of an earlier life", "error", err)
	}
	d.logs.restore(s.Parts[logsPart])
	r := engine.Recover{Applications: s.Applications, Resources: s.Resources, Ended: s.Ended}
	known := map[yarn.ContainerID]bool{}
	for _, c := range s.Containers {
		spec, err := d.specOf(&c)
		if err != nil {
			d.Log.Error("a container of an earlier life cannot be taken up", "container", c.ID, "error", err)
			d.keep(state.DropContainer{ID: c.ID})
			continue
		}
		known[c.ID] = true
		r.Containers = append(r.Containers, engine.Recovered{Kept: c, Spec: spec})
	}
	if err := d.killLeftovers(known); err != nil {
		d.Log.Warn("containers without a record may go on", "error", err)
	}
	d.Log.Info("taking up an earlier life", "applications", len(r.Applications), "containers", len(r.Containers), "resources", len(r.Resources))
	d.loop.Post(r)
	return d.loop.Sync(context.Background()) // what was recovered shows in the views now
}

// killLeftovers ends the containers of an earlier life that are not known any more: nobody would follow them.
func (d *Daemon) killLeftovers(known map[yarn.ContainerID]bool) error {
	left, err := d.launcher.Leftovers(d.settings.Dirs.Local)
	if err != nil {
		return fmt.Errorf("cannot look for containers of an earlier life: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.settings.Launch.KillDelay+stopPatience)
	defer cancel()
	var work sync.WaitGroup
	for _, c := range left {
		if known[c.ID] {
			continue
		}
		d.Log.Warn("a container of an earlier life is killed: there is no record of it (yarn.nodemanager.recovery.enabled)", "container", c.ID)
		work.Go(func() {
			if err := d.launcher.Attach(ctx, c).Kill(ctx); err != nil {
				d.Log.Error("cannot kill a container of an earlier life", "container", c.ID, "error", err)
			}
		})
	}
	work.Wait()
	return nil
}

func paths(list []state.Resource) []string {
	out := make([]string, len(list))
	for i, r := range list {
		out[i] = r.Dir
	}
	return out
}

// specOf reads a kept container as it was once accepted.
func (d *Daemon) specOf(c *state.Container) (engine.Spec, error) {
	what, err := token.ParseContainer(c.Token, d.settings.Resources.Types)
	if err != nil {
		return engine.Spec{}, err
	}
	launch := &pb.ContainerLaunchContext{}
	if err := proto.Unmarshal(c.Launch, launch); err != nil {
		return engine.Spec{}, err
	}
	return container.Spec(&what, c.Token, launch)
}
