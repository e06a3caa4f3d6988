package fifo

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Heartbeat is one try, which places all that finds room.
func (s *Scheduler) Heartbeat() core.Heartbeat { return core.Heartbeat{Containers: -1} }

// Admit takes every application, whatever queue it names.
//
// compat: all have the priority 0.
func (s *Scheduler) Admit(in *demand.Application, _ string) (*core.App, yarn.Reason) {
	a := &app{App: core.App{Kept: in.Kept(), Leaf: s.tree.Root()}}
	a.Outer = a
	return &a.App, yarn.Reason{}
}

// MoveTarget refuses: there is no other queue.
func (s *Scheduler) MoveTarget(*core.App, string, bool) (*queue.Queue, yarn.Reason) {
	return nil, yarn.Reason{Code: fit.MovesUnsupported, Subject: config.FifoQueue}
}

// Place names the only queue, whatever was asked for.
func (s *Scheduler) Place(*demand.Application) (string, yarn.Reason) {
	return config.FifoQueue, yarn.Reason{}
}

// CheckPriority is 0, whatever was asked for.
func (s *Scheduler) CheckPriority(*demand.Application, string) (int32, yarn.Reason) {
	return 0, yarn.Reason{}
}

// SetPriority does nothing: the priority is 0.
func (s *Scheduler) SetPriority(cluster.AppRef, int32) {}

// Update says which changes are wrong, and carries none out.
//
// compat: Apache says nothing of those that are right.
func (s *Scheduler) Update(ref cluster.AppRef, list []yarn.ContainerUpdate) []core.UpdateError {
	return s.CheckUpdates(ref, list)
}

// Fit makes the books of the queue as long as there are partitions.
func (s *Scheduler) Fit(parts int) { s.tree.Root().Grow(parts) }

// QueueInfo is a picture of the queue. Active is who asks for something.
func (s *Scheduler) QueueInfo(q *queue.Queue) queue.Info {
	used := s.used()
	i := queue.Info{Path: q.Path, Name: q.Name, Leaf: true, State: q.State, Counts: *q.Counts, MaxAllocation: s.MaximumFor(q),
		SubmittedApps: s.Known, MaxLifetime: -1, DefaultLifetime: -1,
		Default: queue.Share{Used: used, EffectiveMin: s.Books.Total, EffectiveMax: s.Books.Total, Accessible: true}, Fifo: &queue.Fifo{}}
	if total := s.Books.Total[yarn.Memory]; total != 0 {
		i.Fifo.UsedCapacity = javanum.Div(float32(used[yarn.Memory]), float32(total))
	}
	asking := map[string]bool{}
	for _, a := range s.line {
		if len(a.Wants.Keys()) > 0 {
			asking[a.User] = true
			i.ActiveApps++
		}
	}
	i.ActiveUsers = int32(len(asking))
	for p := range q.Ledger {
		has := &q.Ledger[p]
		i.Default.Pending = i.Default.Pending.Add(has.Pending)
		i.Default.AllocatedContainers += has.Containers
		i.Default.PendingContainers += int32(has.Waiting)
	}
	return i
}

// Admission is granted to every application with an attempt: nothing holds it back.
func (s *Scheduler) Admission(ref cluster.AppRef) core.Admission {
	a := appOf(s.App(ref))
	return core.Admission{Runnable: true, Active: a.Running, AM: a.master}
}

// Refresh does nothing: no file says what this policy does.
func (s *Scheduler) Refresh(*config.Config, core.Prepared) error { return nil }

// Validate finds nothing wrong.
func (s *Scheduler) Validate(*config.Config) error { return nil }

// Basis prepares nothing.
func (s *Scheduler) Basis() core.Basis { return basis{} }

type basis struct{}

func (basis) Prepare(*config.Config) core.Prepared { return nil }

// Check recounts the books; see the facade.
func (s *Scheduler) Check() string {
	if bad := s.Core.Check(); bad != "" {
		return bad
	}
	if !slices.IsSortedFunc(s.line, byID) {
		return "the line is out of order"
	}
	running := 0
	for _, a := range s.Apps {
		if a != nil && a.Running {
			running++
			if !slices.Contains(s.line, appOf(a)) {
				return a.ID.String() + " is not in the line"
			}
		}
	}
	if running != len(s.line) {
		return "somebody is in the line whose attempt has ended"
	}
	return ""
}

// RunDynamicQueues does nothing: there are none.
func (s *Scheduler) RunDynamicQueues(bool, yarn.Now) {}
