package fair

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// preemption is which attempts starve, and which containers of others are to be ended for them.
type preemption struct {
	starved  []*starvation                     // a heap; see compareStarved
	notices  []notice                          // by the time that they were given
	noticed  map[cluster.ContainerRef]bool     // containers under notice that still run
	owners   []*app                            // the applications that have victims, by their references
	looks    int                               // nodes and containers that the present Preempt has looked at
	promises map[cluster.NodeRef]*nodePromises // what containers under notice will free
}

// notice is containers that will be ended for an attempt that starves.
type notice struct {
	due  int64 // monotonic, milliseconds
	list []victim
	of   *app // the attempt's application
}

// taking is a container that is taken from its application for that one.
func (s *Scheduler) taking(v victim, a *app) core.Taking {
	rule := "minimum-share"
	if !a.fairShareLack.IsZero() {
		rule = "fair-share"
	}
	return core.Taking{Ref: v.ref, ID: v.id, Rule: rule, ForQueue: a.queue.Path, ForApp: a.ID}
}

// victim is a container under notice. Its slot may serve another one by now.
type victim struct {
	ref cluster.ContainerRef
	id  yarn.ContainerID
}

// Due appends the containers whose notice has run out; see the facade.
func (s *Scheduler) Due(now yarn.Now, out []core.Taking) []core.Taking {
	s.Advance(now)
	p := &s.preemption
	p.notices = slices.DeleteFunc(p.notices, func(n notice) bool {
		if n.due > now.Mono {
			return false
		}
		for _, v := range n.list {
			if s.stands(v) {
				out = append(out, s.taking(v, n.of))
			}
		}
		return true
	})
	return out
}

// stands tells whether a container under notice still runs.
func (s *Scheduler) stands(v victim) bool {
	if !s.Books.IsOpen(v.ref) {
		return false
	}
	c := s.Books.Container(v.ref)
	return c.ID == v.id && c.Live
}

// maxLooks is how many nodes and containers one Preempt looks at before it leaves the rest to the next, so that heartbeats need not wait long.
const maxLooks = 50_000

// Preempt gives containers notice on behalf of attempts that starve; see the facade.
func (s *Scheduler) Preempt(now yarn.Now, out []core.Taking) []core.Taking {
	s.Recompute(now)
	s.forgetEnded()
	s.preemption.looks = 0
	for len(s.preemption.starved) > 0 && (s.preemption.looks < maxLooks || s.AsApache) {
		x := s.nextStarved()
		a := x.of
		if a.starvation != x || !a.Running {
			continue // it has ended meanwhile
		}
		list := s.victimsFor(a)
		for _, v := range list {
			out = append(out, s.taking(v, a))
		}
		if len(list) > 0 {
			s.preemption.notices = append(s.preemption.notices, notice{now.Mono + s.cfg.KillWait, list, a})
		}
		a.nextLook = now.Mono + s.cfg.KillWait + s.cfg.StarvationWait
	}
	return out
}

// forgetEnded recomputes noticed, victims and owners, without containers that have ended.
func (s *Scheduler) forgetEnded() {
	p := &s.preemption
	p.noticed = map[cluster.ContainerRef]bool{}
	for i := range p.notices {
		for _, v := range p.notices[i].list {
			if s.stands(v) {
				p.noticed[v.ref] = true
			}
		}
	}
	p.owners = slices.DeleteFunc(p.owners, func(a *app) bool {
		a.victims = slices.DeleteFunc(a.victims, func(v victim) bool { return !s.stands(v) })
		return len(a.victims) == 0
	})
}

// addVictim notes a container under notice with its application.
func (s *Scheduler) addVictim(a *app, v victim) {
	p := &s.preemption
	a.victims = append(a.victims, v)
	i, found := slices.BinarySearchFunc(p.owners, a.Ref, func(o *app, ref cluster.AppRef) int { return cmp.Compare(o.Ref, ref) })
	if !found {
		p.owners = slices.Insert(p.owners, i, a)
	}
	p.owners[i] = a // the one before it with that reference is gone
}

// UnderNotice are an application's containers that will be ended, or all; see the facade.
func (s *Scheduler) UnderNotice(ref cluster.AppRef, out []cluster.ContainerRef) []cluster.ContainerRef {
	owners := s.preemption.owners
	if ref != cluster.NoApp {
		owners = []*app{s.app(ref)}
	}
	for _, a := range owners {
		for _, v := range a.victims {
			if s.stands(v) {
				out = append(out, v.ref)
			}
		}
	}
	return out
}
