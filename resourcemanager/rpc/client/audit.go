package client

import (
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/wire/ipc"
)

// audited writes a line of the audit log about a call.
func (s *client) audited(c *ipc.Call, e audit.Entry) {
	e.User, e.From, e.Target = c.Caller.User, c.Caller.Remote.Addr(), "ClientRMService"
	s.Audit.Write(e)
}

// done writes of a change what came of it. compat: only kills tell the caller's context.
func (s *client) done(c *ipc.Call, e audit.Entry, err error) {
	if e.Operation == audit.Kill {
		e.Caller = c.CallerContext
	}
	if err != nil {
		e.Failed, e.Description, e.Permissions = true, err.Error(), "UNKNOWN"
	}
	s.audited(c, e)
}
