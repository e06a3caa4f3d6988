package preempt

import "github.com/heddle-project/heddle/scheduler/core"

// Who gets what is taken. Apache does not say; here what is taken in a partition is promised to those who should have more, in the order in which that was found.

// claim is what somebody should have and does not have.
type claim struct {
	leaf *Queue
	app  *core.App // nil: the first of the leaf that asks for something
	left resource

	apps []*core.App // the leaf's, from the first that asks for something, once it was looked for
}

// findClaims finds which leaves should have more than they have.
func (r *Round) findClaims() {
	r.claims = make([][]claim, len(r.parts))
	for i := range r.parts {
		p := &r.parts[i]
		for _, q := range p.underserved {
			if q.Leaf != nil && r.calc.More(&p.Total, &q.ideal, &q.Used) {
				r.claims[i] = append(r.claims[i], claim{leaf: q, left: q.ideal.Sub(q.Used)})
			}
		}
		r.cost += len(p.underserved)
	}
}

// gainer takes an amount off the first claim, and tells whose that is. The last claim takes all that is left.
func (r *Round) gainer(list *[]claim, i int, amount *resource) (to Gainer) {
	if len(*list) == 0 {
		return to
	}
	first := &(*list)[0]
	to.Queue = first.leaf.Path
	if a := first.app; a != nil {
		to.App = a.ID
	} else {
		if first.apps == nil {
			first.apps = first.leaf.Leaf.Active()
			r.cost += len(first.apps) / 8
		}
		for ; len(first.apps) > 0; first.apps = first.apps[1:] {
			a := first.apps[0]
			if pending := a.Wants.Pending(r.parts[i].Part); !pending.IsZero() {
				to.App = a.ID
				break
			}
			r.cost++
		}
	}
	first.left = first.left.Sub(*amount)
	if len(*list) > 1 && !r.calc.Positive(&r.parts[i].Total, &first.left) {
		*list = (*list)[1:]
	}
	return to
}
