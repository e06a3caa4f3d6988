package resourcemanager

import (
	"fmt"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// submissions are made of the contexts in the state store while it is being read, on all
// processors: so a context does not stay in memory, and its memory is used again.
type submissions struct {
	read func(*state.Application) (engine.Submission, error)

	groups sync.Map // of each user, as they are at the restart

	mu    sync.Mutex
	taken [][]madeSubmission // while the store is being read
	made  []madeSubmission   // afterwards, in the order of the ids
	next  int                // in made: of whom nobody has asked for yet
}

type madeSubmission struct {
	id  yarn.ApplicationID
	of  *engine.Submission
	err error
}

// take makes the submission of a record, and takes the context out of that.
func (s *submissions) take(r *state.Application) {
	made := madeSubmission{id: r.ID, of: &engine.Submission{}}
	*made.of, made.err = s.read(r)
	r.Context = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.taken) - 1
	if last < 0 || len(s.taken[last]) == cap(s.taken[last]) {
		s.taken, last = append(s.taken, make([]madeSubmission, 0, 1024)), last+1
	}
	s.taken[last] = append(s.taken[last], made)
}

// loaded tells that all records have been taken.
func (s *submissions) loaded() {
	s.made, s.taken = slices.Concat(s.taken...), nil
	slices.SortFunc(s.made, func(a, b madeSubmission) int { return a.id.Compare(b.id) })
}

// of is the submission of a record. It is asked for records in the order of their ids, once for each.
func (s *submissions) of(r *state.Application) (*engine.Submission, error) {
	for ; s.next < len(s.made) && s.made[s.next].id.Compare(r.ID) < 0; s.next++ {
		s.made[s.next].of = nil
	}
	if s.next == len(s.made) || s.made[s.next].id != r.ID {
		sub, err := s.read(r)
		return &sub, err
	}
	made := s.made[s.next]
	s.made[s.next].of = nil
	s.next++
	return made.of, made.err
}

// clear gives the memory back.
func (s *submissions) clear() {
	s.made, s.next = nil, 0
	s.groups.Clear()
}

// readSubmission makes the submission of a record with its context.
func (t *term) readSubmission(r *state.Application) (engine.Submission, error) {
	cfg := client.Config{Types: t.types, MaxTags: t.settings.Applications.MaxTags, MaxTagLength: t.settings.Applications.MaxTagLength}
	groups, ok := t.submissions.groups.Load(r.User)
	if !ok {
		groups, _ = t.submissions.groups.LoadOrStore(r.User, t.rights.Groups(r.User))
	}
	who := client.Submitter{User: r.User, RealUser: r.RealUser, Groups: groups.([]string), CallerContext: r.CallerContext}
	sub, err := client.Stored(cfg, who, r.Context)
	if err == nil && sub.ID != r.ID {
		err = fmt.Errorf("its submission context says that it is %s", sub.ID)
	}
	return sub, err
}
