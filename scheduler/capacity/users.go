package capacity

import (
	"cmp"
	"slices"

	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
)

// mode is how a walk treats partitions.
type mode uint8

const (
	respect mode = iota // asks go to nodes of their own partition
	ignore              // asks without a label go to nodes of a partition that lends its room
)

// leaf is what a leaf queue has besides what every queue has.
type leaf struct {
	marks  [2]mark // as of a parent, see shortcuts
	active lineup  // admitted, in the order of the policy

	// The user limit. version counts what it depends on; a cached limit is good
	// for one version.
	version       int64
	even          bool // each user weighs 1
	activeWeight  float32
	allWeight     float32
	actives       int32 // users counted among the active ones
	askers        int32 // users of whom an application has outstanding asks
	onlyPending   int32 // users without an active application, when last counted
	onlyPendingIs int32 // and now
	minFactor     float32

	visitLimit resource // of the last walk or recalculation
	queueLimit resource // what headrooms and the limit of masters are taken from

	shares []leafShare

	own [1]leafShare // shares, while there is only the default partition; see core.App

	stale       []*app // whose place in a fair order has to be looked at
	users       map[string]*user
	ordered     []*user          // users as they came
	came        uint64           // how many users ever came
	left        map[string]*user // those who have left while the version was leftVersion
	leftVersion int64
	asking      map[string]*asking

	pending pendings // waiting for admission
	waiting []*app   // held back by max-parallel-apps, by arrival

	runnable    int32
	lastCluster resource

	forgot bool // a user was removed while some of its applications were active
	lost   bool // usage of users was forgotten: their sum is not that of the leaf
}

// leafShare is what a leaf keeps about its users in one partition.
type leafShare struct {
	usageRatio float32        // the sum of the users' shares
	activeUsed resource       // what active users use
	limits     [2]cachedLimit // by mode
}

type cachedLimit struct {
	version int64
	value   resource
}

// user is one user of a leaf.
type user struct {
	home            *leaf // nil when another record has taken its place, or none
	inActive        bool  // counted among the active users
	weight          float32
	active, pending int32
	asking          *asking
	shares          []userShare
	ownAsking       asking       // where a count lies that did not outlive another record
	own             [1]userShare // shares, likewise
	name            string
	number          uint64 // which of the users that ever came
}

// asking counts the applications of one user that have outstanding asks. It
// outlives the user's record, and goes when there is neither a record nor such an
// application.
type asking struct{ count int32 }

type userShare struct {
	ratio           float32
	known           bool // compat: Apache has an entry of usage for the label
	used            resource
	blocked         [2]userBlock // by mode
	amUsed, amLimit resource
}

// userBlock is a user's limit, as a walk has last found it, and whether it refused
// the user.
type userBlock struct {
	refused  int64 // the version that the user was refused in
	limit    resource
	reserved resource // of the application that was refused
}

func newLeaf(parts int) *leaf {
	l := &leaf{users: map[string]*user{}, asking: map[string]*asking{}, version: 1}
	l.shares = l.own[:0]
	l.grow(parts)
	return l
}

func (l *leaf) grow(parts int) {
	l.shares = slices.Grow(l.shares, max(0, parts-len(l.shares)))
	for len(l.shares) < parts {
		l.shares = append(l.shares, leafShare{})
	}
	for _, u := range l.ordered {
		u.grow(parts)
	}
}

func (u *user) grow(parts int) {
	if u.shares == nil {
		u.shares = u.own[:0]
	}
	for len(u.shares) < parts {
		u.shares = append(u.shares, userShare{})
	}
}

// userOf is the user, who from now on is one of the leaf's.
func userOf(q *Queue, name string) *user {
	l := leafOf(q)
	u := l.users[name]
	if u == nil {
		u = &user{name: name, home: l, weight: q.Conf.Weight(name)}
		u.grow(len(q.Shares))
		if was := l.left[name]; was != nil && l.leftVersion == l.version {
			u.takeBlocks(was)
		}
		l.came++
		u.number = l.came
		if u.asking = l.asking[name]; u.asking == nil {
			u.asking = &u.ownAsking
			l.asking[name] = u.asking
		}
		l.users[name] = u
		l.ordered = append(l.ordered, u)
		l.sumWeights(q)
	}
	return u
}

// takeBlocks takes over what walks found out about the user.
func (u *user) takeBlocks(was *user) {
	for p := range min(len(u.shares), len(was.shares)) {
		u.shares[p].blocked = was.shares[p].blocked
	}
}

// userBy is the application's user, or nil when the leaf has no such user.
func (s *Scheduler) userBy(q *Queue, a *app) *user {
	if u := a.user; u == nil || u.home != leafOf(q) {
		core.Keep(s.Journal, &a.user)
		a.user = leafOf(q).users[a.User]
	}
	return a.user
}

// leave removes a user who has no application left.
//
// compat: limits that were found for this version stand, though fewer users are
// active now.
//
// compat: what the user still uses is forgotten with the user. Containers that
// are kept for a next attempt take it below zero when they end.
func leave(q *Queue, u *user) {
	l := leafOf(q)
	if u.active != 0 {
		l.forgot = true
	}
	l.counts(u, -u.active, -u.pending)
	for p := range u.shares {
		l.lost = l.lost || !none(u.shares[p].used)
	}
	if u.inActive {
		l.actives--
	}
	u.home = nil
	delete(l.users, u.name)
	if u.asking.count == 0 {
		delete(l.asking, u.name)
	}
	l.gone(u.name, len(q.Shares)).takeBlocks(u)
	i, _ := slices.BinarySearchFunc(l.ordered, u, func(o, u *user) int { return cmp.Compare(o.number, u.number) })
	l.ordered = slices.Delete(l.ordered, i, i+1)
	l.sumWeights(q)
}

// gone is what walks found out about a user who has left the leaf. It is kept
// for one state of the leaf.
func (l *leaf) gone(name string, parts int) *user {
	if l.leftVersion != l.version || l.left == nil {
		l.left, l.leftVersion = map[string]*user{}, l.version
	}
	u := l.left[name]
	if u == nil {
		u = &user{name: name}
		l.left[name] = u
	}
	u.grow(parts)
	return u
}

// byHash lists the users in the order of Apache's hash table.
//
// compat: sums of single precision depend on it.
func (l *leaf) byHash() []*user {
	names := make([]string, len(l.ordered))
	for i, u := range l.ordered {
		names[i] = u.name
	}
	out := make([]*user, 0, len(names))
	for _, i := range javanum.HashOrder(names) {
		out = append(out, l.ordered[i])
	}
	return out
}

func (l *leaf) sumWeights(q *Queue) {
	l.even = len(q.Conf.UserWeights) == 0
	if l.even {
		l.allWeight, l.activeWeight = float32(len(l.ordered)), float32(l.actives)
		return
	}
	l.allWeight, l.activeWeight = 0, 0
	for _, u := range l.byHash() {
		l.allWeight = javanum.Add(l.allWeight, u.weight)
		if u.inActive {
			l.activeWeight = javanum.Add(l.activeWeight, u.weight)
		}
	}
}

// counts changes how many applications of the user are active and pending.
func (l *leaf) counts(u *user, active, pending int32) {
	l.onlyPendingIs -= u.onlyPending()
	u.active += active
	u.pending += pending
	l.onlyPendingIs += u.onlyPending()
}

func (u *user) onlyPending() int32 {
	if u.pending > 0 && u.active <= 0 {
		return 1
	}
	return 0
}

// want notes that an application has outstanding asks.
//
// compat: it goes unnoticed while no application of the user is active, and is
// not made up for when one becomes active.
func (s *Scheduler) want(q *Queue, a *app) {
	l := leafOf(q)
	u := s.userBy(q, a)
	if a.wanting || u != nil && u.active <= 0 {
		return
	}
	n := l.askingOf(a, u)
	if n == nil || n.count == 0 {
		l.version++
		l.askers++
		u := userOf(q, a.User)
		n = u.asking
		if !u.inActive {
			u.inActive = true
			l.actives++
			l.weighActive(q)
			for p := range u.shares {
				s.Calc.Increase(&l.shares[p].activeUsed, &u.shares[p].used)
			}
		}
	}
	a.wanting = true
	n.count++
}

// askingOf is the count of the application's user, or nil when the leaf has none.
// u is the user, or nil when the leaf has no record any more.
func (l *leaf) askingOf(a *app, u *user) *asking {
	if u != nil {
		return u.asking
	}
	return l.asking[a.User]
}

// unwant notes that an application has none any more.
func (s *Scheduler) unwant(q *Queue, a *app) {
	if !a.wanting {
		return
	}
	a.wanting = false
	l, u := leafOf(q), s.userBy(q, a)
	n := l.askingOf(a, u)
	if n.count--; n.count > 0 {
		return
	}
	l.askers--
	l.version++
	if u == nil {
		delete(l.asking, a.User)
		return
	}
	if u.inActive {
		u.inActive = false
		l.actives--
		l.weighActive(q)
		for p := range u.shares {
			s.Calc.Decrease(&l.shares[p].activeUsed, &u.shares[p].used)
		}
	}
}

// weighActive brings the weight of the active users up to date.
func (l *leaf) weighActive(q *Queue) {
	if l.even {
		l.activeWeight = float32(l.actives)
	} else {
		l.sumWeights(q)
	}
}

// charge adds to what a user uses, or takes away with a negative amount.
func (s *Scheduler) charge(q *Queue, a *app, p part, amount *resource) {
	l := leafOf(q)
	u := s.userBy(q, a)
	if u == nil {
		u = userOf(q, a.User)
	}
	sh, all := &u.shares[p], &l.shares[p]
	sh.known = true
	s.Calc.Increase(&sh.used, amount)
	if u.inActive {
		s.Calc.Increase(&all.activeUsed, amount)
	}
	l.version++
	total := &s.Books.Partition(p).Total
	ratio := s.Calc.Ratio(&sh.used, total)
	all.usageRatio = javanum.Add(all.usageRatio, javanum.Add(ratio, -sh.ratio))
	sh.ratio = ratio
}

// sumRatios makes the users' shares anew, after the partition's size changed.
func (s *Scheduler) sumRatios(l *leaf, p part) {
	total := s.Books.Partition(p).Total
	var sum float32
	users := l.ordered
	if len(users) > 2 { // one addition does not depend on the order
		users = l.byHash()
	}
	for _, u := range users {
		sh := &u.shares[p]
		sh.ratio = s.Calc.Ratio(&sh.used, &total)
		sum = javanum.Add(sum, sh.ratio)
	}
	l.shares[p].usageRatio = sum
}

// refuse notes that a walk refused an application of the user.
func (b *userBlock) refuse(version int64, reserved *resource) {
	if b.refused != version || b.reserved.FitsIn(*reserved) {
		b.refused, b.reserved = version, *reserved
	}
}

// limitShown is the user's limit, for whoever only looks.
func (s *Scheduler) limitShown(q *Queue, u *user, p part, m mode) resource {
	limit := s.limitNow(q, p, m)
	s.Calc.ScaleDown(&limit, float64(u.weight), &s.Min)
	return limit
}

// CountUsers computes the limits of users that are shown; see the facade.
func (s *Scheduler) CountUsers() {
	s.tree.Root.Each(func(q *Queue) {
		if q.Leaf && len(leafOf(q).ordered) > 0 {
			s.anyLimit(q, 0, respect)
		}
	})
}

// anyLimit is the limit of a user of weight 1 in a partition (UsersManager): the
// configured percentage of what the queue may grow to, or one share among the
// active users of what these use, within bounds.
func (s *Scheduler) anyLimit(q *Queue, p part, m mode) *resource {
	l := leafOf(q)
	c := &l.shares[p].limits[m]
	if c.version == l.version {
		return &c.value
	}
	core.Keep(s.Journal, c)
	core.Keep(s.Journal, &l.onlyPending)
	c.version, l.onlyPending = l.version, l.onlyPendingIs
	s.computeLimit(q, p, m, &c.value)
	return &c.value
}

// limitNow is anyLimit for queries: it writes neither the limit, which is to stand for
// this version only once a call has computed it, nor the number of users who only
// wait, by which masters are admitted.
func (s *Scheduler) limitNow(q *Queue, p part, m mode) (limit resource) {
	if c := &leafOf(q).shares[p].limits[m]; c.version == leafOf(q).version {
		return c.value
	}
	s.computeLimit(q, p, m, &limit)
	return limit
}

// computeLimit finds it.
//
// compat: the percentage is divided in integers, the share in single precision.
func (s *Scheduler) computeLimit(q *Queue, p part, m mode, limit *resource) {
	all, calc, step := &leafOf(q).shares[p], s.Calc, &s.Min
	total, sh := &s.Books.Partition(p).Total, &q.Shares[p]
	entitled := calc.Max(total, &sh.EffMin, step)
	least, most := *total, *total
	calc.ScaleUp(&least, float64(all.usageRatio), step)
	if calc.Less(total, &least, entitled) {
		least = *entitled
	} else {
		calc.Increase(&least, step)
	}
	calc.Percent(&least, float64(q.Rules.UserLimit))
	*limit = all.activeUsed
	calc.Increase(limit, step)
	calc.DivideUp(limit, leafOf(q).activeWeight)
	if calc.Less(total, limit, &least) {
		*limit = least
	}
	switch {
	case m == ignore:
	case q.Rules.UserFactor != -1 && !none(sh.EffMin):
		most = measure.Scale(*entitled, float64(q.Rules.UserFactor))
	default:
		most = sh.EffMax
		calc.RoundDown(&most, step)
	}
	if calc.More(total, limit, &most) {
		*limit = most
	}
	calc.RoundUp(limit, step)
}

// activeUsers is how many users the share of masters is divided among.
//
// compat: those without an active application are counted only when a user
// limit is computed.
func (l *leaf) activeUsers() int32 { return l.askers + l.onlyPending }
