package capacity

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Normalize checks and completes asks; see the facade.
func (s *Scheduler) Normalize(ref AppRef, asks []yarn.Ask) yarn.Reason {
	a := s.app(ref)
	if n := a.wants.Size() + len(asks); n > MaxRows {
		return yarn.Reason{Code: fit.TooManyAsks, Subject: a.ID.String(), Count: int64(n), Max: MaxRows}
	}
	return s.normalize(a.queue, asks, submission{label: a.Label, set: a.LabelSet})
}

// Bounds of what one application may keep here.
const (
	MaxRows    = 500_000 // of asks, by priority and place
	MaxAvoided = 100_000 // hosts and racks; what is added beyond is dropped

	maxWanted = 1 << 52 // of one resource, by one ask
)

// NormalizeAM does it for the ask for a master's container; see the facade.
func (s *Scheduler) NormalizeAM(path string, asks []yarn.Ask, label string, labelSet bool) yarn.Reason {
	for i := range asks {
		asks[i].Priority, asks[i].Count, asks[i].ExecutionType = 0, 1, yarn.Guaranteed
	}
	return s.normalize(s.tree.find(path), asks, submission{label: label, set: labelSet, master: true})
}

// RefitAM rounds the asks for a master's container again; see the facade.
//
// compat: where the largest node has become smaller than the ask since the
// submission, the ask becomes so, too, for this attempt and those after it. What
// the attempt is charged with is what was asked for before.
func (s *Scheduler) RefitAM(asks []yarn.Ask) {
	most := s.clusterMaximum()
	for i := range asks {
		asks[i].Capability = s.calc.Normalize(asks[i].Capability, s.min, most, s.min)
	}
}

// submission is what asks take over from the application that they belong to.
type submission struct {
	label  string
	set    bool
	master bool // they are for its master
}

func (s *Scheduler) normalize(q *Queue, asks []yarn.Ask, from submission) yarn.Reason {
	most := s.maximumFor(q)
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
		asks[i].Capability = s.calc.Normalize(asks[i].Capability, s.min, most, s.min)
	}
	return yarn.Reason{}
}

// completeLabel fills in the label that an ask for any host leaves out: that of
// the submission, then the queue's default. A master's may be empty, too, and
// takes the configured one first.
func (s *Scheduler) completeLabel(q *Queue, ask *yarn.Ask, from submission) {
	if ask.Where != yarn.AnyHost {
		return
	}
	if !from.master && !ask.LabelSet {
		ask.Label, ask.LabelSet = from.label, from.set
	}
	s.enforcePartition(ask, from)
	if from.master && ask.Label == "" {
		if ask.Label, ask.LabelSet = s.cfg.Cluster.AMLabel, true; ask.Label == "" {
			ask.Label, ask.LabelSet = from.label, from.set
		}
	}
	if !ask.LabelSet && q != nil && q.conf.DefaultSet {
		ask.Label, ask.LabelSet = q.conf.DefaultLabel, true
	}
}

// enforcePartition keeps the partitions of
// yarn.node-labels.exclusive-enforced-partitions to the applications that were
// submitted to them, and these to theirs.
func (s *Scheduler) enforcePartition(ask *yarn.Ask, from submission) {
	enforced := s.cfg.Cluster.Enforced
	if from.set && slices.Contains(enforced, from.label) || ask.LabelSet && slices.Contains(enforced, ask.Label) {
		ask.Label, ask.LabelSet = from.label, from.set
	}
}

func (s *Scheduler) checkAsk(q *Queue, ask *yarn.Ask, most resource) yarn.Reason {
	labelled := strings.TrimSpace(ask.Label) != ""
	if !s.cfg.Cluster.LabelsEnabled && ask.Label != "" {
		return yarn.Reason{Code: fit.LabelsDisabled, Subject: ask.Label}
	}
	for i := range s.cfg.Cluster.Types {
		if ask.Capability[i] < 0 {
			return yarn.Reason{Code: fit.NegativeResource, Subject: s.cfg.Cluster.Types[i].Name, Needed: ask.Capability, Limit: most}
		}
		if ask.Capability[i] > most[i] || ask.Count > 0 && ask.Capability[i] > maxWanted/int64(ask.Count) {
			return yarn.Reason{Code: fit.ResourceTooLarge, Subject: s.cfg.Cluster.Types[i].Name, Needed: ask.Capability, Limit: most}
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
	if p, ok := s.books.FindPart(ask.Label); !ok || !s.books.Partition(p).Known {
		return yarn.Reason{Code: fit.LabelUnknown, Subject: path, Detail: ask.Label}
	}
	return yarn.Reason{}
}

// maximumFor is the largest container that the queue takes.
func (s *Scheduler) maximumFor(q *Queue) resource {
	most := s.clusterMaximum()
	if q == nil || !q.isLeaf() {
		return most
	}
	return measure.Least(q.conf.MaxAllocation, most)
}

// clusterMaximum is the configured maximum, or what the largest node has where
// that is less; during the time that nodes are given to come back it is the
// configured one.
func (s *Scheduler) clusterMaximum() resource {
	most := s.most
	if s.now.Mono-s.started < s.cfg.Cluster.StartWait || s.books.Count == 0 {
		return most
	}
	return measure.Least(most, s.largest)
}

// Ask enters asks; see the facade.
func (s *Scheduler) Ask(ref AppRef, asks []yarn.Ask) {
	a := s.app(ref)
	if !a.running || len(asks) == 0 {
		return
	}
	s.enter(a, asks)
	if a.mastered {
		s.unsettleDemand(a)
	}
	a.queue.Touch()
}

func (s *Scheduler) unsettleDemand(a *app) {
	if a.queue.conf.SizeWeight {
		s.unsettle(a)
	}
}

// enter puts the rows of asks into their keys. Rows of places go first: an ask of none
// for any host removes them. Of several asks of a key for any host the last one counts.
func (s *Scheduler) enter(a *app, asks []yarn.Ask) {
	s.keys, s.wants = s.keys[:0], s.wants[:0]
	for i := range asks {
		s.keys = append(s.keys, demand.Key{Priority: asks[i].Priority, RequestID: asks[i].AllocationRequestID})
	}
	s.wants = a.wants.Open(s.keys, s.wants)
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
	a.wants.Close()
	clear(s.wants)
	if len(asks) > keptAsks {
		s.keys, s.wants = nil, nil
	}
}

// keptAsks is for how many asks of a call room is kept for the next one.
const keptAsks = 1024

// put replaces one row of a key.
func (s *Scheduler) put(a *app, w *demand.Want, ask *yarn.Ask) {
	before := w.Left()
	row := demand.Row{Place: cluster.AnyPlace, Count: ask.Count, Size: ask.Capability, Relax: ask.RelaxLocality}
	if ask.Where != yarn.AnyHost {
		row.Place = s.books.Places.Take(ask.Where)
	}
	s.deltas = a.wants.Set(&s.books.Places, w, row, s.part(ask.Label), ask.Label, s.deltas[:0])
	for i := range s.deltas {
		s.addPending(a.queue, &s.deltas[i])
	}
	if row.Place != cluster.AnyPlace {
		return
	}
	switch {
	case ask.Count <= 0:
		if !a.wants.Wanting() {
			s.unwant(a.queue, a)
		}
	case before <= 0:
		s.want(a.queue, a)
	}
	if a.rests {
		a.queue.leaf.active.wake(a, a.queue.policy())
	}
}

// addPending changes what is outstanding in a leaf and in all queues above it.
func (s *Scheduler) addPending(q *Queue, d *demand.Delta) {
	for ; q != nil; q = q.parent {
		has := &q.Ledger[d.Part]
		before := s.calc.Positive(&s.books.Total, &has.Pending)
		s.calc.Increase(&has.Pending, &d.Size)
		has.Waiting += d.Count
		if before != s.calc.Positive(&s.books.Total, &has.Pending) {
			s.enlist(q, d.Part)
		}
	}
}

// lessPending counts one container less as outstanding.
func (s *Scheduler) lessPending(q *Queue, w *demand.Want) {
	s.addPending(q, &demand.Delta{Part: w.Part, Size: times(w.Any.Size, -1), Count: -1})
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
func (s *Scheduler) rememberRows(w *demand.Want, c ContainerRef, box *cluster.Container, n *cluster.NodeBook) {
	plain := servedRow{box.Resource, true}
	rows := servedRows{{w.Any.Size, w.Any.Relax}, plain, plain}
	if r := w.At(n.RackPlace); r != nil && box.Locality != cluster.OffSwitch {
		rows[1] = servedRow{r.Size, r.Relax}
	}
	if r := w.At(n.NodePlace); r != nil && box.Locality == cluster.NodeLocal {
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
//
// compat: in Apache what was asked for to enlarge a container comes back, too, as an ask
// for a container like any other, on that node alone.
func (s *Scheduler) RestoreAsk(ref ContainerRef) {
	box := s.books.Container(ref)
	a := s.app(box.App)
	if !a.running || box.Reserved || box.AM || !box.Update.IsZero() && !s.likeApache() {
		return
	}
	rows, kept := s.servedRows[ref]
	if !kept {
		plain := servedRow{box.Resource, true}
		rows = servedRows{plain, plain, plain}
	}
	n := s.books.Node(box.Node)
	k := demand.Key{Priority: box.Priority, RequestID: box.AllocationRequestID}
	names := []string{yarn.AnyHost}
	if box.Locality != cluster.OffSwitch {
		names = append(names, n.Rack)
	}
	if box.Locality == cluster.NodeLocal {
		names = append(names, s.books.Places.Name(n.NodePlace))
	}
	for i := len(names) - 1; i >= 0; i-- {
		count := int32(1)
		w := a.wants.OpenOne(k)
		if r := s.rowOf(w, names[i]); r != nil {
			count = r.Count + 1
		}
		s.put(a, w, &yarn.Ask{Priority: k.Priority, AllocationRequestID: k.RequestID, Where: names[i],
			Capability: rows[i].size, Count: count, RelaxLocality: rows[i].relax, Label: box.Label, LabelSet: true})
	}
	a.queue.Touch()
}

func (s *Scheduler) rowOf(w *demand.Want, name string) *demand.Row {
	if name == yarn.AnyHost {
		if w.HasAny {
			return &w.Any
		}
		return nil
	}
	p, ok := s.books.Places.Find(name)
	if !ok {
		return nil
	}
	return w.At(p)
}

// Blacklist changes the places that the application avoids; see the facade.
func (s *Scheduler) Blacklist(ref AppRef, add, remove []string) {
	a := s.app(ref)
	if !a.running || len(add)+len(remove) == 0 {
		return
	}
	set := &a.avoid
	if !a.mastered {
		set = &a.avoidAM
	}
	if *set == nil {
		*set = map[cluster.Place]bool{}
	}
	for _, name := range add {
		if len(*set) >= MaxAvoided {
			break
		}
		if p := s.books.Places.Take(name); (*set)[p] {
			s.books.Places.Drop(p)
		} else {
			(*set)[p] = true
		}
	}
	for _, name := range remove {
		if p, ok := s.books.Places.Find(name); ok && (*set)[p] {
			delete(*set, p)
			s.books.Places.Drop(p)
		}
	}
	a.queue.Touch()
}

// BlacklistAM replaces the hosts that masters of the application avoid.
func (s *Scheduler) BlacklistAM(ref AppRef, hosts []string) {
	a := s.app(ref)
	s.dropAll(a.avoidAM)
	a.avoidAM = map[cluster.Place]bool{}
	for _, h := range hosts[:min(len(hosts), MaxAvoided)] {
		p := s.books.Places.Take(h)
		if a.avoidAM[p] {
			s.books.Places.Drop(p)
		}
		a.avoidAM[p] = true
	}
	a.queue.Touch()
}

func (s *Scheduler) forgetAvoided(a *app) {
	s.dropAll(a.avoid)
	a.avoid = nil
}

// dropPlaces ends all uses that the application makes of names of places.
func (s *Scheduler) dropPlaces(a *app) {
	s.forgetAvoided(a)
	s.dropAll(a.avoidAM)
	a.avoidAM = nil
}

func (s *Scheduler) dropAll(places map[cluster.Place]bool) {
	for _, p := range slices.Sorted(maps.Keys(places)) {
		s.books.Places.Drop(p)
	}
}

// avoids tells whether the application does not want the node.
func (a *app) avoids(n *cluster.NodeBook) bool {
	set := a.avoid
	if !a.mastered {
		set = a.avoidAM
	}
	return len(set) > 0 && (set[n.NodePlace] || set[n.RackPlace])
}

// noteHeadroom is what a walk that comes by an application leaves behind for
// its headroom. It returns the application's user, if the leaf knows it, and
// what is known of the user's limit.
func (s *Scheduler) noteHeadroom(q *Queue, a *app, p part, m mode) (*user, *userBlock) {
	u := q.known(a)
	if u == nil {
		return nil, nil
	}
	s.calc.Set(&q.leaf.queueLimit, &q.leaf.visitLimit)
	a.headLeaf, a.headUser = q, u
	b := of(&u.shares[p].blocked, m)
	s.calc.Set(&b.limit, s.anyLimit(q, p, m))
	if u.weight != 1 { // it is a multiple of the least container already
		s.calc.ScaleDown(&b.limit, float64(u.weight), &s.min)
	}
	return u, b
}

// Headroom is what the master is told; see the facade.
func (s *Scheduler) Headroom(ref AppRef) resource {
	a := s.app(ref)
	q := a.headLeaf
	if q == nil {
		return resource{}
	}
	var sum resource
	plain := true
	for p, asked := range a.wants.Asked() {
		plain = plain && (p == 0 || !asked)
	}
	if plain {
		sum = s.headroomIn(q, a, 0)
	} else {
		for p, asked := range a.wants.Asked() {
			if asked {
				sum = sum.Add(s.headroomIn(q, a, part(p)))
			}
		}
	}
	sum[yarn.Memory] = max(sum[yarn.Memory], 0)
	return sum
}

func (s *Scheduler) headroomIn(q *Queue, a *app, p part) resource {
	limit, weight := *s.anyLimit(q, p, respect), float32(1)
	if u := q.known(a); u != nil {
		weight = u.weight
	}
	s.calc.ScaleDown(&limit, float64(weight), &s.min)
	ofQueue := q.leaf.queueLimit
	if p != 0 {
		ofQueue = q.shares[p].effMax
	}
	h := measure.Least(measure.SubFloor(limit, a.headUser.shares[p].used), measure.SubFloor(ofQueue, q.Ledger[p].Used))
	s.calc.RoundDown(&h, &s.min)
	total := s.books.Partition(p).Total
	left := total.Sub(s.tree.root.Ledger[p].Used)
	return *s.calc.Min(&total, &left, &h)
}

func times(r resource, n int64) resource { return measure.Times(r, n) }
