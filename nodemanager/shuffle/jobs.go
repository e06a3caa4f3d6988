package shuffle

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Limits of what an application's master sends along with its containers.
const (
	MaxServiceData = 64 << 10 // bytes; the token itself has about 60
	maxKey         = 4 << 10
	maxUser        = 255 // bytes, as of a file's name
)

// Job is what has to be kept across a restart so that an application's outputs
// are still served: see Config.Save.
type Job struct {
	App   yarn.ApplicationID
	User  string // whose directories hold the outputs
	Token []byte // the job token in Writable form; its password is the key of the job
}

// job is a Job in service.
type job struct {
	Job
	key      []byte
	inFlight atomic.Int64 // requests
}

// jobs are those in service by the ids that reducers know.
type jobs struct {
	mu   sync.RWMutex
	byID map[string]*job

	saving sync.Mutex // held over a change and its record, so that both agree
}

func (j *jobs) init() { j.byID = make(map[string]*job) }

func (j *jobs) get(id string) *job {
	j.mu.RLock()
	defer j.mu.RUnlock()
	return j.byID[id]
}

func (j *jobs) put(id string, one *job) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.byID[id] = one
}

func (j *jobs) remove(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, was := j.byID[id]
	delete(j.byID, id)
	return was
}

// jobID is MapReduce's name for an application: job_1700000000000_0007.
func jobID(app yarn.ApplicationID) string {
	return "job_" + strings.TrimPrefix(app.String(), "application_")
}

// InitApplication starts to serve an application's outputs to whoever has the
// key in the token that the application's master sent as service data. It is
// called once for each container that brings service data; the last token counts.
//
// compat: what follows the token is ignored, for masters send the whole array
// behind their buffer; kind and identifier are not looked at.
func (s *Server) InitApplication(app yarn.ApplicationID, user string, serviceData []byte) error {
	one, err := newJob(app, user, serviceData)
	if err != nil {
		return err
	}
	s.jobs.saving.Lock()
	defer s.jobs.saving.Unlock()
	id := jobID(app)
	if old := s.jobs.get(id); old != nil && old.User == user && bytes.Equal(old.Token, one.Token) {
		return nil
	}
	if s.cfg.Save != nil {
		if err := s.cfg.Save(one.Job); err != nil {
			return fmt.Errorf("mapreduce_shuffle: save the token of %s: %w", id, err)
		}
	}
	s.jobs.put(id, one)
	s.cfg.Log.Info("shuffle: serving", "job", id, "user", user)
	return nil
}

// StopApplication stops serving an application, known or not, and drops what
// was cached and saved of it. Transfers that have begun go on.
func (s *Server) StopApplication(app yarn.ApplicationID) error {
	s.jobs.saving.Lock()
	defer s.jobs.saving.Unlock()
	if !s.jobs.remove(jobID(app)) {
		return nil
	}
	s.indexes.dropApp(app)
	if s.cfg.Remove == nil {
		return nil
	}
	if err := s.cfg.Remove(app); err != nil {
		return fmt.Errorf("mapreduce_shuffle: remove the token of %s: %w", jobID(app), err)
	}
	return nil
}

// Restore takes back jobs that were saved before a restart. Those that cannot
// be read are left out and named in the error.
func (s *Server) Restore(saved []Job) error {
	var failed []error
	for _, j := range saved {
		one, err := newJob(j.App, j.User, j.Token)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		s.jobs.put(jobID(j.App), one)
	}
	return errors.Join(failed...)
}

func newJob(app yarn.ApplicationID, user string, serviceData []byte) (*job, error) {
	refuse := func(reason any) (*job, error) {
		return nil, fmt.Errorf("mapreduce_shuffle: service data of %s: %v", app, reason)
	}
	if !isUser(user) {
		return refuse(fmt.Sprintf("%q is no user's name", user))
	}
	if len(serviceData) > MaxServiceData {
		return refuse(fmt.Sprintf("%d bytes are more than the limit of %d", len(serviceData), MaxServiceData))
	}
	t, _, err := token.Parse(serviceData)
	switch {
	case err != nil:
		return refuse(err)
	case len(t.Password) == 0:
		return refuse("the job token has no password, with which requests could be verified")
	case len(t.Password) > maxKey:
		return refuse(fmt.Sprintf("a password of %d bytes is longer than the limit of %d", len(t.Password), maxKey))
	}
	return &job{Job: Job{App: app, User: user, Token: t.Append(nil)}, key: bytes.Clone(t.Password)}, nil
}

// isUser tells whether a name can be that of a user's directory.
func isUser(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= maxUser && !strings.ContainsAny(name, "/\x00")
}
