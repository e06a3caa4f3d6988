package engine

import (
	"fmt"

	"github.com/heddle-project/heddle/yarn"
)

// The allowed transitions, each with its cause as it is logged. Any other is a
// defect: the engine panics rather than going on from a state that makes no sense.

type step[S ~uint8] struct{ from, to S }

// causes has the cause of each allowed transition, by the states before and after; "" for others.
type causes [maxStates][maxStates]string

const maxStates = 16 // bounds the states of applications, attempts and nodes

func causesOf[S ~uint8](allowed map[step[S]]string) (c causes) {
	for s, cause := range allowed { //tidy:unordered each goes to its own element
		c[s.from][s.to] = cause
	}
	return c
}

var appCauses = causesOf(map[step[yarn.ApplicationState]]string{
	{yarn.AppNew, yarn.AppNewSaving}: "submitted; the record is being stored",

	{yarn.AppNewSaving, yarn.AppSubmitted}:   "stored",
	{yarn.AppNewSaving, yarn.AppFinalSaving}: "killed before it was admitted",
	{yarn.AppSubmitted, yarn.AppAccepted}:    "admitted to its queue",
	{yarn.AppSubmitted, yarn.AppFinalSaving}: "refused by its queue",

	{yarn.AppAccepted, yarn.AppRunning}:     "its master registered",
	{yarn.AppAccepted, yarn.AppFinalSaving}: "failed for good, or ended without having registered",
	{yarn.AppAccepted, yarn.AppKilling}:     "to be killed",
	{yarn.AppRunning, yarn.AppAccepted}:     "its attempt failed; another one begins",
	{yarn.AppRunning, yarn.AppFinalSaving}:  "its master unregistered, or it failed for good",
	{yarn.AppRunning, yarn.AppKilling}:      "to be killed",
	{yarn.AppKilling, yarn.AppFinalSaving}:  "its attempt has ended",

	{yarn.AppFinalSaving, yarn.AppFinishing}: "the end is stored; its master's process is still there",
	{yarn.AppFinalSaving, yarn.AppFinished}:  "the end is stored",
	{yarn.AppFinalSaving, yarn.AppFailed}:    "the end is stored",
	{yarn.AppFinalSaving, yarn.AppKilled}:    "the end is stored",
	{yarn.AppFinishing, yarn.AppFinished}:    "its master's process has ended",
})

var attemptCauses = causesOf(map[step[yarn.AttemptState]]string{
	{yarn.AttemptNew, yarn.AttemptSubmitted}: "begins",
	{yarn.AttemptNew, yarn.AttemptLaunched}:  "recovered; its master may still run",

	{yarn.AttemptSubmitted, yarn.AttemptScheduled}:                 "waits for its master's container",
	{yarn.AttemptSubmitted, yarn.AttemptLaunchedUnmanagedSaving}:   "its master runs elsewhere",
	{yarn.AttemptScheduled, yarn.AttemptAllocatedSaving}:           "the master's container is granted",
	{yarn.AttemptAllocatedSaving, yarn.AttemptAllocated}:           "stored",
	{yarn.AttemptLaunchedUnmanagedSaving, yarn.AttemptLaunched}:    "stored",
	{yarn.AttemptAllocated, yarn.AttemptLaunched}:                  "the node accepted the container",
	{yarn.AttemptAllocated, yarn.AttemptRunning}:                   "registered before the node's answer was heard",
	{yarn.AttemptLaunched, yarn.AttemptRunning}:                    "registered",
	{yarn.AttemptScheduled, yarn.AttemptFinalSaving}:               "ended early",
	{yarn.AttemptAllocatedSaving, yarn.AttemptFinalSaving}:         "ended early",
	{yarn.AttemptLaunchedUnmanagedSaving, yarn.AttemptFinalSaving}: "ended early",
	{yarn.AttemptAllocated, yarn.AttemptFinalSaving}:               "ended early",
	{yarn.AttemptLaunched, yarn.AttemptFinalSaving}:                "ended before it registered",
	{yarn.AttemptRunning, yarn.AttemptFinalSaving}:                 "ended",

	{yarn.AttemptFinalSaving, yarn.AttemptFinishing}: "the end is stored; the process is still there",
	{yarn.AttemptFinalSaving, yarn.AttemptFinished}:  "the end is stored",
	{yarn.AttemptFinalSaving, yarn.AttemptFailed}:    "the end is stored",
	{yarn.AttemptFinalSaving, yarn.AttemptKilled}:    "the end is stored",
	{yarn.AttemptFinishing, yarn.AttemptFinished}:    "the process has ended",
})

var nodeCauses = causesOf(map[step[yarn.NodeState]]string{
	{yarn.NodeNew, yarn.NodeRunning}:   "registered",
	{yarn.NodeNew, yarn.NodeUnhealthy}: "registered unhealthy",

	{yarn.NodeNew, yarn.NodeDecommissioned}: "the exclude list names its host, of which no node has registered",
	{yarn.NodeNew, yarn.NodeLost}:           "the include list names its host, of which no node has registered",

	{yarn.NodeRunning, yarn.NodeUnhealthy}:        "reports itself unhealthy",
	{yarn.NodeUnhealthy, yarn.NodeRunning}:        "reports itself healthy again",
	{yarn.NodeRunning, yarn.NodeLost}:             "no heartbeat for too long",
	{yarn.NodeUnhealthy, yarn.NodeLost}:           "no heartbeat for too long",
	{yarn.NodeRunning, yarn.NodeRebooted}:         "its heartbeats lost count",
	{yarn.NodeUnhealthy, yarn.NodeRebooted}:       "its heartbeats lost count",
	{yarn.NodeRunning, yarn.NodeShutdown}:         "said good-bye, or the include list no longer has it",
	{yarn.NodeUnhealthy, yarn.NodeShutdown}:       "said good-bye, or the include list no longer has it",
	{yarn.NodeRunning, yarn.NodeDecommissioned}:   "the lists no longer admit it",
	{yarn.NodeUnhealthy, yarn.NodeDecommissioned}: "the lists no longer admit it",

	{yarn.NodeRunning, yarn.NodeDecommissioning}:        "it is to leave, and may finish first",
	{yarn.NodeUnhealthy, yarn.NodeDecommissioning}:      "it is to leave, and may finish first",
	{yarn.NodeDecommissioning, yarn.NodeRunning}:        "the lists admit it again",
	{yarn.NodeDecommissioning, yarn.NodeUnhealthy}:      "the lists admit it again, and it is unhealthy",
	{yarn.NodeDecommissioning, yarn.NodeDecommissioned}: "nobody needs it any more, its deadline has passed, or it was forced",
	{yarn.NodeDecommissioning, yarn.NodeLost}:           "no heartbeat for too long",
	{yarn.NodeDecommissioning, yarn.NodeRebooted}:       "its heartbeats lost count",
	{yarn.NodeDecommissioning, yarn.NodeShutdown}:       "said good-bye, or the include list no longer has it",
})

func (e *Engine) appTo(a *application, to yarn.ApplicationState) {
	cause := appCauses[a.state][to]
	if cause == "" {
		panic(fmt.Sprintf("engine: application %s cannot go from %s to %s", a.sub.ID, a.state, to))
	}
	if !e.quiet || to == yarn.AppFinalSaving {
		e.fx.Transitions = append(e.fx.Transitions, Transition{Application: a.sub.ID, Queue: a.queue, User: a.sub.User, From: a.state.String(), To: to.String(), Cause: cause})
	}
	if to == yarn.AppFinalSaving {
		e.counts.ending(a)
	}
	a.state = to
	e.touchApp(a)
}

func (e *Engine) attemptTo(t *attempt, to yarn.AttemptState) {
	cause := attemptCauses[t.state][to]
	if cause == "" {
		panic(fmt.Sprintf("engine: attempt %s cannot go from %s to %s", t.id, t.state, to))
	}
	if !e.quiet {
		e.fx.Transitions = append(e.fx.Transitions, Transition{Attempt: t.id, Queue: t.app.queue, From: t.state.String(), To: to.String(), Cause: cause})
	}
	t.state = to
	e.touchApp(t.app)
}

func (e *Engine) nodeTo(n *node, to yarn.NodeState) {
	cause := nodeCauses[n.state][to]
	if cause == "" {
		panic(fmt.Sprintf("engine: node %s cannot go from %s to %s", n.id, n.state, to))
	}
	e.fx.Transitions = append(e.fx.Transitions, Transition{Node: n.id, From: n.state.String(), To: to.String(), Cause: cause})
	n.state = to
	e.touchNode(n)
}
