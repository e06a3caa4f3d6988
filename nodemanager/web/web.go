// Package web serves the NodeManager's HTTP port: the web services below
// /ws/v1/node, the pages below /node, containers' log files in both, and what the
// daemon tells about itself (introspect). All requests pass the gate that every
// daemon has; nothing here changes the node.
//
// Everything shown comes from views; log files are opened by package logs, which
// keeps names inside their directories.
package web

import (
	"context"
	"errors"
	"net/http"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/logs"
	"github.com/heddle-project/heddle/nodemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

// Source is what can be read of the node. All of it is immutable, and nothing
// waits for anything.
type Source interface {
	Node() view.Node
	// Applications and Containers are sorted by their ids.
	Applications() []view.Application
	Application(yarn.ApplicationID) (view.Application, bool)
	Containers() []view.Container
	Container(yarn.ContainerID) (view.Container, bool)
	Metrics() view.Metrics
	// MayView tells whether the caller may see an application's logs: VIEW_APP.
	// Always true without yarn.acl.enable.
	MayView(webgate.Caller, view.Application) bool
	// ReadLogs is told who reads a container's log files; err is why he may not.
	ReadLogs(who webgate.Caller, id yarn.ContainerID, err error)
}

// Version is what /info says of the software.
type Version struct {
	Number string // the Hadoop version that clients may expect: 3.5.0
	Build  string // with revision and checksum
	Date   string
}

// Config is what the server needs. Source and Logs are required.
type Config struct {
	webgate.Config
	Source  Source
	Logs    *logs.Files
	Version Version
	// ResourceManager is the address of its pages, http://host:port; empty for no
	// link.
	ResourceManager string
	// Introspection is what /conf, /jmx, /prom and /stacks need; without
	// Properties they are not served. Service and Beans are set here.
	Introspection introspect.Config

	FilterByUser bool   // yarn.webapp.filter-entity-list-by-user
	Aggregation  bool   // yarn.log-aggregation-enable
	LogServer    string // yarn.log.server.url, where people see collected logs
	LogService   string // yarn.log.server.web-service.url, where programs do
}

// server answers the requests of the port.
type server struct {
	Config
	drawer
}

// New is the handler of the whole port.
func New(c Config) (http.Handler, error) {
	if c.Source == nil || c.Logs == nil {
		return nil, errors.New("web: a Source and Logs are needed")
	}
	c.CookieKind = webgate.Simple
	c.Config = c.Config.Complete()
	return webgate.New(c.Config, routes(c)), nil
}

// service is the daemon's name in /jmx and /prom.
const service = "NodeManager"

// prefix is the path below which the web services lie.
const prefix = "/ws/v1/node"

func routes(c Config) *webgate.Router {
	s := &server{Config: c, drawer: newDrawer()}
	r := webgate.NewRouter("/node", "The pages begin at /node, the web services at "+prefix+".")
	for path, do := range map[string]answer.Handler{
		"":                             s.info,
		"/info":                        s.info,
		"/apps":                        s.apps,
		"/apps/{app}":                  s.app,
		"/containers":                  s.containers,
		"/containers/{container}":      s.container,
		"/containers/{container}/logs": s.logFiles,
		"/resources/{name}":            s.resource,
		"/resources/{unit}/{name}":     s.resource, // as yarn.io%2Fgpu, for which UI2 asks
		"/auxiliaryservices":           s.auxiliary,
	} {
		r.Add(http.MethodGet, prefix+path, answer.Serve(c.Log, do))
	}
	r.Add(http.MethodPut, prefix+"/auxiliaryservices", answer.Serve(c.Log, s.auxiliary))
	r.Add(http.MethodGet, prefix+"/containers/{container}/logs/{file}", s.logFile)
	r.Add(http.MethodGet, prefix+"/containerlogs/{container}/{file}", s.logFile)
	for path, do := range map[string]draw{
		"/node":                                         s.nodePage,
		"/node/node":                                    s.nodePage,
		"/node/allApplications":                         s.applicationsPage,
		"/node/allContainers":                           s.containersPage,
		"/node/errors-and-warnings":                     s.problemsPage,
		"/node/application/{app}":                       s.applicationPage,
		"/node/container/{container}":                   s.containerPage,
		"/node/containerlogs/{container}/{user}":        s.logsPage,
		"/node/containerlogs/{container}/{user}/{file}": s.logPage,
	} {
		r.Add(http.MethodGet, path, s.page(do))
	}
	r.Add(http.MethodGet, pages.StylePath, pages.Style)
	if i := c.Introspection; i.Properties != nil {
		i.Service = service
		i.Beans = func(context.Context) []introspect.Bean { return beans(c.Source.Metrics()) }
		introspect.Add(r, i)
	}
	return r
}
