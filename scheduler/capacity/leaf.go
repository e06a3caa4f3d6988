package capacity

import (
	"github.com/heddle-project/heddle/scheduler/capacity/users"
	"github.com/heddle-project/heddle/scheduler/capacity/waiting"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// Short names of what users defines.
type (
	mode = users.Mode
	user = users.User
)

const (
	respect = users.Respect
	ignore  = users.Ignore
)

// leaf is what a leaf queue has besides what every queue has.
type leaf struct {
	marks  [2]mark // as of a parent, see shortcuts
	active lineup  // admitted, in the order of the policy
	users.Users

	visitLimit resource // of the last walk or recalculation
	queueLimit resource // what headrooms and the limit of masters are taken from
	minFactor  float32

	stale   []*app       // applications whose places in a fair order are out of date
	pending waiting.Apps // waiting for admission
	waiting []*app       // held back by max-parallel-apps, by arrival

	runnable    int32
	lastCluster resource
}

func newLeaf(c *core.Core, parts int) *leaf {
	l := &leaf{}
	l.Init(c, parts)
	return l
}

// NumApps is how many applications the leaf has, waiting ones included.
func (l *leaf) NumApps() int32 {
	return int32(l.active.len() + l.pending.Count + len(l.waiting))
}

// Applications appends those that are admitted, or wait to be.
func (l *leaf) Applications(ids []yarn.ApplicationID) []yarn.ApplicationID {
	for _, a := range l.active.apps {
		ids = append(ids, a.ID)
	}
	l.pending.Each(func(a *core.App) { ids = append(ids, a.ID) })
	return ids
}
