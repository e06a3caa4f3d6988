// Package rpc is what the ResourceManager's protocols have in common besides package
// serve: the interfaces of the loop, the exceptions for the engine's refusals, the last
// answers to callers, and messages that are parts of many answers. Each protocol has a
// package below.
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

// ViewPatience is how long a call waits for fresh views.
const ViewPatience = 30 * time.Second

// Poster takes commands. *loop.Loop is one.
type Poster interface {
	Expect(loop.Done) engine.Ticket
	Post(engine.Command)
}

// Reader returns views that show, in those parts, everything that was answered before.
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
	engine.UnknownQueue:       serve.YarnException,
	engine.IllegalArgument:    serve.IllegalArgument,
	engine.Arithmetic:         serve.Arithmetic,
}

// Fail answers a call with an error of the engine or the loop.
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
