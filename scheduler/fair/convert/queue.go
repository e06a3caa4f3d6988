package convert

import (
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/javanum"
	"github.com/heddle-project/heddle/yarn"
)

// noAppLimit is a number of applications that limits nothing.
const noAppLimit = math.MaxInt32

// globals writes what holds for all queues and users.
func (c *conversion) globals() {
	d := c.from.Defaults
	c.set("maximum-am-resource-percent", masters(d.QueueMaxAMShare))
	apps := func(name string, n int32) { c.set(name+"max-parallel-apps", strconv.Itoa(int(n))) }
	if d.QueueMaxApps != noAppLimit {
		apps("", d.QueueMaxApps)
	}
	if d.UserMaxApps != noAppLimit {
		apps("user.", d.UserMaxApps)
	}
	for user, n := range c.from.Users { //tidy:unordered each sets a property of its own
		apps("user."+user+".", n)
	}
}

// masters is a share of masters; no limit is all.
func masters(share float32) string {
	if share == allocation.NoAMLimit {
		share = 1
	}
	return javanum.Text(share)
}

// queue writes a queue's properties and those of the queues below; parent is nil for root.
func (c *conversion) queue(q, parent *allocation.Queue) {
	set := func(name, value string) { c.set(q.Path+"."+name, value) }
	below := c.below(q)
	creates := !c.options.Percentages && q.Kind != allocation.Leaf
	if limit := c.options.Actions.maxChildren; limit != nil && len(below) > *limit {
		c.fail(q.Line, "Queue %s has too many children: %d", q.Path, len(below))
	}
	if strings.Contains(q.Name, ",") {
		c.fail(q.Line, "Queue %s has a comma in its name, which ends a name in the CapacityScheduler's lists of queues: rename it", q.Path)
	}
	if len(below) > 0 {
		names := make([]string, len(below))
		for i, child := range below {
			names[i] = child.Name
		}
		set("queues", strings.Join(names, ","))
	} else if !creates {
		set("user-limit-factor", "-1.0")
	}
	if creates {
		set("auto-queue-creation-v2.enabled", "true")
	}
	set("maximum-capacity", "100.0")
	if !c.options.Percentages {
		set("capacity", javanum.Text(q.Weight)+"w")
	} else if shares, uneven := percentages(below); shares != nil {
		if uneven {
			c.note(q.Line, q.Path, "The percentages below a queue are not in proportion to the weights, whose sum loses its decimals: write whole weights")
		}
		for i, child := range below {
			c.set(child.Path+".capacity", shares.text(i))
		}
		if shares.none() {
			set("allow-zero-capacity-sum", "true")
		}
	}
	if q.Kind == allocation.Leaf {
		set("ordering-policy", map[bool]string{true: "fifo", false: "fair"}[q.Policy == allocation.FIFO])
	}
	if c.settings.SizeBasedWeight {
		set("ordering-policy.fair.enable-size-based-weight", "true")
	}
	c.limits(q, parent, set)
	c.access(q)
	c.unequal(q)
	for _, child := range below {
		c.queue(child, q)
	}
}

// below are the queues below one that are converted: those that the FairScheduler makes. The lists of one that is left
// out stay: a queue that is created in its place has them.
func (c *conversion) below(q *allocation.Queue) []*allocation.Queue {
	var out []*allocation.Queue
	for _, child := range q.Children {
		if child.Policy == allocation.FIFO && child.Kind != allocation.Leaf {
			c.note(child.Line, child.Path, "A parent that is fifo is left out, because the FairScheduler does not make it: write fair or drf if it is to be there")
			c.access(child)
			continue
		}
		out = append(out, child)
	}
	return out
}

// limits writes what a queue may use at most, and whether it must give it back.
func (c *conversion) limits(q, parent *allocation.Queue, set func(name, value string)) {
	d := c.from.Defaults
	switch {
	case q.MaxAMShare == d.QueueMaxAMShare:
	case q.MaxAMShare == 0:
		// compat: none at all counts as not set.
		c.note(q.Line, q.Path, "<maxAMShare> of 0 is not converted, the default applies")
	default:
		set("maximum-am-resource-percent", masters(q.MaxAMShare))
	}
	switch {
	case q.MaxApps == d.QueueMaxApps:
	case q.MaxApps == noAppLimit:
		// compat: no limit counts as not set.
		c.note(q.Line, q.Path, "<maxRunningApps> of %d is not converted, the default applies", noAppLimit)
	default:
		set("max-parallel-apps", strconv.Itoa(int(q.MaxApps)))
	}
	if most := q.MaxContainer; limited(most) && (parent == nil || most != parent.MaxContainer) {
		set("maximum-allocation-mb", container(most[yarn.Memory], math.MaxInt64))
		set("maximum-allocation-vcores", container(most[yarn.VCores], allocation.MaxVCores))
	}
	if c.settings.Preemption && !q.Preemptable {
		set("disable_preemption", "true")
	}
}

// limited tells whether memory or vcores have a maximum.
func limited(r yarn.Resource) bool {
	return r[yarn.Memory] != math.MaxInt64 || r[yarn.VCores] != allocation.MaxVCores
}

// container is an amount; the most that there can be is none at all.
func container(n, most int64) string {
	if n == most {
		return "-1"
	}
	return strconv.FormatInt(n, 10)
}

// access writes the lists that name anybody, of queues that the file names.
func (c *conversion) access(q *allocation.Queue) {
	if q.Line == 0 {
		return
	}
	for _, l := range []struct {
		name string
		list yarn.ACL
	}{{"acl_submit_applications", q.Submit}, {"acl_administer_queue", q.Administer}} {
		if text := l.list.String(); text != " " {
			c.set(q.Path+"."+l.name, text)
		}
	}
}

// unequal tells of what a queue has and the CapacityScheduler cannot have.
func (c *conversion) unequal(q *allocation.Queue) {
	const ignored = ", ignoring conversion"
	if q.Max.OfCluster || limited(q.Max.Amount) {
		c.judge(MaxResources, q.Line, q.Path, "Setting <maxResources> is not supported", ignored)
	}
	if !q.Min.IsZero() {
		c.judge(MinResources, q.Line, q.Path, "Setting <minResources> is not supported", ignored)
	}
	if q.MaxChild != nil {
		c.judge(MaxChildCapacity, q.Line, q.Path, "Setting <maxChildResources> is not supported", ignored)
	}
	if c.drf && q.Kind == allocation.Leaf && q.Policy == allocation.Fair {
		c.judge(FairAsDRF, q.Line, q.Path, "Queue "+q.Path+" will use DRF policy instead of Fair", "")
	}
}
