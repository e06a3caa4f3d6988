package engine

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// describe is a reason as text, with its limit and the two numbers.
func describe(why yarn.Reason) string {
	var b strings.Builder
	b.WriteString(why.Detail)
	if why.Detail == "" {
		b.WriteString(strings.ReplaceAll(string(why.Code), "-", " "))
		if why.Subject != "" {
			b.WriteString(" (" + why.Subject + ")")
		}
	}
	b.WriteString(numbers(why))
	return b.String()
}

// numbers are those that a reason compares.
func numbers(why yarn.Reason) (text string) {
	if !why.Needed.IsZero() || !why.Limit.IsZero() {
		text = fmt.Sprintf("; needed %s, allowed %s", why.Needed, why.Limit)
	}
	if why.Max != 0 {
		text += fmt.Sprintf("; %d of %d", why.Count, why.Max)
	}
	return text
}

// badRequest refuses asks. If a label is the reason the text is Apache's.
func (e *Engine) badRequest(why yarn.Reason, format string, args ...any) *Error {
	name := why.Subject[strings.LastIndex(why.Subject, ".")+1:]
	switch why.Code {
	case fit.LabelsDisabled:
		return refuse(InvalidLabel, "Invalid resource request, node label not enabled but request contains label expression")
	case fit.LabelNotAllowed:
		var labels []string
		if q, ok := e.queueInfo(why.Subject); ok {
			labels = q.Labels
		}
		return refuse(InvalidLabel, "Invalid resource request, queue=%s doesn't have permission to access all labels in resource request. labelExpression of resource request=%s. Queue labels=%s",
			name, why.Detail, strings.Join(labels, ","))
	case fit.LabelExpression:
		return refuse(InvalidLabel, "Invalid resource request, queue=%s specified more than one node label in a node label expression, node label expression = %s", name, why.Detail)
	case fit.LabelUnknown:
		return refuse(InvalidLabel, "Invalid label resource request, cluster do not contain , label= %s", why.Detail)
	case fit.NothingOfType:
		return refuse(Failed, "Resource request is invalid: queue %s may have no %s; needed %s, allowed %s", why.Subject, why.Detail, why.Needed, why.Limit)
	case fit.LabelOnPlace:
		return refuse(InvalidLabel, "Invalid resource request, node label cannot be specified for the host or rack %s, only for any", why.Detail)
	}
	return refuse(InvalidRequest, format+": %s", append(args, describe(why))...)
}

// rejection is the diagnostics of an application that its queue refused. Clients and
// scripts look for these texts, which are Apache's.
func (e *Engine) rejection(a *application, why yarn.Reason) string {
	id, user := a.sub.ID, a.sub.User
	if e.set.Fair {
		return rejectionInFair(a, why)
	}
	switch why.Code {
	case fit.UnknownQueue:
		return fmt.Sprintf("Application %s submitted by user %s to unknown queue: %s", id, user, a.queue)
	case fit.AmbiguousQueue:
		return fmt.Sprintf("Application %s submitted by user %s to ambiguous queue: %s please use full queue path instead.", id, user, a.queue)
	case fit.NotALeaf:
		return fmt.Sprintf("Application %s submitted by user : %s to non-leaf queue : %s", id, user, a.queue)
	case fit.ReservationOver:
		return fmt.Sprintf("Application %s submitted to a reservation which is not currently active: %s", id, why.Detail)
	case fit.OtherPlan:
		return fmt.Sprintf("Application: %s submitted to a reservation %s which does not belong to the specified queue: %s", id, why.Detail, a.queue)
	}
	if text := full(a, why); text != "" {
		return text
	}
	return fmt.Sprintf("Application %s submitted by user %s was rejected by queue %s: %s", id, user, a.queue, describe(why))
}

// rejectionInFair is the same under the FairScheduler. What follows Apache's words is why a queue cannot be made.
func rejectionInFair(a *application, why yarn.Reason) string {
	id, user := a.sub.ID, a.sub.User
	switch why.Code {
	case fit.NoRulePlaces:
		return fmt.Sprintf("Reject application %s submitted by user %s application rejected by placement rules.", id, user)
	case fit.SubmitDenied:
		return fmt.Sprintf("User %s does not have permission to submit %s to queue %s", user, id, a.queue)
	case fit.ReservationOver:
		return fmt.Sprintf("Application %s submitted to a reservation which is not yet currently active: %s.%s", id, why.Subject, why.Detail)
	case fit.NothingOfType:
		return fmt.Sprintf("Cannot submit application %s to queue %s because it has zero amount of resource for a requested resource! "+
			"Invalid requested AM resources: %s of %s, maximum queue resources: %s", id, a.queue, why.Detail, why.Needed, why.Limit)
	case fit.NotALeaf:
		if why.Detail == "" {
			return a.queue + " is not a leaf queue"
		}
		return a.queue + " is not a leaf queue: " + why.Detail + " above it is one, and has no queues below"
	case fit.PolicyNotAllowed:
		return fmt.Sprintf("%s is not a leaf queue: the policy of the queue above excludes %s, which %s would have", a.queue, why.Detail, why.Subject)
	case fit.TooDeep, fit.TooManyQueues, fit.BadQueueName:
		return a.queue + " is not a leaf queue: " + describe(why)
	}
	return fmt.Sprintf("Reject application %s submitted by user %s to queue %s: %s", id, user, a.queue, describe(why))
}

// unplaceable says why the rules of placement cannot decide.
func unplaceable(user string, why yarn.Reason) string {
	switch why.Code {
	case fit.BadQueueName:
		return fmt.Sprintf("Application submitted by user %s with illegal queue name '%s'.", user, why.Subject)
	case fit.NoGroups:
		return "No groups returned for user " + user
	}
	return describe(why)
}

// nearestQueue is the queue with that path, or the nearest above that there is.
func (e *Engine) nearestQueue(path string) string {
	for ; path != ""; path = queue.ParentPath(path) {
		if _, ok := e.sched.Queue(path); ok {
			return path
		}
	}
	return queue.Root
}

// full is the text for a queue that is stopped or has as many applications as it may: Apache's, then the limit and its
// setting. It is empty for any other reason.
func full(a *application, why yarn.Reason) string {
	id, user := a.sub.ID, a.sub.User
	limit := fmt.Sprintf("; at most %d may be there (%s)", why.Max, why.Key)
	switch why.Code {
	case fit.QueueStopped:
		return fmt.Sprintf("%s: Queue %s is STOPPED. Cannot accept submission of application: %s", accessControl, why.Subject, id)
	case fit.TooManyQueueApps:
		return fmt.Sprintf("%s: Queue %s already has %d applications, cannot accept submission of application: %s", accessControl, why.Subject, why.Count, id) + limit
	case fit.TooManyUserApps:
		return fmt.Sprintf("%s: Queue %s already has %d applications from user %s cannot accept submission of application: %s",
			accessControl, why.Subject, why.Count, user, id) + limit
	case fit.TooManyApps:
		return fmt.Sprintf("Maximum system application limit reached,cannot accept submission of application: %s", id) + limit
	}
	return ""
}

// accessControl is the name of the exception that Apache's text begins with.
const accessControl = "org.apache.hadoop.security.AccessControlException"

// masterCrashed says how a master's process ended.
func (e *Engine) masterCrashed(t *attempt, exit int32, diagnostics string) string {
	text := fmt.Sprintf("AM Container for %s exited with  exitCode: %d\nFailing this attempt.Diagnostics: %s", t.id, exit, diagnostics)
	if e.set.Pages != "" {
		text += fmt.Sprintf("For more detailed output, check the application tracking page: %s/cluster/app/%s Then click on links to logs of each attempt.\n",
			e.set.Pages, t.app.sub.ID)
	}
	return text
}

// exhausted says why there is no further attempt.
//
// compat: the number is the limit, even if fewer attempts have failed.
func (e *Engine) exhausted(a *application, t *attempt, max int32) string {
	if a.sub.Unmanaged {
		return fmt.Sprintf("Unmanaged application %s failed due to %s. Failing the application.", a.sub.ID, t.diagnostics)
	}
	within, limits := "", ""
	if a.sub.ValidityInterval > 0 {
		within = fmt.Sprintf(" in previous %d milliseconds", a.sub.ValidityInterval)
	}
	if max != e.set.GlobalMaxAttempts {
		limits = fmt.Sprintf(" (global limit =%d; local limit is =%d)", e.set.GlobalMaxAttempts, max)
	}
	return fmt.Sprintf("Application %s failed %d times%s%s due to %s. Failing the application.", a.sub.ID, max, within, limits, t.diagnostics)
}

// waitingFor is what an attempt that has not registered yet waits for, or a gang of one that has; empty for any other.
func (e *Engine) waitingFor(t *attempt) string {
	switch t.state {
	case yarn.AttemptScheduled:
		return e.waitingForMaster(t)
	case yarn.AttemptAllocated, yarn.AttemptAllocatedSaving:
		return stamp(e.now.Wall) + "Scheduler has assigned a container for AM, waiting for AM container to be launched"
	case yarn.AttemptLaunched:
		return "AM container is launched, waiting for AM container to Register with RM"
	case yarn.AttemptRunning:
		for _, why := range e.gangReasons(t) {
			return stamp(e.now.Wall) + e.text(t.app, why)
		}
	}
	return ""
}

// stamp formats a time, given in milliseconds since 1970, as diagnostics begin with it.
func stamp(at int64) string {
	return time.UnixMilli(at).UTC().Format("[Mon Jan 02 15:04:05 -0700 2006] ")
}

// waitingForMaster says why the master has no container yet.
func (e *Engine) waitingForMaster(t *attempt) string {
	a := t.app
	q, ok := e.queueInfo(e.sched.LeafOf(a.ref))
	if !ok {
		return ""
	}
	return e.drawn.texts.of(&masterWaits{queue: q, user: a.sub.User, label: a.sub.masterLabel(), got: e.sched.Admission(a.ref),
		cluster: e.sched.ClusterTotal(), second: e.now.Wall / 1000, dominant: e.set.Dominant}, (*masterWaits).text)
}

// masterWaits has everything on which the text that says why a master has no container yet depends.
type masterWaits struct {
	queue   *queue.Info
	user    string
	label   string // the partition that the master's request names
	got     scheduler.Admission
	cluster yarn.Resource
	second  int64 // the current time, in seconds since 1970

	dominant bool // as in Settings
}

// text says why the master waits, with the numbers that decide it.
func (w *masterWaits) text() string {
	q, got, label := w.queue, &w.got, w.label
	switch {
	case q.Fair != nil:
		return waitingInFair(w)
	case q.Capacity == nil:
		return ""
	}
	has, share, user := q.In(label), q.Capacity.In(label), userOf(q.Capacity, w.user, label)
	if label == "" {
		label = "<DEFAULT_PARTITION>"
	}
	if got.Active {
		return stamp(1000*w.second) + fmt.Sprintf("Application is Activated, waiting for resources to be assigned for AM.  Details : AM Partition = %s ; Partition Resource = %s ; "+
			"Queue's Absolute capacity = %s %% ; Queue's Absolute used capacity = %s %% ; Queue's Absolute max capacity = %s %% ; "+
			"Queue's capacity (absolute resource) = %s ; Queue's used capacity (absolute resource) = %s ; Queue's max capacity (absolute resource) = %s ; ",
			label, w.cluster, percent(share.AbsoluteCapacity), percent(share.AbsoluteUsed), percent(share.AbsoluteMax),
			has.EffectiveMin, has.Used, has.EffectiveMax)
	}
	if user.AMLimit.IsZero() {
		user.AMLimit = share.AMLimit // the user has no active application, for which it would have been worked out
	}
	why := ""
	switch with := got.AM.Add(share.AMUsed); {
	case !got.Runnable:
	case w.cluster.IsZero():
		why = "Skipping AM assignment as cluster resource is empty. "
	case with.MemoryMB() > share.AMLimit.MemoryMB() || w.dominant && !with.FitsIn(share.AMLimit):
		why = "Queue's AM resource limit exceeded. "
	default:
		why = "User's AM resource limit exceeded. "
	}
	return stamp(1000*w.second) + fmt.Sprintf("Application is added to the scheduler and is not yet activated. %s Details : AM Partition = %s; AM Resource Request = %s; "+
		"Queue Resource Limit for AM = %s; User AM Resource Limit of the queue = %s; Queue AM Resource Usage = %s; ",
		why, label, got.AM, share.AMLimit, user.AMLimit, share.AMUsed)
}

// waitingInFair is the same under the FairScheduler, as far as it holds on all nodes. The texts are Apache's.
func waitingInFair(w *masterWaits) string {
	got, why := &w.got, ""
	switch got.Why.Code {
	case fit.RunningApps:
		why = "The queue \"" + got.Why.Subject + "\" has reached the maximum limit of runnable applications."
	case fit.UserRunningApps:
		why = "The user \"" + got.Why.Subject + "\" has reached the maximum limit of runnable applications."
	case fit.AMLimit:
		why = fmt.Sprintf(" (Resource request: %s exceeds maximum AM resource allowed).", got.AM)
	case fit.QueueLimit, fit.ParentLimit:
		why = fmt.Sprintf(" (Resource request: %s exceeds current queue or its parents maximum resource allowed). Max share of queue: %s", got.AM, w.queue.Fair.MaxShare)
	default:
		return ""
	}
	return stamp(1000*w.second) + "Application is added to the scheduler and is not yet activated. " + why
}

func percent(share float32) string { return strconv.FormatFloat(float64(share*100), 'f', 1, 32) }

// userOf is the user's share of a queue in a partition.
func userOf(q *queue.Capacity, name, label string) queue.UserShare {
	for i := range q.Users {
		if u := &q.Users[i]; u.Name == name && label == "" {
			return queue.UserShare{Used: u.Used, AMUsed: u.AMUsed, AMLimit: u.AMLimit, Limit: u.Limit}
		} else if u.Name == name {
			return u.Partitions[label]
		}
	}
	return queue.UserShare{}
}
