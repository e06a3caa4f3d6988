package resourcemanager

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
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
	"github.com/heddle-project/heddle/wire/activity"
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
	webs, err := d.listenWeb()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			for _, l := range webs {
				l.Close() // the RPC ports close as those that are served do
			}
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
	for i, l := range webs {
		d.serve(func() error { return d.pages[i].Serve(l) })
	}
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
	for _, p := range d.pages {
		if err := p.Stop(ctx); err != nil {
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

// listenWeb opens the HTTP port and, if there is one, the port of the web interface where pages may change things.
func (d *Daemon) listenWeb() (listeners []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, l := range listeners {
				l.Close()
			}
		}
	}()
	w := &d.settings.Web
	open := func(name string, at conf.Endpoint) (address string, err error) {
		l, err := net.Listen("tcp", at.Bind.String())
		if err != nil {
			return "", fmt.Errorf("cannot open the web port (%s): %w", name, err)
		}
		listeners = append(listeners, l)
		d.own.add(l.Addr())
		_, port, err := net.SplitHostPort(l.Addr().String())
		return net.JoinHostPort(publicHost(at.Address.Host), port), err
	}
	if d.webAddr, err = open("yarn.resourcemanager.webapp.address", w.Endpoint); err != nil {
		return listeners, err
	}
	changesAt := ""
	if !w.Operators.Address.IsZero() {
		at, err := open("yarn.resourcemanager.heddle.ui.address", w.Operators)
		if err != nil {
			return listeners, err
		}
		changesAt = "http://" + at
	}
	c, err := d.webConfig()
	if err != nil {
		return listeners, err
	}
	c.ChangesAt, c.Apps, c.Methods = changesAt, d.webApps(), d.settings.Web.Methods
	if err = d.addPages(c, listeners[0]); err == nil && changesAt != "" {
		c.ProxyOff = true // so that no application's page has the origin of those that change things
		c.Methods = nil
		err = d.addPages(c, listeners[1])
	}
	return listeners, err
}

// addPages makes the server of a web port.
func (d *Daemon) addPages(c web.Config, l net.Listener) error {
	handler, err := web.New(c)
	if err != nil {
		return err
	}
	d.pages = append(d.pages, webgate.NewServer(handler, d.Log.With("logger", "web")))
	d.Log.Info("listening", "port", "web", "address", l.Addr())
	return nil
}

// webConfig is what the web ports have in common.
func (d *Daemon) webConfig() (web.Config, error) {
	w := &d.settings.Web
	from, err := proxy.LocalAddress(context.Background(), w.Address.String())
	if err != nil {
		d.Log.Warn("masters may refuse the proxy, whose address is unknown", "host", w.Address.Host, "error", err)
	}
	x := &w.CrossOrigin
	cors, err := webgate.NewCORS(x.Origins, x.Methods, x.Headers, x.MaxAge)
	if err != nil {
		return web.Config{}, err
	}
	var active func(context.Context) string
	if d.peers != nil {
		active = d.peers.active
	}
	hosts := []string{publicHost(w.Address.Host), publicHost("")}
	if h := w.Operators.Address.Host; h != "" {
		hosts = append(hosts, publicHost(h))
	}
	return web.Config{ActivePages: active, LogService: conf.NewReader(d.site).String("yarn.log.server.web-service.url", ""),
		Source: d, Controller: d, Address: d.webAddr, FilterByUser: w.FilterByUser, SubmissionsOff: !w.RESTSubmission,
		Largest: yarn.NewResource(d.settings.Allocation.MaximumMB, int64(d.settings.Allocation.MaximumVCores)),
		Config: webgate.Config{StaticUser: w.StaticUser, AnonymousRefused: !w.SimpleAnonymous, AnonymousWrites: w.AnonymousWrites,
			Secret: d.cookieSecret(), CookieLife: w.CookieLife, FrameOptions: w.FrameOptions, Hosts: hosts,
			CSRF: webgate.CSRF{Enabled: w.CSRF.Enabled, Header: w.CSRF.Header, Ignore: w.CSRF.IgnoreMethods, UserAgents: w.CSRF.BrowserAgents},
			CORS: cors, Log: d.Log.With("logger", "web")},
		Introspection: introspect.Config{Properties: d.properties, Sensitive: w.Introspection.Sensitive, AdminOnly: w.Introspection.AdminOnly,
			Admin:         func(c webgate.Caller) bool { return d.rights.IsAdmin(identity(c)) },
			PrometheusOff: !w.Introspection.Prometheus, StartedAt: time.UnixMilli(d.started), Log: d.Log.With("logger", "web"), LogDir: d.Recordings,
			More: d.moreBeans},
		Version: rest.Version{Number: release.Hadoop, Build: "Heddle", Date: ""}, ProxyFrom: from, ProxyOff: !w.Proxy.IsZero(),
		OwnPort: d.own.has, NodeAddresses: d.addressesOf}, nil
}

// serverNames are those of Hadoop's servers, for metrics.
var serverNames = map[string]string{"admin": "ResourceManagerAdministrationProtocolService", "client": "ApplicationClientProtocolService",
	"scheduler": "ApplicationMasterProtocolService", "tracker": "ResourceTrackerService"}

func (d *Daemon) moreBeans(m *introspect.Means) []introspect.Bean {
	var ports []activity.Port
	for _, p := range d.servers {
		ports = append(ports, activity.Port{Server: p.Server, Name: serverNames[p.Name()]})
	}
	n, took := d.rights.groups.Lookups()
	return append(activity.Beans("ResourceManager", ports, m), m.GroupsBean("ResourceManager", n, took))
}

// clientAddress is where clients reach this ResourceManager by RPC.
func (d *Daemon) clientAddress() string {
	for _, p := range d.servers {
		if p.Name() == "client" {
			at := p.Addr().String()
			return net.JoinHostPort(publicHost(d.settings.Client.Address.Host), at[strings.LastIndexByte(at, ':')+1:])
		}
	}
	return ""
}

// cookieSecret signs the cookies of all web ports: browsers send them to every port of a host.
func (d *Daemon) cookieSecret() []byte {
	if secret := webgate.Secret(d.settings.Web.SignatureSecretFile, d.Log); len(secret) > 0 {
		return secret
	}
	return []byte(rand.Text() + rand.Text())
}

func (d *Daemon) places() view.Places {
	p := view.Places{Pages: "http://" + d.webAddr, Proxy: "http://" + d.webAddr}
	if x := d.settings.Web.Proxy; !x.IsZero() {
		p.Proxy = "http://" + x.String()
	}
	return p
}
