package ui

import (
	"fmt"
	"strconv"

	"github.com/heddle-project/heddle/scheduler/queue"
)

// capacityValues are the values that Hadoop's page has for a queue, under its names.
func (t *tree) capacityValues(q *queue.Info) []pair {
	d, own := &q.Default, q.Capacity
	c := &own.Default
	format := t.types.Format
	out := []pair{
		{"Queue State", q.State.String()},
		{"Used Capacity", withPercent(format(d.Used), c.UsedCapacity)},
		{"Configured Capacity", t.configured(own)},
		{"Configured Max Capacity", percentText(c.MaxCapacity)},
		{"Effective Capacity", withPercent(format(d.EffectiveMin), c.Capacity)},
		{"Effective Max Capacity", withPercent(format(d.EffectiveMax), c.MaxCapacity)},
		{"Absolute Used Capacity", percentText(c.AbsoluteUsed)},
		{"Absolute Configured Capacity", percentText(c.AbsoluteCapacity)},
		{"Absolute Configured Max Capacity", percentText(c.AbsoluteMax)},
		{"Used Resources", format(d.Used)},
	}
	if q.Leaf {
		out = append(out, t.leafValues(q)...)
	}
	out = append(out,
		pair{"Accessible Node Labels", labels(q.Labels)},
		pair{"Ordering Policy", own.OrderingPolicy},
		pair{"Preemption", enabled(!own.PreemptionDisabled)},
		pair{"Intra-queue Preemption", enabled(!own.IntraQueuePreemptionDisabled)},
	)
	for _, name := range sortedLabels(q) {
		p := own.Partitions[name]
		out = append(out, pair{"Partition " + name, fmt.Sprintf("capacity %s, at most %s, used %s (%s)",
			percentText(p.AbsoluteCapacity), percentText(p.AbsoluteMax), percentText(p.AbsoluteUsed), format(q.Partitions[name].Used))})
	}
	return out
}

// withPercent is an amount and the share that it is of the queue above.
func withPercent(amount string, part float32) string { return amount + " (" + percentText(part) + ")" }

func (t *tree) configured(c *queue.Capacity) string {
	switch c.Mode {
	case "weight":
		return strconv.FormatFloat(float64(c.Default.Weight), 'f', -1, 32) + "w"
	case "absolute":
		return t.types.Format(c.Default.ConfiguredMin)
	}
	return percentText(c.Default.Capacity)
}

func (t *tree) leafValues(q *queue.Info) []pair {
	own, format := q.Capacity, t.types.Format
	d := &own.Default
	perUser := d.AMLimit
	if len(own.Users) > 0 {
		perUser = own.Users[0].AMLimit
	}
	n := func(v int32) string { return strconv.Itoa(int(v)) }
	return []pair{
		{"Num Schedulable Applications", n(q.ActiveApps)},
		{"Num Non-Schedulable Applications", n(q.PendingApps)},
		{"Applications held back by max-parallel-apps", n(q.WaitingApps)},
		{"Num Containers", n(q.Default.AllocatedContainers)},
		{"Max Applications", n(own.MaxApps)},
		{"Max Applications Per User", n(own.MaxAppsPerUser)},
		{"Configured Max Application Master Limit", percentText(d.MaxAMShare)},
		{"Max Application Master Resources", format(d.AMLimit)},
		{"Used Application Master Resources", format(d.AMUsed)},
		{"Max Application Master Resources Per User", format(perUser)},
		{"Configured Minimum User Limit Percent", strconv.FormatFloat(float64(own.UserLimitPercent), 'f', -1, 32) + "%"},
		{"Configured User Limit Factor", strconv.FormatFloat(float64(own.UserLimitFactor), 'f', -1, 32)},
		{"Default Node Label Expression", orDefault(q.DefaultLabel)},
		{"Default Application Priority", n(q.DefaultPriority)},
	}
}

func (t *tree) users(c *queue.Capacity) []userRow {
	var out []userRow
	for _, u := range c.Users[:min(len(c.Users), rowsPerPage)] {
		out = append(out, userRow{u, t.types.Format(u.Used), t.types.Format(u.AMUsed), t.types.Format(u.AMLimit), t.types.Format(u.Limit)})
	}
	return out
}
