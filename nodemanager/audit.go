package nodemanager

import (
	"net/netip"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// Exit statuses at or below firstKill, and those of the two signals, are of containers that somebody has ended.
const (
	firstKill          = -100
	killed, terminated = 137, 143
)

// auditEnd writes how a container has ended.
func (d *Daemon) auditEnd(v *engine.View) {
	e := audit.Entry{User: v.User, Operation: audit.EndSucceeded, Target: "ContainerImpl", Application: v.ID.Attempt.Application, Container: v.ID}
	switch {
	case v.Exit == 0:
	case v.Exit == killed, v.Exit == terminated, v.Exit <= firstKill && v.Exit > engine.NotExited:
		e.Operation = audit.EndKilled
	default:
		e.Operation, e.Failed, e.Description = audit.EndFailed, true, "Container failed with state: EXITED_WITH_FAILURE"
		if v.Launched == 0 {
			e.Description = "Container failed with state: LOCALIZATION_FAILED"
		}
	}
	d.Audit.Write(e)
}

// ReadLogs implements web.Source: it writes who has read the logs of a container, or may not.
func (d *Daemon) ReadLogs(c webgate.Caller, id yarn.ContainerID, err error) {
	from, _ := netip.ParseAddr(c.Address)
	e := audit.Entry{User: c.User, From: from, Operation: audit.ViewLogs, Target: "NMWebServices", Application: id.Attempt.Application, Container: id}
	if err != nil {
		e.Failed, e.Description = true, audit.Unauthorized
	}
	d.Audit.Write(e)
}
