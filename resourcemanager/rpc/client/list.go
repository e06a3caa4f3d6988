package client

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// MaxFilters bounds the names in the filters of one call: each application is compared
// with all of them.
const MaxFilters = 10_000

// list lists the applications that pass every filter, newest first.
//
// compat: only the first 20 bytes of a type are compared; types and tags are compared
// without regard to case; a queue may be named by its short name or its path; limit 0
// gives nothing.
func (s *client) list(c *ipc.Call, m *pb.GetApplicationsRequest) {
	if n := len(m.GetApplicationTypes()) + len(m.GetApplicationTags()) + len(m.GetApplicationStates()) + len(m.GetUsers()) + len(m.GetQueues()); n > MaxFilters {
		serve.Refuse(c, serve.YarnException, "%s filters by %d names, at most %d are taken", c.Method, n, MaxFilters)
		return
	}
	parts := view.Applications
	if len(m.GetQueues()) > 0 {
		parts |= view.Queues
	}
	s.withViews(c, parts, func(v *loop.Views) {
		f := filter{m: m, caller: c.Caller, access: s.Access, queues: inQueues(v.Queues(), m.GetQueues())}
		limit := int64(math.MaxInt64)
		if m.Limit != nil {
			limit = m.GetLimit()
		}
		apps := v.Applications()
		rows := make([]report, 0, max(0, min(limit, int64(len(apps)))))
		for i := len(apps) - 1; i >= 0 && int64(len(rows)) < limit; i-- {
			if f.passes(apps[i]) {
				rows = append(rows, s.reportFor(c.Caller, apps[i]))
			}
		}
		s.stream(c, rows)
	})
}

// atOnce is how many bytes of reports are made before other goroutines may run.
const atOnce = 16 << 10

// stream answers with these reports. A list of all may be large, so it is never in memory as a whole: the reports are made twice, the first
// time to know how long the answer will be.
func (s *client) stream(c *ipc.Call, rows []report) {
	now := time.Now().UnixMilli()
	size, made := 0, 0
	rpc.Compose(func(b []byte) []byte {
		for i := range rows {
			b = s.appendReport(b[:0], 1, &rows[i], now)
			size += len(b)
			if made += len(b); made >= atOnce {
				made = 0
				runtime.Gosched()
			}
		}
		return b
	}, func([]byte) {})
	c.Stream(size, func(b []byte) []byte {
		for full := len(b) + atOnce; len(rows) > 0 && len(b) < full; rows = rows[1:] {
			b = s.appendReport(b, 1, &rows[0], now)
		}
		return b
	})
}

type filter struct {
	m      *pb.GetApplicationsRequest
	caller *ipc.Identity
	access Access
	queues map[string]bool // full paths; nil means all
}

// inQueues are the paths of the named queues and of those below them.
func inQueues(all *queue.Snapshot, names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	out := map[string]bool{}
	for _, name := range names {
		out[name] = true
		for i := range all.Queues {
			q := &all.Queues[i]
			if q.Name == name || q.Path == name || strings.HasPrefix(q.Path, name+".") {
				out[q.Path] = true
			}
		}
	}
	return out
}

func (f *filter) passes(a *view.Application) bool {
	m := f.m
	return f.inState(a.PublicState) && f.ofType(a.Type) && f.tagged(a.Tags) &&
		(len(m.GetUsers()) == 0 || slices.Contains(m.GetUsers(), a.User)) &&
		(f.queues == nil || f.queues[a.Queue]) &&
		(m.Name == nil || m.GetName() == a.Name) &&
		within(m.StartBegin, m.StartEnd, a.StartTime) && within(m.FinishBegin, m.FinishEnd, a.FinishTime) && f.inScope(a)
}

func (f *filter) inState(s yarn.PublicState) bool {
	return len(f.m.GetApplicationStates()) == 0 || slices.Contains(f.m.GetApplicationStates(), pb.YarnApplicationState(s))
}

func (f *filter) ofType(t string) bool {
	return len(f.m.GetApplicationTypes()) == 0 || slices.ContainsFunc(f.m.GetApplicationTypes(), func(want string) bool {
		return strings.EqualFold(clip(want, maxType), t)
	})
}

func (f *filter) tagged(tags []string) bool {
	return len(f.m.GetApplicationTags()) == 0 || slices.ContainsFunc(f.m.GetApplicationTags(), func(want string) bool {
		return slices.Contains(tags, strings.ToLower(want))
	})
}

func (f *filter) inScope(a *view.Application) bool {
	switch f.m.GetScope() {
	case pb.ApplicationsRequestScope_OWN:
		return a.User == f.caller.User
	case pb.ApplicationsRequestScope_VIEWABLE:
		return f.access.MayView(f.caller, a)
	}
	return true
}

func within(begin, end *int64, t int64) bool {
	return (begin == nil || t >= *begin) && (end == nil || t <= *end)
}
