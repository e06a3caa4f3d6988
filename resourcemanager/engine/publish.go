package engine

import (
	"math"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Publisher takes the views that readers see. The engine passes only what has changed
// since the last publication.
type Publisher interface {
	Application(*view.Application)
	Containers(*view.AppContainers)       // an empty list: it has none any more
	ForgetApplication(yarn.ApplicationID) // and its containers
	Node(*view.Node)
	ForgetNode(yarn.NodeID)
	Counts(view.Metrics)
	Queues(*queue.Snapshot)
	Labels(*view.Labels)
}

// fewDirty bounds the lists of what has changed. When a list is longer than this and
// twice the number that the engine holds, entries of forgotten ones are dropped.
const fewDirty = 1024

func (e *Engine) touchApp(a *application) {
	if !a.dirty {
		a.dirty = true
		if len(e.dirtyApps) > 2*len(e.apps)+fewDirty {
			e.dirtyApps = slices.DeleteFunc(e.dirtyApps, func(x *application) bool { return e.apps[x.sub.ID] != x })
		}
		e.dirtyApps = append(e.dirtyApps, a)
	}
}

// touchContainers: the application has other containers than before, or one of them has changed.
func (e *Engine) touchContainers(a *application) {
	e.touchApp(a)
	if !a.dirtyLive {
		a.dirtyLive = true
		if len(e.dirtyLive) > 2*len(e.apps)+fewDirty {
			e.dirtyLive = slices.DeleteFunc(e.dirtyLive, func(id yarn.ApplicationID) bool { return e.apps[id] == nil })
		}
		e.dirtyLive = append(e.dirtyLive, a.sub.ID)
	}
}

func (e *Engine) touchNode(n *node) {
	n.seen = nil
	if !n.dirty {
		n.dirty = true
		if len(e.dirtyNodes) > 2*len(e.nodes)+fewDirty {
			e.dirtyNodes = slices.DeleteFunc(e.dirtyNodes, func(x *node) bool { return e.nodes[x.id] != x })
		}
		e.dirtyNodes = append(e.dirtyNodes, n)
	}
}

// Publish passes every changed view to p.
func (e *Engine) Publish(now yarn.Now, p Publisher) { e.PublishParts(now, p, view.Everything) }

// PublishParts passes what has changed in some parts of the views to p.
func (e *Engine) PublishParts(now yarn.Now, p Publisher, parts view.Part) {
	for x := (Publication{Parts: parts}); !e.PublishSome(now, p, &x); {
	}
}

// Publication is the progress of a publication that is made in slices. What changes
// meanwhile may be left to the next one.
type Publication struct {
	Parts             view.Part // still to be published
	begun             bool
	apps, live, nodes int // how many applications, lists of containers and nodes that have changed are still to be published
	picture           *scheduler.Picture
}

// PublishSome passes a slice of the changed views to p, and tells whether the
// publication is done.
func (e *Engine) PublishSome(now yarn.Now, p Publisher, x *Publication) (done bool) {
	e.now = now
	if !x.begun {
		x.begun, x.apps, x.live, x.nodes = true, len(e.dirtyApps), len(e.dirtyLive), len(e.dirtyNodes)
	}
	left := e.slice()
	if x.Parts&view.Counts != 0 {
		p.Counts(e.metrics())
		x.Parts &^= view.Counts
	}
	if x.Parts&view.Queues != 0 {
		if x.picture == nil {
			x.picture = e.sched.Picture()
		}
		used, all := x.picture.Draw(left)
		left -= used
		if all == nil {
			return false
		}
		p.Queues(all)
		x.Parts &^= view.Queues
	}
	if x.Parts&view.Applications != 0 && left > 0 {
		if left = e.publishApps(p, &x.apps, left); x.apps == 0 {
			x.Parts &^= view.Applications
		}
	}
	if x.Parts&view.Containers != 0 && left > 0 {
		if left = e.publishContainers(p, &x.live, left); x.live == 0 {
			x.Parts &^= view.Containers
		}
	}
	if x.Parts&view.Nodes != 0 && left > 0 {
		if e.publishNodes(p, &x.nodes, left); x.nodes == 0 {
			p.Labels(e.labels.view())
			x.Parts &^= view.Nodes
		}
	}
	return x.Parts == 0
}

// perView: to walk this many containers costs about as much as to make one view.
const perView = 64

// publishApps publishes up to count applications, counting it down, while the budget
// lasts. It returns what is left of the budget.
func (e *Engine) publishApps(p Publisher, count *int, left int) int {
	for _, id := range e.goneApps {
		if e.apps[id] == nil {
			p.ForgetApplication(id)
		}
	}
	e.goneApps = e.goneApps[:0]
	for *count = min(*count, len(e.dirtyApps)); *count > 0 && left > 0; *count-- {
		a := e.dirtyApps[0]
		if e.apps[a.sub.ID] == a {
			v := e.appView(a)
			left -= 1 + v.Usage.Containers/perView
			a.published = true
			p.Application(v)
			if a.dirtyLive && v.Usage.Containers == 0 {
				p.Containers(&view.AppContainers{Application: v.ID}) // those that it had are not kept until somebody reads containers
			}
		}
		a.dirty = false
		e.dirtyApps[0] = nil
		e.dirtyApps = e.dirtyApps[1:]
	}
	return left
}

// publishContainers publishes the lists of containers of up to count applications, in the
// manner of publishApps.
func (e *Engine) publishContainers(p Publisher, count *int, left int) int {
	for *count = min(*count, len(e.dirtyLive)); *count > 0 && left > 0; *count-- {
		if a := e.apps[e.dirtyLive[0]]; a != nil {
			live, made := e.containersView(a, left)
			if made > left {
				return 0 // the views that were made are kept; the next slice makes more
			}
			left -= 1 + made + len(live.List)/perView
			a.published, a.dirtyLive = true, false
			p.Containers(live)
		}
		e.dirtyLive = e.dirtyLive[1:]
	}
	return left
}

func (e *Engine) publishNodes(p Publisher, count *int, left int) {
	for _, id := range e.goneNodes {
		if e.nodes[id] == nil {
			p.ForgetNode(id)
		}
	}
	e.goneNodes = e.goneNodes[:0]
	for *count = min(*count, len(e.dirtyNodes)); *count > 0 && left > 0; *count-- {
		n := e.dirtyNodes[0]
		if e.nodes[n.id] == n {
			before := e.containersDrawn
			if n.seen == nil && n.held > left && n.ref != scheduler.NoNode && e.drawContainers(e.sched.ContainersOn(n.ref, math.MaxInt), left) > left {
				return // the next slice makes views of its other containers
			}
			p.Node(e.seenNode(n))
			left -= 1 + n.held/4 + int(e.containersDrawn-before)
			n.published = true
		}
		n.dirty = false
		e.dirtyNodes[0] = nil
		e.dirtyNodes = e.dirtyNodes[1:]
	}
}
