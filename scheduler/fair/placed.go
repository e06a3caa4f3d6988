package fair

import (
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// unnamedQueue is what a submission asks for that names no queue.
const unnamedQueue = "default"

// Place says where a submission goes: the first rule decides that finds a queue; see the facade.
//
// compat: what no rule places is refused when it is to enter a queue, and not by the call.
func (s *Scheduler) Place(in *demand.Application) (string, yarn.Reason) {
	if in.Queue == "" {
		in.Queue = unnamedQueue
	}
	for i := range s.cfg.Rules {
		path, why := s.byRule(&s.cfg.Rules[i], in)
		if !why.OK() {
			return "", why
		}
		if path != "" {
			in.Placed = true
			return path, s.validName(path)
		}
	}
	in.Placed = false // Admit will refuse it
	return rooted(in.Queue), yarn.Reason{}
}

// notPlaced is the reason of a submission that no rule finds a queue for.
func notPlaced(in *demand.Application) yarn.Reason {
	return yarn.Reason{Code: fit.NoRulePlaces, Subject: in.Queue, Detail: "application rejected by placement rules."}
}

// validName refuses names that no queue can have.
func (s *Scheduler) validName(path string) yarn.Reason {
	if s.find(path) != nil {
		return yarn.Reason{}
	}
	for name := range strings.SplitSeq(path, ".") {
		if name == "" || name != allocation.TrimName(name) {
			return yarn.Reason{Code: fit.BadQueueName, Subject: path}
		}
	}
	return yarn.Reason{}
}

// byRule is the full path of the queue that a rule finds; empty: the next rule decides.
func (s *Scheduler) byRule(r *allocation.PlacementRule, in *demand.Application) (string, yarn.Reason) {
	switch r.Kind {
	case allocation.Specified:
		return s.asSpecified(r, in.Queue)
	case allocation.Default:
		return s.usable(r, rooted(r.Queue)), yarn.Reason{}
	case allocation.Reject:
		return "", yarn.Reason{}
	}
	above := queue.Root
	if r.Parent != nil {
		var why yarn.Reason
		if above, why = s.byRule(r.Parent, in); above == "" || !why.OK() {
			return "", why
		}
		if q := s.find(above); q != nil && q.Leaf {
			return "", yarn.Reason{}
		}
	}
	switch r.Kind {
	case allocation.PrimaryGroup:
		if len(in.Groups) == 0 {
			return "", yarn.Reason{Code: fit.NoGroups, Subject: in.User}
		}
		return s.usable(r, above+"."+clean(in.Groups[0])), yarn.Reason{}
	case allocation.SecondaryGroup:
		if len(in.Groups) == 0 {
			return "", yarn.Reason{Code: fit.NoGroups, Subject: in.User}
		}
		for _, group := range in.Groups {
			if path := above + "." + clean(group); s.named(path) {
				return path, yarn.Reason{}
			}
		}
		return "", yarn.Reason{}
	}
	if r.Parent == nil && clean(in.User) == queue.Root { // compat: its queue is the root, which takes no applications
		return s.usable(r, queue.Root), yarn.Reason{}
	}
	return s.usable(r, above+"."+clean(in.User)), yarn.Reason{}
}

// asSpecified is the queue that the submission names.
func (s *Scheduler) asSpecified(r *allocation.PlacementRule, name string) (string, yarn.Reason) {
	switch {
	case name == unnamedQueue:
		return "", yarn.Reason{}
	case name != allocation.TrimName(name), strings.HasPrefix(name, "."), strings.HasSuffix(name, "."):
		return "", yarn.Reason{Code: fit.BadQueueName, Subject: name}
	}
	return s.usable(r, rooted(name)), yarn.Reason{}
}

// usable is the path, if the rule may make queues or the file names this one.
func (s *Scheduler) usable(r *allocation.PlacementRule, path string) string {
	if r.Create || s.named(path) {
		return path
	}
	return ""
}

// named tells whether there is a queue that the file names.
func (s *Scheduler) named(path string) bool {
	q := s.find(path)
	return q != nil && !q.dynamic
}

// clean is the name of a user's or a group's queue.
func clean(name string) string { return strings.ReplaceAll(allocation.TrimName(name), ".", "_dot_") }
