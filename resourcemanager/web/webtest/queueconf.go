package webtest

import (
	"context"
	"net/http"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
)

// fixed is the configuration of queues that cannot be changed.
type fixed struct{ c *Controller }

// QueueConf implements access.Controller.
func (c *Controller) QueueConf() (access.QueueConf, error) { return fixed{c}, c.Err }

func (f fixed) refuse(what string) error {
	f.c.note("%s", what)
	return &access.Refused{Status: http.StatusBadRequest, Text: "cannot be changed"}
}

func (f fixed) Values(context.Context, webgate.Caller) ([]config.Setting, error) {
	return nil, f.refuse("values of queues")
}

func (f fixed) Version(context.Context, webgate.Caller) (int64, error) {
	return 0, f.refuse("version of queues")
}

func (f fixed) Change(_ context.Context, c webgate.Caller, _ config.Mutation, _ access.Change) error {
	return f.refuse("change of queues by " + c.User)
}

func (f fixed) Check(context.Context, webgate.Caller, config.Mutation) ([]config.Setting, error) {
	return nil, f.refuse("check of queues")
}

func (f fixed) Format(_ context.Context, c webgate.Caller, _ access.Change) error {
	return f.refuse("format of queues by " + c.User)
}

func (f fixed) History(context.Context, webgate.Caller) (access.History, error) {
	return access.History{}, f.refuse("history of queues")
}

func (f fixed) Diff(context.Context, webgate.Caller, string, string) ([]access.Difference, error) {
	return nil, f.refuse("difference of queues")
}

func (f fixed) Apply(_ context.Context, c webgate.Caller, _ []config.Setting, _ access.Change) (int64, error) {
	return 0, f.refuse("configuration of queues by " + c.User)
}

func (f fixed) Rollback(_ context.Context, c webgate.Caller, _ int64, _ access.Change) (int64, error) {
	return 0, f.refuse("rollback of queues by " + c.User)
}

func (f fixed) Confirm(_ context.Context, c webgate.Caller, _ access.Change) (int64, error) {
	return 0, f.refuse("confirmation of queues by " + c.User)
}

func (f fixed) Plan(context.Context, webgate.Caller, []config.Setting) (access.Plan, error) {
	return access.Plan{}, f.refuse("plan of queues")
}
