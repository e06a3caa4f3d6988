package core

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Normalize checks and completes asks; see the facade.
func (s *Core) Normalize(ref AppRef, asks []yarn.Ask) yarn.Reason {
	a := s.App(ref)
	if n := a.Wants.Size() + len(asks); n > MaxRows {
		return yarn.Reason{Code: fit.TooManyAsks, Subject: a.ID.String(), Count: int64(n), Max: MaxRows}
	}
	return s.normalize(a.Leaf, asks, submission{label: a.Label, set: a.LabelSet})
}

// Bounds of what one application may keep here.
const (
	MaxRows    = 500_000 // of asks, by priority and place
	MaxAvoided = 100_000 // hosts and racks; what is added beyond is dropped

	maxWanted = 1 << 52 // of one resource, by one ask
)

// NormalizeAM does the same for the ask for a master's container; see the facade.
func (s *Core) NormalizeAM(path string, asks []yarn.Ask, label string, labelSet bool) yarn.Reason {
	for i := range asks {
		asks[i].Priority, asks[i].Count, asks[i].ExecutionType = 0, 1, yarn.Guaranteed
	}
	return s.normalize(s.Tree.Find(path), asks, submission{label: label, set: labelSet, master: true})
}

// LabelAM returns the asks for a master's container with the labels that they lack since their queue was not there when they were checked; see the facade.
//
// compat: what is charged for the first attempt's master is charged where there was no label.
func (s *Core) LabelAM(ref AppRef, asks []yarn.Ask) []yarn.Ask {
	q := s.App(ref).Leaf
	if !q.Settings.DefaultSet {
		return asks
	}
	return changed(asks, func(ask *yarn.Ask) {
		if ask.Where == yarn.AnyHost && !ask.LabelSet {
			ask.Label, ask.LabelSet = q.Settings.DefaultLabel, true
		}
	})
}

// changed returns the asks as change leaves them: a copy if it alters one.
func changed(asks []yarn.Ask, change func(ask *yarn.Ask)) []yarn.Ask {
	own := false
	for i := range asks {
		ask := asks[i]
		if change(&ask); ask == asks[i] {
			continue
		}
		if !own {
			asks, own = slices.Clone(asks), true
		}
		asks[i] = ask
	}
	return asks
}

// RefitAM returns the asks for a master's container, rounded again; see the facade.
//
// compat: where the largest node has become smaller than the ask since the
// submission, the ask becomes so, too, for this attempt and those after it. What
// the attempt is charged with is what was asked for before.
func (s *Core) RefitAM(asks []yarn.Ask) []yarn.Ask {
	most := s.ClusterMaximum()
	return changed(asks, func(ask *yarn.Ask) { ask.Capability = s.Calc.Normalize(ask.Capability, s.Min, most, s.Step) })
}

// submission is what asks take over from the application that they belong to.
type submission struct {
	label  string
	set    bool
	master bool // they are for its master
}

func (s *Core) normalize(q *queue.Queue, asks []yarn.Ask, from submission) yarn.Reason {
	most := s.MaximumFor(q)
	for i := range asks {
		ask := asks[i]
		s.completeLabel(q, &ask, from)
		if why := s.checkAsk(q, &ask, most); !why.OK() {
			return why
		}
	}
	for i := range asks {
		s.completeLabel(q, &asks[i], from)
		if asks[i].Where == "" {
			asks[i].Where = yarn.AnyHost
		}
		if strings.TrimSpace(asks[i].Label) == "" {
			asks[i].Label = ""
		}
		asks[i].Capability = s.Calc.Normalize(asks[i].Capability, s.Min, most, s.Step)
	}
	return yarn.Reason{}
}

// completeLabel fills in the label that an ask for any host leaves out: that of
// the submission, then the queue's default. A master's may be empty, too, and
// takes the configured one first.
func (s *Core) completeLabel(q *queue.Queue, ask *yarn.Ask, from submission) {
	if ask.Where != yarn.AnyHost {
		return
	}
	if !from.master && !ask.LabelSet {
		ask.Label, ask.LabelSet = from.label, from.set
	}
	s.enforcePartition(ask, from)
	if from.master && ask.Label == "" {
		if ask.Label, ask.LabelSet = s.cluster.AMLabel, true; ask.Label == "" {
			ask.Label, ask.LabelSet = from.label, from.set
		}
	}
	if !ask.LabelSet && q != nil && q.Settings.DefaultSet {
		ask.Label, ask.LabelSet = q.Settings.DefaultLabel, true
	}
}

// enforcePartition keeps the partitions of
// yarn.node-labels.exclusive-enforced-partitions to the applications that were
// submitted to them, and these to theirs.
func (s *Core) enforcePartition(ask *yarn.Ask, from submission) {
	enforced := s.cluster.Enforced
	if from.set && slices.Contains(enforced, from.label) || ask.LabelSet && slices.Contains(enforced, ask.Label) {
		ask.Label, ask.LabelSet = from.label, from.set
	}
}

func (s *Core) checkAsk(q *queue.Queue, ask *yarn.Ask, most resource) yarn.Reason {
	labelled := strings.TrimSpace(ask.Label) != ""
	if !s.cluster.LabelsEnabled && ask.Label != "" {
		return yarn.Reason{Code: fit.LabelsDisabled, Subject: ask.Label}
	}
	for i := range s.cluster.Types {
		if ask.Capability[i] < 0 {
			return yarn.Reason{Code: fit.NegativeResource, Subject: s.cluster.Types[i].Name, Needed: ask.Capability, Limit: most}
		}
		if ask.Capability[i] > most[i] || ask.Count > 0 && ask.Capability[i] > maxWanted/int64(ask.Count) {
			return yarn.Reason{Code: fit.ResourceTooLarge, Subject: s.cluster.Types[i].Name, Needed: ask.Capability, Limit: most}
		}
	}
	if !labelled {
		return yarn.Reason{}
	}
	path := ""
	if q != nil {
		path = q.Path
	}
	switch {
	case ask.Where != yarn.AnyHost && ask.Where != "":
		return yarn.Reason{Code: fit.LabelOnPlace, Subject: path, Detail: ask.Where}
	case strings.Contains(ask.Label, "&&"):
		return yarn.Reason{Code: fit.LabelExpression, Subject: path, Detail: ask.Label}
	case q != nil && !q.MayUse(ask.Label):
		return yarn.Reason{Code: fit.LabelNotAllowed, Subject: path, Detail: ask.Label}
	}
	if p, ok := s.Books.FindPart(ask.Label); !ok || !s.Books.Partition(p).Known {
		return yarn.Reason{Code: fit.LabelUnknown, Subject: path, Detail: ask.Label}
	}
	return yarn.Reason{}
}

// MaximumFor is the largest container that the queue takes.
func (s *Core) MaximumFor(q *queue.Queue) resource {
	most := s.ClusterMaximum()
	if q == nil || !q.Leaf && !s.ParentsLimit {
		return most
	}
	return measure.Least(q.Settings.MaxAllocation, most)
}

// ClusterMaximum is the configured maximum, or what the largest node has where
// that is less; during the time that nodes are given to come back it is the
// configured one.
func (s *Core) ClusterMaximum() resource {
	most := s.Most
	if s.Now.Mono-s.started < s.cluster.StartWait || s.Books.Count == 0 {
		return most
	}
	return measure.Least(most, s.Books.Largest)
}

// Ask enters asks; see the facade.
func (s *Core) Ask(ref AppRef, asks []yarn.Ask) {
	a := s.App(ref)
	if !a.Running || len(asks) == 0 {
		return
	}
	if !s.askAlike(a, asks) {
		s.enter(a, asks)
	}
	s.asked(a)
}

// alike is the latest first ask of an attempt that waits, and the demand that came of it. The next attempts that ask for the same, as most do, share the
// demand.
type alike struct {
	ask   yarn.Ask
	part  cluster.Part
	wants *demand.Demand
}

// askAlike enters the first ask of an attempt that waits. It does nothing and returns false if the attempt does not wait, has asked before, or asks for
// more than one thing.
func (s *Core) askAlike(a *App, asks []yarn.Ask) bool {
	ask := &asks[0]
	if !a.Apart || a.Wants != &s.none || len(asks) > 1 || ask.Where != yarn.AnyHost || ask.Count <= 0 {
		return false
	}
	f, p := &s.alike, s.Part(ask.Label)
	if f.wants == nil || f.ask != *ask || f.part != p {
		s.enter(a, asks)
		if a.Apart {
			*f = alike{*ask, p, a.Wants.Share()}
		}
		return true
	}
	a.Wants = f.wants
	s.addPending(a.Leaf, &demand.Delta{Part: p, Size: f.wants.Pending(p), Count: f.wants.PendingContainers()})
	s.policy.Asked(a, true)
	return true
}

// Outstanding is what the application asks for at a priority; see the facade.
func (s *Core) Outstanding(ref AppRef, priority int32) (rows []yarn.Ask) {
	for _, w := range s.App(ref).Wants.Keys() {
		if w.Priority != priority || !w.Update.IsZero() {
			continue
		}
		of := yarn.Ask{Priority: priority, AllocationRequestID: w.RequestID, Label: w.Label, LabelSet: true}
		row := func(r *demand.Row) {
			of.Where, of.Capability, of.Count, of.RelaxLocality = s.Books.Places.Name(r.Place), r.Size, r.Count, r.Relax
			rows = append(rows, of)
		}
		for i := range w.Rows {
			row(&w.Rows[i])
		}
		row(&w.Any)
	}
	return rows
}

// enter puts the rows of asks into their keys. Rows of places go first: an ask of none
// for any host removes them. Of several asks of a key for any host the last one counts.
func (s *Core) enter(a *App, asks []yarn.Ask) {
	s.keys, s.wants = s.keys[:0], s.wants[:0]
	for i := range asks {
		s.keys = append(s.keys, demand.Key{Priority: asks[i].Priority, RequestID: asks[i].AllocationRequestID})
	}
	s.wants = a.Own().Open(s.keys, s.wants)
	for i, w := range s.wants {
		if asks[i].Where == yarn.AnyHost {
			w.Latest = int32(i)
		} else {
			s.put(a, w, &asks[i])
		}
	}
	for i, w := range s.wants {
		if asks[i].Where == yarn.AnyHost && w.Latest == int32(i) {
			s.put(a, w, &asks[i])
		}
	}
	a.Wants.Close()
	clear(s.wants)
	if len(asks) > keptAsks {
		s.keys, s.wants = nil, nil
	}
}

// keptAsks is for how many asks of a call room is kept for the next one.
const keptAsks = 1024

// asked reports that the application asks for something else than before.
func (s *Core) asked(a *App) { s.Report(Change{What: Asks, Queue: a.Leaf, App: a}) }

// put replaces one row of a key.
func (s *Core) put(a *App, w *demand.Want, ask *yarn.Ask) {
	before := w.Left()
	row := demand.Row{Place: cluster.AnyPlace, Count: ask.Count, Size: ask.Capability, Relax: ask.RelaxLocality}
	if ask.Where != yarn.AnyHost {
		row.Place = s.Books.Places.Take(ask.Where)
	}
	s.deltas = a.Wants.Set(&s.Books.Places, w, row, s.Part(ask.Label), ask.Label, s.deltas[:0])
	for i := range s.deltas {
		s.addPending(a.Leaf, &s.deltas[i])
	}
	if row.Place != cluster.AnyPlace {
		return
	}
	s.policy.Asked(a, ask.Count > 0 && before <= 0)
}

// servedRow is what a container was asked for by at one place.
type servedRow struct {
	size  resource
	relax bool
}

// servedRows are those for any host, the rack and the host, as far as the locality of
// the container goes.
type servedRows [3]servedRow

// rememberRows keeps the rows that a container is about to serve, if one of them asks
// for another size, or for no other place.
//
//go:noinline
func (s *Core) rememberRows(w *demand.Want, c ContainerRef, container *cluster.Container, n *cluster.NodeBook) {
	plain := servedRow{container.Resource, true}
	rows := servedRows{{w.Any.Size, w.Any.Relax}, plain, plain}
	if r := w.At(n.RackPlace); r != nil && container.Locality != cluster.OffSwitch {
		rows[1] = servedRow{r.Size, r.Relax}
	}
	if r := w.At(n.NodePlace); r != nil && container.Locality == cluster.NodeLocal {
		rows[2] = servedRow{r.Size, r.Relax}
	}
	if rows == (servedRows{plain, plain, plain}) {
		return
	}
	if s.servedRows == nil {
		s.servedRows = map[ContainerRef]servedRows{}
	}
	s.servedRows[c] = rows
}

// RestoreAsk puts an ask back; see the facade.
func (s *Core) RestoreAsk(ref ContainerRef) {
	container := s.Books.Container(ref)
	a := s.App(container.App)
	if !a.Running || container.Reserved || container.AM || !container.Update.IsZero() && !s.restoresIncreases() {
		return
	}
	rows, kept := s.servedRows[ref]
	if !kept {
		plain := servedRow{container.Resource, true}
		rows = servedRows{plain, plain, plain}
	}
	n := s.Books.Node(container.Node)
	k := demand.Key{Priority: container.Priority, RequestID: container.AllocationRequestID}
	names := []string{yarn.AnyHost}
	if container.Locality != cluster.OffSwitch {
		names = append(names, n.Rack)
	}
	if container.Locality == cluster.NodeLocal {
		names = append(names, s.Books.Places.Name(n.NodePlace))
	}
	for i := len(names) - 1; i >= 0; i-- {
		count := int32(1)
		w := a.Own().OpenOne(k)
		if r := s.rowOf(w, names[i]); r != nil {
			count = r.Count + 1
		}
		s.put(a, w, &yarn.Ask{Priority: k.Priority, AllocationRequestID: k.RequestID, Where: names[i],
			Capability: rows[i].size, Count: count, RelaxLocality: rows[i].relax, Label: container.Label, LabelSet: true})
	}
	s.asked(a)
}

func (s *Core) rowOf(w *demand.Want, name string) *demand.Row {
	if name == yarn.AnyHost {
		if w.HasAny {
			return &w.Any
		}
		return nil
	}
	p, ok := s.Books.Places.Find(name)
	if !ok {
		return nil
	}
	return w.At(p)
}

// Blacklist changes the places that the application avoids; see the facade.
func (s *Core) Blacklist(ref AppRef, add, remove []string) {
	a := s.App(ref)
	if !a.Running || len(add)+len(remove) == 0 {
		return
	}
	set := &a.Avoid
	if !a.Mastered {
		set = &a.AvoidAM
	}
	if *set == nil {
		*set = map[cluster.Place]bool{}
	}
	for _, name := range add {
		if len(*set) >= MaxAvoided {
			break
		}
		if p := s.Books.Places.Take(name); (*set)[p] {
			s.Books.Places.Drop(p)
		} else {
			(*set)[p] = true
		}
	}
	for _, name := range remove {
		if p, ok := s.Books.Places.Find(name); ok && (*set)[p] {
			delete(*set, p)
			s.Books.Places.Drop(p)
		}
	}
	s.asked(a)
}

// BlacklistAM replaces the hosts that masters of the application avoid.
func (s *Core) BlacklistAM(ref AppRef, hosts []string) {
	a := s.App(ref)
	s.dropAll(a.AvoidAM)
	a.AvoidAM = map[cluster.Place]bool{}
	for _, h := range hosts[:min(len(hosts), MaxAvoided)] {
		p := s.Books.Places.Take(h)
		if a.AvoidAM[p] {
			s.Books.Places.Drop(p)
		}
		a.AvoidAM[p] = true
	}
	s.asked(a)
}

func (s *Core) forgetAvoided(a *App) {
	s.dropAll(a.Avoid)
	a.Avoid = nil
}

// dropPlaces ends all uses that the application makes of names of places.
func (s *Core) dropPlaces(a *App) {
	s.forgetAvoided(a)
	s.dropAll(a.AvoidAM)
	a.AvoidAM = nil
}

func (s *Core) dropAll(places map[cluster.Place]bool) {
	if len(places) == 0 {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(places)) {
		s.Books.Places.Drop(p)
	}
}
