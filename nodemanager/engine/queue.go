package engine

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/yarn"
)

// QueueSettings say which opportunistic containers may wait for room on the node, and how they give way to guaranteed ones.
type QueueSettings struct {
	ByResources bool // those wait that would fit together; MaxLength means nothing (yarn.nodemanager.opportunistic-containers-queue-policy)
	MaxLength   int  // opportunistic containers that wait (yarn.nodemanager.opportunistic-containers-max-queue-length)
	Pause       bool // they are paused, not killed (yarn.nodemanager.opportunistic-containers-use-pause-for-preemption)
}

// off tells whether nobody waits: opportunistic containers are turned away, and guaranteed ones start whatever the node has.
func (s *QueueSettings) off() bool { return !s.ByResources && s.MaxLength <= 0 }

// queue divides the node among its containers, by what they were promised. From its start to its end, or until it is paused, a
// container has a share.
type queue struct {
	total         amount
	used          amount       // by the holders
	holders       []*container // which have shares, in the order of their starts
	guaranteed    []*container // which wait for one, the oldest first; paused ones, too
	opportunistic []*container // likewise; they get what guaranteed ones leave
	changed       bool         // somebody may start, or must give way
	grown         bool         // the holders may have more than there is though nobody waits
	recovering    bool         // not all of the last life's holders are known yet
}

// amount is what the node is divided by.
// compat: other resource types do not count.
type amount struct{ memory, vcores int64 }

// maxAmount bounds one container's amounts, so that no sum overflows.
const maxAmount = 1 << 40

func amountOf(r yarn.Resource) amount {
	return amount{min(max(r.MemoryMB(), 0), maxAmount), min(max(r.VCoreCount(), 0), maxAmount)}
}

func (a amount) plus(b amount) amount    { return amount{a.memory + b.memory, a.vcores + b.vcores} }
func (a amount) minus(b amount) amount   { return amount{a.memory - b.memory, a.vcores - b.vcores} }
func (a amount) fitsIn(b amount) bool    { return a.memory <= b.memory && a.vcores <= b.vcores }
func (c *container) amount() amount      { return amountOf(c.spec.Resource) }
func (c *container) opportunistic() bool { return c.spec.Execution == yarn.Opportunistic }

func (q *queue) hasRoom(c *container) bool { return q.used.plus(c.amount()).fitsIn(q.total) }

// line is where a container waits.
func (q *queue) line(c *container) *[]*container {
	if c.opportunistic() {
		return &q.opportunistic
	}
	return &q.guaranteed
}

// schedule launches a container that has its resources, at once or when there is room for it.
func (e *Engine) schedule(c *container) {
	if c.holds { // another try
		e.launch(c)
		return
	}
	e.startWaiting()
	c.phase = queued
	if c.opportunistic() && !c.admitted && !e.queue.takes(&e.set.Queue, c) {
		e.kill(c, KilledByScheduler, "Opportunistic container queue is full.")
		return
	}
	e.wait(c)
	e.startWaiting()
	if c.phase == queued {
		c.admitted = true
		e.keep(c)
		e.show(c)
	}
}

// takes tells whether another opportunistic container may wait.
func (q *queue) takes(set *QueueSettings, c *container) bool {
	if !set.ByResources {
		return len(q.opportunistic) < set.MaxLength
	}
	sum := q.used.plus(c.amount())
	for _, x := range slices.Concat(q.guaranteed, q.opportunistic) {
		sum = sum.plus(x.amount())
	}
	return sum.fitsIn(q.total)
}

// wait puts a container at the end of its line.
func (e *Engine) wait(c *container) {
	line := e.queue.line(c)
	*line = append(*line, c)
	e.queue.changed = true
}

// unwait takes a container out of its line, if it is in one.
func (e *Engine) unwait(c *container) {
	it := func(x *container) bool { return x == c }
	e.queue.guaranteed = slices.DeleteFunc(e.queue.guaranteed, it)
	e.queue.opportunistic = slices.DeleteFunc(e.queue.opportunistic, it)
	e.queue.changed = true
}

// hold gives a container its share.
func (e *Engine) hold(c *container) {
	q := &e.queue
	c.holds, c.admitted = true, true
	q.holders = append(q.holders, c)
	q.used = q.used.plus(c.amount())
}

// giveUp takes a container's share back, if it has one.
func (e *Engine) giveUp(c *container) {
	q := &e.queue
	if c.holds {
		q.holders = slices.DeleteFunc(q.holders, func(x *container) bool { return x == c })
		q.used = q.used.minus(c.amount())
		q.changed = true
	}
	c.holds, c.reclaimed = false, false
}

// startWaiting starts or resumes whoever waits and has room, in order. No opportunistic container comes before a guaranteed one.
func (e *Engine) startWaiting() {
	q := &e.queue
	if q.recovering {
		return
	}
	for len(q.guaranteed) > 0 && (e.set.Queue.off() || q.hasRoom(q.guaranteed[0])) {
		e.startFirst(&q.guaranteed)
	}
	for len(q.guaranteed) == 0 && len(q.opportunistic) > 0 && q.hasRoom(q.opportunistic[0]) {
		e.startFirst(&q.opportunistic)
	}
}

func (e *Engine) startFirst(line *[]*container) {
	c := (*line)[0]
	*line = slices.Delete(*line, 0, 1)
	e.hold(c)
	if c.phase == paused {
		e.resume(c)
	} else {
		e.launch(c)
	}
}

// settle brings the node's division up to date at the end of a command.
func (e *Engine) settle() {
	q := &e.queue
	for q.changed && !q.recovering {
		q.changed = false
		e.turnAway()
		e.startWaiting()
		if !e.set.Queue.off() && (len(q.guaranteed) > 0 || q.grown) {
			e.reclaim()
		}
		q.grown = false
	}
}

// turnAway ends containers that wait and are larger than the node, which may have become smaller: they would wait for ever, and so would all behind
// them.
func (e *Engine) turnAway() {
	q := &e.queue
	if e.set.Queue.off() {
		return
	}
	for _, c := range slices.Concat(q.guaranteed, q.opportunistic) {
		if !c.amount().fitsIn(q.total) {
			e.kill(c, KilledByScheduler, fmt.Sprintf("Container cannot start: it is of %s, and the node has %s in all.",
				c.spec.Resource, yarn.NewResource(q.total.memory, q.total.vcores)))
		}
	}
}

// reclaim has opportunistic containers give way, the last started first, until guaranteed ones that wait will have room.
func (e *Engine) reclaim() {
	q := &e.queue
	wanted := q.used
	for _, c := range q.guaranteed {
		wanted = wanted.plus(c.amount())
	}
	for _, c := range q.holders {
		if c.reclaimed {
			wanted = wanted.minus(c.amount())
		}
	}
	for _, c := range slices.Backward(slices.Clone(q.holders)) {
		if wanted.fitsIn(q.total) {
			return
		}
		if c.opportunistic() && !c.reclaimed {
			c.reclaimed = true
			wanted = wanted.minus(c.amount())
			e.giveWay(c)
		}
	}
}

// giveWay ends or pauses a container that has a share.
func (e *Engine) giveWay(c *container) {
	switch {
	case c.phase == killing:
	case e.set.Queue.Pause && c.phase.hasProcess():
		e.note(c, "Container Paused to make room for Guaranteed Container")
		e.pause(c)
	default:
		e.kill(c, KilledByScheduler, "Container Killed to make room for Guaranteed Container.")
	}
}

// pause keeps in mind that a container is stopped before it is, and until it surely goes on again: in the next life it is
// stopped anew.
func (e *Engine) pause(c *container) {
	c.phase, c.halted = pausing, true
	e.keep(c)
	e.show(c)
	e.emit(Pause{c.spec.ID})
}

func (e *Engine) resume(c *container) {
	e.note(c, "Container Resumed as some resources freed up")
	c.phase = resuming
	e.show(c)
	e.emit(Resume{c.spec.ID})
}

// halted is called when a container has been paused, or cannot be.
func (e *Engine) halted(p Paused) {
	c := e.containers[p.ID]
	switch {
	case c == nil || c.phase != pausing:
	case p.Failure != "":
		e.cannotPause(c, p.Failure)
	default:
		e.giveUp(c)
		c.phase = paused
		e.wait(c)
		e.show(c)
	}
}

// goesOn is called when a container has been resumed, or cannot be.
func (e *Engine) goesOn(r Resumed) {
	c := e.containers[r.ID]
	switch {
	case c == nil || c.phase != resuming:
	case r.Failure != "":
		e.cannotPause(c, r.Failure)
	default:
		c.phase, c.halted = running, false
		e.keep(c)
		e.show(c)
	}
}

func (e *Engine) cannotPause(c *container, why string) {
	e.note(c, why)
	e.kill(c, yarn.ExitPreempted, "Container preempted as there was  an exception in pausing it.") // compat: Apache's text, with two spaces
}

// revalue replaces what a container may use. One that waits changes lines if its execution type changes.
func (e *Engine) revalue(c *container, spec *Spec) {
	q := &e.queue
	moves := c.phase.waits() && spec.Execution != c.spec.Execution
	if moves {
		e.unwait(c)
	}
	if c.holds {
		q.used = q.used.minus(c.amount()).plus(amountOf(spec.Resource))
		q.grown = true
	}
	c.spec = spec
	if moves {
		e.wait(c)
	}
	q.changed = true
}

// shed ends opportunistic containers that wait beyond a number of them. Paused ones do not count.
func (e *Engine) shed(keep int) {
	for _, c := range slices.Clone(e.queue.opportunistic) {
		if c.phase == paused {
			continue
		}
		if keep--; keep < 0 {
			e.kill(c, KilledByScheduler, "Container De-queued to meet NM queuing limits.")
		}
	}
}

// offer changes what the node has.
func (e *Engine) offer(total yarn.Resource) {
	q := &e.queue
	q.total, q.changed, q.grown = amountOf(total), true, true
}

// Division tells how the node is divided (OpportunisticContainersStatusProto).
type Division struct {
	QueuedGuaranteed, QueuedOpportunistic int // they wait for room, paused ones included
	Paused                                int
	Running                               int // opportunistic ones that have a share
	RunningMB, RunningVCores              int64
}

// Divide sums up views.
func Divide(views []*View) (d Division) {
	for _, v := range views {
		opportunistic := v.Execution == yarn.Opportunistic
		if v.Sub == SubPaused {
			d.Paused++
		}
		switch {
		case v.Waits && opportunistic:
			d.QueuedOpportunistic++
		case v.Waits:
			d.QueuedGuaranteed++
		case v.Holds && opportunistic:
			a := amountOf(v.Resource)
			d.Running++
			d.RunningMB += a.memory
			d.RunningVCores += a.vcores
		}
	}
	return d
}
