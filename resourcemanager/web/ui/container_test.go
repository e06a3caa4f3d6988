package ui

import (
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestContainerState: what runs is RUNNING on every page that speaks of it.
func TestContainerState(t *testing.T) {
	h := serve(webtest.New(), false)
	rows := tableWith(t, get(h, "/cluster/appattempt/appattempt_1795305251364_0006_000001").Body.String(), "Live containers").column(t, "State")
	if len(rows) != 4 || strings.Join(rows, " ") != "RUNNING RUNNING RUNNING RUNNING" {
		t.Errorf("states of containers: %v", rows)
	}
	if body := get(h, "/cluster/container/container_1795305251364_0006_01_000001").Body.String(); !strings.Contains(body, "<dt>Container State:</dt><dd>RUNNING</dd>") {
		t.Errorf("the container's page says another state:\n%s", body)
	}
}
