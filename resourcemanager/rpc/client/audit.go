package client

import (
	"net/netip"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/wire/ipc"
)

// audited writes a line about a call to the audit log.
func (s *client) audited(c *ipc.Call, e audit.Entry) {
	s.write(c.Caller.User, c.Caller.Remote.Addr(), e)
}

func (s *client) write(user string, from netip.Addr, e audit.Entry) {
	e.User, e.From = user, from
	if e.Target == "" {
		e.Target = "ClientRMService"
	}
	s.Audit.Write(e)
}

// done writes the outcome of a change to the audit log.
//
// compat: only lines about kills have the caller context.
func (s *client) done(c *ipc.Call, e audit.Entry, err error) {
	if e.Operation == audit.Kill {
		e.Caller = c.CallerContext
	}
	if err != nil {
		e.Failed, e.Description, e.Permissions = true, err.Error(), "UNKNOWN"
	}
	s.audited(c, e)
}
