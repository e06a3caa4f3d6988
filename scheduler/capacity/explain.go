package capacity

import "github.com/heddle-project/heddle/yarn"

type explanation struct {
	app     *app
	reasons []yarn.Reason
}

func (r *round) note(q *Queue, a *app, why yarn.Reason) {
	if r.why == nil {
		return
	}
	r.why.add(q, a, why)
}

func (e *explanation) add(q *Queue, a *app, why yarn.Reason) {}

// Explain says why the application waits; see the facade.
func (s *Scheduler) Explain(ref AppRef, max int) []yarn.Reason { return nil }
