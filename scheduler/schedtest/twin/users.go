package twin

import (
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// weightOfUsers is the sum of the weights of users, those who want something or all.
func (q *Queue) weightOfUsers(all bool) (sum float32) {
	var names []string
	for _, u := range q.Users {
		names = append(names, u.Name)
	}
	for _, i := range javanum.HashOrder(names) {
		if u := q.Users[i]; u.Asking || all {
			sum = javanum.Add(sum, q.Conf.Weight(u.Name))
		}
	}
	return sum
}

// UserLimit is how much one user of a leaf may use in a partition before it
// gets no more. lent is for walks that give room of the partition to asks
// without a label.
func (w *World) UserLimit(q *Queue, user, label string, lent bool) yarn.Resource {
	if kept, ok := q.Kept[Kept{label, lent}]; ok {
		return w.scaleDown(kept, q.Conf.Weight(user))
	}
	active := w.least().Add(q.Forgotten[label])
	for _, u := range q.Users {
		if u.Asking {
			active = active.Add(w.UsedBy(q, u, label))
		}
	}
	return w.scaleDown(w.limit(q, label, lent, &active, q.weightOfUsers(false)), q.Conf.Weight(user))
}

// LimitOfAll is how much one user might use if all of the leaf's users shared it.
func (w *World) LimitOfAll(q *Queue, user, label string) yarn.Resource {
	limit, ok := q.KeptOfAll[label]
	if !ok {
		limit = w.limit(q, label, false, nil, q.weightOfUsers(true))
	}
	return w.scaleDown(limit, q.Conf.Weight(user))
}

// limit is that of a user of weight 1: users of so much weight share what they use, or with nil what the leaf may use now.
func (w *World) limit(q *Queue, label string, lent bool, use *resource, weight float32) resource {
	total, s := w.Partition(label), q.Shares[label]
	entitled := w.larger(total, s.Min, w.least())
	consumed := w.scaleUp(total, q.UsageRatio[label])
	current := entitled
	if !w.less(total, consumed, entitled) {
		current = consumed.Add(w.least())
	}
	if use == nil {
		use = &current
	}
	limit := w.larger(total, w.divideCeil(*use, weight), w.hundredth(times(current, q.Conf.UserLimit)))
	most := total
	switch {
	case lent:
	case q.Conf.UserFactor == -1 || none(s.Min):
		most = w.roundDown(s.Max)
	default:
		most = times(entitled, q.Conf.UserFactor)
	}
	return w.roundUp(w.smaller(total, limit, most))
}

// Headroom is what an application's master is told that it could still get.
func (w *World) Headroom(a *App) (sum yarn.Resource) {
	q := a.Head
	if q == nil {
		return resource{}
	}
	labels := a.Asked
	if len(labels) == 0 {
		labels = []string{""}
	}
	for _, label := range labels {
		sum = sum.Add(w.headroomIn(q, a, label))
	}
	sum[yarn.Memory] = max(0, sum[yarn.Memory])
	return sum
}

func (w *World) headroomIn(q *Queue, a *App, label string) resource {
	ofQueue := q.Shares[label].Max
	if label == "" {
		ofQueue = q.QueueLimit
	}
	var used resource
	if u := q.User(a.User); u != nil {
		used = w.UsedBy(q, u, label)
	}
	room := lesser(minus(w.UserLimit(q, a.User, label, false), used), minus(ofQueue, w.Used(q, label)))
	total := w.Partition(label)
	return w.smaller(total, total.Sub(w.Used(w.Root, label)), w.roundDown(room))
}

// QueueLimits is what limits of masters and headrooms are taken from in each
// leaf, by path, after entitlements were worked out and before a walk came by.
func (w *World) QueueLimits() map[string]yarn.Resource {
	out := map[string]yarn.Resource{}
	var visit func(q *Queue, limit resource)
	visit = func(q *Queue, limit resource) {
		if q.IsLeaf {
			out[q.Path] = w.smaller(w.Cluster(), w.roundDown(q.Shares[""].Max), limit)
			return
		}
		limit = w.smaller(w.Cluster(), limit, q.Shares[""].Max)
		for _, c := range q.Children {
			visit(c, w.roundDown(limit.Sub(w.Used(q, "")).Add(q.Killable).Add(w.Used(c, ""))))
		}
	}
	visit(w.Root, w.Cluster())
	return out
}

// MasterLimit is how much the masters of a leaf may use in a partition.
func (w *World) MasterLimit(q *Queue, label string) yarn.Resource {
	if old, ok := q.OldMasters[label]; ok {
		return old
	}
	var now resource
	if label == "" {
		now = q.QueueLimit
	}
	base := q.Shares[label].Min
	if w.fits(base, now) {
		base = now
	}
	return w.scaleUp(base, q.Conf.Amount(label).MaxAM)
}

// UserMasterLimit is how much the masters of one user may use, if so many users
// want something.
func (w *World) UserMasterLimit(q *Queue, user, label string, users int) yarn.Resource {
	share := max(javanum.Div(q.Conf.UserLimit, 100), javanum.Div(1, float32(max(users, 1))))
	share = min(javanum.Mul(share, q.Conf.Weight(user)), 1)
	by := q.Conf.Amount(label).MaxAM
	if f := q.Conf.UserFactor; f != -1 {
		by = javanum.Mul(javanum.Mul(by, share), f)
	}
	return w.smaller(w.Cluster(), w.scaleUp(q.Shares[label].Min, by), w.MasterLimit(q, label))
}

// Admit makes those of the pending applications active whose masters fit, in
// their order, and returns them. users is how many users the share of masters is
// divided among.
func (w *World) Admit(q *Queue, users int) (admitted []*App) {
	limits := map[string]resource{}
	for _, a := range w.PendingApps(q) {
		label := a.AMLabel
		used := w.MasterUse(q, "", label)
		exempt := len(w.Active(q)) == 0 || !w.more(w.Cluster(), used, resource{})
		if !exempt && !w.fits(used.Add(a.AM), w.MasterLimit(q, label)) {
			continue
		}
		if _, ok := limits[label]; !ok {
			limits[label] = w.UserMasterLimit(q, a.User, label, users)
		}
		if !exempt && !w.fits(w.MasterUse(q, a.User, label).Add(a.AM), limits[label]) {
			continue
		}
		a.Active, a.Waits = true, false
		admitted = append(admitted, a)
	}
	return admitted
}
