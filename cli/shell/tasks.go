package shell

import (
	"fmt"

	"github.com/heddle-project/heddle/client"
	"github.com/heddle-project/heddle/yarn"
)

// task is one of the containers that were asked for, through all its tries.
type task struct {
	number int
	state  state
	try    int          // of the container that it has; 0 before the first
	grant  client.Grant // of that container
	exit   int32
	why    string
}

// state is where a task stands.
type state int

const (
	waiting  state = iota // for a container
	starting              // its node is being told
	running
	draining // its process has ended, its output has not been read to the end
	over
)

// tasks are the tasks of a job. They hold no clock and call nobody.
type tasks struct {
	list   []task
	of     map[yarn.ContainerID]*task
	most   int // tries of each
	queue  []*task
	counts [over + 1]int
}

func newTasks(n, most int) *tasks {
	t := &tasks{list: make([]task, n), of: map[yarn.ContainerID]*task{}, most: most}
	t.counts[waiting] = n
	for i := range t.list {
		t.list[i].number = i
		t.queue = append(t.queue, &t.list[i])
	}
	return t
}

func (t *tasks) move(k *task, to state) {
	t.counts[k.state]--
	t.counts[to]++
	k.state = to
}

// missing is how many containers are still wanted.
func (t *tasks) missing() int { return t.counts[waiting] }

func (t *tasks) allOver() bool { return t.counts[over] == len(t.list) }

func (t *tasks) progress() float32 { return float32(t.counts[over]) / float32(len(t.list)) }

// granted gives a container to the first task that waits for one. It returns
// nil if none does: the container is then to be released.
func (t *tasks) granted(g client.Grant) *task {
	if len(t.queue) == 0 || t.of[g.ID] != nil {
		return nil
	}
	k := t.queue[0]
	t.queue = t.queue[1:]
	k.try++
	k.grant = g
	t.of[g.ID] = k
	t.move(k, starting)
	return k
}

// started says that the node has taken a container. It is nil if the container
// has ended before that was known.
func (t *tasks) started(id yarn.ContainerID) *task {
	k := t.of[id]
	if k == nil || k.state != starting {
		return nil
	}
	t.move(k, running)
	return k
}

// failed says that a container could not be started. again tells whether
// another is wanted in its place.
func (t *tasks) failed(id yarn.ContainerID, why string) (k *task, again bool) {
	if k = t.of[id]; k == nil || k.state != starting {
		return nil, false
	}
	return k, t.lose(k, yarn.ExitInvalid, why)
}

// completed says that a container has ended. again tells whether another is
// wanted in its place; otherwise its output is to be read to the end.
func (t *tasks) completed(c client.Completion) (k *task, again bool) {
	if k = t.of[c.ID]; k == nil || k.state == draining {
		return nil, false
	}
	if blameless(c.ExitStatus) {
		return k, t.lose(k, c.ExitStatus, c.Diagnostics)
	}
	k.exit, k.why = c.ExitStatus, ""
	if c.ExitStatus < 0 { // of a process that ended by itself they only repeat its output
		k.why = c.Diagnostics
	}
	t.move(k, draining)
	return k, false
}

// lose takes a container from a task.
func (t *tasks) lose(k *task, exit int32, why string) (again bool) {
	delete(t.of, k.grant.ID)
	k.exit, k.why = exit, why
	if k.try >= t.most {
		if t.most > 1 {
			k.why = fmt.Sprintf("tried %d times; last: %s", k.try, why)
		}
		t.move(k, over)
		return false
	}
	t.move(k, waiting)
	t.queue = append(t.queue, k)
	return true
}

// drained ends a task whose output has been read to the end. note says what is
// missing of it.
func (t *tasks) drained(id yarn.ContainerID, note string) *task {
	k := t.of[id]
	if k == nil || k.state != draining {
		return nil
	}
	delete(t.of, id)
	if note != "" && k.why != "" {
		note = k.why + "; " + note
	}
	if note != "" {
		k.why = note
	}
	t.move(k, over)
	return k
}

// blameless tells whether a container ended through no fault of its command:
// released, lost with its node, on a bad disk, preempted, ended by a restarted
// ResourceManager, or never started.
func blameless(exit int32) bool {
	switch exit {
	case yarn.ExitAborted, yarn.ExitDisksFailed, yarn.ExitPreempted, yarn.ExitKilledByRM, yarn.ExitInvalid:
		return true
	}
	return false
}

// verdict sums up: whether every exit code is 0, and a text for the
// application's diagnostics.
func (t *tasks) verdict() (ok bool, text string) {
	good, first := 0, -1
	for i := range t.list {
		switch {
		case t.list[i].exit == 0:
			good++
		case first < 0:
			first = i
		}
	}
	if first < 0 {
		return true, fmt.Sprintf("%d of %d containers ended with exit code 0", good, len(t.list))
	}
	return false, fmt.Sprintf("%d of %d containers ended with exit code 0; container %d with %d", good, len(t.list), first, t.list[first].exit)
}
