package resourcemanager

import (
	"context"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// recover hands what was stored to the engine, before any port serves the term. A
// record that makes no sense is reported and left alone; it stops nothing.
func (t *term) recover(ctx context.Context) error {
	s := t.snapshot
	if s == nil {
		return ctx.Err()
	}
	t.snapshot = nil
	attempts := map[yarn.ApplicationID][]state.Attempt{}
	for _, x := range s.Attempts { // by id, so each application's are oldest first
		attempts[x.ID.Application] = append(attempts[x.ID.Application], x)
	}
	cmd := engine.Recover{Labels: s.Labels, Drains: s.NodeDeadlines, Reservations: s.Reservations,
		Applications: make([]engine.RecoveredApplication, 0, len(s.Applications))}
	var contexts sync.WaitGroup
	contexts.Go(func() { t.contexts.Recovered(s.Applications) })
	defer contexts.Wait()
	var unusable []yarn.ApplicationID
	for i, r := range s.Applications { // by id, too
		if ctx.Err() != nil {
			return ctx.Err()
		}
		sub, err := t.submission(s, i)
		if err != nil {
			t.leaveAlone(r.Key(), err.Error())
			unusable = append(unusable, r.ID)
			continue
		}
		t.admit(r, attempts[r.ID])
		cmd.Applications = append(cmd.Applications, engine.RecoveredApplication{Submission: sub, Record: r, Attempts: attempts[r.ID]})
	}
	t.storedGroups.Clear()
	contexts.Wait() // the engine may store any record again, with its context
	for _, id := range unusable {
		t.contexts.Drop(id)
	}
	for _, r := range s.Applications {
		r.Context = nil
	}
	if len(cmd.Applications)+len(cmd.Labels.Known)+len(cmd.Drains)+len(cmd.Reservations) > 0 {
		t.Log.Info("recovering", "applications", len(cmd.Applications), "draining nodes", len(cmd.Drains), "attempts", len(s.Attempts), "labels", len(cmd.Labels.Known), "reservations", len(cmd.Reservations), "epoch", s.Epoch)
		t.loop.Post(cmd)
	}
	return ctx.Err()
}

// admit lets the master of an application that has not ended log in. The engine says so, too, when it has recovered the application; until
// then masters that call wait for it, and none is told that it has no business here, which would end it.
func (t *term) admit(a *state.Application, attempts []state.Attempt) {
	if n := len(attempts); n > 0 && a.Final == yarn.AppNew && attempts[n-1].Final == yarn.AttemptNew {
		t.grants.amrm.Register(attempts[n-1].ID)
	}
}
