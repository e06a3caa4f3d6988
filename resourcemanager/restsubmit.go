package resourcemanager

import (
	"context"
	"errors"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/ipc"
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
