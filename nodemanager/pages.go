package nodemanager

import (
	"path"
	"time"

	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/web"
	"github.com/heddle-project/heddle/wire/activity"
)

// preparePages makes the server of the web port.
func (d *Daemon) preparePages() error {
	w := &d.settings.Web
	log := d.Log.With("logger", "web")
	traffic := &webgate.Traffic{}
	x := &w.CrossOrigin
	cors, err := webgate.NewCORS(x.Origins, x.Methods, x.Headers, x.MaxAge)
	if err != nil {
		return err
	}
	handler, err := web.New(web.Config{Source: d, Logs: &d.logs.files, FilterByUser: w.FilterByUser,
		Config: webgate.Config{StaticUser: w.StaticUser, AnonymousRefused: !w.SimpleAnonymous, AnonymousWrites: w.AnonymousWrites,
			Secret: webgate.Secret(w.SignatureSecretFile, log), CookieLife: w.CookieLife, FrameOptions: w.FrameOptions,
			CSRF: webgate.CSRF{Enabled: w.CSRF.Enabled, Header: w.CSRF.Header, Ignore: w.CSRF.IgnoreMethods, UserAgents: w.CSRF.BrowserAgents}, CORS: cors, Log: log,
			Changing: []string{introspect.LevelChange}, Traffic: traffic},
		Introspection: introspect.Config{Properties: d.properties, Sensitive: w.Introspection.Sensitive, AdminOnly: w.Introspection.AdminOnly,
			Admin: d.access.isAdmin, PrometheusOff: !w.Introspection.Prometheus, StartedAt: time.UnixMilli(d.started), Log: log, LogDir: d.LogDir,
			More: d.moreBeans, Traffic: traffic, WebAddress: d.ports.web.Addr().String()},
		Version:         web.Version{Number: release.Hadoop, Build: "Heddle"},
		ResourceManager: "http://" + w.ResourceManager.String(),
		Aggregation:     d.settings.Logs.Aggregate, LogServer: d.settings.Logs.ServerURL, LogService: d.settings.Logs.ServiceURL})
	if err != nil {
		return err
	}
	d.ports.pages = webgate.NewServer(handler, log)
	return nil
}

// moreBeans are the metrics of the ports of RPC and of lookups of groups.
func (d *Daemon) moreBeans(m *introspect.Means) []introspect.Bean {
	names := map[string]string{"containers": "ContainerManagementProtocolService", "localizer": "LocalizationProtocolService"}
	var ports []activity.Port
	for _, s := range d.ports.rpc {
		ports = append(ports, activity.Port{Server: s, Name: names[s.Name()]})
	}
	n, took := d.access.groups.Lookups()
	return append(activity.Beans("NodeManager", ports, m), m.GroupsBean("NodeManager", n, took))
}

func (d *Daemon) properties() []introspect.Property {
	var out []introspect.Property
	for _, v := range d.site.All() {
		out = append(out, introspect.Property{Name: v.Name, Raw: v.Raw, Value: v.Value, Source: path.Base(v.Origin.File), Final: v.Final})
	}
	return out
}
