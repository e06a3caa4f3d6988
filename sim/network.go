package sim

import (
	"github.com/heddle-project/heddle/resourcemanager/engine"
)

// Chances of what the network does to a call, in a thousand.
const (
	lostRequests = 8
	lostAnswers  = 30
	lateRequests = 8 // it arrives after others that were sent later
	lateAnswers  = 8
	repeats      = 8 // it arrives once more, later
)

// Times of the network, in steps.
const (
	patience = 10 // after it a caller gives up and calls again
	latest   = 60 // how late a message can be
)

// caller is whoever calls ResourceManagers: a node, a master, a client.
type caller struct {
	c    *Cluster
	at   int   // the one that it talks to
	node *node // whose network it uses; nil: none of its own
	busy bool  // a call is under way

	connections int // a master that has to register again opens another one: what it had sent before does not arrive any more
}

// command makes a command for a ticket. Each delivery gets one of its own, since the engine may change it.
type command func(engine.Ticket) engine.Command

// call has one of answer and lost called, at once or later; lost: nothing was heard for so long that the caller has given up.
func (x *caller) call(cmd command, answer func(any, *engine.Error), lost func()) {
	c := x.c
	x.busy = true
	over := false
	done := func(v any, err *engine.Error) {
		if !over {
			over, x.busy = true, false
			if answer != nil {
				answer(v, err)
			}
		}
	}
	gone := func() {
		if !over {
			over, x.busy = true, false
			if !c.quiet && c.rng.IntN(2) == 0 || c.daemons[x.at].term == nil {
				x.at = (x.at + 1) % len(c.daemons)
			}
			if lost != nil {
				lost()
			}
		}
	}
	d := c.daemons[x.at]
	if x.cut(d) {
		c.after(patience, gone)
		return
	}
	fault := 1000
	if !c.quiet {
		fault = c.rng.IntN(1000)
	}
	is := func(chance int) bool {
		fault -= chance
		return fault < 0 && fault >= -chance
	}
	switch {
	case is(lostRequests):
		c.Done["requests lost"]++
		c.after(patience, gone)
	case is(lostAnswers):
		c.Done["answers lost"]++
		c.after(patience, gone)
		d.deliver(cmd, nil, nil)
	case is(lateRequests):
		c.Done["late requests"]++
		c.after(patience, gone)
		d.lately(x, func() { d.deliver(cmd, done, nil) })
	case is(lateAnswers):
		c.Done["late answers"]++
		c.after(patience, gone)
		d.deliver(cmd, func(v any, err *engine.Error) { c.late(func() { done(v, err) }) }, nil)
	case is(repeats):
		c.Done["repeated requests"]++
		d.lately(x, func() { d.deliver(cmd, nil, nil) })
		fallthrough
	default:
		if d.paused > c.Steps {
			c.after(patience, gone)
		}
		d.deliver(cmd, done, gone)
	}
}

// ask is a call of which nobody minds if it is lost.
func (x *caller) ask(cmd command, answer func(any, *engine.Error)) { x.call(cmd, answer, nil) }

// cut tells whether no call from there reaches the daemon.
func (x *caller) cut(d *daemon) bool { return x.node != nil && x.node.cut[d.index] }

// lately has a request arrive late. Its connection ends with the term.
func (d *daemon) lately(x *caller, do func()) {
	t, over := d.term, x.connections
	d.c.late(func() {
		if t != nil && d.term == t && x.connections == over {
			do()
		}
	})
}

// deliver hands a call to whoever leads there. refused: nobody does, and the caller is told so.
func (d *daemon) deliver(cmd command, answer func(any, *engine.Error), refused func()) {
	switch {
	case d.paused > d.c.Steps:
		d.inbox = append(d.inbox, func() { d.deliver(cmd, answer, refused) })
	case d.term == nil:
		if refused != nil {
			refused()
		}
	default:
		d.term.ask(cmd, answer, refused)
	}
}

// after has do called in so many steps.
func (c *Cluster) after(steps int, do func()) {
	c.timers[c.Steps+steps] = append(c.timers[c.Steps+steps], do)
}

// late has a message arrive late, unless all is quiet by then.
func (c *Cluster) late(do func()) {
	c.after(1+c.rng.IntN(latest), func() {
		if !c.quiet {
			do()
		}
	})
}

// ring calls what is due.
func (c *Cluster) ring() {
	due := c.timers[c.Steps]
	delete(c.timers, c.Steps)
	for _, do := range due {
		do()
	}
}
