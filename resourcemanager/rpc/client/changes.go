package client

import (
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

const maxDiagnostics = 16 << 10

// change posts a command on an application if the caller may modify that. about has the
// application, and what else the audit log gets.
func (s *client) change(c *ipc.Call, about audit.Entry, make func(engine.Ticket) engine.Command, answer func(any)) {
	id := about.Application
	s.lookUp(c, view.Applications, func(v *loop.Views) {
		a := v.FindApplication(id)
		if a == nil {
			s.done(c, about, errors.New("the application is not known"))
			absent(c, about.Operation, id)
			return
		}
		if !s.Access.MayModify(c.Caller, a) {
			refused := about
			refused.Failed, refused.Description, refused.Permissions = true, audit.Unauthorized, "User doesn't have permissions to MODIFY_APP"
			s.audited(c, refused)
			// compat: Java's AccessControlException here, Hadoop's elsewhere
			serve.Refuse(c, serve.YarnException, "java.security.AccessControlException: User %s cannot perform operation MODIFY_APP on %s", c.Caller.User, id)
			return
		}
		repeated := about.Operation == audit.Kill && dying(a) // clients repeat a kill until it is completed
		s.Loop.Post(make(s.Loop.Expect(func(v any, err error) {
			if err != nil || !repeated {
				s.done(c, about, err)
			}
			if err != nil {
				rpc.Fail(c, err)
				return
			}
			answer(v)
		})))
	})
}

// dying tells whether the application is ending already, so that a kill changes nothing.
func dying(a *view.Application) bool {
	switch a.State {
	case yarn.AppKilling, yarn.AppFinalSaving, yarn.AppKilled, yarn.AppFailed, yarn.AppFinished:
		return true
	}
	return false
}

// absent answers that there is no such application. The text depends on the operation.
func absent(c *ipc.Call, operation string, id yarn.ApplicationID) {
	switch operation {
	case audit.Kill:
		serve.Refuse(c, serve.ApplicationNotFound, "Trying to kill an absent application %s", id)
	case audit.Signal:
		serve.Refuse(c, serve.YarnException, "Trying to signal an absent container of %s", id)
	default:
		serve.Refuse(c, serve.ApplicationNotFound, "Application with id '%s' doesn't exist in RM. Please check that the job submission was successful.", id)
	}
}

func (s *client) kill(c *ipc.Call, m *pb.KillApplicationRequest) {
	id := convert.ApplicationID(m.GetApplicationId())
	why := fmt.Sprintf("Application %s was killed by user %s at %s", id, c.Caller.User, c.Caller.Remote.Addr())
	if d := m.GetDiagnostics(); d != "" {
		why += " with diagnostic message: " + clip(d, maxDiagnostics)
	}
	s.change(c, audit.Entry{Operation: audit.Kill, Application: id}, func(t engine.Ticket) engine.Command {
		return engine.Kill{Ticket: t, Application: id, Diagnostics: why}
	}, func(v any) {
		done := v.(engine.KillReply).Completed
		serve.Answer(c, &pb.KillApplicationResponse{IsKillCompleted: &done})
	})
}

func (s *client) failAttempt(c *ipc.Call, m *pb.FailApplicationAttemptRequest) {
	id := convert.AttemptID(m.GetApplicationAttemptId())
	s.change(c, audit.Entry{Operation: audit.FailAttempt, Application: id.Application, Attempt: id}, func(t engine.Ticket) engine.Command {
		return engine.FailAttempt{Ticket: t, Attempt: id, Diagnostics: "Attempt failed by user."}
	}, func(any) { serve.Answer(c, &pb.FailApplicationAttemptResponse{}) })
}

func (s *client) move(c *ipc.Call, m *pb.MoveApplicationAcrossQueuesRequest) {
	id := convert.ApplicationID(m.GetApplicationId())
	s.change(c, audit.Entry{Operation: audit.Move, Application: id}, func(t engine.Ticket) engine.Command {
		return engine.Move{Ticket: t, Application: id, Queue: m.GetTargetQueue(), User: c.Caller.User, RealUser: c.Caller.RealUser,
			Groups: s.Access.Groups(c.Caller.User)}
	}, func(any) { serve.Answer(c, &pb.MoveApplicationAcrossQueuesResponse{}) })
}

func (s *client) priority(c *ipc.Call, m *pb.UpdateApplicationPriorityRequest) {
	id := convert.ApplicationID(m.GetApplicationId())
	s.change(c, audit.Entry{Operation: audit.Priority, Application: id}, func(t engine.Ticket) engine.Command {
		return engine.SetPriority{Ticket: t, Application: id, Priority: m.GetApplicationPriority().GetPriority()}
	}, func(v any) {
		serve.Answer(c, &pb.UpdateApplicationPriorityResponse{ApplicationPriority: convert.ToPriority(v.(engine.PriorityReply).Priority)})
	})
}

// timeoutFormat is the form of times on the wire: ISO-8601 with milliseconds and a zone,
// as Java's SimpleDateFormat yyyy-MM-dd'T'HH:mm:ss.SSSZ writes them.
const timeoutFormat = "2006-01-02T15:04:05.000-0700"

// ParseTimeout reads the time at which an application is to end.
func ParseTimeout(s string) (time.Time, error) {
	for _, layout := range []string{timeoutFormat, time.RFC3339} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("invalid time %q: want ISO-8601 as in %s", s, timeoutFormat)
}

// expiry is the time in a list of timeouts, which names the lifetime and nothing else.
func expiry(list []*pb.ApplicationUpdateTimeoutMap) (time.Time, error) {
	if len(list) != 1 || list[0].GetApplicationTimeoutType() != pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME {
		return time.Time{}, errors.New("expected one timeout, LIFETIME")
	}
	return ParseTimeout(list[0].GetExpireTime())
}

func (s *client) timeouts(c *ipc.Call, m *pb.UpdateApplicationTimeoutsRequest) {
	id := convert.ApplicationID(m.GetApplicationId())
	at, err := expiry(m.GetApplicationTimeouts())
	if err != nil {
		s.lookUp(c, view.Applications, func(v *loop.Views) {
			if v.FindApplication(id) == nil {
				absent(c, audit.Timeouts, id)
				return
			}
			serve.Refuse(c, serve.YarnException, "Cannot update timeouts of %s: %v", id, err)
		})
		return
	}
	s.change(c, audit.Entry{Operation: audit.Timeouts, Application: id}, func(t engine.Ticket) engine.Command {
		return engine.SetLifetime{Ticket: t, Application: id, ExpireAt: at.UnixMilli()}
	}, func(v any) {
		text := time.UnixMilli(v.(engine.LifetimeReply).ExpireAt).Format(timeoutFormat)
		serve.Answer(c, &pb.UpdateApplicationTimeoutsResponse{ApplicationTimeouts: []*pb.ApplicationUpdateTimeoutMap{{
			ApplicationTimeoutType: pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME.Enum(), ExpireTime: &text}}})
	})
}

func (s *client) signal(c *ipc.Call, m *pb.SignalContainerRequest) {
	id := convert.ContainerID(m.GetContainerId())
	s.change(c, audit.Entry{Operation: audit.Signal, Application: id.Attempt.Application, Container: id}, func(t engine.Ticket) engine.Command {
		return engine.SignalContainer{Ticket: t, Container: id, Signal: int32(m.GetCommand())}
	}, func(any) { serve.Answer(c, &pb.SignalContainerResponse{}) })
}

func (s *client) delegationToken(c *ipc.Call, m *pb.GetDelegationTokenRequest) {
	s.Delegation.Issue(c.Caller, m.GetRenewer(), func(t token.Token, err error) {
		if err != nil {
			refuseToken(c, err)
			return
		}
		serve.Answer(c, &pb.GetDelegationTokenResponse{Token: rpc.ToToken(t)})
	})
}

func (s *client) renewToken(c *ipc.Call, m *pb.RenewDelegationTokenRequest) {
	s.Delegation.Renew(c.Caller, fromToken(m.GetToken()), func(expires int64, err error) {
		if err != nil {
			refuseToken(c, err)
			return
		}
		serve.Answer(c, &pb.RenewDelegationTokenResponse{NewExpiryTime: proto.Uint64(uint64(expires))})
	})
}

func (s *client) cancelToken(c *ipc.Call, m *pb.CancelDelegationTokenRequest) {
	s.Delegation.Cancel(c.Caller, fromToken(m.GetToken()), func(err error) {
		if err != nil {
			refuseToken(c, err)
			return
		}
		serve.Answer(c, &pb.CancelDelegationTokenResponse{})
	})
}

// refuseToken answers a call about a delegation token with an error.
func refuseToken(c *ipc.Call, err error) {
	if errors.As(err, new(*ipc.RemoteError)) {
		serve.Wrap(c, err)
		return
	}
	rpc.Fail(c, err)
}

func fromToken(p *pb.Token) token.Token {
	return token.Token{Identifier: p.GetIdentifier(), Password: p.GetPassword(), Kind: p.GetKind(), Service: p.GetService()}
}
