package java

import (
	"errors"
	"strings"
	"time"

	"github.com/heddle-project/heddle/nodemanager/localize"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
)

// maxReason bounds the text of an exception that is told.
const maxReason = 8 << 10

// Password implements ipc.Tokens: each process has a token of its own, which ends with it.
func (f *Fetcher) Password(identifier []byte) ([]byte, string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.processes[string(identifier)]
	if p == nil {
		return nil, "", &ipc.RemoteError{Class: ipc.ClassInvalidToken, Message: "this NodeManager has no such localizer, or no more"}
	}
	return p.password, p.id, nil
}

// Beat answers the heartbeat of the process that has logged in with that identifier: it takes the state of the current resource
// and returns what to do next. An unknown process is told to end.
func (f *Fetcher) Beat(identifier []byte, s *pb.LocalizerStatus) *pb.LocalizerHeartbeatResponse {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.processes[string(identifier)]
	if p == nil || p.id != s.GetLocalizerId() {
		return die()
	}
	if p.dying || p.ctx.Err() != nil {
		return die()
	}
	p.heard = time.Now()
	for _, r := range s.GetResources() {
		if p.current != nil && p.report(r) {
			// compat: after a failure the localizer ends; what others still want of this crew begins anew.
			p.dying = true
			return die()
		}
	}
	switch {
	case p.current != nil:
	case len(p.crew.queue) > 0:
		p.idle = false
		p.current, p.crew.queue = p.crew.queue[0], p.crew.queue[1:]
		p.current.by = p
		return &pb.LocalizerHeartbeatResponse{Action: pb.LocalizerAction_LIVE.Enum(), Resources: []*pb.ResourceLocalizationSpec{wanted(p.current)}}
	case p.idle:
		p.dying = true
		return die()
	default: // what waits for a place in the pool may come now
		p.idle = true
	}
	return &pb.LocalizerHeartbeatResponse{Action: pb.LocalizerAction_LIVE.Enum()}
}

func die() *pb.LocalizerHeartbeatResponse {
	return &pb.LocalizerHeartbeatResponse{Action: pb.LocalizerAction_DIE.Enum()}
}

// report takes the state of a resource and tells whether it has failed. Resources that were not asked for are ignored.
func (p *process) report(r *pb.LocalResourceStatus) (failed bool) {
	told, err := localize.FromWire(r.GetResource())
	asked := p.current.Request
	if err != nil || told.Key() != asked.Key() || told.Visibility != asked.Visibility {
		return false
	}
	switch r.GetStatus() {
	case pb.ResourceStatusType_FETCH_PENDING:
		if r.Status != nil {
			return false
		}
		p.current.finish("", errors.New("the localizer has not told what became of it"))
		failed = true
	case pb.ResourceStatusType_FETCH_SUCCESS:
		p.current.finish(r.GetLocalPath().GetFile(), nil)
	default:
		p.current.finish("", reason(r.GetException()))
		failed = true
	}
	p.current = nil
	return failed
}

// reason is what an exception says.
// compat: the message, and the trace below it.
func reason(x *pb.SerializedException) error {
	text := strings.TrimSpace(x.GetMessage() + "\n" + x.GetTrace())
	if text == "" {
		text = strings.TrimSpace("the localizer gives no reason. " + x.GetClassName())
	}
	if len(text) > maxReason {
		text = text[:maxReason] + "…"
	}
	return errors.New(strings.ToValidUTF8(text, "?"))
}
