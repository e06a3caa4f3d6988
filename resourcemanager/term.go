package resourcemanager

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/surge"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/launch"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/rpc/master"
	"github.com/heddle-project/heddle/resourcemanager/rpc/tracker"
	"github.com/heddle-project/heddle/resourcemanager/setup"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// term is one leadership: what is there while this process is the active ResourceManager. It begins with what the store has and ends
// with the store closed; nothing else is handed from one term to the next. It uses what the process has, is called by the ports, and
// calls nobody but lost.
type term struct {
	*process
	checks  bool  // it only reads the queues, and logs nothing that is found about them
	stamp   int64 // milliseconds since 1970: when it began; tells it from the others of the process
	started int64 // likewise: the cluster timestamp of its applications, which no other term has; later than the stamp if the clock was set back
	lost    func(error)

	store      store.Store
	replicated *raft.Store     // of store, where the ResourceManagers keep it together; else nil
	snapshot   *state.Snapshot // what earlier terms have stored; nil once it is recovered
	stream     *store.Stream   // brings the applications that are not in the snapshot; nil: there are none
	epoch      int64           // how often the store has been used
	recovering bool            // earlier terms left applications

	storedGroups sync.Map // by user of a stored application, as resolved at this start; empty once all applications are recovered
	setAside     []access.SetAside
	aside        int // how many records could not be used; setAside has the first ones

	loop     *loop.Loop
	box      *blackbox.Recorder // nil: nothing is kept
	outside  *outside
	access   queueRights
	shares   shares
	grants   *grants
	contexts *contexts
	masters  *master.Server
	trackers *tracker.Server

	allocations allocations
	maxPriority atomic.Int32 // of applications, as refreshed last
	queueFile   queueFileWatch
	queues      queueConf

	past past

	delegation delegation
	recording  sync.Mutex // is held while files of recordings are made or ended
	dumps      chan schedulerDump
	dumping    atomic.Bool // a file of the scheduler's decisions is being written, or about to be

	over    atomic.Bool // it is being ended: what fails now was to be expected
	work    sync.WaitGroup
	running context.Context    // of work
	end     context.CancelFunc // of the same
}

// beginTerm opens the store, and starts engine, loop and timers on what it holds. lost is told why the term cannot go on, on one
// of its goroutines, which must not wait for its end. On an error, which the end of ctx is too, nothing of the term is left.
func beginTerm(ctx context.Context, p *process, site *conf.Properties, stamp int64, lost func(error)) (begun *term, err error) {
	running, end := context.WithCancel(context.Background())
	t := &term{process: p, stamp: stamp, started: stamp, lost: lost, contexts: newContexts(), running: running, end: end, shares: newShares(), dumps: make(chan schedulerDump, 1)}
	t.access.rights = p.rights
	loaded := surge.Loading()
	defer func() {
		if err != nil {
			loaded()
			t.stop()
		}
	}()
	if err = t.makeKeys(); err != nil {
		return nil, err
	}
	if err = t.openStore(ctx); err != nil {
		return nil, err
	}
	if err = t.openQueueConf(ctx); err != nil {
		return nil, err
	}
	eng, err := t.buildEngine(site)
	if err != nil {
		return nil, err
	}
	t.buildLoop(eng)
	t.work.Go(func() { t.loop.Run(running, runtime.GOMAXPROCS(0)) })
	if err = t.recover(ctx); err != nil {
		return nil, err
	}
	t.showExcluded()
	t.saveKeys()
	t.work.Go(func() { t.rollKeys(running) })
	t.work.Go(func() { t.tendDelegation(running) })
	t.work.Go(func() { t.writeDumps(running) })
	t.tendQueues(running)
	if t.queues.store != nil {
		t.work.Go(func() { t.tendTrial(running) })
	}
	if t.settings.HA.Enabled && keeps(&t.settings.Recovery) {
		t.work.Go(func() { t.watchOwner(running, t.settings.ZooKeeper.Session) })
	}
	t.work.Go(func() { t.logDrains(running, t.settings.Nodes.DrainStatus) })
	t.work.Go(func() { t.sample(running) })
	if !t.recovering {
		loaded()
		return t, nil
	}
	t.work.Go(func() {
		defer loaded()
		_, _ = t.loop.Views(running, view.Counts) // once they are there, what was stored is recovered
	})
	return t, nil
}

// stop ends the term: launches first, then the loop, which refuses whatever still waits with loop.ErrClosed, then the store.
func (t *term) stop() {
	t.over.Store(true)
	if t.stream != nil {
		t.stream.Stop() // or what waits for the end of a store that is still being read waits forever
	}
	if t.outside != nil {
		t.outside.launcher.Close()
		t.outside.events.Close()
	}
	t.end()
	if t.loop != nil {
		t.loop.Wait()
		close(t.outside.lines)
	}
	t.work.Wait()
	if t.store != nil {
		if err := t.store.Close(); err != nil {
			t.Log.Warn("cannot close the state store", "error", err)
		}
	}
	if t.queues.store != nil {
		if err := t.queues.store.Close(); err != nil {
			t.Log.Warn("cannot close the store of the queues' configuration", "error", err)
		}
	}
}

// fail tells that the term cannot go on.
func (t *term) fail(why error) {
	if !t.over.Load() {
		t.lost(why)
	}
}

// buildEngine builds the engine and the scheduler of a configuration. What the settings say was read when the process started.
func (t *term) buildEngine(site *conf.Properties) (*engine.Engine, error) {
	cfg, err := t.readSchedule(site, yarn.Resource{}, false)
	if err != nil {
		return nil, err
	}
	t.maxPriority.Store(cfg.Cluster.MaxPriority)
	sched, err := scheduler.New(cfg)
	if err != nil {
		return nil, err
	}
	set, err := setup.Settings(t.settings, cfg, time.UnixMilli(t.started), t.epoch)
	if err != nil {
		return nil, err
	}
	if w := t.settings.Web.Address; w.Port != 0 {
		set.Pages = "http://" + conf.Address{Host: publicHost(w.Host), Port: w.Port}.String()
	}
	logs := conf.NewReader(t.site)
	set.LogAggregation = logs.Bool("yarn.log-aggregation-enable", false)
	set.LogPatience = logs.Int64("yarn.log-aggregation-status.time-out.ms", 600_000, conf.NotBelow(0))
	if err := logs.Err(); err != nil {
		return nil, err
	}
	t.access.schedule.Store(cfg)
	return engine.New(set, sched), t.openBlackBox(blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)})
}

// launchRetry is how long a node that does not answer is tried at a launch.
const launchRetry = 3 * time.Minute

func (t *term) buildLoop(eng *engine.Engine) {
	t.outside = newOutside(t.Log, events.New(t.started))
	t.outside.grants, t.outside.contexts, t.outside.summary, t.outside.nodeChanged = t.grants, t.contexts, t.logSummary, t.shares.soon
	t.loop = loop.New(loop.Config{Engine: eng, Clock: clock.System(), Outside: t.outside, Store: t.contexts.completing(t.store),
		Complete: t.contexts.complete, BlackBox: t.box, Log: t.Log, Lost: func(why *loop.Loss) { t.fail(why) }, Leads: t.leads})
	t.startDelegation()
	t.outside.launcher = launch.New(launch.Config{
		Workers: t.settings.Applications.LaunchHandlers, Retry: launchRetry, Context: t.contexts.Get,
		ContainerToken: t.launchedContainer, NodeToken: t.grants.launchToken, LoginToken: t.grants.amrm.Issue,
		Post: t.loop.Post, Leads: t.leads, Log: t.Log.With("logger", "launch"),
	})
	t.masters = master.New(master.Config{Loop: t.loop, Types: t.types, Grants: t.grants, Audit: t.Options.Audit, VCoresToo: t.access.schedule.Load().Dominant})
	nodes := &t.settings.Nodes
	t.trackers = tracker.New(tracker.Config{Loop: t.loop, Types: t.types, ContainerKeys: t.grants.containers, NodeKeys: t.grants.nodes, ContainerToken: t.grants.ContainerToken,
		ClusterTimestamp: t.started, HeartbeatMillis: nodes.Heartbeat.Milliseconds(), MinimumVersion: nodes.MinimumVersion,
		Rack: t.rackOf, Excluded: t.excluded, Untracked: t.untracked, Size: t.sizeOf})
	t.outside.masters, t.outside.trackers = t.masters, t.trackers
	t.work.Go(t.outside.write)
}

// launchedContainer is the token for a master's container.
func (t *term) launchedContainer(x engine.Grant) token.Token {
	if t.Options.Audit.ByContainer() {
		t.Options.Audit.Write(audit.OfContainer(x.User, x.ID))
	}
	return t.grants.ContainerToken(x)
}

// What the ports have a term serve.

func (t *term) adminProtocol(view.Places) ipc.Protocol {
	return admin.Protocol(admin.Config{Loop: t.loop, Types: t.types, Daemon: t})
}

func (t *term) clientProtocol(places view.Places) ipc.Protocol {
	return client.Protocol(t.clientConfig(places))
}

func (t *term) clientConfig(places view.Places) client.Config {
	a := &t.settings.Applications
	return client.Config{Loop: t.loop, Types: t.types, Access: &t.access, Contexts: t.contexts, Delegation: &t.delegation,
		LoginToken: t.grants.amrm.Issue, Audit: t.Options.Audit, MaxTags: a.MaxTags, MaxTagLength: a.MaxTagLength, Places: places}
}

func (t *term) masterProtocol(view.Places) ipc.Protocol { return t.masters.Protocol }

func (t *term) trackerProtocol(view.Places) ipc.Protocol { return t.trackers.Protocol }

// rackOf is asked when a node registers, which is also when its address is looked up.
func (t *term) rackOf(host string) string {
	t.grants.addresses.resolve(host)
	return t.racks.Rack(context.Background(), host)
}
