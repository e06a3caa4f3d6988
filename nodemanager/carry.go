package nodemanager

import (
	"context"

	"github.com/heddle-project/heddle/nodemanager/engine"
)

// carry hands an effect to the part that carries it out. It does not block.
func (d *Daemon) carry(x engine.Effect) {
	switch x := x.(type) {
	case engine.Fetch:
		d.fetch(x)
	case engine.Abandon:
		d.abandon(x.Number)
	case engine.Remove:
		d.deletion.remove(x.Debug, x.Paths...)
	case engine.Swept:
		d.counters.swept(x)
	case engine.Open:
		d.Log.Info("an application begins", "application", x.Application, "user", x.User)
		d.logs.open(x)
	case engine.Clear:
		d.work.Go(func() { d.clear(x) })
	case engine.CollectLogs:
		d.logs.collect(x)
	case engine.Localized:
		d.counters.localized(x.Counters)
	case engine.Launch:
		d.processes.launch(x)
	case engine.Attach:
		d.processes.attach(x)
	case engine.Kill:
		d.processes.kill(x.ID)
	case engine.Pause:
		d.processes.halt(x.ID, true)
	case engine.Resume:
		d.processes.halt(x.ID, false)
	case engine.Resize:
		d.processes.resize(x.Spec)
	case engine.Deliver:
		d.work.Go(func() { d.processes.deliver(x.ID, x.Signal) })
	case engine.Beat:
		d.reporter.Soon()
	}
}

// clear ends an application: its services, its keys, its directories.
func (d *Daemon) clear(x engine.Clear) {
	d.Log.Info("an application ends", "application", x.Application)
	if err := d.services.stop(x.Application); err != nil {
		d.Log.Warn("an auxiliary service cannot end an application", "application", x.Application, "error", err)
	}
	d.keys.Finished(x.Application)
	for _, local := range d.settings.Dirs.Local {
		d.deletion.remove(true, engine.ApplicationDir(local, x.User, x.Application), local+"/nmPrivate/"+x.Application.String())
	}
	d.loop.Post(engine.Cleared{Application: x.Application})
}

// fetch brings a resource into the cache.
func (d *Daemon) fetch(x engine.Fetch) {
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	d.fetching[x.Number] = cancel
	d.mu.Unlock()
	d.localize(ctx, x, func(path string, bytes int64, err error) {
		d.mu.Lock()
		delete(d.fetching, x.Number)
		d.mu.Unlock()
		cancel()
		f := engine.Fetched{Number: x.Number, Path: path, Bytes: bytes}
		if err != nil {
			f.Failure = err.Error()
			d.Log.Warn("cannot localize", "container", x.Container, "directory", x.Dir, "error", err)
			d.suspect(err)
		}
		d.loop.Post(f)
	})
}

func (d *Daemon) abandon(number int64) {
	d.mu.Lock()
	cancel := d.fetching[number]
	d.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}
