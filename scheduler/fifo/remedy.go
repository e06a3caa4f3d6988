package fifo

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// Line is the application's place among those who wait for containers; see the facade.
func (s *Scheduler) Line(ref cluster.AppRef) (l core.Line) {
	a := appOf(s.App(ref))
	if !a.Running || len(a.Wants.Keys()) == 0 {
		return l
	}
	l.For, l.Queue = core.LineRoom, a.Leaf.Path
	for _, o := range s.line {
		if len(o.Wants.Keys()) > 0 {
			if l.Of++; o == a {
				l.Place = l.Of
			}
		}
	}
	return l
}

// Rooms is what could still be placed; see the facade. There is no limit but the nodes.
func (s *Scheduler) Rooms(free *core.Free, of *queue.Queue, _ string) []core.Headroom {
	return s.Core.Rooms(free, of, func(cluster.Part) []core.Ceiling { return nil })
}
