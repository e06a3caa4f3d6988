package resourcemanager

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// page reads an address of the web port.
func (w *world) page(path string, status int) string {
	w.t.Helper()
	r, err := http.Get("http://" + w.d.webAddr + path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != status {
		w.t.Fatalf("%s: %d, %v\n%s", path, r.StatusCode, err, body)
	}
	return string(body)
}

// TestQueueAccessIsAnswered by the lists of the queue and of those above it.
func TestQueueAccessIsAnswered(t *testing.T) {
	w := newWorld(t, `
		root.queues                      default,team
		root.acl_submit_applications     NOBODY
		root.acl_administer_queue        NOBODY
		root.default.capacity            50
		root.team.queues                 a,b
		root.team.capacity               50
		root.team.acl_administer_queue   ann
		root.team.a.capacity             50
		root.team.a.acl_submit_applications bob
		root.team.b.capacity             50`, "yarn.acl.enable", "true", "yarn.admin.acl", operator)
	for path, want := range map[string]string{
		"root.team.a/access?user.name=ann&user=bob":                                         "true",
		"a/access?user.name=ann&user=bob":                                                   "true",
		"a/access?user.name=ann&user=bob&queue-acl-type=ADMINISTER_QUEUE":                   "false",
		"root.team.a/access?user.name=ann&user=ann&queue-acl-type=ADMINISTER_QUEUE":         "true",
		"root.team.b/access?user.name=ann&user=bob":                                         "false",
		"root.team.not.there/access?user.name=ann&user=ann&queue-acl-type=ADMINISTER_QUEUE": "true",
	} {
		if got := w.page("/ws/v1/cluster/queues/"+path, 200); !strings.Contains(got, `"allowed":`+want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	for _, path := range []string{"root.team.a/access?user.name=bob&user=bob", "root.default/access?user.name=ann&user=ann", "nowhere/access?user.name=ann&user=ann",
		"root.team.a/access?user=bob"} {
		w.page("/ws/v1/cluster/queues/"+path, 403)
	}
}
