package rest

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func (s *server) apps(r *http.Request) (*answer.Response, error) {
	f, err := parseFilter(r.URL.Query(), func(name string) (string, bool, error) {
		c, err := s.Source.Cluster(r.Context(), view.Queues)
		if err != nil {
			return "", false, err
		}
		if q, ok := c.Queues.Find(name); ok {
			return q.Path, true, nil
		}
		return name, !s.capacity(r), nil // compat: under other schedulers nothing is found
	})
	if err != nil {
		return nil, err
	}
	newest, version, err := s.Source.Newest(r.Context())
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	caller := webgate.From(r.Context())
	all := s.Source.MayViewAll(caller)
	visible := func(a *view.Application) bool {
		return all || !s.FilterByUser || s.Source.MayView(caller, a)
	}
	choose := sync.OnceValue(func() []yarn.ApplicationID { return f.choose(newest, visible) })
	if f.wrong != nil && len(choose()) > 0 {
		return nil, f.wrong
	}
	s.leaveOut(r, f.without)
	draw := s.newAppDraw(caller, c, f.without)
	draw.all = all
	list := tree.Stream(func(yield func(tree.Value) bool) {
		chosen := choose()
		if len(chosen) <= rowsKept {
			draw.rows = &s.rows
		}
		var a *view.Application
		row := tree.Draw(func(m *tree.Members) { draw.members(m, a) })
		for _, id := range chosen {
			// A caller that reads slowly keeps ids in memory, not old views. It gets each
			// application as it is by then, if that still matches.
			a = s.Source.Latest(id)
			if a != nil && f.matches(a) && visible(a) && !yield(row) {
				return
			}
			a = nil
		}
	})
	out := answer.Wrapped("apps", tree.New().Add("app", list))
	if all && version != 0 && len(r.URL.RawQuery) <= maxSharedQuery {
		out.Same = sameApps{version, c.StartedAt, f.queue, r.URL.RawQuery}
	}
	return out, nil
}

// sameApps identifies a list of applications for callers who may view all of them.
type sameApps struct {
	version uint64 // of the views that they were chosen from
	term    int64  // start time of the ResourceManager whose settings the list shows
	queue   string // path
	query   string
}

// maxSharedQuery bounds the query of a list whose text callers share, in bytes.
const maxSharedQuery = 1 << 10

// leaveOut adds to without what only the CapacityScheduler has, if another one is used.
func (s *server) leaveOut(r *http.Request, without map[string]bool) {
	if !s.capacity(r) {
		without["resourceInfo"] = true
	}
}

func (s *server) app(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	without, err := deselected(r.URL.Query()["deSelects"])
	if err != nil {
		return nil, err
	}
	c, err := s.Source.Cluster(r.Context(), 0)
	if err != nil {
		return nil, err
	}
	s.leaveOut(r, without)
	draw := s.newAppDraw(webgate.From(r.Context()), c, without)
	return answer.Wrapped("app", tree.Draw(func(m *tree.Members) { draw.members(m, a) })), nil
}

// why tells why an application's master has no container yet, or why a gang waits. Hadoop does not have it.
// It has a path of its own, so that the forms of other answers are Hadoop's.
func (s *server) why(r *http.Request) (*answer.Response, error) {
	a, err := s.find(r)
	if err != nil {
		return nil, err
	}
	if c := webgate.From(r.Context()); !s.Source.MayView(c, a) {
		return nil, answer.Errorf(answer.Forbidden, "User %s may not view %s", c.User, a.ID)
	}
	text, hidden := s.nameless(r, a.ID)
	why := ""
	if a.Waits() {
		if why, err = s.Source.Why(r.Context(), a.ID); err != nil {
			return nil, err
		}
		why = text(why)
	}
	takings, err := s.preemptionSentences(r, a.ID, text)
	if err != nil {
		return nil, err
	}
	gates, err := s.Source.Gates(r.Context(), a.ID)
	if err != nil {
		return nil, err
	}
	hideHolders(&gates, text, hidden)
	var since int64
	if t := a.Current(); t != nil && !a.State.Final() && t.State == yarn.AttemptScheduled {
		since = t.StartTime
	}
	o := tree.New().
		Add("id", a.ID.String()).
		Add("state", a.PublicState.String()).
		Add("waiting", why != "").
		AddIf(why != "", "reason", why).
		AddIf(why != "" && since != 0, "since", since).
		AddIf(gates.Refused, "refused", true).
		AddIf(len(gates.List) > 0, "gates", gateObjects(gates.List)).
		AddIf(len(takings) > 0, "preemption", takings)
	if l := gates.Line; l.Place > 0 {
		o.Add("line", tree.New().Add("place", l.Place).Add("of", l.Of).Add("for", l.For).Add("queue", l.Queue))
	}
	o.AddIf(len(gates.Impossible) > 0, "impossible", impossibleObjects(gates.Impossible)).AddIf(len(gates.Asks) > 0, "asks", askObjects(gates.Asks))
	return answer.Wrapped("why", o), nil
}

func memoryAndCores(r *yarn.Resource) *tree.Object {
	return tree.New().Add("memoryMB", r.MemoryMB()).Add("vCores", r.VCoreCount())
}

// find is the application that the path names.
func (s *server) find(r *http.Request) (*view.Application, error) {
	id, err := answer.ParseApplication(r.PathValue("app"))
	if err != nil {
		return nil, err
	}
	a, err := s.Source.Application(r.Context(), id)
	if err != nil && answer.KindOf(err) == answer.NotFound {
		return nil, notFound("app with id: %s not found", r.PathValue("app"))
	}
	return a, err
}

func (s *server) statistics(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	if err := tooMany(q); err != nil {
		return nil, err
	}
	states, err := publicStates(words(q["states"]))
	if err != nil {
		return nil, err
	}
	types := lower(words(q["applicationTypes"]))
	if len(types) > 1 {
		return nil, badRequest("# of applicationTypes = %d, we temporarily support at most one applicationType", len(types))
	}
	c, err := s.Source.Cluster(r.Context(), view.Applications)
	if err != nil {
		return nil, err
	}
	if len(states) == 0 {
		states = yarn.PublicStates()
	}
	kind := "*"
	if len(types) == 1 {
		kind = types[0]
	}
	var items tree.List
	for _, state := range slices.Compact(slices.Sorted(slices.Values(states))) {
		items = append(items, tree.New().
			Add("state", state.String()).
			Add("type", kind).
			Add("count", countApps(c.Applications, state, kind)))
	}
	return answer.Wrapped("appStatInfo", tree.New().Add("statItem", items)), nil
}

func countApps(apps []*view.Application, state yarn.PublicState, kind string) int64 {
	var n int64
	for _, a := range apps {
		if a.PublicState == state && (kind == "*" || strings.EqualFold(a.Type, kind)) {
			n++
		}
	}
	return n
}
