package engine

// A command that would hold the loop for long does the first part of its work at
// once and leaves the rest to Ticks, slice by slice; whatever comes meanwhile is
// served between two of them. Work is measured by count, in ends of containers; a row
// of asks costs as much.

// MaxSlice is the work of one slice.
const MaxSlice = 2000

// What costs more than the end of a container.
const (
	workOfNode   = 50 // a node that leaves or moves, without its containers
	workOfMaster = 10 // an application or attempt whose end begins
)

// job is work that is not done yet. It does at most about so much and says how
// much it did, and whether it is done.
type job func(budget int) (used int, done bool)

func (e *Engine) slice() int {
	if e.set.Slice > 0 {
		return e.set.Slice
	}
	return MaxSlice
}

// begin does the first slice of a job, unless others wait already.
func (e *Engine) begin(j job) {
	if len(e.jobs) == 0 {
		if _, done := j(e.slice()); done {
			return
		}
	}
	e.jobs = append(e.jobs, j)
}

// after does it once all jobs that wait are done.
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

// Working tells that a Tick is due, whatever the time.
func (e *Engine) Working() bool { return len(e.jobs) > 0 }
