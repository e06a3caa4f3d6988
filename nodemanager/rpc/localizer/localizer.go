// Package localizer serves LocalizationProtocol, by which localizer processes of containers ask for work. This node
// localizes by itself and starts none, so that whoever calls is a stranger, or outlived the node that started it, and is
// told to end.
package localizer

import (
	"fmt"
	"log/slog"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.server.nodemanager.api.LocalizationProtocolPB"

// MaxID is how many bytes of a localizer's id are logged.
const MaxID = 256

const (
	idField     = 1 // of LocalizerStatusProto
	actionField = 1 // of LocalizerHeartbeatResponseProto
	die         = 2 // of LocalizerActionProto
)

// New makes the table of the protocol's methods.
func New(log *slog.Logger) ipc.Protocol {
	return ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"heartbeat": func(c *ipc.Call) { heartbeat(c, log) },
	}}
}

// heartbeat answers as Apache's NodeManager does a localizer that it does not know.
func heartbeat(c *ipc.Call, log *slog.Logger) {
	status := field.Walk{Rest: c.Body}
	id := ""
	for status.Next() {
		if status.Tag == idField<<3|field.Block {
			id = string(status.Data[:min(len(status.Data), MaxID)])
		}
	}
	if status.Err != nil {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the request of %s: %v", c.Method, status.Err)})
		return
	}
	log.Info("unknown localizer told to end", "localizer", id, "user", c.Caller.User, "from", c.Caller.Remote)
	c.Reply(field.AppendInt(nil, actionField, die))
}
