package engine

import (
	"fmt"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// describe puts a reason into words, with the limit and the two numbers.
func describe(why yarn.Reason) string {
	var b strings.Builder
	b.WriteString(why.Detail)
	if why.Detail == "" {
		b.WriteString(strings.ReplaceAll(string(why.Code), "-", " "))
		if why.Subject != "" {
			b.WriteString(" (" + why.Subject + ")")
		}
	}
	if !why.Needed.IsZero() || !why.Limit.IsZero() {
		fmt.Fprintf(&b, "; needed %s, allowed %s", why.Needed, why.Limit)
	}
	if why.Max != 0 {
		fmt.Fprintf(&b, "; %d of %d", why.Count, why.Max)
	}
	return b.String()
}

// requestKind tells a bad label from any other bad request.
func requestKind(why yarn.Reason) Kind {
	if strings.Contains(string(why.Code), "label") {
		return InvalidLabel
	}
	return InvalidRequest
}

// rejection is what an application's owner reads when its queue did not take it.
func rejection(a *application, why yarn.Reason) string {
	return fmt.Sprintf("Application %s submitted by user %s was rejected by queue %s: %s", a.sub.ID, a.sub.User, a.queue, describe(why))
}

// masterCrashed says how a master's process ended.
func masterCrashed(t *attempt, exit int32, diagnostics string) string {
	return fmt.Sprintf("AM Container for %s exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s\nThe logs of each attempt are linked from the application's tracking page.",
		t.id, exit, diagnostics)
}

// exhausted says why there is no further attempt.
func exhausted(a *application, t *attempt, failures, max int32) string {
	if a.sub.Unmanaged {
		return fmt.Sprintf("Unmanaged application %s failed due to %s. Failing the application.", a.sub.ID, t.diagnostics)
	}
	within := ""
	if a.sub.ValidityInterval > 0 {
		within = fmt.Sprintf(" in previous %d milliseconds", a.sub.ValidityInterval)
	}
	return fmt.Sprintf("Application %s failed %d times%s (of at most %d) due to %s\nFailing the application.",
		a.sub.ID, failures, within, max, t.diagnostics)
}

// waitingFor says in which part of its start an attempt is.
func (t *attempt) waitingFor(active bool) string {
	switch t.state {
	case yarn.AttemptScheduled:
		if !active {
			return "Application is added to the scheduler and is not yet activated."
		}
		return "Application is Activated, waiting for resources to be assigned for AM."
	case yarn.AttemptAllocated, yarn.AttemptAllocatedSaving:
		return "AM container has been allocated, its launch is under way"
	case yarn.AttemptLaunched:
		if t.app.sub.Unmanaged {
			return ""
		}
		return "AM container is launched, waiting for AM container to Register with RM"
	}
	return ""
}
