package logserver

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/heddle-project/heddle/internal/aggregated"
	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/filesystem"
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/internal/pages"
	"github.com/heddle-project/heddle/internal/webgate"
)

// prefix is the path below which the web services lie.
const prefix = "/ws/v1/history"

// server answers the requests of the port.
type server struct {
	layouts []aggregated.Layout
	connect func(context.Context, filesystem.URL) (filesystem.FileSystem, error)
	mayView func(c webgate.Caller, owner string, lists []aggregated.ACL) bool
	user    string // whom the daemon runs as
	started time.Time
	home    string // the ResourceManager's pages
	log     *slog.Logger
	places  chan struct{}
	queries chan struct{} // places among them for extended queries
	drawer
}

func (s *server) routes(about introspect.Config) *webgate.Router {
	r := webgate.NewRouter("/jobhistory", "Collected logs are at /jobhistory/logs/<node>/<container>/<entity>/<user>, the web services at "+prefix+".")
	for path, do := range map[string]answer.Handler{
		"":                             s.info,
		"/info":                        s.info,
		"/containers/{container}/logs": s.containerLogs,
		"/aggregatedlogs":              s.aggregatedLogs,
		"/remote-log-dir":              s.remoteLogDir,
		"/extended-log-query":          s.extendedQuery,
		"/mapreduce/{rest...}":         unbuilt,
	} {
		r.Add(http.MethodGet, prefix+path, answer.Serve(s.log, do))
	}
	r.Add(http.MethodGet, prefix+"/containerlogs/{container}/{file}", s.logFile)
	r.Add(http.MethodGet, prefix+"/containers/{container}/logs/{file}", s.logFile) // where NodeManagers lead to
	r.Add(http.MethodGet, "/jobhistory", s.page(s.homePage))
	r.Add(http.MethodGet, "/jobhistory/{rest...}", s.page(s.otherPage))
	r.Add(http.MethodGet, "/jobhistory/logs/{node}/{container}/{entity}/{user}", s.logsPage)
	r.Add(http.MethodGet, "/jobhistory/logs/{node}/{container}/{entity}/{user}/{file}", s.logsPage)
	r.Add(http.MethodGet, pages.StylePath, pages.Style)
	introspect.Add(r, about)
	return r
}

// unbuilt answers what belongs to the history of MapReduce's jobs.
func unbuilt(*http.Request) (*answer.Response, error) {
	return nil, answer.Errorf(answer.NotBuilt, "this server has collected logs, and no history of MapReduce jobs: run the JobHistoryServer of Hadoop for that")
}
