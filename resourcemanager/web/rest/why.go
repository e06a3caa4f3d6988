package rest

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/answer/tree"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of answers that Hadoop does not have.
const (
	mostRooms = 200  // leaves in one answer of GET /headroom
	mostWaits = 5000 // rows in one answer of GET /waiting-times
)

// gateObjects are reasons as they are told.
func gateObjects(list []view.Gate) *tree.Object {
	var out tree.List
	for i := range list {
		out = append(out, gateObject(&list[i]))
	}
	return tree.New().Add("gate", out)
}

// nameless takes the ids of applications that the caller may not know of out of texts, if lists of applications leave them out, and hidden tells which
// these are. own is the application that is asked about.
func (s *server) nameless(r *http.Request, own yarn.ApplicationID) (text func(string) string, hidden func(yarn.ApplicationID) bool) {
	if !s.FilterByUser {
		return func(text string) string { return text }, func(yarn.ApplicationID) bool { return false }
	}
	caller := webgate.From(r.Context())
	hidden = func(id yarn.ApplicationID) bool {
		if id == own {
			return false
		}
		a := s.Source.Latest(id)
		return a == nil || !s.Source.MayView(caller, a)
	}
	return func(text string) string {
		return applicationName.ReplaceAllStringFunc(text, func(name string) string {
			m := applicationName.FindStringSubmatch(name)
			if id, err := yarn.ParseApplicationID("application" + m[2]); err == nil && !hidden(id) {
				return name
			}
			switch m[1] {
			case "application":
				return "another application"
			case "appattempt":
				return "an attempt of another application"
			}
			return "a container of another application"
		})
	}, hidden
}

// applicationName is the id of an application, or of what belongs to one, in a text.
var applicationName = regexp.MustCompile(`(application|appattempt|container(?:_e[0-9]+)?)(_[0-9]+_[0-9]+)(?:_[0-9]+)*`)

// hideHolders leaves out those that hidden tells of, and their names in texts. A command that names one is left out.
func hideHolders(gates *view.Gates, text func(string) string, hidden func(yarn.ApplicationID) bool) {
	hide := func(g *view.Gate) {
		g.Holders = slices.DeleteFunc(slices.Clone(g.Holders), func(h view.GateHolder) bool { return hidden(h.App) })
		g.Text, g.Act.Text = text(g.Text), text(g.Act.Text)
		if text(g.Act.Command) != g.Act.Command {
			g.Act.Command = ""
		}
	}
	gates.List, gates.Asks, gates.Impossible = slices.Clone(gates.List), slices.Clone(gates.Asks), slices.Clone(gates.Impossible)
	for i := range gates.List {
		hide(&gates.List[i])
	}
	for i := range gates.Asks {
		hide(&gates.Asks[i].Gate)
	}
	for i := range gates.Impossible {
		gates.Impossible[i].Text = text(gates.Impossible[i].Text)
	}
}

func gateObject(g *view.Gate) *tree.Object {
	o := tree.New().Add("code", string(g.Code)).Add("text", g.Text).AddIf(g.Setting != "", "setting", g.Setting).AddIf(g.Origin != "", "origin", g.Origin)
	if !g.Needed.IsZero() || !g.Limit.IsZero() {
		o.Add("needed", memoryAndCores(&g.Needed)).Add("limit", memoryAndCores(&g.Limit))
	}
	var change, holders tree.List
	for _, x := range g.Change {
		change = append(change, tree.New().Add("name", x.Name).Add("value", x.Value).AddIf(x.Element != "", "element", x.Element))
	}
	o.AddIf(len(change) > 0, "change", change).AddIf(g.Room, "lacks", memoryAndCores(&g.Free)).AddIf(g.Never, "never", true).AddIf(g.TooLarge, "tooLarge", true)
	if g.Act.Do != "" {
		o.Add("act", tree.New().Add("do", g.Act.Do).Add("text", g.Act.Text).AddIf(g.Act.Command != "", "command", g.Act.Command))
	}
	for i := range g.Holders {
		h := &g.Holders[i]
		holders = append(holders, tree.New().Add("appId", h.App.String()).Add("user", h.User).Add("queue", h.Queue).
			Add("memoryMB", h.Has.MemoryMB()).Add("vCores", h.Has.VCoreCount()).Add("containers", h.Count))
	}
	return o.AddIf(len(holders) > 0, "holders", holders).AddIf(g.Since != 0, "since", g.Since)
}

func askObjects(list []view.Ask) tree.List {
	var out tree.List
	for i := range list {
		x := &list[i]
		out = append(out, tree.New().Add("priority", x.Priority).Add("memoryMB", x.Size.MemoryMB()).Add("vCores", x.Size.VCoreCount()).Add("containers", x.Count).
			AddIf(x.Label != "", "label", x.Label).Add("gate", gateObject(&x.Gate)))
	}
	return out
}

func impossibleObjects(list []view.Impossible) tree.List {
	var out tree.List
	for i := range list {
		x := &list[i]
		out = append(out, tree.New().Add("priority", x.Priority).Add("memoryMB", x.Size.MemoryMB()).Add("vCores", x.Size.VCoreCount()).Add("containers", x.Count).
			AddIf(x.Label != "", "label", x.Label).Add("code", string(x.Code)).Add("text", x.Text))
	}
	return out
}

// headroom answers GET /headroom: what leaves could still get now, by partition. docs/web.md has the fields.
func (s *server) headroom(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	name, user := q.Get("queue"), q.Get("user")
	c, err := s.Source.Cluster(r.Context(), view.Queues)
	if err != nil {
		return nil, err
	}
	leaves, err := leavesOf(c.Queues, name)
	if err != nil {
		return nil, err
	}
	if caller := webgate.From(r.Context()); s.FilterByUser && user != "" && user != caller.User {
		for _, at := range leaves {
			if !s.Source.QueueRights(caller, at.Path).Administer {
				return nil, answer.Errorf(answer.Forbidden, "%s may not see what %s could get in %s: that takes the right to administer the queue", caller.User, user, at.Path)
			}
		}
	}
	select {
	case s.rooms <- struct{}{}:
		defer func() { <-s.rooms }()
	default:
		return nil, answer.Errorf(answer.Unavailable, "the headroom of queues is being computed for another request; try again")
	}
	var paths []string
	states := map[string]string{}
	for _, at := range leaves[:min(len(leaves), mostRooms)] {
		paths = append(paths, at.Path)
		states[at.Path] = at.State.String()
	}
	rooms, err := s.Source.Rooms(r.Context(), paths, user)
	if err != nil {
		return nil, err
	}
	var out tree.List
	for i := range rooms {
		x := &rooms[i]
		out = append(out, tree.New().Add("queue", x.Queue).Add("partition", x.Label).Add("state", states[x.Queue]).
			Add("largest", memoryAndCores(&x.Largest)).Add("containers", x.Count).Add("stop", gateObject(&x.Stop)))
	}
	return answer.Wrapped("headroom", tree.New().AddIf(user != "", "user", user).Add("queues", len(leaves)).AddIf(len(leaves) > mostRooms, "cut", true).Add("room", out)), nil
}

// leavesOf are the leaves below the queue of that name, or that one; all for the empty name.
func leavesOf(all *queue.Snapshot, name string) (out []*queue.Info, err error) {
	within := ""
	if name != "" {
		at, ok := all.Find(name)
		if !ok {
			return nil, notFound("there is no queue %s", name)
		}
		within = at.Path
	}
	for i := range all.Queues {
		q := &all.Queues[i]
		up := q.Path
		for up != "" && up != within {
			up = queue.ParentPath(up)
		}
		if q.Leaf && up == within {
			out = append(out, q)
		}
	}
	return out, nil
}

// waitingTimes answers GET /waiting-times: how long applications have waited, by cause, of queues or, with by=user, of users there.
func (s *server) waitingTimes(r *http.Request) (*answer.Response, error) {
	q := r.URL.Query()
	byUser := false
	switch by := q.Get("by"); by {
	case "", "queue":
	case "user":
		byUser = true
	default:
		return nil, answer.Errorf(answer.Invalid, "by is queue or user, not %q", by)
	}
	list, err := s.Source.Waits(r.Context())
	if err != nil {
		return nil, err
	}
	caller := webgate.From(r.Context()).User
	var out tree.List
	for i := range list {
		x := &list[i]
		if (x.User != "") != byUser || byUser && s.FilterByUser && x.User != caller || q.Get("queue") != "" && q.Get("queue") != x.Queue || q.Get("user") != "" && q.Get("user") != x.User || len(out) >= mostWaits {
			continue
		}
		out = append(out, tree.New().Add("queue", x.Queue).AddIf(byUser, "user", x.User).Add("cause", string(x.Cause)).Add("millis", x.Millis))
	}
	return answer.Wrapped("waitingTimes", tree.New().Add("wait", out)), nil
}
