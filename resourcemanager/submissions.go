package resourcemanager

import (
	"fmt"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc/client"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
)

// readAhead makes the submission of a record, or an error, while the state store is being read, on all processors. It removes the context from
// the record, so that the context does not stay in memory and its memory can be reused.
func (t *term) readAhead(r *state.Application) any {
	sub, err := t.readSubmission(r)
	r.Context = nil
	if err != nil {
		return err
	}
	return sub
}

// submission returns the submission of the application with index i in a part.
func (t *term) submission(p *store.Part, i int) (*engine.Submission, error) {
	if len(p.Made) == 0 {
		return t.readSubmission(p.Applications[i])
	}
	switch made := p.Made[i].(type) {
	case *engine.Submission:
		return made, nil
	default:
		return nil, made.(error)
	}
}

// readSubmission makes the submission of a record with its context.
func (t *term) readSubmission(r *state.Application) (*engine.Submission, error) {
	cfg := client.Config{Types: t.types, MaxTags: t.settings.Applications.MaxTags, MaxTagLength: t.settings.Applications.MaxTagLength}
	groups, ok := t.storedGroups.Load(r.User)
	if !ok {
		groups, _ = t.storedGroups.LoadOrStore(r.User, t.rights.Groups(r.User))
	}
	who := client.Submitter{User: r.User, RealUser: r.RealUser, Groups: groups.([]string), CallerContext: r.CallerContext}
	sub, err := client.Stored(cfg, who, r.Context)
	if err == nil && sub.ID != r.ID {
		err = fmt.Errorf("its submission context says that it is %s", sub.ID)
	}
	return &sub, err
}
