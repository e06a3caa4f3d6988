package resourcemanager

import (
	"context"
	"errors"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// Submit implements access.Controller. It does what the client protocol's submitApplication does.
func (t *term) Submit(ctx context.Context, c webgate.Caller, submission []byte) error {
	got := make(chan error, 1)
	client.Submit(t.clientConfig(view.Places{}), c.User, identity(c).Remote.Addr(), submission, func(err error) { got <- err })
	select {
	case err := <-got:
		return submissionRefusal(err)
	case <-ctx.Done():
		return unanswered(ctx)
	}
}

// submissionRefusal is what a refused submission is over REST.
//
// compat: 400 with the text of the exception that the client protocol has, whatever that is, rights that are missing included.
func submissionRefusal(err error) error {
	var form *ipc.RemoteError
	var refused *engine.Error
	switch {
	case errors.As(err, &form):
		return answer.Errorf(answer.Invalid, "%s", form.Message)
	case errors.As(err, &refused) && refused.Kind == engine.AccessDenied:
		return answer.Errorf(answer.Invalid, "%s: %s", ipc.ClassAccessControl, refused.Text)
	case errors.As(err, &refused) && refused.Kind != engine.NotStored:
		return answer.Errorf(answer.Invalid, "%s", refused.Text)
	}
	return err
}

// Submit implements access.Controller.
func (d *Daemon) Submit(ctx context.Context, c webgate.Caller, submission []byte) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.Submit(ctx, c, submission)
}

// Signal implements access.Controller.
func (t *term) Signal(ctx context.Context, c webgate.Caller, id yarn.ContainerID, signal int32) (err error) {
	defer func() { t.auditWeb(c, audit.Signal, id.Attempt.Application, err) }()
	switch err := t.modifiable(ctx, c, id.Attempt.Application); {
	case answer.KindOf(err) == answer.NotFound:
		return answer.Errorf(answer.NotFound, "Trying to signal an absent container %s", id)
	case err != nil:
		return err
	}
	_, err = t.ask(ctx, func(k engine.Ticket) engine.Command {
		return engine.SignalContainer{Ticket: k, Container: id, Signal: signal}
	})
	return err
}

// Resize implements access.Controller.
func (t *term) Resize(ctx context.Context, c webgate.Caller, node yarn.NodeID, total yarn.Resource, overcommit int64) error {
	const operation = "updateNodeResource"
	who := identity(c)
	var err error = answer.Errorf(answer.Forbidden, "User %s doesn't have permission to call '%s'", c.User, operation)
	if t.rights.IsAdmin(who) {
		_, err = t.ask(ctx, func(k engine.Ticket) engine.Command {
			return engine.SetNodeResource{Ticket: k, Node: node, Total: total, Overcommit: engine.NewOvercommit(overcommit)}
		})
	}
	t.Audit(who, operation, err)
	return err
}

// Signal implements access.Controller.
func (d *Daemon) Signal(ctx context.Context, c webgate.Caller, id yarn.ContainerID, signal int32) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.Signal(ctx, c, id, signal)
}

// Resize implements access.Controller.
func (d *Daemon) Resize(ctx context.Context, c webgate.Caller, node yarn.NodeID, total yarn.Resource, overcommit int64) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.Resize(ctx, c, node, total, overcommit)
}
