// Package rest serves the ResourceManager's web services, /ws/v1/cluster, in the forms
// of Hadoop 3.5.0. It reads published views; changes go through the Controller. Package
// webgate has decided who the caller is.
package rest

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/nodelogs"
	"github.com/heddle-project/heddle/yarn"
)

// Prefix is the path of all services.
const Prefix = "/ws/v1/cluster"

// Config is what the services need.
type Config struct {
	Source     access.Source
	Controller access.Controller
	Links      access.Links
	Version    Version
	// FilterByUser hides applications that the caller may not view instead of
	// blanking their details (yarn.webapp.filter-entity-list-by-user).
	FilterByUser bool
	// SubmissionsOff refuses new applications
	// (yarn.webapp.enable-rest-app-submissions=false).
	SubmissionsOff bool
	Largest        yarn.Resource // that a submission over REST may ask for its master: the largest container
	// Changes tells whether pages of this port may change things, see webgate.Config; where they may not, ChangesAt is
	// the address of the web interface at the port where they may, "" if there is none.
	Changes   bool
	ChangesAt string
	Logs      *nodelogs.Client // of containers; required
	Now       func() time.Time
	Log       *slog.Logger
}

// Version is the version in /info.
type Version struct {
	Number string // the Hadoop version that clients may expect: 3.5.0
	Build  string // with revision and checksum
	Date   string
}

// Route is one operation.
type Route struct {
	Method  string
	Pattern string // of a http.ServeMux, without method
	Handler http.HandlerFunc
}

type server struct {
	Config
	readers events.Places
	rows    rows          // of lists of applications
	rooms   chan struct{} // the place of the request for which headroom is computed
}

// Routes are all operations. GET routes also serve HEAD.
func Routes(c Config) []Route {
	s := &server{Config: c, rooms: make(chan struct{}, 1)}
	table := []struct {
		method, path string
		do           answer.Handler
	}{
		{"GET", "", s.info},
		{"GET", "/info", s.info},
		{"GET", "/metrics", s.metrics},
		{"GET", "/metrics/past", s.past},
		{"GET", "/userinfo", s.userInfo},
		{"GET", "/session", s.session},
		{"GET", "/app-list", s.appList},
		{"GET", "/node-list", s.nodeList},
		{"GET", "/node-map", s.nodeMap},
		{"GET", "/scheduler", s.scheduler},
		{"POST", "/scheduler/logs", s.logScheduler},
		{"GET", "/scheduler/activities", s.activities},
		{"GET", "/scheduler/app-activities/{app}", s.appActivities},
		{"GET", "/scheduler/bulk-activities", s.bulkActivities},
		{"GET", "/scheduler-overview", s.overview},
		{"GET", "/nodes", s.nodes},
		{"GET", "/nodes/{node}", s.node},
		{"GET", "/drains", s.drains},
		{"POST", "/drains", s.drain},
		{"DELETE", "/drains", s.undrain},
		{"GET", "/get-node-labels", s.labels},
		{"GET", "/get-rm-node-labels", s.partitions},
		{"GET", "/get-node-to-labels", s.nodesToLabels},
		{"GET", "/label-mappings", s.labelsToNodes},
		{"GET", "/nodes/{node}/get-labels", s.nodeLabels},
		{"POST", "/refresh/queues", s.refresh(access.RefreshQueues)},
		{"POST", "/refresh/nodes", s.refresh(access.RefreshNodes)},
		{"GET", "/recording", s.recording},
		{"PUT", "/recording", s.setRecording},
		{"POST", "/add-node-labels", s.addLabels},
		{"POST", "/remove-node-labels", s.removeLabels},
		{"POST", "/replace-node-to-labels", s.replaceLabels},
		{"POST", "/nodes/{node}/replace-labels", s.replaceNodeLabels},
		{"GET", "/apps", s.apps},
		{"POST", "/apps", s.submit},
		{"POST", "/apps/new-application", s.newApplication},
		{"POST", "/containers/{container}/signal/{command}", s.signal},
		{"POST", "/nodes/{node}/resource", s.resize},
		{"POST", "/delegation-token", s.newToken},
		{"POST", "/delegation-token/expiration", s.noTokens},
		{"DELETE", "/delegation-token", s.noTokens},
		{"GET", "/preemptions", s.preemptions},
		{"GET", "/headroom", s.headroom},
		{"GET", "/waiting-times", s.waitingTimes},
		{"GET", "/scheduler-conf", s.queueConf},
		{"PUT", "/scheduler-conf", s.changeQueueConf},
		{"POST", "/scheduler-conf/validate", s.checkQueueConf},
		{"GET", "/scheduler-conf/version", s.queueConfVersion},
		{"GET", "/scheduler-conf/format", s.formatQueueConf},
		{"GET", "/scheduler-conf/history", s.queueHistory},
		{"GET", "/scheduler-conf/diff", s.queueDiff},
		{"PUT", "/scheduler-conf/apply", s.applyQueueConf},
		{"POST", "/scheduler-conf/plan", s.planQueueConf},
		{"PUT", "/scheduler-conf/rollback", s.rollbackQueueConf},
		{"PUT", "/scheduler-conf/confirm", s.confirmQueueConf},
		{"GET", "/queues", s.queues},
		{"GET", "/queues/{queue...}", s.oneQueue},
		{"DELETE", "/queues/{queue...}", s.deleteQueue},
		{"GET", "/queues/{queue}/access", s.queueAccess},
		{"GET", "/queues/{queue}/settings", s.queueSettings},
		{"GET", "/containers/{container}/logs", s.logFiles},
		{"GET", "/containers/{container}/logs/{file}", s.logTail},
		{"POST", "/reservation/new-reservation", s.newReservation},
		{"POST", "/reservation/submit", s.submitReservation},
		{"POST", "/reservation/update", s.updateReservation},
		{"POST", "/reservation/delete", s.deleteReservation},
		{"GET", "/reservation/list", s.reservations},
		{"GET", "/appstatistics", s.statistics},
		{"GET", "/apps/{app}", s.app},
		{"GET", "/apps/{app}/why", s.why},
		{"GET", "/apps/{app}/appattempts", s.attempts},
		{"GET", "/apps/{app}/appattempts/{attempt}", s.attempt},
		{"GET", "/apps/{app}/appattempts/{attempt}/containers", s.containers},
		{"GET", "/apps/{app}/appattempts/{attempt}/containers/{container}", s.container},
		{"GET", "/apps/{app}/state", s.state},
		{"PUT", "/apps/{app}/state", s.setState},
		{"GET", "/apps/{app}/queue", s.queue},
		{"PUT", "/apps/{app}/queue", s.setQueue},
		{"GET", "/apps/{app}/priority", s.priority},
		{"PUT", "/apps/{app}/priority", s.setPriority},
		{"GET", "/apps/{app}/timeouts", s.timeouts},
		{"GET", "/apps/{app}/timeouts/{type}", s.timeout},
		{"PUT", "/apps/{app}/timeout", s.setTimeout},
	}
	routes := make([]Route, 0, len(table))
	for _, row := range table {
		most := int64(answer.MaxBody)
		if row.path == "/scheduler-conf/apply" || row.path == "/scheduler-conf/plan" {
			most = answer.MaxLargeBody
		}
		do := row.do
		if row.method == http.MethodGet {
			do = func(r *http.Request) (*answer.Response, error) { return row.do(access.WithAge(r)) }
		}
		routes = append(routes, Route{row.method, Prefix + row.path, answer.ServeUpTo(s.Log, most, do)})
	}
	return append(routes, Route{"GET", Prefix + "/events", s.events})
}

// now is the time in milliseconds since 1970.
func (s *server) now() int64 { return s.Now().UnixMilli() }

func badRequest(format string, args ...any) error {
	return answer.Errorf(answer.Invalid, format, args...)
}

func notFound(format string, args ...any) error {
	return answer.Errorf(answer.NotFound, format, args...)
}
