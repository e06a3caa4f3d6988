package engine

import (
	"strconv"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// remedy is the smallest change that would do away with a reason for which an application waits.
func (e *Engine) remedy(a *application, why yarn.Reason) (r scheduler.Remedy) {
	switch why.Code {
	case fit.GangGathers:
		r.Act = scheduler.Act{Do: gangComes, Count: why.Max - why.Count}
	case fit.GangSmall:
		r.Act = scheduler.Act{Do: core.Ask, Count: why.Max - why.Count}
	case fit.GangRests:
		r.Act.Do = gangAgain
		r.Act.Count, _ = strconv.ParseInt(why.Detail, 10, 64)
	case fit.GangInLine:
		r.Act = scheduler.Act{Do: core.EndApp, Subject: why.Detail}
		if why.Detail == "" {
			r.Act = scheduler.Act{Do: gangAgain}
		}
	case fit.GangNever:
		r.Never, r.Act = true, scheduler.Act{Do: core.AddNode, Size: why.Needed, Count: why.Max - why.Count}
	case fit.NoNodeQueue:
		r.Settings = []scheduler.Setting{{Name: nodeQueue, Value: strconv.FormatInt(max(why.Count, 1), 10)}}
		if why.Key != nodeQueue {
			r.Settings = []scheduler.Setting{{Name: loadComparator, Value: "QUEUE_LENGTH"}}
		}
	case fit.NodeQueuesFull:
		r.Act = scheduler.Act{Do: placeInQueue, Count: 1}
	case fit.NextCall:
		r.Act.Do = core.NextCall
	case fit.PreemptionWaits:
		r.Act = scheduler.Act{Do: core.Victims, Count: why.Count}
		r.Holders = e.victims(a)
	default:
		r = e.sched.Remedy(a.ref, why)
	}
	return r
}

// What comes by itself, of gangs and opportunistic containers.
const (
	gangComes    scheduler.Deed = "wait-for-gang"
	gangAgain    scheduler.Deed = "wait-for-turn"
	placeInQueue scheduler.Deed = "wait-for-node-queue"
)

// victims are those who lose the containers of which preemptionFor tells.
func (e *Engine) victims(a *application) (out []scheduler.Holder) {
	for _, of := range e.notices.of(a.sub.ID, e.sched.LeafOf(a.ref)) {
		for _, id := range of.ids[:min(len(of.ids), core.MaxHolders-len(out))] {
			c := e.byID[id]
			out = append(out, scheduler.Holder{App: c.app.sub.ID, User: c.app.sub.User, Queue: e.sched.LeafOf(c.app.ref), Has: e.sched.Container(c.ref).Resource, Count: 1})
		}
	}
	return out
}

// act is what is done or comes by itself, as it is told.
func (e *Engine) act(a *application, x scheduler.Act) view.Act {
	text, command := e.acts(a, x)
	return view.Act{Do: string(x.Do), Text: text, Command: command}
}

func (e *Engine) acts(a *application, x scheduler.Act) (text, command string) {
	count := strconv.FormatInt(x.Count, 10)
	switch x.Do {
	case core.EndApp:
		return x.Subject + " ends", "yarn application -kill " + x.Subject
	case core.RaiseApp:
		return "its priority becomes " + count + ", so that " + x.Subject + " is behind it", "yarn application -appId " + a.sub.ID.String() + " -updatePriority " + count
	case core.LabelNode:
		return "a node such as " + x.Subject + " comes to " + partition(x.Label), "yarn rmadmin -replaceLabelsOnNode " + x.Subject + "=" + x.Label
	case core.AddNode:
		text = "a node with at least " + e.amount(x.Size) + " joins " + partition(x.Label)
		if x.Count > 1 {
			text = "nodes with room for " + count + " more containers of " + e.amount(x.Size) + " join"
		}
		return text, ""
	case core.ResizeNode:
		return "the node " + x.Subject + " gets " + e.amount(x.Size) + " at least", "yarn rmadmin -updateNodeResource " + x.Subject + " " +
			strconv.FormatInt(x.Size.MemoryMB(), 10) + " " + strconv.FormatInt(x.Size.VCoreCount(), 10)
	case core.UseNode:
		return "the node " + x.Subject + " takes containers again", e.takesAgain(x.Subject)
	case core.Refresh:
		return "the configuration of the queues is applied once more", "yarn rmadmin -refreshQueues"
	case core.Restore:
		return "the queue " + x.Subject + " comes back into the configuration, and the application is moved there", "yarn application -appId " + a.sub.ID.String() + " -changeQueue " + x.Subject
	case core.MoveApp:
		command = "yarn application -appId " + a.sub.ID.String() + " -changeQueue " + x.Subject
		if x.Subject == e.sched.LeafOf(a.ref) {
			return "the application is moved to its own queue once more, or its user submits another one there", command
		}
		return "the application is moved to a queue such as " + x.Subject, command
	case core.Relax:
		return "its master lets other nodes do (relaxLocality), or asks for others", ""
	case core.Unavoid:
		return "the application takes " + x.Subject + " off its blacklist", ""
	case core.AskLess:
		return "one of the nodes that it has reserved gets room, or its master asks for less", ""
	case core.Ask:
		if x.Count > 0 {
			return "its master asks for " + plural(x.Count, "more container", "more containers"), ""
		}
		return "it asks for something", ""
	case core.Offers:
		if x.Subject != "" {
			return "the next heartbeat of the node " + x.Subject, ""
		}
		return plural(x.Count, "more heartbeat", "more heartbeats") + " of nodes that could serve it, at most", ""
	case core.Update:
		return "the next update of shares", ""
	case core.Earlier:
		return "its own requests of priority " + count + " are met or withdrawn", ""
	case core.Others:
		return "what applications of the queue " + x.Subject + " wait for is met or withdrawn", ""
	case core.Victims:
		return "the notice of " + plural(x.Count, "container", "containers") + " runs out, or these end before", ""
	case core.NextCall:
		return "the next call of its master", ""
	case gangComes:
		return plural(x.Count, "more container", "more containers") + " of the gang", ""
	case gangAgain:
		if x.Count > 0 {
			return count + " s pass, and its turn comes", ""
		}
		return "its turn comes", ""
	case placeInQueue:
		return "one of the opportunistic containers that wait on a node starts or ends", ""
	}
	return string(x.Do), ""
}

// takesAgain is the command with which a node that leaves is used again: its order to drain is taken back, or it comes off the list.
func (e *Engine) takesAgain(name string) string {
	for _, n := range e.nodeByRef {
		if n == nil || n.id.String() != name {
			continue
		}
		_, ordered := e.drainOrders[n.id]
		_, hosted := e.drainOrders[hostID(n.id)]
		if ordered || hosted {
			return "yarn node -undrain " + name
		}
	}
	return "yarn rmadmin -refreshNodes"
}
