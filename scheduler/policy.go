package scheduler

import (
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// policy is a scheduler as far as it decides for itself: what the core asks and tells
// it, and those calls of the facade that it may answer in its own way. It embeds the
// core, which has an answer for some of them. See Scheduler for what they mean.
type policy interface {
	core.Policy
	core.Rounds
	core.PlanFollower

	Refresh(cfg *config.Config, p core.Prepared) error // cfg nil: the one in use once more
	Validate(cfg *config.Config) error
	Basis() core.Basis
	RunDynamicQueues(deleting bool, now yarn.Now)
	DeleteQueue(name string) yarn.Reason

	Place(a *Application) (path string, why yarn.Reason)
	CheckPriority(a *Application, path string) (int32, yarn.Reason)
	SetPriority(a AppRef, priority int32)
	Normalize(a AppRef, asks []yarn.Ask) yarn.Reason
	Ask(a AppRef, asks []yarn.Ask)
	RestoreAsk(c ContainerRef)
	Blacklist(a AppRef, add, remove []string)
	Update(a AppRef, updates []yarn.ContainerUpdate) []UpdateError
	CheckUpdates(a AppRef, updates []yarn.ContainerUpdate) []UpdateError
	Headroom(a AppRef) yarn.Resource
	Admission(a AppRef) core.Admission
	Explain(a AppRef, max int) []yarn.Reason
	ExplainAsk(a AppRef, at, max int) []yarn.Reason
	Remedy(a AppRef, why yarn.Reason) core.Remedy
	Line(a AppRef) core.Line
	Rooms(free *core.Free, q *queue.Queue, user string) []core.Headroom
	MayEnter(a *Application, path string) yarn.Reason
	RemedyOfRefusal(a *Application, path string, why yarn.Reason) core.Remedy
	Activities(n NodeRef) []core.NodeActivity
	AppActivities(a AppRef, most int) []core.NodeActivity
	Check() string

	LikeApache()
	CountUsers()
}
