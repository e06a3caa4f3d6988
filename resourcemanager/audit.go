package resourcemanager

import (
	"errors"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// Audit implements admin.Daemon.
func (p *process) Audit(c *ipc.Identity, operation string, err error) {
	p.auditAdmin(c, audit.Entry{Operation: operation}, err)
}

// auditAdmin writes what came of an administrator's call; e has the operation and what it is about.
func (p *process) auditAdmin(c *ipc.Identity, e audit.Entry, err error) {
	e.User, e.From, e.Target = c.User, c.Remote.Addr(), "AdminService"
	if err != nil {
		p.Log.Warn("an administrator's call has failed", "user", c.User, "address", c.Remote, "operation", e.Operation, "error", err)
		e.Failed, e.Description = true, err.Error()
		if errors.As(err, new(*admin.Denied)) || answer.KindOf(err) == answer.Unauthorized {
			e.Description = audit.Unauthorized
		}
	}
	p.Options.Audit.Write(e)
}

// auditWeb writes what came of a change over REST.
func (p *process) auditWeb(c webgate.Caller, operation string, id yarn.ApplicationID, err error) {
	e := audit.Entry{User: c.User, From: identity(c).Remote.Addr(), Operation: operation, Target: "RMWebService", Application: id}
	if err != nil {
		e.Failed, e.Description, e.Permissions = true, err.Error(), "UNKNOWN"
		if answer.KindOf(err) == answer.Forbidden {
			e.Description, e.Permissions = audit.Unauthorized, "User doesn't have permissions to MODIFY_APP"
		}
	}
	p.Options.Audit.Write(e)
}

// auditEnd writes how an application has ended.
func (p *process) auditEnd(a *view.Application) {
	e := audit.Entry{User: a.User, Operation: audit.Killed, Target: "RMAppManager", Application: a.ID}
	switch a.State {
	case yarn.AppFinished:
		e.Operation = audit.Succeeded
	case yarn.AppFailed:
		e.Operation, e.Failed, e.Description, e.Permissions = audit.Failed, true, "App failed with state: FAILED", a.Diagnostics
	}
	p.Options.Audit.Write(e)
}
