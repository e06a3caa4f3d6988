package rest

import (
	"net/http"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// The values of queue-acl-type.
const (
	submitRight     = "SUBMIT_APPLICATIONS"
	administerRight = "ADMINISTER_QUEUE"
)

// queueAccess tells a queue's administrators whether a user has a right on it.
func (s *server) queueAccess(r *http.Request) (*answer.Response, error) {
	all, err := s.Source.Cluster(r.Context(), view.Queues)
	if err != nil {
		return nil, err
	}
	name, q := r.PathValue("queue"), r.URL.Query()
	path, known := nearestQueue(all.Queues, name)
	rights := func(c webgate.Caller) access.QueueRights {
		if !known {
			return access.QueueRights{}
		}
		return s.Source.QueueRights(c, path)
	}
	if c := webgate.From(r.Context()); !rights(c).Administer {
		// compat: Apache's text.
		return nil, answer.Errorf(answer.Forbidden, "User=%s doesn't haven access to queue=%s so it cannot check ACLs for other users.", c.User, name)
	}
	user, right := q.Get("user"), submitRight
	if user == "" {
		return nil, answer.IllegalArgument("Null user") // compat: Java's text for a missing name
	}
	if q.Has("queue-acl-type") {
		right = q.Get("queue-acl-type")
	}
	has := rights(webgate.Caller{User: user})
	allowed := has.Submit
	switch right {
	case submitRight:
	case administerRight:
		allowed = has.Administer
	default:
		return nil, badRequest("Specified queueAclType=%s is not a valid type, valid queue acl types={SUBMIT_APPLICATIONS/ADMINISTER_QUEUE}", right)
	}
	why := ""
	if !allowed {
		why = "User=" + user + " doesn't have access to queue=" + name + " with acl-type=" + right
	}
	return answer.Wrapped("rmQueueAclInfo", tree.New().Add("allowed", allowed).Add("user", user).Add("diagnostics", why)), nil
}

// nearestQueue is the queue with that path or, if only one queue has it, that short
// name. For a path below the root without a queue it is the nearest queue above.
func nearestQueue(all *queue.Snapshot, name string) (path string, ok bool) {
	if only := all.Only(); only != nil {
		return only.Path, true
	}
	if q, found := all.Find(name); found {
		return q.Path, true
	}
	if !strings.HasPrefix(name, queue.Root+".") {
		return "", false
	}
	for !ok && name != "" {
		name = queue.ParentPath(name)
		_, ok = all.ByPath(name)
	}
	return name, ok
}
