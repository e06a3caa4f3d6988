package tree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// A reservable queue has a leaf for each reservation that is due, by the name of its id, and the default one, for applications without a
// reservation. What they are entitled to in the default partition is set by Follow.

// PlanLeaf tells whether the queue is below a reservable one.
func (q *Queue) PlanLeaf() bool { return q.Up != nil && q.Up.Conf.Kind == config.Reservable }

// GivenOut tells whether the queue is no queue of the configuration but has a share of its parent, which may change at any time: below a managed
// parent or a reservable one.
func (q *Queue) GivenOut() bool { return q.ManagedLeaf() || q.PlanLeaf() }

// Default is the queue of a reservable one for applications without a reservation.
func (q *Queue) Default() *Queue {
	name := queue.PlanDefault(q.Name)
	if i := slices.IndexFunc(q.Children, func(c *Queue) bool { return c.Name == name }); i >= 0 {
		return q.Children[i]
	}
	return nil
}

// PlanCapacity is what the queue is entitled to of the cluster.
//
// compat: the cluster is all partitions together.
func (b *Basis) PlanCapacity(q *Queue) resource {
	return measure.Scale(b.Total, float64(q.Shares[0].Absolute))
}

// addDefault gives a new reservable queue its default one.
func (b *Basis) addDefault(cfg *config.Capacity, q *Queue) error {
	def, err := b.newPlanLeaf(cfg, q, queue.PlanDefault(q.Name))
	if err != nil {
		return err
	}
	q.setChildren([]*Queue{def})
	b.entitlePlanLeaf(cfg, def, 1, 1)
	return nil
}

// newPlanLeaf makes a queue below a reservable one, which is entitled to nothing.
func (b *Basis) newPlanLeaf(cfg *config.Capacity, plan *Queue, name string) (*Queue, error) {
	q := newQueue(plan.Conf.PlanLeaf(name), plan, b.Parts.Partitions())
	q.Inner = true
	return q, b.setupPlanLeaf(cfg, q)
}

// setupPlanLeaf is setup, and leaves the queue what it is entitled to.
func (b *Basis) setupPlanLeaf(cfg *config.Capacity, q *Queue) error {
	// compat: the share of masters is never set, and is nothing: one application at a time is admitted.
	q.set = []setting{{0, "", config.Amount{Weight: -1}}}
	q.Shares[0].Known = true
	writePercent(&cfg.Cluster, q)
	updateAbsolute(q, cfg.Legacy)
	if err := setState(cfg, q); err != nil {
		return err
	}
	b.updateStatistics(q)
	return nil
}

// renewPlan applies new settings below a reservable queue. Its queues keep what they are entitled to.
func (b *Basis) renewPlan(cfg *config.Capacity, q *Queue) error {
	for _, c := range q.Children {
		conf := q.Conf.PlanLeaf(c.Name)
		if !c.Conf.MaxAllocation.FitsIn(conf.MaxAllocation) {
			return lessAllocation(cfg, c)
		}
		c.configure(conf)
		if err := b.setupPlanLeaf(cfg, c); err != nil {
			return err
		}
	}
	return nil
}

// planQuotas sets how many applications a queue below a reservable one takes, in all and per user: as many as the reservable one would.
//
// compat: yarn.scheduler.capacity.maximum-applications does not count.
func (q *Queue) planQuotas() {
	plan, most := q.Up, q.Up.Conf.MaxApps
	if most < 0 {
		most = javanum.Int(javanum.Mul(10000, plan.Shares[0].Absolute))
	}
	q.MaxApps, q.MaxAppsPerUser = most, most
	if f := plan.Conf.UserFactor; f != -1 {
		q.MaxAppsPerUser = javanum.Int(javanum.Mul(javanum.Mul(float32(most), javanum.Div(plan.Conf.UserLimit, 100)), f))
	}
}

// entitlePlanLeaf gives the queue its share of the plan, if there is as much left.
func (b *Basis) entitlePlanLeaf(cfg *config.Capacity, q *Queue, share, most float32) yarn.Reason {
	var sum float32
	for _, c := range q.Up.Children {
		sum = javanum.Add(sum, c.Shares[0].Capacity)
	}
	if sum = javanum.Add(javanum.Add(sum, -q.Shares[0].Capacity), share); !(sum >= 0 && sum < 1+slack) || share < 0 || share > 1 {
		return yarn.Reason{Code: fit.TooMuchPromised, Subject: q.Path, Detail: fmt.Sprintf("a share of %s, with which all of %s would have %s", decimal(share), q.Up.Path, decimal(sum))}
	}
	up := &q.Up.Shares[0]
	b.entitle(q, grant{capacity: share, max: most, absolute: javanum.Mul(share, up.Absolute), absoluteMax: javanum.Mul(most, up.AbsoluteMax)})
	writePercent(&cfg.Cluster, q)
	return yarn.Reason{}
}

// writePercent puts what the queue is entitled to where a configured queue has it: legacy-queue-mode.enabled may be false.
func writePercent(c *config.Cluster, q *Queue) {
	sh := &q.Shares[0]
	a := q.Conf.Amounts[""]
	a.Vector, a.MaxVector = c.Percent(100*sh.Capacity), c.Percent(100*sh.MaxCapacity)
	q.Conf.Amounts[""] = a
}

// Follow gives the queues below a reservable one what the reservations that are due are to have, and the default one what is left. Queues of
// reservations that have come are made. Those of others get nothing more and are returned; they are to be emptied and removed. refused are
// the queues that keep what they had, because there is not as much.
func (l *Live) Follow(plan *Queue, due []queue.Promise) (over []*Queue, refused []yarn.Reason) {
	capacity := l.PlanCapacity(plan)
	note := func(why yarn.Reason) {
		if !why.OK() {
			refused = append(refused, why)
		}
	}
	def := plan.Default()
	wanted := make(map[string]bool, len(due))
	for _, p := range due {
		wanted[p.Name] = true
	}
	for _, c := range plan.Children {
		if c != def && !wanted[c.Name] {
			note(l.entitlePlanLeaf(l.Config, c, 0, 0))
			over = append(over, c)
		}
	}
	note(l.entitlePlanLeaf(l.Config, def, 0, 1))
	var given float32
	for _, p := range l.shrinkingFirst(plan, due) {
		q := l.Tree.ByPath(plan.Path + "." + p.Name)
		if q == nil {
			var err error
			if q, err = l.newPlanLeaf(l.Config, plan, p.Name); err != nil {
				note(yarn.Reason{Code: fit.BadRequest, Subject: plan.Path + "." + p.Name, Detail: err.Error()})
				continue
			}
			l.add(q)
		}
		var share float32
		if capacity[yarn.Memory] > 0 && capacity[yarn.VCores] > 0 {
			share = l.Calc.Divide(&l.Total, &p.Resource, &capacity)
		}
		most := float32(1)
		if p.Gangs {
			most = share
		}
		note(l.entitlePlanLeaf(l.Config, q, share, most))
		given = javanum.Add(given, share)
	}
	note(l.entitlePlanLeaf(l.Config, def, max(0, javanum.Add(1, -given)), 1))
	l.Entitle(plan)
	return over, refused
}

// shrinkingFirst are the promises in the order in which they are kept: those first that get less than they have, so that there is room for the others.
func (l *Live) shrinkingFirst(plan *Queue, due []queue.Promise) []queue.Promise {
	more := make(map[string]resource, len(due))
	for _, p := range due {
		more[p.Name] = p.Resource
		if q := l.Tree.ByPath(plan.Path + "." + p.Name); q != nil {
			more[p.Name] = p.Resource.Sub(measure.Scale(l.Total, float64(q.Shares[0].Absolute)))
		}
	}
	out := slices.Clone(due)
	slices.SortStableFunc(out, func(a, b queue.Promise) int {
		x, y := more[a.Name], more[b.Name]
		for i := range x {
			if c := cmp.Compare(x[i], y[i]); c != 0 {
				return c
			}
		}
		return 0
	})
	return out
}

// RemovePlanLeaves takes empty queues of a plan that are entitled to nothing out of the tree. What others are entitled to stays.
func (l *Live) RemovePlanLeaves(plan *Queue, gone []*Queue) {
	for _, q := range gone {
		l.remove(q)
	}
	if len(gone) > 0 {
		l.Server.SharesChanged(plan)
	}
}
