package resourcemanager

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/internal/rack"
	"github.com/heddle-project/heddle/internal/surge"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/launch"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc/master"
	"github.com/heddle-project/heddle/resourcemanager/rpc/tracker"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/store/labelfiles"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// stopPatience bounds how long open connections may delay the end.
const stopPatience = 5 * time.Second

// Options say where a daemon's configuration is.
type Options struct {
	Load func() (*conf.Properties, error) // the site files, read anew at every refresh
	Dir  string                           // where capacity-scheduler.xml and resource-types.xml lie
	User string                           // whom the daemon runs as
	Log  *slog.Logger

	Recordings string // directory for files of the black box; empty: none is written

	Audit *audit.Log // nil writes no audit lines
}

// Daemon is a running ResourceManager.
type Daemon struct {
	Options
	settings *conf.ResourceManager
	site     *conf.Properties
	types    yarn.ResourceTypes
	started  int64
	epoch    int64           // how often the store has been used
	snapshot *state.Snapshot // what an earlier life stored; nil once it is recovered

	recovering bool // an earlier life left applications

	loop *loop.Loop
	box  *blackbox.Recorder // nil: nothing is kept

	recording sync.Mutex // is held while files of recordings are made or ended

	outside  *outside
	grants   *grants
	contexts *contexts
	rights   *rights
	racks    *rack.Resolver
	lists    atomic.Pointer[hosts.Lists]
	store    store.Store
	masters  *master.Server
	trackers *tracker.Server

	delegation delegation

	servers []*ipc.Server
	backlog *ipc.Backlog // of all servers
	pages   *webgate.Server
	webAddr string
	own     ownPorts
	fatal   chan error
	work    sync.WaitGroup
	end     context.CancelFunc

	stopOnce sync.Once
}

// Start reads the configuration and starts everything. On an error nothing is
// left running.
func Start(o Options) (started *Daemon, err error) {
	d := &Daemon{Options: o, contexts: newContexts(), fatal: make(chan error, 8), started: time.Now().UnixMilli()}
	ctx, cancel := context.WithCancel(context.Background())
	d.end = cancel
	defer func() {
		if err != nil {
			d.Stop()
		}
	}()
	site, err := o.Load()
	if err != nil {
		return nil, err
	}
	d.site = site
	if d.settings, err = d.readSettings(site); err != nil {
		return nil, err
	}
	if err = d.prepare(site); err != nil {
		return nil, err
	}
	eng, err := d.buildEngine(site)
	if err != nil {
		return nil, err
	}
	d.buildLoop(eng)
	d.work.Go(func() { d.loop.Run(ctx, runtime.GOMAXPROCS(0)) })
	d.recover()
	d.saveKeys()
	d.backlog = ipc.NewBacklog(0, 0, d.Log.With("logger", "ipc"))
	d.work.Go(func() { surge.Watch(ctx, d.backlog.Size) })
	d.work.Go(func() { d.rollKeys(ctx) })
	d.work.Go(func() { d.tendDelegation(ctx) })
	d.tendQueues(ctx)
	if err = d.listen(); err != nil {
		return nil, err
	}
	return d, nil
}

// readSettings reads the settings and refuses what is configured but not built.
func (d *Daemon) readSettings(site *conf.Properties) (*conf.ResourceManager, error) {
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return nil, err
	}
	found := conf.UnsupportedByResourceManager(site)
	if err := found.Report(d.Dir, func(line string) { d.Log.Warn(line) }, func(line string) { d.Log.Info(line) }); err != nil {
		return nil, err
	}
	return rm, nil
}

// prepare builds what the edge needs: groups, racks, lists, keys, the store.
func (d *Daemon) prepare(site *conf.Properties) (err error) {
	rm := d.settings
	cluster, err := d.readCluster(site)
	if err != nil {
		return err
	}
	if d.types = cluster.Types; d.types == nil {
		d.types = yarn.BasicResourceTypes()
	}
	sec := &rm.Security
	found, err := groups.New(groups.Options{Mapping: sec.GroupMapping, Static: sec.StaticGroups, Timeout: sec.GroupTimeout,
		CacheFor: sec.GroupCache, NegativeFor: sec.GroupNegativeCache, Log: d.Log})
	if err != nil {
		return err
	}
	d.rights = &rights{groups: found, log: d.Log}
	d.rights.rules.Store(newRules(rm, d.User))
	top := &rm.Topology
	if d.racks, err = rack.New(rack.Options{Mapping: top.Mapping, Script: top.Script, ScriptArgs: top.ScriptMaxArgs, Table: top.Table, Log: d.Log}); err != nil {
		return err
	}
	if err = d.readLists(site, true); err != nil {
		return err
	}
	if err = d.makeKeys(); err != nil {
		return err
	}
	return d.openStore()
}

// openStore opens what keeps something, and loads what an earlier life has left.
func (d *Daemon) openStore() (err error) {
	r := &d.settings.Recovery
	kept := r.Enabled && r.Store == "bolt" // memory and null keep nothing either
	d.openDelegation(nil)
	if kept {
		if d.store, err = bolt.Open(r.Path, bolt.Options{Options: store.Options{Types: d.types}, Warn: d.storeIsOdd}); err != nil {
			return fmt.Errorf("cannot open the state store (yarn.resourcemanager.heddle.state-store.path): %w", err)
		}
		d.Log.Info("applications are kept for a restart", "stateStore", r.Path)
		d.warnOfTemporary("the state store", r.Path, "every application would be lost with it",
			"set yarn.resourcemanager.heddle.state-store.path to a file on a disk that stays, and while the ResourceManager is down move the file and its .witness there")
	} else {
		d.Log.Info("no application is kept for a restart: yarn.resourcemanager.recovery.enabled is not set")
	}
	if d.settings.Labels.Enabled {
		labels, err := d.openLabels()
		if err != nil {
			return fmt.Errorf("cannot keep node labels (yarn.node-labels.fs-store.root-dir): %w", err)
		}
		d.store = labels
	}
	if d.store == nil {
		return nil
	}
	snapshot, err := d.store.Load(context.Background())
	if err != nil {
		return fmt.Errorf("cannot load what an earlier ResourceManager has stored: %w", err)
	}
	d.snapshot = snapshot
	if !kept {
		return nil
	}
	d.epoch = snapshot.Epoch
	d.openDelegation(snapshot)
	for _, q := range snapshot.Quarantined {
		d.Log.Error("a record of the state store cannot be used", "record", q.Key, "reason", q.Reason)
	}
	d.recovering = len(snapshot.Applications) > 0
	d.grants.amrm.Restore(snapshot.MasterKeys, time.Now())
	return nil
}

// warnOfTemporary says that what must outlive this machine's restart lies where it may not.
func (d *Daemon) warnOfTemporary(what, path, loss, advice string) {
	if dir := filesystem.Temporary(path); dir != "" {
		d.Log.Warn(what+" lies below a directory of temporary files, which systems empty when they start and clean up while they run: "+loss+"; "+advice,
			"path", path, "temporary", dir)
	}
}

// storeIsOdd logs what is odd about the state store, and no damage.
func (d *Daemon) storeIsOdd(text string) {
	d.Log.Warn("the state store is used, but odd", "what", text)
}

// openLabels puts the directory of node labels over the state store, if there is one.
func (d *Daemon) openLabels() (store.Store, error) {
	o, err := d.labelOptions()
	if err != nil {
		return nil, err
	}
	if u := o.Systems.Resolve(o.URL); strings.EqualFold(u.Scheme, "file") {
		d.warnOfTemporary("the directory of node labels", u.Path, "all labels of the cluster would be lost with it",
			"set yarn.node-labels.fs-store.root-dir to a directory on a disk that stays, or on hdfs://, and while the ResourceManager is down move the files there")
	}
	o.Over = d.store
	return labelfiles.Open(context.Background(), o)
}

// labelOptions say where labels are kept.
func (d *Daemon) labelOptions() (labelfiles.Options, error) {
	l := &d.settings.Labels
	text := l.Directory
	if text == "" {
		text = "file:///tmp/hadoop-yarn-" + d.User + "/node-labels"
	}
	url, err := filesystem.ParseURL(text)
	if err != nil {
		return labelfiles.Options{}, err
	}
	systems, err := filesystem.New(filesystem.Config{Default: d.site.Get("fs.defaultFS"), Property: d.site.Get, Site: d.site.HDFSSite()})
	if err != nil {
		return labelfiles.Options{}, err
	}
	return labelfiles.Options{Systems: systems, URL: url, User: d.User, Nodes: !l.ByNodes, NoLog: l.NoLog,
		Limits: labelfiles.Limits{Labels: engine.MaxLabels, Nodes: engine.MaxLabelledNodes}, Log: d.Log}, nil
}

func (d *Daemon) buildEngine(site *conf.Properties) (*engine.Engine, error) {
	cfg, err := d.readSchedule(site, yarn.Resource{})
	if err != nil {
		return nil, err
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		return nil, err
	}
	set, err := setup.Settings(d.settings, cfg, time.UnixMilli(d.started), d.epoch)
	if err != nil {
		return nil, err
	}
	if w := d.settings.Web.Address; w.Port != 0 {
		set.Pages = "http://" + conf.Address{Host: publicHost(w.Host), Port: w.Port}.String()
	}
	logs := conf.NewReader(site)
	set.LogAggregation = logs.Bool("yarn.log-aggregation-enable", false)
	set.LogPatience = logs.Int64("yarn.log-aggregation-status.time-out.ms", 600_000, conf.NotBelow(0))
	if err := logs.Err(); err != nil {
		return nil, err
	}
	d.rights.schedule.Store(cfg)
	return engine.New(set, sched), d.openBlackBox(blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)})
}

func (d *Daemon) buildLoop(eng *engine.Engine) {
	d.outside = newOutside(d.Log)
	d.outside.grants, d.outside.contexts, d.outside.summary = d.grants, d.contexts, d.logSummary
	d.loop = loop.New(loop.Config{Engine: eng, Clock: clock.System(), Outside: d.outside, Store: d.store,
		Complete: d.contexts.complete, BlackBox: d.box, Log: d.Log, Lost: func(why *loop.Loss) { d.fail(why) }})
	d.delegation.loop = d.loop
	if keys := d.delegation.keeper.Start(); len(keys) > 0 {
		d.delegation.store(keys, func(err error) {
			if err != nil {
				d.fail(fmt.Errorf("cannot store the key of delegation tokens: %w", err))
			}
		})
	}
	d.outside.launcher = launch.New(launch.Config{
		Workers: d.settings.Applications.LaunchHandlers, Retry: launchRetry, Context: d.contexts.get,
		ContainerToken: d.grants.ContainerToken, NodeToken: d.grants.launchToken, LoginToken: d.grants.amrm.Issue,
		Post: d.loop.Post, Log: d.Log.With("logger", "launch"),
	})
	d.masters = master.New(master.Config{Loop: d.loop, Types: d.types, Grants: d.grants, Audit: d.Options.Audit, VCoresToo: d.rights.schedule.Load().Dominant})
	nodes := &d.settings.Nodes
	d.trackers = tracker.New(tracker.Config{Loop: d.loop, Types: d.types, ContainerKeys: d.grants.containers, NodeKeys: d.grants.nodes,
		ClusterTimestamp: d.started, HeartbeatMillis: nodes.Heartbeat.Milliseconds(), MinimumVersion: nodes.MinimumVersion,
		Rack: d.rackOf, Excluded: d.excluded})
	d.outside.masters, d.outside.trackers = d.masters, d.trackers
	d.work.Go(d.outside.write)
}

// launchRetry is how long a node that does not answer is tried at a launch.
const launchRetry = 3 * time.Minute

// fail asks for the end of the process.
func (d *Daemon) fail(err error) {
	select {
	case d.fatal <- err:
	default:
	}
}

// Wait returns when ctx ends, or with what made the daemon unable to go on.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.fatal:
		return err
	}
}

// Stop closes the ports, then the loop, then the store. It may be called again.
func (d *Daemon) Stop() { d.stopOnce.Do(d.stop) }

func (d *Daemon) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	for _, s := range d.servers {
		if err := s.Close(ctx); err != nil {
			d.Log.Warn("a port did not close in time", "error", err)
		}
	}
	if d.pages != nil {
		if err := d.pages.Stop(ctx); err != nil {
			d.Log.Warn("the web port did not close in time", "error", err)
		}
	}
	if d.outside != nil && d.outside.launcher != nil {
		d.outside.launcher.Close()
	}
	d.end()
	if d.loop != nil {
		d.loop.Wait()
	}
	if d.outside != nil {
		close(d.outside.lines)
	}
	d.work.Wait()
	if d.racks != nil {
		d.racks.Close()
	}
	if d.store != nil {
		if err := d.store.Close(); err != nil {
			d.Log.Warn("cannot close the state store", "error", err)
		}
	}
}
