package replay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// ask is one allocate call of a master. One that gives back or changes
// something is followed by an empty one, and the two answers count as one.
func (w *World) ask(e *trace.Event, saw trace.Saw) error {
	a, err := w.find(e.App)
	if err != nil {
		return err
	}
	if a.registered.IsZero() && w.header.Recorder < quiet {
		saw["error"] = "NullPointerException" // the recorder's own
		return nil
	}
	c, err := w.allocate(a, e)
	if errors.Is(err, errNoContainer) {
		saw["error"] = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	answers, err := w.heard(nil, a, c)
	if err == nil && len(c.Release)+len(c.Updates) > 0 {
		answers, err = w.heard(answers, a, &engine.Allocate{Attempt: a.calls(), Progress: 0.5})
	}
	if errors.Is(err, errUnanswered) {
		saw["error"] = err.Error()
		return nil
	}
	if err != nil {
		var refusal *engine.Error
		if !errors.As(err, &refusal) {
			return err
		}
		saw["error"] = exceptions[refusal.Kind]
		return nil
	}
	w.report(answers, saw)
	return nil
}

// errNoContainer: the scenario names a container that was never granted here,
// because something else was decided before. The trace differs, but goes on.
var errNoContainer = errors.New("no such container here")

// errUnanswered: Apache's call ends with this exception, after all that it does.
var errUnanswered = errors.New("NullPointerException")

// lose drops an answer that the master never gets, but for the ends in it, of which the next one tells. What it was granted stays its own, and what was
// changed has its new version.
func (w *World) lose(a *app, r *engine.AllocateReply) {
	a.untold = append(a.untold, r.Completed...)
	for _, g := range r.Granted {
		if b := w.boxOf[g.ID]; b != nil {
			b.version = g.Version
		}
	}
	for _, u := range r.Updated {
		if b := w.boxOf[u.Grant.ID]; b != nil {
			b.version = u.Grant.Version
		}
	}
}

// heard makes the call and adds its answer.
func (w *World) heard(answers []*engine.AllocateReply, a *app, c *engine.Allocate) ([]*engine.AllocateReply, error) {
	c.Ticket, c.ResponseID = w.next(), a.responseID
	v, err := w.call(c.Ticket, c)
	if err != nil {
		return answers, err
	}
	r := v.(*engine.AllocateReply)
	if r.Duplicate {
		return answers, fmt.Errorf("defect: a new call of %s was taken for a repeated one", a.name)
	}
	a.responseID = r.ResponseID
	if w.sched.Unanswered() {
		w.lose(a, r)
		return answers, errUnanswered
	}
	r.Completed, a.untold = append(a.untold, r.Completed...), nil
	return append(answers, r), nil
}

func (w *World) allocate(a *app, e *trace.Event) (*engine.Allocate, error) {
	c := &engine.Allocate{Attempt: a.calls(), Progress: 0.5, BlacklistAdd: e.BlacklistAdd, BlacklistRemove: e.BlacklistRemove}
	for i := range e.Asks {
		row, err := w.row(&e.Asks[i])
		if err != nil {
			return nil, err
		}
		c.Asks = append(c.Asks, row)
	}
	for _, name := range e.Release {
		b := w.boxes[name]
		if b == nil {
			return nil, fmt.Errorf("%w: %s", errNoContainer, name)
		}
		c.Release = append(c.Release, b.id)
	}
	for i := range e.Updates {
		u, err := w.update(&e.Updates[i])
		if err != nil {
			return nil, err
		}
		c.Updates = append(c.Updates, u)
	}
	return c, nil
}

func (w *World) row(a *trace.Ask) (yarn.Ask, error) {
	size, err := w.amounts(a.Resource)
	if err != nil {
		return yarn.Ask{}, err
	}
	exec, err := execution(a.Exec)
	if err != nil {
		return yarn.Ask{}, err
	}
	row := yarn.Ask{Priority: or(a.Priority, 1), AllocationRequestID: or(a.AllocID, -1), Where: a.Where, Capability: size,
		Count: or(a.Count, 1), RelaxLocality: or(a.Relax, true), Label: or(a.Label, ""), LabelSet: a.Label != nil, ExecutionType: exec}
	if row.Where == "" {
		row.Where = yarn.AnyHost
	}
	return row, nil
}

// or is the value, or what stands for one that is left out.
func or[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

func execution(name string) (yarn.ExecutionType, error) {
	switch name {
	case "", "GUARANTEED":
		return yarn.Guaranteed, nil
	case "OPPORTUNISTIC":
		return yarn.Opportunistic, nil
	}
	return 0, fmt.Errorf("no such execution type: %q", name)
}

// updateTypes are the types of changes by their numbers.
var updateTypes = []string{"INCREASE_RESOURCE", "DECREASE_RESOURCE", "PROMOTE_EXECUTION_TYPE", "DEMOTE_EXECUTION_TYPE"}

func (w *World) update(u *trace.Update) (yarn.ContainerUpdate, error) {
	b := w.boxes[u.Container]
	if b == nil {
		return yarn.ContainerUpdate{}, fmt.Errorf("%w: %s", errNoContainer, u.Container)
	}
	kind := slices.Index(updateTypes, u.Type)
	if kind < 0 {
		return yarn.ContainerUpdate{}, fmt.Errorf("no such update: %q", u.Type)
	}
	size, err := w.amounts(u.Resource)
	if err != nil {
		return yarn.ContainerUpdate{}, err
	}
	exec, err := execution(u.Exec)
	if err != nil {
		return yarn.ContainerUpdate{}, err
	}
	return yarn.ContainerUpdate{Container: b.id, Version: b.version, Type: yarn.UpdateType(kind), Capability: size, ExecutionType: exec}, nil
}

// What a call shows of containers that ended, changed, or will not change.
type (
	ended struct {
		Name string `json:"name"`
		Exit string `json:"exit"`
	}
	changed struct {
		Name     string        `json:"name"`
		Type     string        `json:"type"`
		Resource trace.Amounts `json:"resource"`
		Exec     string        `json:"exec"`
	}
	unchanged struct {
		Name   string `json:"name"`
		Reason string `json:"reason"`
	}
)

// report puts the answers to a call into one.
func (w *World) report(answers []*engine.AllocateReply, saw trace.Saw) {
	granted, completed := []string{}, []ended{}
	var updated []changed
	var refused []unchanged
	for _, r := range answers {
		for _, g := range r.Granted {
			if b := w.boxOf[g.ID]; b != nil {
				b.acquired, b.version = true, g.Version
			}
			granted = append(granted, w.nameOf(g.ID))
		}
		for _, c := range r.Completed {
			completed = append(completed, ended{w.nameOf(c.ID), exit(c.ExitStatus)})
		}
		for _, u := range r.Updated {
			if b := w.boxOf[u.Grant.ID]; b != nil {
				b.version = u.Grant.Version
			}
			updated = append(updated, changed{w.nameOf(u.Grant.ID), updateTypes[u.Type], w.resource(u.Grant.Resource), u.Grant.Execution.String()})
		}
		for _, u := range r.UpdateErrors {
			refused = append(refused, unchanged{w.nameOf(u.Update.Container), u.Reason})
		}
	}
	slices.Sort(granted)
	saw["granted"] = granted
	saw["completed"] = byText(completed)
	saw["headroom"] = w.resource(answers[len(answers)-1].Headroom)
	saw["preempt"] = nil
	if list := answers[len(answers)-1].Preempt; list != nil {
		saw["preempt"] = w.demanded(list)
	}
	if list := answers[len(answers)-1].Negotiable.Containers; list != nil {
		saw["preempt"] = map[string]any{"strict": []string{}, "contract": w.names(list)}
	}
	if len(updated) > 0 {
		saw["updated"] = byText(updated)
	}
	if len(refused) > 0 {
		saw["update-errors"] = byText(refused)
	}
}

// byText orders objects by how they are written; the name comes first.
func byText[T any](list []T) []T {
	slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return list
}

// exit is how the format calls an exit status.
func exit(status int32) string {
	switch status {
	case yarn.ExitSuccess:
		return "success"
	case yarn.ExitAborted:
		return "aborted"
	case yarn.ExitPreempted:
		return "preempted"
	case yarn.ExitKilledByRM:
		return "killed-by-rm"
	case yarn.ExitKilledByAM:
		return "killed-by-am"
	case yarn.ExitKilledAfterApp:
		return "killed-after-app"
	}
	return strconv.Itoa(int(status))
}

// exceptions are the names under which masters learn of refusals.
var exceptions = map[engine.Kind]string{
	engine.Failed:             "YarnException",
	engine.UnknownApplication: "ApplicationNotFoundException",
	engine.UnknownAttempt:     "ApplicationAttemptNotFoundException",
	engine.UnknownContainer:   "ContainerNotFoundException",
	engine.AccessDenied:       "AccessControlException",
	engine.InvalidRequest:     "InvalidResourceRequestException",
	engine.InvalidLabel:       "InvalidLabelResourceRequestException",
	engine.InvalidMaster:      "InvalidApplicationMasterRequestException",
	engine.NotRegistered:      "ApplicationMasterNotRegisteredException",
	engine.InvalidRelease:     "InvalidContainerReleaseException",
	engine.InvalidBlacklist:   "InvalidResourceBlacklistRequestException",
	engine.InvalidConfig:      "YarnException",
	engine.NotStored:          "YarnException",
	engine.UnknownQueue:       "YarnException",
}
