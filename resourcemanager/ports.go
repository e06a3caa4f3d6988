package resourcemanager

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web"
	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// port is one of the RPC ports.
type port struct {
	*ipc.Server
	of func(*term, view.Places) ipc.Protocol // what it serves of a term
}

// offer has the RPC ports that are open serve a term, or, without one, answer as a standby does.
func (d *Daemon) offer(t *term) error {
	for _, p := range d.servers {
		if t == nil {
			p.Withdraw(d.standby)
		} else if err := p.Offer(p.of(t, d.places())); err != nil {
			return err
		}
	}
	return nil
}

// tokens are those that the term there is has issued.
type tokens struct {
	d  *Daemon
	of func(*term) ipc.Tokens
}

// Password implements ipc.Tokens.
func (x tokens) Password(identifier []byte) ([]byte, string, error) {
	t := x.d.term.Load()
	if t == nil {
		return nil, "", x.d.standby
	}
	return x.of(t).Password(identifier)
}

// listen opens every port, the pages' and the administrators' first, the nodes' last, and then has them served.
func (d *Daemon) listen() (err error) {
	pages, err := d.listenWeb()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			pages.Close() // the RPC ports close as those that are served do
		}
	}()
	simple := []ipc.Method{ipc.MethodSimple}
	s := d.settings
	forClients, forMasters := d.ipcLimits(), d.ipcLimits()
	forClients.Places = max(1, runtime.GOMAXPROCS(0)/2) // the rest is for calls that wait for nobody
	forMasters.MaxCallsPerConnection = 2                // a master has one, whose answer may be large; with one the reader would wait for each
	issued := tokens{d, func(t *term) ipc.Tokens { return t.delegation.keeper }}
	logins := tokens{d, func(t *term) ipc.Tokens { return t.grants.amrm }}
	for _, x := range []struct {
		name    string
		at      conf.Endpoint
		methods []ipc.Method
		tokens  ipc.Tokens
		kind    string
		limits  ipc.Limits
		own     []ipc.Protocol
		of      func(*term, view.Places) ipc.Protocol
	}{
		{"admin", s.Admin, simple, nil, "", d.ipcLimits(), []ipc.Protocol{d.haProtocol()}, (*term).adminProtocol},
		{"client", s.Client, []ipc.Method{ipc.MethodToken, ipc.MethodSimple}, issued, token.KindDelegation, forClients, nil, (*term).clientProtocol},
		{"scheduler", s.Master, []ipc.Method{ipc.MethodToken}, logins, token.KindAMRM, forMasters, nil, (*term).masterProtocol},
		{"tracker", s.Tracker, simple, nil, "", d.ipcLimits(), nil, (*term).trackerProtocol},
	} {
		server, err := ipc.Listen(ipc.ServerConfig{Name: x.name, Address: x.at.Bind.String(), Methods: x.methods, Tokens: x.tokens,
			TokenKind: x.kind, Protocols: x.own, Proxies: d.rights, Limits: x.limits, Backlog: d.backlog, Log: d.Log.With("logger", "ipc."+x.name)})
		if err != nil {
			return err
		}
		d.servers = append(d.servers, port{server, x.of})
		d.own.add(server.Addr())
		d.Log.Info("listening", "port", x.name, "address", server.Addr())
	}
	if err = d.offer(d.term.Load()); err != nil {
		return err
	}
	d.serve(func() error { return d.pages.Serve(pages) })
	for _, p := range d.servers {
		d.serve(p.Serve)
	}
	return nil
}

// serve runs a port until it is closed.
func (d *Daemon) serve(run func() error) {
	d.work.Go(func() {
		if err := run(); err != nil {
			d.fail(err)
		}
	})
}

// closePorts closes what listen has opened.
func (d *Daemon) closePorts() {
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
}

// ownPorts are those that the daemon listens on.
type ownPorts struct {
	mu   sync.Mutex
	list []uint16
}

func (o *ownPorts) add(a net.Addr) {
	if tcp, ok := a.(*net.TCPAddr); ok {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.list = append(o.list, uint16(tcp.Port))
	}
}

func (o *ownPorts) has(port uint16) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Contains(o.list, port)
}

func (d *Daemon) ipcLimits() ipc.Limits {
	i := &d.settings.IPC
	return ipc.Limits{MaxFrame: int(i.MaxData), MaxResponse: int(i.MaxResponse), MaxConnections: i.MaxConnections}
}

// listenWeb opens the HTTP port.
func (d *Daemon) listenWeb() (net.Listener, error) {
	w := &d.settings.Web
	l, err := net.Listen("tcp", w.Bind.String())
	if err != nil {
		return nil, fmt.Errorf("cannot open the web port (yarn.resourcemanager.webapp.address): %w", err)
	}
	d.own.add(l.Addr())
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	d.webAddr = net.JoinHostPort(publicHost(w.Address.Host), port)
	from, err := proxy.LocalAddress(context.Background(), w.Address.String())
	if err != nil {
		d.Log.Warn("masters may refuse the proxy, whose address is unknown", "host", w.Address.Host, "error", err)
	}
	x := &w.CrossOrigin
	cors, err := webgate.NewCORS(x.Origins, x.Methods, x.Headers, x.MaxAge)
	if err != nil {
		l.Close()
		return nil, err
	}
	var active func(context.Context) string
	if d.peers != nil {
		active = d.peers.active
	}
	handler, err := web.New(web.Config{ActivePages: active,
		Source: d, Controller: d, Address: d.webAddr, FilterByUser: w.FilterByUser, SubmissionsOff: !w.RESTSubmission,
		Largest: yarn.NewResource(d.settings.Allocation.MaximumMB, int64(d.settings.Allocation.MaximumVCores)),
		Config: webgate.Config{StaticUser: w.StaticUser, AnonymousRefused: !w.SimpleAnonymous, AnonymousWrites: w.AnonymousWrites,
			Secret: webgate.Secret(w.SignatureSecretFile, d.Log), CookieLife: w.CookieLife, FrameOptions: w.FrameOptions,
			CSRF: webgate.CSRF{Enabled: w.CSRF.Enabled, Header: w.CSRF.Header, Ignore: w.CSRF.IgnoreMethods, UserAgents: w.CSRF.BrowserAgents},
			CORS: cors, Log: d.Log.With("logger", "web")},
		Introspection: introspect.Config{Properties: d.properties, Sensitive: w.Introspection.Sensitive, AdminOnly: w.Introspection.AdminOnly,
			Admin:         func(c webgate.Caller) bool { return d.rights.IsAdmin(identity(c)) },
			PrometheusOff: !w.Introspection.Prometheus, StartedAt: time.UnixMilli(d.started), Log: d.Log.With("logger", "web")},
		Version: rest.Version{Number: release.Hadoop, Build: "Heddle", Date: ""}, ProxyFrom: from, ProxyOff: !w.Proxy.IsZero(),
		OwnPort: d.own.has, NodeAddresses: d.addressesOf})
	if err != nil {
		l.Close()
		return nil, err
	}
	d.pages = webgate.NewServer(handler, d.Log.With("logger", "web"))
	d.Log.Info("listening", "port", "web", "address", l.Addr())
	return l, nil
}

func (d *Daemon) places() view.Places {
	p := view.Places{Pages: "http://" + d.webAddr, Proxy: "http://" + d.webAddr}
	if x := d.settings.Web.Proxy; !x.IsZero() {
		p.Proxy = "http://" + x.String()
	}
	return p
}
