// Package rpc is what the ResourceManager's four protocols have in common beside
// package serve: how a call becomes a command, how the engine's refusals become
// exceptions, and records that many answers hold. Each protocol is a package below.
package rpc

import (
	"context"
	"errors"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/serve"
)

// ViewPatience is how long a reader waits for fresh views.
const ViewPatience = 30 * time.Second

// Poster takes commands. *loop.Loop is one.
type Poster interface {
	Expect(loop.Done) engine.Ticket
	Post(engine.Command)
}

// Reader gives views that show everything that was answered before, in some parts.
// *loop.Loop is one.
type Reader interface {
	Views(context.Context, view.Part) (*loop.Views, error)
}

var classes = map[engine.Kind]string{
	engine.Failed:             serve.YarnException,
	engine.UnknownApplication: serve.ApplicationNotFound,
	engine.UnknownAttempt:     serve.AttemptNotFound,
	engine.UnknownContainer:   serve.ContainerNotFound,
	engine.AccessDenied:       serve.YarnException,
	engine.InvalidRequest:     serve.InvalidResource,
	engine.InvalidLabel:       serve.InvalidLabel,
	engine.InvalidMaster:      serve.InvalidMasterRequest,
	engine.NotRegistered:      serve.NotRegistered,
	engine.InvalidRelease:     serve.InvalidRelease,
	engine.InvalidBlacklist:   serve.InvalidBlacklist,
	engine.InvalidConfig:      serve.YarnException,
	engine.NotStored:          serve.YarnException,
}

// Fail answers a call with what the engine or the loop said.
func Fail(c *ipc.Call, err error) {
	var refused *engine.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == engine.AccessDenied:
		serve.Deny(c, "%s", refused.Text)
	case errors.As(err, &refused):
		serve.Refuse(c, classes[refused.Kind], "%s", refused.Text)
	case errors.Is(err, loop.ErrClosed):
		c.Fail(&ipc.RemoteError{Class: ipc.ClassStandby, Message: err.Error()})
	default:
		c.Fail(err)
	}
}
