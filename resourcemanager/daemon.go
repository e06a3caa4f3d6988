package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/internal/groups"
	"github.com/heddle-project/heddle/internal/hosts"
	"github.com/heddle-project/heddle/internal/rack"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/launch"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/rpc/master"
	"github.com/heddle-project/heddle/resourcemanager/rpc/tracker"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/store/bolt"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web"
	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
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
}

// Daemon is a running ResourceManager.
type Daemon struct {
	Options
	settings *conf.ResourceManager
	types    yarn.ResourceTypes
	started  int64
	epoch    int64 // how often the store has been used

	loop     *loop.Loop
	outside  *outside
	grants   *grants
	contexts *contexts
	rights   *rights
	racks    *rack.Resolver
	lists    atomic.Pointer[hosts.Lists]
	store    store.Store
	masters  *master.Server

	servers []*ipc.Server
	pages   *web.Server
	webAddr string
	fatal   chan error
	work    sync.WaitGroup
	end     context.CancelFunc
}

// Start reads the configuration and starts everything. On an error nothing is
// left running.
func Start(o Options) (d *Daemon, err error) {
	d = &Daemon{Options: o, contexts: newContexts(), fatal: make(chan error, 8), started: time.Now().UnixMilli()}
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
	d.work.Go(func() { d.rollKeys(ctx) })
	if err = d.listen(); err != nil {
		return nil, err
	}
	return d, nil
}

// readSettings reads the settings and refuses what is configured but not built.
func (d *Daemon) readSettings(site *conf.Properties) (*conf.ResourceManager, error) {
	for _, w := range site.Warnings() {
		d.Log.Warn(w.Error())
	}
	rm, err := conf.ReadResourceManager(site)
	if err != nil {
		return nil, err
	}
	refused, warned := conf.UnsupportedByResourceManager(site, readElsewhere...)
	for _, f := range warned {
		d.Log.Warn(f.String())
	}
	if len(refused) == 0 {
		return rm, nil
	}
	all := []error{errors.New("cannot start: the configuration asks for what Heddle does not have yet")}
	for _, f := range refused {
		all = append(all, errors.New(f.String()))
	}
	return nil, errors.Join(all...)
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
	d.rights.rules.Store(newRules(site, rm, d.User))
	top := &rm.Topology
	if d.racks, err = rack.New(rack.Options{Mapping: top.Mapping, Script: top.Script, ScriptArgs: top.ScriptMaxArgs, Table: top.Table, Log: d.Log}); err != nil {
		return err
	}
	if err = d.readLists(site); err != nil {
		return err
	}
	if err = d.makeKeys(); err != nil {
		return err
	}
	return d.openStore()
}

// openStore opens the store if anything is to be kept.
func (d *Daemon) openStore() (err error) {
	r := &d.settings.Recovery
	if !r.Enabled {
		d.Log.Info("nothing is kept for a restart: yarn.resourcemanager.recovery.enabled is not set")
		return nil
	}
	if r.Store != "bolt" {
		return nil // memory and null keep nothing either
	}
	d.store, err = bolt.Open(r.Path, bolt.Options{Options: store.Options{Types: d.types}})
	if err != nil {
		return fmt.Errorf("cannot open the state store (yarn.resourcemanager.heddle.state-store.path): %w", err)
	}
	snapshot, err := d.store.Load(context.Background())
	if err != nil {
		return fmt.Errorf("cannot load the state store %s: %w", r.Path, err)
	}
	d.epoch = snapshot.Epoch
	for _, q := range snapshot.Quarantined {
		d.Log.Error("a record of the state store cannot be used", "record", q.Key, "reason", q.Reason)
	}
	if n := len(snapshot.Applications); n > 0 {
		d.Log.Warn("applications are stored but recovery is not built yet: they stay in the store and are not shown", "applications", n, "store", r.Path)
	}
	return nil
}

func (d *Daemon) makeKeys() error {
	t := &d.settings.Tokens
	length := 0
	if t.KeyBits > 8*secrets.DefaultKeyLength {
		length = t.KeyBits / 8
	}
	now := time.Now()
	amrm := secrets.Rolling{Interval: t.AMRMKeyRolling, Delay: secrets.ActivationDelay(d.settings.Applications.MasterExpiry), Length: length}
	nodes := secrets.Rolling{Interval: t.NMKeyRolling, Delay: secrets.ActivationDelay(d.settings.Nodes.Expiry), Length: length}
	containers := secrets.Rolling{Interval: t.ContainerKeyRolling, Delay: secrets.ActivationDelay(d.settings.Nodes.Expiry), Length: length}
	for property, how := range map[string]secrets.Rolling{
		"yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs":     amrm,
		"yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs":        nodes,
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs": containers,
	} {
		if err := how.Check(property); err != nil {
			return err
		}
	}
	d.grants = &grants{amrm: secrets.NewAMRM(amrm, now), nodes: secrets.NewNM(nodes, now), containers: secrets.NewContainers(containers, d.types, now),
		addresses: newAddresses(t.UseIP), issuer: d.started, expiry: d.settings.Allocation.ExpiryInterval, contexts: d.contexts}
	d.grants.amrm.Saved(d.grants.amrm.State())
	return nil
}

// rollKeys replaces keys when their time has come.
func (d *Daemon) rollKeys(ctx context.Context) {
	g := d.grants
	for {
		next := earliest(g.amrm.Due(), g.nodes.Due(), g.containers.Due())
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(time.Until(next), time.Second)):
		}
		now := time.Now()
		g.nodes.Tick(now)
		g.containers.Tick(now)
		if g.amrm.Tick(now) != secrets.Unchanged {
			d.Log.Info("the keys of masters' tokens have been rolled")
			d.saveKeys()
		}
	}
}

// saveKeys stores the keys of masters' tokens; new tokens use them from then on.
func (d *Daemon) saveKeys() {
	keys := d.grants.amrm.State()
	d.loop.Post(engine.Remember{Record: keys, Ticket: d.loop.Expect(func(_ any, err error) {
		if err != nil {
			d.Log.Error("cannot store the keys of masters' tokens; the old ones stay in use", "error", err)
			return
		}
		d.grants.amrm.Saved(keys)
	})})
}

func earliest(times ...time.Time) time.Time {
	first := times[0]
	for _, t := range times[1:] {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

func (d *Daemon) buildEngine(site *conf.Properties) (*engine.Engine, error) {
	cfg, err := d.readSchedule(site)
	if err != nil {
		return nil, err
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		return nil, err
	}
	set, err := Settings(d.settings, cfg, time.UnixMilli(d.started), d.epoch)
	if err != nil {
		return nil, err
	}
	set.LogAggregation = conf.NewReader(site).Bool("yarn.log-aggregation-enable", false)
	d.rights.schedule.Store(cfg)
	return engine.New(set, sched), nil
}

func (d *Daemon) buildLoop(eng *engine.Engine) {
	d.outside = newOutside(d.Log)
	d.outside.grants, d.outside.contexts, d.outside.summary = d.grants, d.contexts, d.logSummary
	d.loop = loop.New(loop.Config{Engine: eng, Clock: clock.System(), Outside: d.outside, Store: d.store,
		Complete: d.contexts.complete, Log: d.Log, Fatal: func(err error) {
			d.fail(fmt.Errorf("the state store is lost: %w", err))
		}})
	d.outside.launcher = launch.New(launch.Config{
		Workers: d.settings.Applications.LaunchHandlers, Retry: launchRetry, Context: d.contexts.get,
		ContainerToken: d.grants.ContainerToken, NodeToken: d.grants.launchToken, LoginToken: d.grants.amrm.Issue,
		Post: d.loop.Post, Log: d.Log.With("logger", "launch"),
	})
	d.masters = master.New(master.Config{Loop: d.loop, Types: d.types, Grants: d.grants, VCoresToo: d.rights.schedule.Load().Dominant})
	d.outside.masters = d.masters
	d.work.Go(d.outside.write)
}

// launchRetry is how long a node that does not answer is tried at a launch.
const launchRetry = 3 * time.Minute

// listen opens every port, the administrators' and the pages first, the nodes' last.
func (d *Daemon) listen() error {
	if err := d.serveWeb(); err != nil {
		return err
	}
	places := d.places()
	simple := []ipc.Method{ipc.MethodSimple}
	s := d.settings
	for _, port := range []struct {
		name      string
		at        conf.Endpoint
		methods   []ipc.Method
		tokens    ipc.Tokens
		kind      string
		protocols []ipc.Protocol
	}{
		{"admin", s.Admin, simple, nil, "", admin.Protocols(admin.Config{Loop: d.loop, Types: d.types, Daemon: d})},
		{"client", s.Client, simple, nil, "", []ipc.Protocol{client.Protocol(client.Config{
			Loop: d.loop, Types: d.types, Access: d.rights, Contexts: d.contexts, Delegation: noDelegation{}, LoginToken: d.grants.amrm.Issue,
			ClusterID: s.ClusterID, MaxTags: s.Applications.MaxTags, MaxTagLength: s.Applications.MaxTagLength, Places: places})}},
		{"scheduler", s.Master, []ipc.Method{ipc.MethodToken}, d.grants.amrm, "YARN_AM_RM_TOKEN", []ipc.Protocol{d.masters.Protocol}},
		{"tracker", s.Tracker, simple, nil, "", []ipc.Protocol{tracker.Protocol(tracker.Config{
			Loop: d.loop, Types: d.types, ContainerKeys: d.grants.containers, NodeKeys: d.grants.nodes, ClusterTimestamp: d.started,
			HeartbeatMillis: s.Nodes.Heartbeat.Interval.Milliseconds(), MinimumVersion: s.Nodes.MinimumVersion,
			Rack: d.rackOf, Excluded: d.excluded})}},
	} {
		server, err := ipc.Listen(ipc.ServerConfig{Name: port.name, Address: port.at.Bind.String(), Methods: port.methods, Tokens: port.tokens,
			TokenKind: port.kind, Protocols: port.protocols, Proxies: d.rights, Limits: d.ipcLimits(), Log: d.Log.With("logger", "ipc."+port.name)})
		if err != nil {
			return err
		}
		d.servers = append(d.servers, server)
		d.Log.Info("listening", "port", port.name, "address", server.Addr())
		d.work.Go(func() {
			if err := server.Serve(); err != nil {
				d.fail(err)
			}
		})
	}
	return nil
}

func (d *Daemon) ipcLimits() ipc.Limits {
	i := &d.settings.IPC
	return ipc.Limits{MaxFrame: int(i.MaxData), MaxResponse: int(i.MaxResponse), MaxConnections: i.MaxConnections}
}

// serveWeb opens the HTTP port.
func (d *Daemon) serveWeb() error {
	w := &d.settings.Web
	l, err := net.Listen("tcp", w.Bind.String())
	if err != nil {
		return fmt.Errorf("cannot open the web port (yarn.resourcemanager.webapp.address): %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
	}
	d.webAddr = net.JoinHostPort(publicHost(w.Address.Host), port)
	from, err := proxy.LocalAddress(context.Background(), w.Address.String())
	if err != nil {
		d.Log.Warn("masters may refuse the proxy, whose address is unknown", "host", w.Address.Host, "error", err)
	}
	handler, err := web.New(web.Config{Source: d, Controller: d, Address: d.webAddr, StaticUser: w.StaticUser,
		AnonymousRefused: !w.SimpleAnonymous, AnonymousWrites: w.AnonymousWrites, FilterByUser: w.FilterByUser, SubmissionsOff: !w.RESTSubmission,
		CSRF:    web.CSRF{Enabled: w.CSRF.Enabled, Header: w.CSRF.Header},
		Version: rest.Version{Number: tracker.Version, Build: "Heddle", Date: ""}, ProxyFrom: from, ProxyOff: !w.Proxy.IsZero(), Log: d.Log.With("logger", "web")})
	if err != nil {
		l.Close()
		return err
	}
	d.pages = web.NewServer(handler, d.Log.With("logger", "web"))
	d.Log.Info("listening", "port", "web", "address", l.Addr())
	d.work.Go(func() {
		if err := d.pages.Serve(l); err != nil {
			d.fail(err)
		}
	})
	return nil
}

func (d *Daemon) places() view.Places {
	p := view.Places{Pages: "http://" + d.webAddr, Proxy: "http://" + d.webAddr}
	if x := d.settings.Web.Proxy; !x.IsZero() {
		p.Proxy = "http://" + x.String()
	}
	return p
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

// Stop closes the ports, then the loop, then the store.
func (d *Daemon) Stop() {
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

// excluded says why the lists do not admit a host, or nothing.
func (d *Daemon) excluded(host string, addr netip.Addr) string {
	if d.lists.Load().Valid(host, addr.String()) {
		return ""
	}
	return fmt.Sprintf("Disallowed NodeManager from  %s, Sending SHUTDOWN signal to the NodeManager.", host)
}

// rackOf is asked when a node registers, which is also when its address is looked up.
func (d *Daemon) rackOf(host string) string {
	d.grants.addresses.resolve(host)
	return d.racks.Rack(context.Background(), host)
}

// readLists reads the include and exclude lists.
func (d *Daemon) readLists(site *conf.Properties) error {
	r := conf.NewReader(site)
	include, err := hosts.ReadFile(r.String("yarn.resourcemanager.nodes.include-path", ""))
	if err != nil {
		return fmt.Errorf("cannot read the include list (yarn.resourcemanager.nodes.include-path): %w", err)
	}
	exclude, err := hosts.ReadFile(r.String("yarn.resourcemanager.nodes.exclude-path", ""))
	if err != nil {
		return fmt.Errorf("cannot read the exclude list (yarn.resourcemanager.nodes.exclude-path): %w", err)
	}
	d.lists.Store(&hosts.Lists{Include: include, Exclude: exclude})
	return nil
}

// readCluster reads what the scheduler must know beside its queue file.
func (d *Daemon) readCluster(site *conf.Properties) (config.Cluster, error) {
	types := site
	if file := filepath.Join(d.Dir, "resource-types.xml"); exists(file) {
		var err error
		if types, err = conf.Load(conf.Options{Base: site, Files: []string{file}}); err != nil {
			return config.Cluster{}, err
		}
	}
	return Cluster(site, types, nil)
}

// readSchedule reads and checks the scheduler's configuration:
// capacity-scheduler.xml over the site files.
func (d *Daemon) readSchedule(site *conf.Properties) (*config.Config, error) {
	queues, err := conf.Load(conf.Options{Base: site, Files: []string{filepath.Join(d.Dir, "capacity-scheduler.xml")}})
	if err != nil {
		return nil, err
	}
	cluster, err := d.readCluster(site)
	if err != nil {
		return nil, err
	}
	cfg, findings, err := config.Parse(Queues(queues), cluster)
	for _, f := range findings {
		d.Log.Warn(f.String(), "logger", "scheduler")
	}
	return cfg, err
}
