package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func short(id yarn.ContainerID) string {
	return fmt.Sprintf("%d/%d/%d", id.Attempt.Application.Sequence, id.Attempt.Attempt, id.Number)
}

// describe is an effect as a scenario shows it.
func describe(x Effect) string {
	switch x := x.(type) {
	case Reply:
		if x.Err != nil {
			return fmt.Sprintf("answer %d: %s", x.Ticket, strings.ReplaceAll(x.Err.Text, "\n", "|"))
		}
		return fmt.Sprintf("answer %d: yes", x.Ticket)
	case Save:
		return "keep " + describeOp(x.Op)
	case Fetch:
		return fmt.Sprintf("fetch %d into %s", x.Number, x.Dir)
	case Abandon:
		return fmt.Sprintf("abandon %d", x.Number)
	case Remove:
		return fmt.Sprintf("remove %s debug=%v", strings.Join(x.Paths, " "), x.Debug)
	case Swept:
		return fmt.Sprintf("swept: %d bytes before, %d public and %d private deleted", x.Before, x.Public, x.Private)
	case Open:
		return fmt.Sprintf("open %d of %s, logs %s", x.Application.Sequence, x.User, x.LogContext)
	case Clear:
		return fmt.Sprintf("clear %d", x.Application.Sequence)
	case CollectLogs:
		return fmt.Sprintf("collect logs of %d: %v", x.Application.Sequence, len(x.Containers))
	case Localized:
		return fmt.Sprintf("localized %v", x.Counters)
	case Launch:
		return fmt.Sprintf("launch %s in %s, logs in %s, links %v, counters %v", short(x.Spec.ID), x.Place.WorkDir, x.Place.LogDir, x.Links, x.Counters)
	case Attach:
		return fmt.Sprintf("attach %s in %s", short(x.Spec.ID), x.Place.WorkDir)
	case Kill:
		return "kill " + short(x.ID)
	case Pause:
		return "pause " + short(x.ID)
	case Resume:
		return "resume " + short(x.ID)
	case Resize:
		if x.Spec.Execution == yarn.Opportunistic {
			return fmt.Sprintf("resize %s to %d, opportunistic", short(x.Spec.ID), x.Spec.Resource.MemoryMB())
		}
		return fmt.Sprintf("resize %s to %d", short(x.Spec.ID), x.Spec.Resource.MemoryMB())
	case Deliver:
		return fmt.Sprintf("signal %s %d", short(x.ID), x.Signal)
	case Show:
		v := x.Container
		return fmt.Sprintf("show %s %s exit %d %q", short(v.ID), v.State, v.Exit, v.Text)
	case Hide:
		return "hide " + short(x.ID)
	case ShowApplication:
		return fmt.Sprintf("show %d %s", x.ID.Sequence, x.State)
	case HideApplication:
		return fmt.Sprintf("hide %d", x.ID.Sequence)
	case Beat:
		return "beat"
	}
	return fmt.Sprintf("%T", x)
}

func describeOp(op state.Op) string {
	switch op := op.(type) {
	case state.PutContainer:
		c := &op.Container
		return fmt.Sprintf("container %s tries %d killed %d done %v exit %d", short(c.ID), c.Tries, c.Killed, c.Done, c.Exit)
	case state.PutEnded:
		return fmt.Sprintf("ended %s exit %d", short(op.Ended.ID), op.Ended.Exit)
	case state.PutApplication:
		return fmt.Sprintf("application %d finished %v collected %v", op.Application.ID.Sequence, op.Application.Finished, op.Application.Collected)
	case state.PutResource:
		return fmt.Sprintf("resource %d %q %s at %s", op.Resource.Number, op.Resource.Owner, op.Resource.Key, op.Resource.Path)
	}
	return fmt.Sprintf("%T", op)
}

// recount compares every counter with what it counts.
func recount(e *Engine) string {
	refs := map[*resource]int{}
	live := map[*application]int{}
	for id, c := range e.containers {
		pending := 0
		for _, u := range c.uses {
			refs[u.resource]++
			if !u.resource.ready {
				pending++
			}
		}
		switch {
		case c.spec.ID != id || c.app.containers[id] != c || e.apps[id.Attempt.Application] != c.app:
			return fmt.Sprintf("the books disagree about %s", short(id))
		case pending != c.pending:
			return fmt.Sprintf("%s waits for %d resources, not %d", short(id), pending, c.pending)
		case c.phase == done && len(c.uses) > 0:
			return fmt.Sprintf("%s has ended and still uses resources", short(id))
		case c.phase != done && c.exit != NotExited:
			return fmt.Sprintf("%s has the exit status %d while it is %s", short(id), c.exit, c.phase)
		}
		if c.phase != done {
			live[c.app]++
		}
	}
	for n, r := range e.cache.byNumber {
		if r.Number != n || r.refs != refs[r] || e.cache.byKey[[2]string{r.Owner, r.Key}] != r {
			return fmt.Sprintf("resource %d has %d references, not %d", n, refs[r], r.refs)
		}
	}
	for _, c := range e.waiting {
		if c.phase != relaunching {
			return fmt.Sprintf("%s waits for its next try while it is %s", short(c.spec.ID), c.phase)
		}
	}
	if bad := recountQueue(e); bad != "" {
		return bad
	}
	if len(e.cache.byKey) != len(e.cache.byNumber) {
		return "the cache's indexes differ"
	}
	for id, a := range e.apps {
		if a.live != live[a] {
			return fmt.Sprintf("application %d has %d live containers, not %d", id.Sequence, live[a], a.live)
		}
	}
	return ""
}

// recountQueue compares the books of the node's division with the containers, and looks whether anybody waits in vain.
func recountQueue(e *Engine) string {
	q := &e.queue
	var used, marked, waiting amount
	unmarked := 0
	for _, c := range q.holders {
		used = used.plus(c.amount())
		switch {
		case !c.holds || c.phase.waits() || c.phase == done || e.containers[c.spec.ID] != c:
			return fmt.Sprintf("%s has a share and is %s", short(c.spec.ID), c.phase)
		case c.reclaimed || c.phase == killing:
			marked = marked.plus(c.amount())
		case c.opportunistic():
			unmarked++
		}
	}
	holders, waiters := 0, 0
	for _, c := range e.containers {
		if c.holds {
			holders++
		}
		if c.phase.waits() {
			waiters++
			if !slices.Contains(*q.line(c), c) {
				return fmt.Sprintf("%s is %s and in no line", short(c.spec.ID), c.phase)
			}
		} else if c.phase.hasProcess() && c.phase != killing && !c.holds {
			return fmt.Sprintf("%s is %s without a share", short(c.spec.ID), c.phase)
		}
	}
	if used != q.used || holders != len(q.holders) || waiters != len(q.guaranteed)+len(q.opportunistic) {
		return fmt.Sprintf("used %v, not %v; %d holders, not %d; %d waiters", used, q.used, holders, len(q.holders), waiters)
	}
	for _, c := range q.guaranteed {
		waiting = waiting.plus(c.amount())
	}
	for _, c := range slices.Concat(q.guaranteed, q.opportunistic) {
		if !c.amount().fitsIn(q.total) && !e.set.Queue.off() {
			return fmt.Sprintf("%s waits, and is larger than the node", short(c.spec.ID))
		}
	}
	switch {
	case q.changed || q.recovering:
		return "the division is not settled"
	case e.set.Queue.off() && len(q.guaranteed) > 0, len(q.guaranteed) > 0 && q.hasRoom(q.guaranteed[0]):
		return "a guaranteed container waits in vain"
	case len(q.guaranteed) == 0 && len(q.opportunistic) > 0 && q.hasRoom(q.opportunistic[0]):
		return "an opportunistic container waits in vain"
	case !e.set.Queue.off() && unmarked > 0 && !used.plus(waiting).minus(marked).fitsIn(q.total):
		return fmt.Sprintf("%v are used and %v wanted of %v, and %d opportunistic containers give no way", used, waiting, q.total, unmarked)
	}
	return ""
}
