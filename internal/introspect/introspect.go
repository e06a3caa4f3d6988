// Package introspect serves what every daemon tells about itself over HTTP:
// /jmx and /prom (its metrics), /conf (its configuration, without secrets), /stacks (what
// its goroutines do), /logLevel (the levels of its loggers, which can be changed there) and /logs (its own log
// files). The addresses and forms are Hadoop's, so that
// a monitoring system for Hadoop can scrape these daemons. Each daemon decides which
// metrics it has.
package introspect

import (
	"context"
	"log/slog"
	"net/http"
	"os"
	"runtime/pprof"
	"slices"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/logs"
	"github.com/heddle-project/heddle/internal/webgate"
)

// Config is what is told. Service and Properties are required.
type Config struct {
	// Service is the daemon's name in the names of beans: "NodeManager".
	Service string
	// Beans are the daemon's own metrics at this moment; those of its process are
	// added. nil: there are none.
	Beans func(context.Context) []Bean
	// More are further beans; nil: there are none. Traffic is that of the web port, whose address is WebAddress, host:port.
	More       func(*Means) []Bean
	Traffic    *webgate.Traffic
	WebAddress string
	Means      *Means // nil: Add makes them
	// Properties is the configuration in force.
	Properties func() []Property
	// Sensitive are regular expressions of names whose values are not told
	// (hadoop.security.sensitive-config-keys). See Secrets.
	Sensitive []string
	// Admin tells who administers the daemon (yarn.admin.acl). nil: nobody.
	Admin func(webgate.Caller) bool
	// AdminOnly keeps everything here for administrators
	// (hadoop.security.instrumentation.requires.admin); otherwise only /stacks is.
	AdminOnly bool
	// PrometheusOff leaves /prom out (hadoop.prometheus.endpoint.enabled=false).
	PrometheusOff bool

	// LogDir is where the daemon's log files are; "": they are not shown.
	LogDir string

	StartedAt time.Time
	Log       *slog.Logger // nil: discarded; its levels can be changed if it has logs.Levels
}

// Add makes the routes.
func Add(r *webgate.Router, c Config) {
	s := newServer(c)
	r.Add(http.MethodGet, "/jmx", s.allowed(c.AdminOnly, s.jmx))
	r.Add(http.MethodGet, "/conf", s.allowed(c.AdminOnly, s.conf))
	r.Add(http.MethodGet, "/stacks", s.allowed(true, s.stacks))
	if levels := logs.LevelsOf(c.Log); levels != nil {
		r.Add(http.MethodGet, levelPath, s.allowed(c.AdminOnly, func(w http.ResponseWriter, r *http.Request) { s.logLevel(levels, w, r) }))
	}
	if c.LogDir != "" {
		r.Add(http.MethodGet, "/logs", s.allowed(true, s.logFiles))
		r.Add(http.MethodGet, "/logs/{file}", s.allowed(true, s.logFile))
	}
	if !c.PrometheusOff {
		r.Add(http.MethodGet, "/prom", s.allowed(c.AdminOnly, s.prom))
	}
}

type server struct {
	Config
	host    string
	secrets *Secrets
}

func newServer(c Config) *server {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.StartedAt.IsZero() {
		c.StartedAt = time.Now()
	}
	if c.Means == nil {
		c.Means = NewMeans()
	}
	s := &server{Config: c}
	s.host, _ = os.Hostname()
	var bad []string
	s.secrets, bad = NewSecrets(c.Sensitive)
	for _, text := range bad {
		c.Log.Warn("the expression is not understood, so that /conf tells no value at all", "property", "hadoop.security.sensitive-config-keys", "expression", text)
	}
	return s
}

// allowed lets only administrators through, if that is wanted. An anonymous caller
// is no administrator, whatever the access list says.
func (s *server) allowed(adminOnly bool, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if adminOnly && !s.administers(r) {
			webgate.Refuse(w, r, answer.Errorf(answer.Forbidden,
				"This page is for administrators (yarn.admin.acl): say who you are with ?user.name=<you>. %s is none.", webgate.From(r.Context()).User))
			return
		}
		h(w, r)
	}
}

func (s *server) administers(r *http.Request) bool {
	caller := webgate.From(r.Context())
	return !caller.Anonymous && s.Admin != nil && s.Admin(caller)
}

// beans are the daemon's and those of its process. Metrics bear the host's name.
func (s *server) beans(ctx context.Context) []Bean {
	out := processBeans(s.Service, s.StartedAt)
	if s.More != nil {
		out = append(out, s.More(s.Means)...)
	}
	if s.Traffic != nil {
		out = append(out, httpBean(s.Service, s.WebAddress, s.Traffic.Stats(), s.StartedAt))
	}
	if s.Beans != nil {
		out = append(out, s.Beans(ctx)...)
	}
	for i := range out {
		at := slices.IndexFunc(out[i].Attributes, func(a Attribute) bool { return a.Name == "tag.Context" })
		if at >= 0 {
			out[i].Attributes = slices.Insert(slices.Clone(out[i].Attributes), at+1, Attribute{Name: "tag.Hostname", Value: s.host})
		}
	}
	return out
}

// stacks writes what every goroutine does. It holds no values of the program.
func (s *server) stacks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain;charset=utf-8")
	_ = pprof.Lookup("goroutine").WriteTo(w, 2)
}
