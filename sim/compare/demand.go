package compare

import (
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// attempt is an attempt while its plan is made: what its master knows and does.
type attempt struct {
	plan       *Plan
	before     *attempt // of the same application
	bornAt     int64    // it may register
	registered bool
	ending     bool // it has unregistered, or crashed
	cut        bool // the ResourceManager ended it
	anchor     int64
	ended      int // containers that were its own work and have ended
	rows       map[place]int32
	lost       map[Kin]int32 // containers that the ResourceManager took, for which the master has not asked again
	runs       []*run
	called     int64   // its last call
	gaps       []int64 // between its calls, the first mostGaps of them
}

// place is one row of asks.
type place struct {
	Kin
	where string
}

// run is a container while its plan is made.
type run struct {
	Kin
	owner   *attempt
	from    int64
	time    int64
	ended   bool
	surplus bool // more than its master had asked for: granted while the master asked again
	taken   bool // the ResourceManager took it
}

// mostGaps bounds what is kept to find out how often a master calls.
const mostGaps = 1000

// longestPause is the most that is taken for the time between two calls of a master, in milliseconds. A master that rests has nothing to say.
const longestPause = 10_000

func (t *attempt) register(now int64) {
	if !t.registered {
		t.registered, t.anchor, t.called, t.plan.Boot = true, now, now, now-t.bornAt
	}
}

// step notes what the master does now.
func (t *attempt) step(now int64, s Step) {
	if !t.registered || t.ending {
		return
	}
	s.After, s.Delay = t.ended, now-t.anchor
	t.plan.Steps = append(t.plan.Steps, s)
	t.ending = s.Finish || s.Crash
}

// allocate takes a master's call, once it is answered.
func (x *extractor) allocate(c *engine.Allocate) {
	t := x.attempts[c.Attempt]
	if t == nil {
		return
	}
	asks, updates := slices.Clone(c.Asks), len(c.Updates) // the engine rounds them
	x.calls[c.Ticket] = func(value any, failed bool) {
		if r, ok := value.(*engine.AllocateReply); ok && !failed && !r.Duplicate && !t.ending {
			if gap := x.now - t.called; gap > 0 && len(t.gaps) < mostGaps {
				t.gaps = append(t.gaps, gap)
			}
			t.called = x.now
			x.left.updates += updates
			t.ask(x.now, asks, c.BlacklistAdd, c.BlacklistRemove)
			for i := range r.Granted {
				x.granted(t, &r.Granted[i])
			}
		}
	}
}

// ask notes how a call changes what the master wants. Asks are absolute numbers of what the master knows to be
// outstanding, so that the difference from what it last knew is what it wants besides. A row of a host or rack becomes less
// because of grants alone, which are others under another configuration; such a change is none of the master's will.
func (t *attempt) ask(now int64, asks []yarn.Ask, add, remove []string) {
	var s Step
	for _, a := range asks {
		p := place{Kin{a.Priority, a.AllocationRequestID}, a.Where}
		more := a.Count - t.rows[p]
		t.rows[p] = a.Count
		if a.Where == yarn.AnyHost && more > 0 {
			again := min(more, t.lost[p.Kin]) // the simulated master does so by itself
			t.lost[p.Kin] -= again
			more -= again
		}
		if more > 0 || more < 0 && a.Where == yarn.AnyHost {
			a.Count = more
			s.Asks = append(s.Asks, a)
		}
	}
	s.BlacklistAdd, s.BlacklistRemove = slices.Clone(add), slices.Clone(remove)
	if len(s.Asks)+len(add)+len(remove) > 0 {
		t.step(now, s)
	}
}

// granted notes a container that the master has got.
func (x *extractor) granted(t *attempt, g *engine.Grant) {
	if x.runs[g.ID] != nil {
		return // told again
	}
	k := Kin{g.Priority, g.AllocationRequestID}
	r := &run{Kin: k, owner: t, from: x.now, time: Forever, surplus: t.rows[place{k, yarn.AnyHost}] <= 0}
	x.runs[g.ID] = r
	for _, where := range []string{yarn.AnyHost, x.racks[g.Node.Host], g.Node.Host} {
		if p := (place{k, where}); t.rows[p] > 0 {
			t.rows[p]--
		}
	}
	if !r.surplus {
		t.runs = append(t.runs, r)
	}
}

// taken tells whether a container ended in such a way because the ResourceManager took it from its master.
func taken(exit int32) bool {
	return exit == yarn.ExitPreempted || exit == yarn.ExitAborted || exit == yarn.ExitDisksFailed
}

// container takes the end of a container.
func (x *extractor) container(c *engine.ContainerEvent) {
	t := x.attempts[c.Container.Attempt]
	if t == nil {
		return
	}
	if c.Master {
		switch {
		case t.ending:
		case taken(c.Exit), c.Exit == yarn.ExitKilledByRM, c.Exit == yarn.ExitKilledAfterApp:
			t.cut, t.ending = true, true
		default:
			t.step(max(x.now-x.unseen(c.Node), t.anchor), Step{Crash: true, Exit: c.Exit})
			t.ending = true
		}
		return
	}
	r := x.runs[c.Container]
	if r == nil || r.ended {
		return
	}
	r.ended = true
	switch {
	case r.surplus || r.owner.ending || c.Exit == yarn.ExitKilledAfterApp || c.Exit == yarn.ExitKilledByRM:
	case taken(c.Exit):
		r.taken = true
		r.owner.lost[r.Kin]++
	default:
		r.time = max(x.now-r.from-x.unseen(c.Node), 0)
		r.owner.ended++
		r.owner.anchor = x.now
	}
}

// unseen is for how long a container may have ended before its node said so: since the node's call before. The model's nodes, too,
// say it with their next call. A trace says itself with which call a container ends.
func (x *extractor) unseen(node yarn.NodeID) int64 {
	if x.beating == node && !x.work.Trace {
		return max(x.now-x.before-1, 0)
	}
	return 0
}

// finish completes the plan.
func (t *attempt) finish(trace bool) *Plan {
	p := t.plan
	p.Every = 1
	if !trace {
		p.Every = 1000
		if n := len(t.gaps); n > 0 {
			slices.Sort(t.gaps)
			p.Every = min(t.gaps[n/2], longestPause)
		}
	}
	for _, r := range t.runs {
		if !r.taken {
			p.Runs = append(p.Runs, Run{r.Kin, r.time})
		}
	}
	return p
}
