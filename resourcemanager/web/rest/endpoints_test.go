package rest_test

import (
	"slices"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/web/rest"
)

// TestEndpointsOfHadoop: every web service that Apache's ResourceManager has is one here.
func TestEndpointsOfHadoop(t *testing.T) {
	have := map[string]bool{}
	for _, r := range rest.Routes(rest.Config{}) {
		have[r.Method+" "+r.Pattern] = true
	}
	const app, attempt = "/apps/{app}", "/apps/{app}/appattempts/{attempt}"
	for method, paths := range map[string][]string{
		"GET": {"", "/info", "/userinfo", "/metrics", "/scheduler", "/scheduler-overview", "/scheduler-conf", "/scheduler-conf/version", "/scheduler-conf/format", "/nodes", "/nodes/{node}",
			"/nodes/{node}/get-labels", "/apps", app, app + "/appattempts", attempt, attempt + "/containers", attempt + "/containers/{container}", app + "/state", app + "/queue",
			app + "/priority", app + "/timeouts", app + "/timeouts/{type}", "/appstatistics", "/scheduler/activities", "/scheduler/bulk-activities", "/scheduler/app-activities/{app}",
			"/get-node-to-labels", "/label-mappings", "/get-node-labels", "/get-rm-node-labels", "/reservation/list", "/queues/{queue}/access"},
		"POST": {"/apps", "/apps/new-application", "/scheduler/logs", "/scheduler-conf/validate", "/nodes/{node}/resource", "/nodes/{node}/replace-labels", "/replace-node-to-labels",
			"/add-node-labels", "/remove-node-labels", "/delegation-token", "/delegation-token/expiration", "/reservation/new-reservation", "/reservation/submit", "/reservation/update",
			"/reservation/delete", "/containers/{container}/signal/{command}"},
		"PUT":    {"/scheduler-conf", app + "/state", app + "/queue", app + "/priority", app + "/timeout"},
		"DELETE": {"/delegation-token"},
	} {
		for _, path := range slices.Sorted(slices.Values(paths)) {
			if !have[method+" "+rest.Prefix+path] {
				t.Errorf("there is no %s %s", method, path)
			}
		}
	}
}
