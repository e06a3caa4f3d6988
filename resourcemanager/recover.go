package resourcemanager

import (
	"context"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/yarn"
)

// recover hands what was stored to the engine, before any port serves the term. A
// record that makes no sense is logged and left in the store; the others are recovered.
func (t *term) recover(ctx context.Context) error {
	s := t.snapshot
	if s == nil {
		return ctx.Err()
	}
	t.snapshot = nil
	all := len(s.Applications) + s.Coming.Count
	if all+len(s.Labels.Known)+len(s.NodeDeadlines)+len(s.Reservations) > 0 {
		t.Log.Info("recovering", "applications", all, "draining nodes", len(s.NodeDeadlines), "attempts", len(s.Attempts), "labels", len(s.Labels.Known), "reservations", len(s.Reservations), "epoch", s.Epoch)
		t.loop.Post(engine.Recover{Labels: s.Labels, Drains: s.NodeDeadlines, Reservations: s.Reservations, Coming: all})
	}
	t.contexts.Expect(all)
	attempts := map[yarn.ApplicationID][]state.Attempt{}
	for _, x := range s.Attempts { // in the order of their ids, so each application's are oldest first
		attempts[x.ID.Application] = append(attempts[x.ID.Application], x)
	}
	t.recoverPart(store.Part{Applications: s.Applications, Made: s.Made}, attempts, all)
	if err := cannotLoad(t.recoverComing(ctx, func(p store.Part) { t.recoverPart(p, attempts, all) })); err != nil {
		return err
	}
	if all > 0 {
		t.loop.Post(engine.RecoverApplications{All: all, Last: true})
	}
	t.storedGroups.Clear()
	for _, x := range s.Attempts {
		if len(attempts[x.ID.Application]) > 0 {
			t.leaveAlone(x.Key(), x.Orphaned())
		}
	}
	return ctx.Err()
}

// recoverComing calls take for the applications that are not in the snapshot. Its errors are those of Stream.Each.
func (t *term) recoverComing(ctx context.Context, take func(store.Part)) error {
	if t.stream == nil {
		return nil
	}
	return t.stream.Each(ctx, take)
}

// recoverPart hands applications to the engine and deletes their attempts from attempts. all is the number of applications of all parts.
func (t *term) recoverPart(p store.Part, attempts map[yarn.ApplicationID][]state.Attempt, all int) {
	cmd := engine.RecoverApplications{Applications: make([]engine.RecoveredApplication, 0, len(p.Applications)), All: all}
	for _, q := range p.Quarantined {
		t.leaveAlone(q.Key, q.Reason)
	}
	usable := p.Applications[:0]
	for i, r := range p.Applications {
		sub, err := t.submission(&p, i)
		own := attempts[r.ID]
		delete(attempts, r.ID)
		if err != nil {
			t.leaveAlone(r.Key(), err.Error())
			continue
		}
		usable = append(usable, r)
		t.admit(r, own)
		cmd.Applications = append(cmd.Applications, engine.RecoveredApplication{Submission: sub, Record: r, Attempts: own})
	}
	t.contexts.Recovered(usable) // before the engine stores a record again: contexts adds its context
	for _, r := range usable {
		r.Context = nil
	}
	if len(cmd.Applications) > 0 {
		t.loop.Post(cmd)
	}
}

// admit lets the master of an application that has not ended log in. The engine does so too, once it has recovered the application. Without
// admit a master that calls earlier would be refused, and would end.
func (t *term) admit(a *state.Application, attempts []state.Attempt) {
	if n := len(attempts); n > 0 && a.Final == yarn.AppNew && attempts[n-1].Final == yarn.AttemptNew {
		t.grants.amrm.Register(attempts[n-1].ID)
	}
}
