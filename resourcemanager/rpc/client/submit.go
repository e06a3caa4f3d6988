package client

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/internal/intern"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/scan"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of a submission. The store may take only smaller ones.
const (
	MaxContext   = 4 << 20 // bytes of a submission, launch context and credentials included
	MaxName      = 1024
	maxType      = 20 // compat: longer types are cut
	maxAMAsks    = 1000
	maxQueueName = 4096
)

func (s *client) newApplication(c *ipc.Call, _ *pb.GetNewApplicationRequest) {
	s.Loop.Post(engine.NewApplication{Ticket: s.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		r := v.(engine.NewApplicationReply)
		rpc.Compose(func(b []byte) []byte {
			b = field.AppendApplicationID(b, 1, r.ID)
			return field.AppendResource(b, 2, r.Maximum, s.Types)
		}, c.Reply)
	})})
}

// submit submits an application. It is answered when that is stored.
func (s *client) submit(c *ipc.Call) {
	if len(c.Body) > MaxContext {
		serve.Refuse(c, serve.YarnException, "cannot take a submission of %d bytes, the most is %d: move large data into local resources", len(c.Body), MaxContext)
		return
	}
	if _, ok := s.Access.KnownGroups(c.Caller.User); ok {
		s.checkAndSubmit(c)
		return
	}
	spawn(c, s.submissions, func() { s.checkAndSubmit(c) }) // looking up the submitter's groups may take a while
}

func (s *client) checkAndSubmit(c *ipc.Call) {
	raw, err := contextBytes(c.Body)
	if err != nil {
		rpc.Fail(c, unreadable(err))
		return
	}
	s.take(submission{User: c.Caller.User, RealUser: c.Caller.RealUser, CallerContext: c.CallerContext, From: c.Caller.Remote.Addr(), raw: append([]byte(nil), raw...)},
		func(err error) {
			if err != nil {
				rpc.Fail(c, err)
				return
			}
			serve.Answer(c, &pb.SubmitApplicationResponse{})
		})
}

func unreadable(err error) error {
	return &ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the submission: %v", err)}
}

// submission is a submission context, and who sent it.
type submission struct {
	User, RealUser, CallerContext string
	From                          netip.Addr
	raw                           []byte
}

// Submit submits an application for a user whose request came over another protocol. It may wait for the look-up of the user's
// groups. done is called once, when the submission is stored or refused; what the form of the context is refused for is an
// *ipc.RemoteError.
func Submit(cfg Config, user string, from netip.Addr, context []byte, done func(error)) {
	(&client{Config: cfg}).take(submission{User: user, From: from, raw: context}, done)
}

// take checks a submission and hands it to the engine. The bytes are kept.
func (s *client) take(x submission, done func(error)) {
	m := scanned.Get().(*scannedSubmission)
	defer scanned.Put(m)
	if err := m.Scan(x.raw, s.Types, maxAMAsks); err != nil {
		done(unreadable(err))
		return
	}
	if m.ID.Sequence <= 0 {
		done(&ipc.RemoteError{Class: serve.IDNotProvided, Message: "ApplicationId is not provided in ApplicationSubmissionContext"})
		return
	}
	about := audit.Entry{Operation: audit.Submit, Application: m.ID, Caller: x.CallerContext,
		Queue: cmp.Or(string(m.Queue), defaultQueue), Label: string(m.Label)}
	end := func(err error) {
		s.submitted(x, about, err)
		done(err)
	}
	who := Submitter{User: intern.Text(x.User), RealUser: intern.Text(x.RealUser), Groups: s.Access.Groups(x.User), CallerContext: x.CallerContext}
	sub, class, err := s.submission(who, &m.Submission, askAnywhere, nil)
	if err == nil && !m.Unmanaged && !m.Sized && len(m.Asks) == 0 {
		class, err = serve.InvalidResource, errors.New("no resources requested for its master")
	}
	if err != nil {
		end(&ipc.RemoteError{Class: class, Message: fmt.Sprintf("Cannot submit %s: %v", sub.ID, err)})
		return
	}
	sub.ContextBytes = len(x.raw)
	kept, ok := s.Contexts.Keep(sub.ID, x.raw)
	if !ok {
		end(&ipc.RemoteError{Class: serve.YarnException, Message: fmt.Sprintf("Cannot submit %s: another application is being submitted under that id", sub.ID)})
		return
	}
	s.Loop.Post(engine.Submit{Application: sub, Ticket: s.Loop.Expect(func(_ any, err error) {
		kept(err == nil)
		end(err)
	})})
}

// defaultQueue is the queue in the audit log if a submission names none.
const defaultQueue = "default"

// submitted writes the outcome of a submission to the audit log.
func (s *client) submitted(x submission, e audit.Entry, err error) {
	if err != nil {
		e.Failed, e.Description, e.Permissions = true, "Exception in submitting application", err.Error()
	}
	s.write(x.User, x.From, e)
}

// contextBytes is the submission context in a request, byte for byte: that is what is
// stored and launched, unknown fields included.
func contextBytes(body []byte) ([]byte, error) {
	raw, err := field.Find(body, 1)
	if err == nil && raw == nil {
		err = errors.New("the request holds no submission context")
	}
	return raw, err
}

// Submitter is the user who submits an application.
type Submitter struct {
	User, RealUser string
	Groups         []string // of User, the primary one first
	CallerContext  string
}

// Stored makes a submission of a submission context that was read from the store.
// Several submissions share the memory of their AMAsks, so nobody may write to them.
func Stored(cfg Config, who Submitter, raw []byte) (engine.Submission, error) {
	m := scanned.Get().(*scannedSubmission)
	defer scanned.Put(m)
	if err := m.Scan(raw, cfg.Types, maxAMAsks); err != nil {
		return engine.Submission{}, fmt.Errorf("cannot read the stored submission: %w", err)
	}
	sub, _, err := (&client{Config: cfg}).submission(who, &m.Submission, m.askFor, &m.texts)
	sub.ContextBytes = len(raw)
	return sub, err
}

// scannedSubmission is a context that was read. Its memory is used again, but not what last and texts refer to.
type scannedSubmission struct {
	scan.Submission
	last  []yarn.Ask // what askFor returned last; submissions keep it
	texts intern.Texts
}

var scanned = sync.Pool{New: func() any { return new(scannedSubmission) }}

// askFor returns the ask for a master of that size. Most stored applications ask for the same, and share it.
func (s *scannedSubmission) askFor(size yarn.Resource) []yarn.Ask {
	if len(s.last) == 0 || s.last[0].Capability != size {
		s.last = askAnywhere(size)
	}
	return s.last
}

// submission checks the form of a context and makes a submission of it. class is the
// exception for err. The names of queue and type come from texts.
func (s *client) submission(who Submitter, m *scan.Submission, anywhere func(size yarn.Resource) []yarn.Ask, texts *intern.Texts) (sub engine.Submission, class string, err error) {
	sub = engine.Submission{
		ID: m.ID, User: who.User, RealUser: who.RealUser, Groups: who.Groups,
		Queue: texts.Of(m.Queue), Type: texts.Of(m.Type[:min(len(m.Type), maxType)]), Unmanaged: m.Unmanaged,
		Priority: m.Priority, PrioritySet: m.PrioritySet, MaxAttempts: m.MaxAttempts, KeepContainers: m.KeepContainers,
		ValidityInterval: m.ValidityInterval, Label: string(m.Label), LabelSet: m.LabelSet,
		CallerContext: who.CallerContext, Reservation: m.Reservation,
	}
	switch {
	case len(m.Name) > MaxName:
		return sub, serve.YarnException, fmt.Errorf("its name has %d bytes, at most %d are allowed", len(m.Name), MaxName)
	case len(sub.Queue) > maxQueueName:
		return sub, serve.YarnException, fmt.Errorf("the name of its queue has %d bytes, at most %d are allowed", len(sub.Queue), maxQueueName)
	case !m.Launch && !sub.Unmanaged:
		return sub, serve.YarnException, fmt.Errorf("it has no launch context for its master")
	}
	sub.Name = string(m.Name)
	if sub.Tags, err = s.tags(m.Tags); err != nil {
		return sub, serve.YarnException, fmt.Errorf("%s: %w", serve.IllegalArgument, err)
	}
	for _, t := range m.Timeouts {
		if !t.Lifetime || t.Seconds <= 0 {
			return sub, serve.YarnException, fmt.Errorf("invalid application timeout %d s: it must be a LIFETIME above 0", t.Seconds)
		}
		sub.LifetimeSeconds = t.Seconds
	}
	if len(m.Tokens) > 0 {
		if _, err := token.ParseCredentials(m.Tokens); err != nil {
			return sub, serve.YarnException, fmt.Errorf("its credentials cannot be read: %w", err)
		}
	}
	for _, a := range m.ACLs {
		if a.View {
			sub.ViewACL = string(a.Text)
		} else {
			sub.ModifyACL = string(a.Text)
		}
	}
	sub.AMAsks, err = masterAsks(m, anywhere)
	return sub, serve.InvalidResource, err
}

// tags checks tags. It returns them in lower case, sorted and without duplicates.
func (s *client) tags(tags [][]byte) ([]string, error) {
	if len(tags) > s.MaxTags {
		return nil, fmt.Errorf("Too many applicationTags, a maximum of only %d are allowed!", s.MaxTags)
	}
	out := make([]string, 0, len(tags))
	for _, t := range tags {
		if len(t) > s.MaxTagLength {
			return nil, fmt.Errorf("Tag %q is too long, maximum allowed length of a tag is %d", clip(string(t), 100), s.MaxTagLength)
		}
		if bytes.ContainsFunc(t, func(r rune) bool { return r > 127 }) {
			return nil, fmt.Errorf("A tag can only have ASCII characters! Invalid tag - %q", t)
		}
		out = append(out, strings.ToLower(string(t)))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// masterAsks are the rows that ask for the master's container: first the one for any
// host, which decides size and label, then others for locality, if there are any. Where
// the context has no rows, anywhere makes the one for any host.
func masterAsks(m *scan.Submission, anywhere func(size yarn.Resource) []yarn.Ask) ([]yarn.Ask, error) {
	if m.Unmanaged {
		return nil, nil
	}
	asks, err := m.Asks, m.AsksRefused
	if len(asks) == 0 {
		if m.SizeRefused != nil {
			return nil, m.SizeRefused
		}
		return anywhere(m.Size), nil
	}
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(asks, func(a yarn.Ask) bool { return a.Where == yarn.AnyHost })
	if first < 0 || slices.IndexFunc(asks[first+1:], func(a yarn.Ask) bool { return a.Where == yarn.AnyHost }) >= 0 {
		return nil, fmt.Errorf("the master's container needs exactly one request for %q", yarn.AnyHost)
	}
	asks[0], asks[first] = asks[first], asks[0]
	for i := range asks {
		a := &asks[i]
		a.Capability, a.Count, a.Priority, a.AllocationRequestID = asks[0].Capability, 1, 0, -1
		a.ExecutionType, a.Label, a.LabelSet = yarn.Guaranteed, asks[0].Label, asks[0].LabelSet
	}
	return asks, nil
}

// askAnywhere returns the ask for a master of that size on any host.
func askAnywhere(size yarn.Resource) []yarn.Ask {
	return []yarn.Ask{{Where: yarn.AnyHost, Capability: size, Count: 1, RelaxLocality: true, AllocationRequestID: -1, ExecutionType: yarn.Guaranteed}}
}

func clip(s string, max int) string {
	if len(s) > max {
		return s[:max]
	}
	return s
}
