package apache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Final states as they are stored. A record without one has not ended.
var (
	applicationStates = map[int32]yarn.ApplicationState{8: yarn.AppFinished, 9: yarn.AppFailed, 10: yarn.AppKilled}
	attemptStates     = map[int32]yarn.AttemptState{9: yarn.AttemptFinished, 6: yarn.AttemptFailed, 10: yarn.AttemptKilled}
)

// numberOf is the number of a state.
func numberOf[S comparable](states map[int32]S, s S) *int32 {
	for n, known := range states {
		if known == s {
			return &n
		}
	}
	return nil
}

func encodeApplication(r state.Application) ([]byte, error) {
	context, suffix, err := inForce(r)
	if err != nil {
		return nil, err
	}
	m := &pb.StoredApplication{SubmitTime: &r.SubmitTime, ApplicationSubmissionContext: context, User: &r.User, StartTime: &r.StartTime,
		ApplicationState: numberOf(applicationStates, r.Final), LaunchTime: &r.LaunchTime, FinishTime: &r.FinishTime}
	if suffix > 0 {
		m.ContextSuffix = proto.Int32(int32(suffix))
	}
	if r.Diagnostics != "" {
		m.Diagnostics = &r.Diagnostics
	}
	if r.RealUser != "" {
		m.RealUser = &r.RealUser
	}
	if r.PlanQueue != "" {
		m.PlanQueue = &r.PlanQueue
	}
	if r.Final != yarn.AppNew || r.FinalStatus != yarn.FinalUndefined {
		m.FinalStatus = proto.Int32(int32(r.FinalStatus))
	}
	if r.CallerContext != "" || len(r.CallerSignature) > 0 {
		m.CallerContext = &pb.StoredCallerContext{Context: &r.CallerContext}
		if len(r.CallerSignature) > 0 {
			m.CallerContext.Signature = r.CallerSignature
		}
	}
	for i := range r.Timeouts {
		t := &r.Timeouts[i]
		m.ApplicationTimeouts = append(m.ApplicationTimeouts, &pb.StoredTimeout{ApplicationTimeoutType: &t.Type, Timeout: &t.ExpireAt})
	}
	return marshal(m, r.Unknown)
}

func decodeApplication(id yarn.ApplicationID, value []byte) (r state.Application, err error) {
	m := &pb.StoredApplication{}
	if err := unmarshal(value, m); err != nil {
		return r, err
	}
	if m.User == nil {
		return r, errors.New("an application without a user")
	}
	r = state.Application{User: m.GetUser(), RealUser: m.GetRealUser(), CallerContext: m.GetCallerContext().GetContext(),
		SubmitTime: m.GetSubmitTime(), StartTime: m.GetStartTime(), LaunchTime: m.GetLaunchTime(),
		FinishTime: m.GetFinishTime(), Final: applicationStates[m.GetApplicationState()], FinalStatus: yarn.FinalStatus(m.GetFinalStatus()), Diagnostics: m.GetDiagnostics(), PlanQueue: m.GetPlanQueue()}
	if signature := m.GetCallerContext().GetSignature(); len(signature) > 0 {
		r.CallerSignature = signature
	}
	switch status := m.GetFinalStatus(); {
	case status < 0 || status > int32(yarn.FinalEnded):
		return r, fmt.Errorf("final status %d is not known", status)
	case m.ApplicationState != nil && r.Final == yarn.AppNew && m.GetApplicationState() > 7:
		return r, fmt.Errorf("application state %d is not known", m.GetApplicationState())
	case len(m.ApplicationTimeouts) > state.MaxTimeouts:
		return r, fmt.Errorf("%d timeouts, at most %d are allowed", len(m.ApplicationTimeouts), state.MaxTimeouts)
	}
	for _, t := range m.ApplicationTimeouts {
		r.Timeouts = append(r.Timeouts, state.Timeout{Type: t.GetApplicationTimeoutType(), ExpireAt: t.GetTimeout()})
	}
	slices.SortFunc(r.Timeouts, func(a, b state.Timeout) int { return cmp.Compare(a.Type, b.Type) })
	stored := m.GetApplicationSubmissionContext()
	suffix := int(m.GetContextSuffix())
	if suffix < 0 || suffix > len(stored) {
		return r, fmt.Errorf("a context of %d bytes with %d bytes appended", len(stored), suffix)
	}
	force, err := readForce(stored[:len(stored)-suffix], stored[len(stored)-suffix:])
	switch {
	case err != nil:
		return r, fmt.Errorf("its submission context: %w", err)
	case force.id != id:
		return r, fmt.Errorf("its submission context says that it is %s", force.id)
	}
	r.ID, r.Queue, r.Priority = id, force.queue, force.priority
	if len(stored) > suffix {
		r.Context = stored[: len(stored)-suffix : len(stored)-suffix]
	}
	if unknown := m.ProtoReflect().GetUnknown(); len(unknown) > 0 {
		r.Unknown = append([]byte(nil), unknown...)
	}
	return r, nil
}

// force is what of a submission context is kept in fields of a record.
type force struct {
	id       yarn.ApplicationID
	queue    string
	priority int32
}

// Fields of ApplicationSubmissionContextProto.
const (
	contextID       = 1
	contextQueue    = 3
	contextPriority = 4
)

// readForce reads a context and what was appended to it. A context that cannot be read
// is none if everything was appended.
func readForce(context, suffix []byte) (f force, err error) {
	if _, err = f.scan(context); err != nil {
		f = force{}
	}
	more, suffixErr := f.scan(suffix)
	switch {
	case suffixErr != nil:
		return f, suffixErr
	case err != nil && more != contextID|contextQueue<<8|contextPriority<<16:
		return f, err
	}
	return f, nil
}

// scan reads those fields of a context that matter, and tells which it has, one a byte.
func (f *force) scan(b []byte) (had int, err error) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return had, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		if size < 0 {
			return had, protowire.ParseError(size)
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b[n:])
			switch number {
			case contextID:
				m := convert.ToApplicationID(f.id)
				if err := (proto.UnmarshalOptions{Merge: true, RecursionLimit: maxDepth}).Unmarshal(value, m); err != nil {
					return had, err
				}
				f.id, had = convert.ApplicationID(m), had|contextID
			case contextQueue:
				f.queue, had = string(value), had|contextQueue<<8
			case contextPriority:
				m := &pb.Priority{Priority: &f.priority}
				if err := (proto.UnmarshalOptions{Merge: true, RecursionLimit: maxDepth}).Unmarshal(value, m); err != nil {
					return had, err
				}
				f.priority, had = m.GetPriority(), had|contextPriority<<16
			}
		}
		b = b[n+size:]
	}
	return had, nil
}

// inForce is the context of an application followed by what it says otherwise than
// the record does. suffix is how many bytes were appended.
func inForce(r state.Application) (context []byte, suffix int, err error) {
	var f force
	_, unread := f.scan(r.Context)
	m := &pb.ApplicationSubmissionContext{}
	if unread != nil || f.id != r.ID {
		m.ApplicationId = convert.ToApplicationID(r.ID)
	}
	if unread != nil || f.queue != r.Queue {
		m.Queue = &r.Queue
	}
	if unread != nil || f.priority != r.Priority {
		m.Priority = &pb.Priority{Priority: &r.Priority}
	}
	more, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil || len(more) == 0 {
		return r.Context, 0, err
	}
	return append(r.Context[:len(r.Context):len(r.Context)], more...), len(more), nil
}
