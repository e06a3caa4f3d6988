package nodemanager

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/nodemanager/localize/java"
	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// resume handles what the daemon's last life left. With recovery it takes up the containers, applications and cache; without,
// it kills the containers and deletes their directories.
func (d *Daemon) resume() error {
	if err := java.KillLeftovers(d.settings.Dirs.Local); err != nil {
		d.Log.Warn("localizers of an earlier life may go on", "error", err)
	}
	if d.snapshot == nil {
		if _, err := d.killLeftovers(nil); err != nil {
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
	r, known := d.recovered(s)
	// What is left of a container is found by its directories, so it ends before they are deleted.
	outlived, err := d.killLeftovers(known)
	if err != nil {
		d.Log.Warn("containers without a record may go on", "error", err)
	}
	doomed, err := localize.Leftovers(d.settings.Dirs.Local, paths(s.Resources), d.started)
	if err != nil {
		d.Log.Warn("cannot look through the cache for what an earlier life left", "error", err)
	}
	d.deletion.remove(false, doomed...)
	doomed = d.outdated(s, outlived)
	if d.settings.Launch.DeleteDelay == 0 { // else somebody may want to look at them where they are
		if doomed, err = localize.PutAside(d.settings.Dirs.Local, doomed, d.started); err != nil {
			d.Log.Warn("an application that is not known any more may find what is left of it", "error", err)
		}
	}
	d.deletion.remove(true, doomed...)
	if err := d.restoreServices(s); err != nil {
		d.Log.Error("the shuffle cannot take up a job of an earlier life", "error", err)
	}
	d.logs.restore(s.Parts[logsPart], s.Parts[ownersPart])
	d.Log.Info("taking up an earlier life", "applications", len(r.Applications), "containers", len(r.Containers), "resources", len(r.Resources))
	d.loop.Post(r)
	return d.loop.Sync(context.Background()) // what was recovered shows in the views now
}

// recovered is the engine's past, and the containers in it. A container that cannot be read is dropped.
func (d *Daemon) recovered(s *state.Snapshot) (r engine.Recover, known map[yarn.ContainerID]bool) {
	r = engine.Recover{Applications: s.Applications, Resources: s.Resources, Ended: s.Ended}
	known = map[yarn.ContainerID]bool{}
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
	return r, known
}

// killLeftovers ends the containers of an earlier life that are not known any more: nobody would follow them. It returns
// those that have not ended; an error tells that there may be more.
func (d *Daemon) killLeftovers(known map[yarn.ContainerID]bool) (outlived map[yarn.ContainerID]bool, err error) {
	left, err := d.launcher.Leftovers(d.settings.Dirs.Local)
	if err != nil {
		err = fmt.Errorf("cannot look for containers of an earlier life: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.settings.Launch.KillDelay+stopPatience)
	defer cancel()
	outlived = map[yarn.ContainerID]bool{}
	var mu sync.Mutex
	var work sync.WaitGroup
	for _, c := range left {
		if known[c.ID] {
			continue
		}
		d.Log.Warn("a container of an earlier life is killed: there is no record of it (yarn.nodemanager.recovery.enabled)", "container", c.ID)
		work.Go(func() {
			if err := d.launcher.Attach(ctx, c).Kill(ctx); err != nil {
				d.Log.Error("cannot kill a container of an earlier life", "container", c.ID, "error", err)
				mu.Lock()
				outlived[c.ID] = true
				mu.Unlock()
			}
		})
	}
	work.Wait()
	return outlived, err
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
