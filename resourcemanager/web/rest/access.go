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

// The rights on a queue, as callers name them.
const (
	submitRight     = "SUBMIT_APPLICATIONS"
	administerRight = "ADMINISTER_QUEUE"
)

// queueAccess tells a queue's administrators what somebody may do there.
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
		// compat: clients know this sentence.
		return nil, answer.Errorf(answer.Forbidden, "User=%s doesn't haven access to queue=%s so it cannot check ACLs for other users.", c.User, name)
	}
	user, right := q.Get("user"), submitRight
	if user == "" {
		return nil, answer.IllegalArgument("Null user") // compat: what Java says of a missing name
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

// nearestQueue is the queue with that path or, if only one has it, that name. In
// place of a path that begins at the root and leads nowhere stands the nearest
// queue above it.
func nearestQueue(all *queue.Snapshot, name string) (path string, ok bool) {
	if only := all.Only(); only != nil {
		return only.Path, true
	}
	if path, ok = findQueue(all, name); ok || !strings.HasPrefix(name, queue.Root+".") {
		return path, ok
	}
	for !ok && name != "" {
		name = queue.ParentPath(name)
		_, ok = all.ByPath(name)
	}
	return name, ok
}
