package sim

import (
	"fmt"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/elect"
)

// How often, in a hundred thousand, what happens: crashes after each command, the others in each step of each ResourceManager.
const (
	crashes     = 40
	pauses      = 300
	cuts        = 300
	clockChange = 200
)

// clocksBack is in how many of a hundred starts the machine's clock has been set back before.
const clocksBack = 5

// Times of ResourceManagers.
const (
	session    = 4_000 // milliseconds: of the election
	mostDown   = 30    // steps until a crashed one runs again
	mostPause  = 120   // steps
	mostCut    = 150   // steps
	restSteps  = 20    // before one that has given up leads again
	mostChange = 100_000
)

// daemon is the process of one ResourceManager. It leads while it has a term; with others it needs the lock for that, which stands for
// ZooKeeper's.
type daemon struct {
	c     *Cluster
	index int
	term  *term // nil: it is a standby, or does not run
	life  int   // counts its starts
	down  int   // step in which it runs again
	rests int   // until this step it does not stand for election
	skew  int64 // how far its wall clock is ahead

	paused int      // until this step it does nothing
	inbox  []func() // what waits for that

	cutLock, cutStore int   // until these steps it has no connection to the lock, the store
	contact           int64 // when it was last in touch with the lock
}

// lock is who may lead, as the election's servers see it.
type lock struct {
	holder *daemon
	life   int   // of the holder: the next one has a session of its own
	seen   int64 // when they heard the holder last
}

// leads tells whether it may still answer, whatever it does not know yet.
func (d *daemon) leads() bool {
	return len(d.c.daemons) == 1 || d.c.now.Mono < elect.Deadline(time.Duration(d.contact)*ms, session*ms).Milliseconds()
}

const ms = time.Millisecond

// step lets the daemon's time pass.
func (d *daemon) step() {
	c := d.c
	d.trouble()
	if d.paused > c.Steps || d.down > c.Steps {
		return
	}
	late := d.inbox // they come before it looks at the clock
	d.inbox = nil
	for _, do := range late {
		do()
	}
	switch {
	case d.down > c.Steps:
	case d.term != nil && !d.leads():
		d.term.end()
	case d.term == nil && d.elected():
		c.lead(d)
	}
	if d.cutLock <= c.Steps && d.down <= c.Steps && d.holds() {
		d.contact, c.lock.seen = c.now.Mono, c.now.Mono
	}
	if d.term != nil {
		d.term.step()
	}
}

// holds tells whether the servers give the daemon the lock.
func (d *daemon) holds() bool { return d.c.lock.holder == d && d.c.lock.life == d.life }

// elected tells whether the daemon may lead. It takes the lock if nobody has it.
func (d *daemon) elected() bool {
	c := d.c
	if len(c.daemons) == 1 {
		return true
	}
	if d.cutLock > c.Steps || d.rests > c.Steps && !c.quiet {
		return false
	}
	if l := &c.lock; l.holder == nil || c.now.Mono-l.seen >= session {
		*l = lock{d, d.life, c.now.Mono}
		d.contact = c.now.Mono
	}
	return d.holds()
}

// yield gives the lock away for a while.
func (d *daemon) yield() {
	if d.holds() {
		d.c.lock.holder = nil
	}
	d.rests = d.c.Steps + restSteps
}

// trouble is what may happen to the daemon's machine and network.
func (d *daemon) trouble() {
	c := d.c
	if c.quiet {
		d.paused, d.cutLock, d.cutStore = 0, 0, 0
		return
	}
	happens := func(chance int) bool { return c.rng.IntN(100_000) < chance }
	if happens(clockChange) {
		c.Done["clock jumps"]++
		if d.term != nil {
			c.Done["clock jumps of leader"]++
		}
		d.skew += int64(c.rng.IntN(2*mostChange)) - mostChange
	}
	if happens(pauses) && d.paused <= c.Steps {
		c.Done["pauses"]++
		if d.term != nil {
			c.Done["pauses of leader"]++
		}
		d.paused = c.Steps + c.rng.IntN(mostPause)
	}
	if len(c.daemons) > 1 && happens(cuts) {
		c.Done["cuts"]++
		until, side := c.Steps+c.rng.IntN(mostCut), c.rng.IntN(8)
		if d.term != nil {
			c.Done[fmt.Sprintf("leader cut from: lock %t store %t nodes %t", side&1 == 0, side&2 == 0, side&4 == 0)]++
		}
		if side&1 == 0 {
			d.cutLock = until
		}
		if side&2 == 0 {
			d.cutStore = until
		}
		if side&4 == 0 { // half of the nodes are on the other side
			for _, n := range c.nodes {
				n.cut[d.index] = c.rng.IntN(2) == 0
			}
			c.after(until-c.Steps, func() {
				for _, n := range c.nodes {
					n.cut[d.index] = false
				}
			})
		}
	}
}

// crash ends the process.
func (d *daemon) crash() {
	d.c.Crashes++
	d.life++
	d.inbox = nil
	d.down = d.c.Steps + 1
	if !d.c.quiet {
		d.down += d.c.rng.IntN(mostDown)
	}
	if t := d.term; t != nil {
		t.over, d.term = true, nil
		t.recorded()
		t.hangUp()
	}
}
