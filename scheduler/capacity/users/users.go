// Package users has the users of one leaf: who they are, what they use, who of them is
// active, and what each may use.
package users

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/capacity/tree"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

type (
	part     = cluster.Part
	resource = yarn.Resource
)

// Mode is how a walk treats partitions.
type Mode uint8

// The modes.
const (
	Respect Mode = iota // asks go to nodes of their own partition
	Ignore              // asks without a label go to nodes of a partition that lends its room
)

// Users are those of one leaf. The zero value must be made with Init. Calls that take a
// queue are given the leaf as it is in the tree in force.
type Users struct {
	Version int64   // counts what their limits depend on; a limit that was found is good for one version
	All     []*User // as they came

	// Gone are users who have left while the version was GoneVersion.
	Gone        map[string]*User
	GoneVersion int64

	// A user was removed while some of its applications were active or, in replays, while
	// some of its usage was left, so that the sum of the users' is not that of the leaf.
	LostActive, LostUsage bool

	core          *core.Core
	even          bool // each user weighs 1
	activeWeight  float32
	actives       int32 // users counted among the active ones
	askers        int32 // users of whom an application has outstanding asks
	onlyPending   int32 // users without an active application, when last counted
	onlyPendingIs int32 // and now

	Shares []Total
	inline [1]Total // of Shares, while there is only the default partition; see core.App

	byName map[string]*User
	came   uint64 // how many users ever came
	asking map[string]*asking
}

// Total is what is known of all users in one partition.
type Total struct {
	UsageRatio float32   // the sum of the users' shares
	ActiveUsed resource  // what active users use
	Limits     [2]Cached // by mode
	OfAll      Cached    // respecting partitions; see LimitOfAll
}

// Cached is the limit of a user of weight 1, as it was found in a version.
type Cached struct {
	Version int64
	Value   resource
}

// User is one user of a leaf.
type User struct {
	of              *Users // nil when another record has taken its place, or none
	IsActive        bool   // counted among the active users
	Weight          float32
	Active, Pending int32 // applications
	asking          *asking
	Shares          []Share
	inlineAsking    asking   // what asking points to, unless it has outlived an earlier record
	inline          [1]Share // of Shares, while there is only the default partition
	Name            string
	number          uint64 // which of the users that ever came
}

// Replaced tells whether the leaf has another record of the user by now, or none.
func (u *User) Replaced() bool { return u.of == nil }

// asking counts the applications of one user that have outstanding asks. It
// outlives the user's record, and goes when there is neither a record nor such an
// application.
type asking struct{ count int32 }

// Share is what a user has in one partition.
type Share struct {
	Ratio           float32 // of the partition
	Known           bool    // compat: Apache has an entry of usage for the label
	Used            resource
	Blocks          [2]Block // by mode
	AMUsed, AMLimit resource
}

// Block is a user's limit, as a walk has last found it, and whether it refused the user.
type Block struct {
	Refused  int64 // the version that the user was refused in
	Limit    resource
	Reserved resource // of the application that was refused
}

// Member is what an application keeps as one of a user's.
type Member struct {
	User   *User // as last looked up, see Of
	Asking bool  // counted among the asking applications of its user
}

// Init makes room for so many partitions.
func (l *Users) Init(c *core.Core, parts int) {
	l.core, l.byName, l.asking, l.Version = c, map[string]*User{}, map[string]*asking{}, 1
	l.Shares = l.inline[:0]
	l.Grow(parts)
}

// Grow makes room for partitions that have come to be known.
func (l *Users) Grow(parts int) {
	for len(l.Shares) < parts {
		l.Shares = append(l.Shares, Total{})
	}
	for _, u := range l.All {
		u.Grow(parts)
	}
}

// Grow makes room for partitions that have come to be known, also of a user whom the leaf has forgotten.
func (u *User) Grow(parts int) {
	if u.Shares == nil {
		u.Shares = u.inline[:0]
	}
	for len(u.Shares) < parts {
		u.Shares = append(u.Shares, Share{})
	}
}

// Named is the user of that name, or nil.
func (l *Users) Named(name string) *User { return l.byName[name] }

// Enter is the user of that name, who from now on is one of the leaf's.
func (l *Users) Enter(q *tree.Queue, name string) *User {
	if u := l.byName[name]; u != nil {
		return u
	}
	u := &User{Name: name, of: l, Weight: q.Conf.Weight(name)}
	u.Grow(len(q.Shares))
	if was := l.Gone[name]; was != nil && l.GoneVersion == l.Version {
		u.takeBlocks(was)
	}
	l.came++
	u.number = l.came
	if u.asking = l.asking[name]; u.asking == nil {
		u.asking = &u.inlineAsking
		l.asking[name] = u.asking
	}
	l.byName[name] = u
	l.All = append(l.All, u)
	l.sumWeights(q)
	return u
}

// takeBlocks takes over what walks found out about the user.
func (u *User) takeBlocks(was *User) {
	for p := range min(len(u.Shares), len(was.Shares)) {
		u.Shares[p].Blocks = was.Shares[p].Blocks
	}
}

// Of is the user of an application, or nil when the leaf has no user of that name.
func (l *Users) Of(name string, m *Member) *User {
	if m.User == nil || m.User.of != l {
		core.Keep(l.core.Journal, &m.User)
		m.User = l.byName[name]
	}
	return m.User
}

// Leave removes a user who has no application left. Containers that are kept for a next
// attempt keep their user; it leaves with the last of them.
//
// compat: limits that were found for this version stand, though fewer users are
// active now.
func (l *Users) Leave(q *tree.Queue, u *User) {
	if u.uses() && !l.forgetsUsage() {
		return
	}
	l.LostActive = l.LostActive || u.Active != 0
	l.Count(u, -u.Active, -u.Pending)
	l.LostUsage = l.LostUsage || u.uses()
	if u.IsActive {
		l.actives--
	}
	u.of = nil
	delete(l.byName, u.Name)
	if u.asking.count == 0 {
		delete(l.asking, u.Name)
	}
	l.Left(u.Name).takeBlocks(u)
	i, _ := slices.BinarySearchFunc(l.All, u, func(o, u *User) int { return cmp.Compare(o.number, u.number) })
	l.All = slices.Delete(l.All, i, i+1)
	l.sumWeights(q)
}

// uses tells whether anything of the user's is left in any partition.
func (u *User) uses() bool {
	for p := range u.Shares {
		if !u.Shares[p].Used.IsZero() {
			return true
		}
	}
	return false
}

// Left is what walks found out about a user who has left the leaf. It is kept
// for one version.
func (l *Users) Left(name string) *User {
	if l.GoneVersion != l.Version || l.Gone == nil {
		l.Gone, l.GoneVersion = map[string]*User{}, l.Version
	}
	u := l.Gone[name]
	if u == nil {
		u = &User{Name: name}
		l.Gone[name] = u
	}
	u.Grow(len(l.Shares))
	return u
}

// byHash lists the users in the order of Apache's hash table.
//
// compat: sums of single precision depend on it.
func (l *Users) byHash() []*User {
	names := make([]string, len(l.All))
	for i, u := range l.All {
		names[i] = u.Name
	}
	out := make([]*User, 0, len(names))
	for _, i := range javanum.HashOrder(names) {
		out = append(out, l.All[i])
	}
	return out
}

// Configure lets the users follow the leaf's settings.
func (l *Users) Configure(q *tree.Queue) {
	for _, u := range l.All {
		u.Weight = q.Conf.Weight(u.Name)
	}
	l.sumWeights(q)
	l.Version++
}

func (l *Users) sumWeights(q *tree.Queue) {
	l.even = len(q.Conf.UserWeights) == 0
	if l.even {
		l.activeWeight = float32(l.actives)
		return
	}
	l.activeWeight = 0
	for _, u := range l.byHash() {
		if u.IsActive {
			l.activeWeight = javanum.Add(l.activeWeight, u.Weight)
		}
	}
}

// weight is that of all users.
func (l *Users) weight() (sum float32) {
	if l.even {
		return float32(len(l.All))
	}
	for _, u := range l.byHash() {
		sum = javanum.Add(sum, u.Weight)
	}
	return sum
}

// weighActive brings the weight of the active users up to date.
func (l *Users) weighActive(q *tree.Queue) {
	if l.even {
		l.activeWeight = float32(l.actives)
	} else {
		l.sumWeights(q)
	}
}

// Count changes how many applications of the user are active and pending.
func (l *Users) Count(u *User, active, pending int32) {
	l.onlyPendingIs -= u.onlyPending()
	u.Active += active
	u.Pending += pending
	l.onlyPendingIs += u.onlyPending()
}

func (u *User) onlyPending() int32 {
	if u.Pending > 0 && u.Active <= 0 {
		return 1
	}
	return 0
}

// Want notes that an application of the user has outstanding asks.
//
// compat: it goes unnoticed while no application of the user is active, and is
// not made up for when one becomes active.
func (l *Users) Want(q *tree.Queue, name string, m *Member) {
	u := l.Of(name, m)
	if m.Asking || u != nil && u.Active <= 0 {
		return
	}
	n := l.askingOf(name, u)
	if n == nil || n.count == 0 {
		l.Version++
		l.askers++
		u := l.Enter(q, name)
		n = u.asking
		if !u.IsActive {
			u.IsActive = true
			l.actives++
			l.weighActive(q)
			for p := range u.Shares {
				l.core.Calc.Increase(&l.Shares[p].ActiveUsed, &u.Shares[p].Used)
			}
		}
	}
	m.Asking = true
	n.count++
}

// askingOf is the count of a user, or nil when the leaf has none. u is nil when the
// leaf has no record of the user any more.
func (l *Users) askingOf(name string, u *User) *asking {
	if u != nil {
		return u.asking
	}
	return l.asking[name]
}

// Unwant notes that the application has none any more.
func (l *Users) Unwant(q *tree.Queue, name string, m *Member) {
	if !m.Asking {
		return
	}
	m.Asking = false
	u := l.Of(name, m)
	n := l.askingOf(name, u)
	if n.count--; n.count > 0 {
		return
	}
	l.askers--
	l.Version++
	if u == nil {
		delete(l.asking, name)
		return
	}
	if u.IsActive {
		u.IsActive = false
		l.actives--
		l.weighActive(q)
		for p := range u.Shares {
			l.core.Calc.Decrease(&l.Shares[p].ActiveUsed, &u.Shares[p].Used)
		}
	}
}

// Charge adds to what the user of an application uses, or takes away with a negative amount.
func (l *Users) Charge(q *tree.Queue, name string, m *Member, p part, amount *resource) {
	u, calc := l.Of(name, m), l.core.Calc
	if u == nil {
		u = l.Enter(q, name)
	}
	sh, all := &u.Shares[p], &l.Shares[p]
	sh.Known = true
	calc.Increase(&sh.Used, amount)
	if u.IsActive {
		calc.Increase(&all.ActiveUsed, amount)
	}
	l.Version++
	ratio := calc.Ratio(&sh.Used, &l.core.Books.Partition(p).Total)
	all.UsageRatio = javanum.Add(all.UsageRatio, javanum.Add(ratio, -sh.Ratio))
	sh.Ratio = ratio
	if u.Active == 0 && u.Pending == 0 && !u.uses() && !l.forgetsUsage() {
		l.Leave(q, u)
	}
}

// Resized makes the users' shares of a partition anew, after its size changed.
func (l *Users) Resized(p part) {
	total := &l.core.Books.Partition(p).Total
	var sum float32
	list := l.All
	if len(list) > 2 { // one addition does not depend on the order
		list = l.byHash()
	}
	for _, u := range list {
		sh := &u.Shares[p]
		sh.Ratio = l.core.Calc.Ratio(&sh.Used, total)
		sum = javanum.Add(sum, sh.Ratio)
	}
	l.Shares[p].UsageRatio = sum
}

// ActiveUsers is how many users the share of masters is divided among.
//
// compat: those without an active application are counted only when a user
// limit is computed.
func (l *Users) ActiveUsers() int32 { return l.askers + l.onlyPending }

// Askers is how many users have an application with outstanding asks, as Want notes them.
func (l *Users) Askers() int32 { return l.askers }

// Check compares what is kept of users with what their containers have; "" is nothing wrong.
func (l *Users) Check(has func(user string, p cluster.Part) yarn.Resource) string {
	actives := int32(0)
	for _, u := range l.All {
		if u.IsActive {
			actives++
		}
	}
	if actives != l.actives {
		return fmt.Sprintf("%d active users are kept, %d are counted", l.actives, actives)
	}
	if l.LostUsage {
		return ""
	}
	for p := range l.Shares {
		var active resource
		for _, u := range l.All {
			if want := has(u.Name, part(p)); u.Shares[p].Used != want {
				return fmt.Sprintf("user %s, partition %d: used %v, containers %v", u.Name, p, u.Shares[p].Used, want)
			}
			if u.IsActive {
				active = active.Add(u.Shares[p].Used)
			}
		}
		if active != l.Shares[p].ActiveUsed {
			return fmt.Sprintf("partition %d: active users use %v, kept is %v", p, active, l.Shares[p].ActiveUsed)
		}
	}
	return ""
}
