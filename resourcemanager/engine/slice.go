package engine

// A command that would hold the loop for long does the first slice of its work at
// once and leaves the rest to Ticks; other commands are served between two slices.
// The unit of work is the end of a container; a row of asks counts as one.

// MaxSlice is the work of one slice, in ends of containers.
const MaxSlice = 2000

// What costs more than the end of a container.
const (
	workOfNode   = 50 // a node that leaves or moves, without its containers
	workOfMaster = 10 // an application or attempt whose end begins
)

// job does about budget of the work that is left of a command, and returns how much
// it did, and whether all is done.
type job func(budget int) (used int, done bool)

func (e *Engine) slice() int {
	if e.set.Slice > 0 {
		return e.set.Slice
	}
	return MaxSlice
}

// begin does the first slice of a job at once, unless other jobs wait already.
func (e *Engine) begin(j job) {
	if len(e.jobs) == 0 {
		if _, done := j(e.slice()); done {
			return
		}
	}
	e.jobs = append(e.jobs, j)
}

// after calls do once all jobs that wait are done.
func (e *Engine) after(do func()) {
	e.begin(func(int) (int, bool) {
		do()
		return 0, true
	})
}

// work goes on with the jobs in their order.
func (e *Engine) work(budget int) {
	for len(e.jobs) > 0 && budget > 0 {
		j := e.jobs[0]
		used, done := j(budget)
		budget -= max(used, 1)
		if done {
			e.jobs[0] = nil
			e.jobs = e.jobs[1:]
		}
	}
	if len(e.jobs) == 0 {
		e.jobs = nil
	}
}

// Working tells whether jobs wait, so that a Tick is due at once.
func (e *Engine) Working() bool { return len(e.jobs) > 0 && !e.coming }
