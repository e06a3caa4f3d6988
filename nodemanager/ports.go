package nodemanager

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net"
	"sync/atomic"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/seldom"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/nodemanager/heartbeat"
	"github.com/heddle-project/heddle/nodemanager/rpc/container"
	"github.com/heddle-project/heddle/nodemanager/rpc/localizer"
	"github.com/heddle-project/heddle/nodemanager/shuffle"
	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// ports are what the node listens on.
type ports struct {
	rpc     []*ipc.Server
	pages   *webgate.Server
	web     net.Listener
	shuffle *shuffle.Server
}

func (p *ports) webPort() int { return p.web.Addr().(*net.TCPAddr).Port }

// listen binds every port. The container port names the node.
func (d *Daemon) listen() (err error) {
	s := d.settings
	if d.ports.web, err = net.Listen("tcp", s.Web.Bind.String()); err != nil {
		return fmt.Errorf("cannot open the web port (yarn.nodemanager.webapp.address): %w", err)
	}
	limits := ipc.Limits{MaxFrame: int(s.IPC.MaxData), MaxResponse: int(s.IPC.MaxResponse), MaxConnections: s.IPC.MaxConnections}
	backlog := ipc.NewBacklog(0, 0, d.Log.With("logger", "ipc"))
	containers, err := ipc.Listen(ipc.ServerConfig{Name: "containers", Address: s.Containers.Bind.String(), Methods: []ipc.Method{ipc.MethodToken},
		Tokens: d.keys, TokenKind: token.KindNM, Limits: limits, Backlog: backlog, Log: d.Log.With("logger", "ipc.containers"),
		Protocols: []ipc.Protocol{container.Protocol(container.Config{Loop: d.loop, Keys: d.keys, Services: &d.services, Types: s.Resources.Types,
			Node: func() yarn.NodeID { return d.node }, Issuer: d.issuer, Closed: d.closed, Audit: d.Audit})}})
	if err != nil {
		return fmt.Errorf("cannot open the container port (yarn.nodemanager.address): %w", err)
	}
	d.ports.rpc = append(d.ports.rpc, containers)
	at := containers.Addr().(*net.TCPAddr)
	d.node = yarn.NodeID{Host: s.Containers.Address.Host, Port: int32(at.Port)}
	if s.Containers.Address == s.Containers.Bind {
		d.node.Host = hostName(at.IP)
	}
	fetches, err := ipc.Listen(ipc.ServerConfig{Name: "localizer", Address: s.Localizer.Bind.String(), Methods: []ipc.Method{ipc.MethodToken, ipc.MethodSimple},
		Tokens: d.java, TokenKind: token.KindLocalizer, Protocols: []ipc.Protocol{localizer.New(d.java.Beat, d.Log.With("logger", "localizer"))}, Limits: limits, Backlog: backlog, Log: d.Log.With("logger", "ipc.localizer")})
	if err != nil {
		return fmt.Errorf("cannot open the localizer port (yarn.nodemanager.localizer.address): %w", err)
	}
	d.ports.rpc = append(d.ports.rpc, fetches)
	d.localizers = fetches.Addr().(*net.TCPAddr)
	return nil
}

// issuer is the ResourceManager that the node is registered with; 0 before that.
func (d *Daemon) issuer() int64 {
	if d.reporter == nil {
		return 0
	}
	return d.reporter.Issuer()
}

// serve begins to answer.
func (p *ports) serve(d *Daemon) {
	for _, s := range p.rpc {
		d.Log.Info("listening", "address", s.Addr())
		d.work.Go(func() {
			if err := s.Serve(); err != nil {
				d.fail(err)
			}
		})
	}
	d.Log.Info("listening", "port", "web", "address", p.web.Addr())
	d.work.Go(func() {
		if err := p.pages.Serve(p.web); err != nil {
			d.fail(err)
		}
	})
	if s := d.services.shuffle; s != nil {
		d.Log.Info("listening", "port", "shuffle", "address", s.Port())
		d.work.Go(func() {
			if err := s.Serve(); err != nil {
				d.fail(err)
			}
		})
	}
}

func (p *ports) close(ctx context.Context, log *slog.Logger) {
	for _, s := range p.rpc {
		if err := s.Close(ctx); err != nil {
			log.Warn("a port did not close in time", "error", err)
		}
	}
	if p.shuffle != nil {
		if err := p.shuffle.Close(ctx); err != nil {
			log.Warn("the shuffle did not close in time", "error", err)
		}
	}
	switch {
	case p.pages != nil:
		if err := p.pages.Stop(ctx); err != nil {
			log.Warn("the web port did not close in time", "error", err)
		}
	case p.web != nil:
		_ = p.web.Close()
	}
}

// prepareServices makes the auxiliary services that are configured and built.
func (d *Daemon) prepareServices() error {
	s := &d.settings.Shuffle
	for _, a := range d.settings.Aux {
		if a.Class != "shuffle" {
			continue // readSettings has said so
		}
		server, err := shuffle.New(shuffle.Config{Address: fmt.Sprintf(":%d", s.Port), LocalDirs: d.readable, MaxConnections: s.MaxConnections,
			KeepAlive: s.KeepAlive, KeepAliveTimeout: s.KeepAliveIdle, OpenFiles: s.MaxOpenFiles, IndexCache: s.IndexCache, Copy: !s.TransferTo, Readahead: s.Readahead, DropCache: s.DropCache,
			Save: func(j shuffle.Job) error {
				d.keep(state.PutPart{Part: shufflePart, Key: j.App.String(), Value: encodeJob(j)})
				return nil
			},
			Remove: func(app yarn.ApplicationID) error {
				d.keep(state.DropPart{Part: shufflePart, Key: app.String()})
				return nil
			}, Log: d.Log.With("logger", "shuffle")})
		if err != nil {
			return fmt.Errorf("cannot start the auxiliary service %s: %w", a.Name, err)
		}
		d.services, d.ports.shuffle = services{server, a.Name}, server
	}
	return nil
}

// reporting is how the ResourceManagers are called.
func reporting(t *conf.Tracker, user string) ipc.ClientConfig {
	return ipc.ClientConfig{Credentials: ipc.Credentials{User: user}, Timeout: t.CallTimeout,
		Connect: ipc.Connect{Retries: t.Connect.Retries, Pause: t.Connect.Pause, Timeout: t.Connect.Timeout}}
}

// prepareReporter makes the way to the ResourceManager.
func (d *Daemon) prepareReporter(label func() string) error {
	t := &d.settings.Tracker
	d.rpc = ipc.NewClient(reporting(t, d.User))
	var addresses []string
	for _, x := range t.Targets {
		addresses = append(addresses, x.Address.String())
	}
	policy := ipc.Policy{Attempts: t.Attempts, Base: t.Base, Most: t.Most}
	policy.Retried, policy.Answered = d.unanswered()
	group, err := ipc.NewGroup(d.rpc, addresses, policy)
	if err != nil {
		return fmt.Errorf("cannot reach a ResourceManager (%s): %w", t.Targets[0].Property, err)
	}
	physical := yarn.NewResource(d.machine.MemoryMB, int64(d.machine.Processors))
	d.reporter = heartbeat.New(heartbeat.Config{Group: group, Loop: d.loop, Keys: d.keys, Node: d.node, HTTPPort: int32(d.ports.webPort()),
		Total: *d.total.Load(), Physical: physical, Types: d.settings.Resources.Types, Preserve: t.Preserve, Health: d.condition, Usage: d.monitor.usage,
		Logs: d.logs.reports, KeepLogs: d.settings.Logs.KeepStates, MinimumVersion: t.MinimumVersion, Resized: d.resized,
		QueueLength: d.queueLength(), Registered: func() { d.accepted.Store(true) }, Label: label, LabelResync: d.settings.Label.Resync, Log: d.Log})
	return nil
}

// unanswered returns two callbacks: retried warns once every address has failed for a report, then at most once a minute; answered says
// when a report is taken again after such a warning.
func (d *Daemon) unanswered() (retried func(ipc.Retry), answered func(address string)) {
	text := "no ResourceManager takes the node's reports; containers go on"
	if n := d.settings.Tracker.Attempts; n < math.MaxInt32 {
		text += fmt.Sprintf("; the NodeManager ends after %d attempts (yarn.resourcemanager.connect.max-wait.ms) if it can reach none", n)
	}
	var limit seldom.Limit
	var warned atomic.Bool
	retried = func(r ipc.Retry) {
		if r.Nobody && limit.Pass("") {
			warned.Store(true)
			d.Log.Warn(text, "attempt", r.Attempt, "last", r.Address, "error", r.Err)
		}
	}
	answered = func(address string) {
		if warned.Swap(false) {
			d.Log.Info("a ResourceManager takes the node's reports again", "address", address)
		}
	}
	return retried, answered
}

// resized is called when the ResourceManager has changed what the node offers.
func (d *Daemon) resized(total yarn.Resource) {
	d.total.Store(&total)
	d.loop.Post(engine.Offer{Total: total})
}

// queueLength is how many opportunistic containers may wait.
// compat: none are counted where resources decide.
func (d *Daemon) queueLength() int32 {
	if d.settings.Queue.ByResources {
		return 0
	}
	return int32(d.settings.Queue.MaxLength)
}
