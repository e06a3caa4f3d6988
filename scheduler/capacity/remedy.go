package capacity

import (
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/demand"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Remedy is what would do away with the reason why an application waits; see the facade.
func (s *Scheduler) Remedy(ref AppRef, why yarn.Reason) core.Remedy {
	a := s.app(ref)
	switch why.Code {
	case fit.AMLimit:
		why.Needed = why.Needed.Add(s.aheadInLine(a, ""))
		r := s.LackOf(why)
		for t := range r.Free { // the first in line is admitted as soon as no master is left, whatever the limit
			r.Free[t] = min(r.Free[t], max(why.Needed[t]-a.wait.Size[t], 0))
		}
		r.Settings, r.Holders = s.moreForMasters(a, why), s.masters(a, "")
		return r
	case fit.UserAMLimit:
		why.Needed = why.Needed.Add(s.aheadInLine(a, a.User))
		r := s.LackOf(why)
		r.Settings, r.Holders = s.moreForUsersMasters(a, why), s.masters(a, a.User)
		return r
	case fit.ParallelApps:
		return s.moreParallel(a, why)
	case fit.QueueLimit, fit.ParentLimit, fit.Headroom:
		return s.roomInQueue(a, why)
	case fit.UserLimit:
		return s.roomForUser(a, why)
	case fit.PartitionDenied:
		return s.access(a, why)
	case fit.LocalityDelay:
		return core.Remedy{Act: core.Act{Do: core.Offers, Count: s.offersLeft(a, why)}}
	case fit.ReservationsEnough:
		return s.reservedElsewhere(a, why)
	case fit.QueueRemoved:
		return core.Remedy{Act: s.otherQueue(a)}
	case fit.OtherList:
		return core.Remedy{Act: s.MoreNodes(why.Subject, a.Label, a.wait.Size), Settings: []core.Setting{{Name: settingOf(a.queue, "", "ordering-policy"), Value: "fifo"}}}
	case fit.UserUnknown:
		if leafOf(a.queue).Named(a.User) == nil { // the leaf counts the user again when an application of the user's comes
			return core.Remedy{Act: core.Act{Do: core.MoveApp, Subject: a.queue.Path}}
		}
		return core.Remedy{Act: core.Act{Do: core.Refresh}}
	case fit.RoomKept:
		r := core.Remedy{Act: core.Act{Do: core.Others, Subject: why.Detail}}
		if q := s.tree.ByPath(why.Detail); q != nil {
			r.Holders = s.Holders(func(o *core.App) (resource, int64) {
				if !core.Within(o.Leaf, &q.Queue) {
					return resource{}, 0
				}
				return o.Wants.Pending(0), o.Wants.PendingContainers()
			})
		}
		return r
	case fit.OthersFirst:
		r := s.Core.Remedy(ref, why)
		s.raise(a, why, &r)
		return r
	}
	return s.Core.Remedy(ref, why)
}

// otherQueue is a leaf to which an application can be moved whose own is not in the tree any more, or else the own one.
func (s *Scheduler) otherQueue(a *app) core.Act {
	for _, q := range s.tree.Queues {
		if q == nil || !q.Leaf {
			continue
		}
		if _, why := s.MoveTarget(&a.App, q.Path, false); why.OK() {
			return core.Act{Do: core.MoveApp, Subject: q.Path}
		}
	}
	return core.Act{Do: core.Restore, Subject: a.queue.Path}
}

// masters are the applications of the leaf, or of one of its users, whose masters count in its share of them.
func (s *Scheduler) masters(a *app, user string) []core.Holder {
	return s.Holders(func(o *core.App) (resource, int64) {
		if x := appOf(o); x.active && x.queue == a.queue && x.wait.Part == a.wait.Part && (user == "" || user == o.User) {
			return x.wait.Size, 1
		}
		return resource{}, 0
	})
}

// steps of percentages and fractions that are tried.
const steps = 1000

// least is the first of so many steps that is enough; 0 is none.
func least(most int, enough func(step int) bool) int {
	lo, hi := 1, most+1 // enough grows: what is enough stays so
	for lo < hi {
		if mid := (lo + hi) / 2; enough(mid) {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo > most {
		return 0
	}
	return lo
}

// fraction writes so many parts of a whole as a decimal number.
func fraction(n, whole int) string {
	return strconv.FormatFloat(float64(n)/float64(whole), 'f', -1, 64)
}

// aheadInLine is what the masters need that are admitted before the application's, in the same partition: of all users, or of one.
func (s *Scheduler) aheadInLine(a *app, user string) (sum resource) {
	leafOf(a.queue).pending.Each(func(of *core.App) {
		if o := appOf(of); o != a && o.wait.Part == a.wait.Part && (user == "" || o.User == user) && order.Pending(of, &a.App) < 0 {
			sum.Increase(&o.wait.Size)
		}
	})
	return sum
}

// moreForMasters is the share of masters with which this one may start, by what the queue may use once the new share is in force.
func (s *Scheduler) moreForMasters(a *app, why yarn.Reason) []core.Setting {
	q := a.queue
	base := q.Shares[a.wait.Part].EffMin
	if a.wait.Part == 0 {
		b := s.basis()
		now, limit := q.Shares[0].EffMax, b.LimitOf(q)
		if s.Calc.RoundDown(&now, &s.Min); s.Calc.More(&s.Books.Total, &now, &limit) {
			now = limit
		}
		if s.Calc.FitsIn(&base, &now) {
			base = now
		}
	}
	k := least(steps, func(step int) bool {
		limit := base
		s.Calc.ScaleUp(&limit, float64(javanum.Div(float32(step), steps)), &s.Min)
		return s.Calc.FitsIn(&why.Needed, &limit)
	})
	if k == 0 || why.Key != settingOf(q, s.Books.Partition(a.wait.Part).Name, masterShare) {
		return nil
	}
	return []core.Setting{{Name: why.Key, Value: fraction(k, steps)}}
}

// mostFactor is the highest user-limit-factor that is tried, in hundredths.
const mostFactor = 1_000_000

// moreForUsersMasters is the share of one user with which its next master may start.
func (s *Scheduler) moreForUsersMasters(a *app, why yarn.Reason) []core.Setting {
	q, u := a.queue, leafOf(a.queue).Named(a.User)
	if u == nil || len(q.Conf.UserWeights) > 0 { // a pass measures all users by the first one's limit
		return nil
	}
	with := *q
	conf := *q.Conf
	with.Conf = &conf
	if conf.UserFactor != -1 {
		k := least(mostFactor, func(step int) bool {
			conf.UserFactor = javanum.Div(float32(step), 100)
			limit := s.userMasterLimit(&with, u, a.wait.Part)
			return s.Calc.FitsIn(&why.Needed, &limit)
		})
		if k != 0 {
			return []core.Setting{{Name: settingOf(q, "", "user-limit-factor"), Value: fraction(k, 100)}}
		}
	}
	return nil
}

// moreParallel is how many applications would have to be allowed to run at once. Others that wait longer come first, as far as no other limit holds them.
func (s *Scheduler) moreParallel(a *app, why yarn.Reason) core.Remedy {
	r := core.Remedy{}
	ofUser := !strings.HasPrefix(why.Key, config.Prefix+why.Subject+".")
	q := s.tree.ByPath(why.Subject)
	if !ofUser && q == nil {
		return core.Remedy{Act: core.Act{Do: core.Refresh}}
	}
	name := config.Prefix + "user." + a.User + "." + parallelApps
	if !ofUser {
		name = settingOf(q, "", parallelApps)
	}
	waits := 0
	for _, of := range s.userWaiting { //tidy:unordered they are counted
		waits += len(of)
	}
	limit, _ := s.leastParallel(a, q, ofUser)
	if most := why.Count - 1 + int64(waits); limit == 0 || limit > most { // another limit is in the way; this one is not, if all had room
		limit = most
	}
	r.Settings = []core.Setting{{Name: name, Value: strconv.FormatInt(max(limit, why.Count), 10)}}
	r.Holders = s.Holders(func(o *core.App) (resource, int64) {
		if x := appOf(o); x.runnable && x.Running && (ofUser && o.User == a.User || !ofUser && core.Within(o.Leaf, &q.Queue)) {
			return s.Holding(o)
		}
		return resource{}, 0
	})
	return r
}

// leastParallel is the least limit on the queue, or on its user, with which the application would run after a refresh, and how many were looked at. It is 0
// where another limit holds the application. Without this limit one pass lets those before the application run, as far as the others allow that; with it
// the same ones run until it is reached, and then the application does not. So it is one more than run when the pass comes to the application.
func (s *Scheduler) leastParallel(a *app, q *Queue, ofUser bool) (limit int64, looks int) {
	running, ofUsers := map[*Queue]int32{}, map[string]int32{}
	full := func(at *Queue) bool {
		return (ofUser || at != q) && runnableApps(at)+running[at] >= at.Conf.MaxParallel
	}
	var lists [][]*app
	var below func(*Queue)
	below = func(at *Queue) {
		if full(at) {
			return
		}
		if at.Leaf {
			lists = append(lists, leafOf(at).waiting)
		}
		for _, c := range at.Children {
			below(c)
		}
	}
	below(s.tree.Root)
	for o := range byTheirStart(lists) {
		looks++
		may := !o.runnable && (ofUser && o.User == a.User || s.userRunnable[o.User]+ofUsers[o.User] < s.cfg.UserParallel(o.User))
		for at := o.queue; at != nil; at = at.Up {
			may = may && !full(at)
		}
		if !may {
			continue
		}
		switch {
		case o != a:
		case ofUser:
			return int64(s.userRunnable[a.User]+ofUsers[a.User]) + 1, looks
		default:
			return int64(runnableApps(q)+running[q]) + 1, looks
		}
		ofUsers[o.User]++
		for at := o.queue; at != nil; at = at.Up {
			running[at]++
		}
	}
	return 0, looks
}

// sizeIn is what the application asks for first in a partition.
func sizeIn(a *app, p part) (size resource) {
	for _, w := range a.Wants.Keys() {
		if w.Part == p && w.HasAny && w.Any.Count > 0 {
			return w.Any.Size
		}
	}
	return size
}

// roomInQueue is how a queue gets room for what the application asks for: by its maximum and those above it, or by what ends in it.
func (s *Scheduler) roomInQueue(a *app, why yarn.Reason) core.Remedy {
	r := s.LackOf(why)
	q, p := s.limited(a, why)
	if q == nil {
		return r
	}
	size := sizeIn(a, p)
	if keys := a.Wants.Keys(); none(size) && len(keys) > 0 { // it asks for nothing in that partition
		return core.Remedy{Act: s.MoreNodes(s.Books.Partition(p).Name, keys[0].Label, keys[0].Any.Size)}
	}
	if !r.Room && !none(size) { // what is used has reached the limit: the next container has to fit
		with := q.Ledger[p].Used.Add(size)
		r = s.LackOf(yarn.Reason{Needed: with, Limit: why.Limit})
	}
	r.Settings, r.Holders = s.moreForQueues(a, p, size), s.HoldersIn(&q.Queue, p)
	most := q.Shares[p].EffMax
	if total := s.Books.Partition(p).Total; len(r.Settings) == 0 && (q.Up == nil || !s.Calc.SumFits(&s.tree.Root.Ledger[p].Used, &size, &total)) {
		r.Act = core.Act{Do: core.AddNode, Label: s.Books.Partition(p).Name, Size: size} // all of the partition is used
	}
	s.Calc.RoundDown(&most, &s.Min)
	r.TooLarge = !none(size) && !s.Calc.FitsIn(&size, &most)
	return r
}

// limited is the queue whose maximum a reason names, and the partition; nil if it is not above the application.
func (s *Scheduler) limited(a *app, why yarn.Reason) (*Queue, part) {
	for q := a.queue; q != nil; q = q.Up {
		if q.Path != why.Subject {
			continue
		}
		for i := range q.Shares {
			if why.Key == settingOf(q, s.Books.Partition(part(i)).Name, maximumCapacity) {
				return q, part(i)
			}
		}
	}
	return nil, 0
}

// moreForQueues are the maxima, from the top down, with which the queues above the application have room for what it asks for first. None are known
// where the cluster itself has too little, or a queue was created on demand.
func (s *Scheduler) moreForQueues(a *app, p part, size resource) (out []core.Setting) {
	if none(size) || !s.cfg.Legacy {
		return nil
	}
	above := float32(1)
	total := s.Books.Partition(p).Total
	for q := range upwards(a.queue) {
		if q.Up == nil {
			if with := q.Ledger[p].Used.Add(size); !s.Calc.FitsIn(&with, &total) {
				return nil
			}
			continue
		}
		sh := &q.Shares[p]
		need := q.Ledger[p].Used.Add(size)
		most, share := sh.EffMax, javanum.Mul(sh.MaxCapacity, above)
		s.Calc.RoundDown(&most, &s.Min)
		if s.Calc.FitsIn(&need, &most) {
			above = share
			continue
		}
		name := settingOf(q, s.Books.Partition(p).Name, maximumCapacity)
		switch {
		case q.Dynamic:
			return nil
		case !sh.ConfMax.IsZero():
			s.Calc.RoundUp(&need, &s.Min)
			for i := range need {
				need[i] = max(need[i], sh.ConfMax[i])
			}
			out = append(out, core.Setting{Name: name, Value: s.amount(&need)})
			continue
		case q.InAmounts(): // it has no maximum of its own
			return nil
		}
		if limit := measure.Scale(total, float64(share)); !none(limit) { // with what was raised above
			if s.Calc.RoundDown(&limit, &s.Min); s.Calc.FitsIn(&need, &limit) {
				above = share
				continue
			}
		}
		at := func(step int) float32 { return javanum.Mul(javanum.Div(javanum.Div(float32(step), 10), 100), above) }
		k := least(steps, func(step int) bool {
			limit := measure.Scale(total, float64(at(step)))
			s.Calc.RoundDown(&limit, &s.Min)
			return s.Calc.FitsIn(&need, &limit)
		})
		if k == 0 {
			return nil
		}
		above = at(k)
		out = append(out, core.Setting{Name: name, Value: fraction(k, 10)})
	}
	return out
}

// amount is how a capacity is written as amounts.
func (s *Scheduler) amount(r *resource) string {
	var b strings.Builder
	for i, t := range s.cfg.Cluster.Types {
		name := t.Name
		switch i {
		case yarn.Memory:
			name = "memory"
		case yarn.VCores:
			name = "vcores"
		}
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + "=" + strconv.FormatInt(r[i], 10))
	}
	return "[" + b.String() + "]"
}

// roomForUser is how the user gets room: by the share of one user, or by what ends of its own.
func (s *Scheduler) roomForUser(a *app, why yarn.Reason) core.Remedy {
	r := s.LackOf(why)
	q := a.queue
	l, u := leafOf(q), leafOf(q).Named(a.User)
	if u == nil {
		return r
	}
	r.Holders = s.Holders(func(o *core.App) (resource, int64) {
		if o.User == a.User && o.Leaf == a.Leaf {
			return s.Holding(o)
		}
		return resource{}, 0
	})
	p, m, found := part(0), respect, false
	for at := range u.Shares {
		for _, in := range []mode{respect, ignore} {
			if limit := l.LimitNow(q, part(at), in, u.Weight); !found && limit == why.Limit && u.Shares[at].Used == why.Needed {
				p, m, found = part(at), in, true
			}
		}
	}
	if !found {
		return r
	}
	with := *q
	enough := func() bool {
		limit := l.LimitIf(&with, p, m, u.Weight)
		return !s.Calc.More(&s.Books.Total, &why.Needed, &limit)
	}
	factor := func() int {
		if q.Rules.UserFactor == -1 {
			return 0
		}
		return least(mostFactor, func(step int) bool {
			with.Rules.UserFactor = javanum.Div(float32(step), 100)
			return enough()
		})
	}
	if k := factor(); k != 0 {
		r.Settings = []core.Setting{{Name: settingOf(q, "", "user-limit-factor"), Value: fraction(k, 100)}}
		return r
	}
	with.Rules = q.Rules
	percent := func() int {
		return least(100, func(step int) bool {
			with.Rules.UserLimit = float32(step)
			return enough()
		})
	}
	k := percent()
	if k == 0 && q.Rules.UserFactor != -1 { // both are too low
		with.Rules.UserLimit = 100
		f := factor()
		if f == 0 {
			return r
		}
		with.Rules.UserFactor = javanum.Div(float32(f), 100)
		r.Settings = append(r.Settings, core.Setting{Name: settingOf(q, "", "user-limit-factor"), Value: fraction(f, 100)})
		k = percent()
	}
	if k == 0 {
		r.Settings = nil
		return r
	}
	r.Settings = append(r.Settings, core.Setting{Name: settingOf(q, "", "minimum-user-limit-percent"), Value: strconv.Itoa(k)})
	return r
}

// access is how the application gets at a partition that its queue may not use, if it asks for that, or else how its own gets another node.
func (s *Scheduler) access(a *app, why yarn.Reason) core.Remedy {
	for _, w := range a.Wants.Keys() {
		if w.Label != why.Detail {
			continue
		}
		var r core.Remedy
		for q := range upwards(a.queue) {
			if q.Up == nil || q.MayUse(w.Label) || q.Dynamic {
				continue
			}
			labels := append(append([]string{}, q.Settings.Accessible...), w.Label)
			r.Settings = append(r.Settings, core.Setting{Name: settingOf(q, "", "accessible-node-labels"), Value: strings.Join(labels, ",")})
		}
		if len(r.Settings) > 0 {
			return r
		}
	}
	first := &demand.Want{}
	if keys := a.Wants.Keys(); len(keys) > 0 {
		first = keys[0]
	}
	return core.Remedy{Act: s.MoreNodes(why.Detail, first.Label, first.Any.Size)}
}

// offersLeft is how many more nodes have to be offered before a key takes any.
func (s *Scheduler) offersLeft(a *app, why yarn.Reason) int64 {
	nodes, cfg := int64(s.Books.Count), s.cfg
	left := int64(1)
	for _, w := range a.Wants.Keys() {
		if len(w.Rows) == 0 || int64(w.Opportunities)+1 < why.Count || int64(w.Opportunities) > why.Count {
			continue
		}
		need := nodes
		if cfg.RackExtraDelay > -1 {
			need = min(nodes, int64(cfg.NodeDelay)+int64(cfg.RackExtraDelay))
		}
		left = max(left, need-int64(w.Opportunities)+1)
	}
	return left
}

// reservedElsewhere is what helps an application that has reserved other nodes.
func (s *Scheduler) reservedElsewhere(a *app, why yarn.Reason) core.Remedy {
	if why.Max != 0 && !s.cfg.ContinueLooking {
		return core.Remedy{Settings: []core.Setting{{Name: config.Prefix + "reservations-continue-look-all-nodes", Value: "true"}}, Holders: s.onReserved(a)}
	}
	r := s.LackOf(yarn.Reason{Needed: why.Needed})
	r.Holders = s.onReserved(a)
	if !r.Room {
		r.Act.Do = core.AskLess
	}
	return r
}

// onReserved are those who have the most on the nodes that the application has reserved.
func (s *Scheduler) onReserved(a *app) []core.Holder {
	nodes := map[NodeRef]bool{}
	for _, w := range a.Wants.All() {
		for _, c := range w.Reservations {
			nodes[s.Books.Container(c).Node] = true
		}
	}
	has := map[AppRef]core.Holder{}
	for n := range s.Books.NodeSlots() {
		if !nodes[NodeRef(n)] {
			continue
		}
		for _, c := range s.Books.OnNode(NodeRef(n), len(s.Apps)+steps) {
			book := s.Books.Container(c)
			h := has[book.App]
			h.Has.Increase(&book.Resource)
			h.Count++
			has[book.App] = h
		}
	}
	return s.Holders(func(o *core.App) (resource, int64) {
		h := has[o.Ref]
		return h.Has, h.Count
	})
}

// raise adds the priority with which the application would come before the one that comes before it, if the leaf goes by priorities.
func (s *Scheduler) raise(a *app, why yarn.Reason, r *core.Remedy) {
	if why.Subject != a.queue.Path || a.queue.Rules.Ordering != config.FifoOrder {
		return
	}
	for _, o := range leafOf(a.queue).active.apps {
		if o.ID.String() == why.Detail && o.Priority < s.MaxPriority() {
			r.Act = core.Act{Do: core.RaiseApp, Subject: why.Detail, Count: int64(o.Priority) + 1}
		}
	}
}

// Line is the application's place among those who wait for the same in its queue; see the facade.
func (s *Scheduler) Line(ref AppRef) (l core.Line) {
	a := s.app(ref)
	if !a.Running {
		return l
	}
	l.Queue = a.queue.Path
	switch {
	case !a.runnable:
		l.For = core.LineSlot
		for i, o := range leafOf(a.queue).waiting {
			if l.Of++; o == a {
				l.Place = i + 1
			}
		}
	case a.waits:
		l.For = core.LineMaster
		l.Place = 1
		leafOf(a.queue).pending.Each(func(o *core.App) {
			if l.Of++; o != &a.App && order.Pending(o, &a.App) < 0 {
				l.Place++
			}
		})
	case a.active && len(a.Wants.Keys()) > 0:
		l.For = core.LineRoom
		for _, o := range leafOf(a.queue).active.apps {
			if len(o.Wants.Keys()) > 0 {
				if l.Of++; o == a {
					l.Place = l.Of
				}
			}
		}
	}
	return l
}
