// Package nodemanager is the NodeManager daemon: it connects its parts, carries the engine's effects out, and starts and stops
// everything in order. Decisions are made in package engine; each part is described in its own package.
package nodemanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/nodemanager/cgroup"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/health"
	"github.com/heddle-project/heddle/nodemanager/heartbeat"
	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/nodemanager/localize/java"
	"github.com/heddle-project/heddle/nodemanager/loop"
	"github.com/heddle-project/heddle/nodemanager/run"
	"github.com/heddle-project/heddle/nodemanager/secrets"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/nodemanager/store"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// stopPatience bounds how long open connections may delay the end, and how long containers are waited for beyond the time
// that their kill takes.
const stopPatience = 5 * time.Second

// stopPause is how often Stop checks whether all containers have ended.
const stopPause = 20 * time.Millisecond

// Options say where a daemon's configuration is.
type Options struct {
	Load    func() (*conf.Properties, error)
	Dir     string   // of the configuration, for Hadoop's programs; "": what HADOOP_CONF_DIR says, if anything
	User    string   // whom the daemon runs as
	Environ []string // the daemon's environment, from which containers get what yarn.nodemanager.env-whitelist names
	Log     *slog.Logger
	LogDir  string     // where the daemon's own logs are; "": they are not shown
	Audit   *audit.Log // nil writes no audit lines
}

// Daemon is a running NodeManager.
type Daemon struct {
	Options
	site     *conf.Properties
	settings *conf.NodeManager
	started  int64
	total    atomic.Pointer[yarn.Resource]
	machine  conf.Machine
	node     yarn.NodeID

	localizers *net.TCPAddr // the localizer port

	store     *store.Store
	snapshot  *state.Snapshot // what an earlier life kept
	loop      *loop.Loop
	keys      *secrets.Keys
	services  services
	access    access
	counters  counters
	launcher  *run.Launcher
	groups    *cgroup.Tree // nil: the kernel limits nothing
	processes *processes

	systems  *filesystem.Systems
	fetcher  *localize.Fetcher
	java     *java.Fetcher
	deletion *deletion
	logs     *collection
	monitor  *monitor
	health   *health.Checker
	reporter *heartbeat.Reporter
	rpc      *ipc.Client
	ports    ports

	mu       sync.Mutex
	fetching map[int64]context.CancelFunc

	fatal    chan error
	work     sync.WaitGroup
	end      context.CancelFunc     // ends the loop
	quit     context.CancelFunc     // ends what reports and measures
	accepted atomic.Bool            // the ResourceManager has registered the node
	final    atomic.Bool            // the ResourceManager wants no more of this node
	lost     atomic.Bool            // the recovery store
	away     atomic.Pointer[string] // why the recovery store keeps nothing; nil: it does
	stopOnce sync.Once
}

// Start reads the configuration and starts everything. On an error nothing is left running.
func Start(o Options) (started *Daemon, err error) {
	d := &Daemon{Options: o, started: time.Now().UnixMilli(), fatal: make(chan error, 8), fetching: map[int64]context.CancelFunc{}}
	loopContext, end := context.WithCancel(context.Background())
	workContext, quit := context.WithCancel(context.Background())
	d.end, d.quit = end, quit
	defer func() {
		if err != nil {
			d.Stop()
		}
	}()
	if err = d.readSettings(); err != nil {
		return nil, err
	}
	if err = d.prepare(); err != nil {
		return nil, err
	}
	if err = d.listen(); err != nil {
		return nil, err
	}
	d.work.Go(func() { d.loop.Run(loopContext) })
	if err = d.begin(workContext); err != nil {
		return nil, err
	}
	return d, nil
}

// readSettings reads the settings and refuses what is configured but not built.
func (d *Daemon) readSettings() (err error) {
	if d.site, err = d.Load(); err != nil {
		return err
	}
	if d.settings, err = conf.ReadNodeManager(d.site); err != nil {
		return err
	}
	found := conf.UnsupportedByNodeManager(d.site)
	if err := found.Report(d.Dir, func(line string) { d.Log.Warn(line) }, func(line string) { d.Log.Info(line) }); err != nil {
		return err
	}
	if d.machine, err = machine(); err != nil {
		return err
	}
	total, err := d.settings.Resources.Total(d.machine)
	if err != nil {
		return err
	}
	d.total.Store(&total)
	return nil
}

// prepare builds every part. None of them does anything yet.
func (d *Daemon) prepare() error {
	s := d.settings
	d.deletion = newDeletion(s.Launch.DeleteThreads, s.Launch.DeleteDelay, d.Log)
	if err := d.openGroups(); err != nil {
		return err
	}
	if err := d.openStore(); err != nil {
		return err
	}
	d.processes = newProcesses(d)
	d.monitor = newMonitor(d)
	cfg := loop.Config{Clock: clock.System(), Do: d.carry, Log: d.Log, Fatal: d.loseStore, Away: d.storeAway, Ended: d.auditEnd, Engine: engine.New(engine.Settings{
		CacheTarget: s.Localizer.CacheTarget, CacheInterval: s.Localizer.Cleanup.Milliseconds(), MaxDiagnostics: s.Launch.DiagnosticsMax,
		TrackStopped: s.Tracker.StoppedFor.Milliseconds(), MinRetryInterval: s.Launch.RetryInterval.Milliseconds(),
		FirstPlace: localize.FirstNumber, Placed: func(n int64) string { return localize.Place(n, s.Localizer.MaxFilesPerDir) }, Zone: time.Local,
		Total: *d.total.Load(), Queue: engine.QueueSettings{ByResources: s.Queue.ByResources, MaxLength: s.Queue.MaxLength, Pause: s.Queue.Pause}})}
	if d.store != nil {
		cfg.Store = d.store
	}
	d.loop = loop.New(cfg)
	d.keys = secrets.New(s.Resources.Types, d.keep)
	if d.snapshot != nil {
		for _, err := range d.keys.Restore(d.snapshot.Parts[secrets.Part]) {
			d.Log.Error("a record of the recovery store cannot be used", "error", err)
		}
	}
	d.prepareHealth()
	if err := d.prepareAccess(); err != nil {
		return err
	}
	if err := d.prepareLocalizer(); err != nil {
		return err
	}
	return d.prepareServices()
}

// keep has a record of a part made durable before whatever is commanded after it.
func (d *Daemon) keep(op state.Op) { d.loop.Post(engine.Keep{Op: op}) }

// openStore opens the store if anything is to be kept.
func (d *Daemon) openStore() (err error) {
	r := &d.settings.Recovery
	if !r.Enabled {
		d.Log.Info("nothing is kept for a restart: yarn.nodemanager.recovery.enabled is not set")
		return nil
	}
	d.Log.Info("containers are kept for a restart", "recoveryDirectory", r.Dir)
	if dir := filesystem.Temporary(r.Dir); dir != "" {
		d.Log.Warn("the recovery directory lies below a directory of temporary files, which systems empty when they start and clean up while they run: "+
			"a restarted NodeManager would not know its containers; set yarn.nodemanager.recovery.dir to a directory on a disk that stays, "+
			"and move the files there while the NodeManager is down", "path", r.Dir, "temporary", dir)
	}
	if d.store, err = store.Open(r.Dir); err != nil {
		return err
	}
	d.store.Restored = func() {
		d.Log.Warn("the recovery store was deleted and has been written anew: leave it alone while the NodeManager runs", "directory", r.Dir)
	}
	for _, text := range d.store.Odd() {
		d.Log.Warn("the recovery store is used, but odd", "what", text)
	}
	if d.snapshot, err = d.store.Load(); err != nil {
		return fmt.Errorf("cannot load the recovery store in %s (yarn.nodemanager.recovery.dir): %w", r.Dir, err)
	}
	for _, x := range d.snapshot.Damaged {
		d.Log.Error("a record of the recovery store cannot be used", "record", x.Key, "reason", x.Reason)
	}
	return nil
}

// begin sets everything to work, once the ports are bound.
func (d *Daemon) begin(ctx context.Context) error {
	s := d.settings
	d.launcher = run.New(d.launching())
	var err error
	if d.logs, err = newCollection(d); err != nil {
		return err
	}
	d.health.Start()
	label, err := d.prepareLabel(ctx)
	if err != nil {
		return err
	}
	if err := d.prepareReporter(label); err != nil { // what is resumed may end at once, which asks for a heartbeat
		return err
	}
	if err := d.resume(); err != nil {
		return err
	}
	if err := d.preparePages(); err != nil {
		return err
	}
	d.ports.serve(d)
	d.work.Go(func() { d.monitor.run(ctx) })
	d.work.Go(func() {
		err := d.reporter.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		d.final.Store(errors.Is(err, heartbeat.ErrShutdown))
		if d.final.Load() && d.accepted.Load() {
			d.Log.Warn("the node goes down", "why", err) // as it was told to: no failure
			err = nil
		}
		d.fail(err)
	})
	d.Log.Info("the node offers", "node", d.node, "resource", s.Resources.Types.Format(*d.total.Load()), "local", strings.Join(s.Dirs.Local, ","), "logs", strings.Join(s.Dirs.Log, ","))
	return nil
}

// defaultUmask is that of the files that are written for containers (fs.permissions.umask-mode, whose default this is).
const defaultUmask = 0o022

func (d *Daemon) launching() run.Config {
	l := &d.settings.Launch
	c := run.Config{Host: d.node.Host, Port: int(d.node.Port), HTTPPort: d.ports.webPort(), Environ: d.Environ, Whitelist: l.EnvWhitelist,
		ForcePath: l.ForcePath, Home: l.HomeDir, Debug: l.DebugInfo, Umask: defaultUmask, LogDirMode: modeOf(d.settings.Dirs.LogMode), Nice: l.Nice,
		KillDelay: l.KillDelay, PIDWait: l.PIDWait, ExitFileWait: l.ExitFileWait, StderrPattern: l.StderrPattern, StderrTail: l.StderrTail, Log: d.Log}
	for _, v := range l.AdminEnv {
		c.AdminEnv = append(c.AdminEnv, run.Variable{Name: v.Name, Value: v.Value})
	}
	return c
}

// fail asks for the end of the process.
func (d *Daemon) fail(err error) {
	select {
	case d.fatal <- err:
	default:
	}
}

// Wait returns when ctx ends, when the ResourceManager has told the node to go down, or with what made the daemon unable to go on.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.fatal:
		return err
	}
}

// Stop ends the daemon. With recovery under supervision the containers live on; otherwise they end too, and the
// ResourceManager learns that the node is gone. It may be called again.
func (d *Daemon) Stop() { d.stopOnce.Do(d.stop) }

func (d *Daemon) stop() {
	d.quit()
	if d.loop != nil && d.reporter != nil && d.leaves() {
		d.killAll()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	d.ports.close(ctx, d.Log)
	if d.health != nil {
		d.health.Close()
	}
	if d.processes != nil {
		d.processes.close()
	}
	if d.fetcher != nil {
		d.fetcher.Close()
		d.java.Close()
	}
	if d.logs != nil {
		d.logs.close()
	}
	if d.deletion != nil {
		d.deletion.close()
	}
	d.end()
	d.work.Wait()
	if d.rpc != nil {
		_ = d.rpc.Close()
	}
	if d.groups != nil {
		_ = d.groups.Close()
	}
	if d.store != nil {
		if err := d.store.Close(); err != nil {
			d.Log.Warn("cannot close the recovery store", "error", err)
		}
	}
}

// leaves tells whether stopping the daemon ends the containers too.
func (d *Daemon) leaves() bool {
	r := &d.settings.Recovery
	return !d.lost.Load() && (d.final.Load() || !r.Enabled || !r.Supervised)
}

// loseStore ends the daemon when nothing can be kept any more, for want of room or of a disk. The containers live on: the next
// life finds them.
func (d *Daemon) loseStore(err error) {
	d.lost.Store(true)
	d.fail(err)
}

// storeAway hears from the loop why the store keeps no records, and nil once it keeps them again. Meanwhile the node starts
// nothing and reports itself unhealthy.
func (d *Daemon) storeAway(err error) {
	if err == nil {
		d.away.Store(nil)
		d.Log.Warn("the recovery store keeps records again")
		return
	}
	why := err.Error()
	d.away.Store(&why)
	d.Log.Error("the node takes no containers and answers no master until records for recovery can be kept", "error", err)
}

// closed is why the node starts and changes nothing at the moment; "" if it does.
func (d *Daemon) closed() string {
	if why := d.away.Load(); why != nil {
		return *why
	}
	return ""
}

// killAll ends the containers and their applications, whose logs are then uploaded, waits for that, and unregisters the node.
func (d *Daemon) killAll() {
	d.loop.Post(engine.KillAll{Exit: engine.KilledByRM, Why: "Container killed on shutdown of its NodeManager"})
	ctx, cancel := context.WithTimeout(context.Background(), d.settings.Launch.KillDelay+stopPatience)
	defer cancel()
	for d.live() > 0 && ctx.Err() == nil {
		time.Sleep(stopPause)
	}
	var apps []yarn.ApplicationID
	for _, a := range d.loop.Applications() {
		apps = append(apps, a.ID)
	}
	d.loop.Post(engine.Orders{Finish: apps})
	for len(d.loop.Applications()) > 0 && ctx.Err() == nil {
		time.Sleep(stopPause)
	}
	if d.final.Load() {
		return
	}
	if err := d.reporter.Leave(ctx); err != nil {
		d.Log.Warn("cannot say good-bye to the ResourceManager", "error", err)
	}
}

// live is the number of containers that have not ended.
func (d *Daemon) live() (n int) {
	for _, c := range d.loop.Containers() {
		if !c.Done() {
			n++
		}
	}
	return n
}
