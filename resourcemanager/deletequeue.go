package resourcemanager

import (
	"context"
	"strings"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// deleteQueueOperation names the deletion of a queue in the audit log.
const deleteQueueOperation = "deleteQueue"

// DeleteQueue implements access.Controller.
func (t *term) DeleteQueue(ctx context.Context, c webgate.Caller, name string) (path string, err error) {
	who := identity(c)
	defer func() { t.auditAdmin(who, audit.Entry{Operation: deleteQueueOperation, Queue: name}, err) }()
	if c.Anonymous || !t.rights.IsAdmin(who) && !t.access.mayAdminister(who, fullPath(name)) {
		return "", answer.Errorf(answer.Unauthorized,
			"Deleting a queue is for administrators (yarn.admin.acl) and for those who may administer it (aclAdministerApps), if they say who they are. %s is neither.", c.User)
	}
	v, err := t.ask(ctx, func(k engine.Ticket) engine.Command { return engine.DeleteQueue{Ticket: k, Queue: name} })
	if err != nil {
		return "", err
	}
	path = v.(string)
	t.Log.Info("a queue was deleted on request", "queue", path, "user", c.User)
	return path, nil
}

// fullPath is the path of a queue that is named with or without the root.
func fullPath(name string) string {
	if name == queue.Root || strings.HasPrefix(name, queue.Root+".") {
		return name
	}
	return queue.Root + "." + name
}
