package scheduler

import (
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// policy is a scheduler as far as it decides for itself: what the core asks and tells
// it, and those calls of the facade that the core cannot answer alone. It embeds the
// core. See Scheduler for what they mean.
type policy interface {
	core.Policy

	Refresh(cfg *config.Config, p core.Prepared) error // cfg nil: the one in use once more
	Validate(cfg *config.Config) error
	Basis() core.Basis
	RunDynamicQueues(deleting bool, now yarn.Now)

	Place(a *Application) (path string, why yarn.Reason)
	Ask(a AppRef, asks []yarn.Ask)
	AllocateDone(a AppRef) yarn.Resource
	Headroom(a AppRef) yarn.Resource
	Admission(a AppRef) core.Admission
	Explain(a AppRef, max int) []yarn.Reason
	Check() string

	LikeApache()
	CountUsers()
}
