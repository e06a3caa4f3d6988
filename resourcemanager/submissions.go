package resourcemanager

import (
	"fmt"
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

	mu   sync.Mutex
	byID map[yarn.ApplicationID]*readSubmission
}

type readSubmission struct {
	engine.Submission
	err error
}

// take makes the submission of a record, and takes the context out of that.
func (s *submissions) take(r *state.Application) {
	made := &readSubmission{}
	made.Submission, made.err = s.read(r)
	r.Context = nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byID == nil {
		s.byID = map[yarn.ApplicationID]*readSubmission{}
	}
	s.byID[r.ID] = made
}

// of is the submission of a record.
func (s *submissions) of(r *state.Application) (engine.Submission, error) {
	s.mu.Lock()
	made := s.byID[r.ID]
	delete(s.byID, r.ID)
	s.mu.Unlock()
	if made == nil {
		return s.read(r)
	}
	return made.Submission, made.err
}

// clear gives the memory back.
func (s *submissions) clear() {
	s.byID = nil
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
