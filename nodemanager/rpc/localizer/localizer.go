// Package localizer serves LocalizationProtocol, by which localizer processes of containers ask for work. Only localizers that
// this daemon started, and that log in with the token it gave them, get any. Every other caller, such as a localizer left over
// from before a restart, is told to end.
package localizer

import (
	"fmt"
	"log/slog"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.server.nodemanager.api.LocalizationProtocolPB"

// MaxID is how many bytes of a stranger's id are logged.
const MaxID = 256

const (
	idField     = 1 // of LocalizerStatusProto
	actionField = 1 // of LocalizerHeartbeatResponseProto
	die         = 2 // of LocalizerActionProto
)

// Beat answers a localizer's heartbeat. identifier is that of the token it logged in with. Beat must not block.
type Beat func(identifier []byte, status *pb.LocalizerStatus) *pb.LocalizerHeartbeatResponse

// New makes the table of the protocol's methods.
func New(beat Beat, log *slog.Logger) ipc.Protocol {
	return ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"heartbeat": func(c *ipc.Call) {
			if c.Caller.Method == ipc.MethodToken {
				known(c, beat)
				return
			}
			stranger(c, log)
		},
	}}
}

func known(c *ipc.Call, beat Beat) {
	status := &pb.LocalizerStatus{}
	if err := proto.Unmarshal(c.Body, status); err != nil {
		unreadable(c, err)
		return
	}
	answer, err := proto.Marshal(beat(c.Caller.TokenIdentifier, status))
	if err != nil {
		c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot write the answer of %s: %v", c.Method, err)})
		return
	}
	c.Reply(answer)
}

// stranger answers a localizer that this daemon did not start, as Apache's NodeManager does.
func stranger(c *ipc.Call, log *slog.Logger) {
	status := field.Walk{Rest: c.Body}
	id := ""
	for status.Next() {
		if status.Tag == idField<<3|field.Block {
			id = string(status.Data[:min(len(status.Data), MaxID)])
		}
	}
	if status.Err != nil {
		unreadable(c, status.Err)
		return
	}
	log.Info("unknown localizer told to end", "localizer", id, "user", c.Caller.User, "from", c.Caller.Remote)
	c.Reply(field.AppendInt(nil, actionField, die))
}

func unreadable(c *ipc.Call, err error) {
	c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the request of %s: %v", c.Method, err)})
}
