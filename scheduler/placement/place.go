package placement

import "github.com/heddle-project/heddle/yarn"

// Place decides where an application goes. The answer is refused if the reason
// is not OK; it is not decided if no rule applies, and then the application goes
// where it was submitted, if that is a queue.
//
// Rules apply only to applications that name no queue, unless they may override.
// Of an application that comes from the store only the leaf's name is compared
// with what the rules say: unless they agree it stays where it was.
func (r *Rules) Place(req Request, queues Queues) (Placement, yarn.Reason) {
	return r.place(req, queues, nil)
}

// Step is what one rule did with an application.
type Step struct {
	Rule   int
	Text   string
	Result Result
	Queue  string      // for Placed and DefaultSet
	Reason yarn.Reason // why the rule failed and its fallback was used
}

// Result tells how a rule ended.
type Result string

// The results of rules.
const (
	NotMatched Result = "not matched"
	Skipped    Result = "failed, on to the next rule"
	DefaultSet Result = "default queue set"
	Placed     Result = "placed"
	ToDefault  Result = "failed, placed in the default queue"
	Refused    Result = "refused"
)

// Explain is Place with what every rule did up to the one that decided.
func (r *Rules) Explain(req Request, queues Queues) (Placement, yarn.Reason, []Step) {
	var steps []Step
	p, why := r.place(req, queues, &steps)
	return p, why, steps
}

func (r *Rules) place(req Request, queues Queues, steps *[]Step) (Placement, yarn.Reason) {
	stays := Placement{Queue: req.Queue, Rule: NoRule}
	if req.Queue == "" {
		// compat: even where a rule would have given a queue.
		return Placement{Rule: NoRule}, no(NoPlacement, "", "the name of the submitted queue is empty")
	}
	if req.Queue != NoQueue && !r.override && !req.Recovering {
		return stays, yarn.Reason{}
	}
	placed, why := r.walk(newVariables(req), queues, steps)
	switch {
	case req.Recovering && (!why.OK() || !placed.Decided() || shortName(placed.Queue) != req.Queue):
		return stays, yarn.Reason{}
	case !why.OK() || placed.Decided():
		return placed, why
	}
	return stays, yarn.Reason{}
}

// walk tries the rules in order.
func (r *Rules) walk(v variables, queues Queues, steps *[]Step) (Placement, yarn.Reason) {
	for i := range r.list {
		if !r.list[i].matcher.matches(&v) {
			r.note(steps, i, Step{Result: NotMatched})
			continue
		}
		step := r.list[i].try(&v, queues)
		r.note(steps, i, step.Step)
		switch step.Result {
		case Placed, ToDefault:
			return Placement{Queue: step.Queue, Create: step.create, Rule: i}, yarn.Reason{}
		case Refused:
			why := step.Reason
			why.Subject = r.list[i].text
			return Placement{Rule: i}, why
		}
	}
	return Placement{Rule: NoRule}, yarn.Reason{}
}

func (r *Rules) note(steps *[]Step, i int, s Step) {
	if steps != nil {
		s.Rule, s.Text = i, r.list[i].text
		*steps = append(*steps, s)
	}
}

// outcome is a step with what only the walk needs to know.
type outcome struct {
	Step
	create bool
}

func result(res Result, queue string, why yarn.Reason) outcome {
	return outcome{Step: Step{Result: res, Queue: queue, Reason: why}}
}

// try applies one rule that matches.
func (r *rule) try(v *variables, queues Queues) outcome {
	switch r.action {
	case actionReject:
		return result(Refused, "", no(Rejected, "", "the rule rejects what it matches"))
	case actionSetDefault:
		v.set(varDefault, v.substitute(r.target))
		return result(DefaultSet, v.values[varDefault], yarn.Reason{})
	}
	to, why := leafAt(v.path(r.target, queues), r.create, queues)
	if why.OK() {
		out := result(Placed, to.path, yarn.Reason{})
		out.create = !to.exists
		return out
	}
	return r.fall(v, why, queues)
}

// fall does what the rule says for the case that it cannot place, because of why.
func (r *rule) fall(v *variables, why yarn.Reason, queues Queues) outcome {
	switch r.fallback {
	case fallbackSkip:
		return result(Skipped, "", why)
	case fallbackReject:
		why.Code = Rejected
		return result(Refused, "", why)
	}
	to, missing := leafAt(v.values[varDefault], false, queues)
	if !missing.OK() {
		missing.Code = NoDefault
		missing.Detail = why.Detail + "; nor can the default queue be used: " + missing.Detail
		return result(Refused, "", missing)
	}
	return result(ToDefault, to.path, why)
}

// leafAt finds the leaf that a path leads to, or that may be created there.
func leafAt(path string, create bool, queues Queues) (target, yarn.Reason) {
	path, ok := tidied(path)
	if !ok {
		return target{}, no(EmptyPath, path, "the path %q has an empty part", path)
	}
	to, why := resolve(path, queues)
	switch {
	case !why.OK():
		return target{}, why
	case to.exists && !to.queue.Leaf:
		return target{}, no(NotLeaf, to.path, "%q is a parent, not a leaf", to.path)
	case !to.exists && !create:
		return target{}, no(NoCreate, to.path, "there is no queue %q, and the rule does not allow creating it", to.path)
	}
	return to, yarn.Reason{}
}
