package lint

import (
	"fmt"
	"math"

	"github.com/heddle-project/heddle/scheduler/capacity"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// OneMaster is a leaf whose share for masters is good for one application.
const OneMaster Code = "one-master"

// size asks the scheduler what the queues come to on a cluster of the size
// given, and compares that with the smallest container.
func (l *linter) size() {
	if l.in.Size.IsZero() || l.hasErrors() {
		return
	}
	s, err := capacity.New(l.cfg)
	if err != nil {
		return
	}
	s.AddNode(cluster.Node{ID: yarn.NodeID{Host: "everything", Port: 1}, Total: l.in.Size})
	for _, q := range s.Queues().Queues {
		if q.Leaf && q.State == queue.Running {
			l.sized(&q)
		}
	}
}

func (l *linter) sized(q *queue.Info) {
	least := l.cfg.Cluster.MinAllocation[yarn.Memory]
	share, name := q.Default, key(q.Path, "capacity")
	has, most := share.EffectiveMin[yarn.Memory], share.EffectiveMax[yarn.Memory]
	total := l.in.Size[yarn.Memory]
	switch masters := q.Capacity.Default.AMLimit[yarn.Memory]; {
	case most < least:
		l.say(Warning, TooSmall, name, fmt.Sprintf("on a cluster of %d MB %s may use at most %d MB, less than the smallest container of %d MB: nothing will ever run",
			total, q.Path, most, least), "raise maximum-capacity, or lower yarn.scheduler.minimum-allocation-mb")
	case has > 0 && has < least:
		l.say(Warning, TooSmall, name, fmt.Sprintf("on a cluster of %d MB %s is guaranteed %d MB, less than the smallest container of %d MB", total, q.Path, has, least),
			"give it more, or lower yarn.scheduler.minimum-allocation-mb")
	case masters < 2*least:
		l.oneMaster(q, total, most/least*least, least)
	}
}

// oneMaster: the share for masters, which is one of what the leaf may use, is
// not enough for two.
func (l *linter) oneMaster(q *queue.Info, total, most, least int64) {
	room, enough := float64(q.Capacity.Default.MaxAMShare)*float64(most), math.Ceil(float64(2*least)/float64(most)*100)/100
	fix := fmt.Sprintf("raise it: %s is enough for two", decimal(enough))
	if enough > 1 {
		fix = "give the queue more, or lower yarn.scheduler.minimum-allocation-mb"
	}
	l.say(Warning, OneMaster, key(q.Path, "maximum-am-resource-percent"), fmt.Sprintf("on a cluster of %d MB the share for masters in %s is %d MB, and one takes at least %d: one application is let through all the same, the others wait",
		total, q.Path, int64(room), least), fix)
}
