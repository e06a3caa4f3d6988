package rest_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
)

// TestQueueAccess: alice, who asks, administers root.prod and root.dev.
func TestQueueAccess(t *testing.T) {
	s := webtest.New()
	both := access.QueueRights{Submit: true, Administer: true}
	s.Rights = map[string]access.QueueRights{"alice root.prod": both, "alice root.prod.adhoc": both, "alice root.dev": both, "alice root.prod.etl": {Submit: true},
		"bob root.prod.adhoc": {Submit: true}, "carol root.prod": {Administer: true}}
	h := serve(t, s, &webtest.Controller{})
	const form = `{"rmQueueAclInfo":{"allowed":%a,"user":"%u","diagnostics":"%d"}}`
	answer := func(allowed, user, why string) string {
		return strings.NewReplacer("%a", allowed, "%u", user, "%d", why).Replace(form)
	}
	for _, x := range []struct {
		path   string
		status int
		body   string // what it holds; the whole of it with status 200
	}{
		{"root.prod.adhoc/access?user=bob", 200, answer("true", "bob", "")},
		{"root.prod.adhoc/access?user=bob&queue-acl-type=SUBMIT_APPLICATIONS", 200, answer("true", "bob", "")},
		{"adhoc/access?user=bob", 200, answer("true", "bob", "")},
		{"adhoc/access?user=bob&queue-acl-type=ADMINISTER_QUEUE", 200, answer("false", "bob", "User=bob doesn't have access to queue=adhoc with acl-type=ADMINISTER_QUEUE")},
		{"root.dev/access?user=bob", 200, answer("false", "bob", "User=bob doesn't have access to queue=root.dev with acl-type=SUBMIT_APPLICATIONS")},
		{"root.prod.not.made.yet/access?user=carol&queue-acl-type=ADMINISTER_QUEUE", 200, answer("true", "carol", "")},
		{"root.dev/access", 400, `"message":"Null user","javaClassName":"java.lang.IllegalArgumentException"`},
		{"root.dev/access?user=", 400, "Null user"},
		{"root.dev/access?user=bob&queue-acl-type=submit_applications", 400, "Specified queueAclType=submit_applications is not a valid type"},
		{"root.dev/access?user=bob&queue-acl-type=", 400, "Specified queueAclType= is not a valid type"},
		{"root.prod.etl/access?user=bob", 403, "User=alice doesn't haven access to queue=root.prod.etl so it cannot check ACLs for other users."},
		{"root.prod.etl/access?queue-acl-type=BOGUS", 403, "User=alice doesn't haven access to queue=root.prod.etl"},
		{"nowhere/access?user=bob", 403, "User=alice doesn't haven access to queue=nowhere"},
		{"prod.adhoc/access?user=bob", 403, "User=alice doesn't haven access to queue=prod.adhoc"},
		{"root.nowhere/access?user=bob", 403, "User=alice doesn't haven access to queue=root.nowhere"}, // that is, to the root
	} {
		w := get(h, "/queues/"+x.path, "")
		if w.Code != x.status || !strings.Contains(w.Body.String(), x.body) || x.status == http.StatusOK && w.Body.String() != x.body {
			t.Errorf("%s: %d %s", x.path, w.Code, w.Body)
		}
	}
}
