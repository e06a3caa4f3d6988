package resourcemanager

import (
	"context"
	"slices"
	"sync"

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
	r := recovery{term: t, all: all, attempts: map[yarn.ApplicationID][]state.Attempt{}}
	for _, x := range s.Attempts { // in the order of their ids, so each application's are oldest first
		r.attempts[x.ID.Application] = append(r.attempts[x.ID.Application], x)
	}
	r.part(store.Part{Applications: s.Applications, Made: s.Made}, func() {})
	if err := cannotLoad(t.stream.Each(ctx, func(p store.Part) { r.part(p, func() { t.stream.Free(p) }) })); err != nil {
		return err
	}
	if all > 0 {
		t.loop.Post(engine.RecoverApplications{All: all, Last: true})
	}
	t.storedGroups.Clear()
	for _, x := range s.Attempts {
		if len(r.attempts[x.ID.Application]) > 0 {
			t.leaveAlone(x.Key(), x.Orphaned())
		}
	}
	return ctx.Err()
}

// recovery hands the applications of a store to the engine.
type recovery struct {
	*term
	all      int                                    // how many applications there are
	attempts map[yarn.ApplicationID][]state.Attempt // of applications that were not handed over yet
	spare    sync.Pool                              // of *[]engine.RecoveredApplication that the engine is done with
}

// part hands over the applications of a part. done is called, once and by any goroutine, when the engine has them or never will: from then on nobody reads the
// part or its applications, but what these refer to is still in use.
func (r *recovery) part(p store.Part, done func()) {
	for _, q := range p.Quarantined {
		r.leaveAlone(q.Key, q.Reason)
	}
	apps, _ := r.spare.Get().(*[]engine.RecoveredApplication)
	if apps == nil {
		apps = new([]engine.RecoveredApplication)
	}
	*apps = slices.Grow((*apps)[:0], len(p.Applications))
	usable := p.Applications[:0]
	for i, a := range p.Applications {
		sub, err := r.submission(&p, i)
		own := r.attempts[a.ID]
		delete(r.attempts, a.ID)
		if err != nil {
			r.leaveAlone(a.Key(), err.Error())
			continue
		}
		usable = append(usable, a)
		r.admit(a, own)
		*apps = append(*apps, engine.RecoveredApplication{Submission: sub, Record: a, Attempts: own})
	}
	r.contexts.Recovered(usable) // from the Post below on the engine may store a record again, to which contexts adds the context
	for _, a := range usable {
		a.Context = nil
	}
	taken := func(any, error) {
		r.spare.Put(apps)
		done()
	}
	if len(*apps) == 0 {
		taken(nil, nil)
		return
	}
	r.loop.Post(engine.RecoverApplications{Ticket: r.loop.Expect(taken), Applications: *apps, All: r.all})
}

// admit lets the master of an application that has not ended log in. The engine does so too, once it has recovered the application. Without
// admit a master that calls earlier would be refused, and would end.
func (t *term) admit(a *state.Application, attempts []state.Attempt) {
	if n := len(attempts); n > 0 && a.Final == yarn.AppNew && attempts[n-1].Final == yarn.AttemptNew {
		t.grants.amrm.Register(attempts[n-1].ID)
	}
}
