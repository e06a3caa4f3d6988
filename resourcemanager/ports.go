package resourcemanager

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"path"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web"
	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/token"
)

// listen opens every port, the administrators' and the pages first, the nodes' last.
func (d *Daemon) listen() error {
	if err := d.serveWeb(); err != nil {
		return err
	}
	places := d.places()
	simple := []ipc.Method{ipc.MethodSimple}
	s := d.settings
	forClients, forMasters := d.ipcLimits(), d.ipcLimits()
	forClients.Places = max(1, runtime.GOMAXPROCS(0)/2) // the rest is for calls that wait for nobody
	forMasters.MaxCallsPerConnection = 2                // a master has one, whose answer may be large; with one the reader would wait for each
	for _, port := range []struct {
		name      string
		at        conf.Endpoint
		methods   []ipc.Method
		tokens    ipc.Tokens
		kind      string
		limits    ipc.Limits
		protocols []ipc.Protocol
	}{
		{"admin", s.Admin, simple, nil, "", d.ipcLimits(), admin.Protocols(admin.Config{Loop: d.loop, Types: d.types, Daemon: d})},
		{"client", s.Client, []ipc.Method{ipc.MethodToken, ipc.MethodSimple}, d.delegation.keeper, token.KindDelegation, forClients, []ipc.Protocol{client.Protocol(client.Config{
			Loop: d.loop, Types: d.types, Access: d.rights, Contexts: d.contexts, Delegation: &d.delegation, LoginToken: d.grants.amrm.Issue, Audit: d.Options.Audit,
			MaxTags: s.Applications.MaxTags, MaxTagLength: s.Applications.MaxTagLength, Places: places})}},
		{"scheduler", s.Master, []ipc.Method{ipc.MethodToken}, d.grants.amrm, token.KindAMRM, forMasters, []ipc.Protocol{d.masters.Protocol}},
		{"tracker", s.Tracker, simple, nil, "", d.ipcLimits(), []ipc.Protocol{d.trackers.Protocol}},
	} {
		server, err := ipc.Listen(ipc.ServerConfig{Name: port.name, Address: port.at.Bind.String(), Methods: port.methods, Tokens: port.tokens,
			TokenKind: port.kind, Protocols: port.protocols, Proxies: d.rights, Limits: port.limits, Backlog: d.backlog, Log: d.Log.With("logger", "ipc."+port.name)})
		if err != nil {
			return err
		}
		d.servers = append(d.servers, server)
		d.own.add(server.Addr())
		d.Log.Info("listening", "port", port.name, "address", server.Addr())
		d.work.Go(func() {
			if err := server.Serve(); err != nil {
				d.fail(err)
			}
		})
	}
	return nil
}

// ownPorts are those that the daemon listens on. The pages are served before all
// of them are open.
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

// serveWeb opens the HTTP port.
func (d *Daemon) serveWeb() error {
	w := &d.settings.Web
	l, err := net.Listen("tcp", w.Bind.String())
	if err != nil {
		return fmt.Errorf("cannot open the web port (yarn.resourcemanager.webapp.address): %w", err)
	}
	d.own.add(l.Addr())
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return err
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
		return err
	}
	handler, err := web.New(web.Config{Source: d, Controller: d, Address: d.webAddr, FilterByUser: w.FilterByUser, SubmissionsOff: !w.RESTSubmission,
		Config: webgate.Config{StaticUser: w.StaticUser, AnonymousRefused: !w.SimpleAnonymous, AnonymousWrites: w.AnonymousWrites,
			Secret: webgate.Secret(w.SignatureSecretFile, d.Log), CookieLife: w.CookieLife, FrameOptions: w.FrameOptions,
			CSRF: webgate.CSRF{Enabled: w.CSRF.Enabled, Header: w.CSRF.Header, Ignore: w.CSRF.IgnoreMethods, UserAgents: w.CSRF.BrowserAgents},
			CORS: cors, Log: d.Log.With("logger", "web")},
		Introspection: introspect.Config{Properties: d.properties, Sensitive: w.Introspection.Sensitive, AdminOnly: w.Introspection.AdminOnly,
			Admin:         func(c webgate.Caller) bool { return d.rights.IsAdmin(identity(c)) },
			PrometheusOff: !w.Introspection.Prometheus, StartedAt: time.UnixMilli(d.started), Log: d.Log.With("logger", "web")},
		Version: rest.Version{Number: release.Hadoop, Build: "Heddle", Date: ""}, ProxyFrom: from, ProxyOff: !w.Proxy.IsZero(),
		OwnPort: d.own.has, NodeAddresses: d.grants.addresses.of})
	if err != nil {
		l.Close()
		return err
	}
	d.pages = webgate.NewServer(handler, d.Log.With("logger", "web"))
	d.Log.Info("listening", "port", "web", "address", l.Addr())
	d.work.Go(func() {
		if err := d.pages.Serve(l); err != nil {
			d.fail(err)
		}
	})
	return nil
}

// properties is the configuration in force, as /conf tells it.
func (d *Daemon) properties() []introspect.Property {
	var out []introspect.Property
	for _, v := range d.site.All() {
		out = append(out, introspect.Property{Name: v.Name, Raw: v.Raw, Value: v.Value, Source: path.Base(v.Origin.File), Final: v.Final})
	}
	return out
}

func (d *Daemon) places() view.Places {
	p := view.Places{Pages: "http://" + d.webAddr, Proxy: "http://" + d.webAddr}
	if x := d.settings.Web.Proxy; !x.IsZero() {
		p.Proxy = "http://" + x.String()
	}
	return p
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
