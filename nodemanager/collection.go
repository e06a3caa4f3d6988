package nodemanager

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/heartbeat"
	"github.com/heddle-project/heddle/nodemanager/logs"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// logsPart is the name under which the times are kept at which logs are to be deleted.
const logsPart = "logs"

// ownersPart is the name of the part that keeps who owns the logs, and who else may read them, until they are deleted.
const ownersPart = "logs.owners"

// maxReports bounds what heartbeats still have to tell about the collection of logs; beyond it the newest are dropped.
const maxReports = 10_000

// collection handles containers' logs: with log aggregation it uploads them, without it deletes them after the configured time.
type collection struct {
	d        *Daemon
	uploader *logs.Uploader // nil: logs are deleted, not collected
	deleter  logs.Deleter
	files    logs.Files
	ctx      context.Context
	stop     context.CancelFunc
	work     sync.WaitGroup

	mu      sync.Mutex
	apps    map[yarn.ApplicationID]*gathering
	ended   map[yarn.ApplicationID]loop.Application // applications whose logs are to be deleted later
	pending []heartbeat.LogReport
}

// gathering is the collection of one application's logs. It is used by one goroutine at a time.
type gathering struct {
	*logs.Application
	end  context.CancelFunc // of its rolling uploads
	idle chan struct{}      // closed when these have ended
}

func newCollection(d *Daemon) (*collection, error) {
	c := &collection{d: d, apps: map[yarn.ApplicationID]*gathering{}, ended: map[yarn.ApplicationID]loop.Application{}}
	c.ctx, c.stop = context.WithCancel(context.Background())
	s := &d.settings.Logs
	readable := func() []string { return d.health.State().Log.Readable() }
	remove := func(paths ...string) { d.deletion.remove(true, paths...) }
	c.files = logs.Files{Dirs: readable}
	c.deleter = logs.Deleter{Retain: s.Retain, Dirs: readable, Remove: remove}
	if !s.Aggregate {
		return c, nil
	}
	layouts, err := aggregated.ReadLayouts(d.site.Get)
	if err != nil {
		return nil, err
	}
	layout, ok := aggregated.Writable(layouts)
	if !ok {
		return nil, fmt.Errorf("yarn.log-aggregation.file-formats = %s: neither Hadoop's TFile nor its indexed file is among them", d.site.Get("yarn.log-aggregation.file-formats"))
	}
	compression, err := aggregated.ParseCompression(s.Compression)
	if err != nil {
		return nil, fmt.Errorf("yarn.nodemanager.log-aggregation.compression-type: %w", err)
	}
	c.uploader, err = logs.New(logs.Config{Node: d.node, User: d.User, Systems: d.systems, Layout: layout, Compression: compression, Group: s.RemoteGroup,
		Policy: s.Policy, Parameters: s.PolicyParams, Roll: s.Roll, Keep: s.FilesPerApp,
		Indexed: logs.Indexed{MaxBytes: s.IndexedMaxBytes, Tries: s.IndexedRetries + 1, Pause: s.IndexedPause}, Cleanup: s.LocalCleanup, Threads: s.Threads,
		Dirs: readable, Remove: remove, Report: c.report, Clock: clock.System(), Log: d.Log.With("logger", "logs")})
	return c, err
}

func (c *collection) report(r logs.Report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) < maxReports {
		c.pending = append(c.pending, heartbeat.LogReport(r))
	}
}

// reports are those since the last call.
func (c *collection) reports() []heartbeat.LogReport {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.pending
	c.pending = nil
	return out
}

// open begins with an application.
func (c *collection) open(x engine.Open) {
	if c.uploader == nil {
		return
	}
	ctx, end := context.WithCancel(c.ctx)
	g := &gathering{Application: c.uploader.Open(logs.App{ID: x.Application, User: x.User, Context: x.LogContext, ACLs: x.ACLs}), end: end, idle: make(chan struct{})}
	c.mu.Lock()
	c.apps[x.Application] = g
	c.mu.Unlock()
	c.work.Go(func() {
		defer close(g.idle)
		if err := g.Prepare(ctx); err != nil && ctx.Err() == nil {
			c.d.Log.Error("the logs of an application cannot be collected as things are", "application", x.Application, "error", err)
		}
		c.roll(ctx, x.Application, g)
	})
}

// roll uploads at intervals what containers that still run have finished writing, if that is asked for.
func (c *collection) roll(ctx context.Context, id yarn.ApplicationID, g *gathering) {
	every := g.Every()
	if every <= 0 {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := g.Upload(ctx, c.containers(id), false); err != nil && ctx.Err() == nil {
			c.d.Log.Warn("cannot collect the logs of a running application", "application", id, "error", err)
		}
	}
}

// containers are an application's, as they are now.
func (c *collection) containers(id yarn.ApplicationID) []logs.Container {
	var out []logs.Container
	for _, v := range c.d.loop.Containers() {
		if v.ID.Attempt.Application == id {
			x := logs.Container{ID: v.ID, Master: v.Spec.Master, Ended: v.Done()}
			if x.Ended {
				x.Exit = v.Exit
			}
			out = append(out, x)
		}
	}
	return out
}

// collect takes care of an ended application's logs.
func (c *collection) collect(x engine.CollectLogs) {
	c.mu.Lock()
	g := c.apps[x.Application]
	delete(c.apps, x.Application)
	c.mu.Unlock()
	c.work.Go(func() {
		if g != nil {
			c.upload(x, g)
		} else {
			c.deleteLater(x)
		}
		if c.ctx.Err() == nil {
			c.d.loop.Post(engine.LogsDone{Application: x.Application})
		}
	})
}

func (c *collection) upload(x engine.CollectLogs, g *gathering) {
	g.end()
	<-g.idle
	var list []logs.Container
	for _, e := range x.Containers {
		list = append(list, logs.Container{ID: e.ID, Master: e.Master, Exit: e.Exit, Ended: true})
	}
	if err := g.Upload(c.ctx, list, true); err != nil && c.ctx.Err() == nil {
		c.d.Log.Error("cannot collect the logs of an application; they stay on this node for a while", "application", x.Application, "error", err)
		c.deleteLater(x)
	}
}

// logOwner says who owns logs that are kept, and who else may read them.
type logOwner struct {
	User string            `json:"user"`
	ACLs map[string]string `json:"acls,omitempty"`
}

// deleteLater has logs deleted when they have been kept long enough, after a restart if need be. Until then they can be read.
func (c *collection) deleteLater(x engine.CollectLogs) {
	at := c.deleter.Deadline(time.Now().UnixMilli())
	owner := logOwner{x.User, x.ACLs}
	text, _ := json.Marshal(owner)
	c.d.keep(state.PutPart{Part: logsPart, Key: x.Application.String(), Value: strconv.AppendInt(nil, at, 10)})
	c.d.keep(state.PutPart{Part: ownersPart, Key: x.Application.String(), Value: text})
	c.show(x.Application, owner)
	c.deleteAt(x.Application, at)
}

// show makes the logs of an ended application readable.
func (c *collection) show(id yarn.ApplicationID, o logOwner) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended[id] = loop.Application{ID: id, User: o.User, State: engine.ApplicationFinished, ACLs: o.ACLs}
}

// application returns an ended application whose logs are still on this node.
func (c *collection) application(id yarn.ApplicationID) (loop.Application, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a, ok := c.ended[id]
	return a, ok
}

// applications returns the ended applications whose logs are still on this node, by id.
func (c *collection) applications() []loop.Application {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.ended), func(a, b loop.Application) int { return a.ID.Compare(b.ID) })
}

func (c *collection) deleteAt(id yarn.ApplicationID, at int64) {
	c.work.Go(func() {
		timer := time.NewTimer(time.Until(time.UnixMilli(at)))
		defer timer.Stop()
		select {
		case <-timer.C:
			c.mu.Lock()
			delete(c.ended, id)
			c.mu.Unlock()
			c.deleter.Delete(id)
			c.d.keep(state.DropPart{Part: ownersPart, Key: id.String()})
			c.d.keep(state.DropPart{Part: logsPart, Key: id.String()})
		case <-c.ctx.Done():
		}
	})
}

// restore takes up the deletions that were due when the NodeManager last stopped. Logs whose owner is not known cannot be read by anybody.
func (c *collection) restore(kept, owners map[string][]byte) {
	for key, value := range kept {
		id, err := yarn.ParseApplicationID(key)
		at, bad := strconv.ParseInt(string(value), 10, 64)
		if err != nil || bad != nil {
			c.d.Log.Error("a record of the recovery store cannot be used", "record", logsPart+" "+key, "reason", "it is no application and time")
			continue
		}
		var owner logOwner
		if text, ok := owners[key]; ok && json.Unmarshal(text, &owner) == nil && owner.User != "" {
			c.show(id, owner)
		}
		c.deleteAt(id, at)
	}
}

// close ends log aggregation; what has not been uploaded is uploaded after a restart with recovery.
func (c *collection) close() {
	c.stop()
	c.work.Wait()
}
