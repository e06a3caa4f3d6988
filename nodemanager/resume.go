package nodemanager

import (
	"context"
	"fmt"
	"sync"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"google.golang.org/protobuf/proto"
)

// resume takes up what the last life left: with recovery its containers, applications and cache; without, it kills its
// containers and deletes its directories.
func (d *Daemon) resume() error {
	if d.snapshot == nil {
		if err := d.killLeftovers(); err != nil {
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
	for _, c := range s.Containers {
		spec, err := d.specOf(&c)
		if err != nil {
			d.Log.Error("a container of an earlier life cannot be taken up", "container", c.ID, "error", err)
			continue
		}
		r.Containers = append(r.Containers, engine.Recovered{Kept: c, Spec: spec})
	}
	d.Log.Info("taking up an earlier life", "applications", len(r.Applications), "containers", len(r.Containers), "resources", len(r.Resources))
	done := make(chan struct{})
	d.loop.Post(r)
	d.loop.Ask(func(t engine.Ticket) engine.Command { return engine.Stop{Ticket: t} }, func(error) { close(done) })
	<-done // what was recovered shows in the views now
	return nil
}

// killLeftovers ends the containers of an earlier life, which nobody would follow.
func (d *Daemon) killLeftovers() error {
	left, err := d.launcher.Leftovers(d.settings.Dirs.Local)
	if err != nil {
		return fmt.Errorf("cannot look for containers of an earlier life: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.settings.Launch.KillDelay+stopPatience)
	defer cancel()
	var work sync.WaitGroup
	for _, c := range left {
		d.Log.Warn("a container of an earlier life is killed; with yarn.nodemanager.recovery.enabled it would live on", "container", c.ID)
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
