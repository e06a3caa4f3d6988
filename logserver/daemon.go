package logserver

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"path"
	"sync"
	"time"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/webgate"
)

// stopPatience bounds how long open connections may delay the end.
const stopPatience = 5 * time.Second

// Options say where the configuration is.
type Options struct {
	Load func() (*conf.Properties, error)
	User string // whom the daemon runs as, and reads and deletes collected logs as
	Log  *slog.Logger

	LogDir string // where the daemon's own logs are; "": they are not shown
}

// Daemon is a running server.
type Daemon struct {
	Options
	site     *conf.Properties
	settings *conf.LogServer
	started  time.Time
	layouts  []aggregated.Layout
	systems  *filesystem.Systems
	access   access
	rm       *client.Client // nil without deletion
	listener net.Listener
	server   *webgate.Server

	fatal chan error
	work  sync.WaitGroup
	quit  context.CancelFunc
	once  sync.Once
}

// Start reads the configuration and starts everything. On an error nothing is left running.
func Start(o Options) (started *Daemon, err error) {
	d := &Daemon{Options: o, started: time.Now(), fatal: make(chan error, 1)}
	ctx, quit := context.WithCancel(context.Background())
	d.quit = quit
	defer func() {
		if err != nil {
			d.Stop()
		}
	}()
	if err = d.read(); err != nil {
		return nil, err
	}
	if err = d.prepare(); err != nil {
		return nil, err
	}
	if d.listener, err = net.Listen("tcp", d.settings.Bind.String()); err != nil {
		return nil, fmt.Errorf("cannot open the web port (mapreduce.jobhistory.webapp.address): %w", err)
	}
	d.Log.Info("listening", "port", "web", "address", d.listener.Addr())
	d.work.Go(func() {
		if err := d.server.Serve(d.listener); err != nil {
			d.fatal <- err
		}
	})
	if d.settings.Retention.On {
		d.work.Go(func() { d.sweepAlways(ctx) })
	} else {
		d.Log.Info("collected logs are never deleted: that takes yarn.log-aggregation-enable and a number in yarn.log-aggregation.retain-seconds that is not negative")
	}
	return d, nil
}

func (d *Daemon) read() (err error) {
	if d.site, err = d.Load(); err != nil {
		return err
	}
	if d.settings, err = conf.ReadLogServer(d.site); err != nil {
		return err
	}
	if d.layouts, err = aggregated.ReadLayouts(d.site.Get); err != nil {
		return err
	}
	d.systems, err = filesystem.New(filesystem.Config{Default: d.settings.DefaultFS, Property: d.site.Get, Site: d.site.HDFSSite()})
	if err != nil {
		return err
	}
	for i, l := range d.layouts {
		d.layouts[i].Root = d.systems.Resolve(l.Root)
		if !d.systems.Serves(l.Root) {
			return fmt.Errorf("cannot read collected logs on %s: only Java programs can read %s; run the JobHistoryServer of Hadoop for them", l.Root, d.layouts[i].Root.Scheme)
		}
	}
	return nil
}

func (d *Daemon) prepare() (err error) {
	s := d.settings
	log := d.Log.With("logger", "web")
	if d.access, err = newAccess(s.Security, d.User, d.Log); err != nil {
		return err
	}
	if s.Retention.On {
		if d.rm, err = client.New(d.site, d.User, client.Options{CallerContext: "logserver"}); err != nil {
			return err
		}
	}
	x := &s.CrossOrigin
	cors, err := webgate.NewCORS(x.Origins, x.Methods, x.Headers, x.MaxAge)
	if err != nil {
		return err
	}
	gate := webgate.Config{StaticUser: s.StaticUser, AnonymousRefused: !s.SimpleAnonymous, Secret: webgate.Secret(s.SignatureSecretFile, log),
		CookieLife: s.CookieLife, FrameOptions: s.FrameOptions, CORS: cors, Log: log, Changing: []string{introspect.LevelChange}}
	about := introspect.Config{Service: "LogServer", Properties: d.properties, Sensitive: s.Introspection.Sensitive, AdminOnly: s.Introspection.AdminOnly,
		Admin: d.access.isAdmin, PrometheusOff: !s.Introspection.Prometheus, StartedAt: d.started, Log: log, LogDir: d.LogDir}
	v := &server{layouts: d.layouts, connect: d.connect, mayView: d.access.mayView, user: d.User, started: d.started, home: "http://" + s.ResourceManager.String(),
		log: log, drawer: newDrawer(), places: make(chan struct{}, maxLookups), queries: make(chan struct{}, maxQueries)}
	d.server = webgate.NewServer(webgate.New(gate, v.routes(about)), log)
	return nil
}

func (d *Daemon) connect(ctx context.Context, u filesystem.URL) (filesystem.FileSystem, error) {
	return d.systems.Connect(ctx, u, d.User)
}

func (d *Daemon) properties() []introspect.Property {
	var out []introspect.Property
	for _, v := range d.site.All() {
		out = append(out, introspect.Property{Name: v.Name, Raw: v.Raw, Value: v.Value, Source: path.Base(v.Origin.File), Final: v.Final})
	}
	return out
}

// Wait returns when ctx ends, or with what has ended the server.
func (d *Daemon) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-d.fatal:
		return err
	}
}

// Stop ends everything.
func (d *Daemon) Stop() { d.once.Do(d.stop) }

func (d *Daemon) stop() {
	d.quit()
	ctx, cancel := context.WithTimeout(context.Background(), stopPatience)
	defer cancel()
	if d.server != nil {
		if err := d.server.Stop(ctx); err != nil {
			d.Log.Warn("the web port did not close in time", "error", err)
		}
	}
	if d.listener != nil {
		_ = d.listener.Close() // the server has closed it if it had begun to serve
	}
	d.work.Wait()
	if d.rm != nil {
		_ = d.rm.Close()
	}
}
