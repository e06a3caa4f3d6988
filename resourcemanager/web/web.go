// Package web serves the ResourceManager's HTTP port: the web services below
// /ws/v1/cluster (rest), the pages below /cluster (ui), the applications' own
// pages below /proxy (proxy), the web interface below /ui (package ui of the root), Apache's own where they are switched on (webapp), /isActive, and the daemon's configuration, metrics
// and stacks (introspect). All requests pass package webgate, which decides who
// the caller is and whether it may change anything; other paths are refused.
//
// Everything shown comes from published views; changes go through a Controller
// that the daemon implements. With high availability a standby sends readers to the
// active ResourceManager (elsewhere). Missing are SPNEGO and delegation tokens.
package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/elsewhere"
	"github.com/heddle-project/heddle/resourcemanager/web/nodelogs"
	"github.com/heddle-project/heddle/resourcemanager/web/proxy"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/ui"
	"github.com/heddle-project/heddle/resourcemanager/web/webapp"
	window "github.com/heddle-project/heddle/ui"
	"github.com/heddle-project/heddle/yarn"
)

// Config is what the server needs. Source, Controller and Address are required;
// the zero value of everything else is Hadoop's default.
type Config struct {
	webgate.Config // who may do what; Open and Foreign are set here
	Source         access.Source
	Controller     access.Controller
	// Address is the host:port by which users reach this server
	// (yarn.resourcemanager.webapp.address, with the real port). It is in links and
	// tracking URLs.
	Address string
	Version rest.Version
	// Introspection is what /conf, /jmx, /prom and /stacks need; without
	// Properties they are not served. Service and Beans are set here.
	Introspection introspect.Config

	FilterByUser   bool          // yarn.webapp.filter-entity-list-by-user
	SubmissionsOff bool          // yarn.webapp.enable-rest-app-submissions=false
	Largest        yarn.Resource // the largest container

	// ProxyFrom is the local address from which the proxy connects to masters, whose
	// filters accept only the ResourceManager's webapp address; nil leaves it to the
	// kernel. See proxy.LocalAddress.
	ProxyFrom net.IP
	// ProxyOff leaves /proxy out: another daemon serves it (yarn.web-proxy.address is set), or another port of this one. Then no
	// application's page has this port's origin, and the web interface may change things.
	ProxyOff bool
	// ChangesAt is the address of the port where the web interface may change things if it may not here, as http://host:port; ""
	// if there is none.
	ChangesAt string
	// LogService is where collected logs are served (yarn.log.server.web-service.url); "" if nowhere.
	LogService string
	// OwnPort and NodeAddresses are Own and Addresses of proxy.Config. Logs are fetched from no port of this daemon either.
	OwnPort       func(port uint16) bool
	NodeAddresses func(host string) []netip.Addr
	// ActivePages is where the active ResourceManager serves its pages, as
	// http://host:port, and "" while none is known; it is asked while this one is a
	// standby. Without it a standby refuses what only the active one has.
	ActivePages func(context.Context) string
	// Apps are Apache's own web interfaces.
	Apps []App
}

// App is a web application below a path of its own.
type App struct {
	Prefix      string // as /ui2
	Property    string // asks for it
	*webapp.App        // nil if it could not be read
}

func (a App) handler() http.Handler {
	if a.App != nil {
		return a.App.Handler(a.Prefix)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer.Plain(w, http.StatusNotFound, "The web interface that "+a.Property+" asks for could not be read: the ResourceManager's log says why.")
	})
}

func (c Config) complete() (Config, error) {
	switch {
	case c.Source == nil || c.Controller == nil:
		return c, errors.New("web: a Source and a Controller are needed")
	case c.Address == "":
		return c, errors.New("web: no address: tracking links need yarn.resourcemanager.webapp.address with the real port")
	}
	c.Open, c.Foreign, c.Pages = "/isActive", "/proxy", c.ProxyOff
	c.Config = c.Config.Complete()
	return c, nil
}

func (c Config) links() access.Links {
	scheme := "http"
	if c.HTTPS {
		scheme = "https"
	}
	return access.Links{Scheme: scheme, Address: c.Address}
}

// New is the handler of the whole port.
func New(c Config) (http.Handler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	c.Config.Changing = []string{rest.FormatPath, introspect.LevelChange}
	c.Traffic = &webgate.Traffic{}
	window, err := window.New()
	if err != nil {
		return nil, err
	}
	router := routes(c)
	router.Mount("/ui", window)
	for _, a := range c.Apps {
		router.Mount(a.Prefix, a.handler())
	}
	var all http.Handler = router
	if c.ActivePages != nil {
		daemon := func() access.Daemon { return c.Source.Daemon(context.Background()) }
		all = elsewhere.New(elsewhere.Config{Standby: func() bool { return daemon().HAState == "STANDBY" }, Active: c.ActivePages,
			Connection: func() string { return daemon().Connection }, Self: "http://" + c.Address}, all)
	}
	return webgate.New(c.Config, all), nil
}

func routes(c Config) *webgate.Router {
	r := webgate.NewRouter("/cluster", "The pages begin at /cluster, the web services at /ws/v1/cluster.")
	for _, route := range rest.Routes(rest.Config{
		Source: c.Source, Controller: c.Controller, Links: c.links(), Version: c.Version,
		FilterByUser: c.FilterByUser, SubmissionsOff: c.SubmissionsOff, Largest: c.Largest, Changes: c.Pages, ChangesAt: c.ChangesAt, Now: c.Now, Log: c.Log,
		Logs: nodelogs.New(c.links().Scheme, c.LogService, c.OwnPort),
	}) {
		r.Add(route.Method, route.Pattern, route.Handler)
	}
	for _, page := range ui.Routes(ui.Config{
		Source: c.Source, Links: c.links(), Version: c.Version.Number, FilterByUser: c.FilterByUser, Now: c.Now, Log: c.Log, Problems: c.Introspection.Problems,
	}) {
		r.Add(http.MethodGet, page.Pattern, page.Handler)
	}
	r.Add(http.MethodGet, "/isActive", active(c.Source))
	if i := c.Introspection; i.Properties != nil {
		i.Service, i.Means, i.Traffic, i.WebAddress = service, introspect.NewMeans(), c.Traffic, c.Address
		i.Beans = func(ctx context.Context) []introspect.Bean { return beans(ctx, c.Source, i.Means) }
		introspect.Add(r, i)
	}
	if !c.ProxyOff {
		r.Mount("/proxy", proxy.New(proxy.Config{Source: c.Source, Links: c.links(), From: c.ProxyFrom,
			Own: c.OwnPort, Addresses: c.NodeAddresses, Log: c.Log}))
	}
	return r
}

// active tells load balancers whether this ResourceManager is the active one.
func active(s access.Source) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		if s.Daemon(r.Context()).HAState != "ACTIVE" {
			answer.Plain(w, http.StatusMethodNotAllowed, "I am not Active!")
			return
		}
		w.Header().Set("Content-Type", "text/plain;charset=utf-8")
		_, _ = w.Write([]byte("I am Active!"))
	}
}
