package resourcemanager

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/surge"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// stopPatience bounds how long open connections may delay a stop.
const stopPatience = 5 * time.Second

// Options say where a daemon's configuration is.
type Options struct {
	Load func() (*conf.Properties, error) // the site files, read anew at every refresh
	Dir  string                           // where capacity-scheduler.xml and resource-types.xml lie
	User string                           // whom the daemon runs as
	Log  *slog.Logger

	Getenv func(string) string // names an installation of Apache Hadoop, whose web interfaces may be served; nil: there is none

	Recordings string // directory for files of the black box; empty: none is written

	Audit *audit.Log // nil writes no audit lines
}

// Daemon is a running ResourceManager: a process with ports, which serve the term that there is. While there is none they answer as a
// standby's do.
type Daemon struct {
	process
	started int64            // milliseconds since 1970
	standby *ipc.RemoteError // the answer to calls while there is no term
	peers   *peers           // nil without high availability
	elector candidate        // none unless the election decides
	role    role             // how it has become what it is
	elected atomic.Bool      // the term there is began because the election was won, and not by force
	waiting chan struct{}    // has a place for each transition that an administrator waits for

	change sync.Mutex           // is held while a term begins or ends
	term   atomic.Pointer[term] // nil: this ResourceManager is a standby
	latest int64                // when the last term began; guarded by change

	servers []port       // as ports lists them
	backlog *ipc.Backlog // of all servers
	pages   []*webgate.Server
	webAddr string
	own     ownPorts

	fatal    chan error
	work     sync.WaitGroup
	ctx      context.Context // ends with the daemon
	end      context.CancelFunc
	stopOnce sync.Once
}

// Start reads the configuration, begins a term and opens the ports; with high availability it begins as a standby. It fails if ctx ends before the ports are open. On an error
// nothing is left running.
func Start(ctx context.Context, o Options) (*Daemon, error) {
	d := newDaemon(o)
	d.work.Go(func() { surge.Headroom(d.ctx) })
	d.work.Go(serve.Warm)
	if err := d.start(ctx); err != nil {
		d.Stop()
		return nil, err
	}
	return d, nil
}

func newDaemon(o Options) *Daemon {
	d := &Daemon{process: process{Options: o, openBolt: bolt.Open, openZooKeeper: zookeeper.Open, lookup: lookUp}, fatal: make(chan error, 8), started: time.Now().UnixMilli(),
		standby: standbyOf(""), waiting: make(chan struct{}, maxTransitions)}
	d.ctx, d.end = context.WithCancel(context.Background())
	d.backlog = ipc.NewBacklog(0, 0, d.Log.With("logger", "ipc"))
	return d
}

func (d *Daemon) start(ctx context.Context) error {
	if err := d.prepare(); err != nil {
		return err
	}
	if d.settings.HA.Enabled {
		d.standby, d.peers = standbyOf(d.settings.HA.ID), newPeers(d.settings.HA, d.User)
		d.leads = d.leadsNow
		if err := d.checkQueues(d.site); err != nil {
			return err // whoever starts it sees it now, not at a failover
		}
	} else if err := d.lead(ctx, false); err != nil {
		return err
	}
	if err := d.openMember(); err != nil {
		return err
	}
	d.work.Go(func() { surge.Watch(d.ctx, d.backlog.Size) })
	if err := d.listen(); err != nil || !d.settings.HA.Enabled {
		return err
	}
	d.change.Lock()
	d.follow()
	d.change.Unlock()
	d.Log.Info("this ResourceManager is a standby", "id", d.settings.HA.ID)
	return d.elect()
}

// errStopped is why a daemon that has been stopped does not lead.
var errStopped = errors.New("the ResourceManager has been stopped")

// checkQueues tells whether a term could begin with the queues of the files. Where a store says what the queues are it checks nothing.
func (d *Daemon) checkQueues(site *conf.Properties) error {
	if d.settings.QueueConf.Store != "file" {
		return nil
	}
	_, err := (&term{process: &d.process, running: d.ctx, checks: true}).readSchedule(site, yarn.Resource{}, false)
	return err
}

// lead makes this ResourceManager the active one: it begins a term, which the ports serve from then on. It fails if ctx ends first. On an
// error it stays a standby. elected tells that the term has a lease, for the election was won.
func (d *Daemon) lead(ctx context.Context, elected bool) error {
	d.change.Lock()
	defer d.change.Unlock()
	if d.ctx.Err() != nil {
		return errStopped
	}
	if d.term.Load() != nil {
		if elected { // it was made active by force before
			d.elected.Store(true)
		}
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)() // Stop does not wait for what it ends
	site := d.site
	if d.settings.HA.Enabled || d.latest > 0 { // it begins with what a refresh would read
		var err error
		if site, err = d.Load(); err != nil {
			return err
		}
	}
	if d.settings.HA.Enabled {
		if err := d.checkQueues(site); err != nil { // before whoever is active loses the store to this one
			return err
		}
	}
	d.elected.Store(elected)
	d.latest = max(time.Now().UnixMilli(), d.latest+1)
	stamp := d.latest
	t, err := beginTerm(ctx, &d.process, site, stamp, func(why error) { d.lost(stamp, why) })
	if err != nil {
		d.follow() // the copy may be used up
		return err
	}
	d.unfollow(nil)
	if err := d.offer(t); err != nil {
		_ = d.offer(nil) // which cannot fail
		t.stop()
		d.follow()
		return err
	}
	d.term.Store(t)
	return nil
}

// stepDown ends the term, if there is one. The ports stay open: clients that wait for an answer or call now are told to look for
// another ResourceManager.
func (d *Daemon) stepDown() {
	d.endTerm(0)
}

// endTerm is stepDown, if the term has the stamp; 0 means any. It tells whether it had.
func (d *Daemon) endTerm(stamp int64) bool {
	d.change.Lock()
	defer d.change.Unlock()
	t := d.term.Load()
	if t == nil || stamp != 0 && t.stamp != stamp {
		return false
	}
	d.term.Store(nil)
	_ = d.offer(nil)
	t.stop()
	d.follow()
	return true
}

// lost decides what it means that the term with the stamp cannot go on; a *loop.Loss tells of the store. With high availability this
// ResourceManager becomes a standby, so that another one can take over. Without, the process ends, and whoever started it sees why.
func (d *Daemon) lost(stamp int64, why error) {
	if d.settings.HA.Enabled {
		d.work.Go(func() { d.giveUp(stamp, why) })
		return
	}
	d.fail(why)
}

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

// Stop closes the ports, then ends the term, then releases what belongs to the process. It may be called again.
func (d *Daemon) Stop() { d.stopOnce.Do(d.stop) }

func (d *Daemon) stop() {
	d.end()
	if t := d.term.Load(); t != nil {
		t.outside.events.Close() // or the web port would wait for those who follow them
	}
	d.closePorts()
	d.stepDown()
	d.unfollow(nil)
	if e := d.elector.Load(); e != nil {
		e.Close()
	}
	d.work.Wait()
	d.closeMember()
	if d.peers != nil {
		d.peers.close()
	}
	if d.racks != nil {
		d.racks.Close()
	}
}
