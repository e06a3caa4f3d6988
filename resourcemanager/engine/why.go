package engine

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/opportunistic"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// waiting is a reason for which an application's master waits, with what its text needs.
type waiting struct {
	yarn.Reason
	amount func(yarn.Resource) string
	queue  string        // the application's
	label  string        // of the nodes that it asks for
	master yarn.Resource // what its master asks for
}

// settings of nodes and of the order in which applications are served.
const (
	nodeSize      = "yarn.nodemanager.resource.memory-mb and yarn.nodemanager.resource.cpu-vcores"
	localityDelay = config.Prefix + "node-locality-delay and " + config.Prefix + "rack-locality-additional-delay"
)

// whys has a sentence for each reason.
var whys = map[yarn.Code]func(w *waiting) string{
	fit.NothingAsked: func(*waiting) string { return "nothing is asked for" },
	fit.AMLimit: func(w *waiting) string {
		return "the queue allows " + w.amount(w.Limit) + " for ApplicationMasters: " + w.used() + " used, " + w.amount(w.master) + " more asked"
	},
	fit.UserAMLimit: func(w *waiting) string {
		return "the queue allows user " + w.Detail + " " + w.amount(w.Limit) + " for ApplicationMasters: " + w.used() + " used, " + w.amount(w.master) + " more asked"
	},
	fit.ParallelApps: func(w *waiting) string {
		return fmt.Sprintf("%s may run %s at a time: %d running", w.whose(), plural(w.Max, "application", "applications"), w.Count-1)
	},
	fit.QueueLimit:  atMost,
	fit.ParentLimit: atMost,
	fit.UserLimit: func(w *waiting) string {
		return "the queue " + w.queue + " allows user " + w.Subject + " " + w.amount(w.Limit) + ": " + w.amount(w.Needed) + " used"
	},
	fit.Headroom: func(w *waiting) string {
		return "the queue " + w.Subject + " has room for " + w.amount(w.Limit) + ": " + w.amount(w.Needed) + " asked"
	},
	fit.PartitionDenied: func(w *waiting) string {
		return "the queue " + w.Subject + " may not use nodes of " + partition(w.Detail)
	},
	fit.NodeFull: func(w *waiting) string {
		return "the node " + w.Subject + " has " + w.amount(w.Limit) + " left: " + w.amount(w.Needed) + " needed"
	},
	fit.NodeReserved: func(w *waiting) string {
		return "the node " + w.Subject + " is reserved for " + w.Detail + ", which waits there for " + w.amount(w.Needed)
	},
	fit.NodeTooSmall: func(w *waiting) string {
		return "the node " + w.Subject + " has " + w.amount(w.Limit) + " in all: " + w.amount(w.Needed) + " asked"
	},
	fit.NodeUnavailable: func(w *waiting) string { return "the node " + w.Subject + " takes no containers" },
	fit.Blacklisted:     func(w *waiting) string { return "the application avoids the node " + w.Subject },
	fit.OtherPartition: func(w *waiting) string {
		return "it asks for nodes of " + partition(w.Detail) + ", and all nodes are in others, such as " + partition(w.Subject)
	},
	fit.LocalityDelay: func(w *waiting) string {
		return fmt.Sprintf("it waits for the hosts or racks that it asks for, and has let %s pass before %s", plural(w.Count, "node", "nodes"), w.Subject)
	},
	fit.StrictLocality: func(w *waiting) string {
		if w.Subject == yarn.AnyHost {
			return "it takes only the hosts or racks that it asks for"
		}
		return "it takes only the hosts that it asks for, not even others on the rack " + w.Subject
	},
	fit.ShareDelay: func(w *waiting) string {
		return fmt.Sprintf("%s lends its room once an application has been offered as many nodes as there are, %d: %d so far", partition(w.Subject), w.Max, w.Count)
	},
	fit.EarlierAsk: func(w *waiting) string { return fmt.Sprintf("its own requests of priority %d come first", w.Count) },
	fit.ReservationsEnough: func(w *waiting) string {
		if w.Max == 0 {
			return "none of its reservations on other nodes frees the " + w.amount(w.Needed) + " that it would have to give up to use the node " + w.Subject
		}
		return fmt.Sprintf("enough is reserved for it already: %s for %s", plural(w.Count, "node", "nodes"), plural(w.Max, "container", "containers"))
	},
	fit.NoNodes:      func(*waiting) string { return "there are no nodes" },
	fit.QueueRemoved: func(w *waiting) string { return "the queue " + w.Subject + " is not in the configuration any more" },
	fit.OtherList: func(w *waiting) string {
		return "nodes of " + partition(w.Subject) + " serve the applications of that partition first; this one is of " + partition(w.Detail)
	},
	fit.UserUnknown: func(w *waiting) string {
		return "the queue " + w.Detail + " did not count user " + w.Subject + " when it considered the application: another one of the user's, which max-parallel-apps held back, has ended or moved"
	},
	fit.RoomKept: func(w *waiting) string {
		return "room is kept for the queue " + w.Detail + ", which is served first: of " + w.amount(w.Limit) + " in the queue " + w.Subject + " " + w.amount(w.Needed) + " used or asked"
	},
	fit.OthersFirst: func(w *waiting) string {
		text := w.Detail + " in the queue " + w.Subject + " comes first"
		if w.Needed.IsZero() && w.Limit.IsZero() {
			return text
		}
		return text + " and waits itself: of " + w.amount(w.Limit) + " " + w.amount(w.Needed) + " used or asked"
	},
	fit.RunningApps: func(w *waiting) string {
		return fmt.Sprintf("the queue %s may run %s at a time: %d running", w.Subject, plural(w.Max, "application", "applications"), w.Count)
	},
	fit.UserRunningApps: func(w *waiting) string {
		return fmt.Sprintf("user %s may run %s at a time: %d running", w.Subject, plural(w.Max, "application", "applications"), w.Count)
	},
	fit.NextUpdate: func(*waiting) string {
		return "what it asks for counts from the next update of shares on, which a timer makes"
	},
	fit.NoNodeQueue: func(w *waiting) string {
		return w.lent() + " asked for: no node reports " + w.Detail
	},
	fit.NodeQueuesFull: func(w *waiting) string {
		text := w.lent() + " asked for: of " + plural(w.Max, "node", "nodes") + " with a queue for them none takes one: " + w.Detail
		if w.Subject != "" {
			text += "; the shortest is that of " + w.Subject
		}
		return text
	},
	fit.NextCall: func(w *waiting) string {
		return fmt.Sprintf("nothing is in the way of %s: its master is granted them with its next calls, at most %d with each", w.lent(), w.Max)
	},
	fit.GangGathers: func(w *waiting) string {
		if w.Detail == "" {
			return fmt.Sprintf("its %s has %d of %d containers", w.Subject, w.Count, w.Max)
		}
		return fmt.Sprintf("its %s has %d of %d containers; they are kept for the rest to come, at most %s s more, and then given back", w.Subject, w.Count, w.Max, w.Detail)
	},
	fit.GangSmall: func(w *waiting) string {
		return fmt.Sprintf("it asks for %d of the %d containers of its %s, and gets them in %s s if it asks for no more", w.Count, w.Max, w.Subject, w.Detail)
	},
	fit.GangRests: func(w *waiting) string {
		return fmt.Sprintf("its %s had %d of %d containers when its time was over, and gave them back; it tries again in %s s at the earliest", w.Subject, w.Count, w.Max, w.Detail)
	},
	fit.GangInLine: func(w *waiting) string {
		return fmt.Sprintf("its %s gave back what it had and tries again when its turn comes; now that of %s tries", w.Subject, w.Detail)
	},
	fit.GangNever: func(w *waiting) string {
		return fmt.Sprintf("its %s can never come together: of its %d containers of %s not more than %d would fit, even if nobody else had anything", w.Subject, w.Max, w.amount(w.Needed), w.Count)
	},
	fit.QueueStopped: func(w *waiting) string {
		return "the queue " + w.Subject + " takes no applications: it is stopped, or drains"
	},
	fit.TooManyApps: func(w *waiting) string {
		return fmt.Sprintf("the cluster may have %s: %d there", plural(w.Max, "application", "applications"), w.Count)
	},
	fit.TooManyQueueApps: func(w *waiting) string {
		return fmt.Sprintf("the queue %s may have %s: %d there", w.Subject, plural(w.Max, "application", "applications"), w.Count)
	},
	fit.TooManyUserApps: func(w *waiting) string {
		return fmt.Sprintf("the queue %s may have %s of one user: %d there", w.Subject, plural(w.Max, "application", "applications"), w.Count)
	},
	fit.NothingFree: func(w *waiting) string {
		return "no node of " + partition(w.Subject) + " has " + w.amount(w.Needed) + " left; the most that one has is " + w.amount(w.Limit)
	},
	fit.PreemptionWaits: func(w *waiting) string {
		return plural(w.Count, "container", "containers") + ", " + w.amount(w.Needed) + " in all, have had notice for it or for its queue, and have not ended yet"
	},
	fit.ComesNext: func(w *waiting) string {
		return "nothing is in its way: it is placed at the next heartbeat of the node " + w.Subject
	},
}

// text is the sentence, and the settings that govern it.
func (w *waiting) text() string {
	if whys[w.Code] == nil {
		return w.sentence()
	}
	return w.withKey(w.sentence())
}

// withKey adds to a sentence the settings that govern the reason.
func (w *waiting) withKey(sentence string) string {
	if key := w.key(); key != "" {
		return sentence + "; " + key
	}
	return sentence
}

// sentence is the sentence alone.
func (w *waiting) sentence() string {
	if say := whys[w.Code]; say != nil {
		return say(w)
	}
	return describe(w.Reason) // the bare reason is better than nothing
}

// key names the settings that govern the reason: those that it names itself, or those of its code.
func (w *waiting) key() string {
	switch {
	case w.Code == fit.NodeFull || w.Code == fit.NodeTooSmall:
		return nodeSize
	case w.Code == fit.LocalityDelay && w.Key == "":
		return localityDelay
	case w.Code == fit.OtherPartition && w.label != "":
		return config.Prefix + w.queue + ".default-node-label-expression, unless the application names the label"
	case w.Code == fit.OthersFirst && w.Subject == w.queue && w.Key == "", w.Code == fit.OtherList:
		return config.Prefix + w.queue + ".ordering-policy"
	case w.Subject == queue.Root && w.Key == config.Prefix+"root.maximum-capacity": // all of the cluster
		return ""
	}
	return w.Key
}

// lent are the opportunistic containers that the reason is about.
func (w *waiting) lent() string {
	return plural(w.Count, "opportunistic container", "opportunistic containers") + " of " + w.amount(w.Needed)
}

// used is what other masters use: Needed includes the one that waits.
func (w *waiting) used() string { return w.amount(w.Needed.Sub(w.master)) }

// atMost is the sentence for a queue at its maximum capacity.
func atMost(w *waiting) string {
	return "the queue " + w.Subject + " may use " + w.amount(w.Limit) + " at most: " + w.amount(w.Needed) + " used or asked"
}

// whose is the queue or the user to which the limit applies.
func (w *waiting) whose() string {
	if strings.HasPrefix(w.Key, config.Prefix+queue.Root) {
		return "the queue " + w.Subject
	}
	return "user " + w.Subject
}

func partition(label string) string {
	if label == "" {
		return "the default partition"
	}
	return "the partition " + label
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(n, 10) + " " + many
}

// amount is the text of a resource: of memory alone, or of all that counts in limits.
func (e *Engine) amount(r yarn.Resource) string {
	text := strconv.FormatInt(r.MemoryMB(), 10) + " MB"
	if !e.set.Dominant && !e.set.Fair {
		return text
	}
	text += ", " + plural(r.VCoreCount(), "vcore", "vcores")
	for i := 2; i < len(e.set.ResourceTypes); i++ {
		if t := e.set.ResourceTypes[i]; r[i] != 0 {
			text += ", " + strconv.FormatInt(r[i], 10) + t.Units + " " + t.Name
		}
	}
	return text
}

// explainNodes is how many nodes Why looks at.
const explainNodes = 16

// Why is a text that says why an application's master has not been granted a container, or why its gangs or its opportunistic containers wait.
// It is empty for an application that does not wait for that.
func (e *Engine) Why(id yarn.ApplicationID) string {
	a := e.apps[id]
	if a == nil || a.ref == scheduler.NoApp {
		return ""
	}
	t := a.current()
	if t == nil {
		return ""
	}
	if gang := e.whyGang(t); gang != "" {
		return gang
	}
	if why, ok := e.whyLent(t); ok {
		return e.text(a, why)
	}
	if t.state != yarn.AttemptScheduled {
		return ""
	}
	for _, x := range e.sched.Impossible(a.ref) {
		return e.told(a, x.Why).withKey(e.never(a, &x))
	}
	for _, why := range e.sched.Explain(a.ref, explainNodes) {
		return e.text(a, why)
	}
	return ""
}

// The settings of queues of opportunistic containers.
const (
	nodeQueue      = "yarn.nodemanager.opportunistic-containers-max-queue-length"
	loadComparator = "yarn.resourcemanager.nm-container-queuing.load-comparator"
	perCall        = "yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat"
)

// whyLent says why opportunistic containers are not granted that the attempt has asked for.
func (e *Engine) whyLent(t *attempt) (why yarn.Reason, ok bool) {
	if e.loads == nil || t.state != yarn.AttemptRunning || t.ending() || !t.said().opportunistic.Wanted() {
		return why, false
	}
	found := e.loads.Explain(&t.opportunistic, func(at *opportunistic.Node) bool { return e.suits(t.app, at) })
	why = yarn.Reason{Needed: found.Size, Count: int64(found.Count), Max: int64(found.Nodes)}
	switch {
	case found.Known == 0 && e.set.Opportunistic.Comparator == opportunistic.QueueWaitTime:
		why.Code, why.Detail, why.Key = fit.NoNodeQueue, "how long containers wait in its queue", loadComparator+" = QUEUE_WAIT_TIME"
	case found.Known == 0:
		why.Code, why.Detail, why.Key = fit.NoNodeQueue, "a queue for them", nodeQueue
	case found.Avoided+found.Full+found.Small < found.Nodes:
		why.Code, why.Max = fit.NextCall, int64(found.PerCall)
		if e.set.Opportunistic.PerCall > 0 {
			why.Key = perCall
		}
	default:
		why.Code, why.Key = fit.NodeQueuesFull, nodeQueue
		for _, x := range []struct {
			nodes int
			what  string
		}{{found.Full, "full"}, {found.Small, "smaller than one"}, {found.Avoided, "avoided by the application, or about to leave"}} {
			if x.nodes > 0 && why.Detail != "" {
				why.Detail += ", "
			}
			if x.nodes > 0 {
				why.Detail += strconv.Itoa(x.nodes) + " " + x.what
			}
		}
		if n := found.Nearest; n != nil {
			waiting, capacity, held := n.Queue()
			why.Subject = fmt.Sprintf("%s, where %d of at most %d wait, and which has %d of at most %d opportunistic ones", n.ID, waiting, capacity, held, opportunistic.MaxOnNode)
		}
	}
	return why, true
}

// text is that of a reason for which an application waits.
func (e *Engine) text(a *application, why yarn.Reason) string { return e.told(a, why).text() }

// gangReasons are the reasons for which gangs of the attempt wait, by priority.
func (e *Engine) gangReasons(t *attempt) (out []yarn.Reason) {
	for _, p := range slices.Sorted(maps.Keys(t.said().gangs)) {
		g := t.gangs[p]
		why := yarn.Reason{Subject: fmt.Sprintf("gang of priority %d", p), Count: int64(len(g.held)), Max: int64(g.size()), Key: "the tag " + t.app.gang.String()}
		if g.due != 0 {
			left := g.due - e.now.Mono
			if g.state == gangGathers && !g.late {
				left += g.time() - g.time()/2
			}
			why.Detail = strconv.FormatInt(max(left+999, 0)/1000, 10)
		}
		fits, asked, size := g.fit, g.size(), g.needs
		if g.state == gangGathers {
			rows := e.outstanding(g)
			if fits, size = e.gangFits(g, rows); len(rows) == 0 && len(g.held) == 0 {
				continue
			}
			asked = len(g.held) + containersOf(rows)
		}
		switch {
		case g.state == gangOver || g.complete():
			continue
		case fits < min(asked, g.size()):
			why.Code, why.Count, why.Needed, why.Detail = fit.GangNever, int64(fits), size, ""
		case g.state == gangRests:
			why.Code, why.Count = fit.GangRests, int64(g.had)
		case g.state == gangInLine:
			if why.Code = fit.GangInLine; e.gangs.turn != nil {
				why.Detail = e.gangs.turn.attempt.app.sub.ID.String()
			}
		case asked < g.size() && asked == len(g.held):
			why.Code, why.Count = fit.GangSmall, int64(asked)
		default:
			why.Code = fit.GangGathers
		}
		out = append(out, why)
	}
	return out
}

// whyGang says why the first of the attempt's gangs waits, and what is in the way of the next container.
func (e *Engine) whyGang(t *attempt) string {
	if t.exchange == nil || t.gangs == nil || t.ending() {
		return ""
	}
	gangs := e.gangReasons(t)
	if len(gangs) == 0 {
		return ""
	}
	text := e.text(t.app, gangs[0])
	if gangs[0].Code != fit.GangGathers {
		return text
	}
	for _, why := range e.sched.Explain(t.app.ref, explainNodes) {
		return text + "; the next one: " + e.text(t.app, why)
	}
	return text
}
