package lint

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// Codes about the numbers of single queues.
const (
	Maximum        Code = "maximum"         // a maximum that is below the guarantee, or not one
	UnitTrap       Code = "unit-trap"       // a number in another unit than the one that is read
	UserLimit      Code = "user-limit"      // limits on users that do not share as they seem to
	TakesNothing   Code = "takes-nothing"   // a leaf that admits or runs no application
	UnknownAmount  Code = "unknown-amount"  // a capacity with a resource that is passed over
	TooSmall       Code = "too-small"       // less than one container
	DynamicMode    Code = "dynamic-mode"    // queues made on demand do not fit their siblings
	LabelsDisabled Code = "labels-disabled" // partitions without node labels
	Order          Code = "order"           // priorities that the ordering policy does not look at
)

// queues looks at every queue by itself.
func (l *linter) queues(q *config.Queue) {
	for _, label := range q.Configured {
		l.maximum(q, label)
		l.capacityText(q, label)
		l.amShare(q, label)
	}
	l.oneCapacity(q)
	l.lifetimes(q)
	l.reservations(q)
	l.maxAllocation(q)
	l.dynamic(q)
	l.order(q)
	l.labels(q)
	if q.Kind == config.Leaf {
		l.users(q)
		l.admission(q)
	}
	for _, c := range q.Children {
		l.queues(c)
	}
}

// globals looks at defaults that hold for all queues.
func (l *linter) globals() {
	l.amPercent(config.Prefix + "maximum-am-resource-percent")
	factor, set := l.number(config.Prefix + "user-limit-factor")
	if !set {
		factor = 1
	}
	l.userNumbers(config.Prefix, float32(factor))
	for _, suffix := range []string{"max-parallel-apps", "user.max-parallel-apps"} {
		l.parallel(config.Prefix + suffix)
	}
	if n, ok := l.number(config.Prefix + "maximum-applications"); ok && n <= 0 {
		l.say(Warning, TakesNothing, config.Prefix+"maximum-applications", "every submission is rejected", "remove it, or write how many may be there at a time")
	}
	if v, ok := l.number(config.Prefix + expiry); ok && v >= day && math.Mod(v, 1000) == 0 {
		l.say(Warning, UnitTrap, config.Prefix+expiry, fmt.Sprintf("it is in seconds: %s days", decimal(v/day)), fmt.Sprintf("write %s if milliseconds were meant", decimal(v/1000)))
	}
	if !l.cfg.Dominant {
		l.vcoresUncounted()
	}
}

// expiry is how long an empty queue that was made on demand stays.
const expiry = "auto-queue-creation-v2.queue-expiration-time"

func (l *linter) parallel(name string) {
	if n, ok := l.number(name); ok && n <= 0 {
		l.say(Warning, TakesNothing, name, "applications are accepted but never run", "remove it, or write how many may run at a time")
	}
}

func (l *linter) number(name string) (float64, bool) {
	v, ok := l.text(name)
	f, err := strconv.ParseFloat(v, 64)
	return f, ok && err == nil
}

// maximum looks at how elastic a queue is.
func (l *linter) maximum(q *config.Queue, label string) {
	name := strings.TrimSuffix(capacityKey(q.Path, label), "capacity") + "maximum-capacity"
	most, ok := l.number(name)
	a := q.Amount(label)
	switch {
	case !ok || q.Parent == nil && label == "":
	case most == -1 && label == "":
	case most <= 0:
		l.say(Warning, Maximum, name, fmt.Sprintf("%s may never use anything", q.Path), "write -1 or remove it for no maximum, or STOPPED as the state to close the queue")
	case most > 100:
		l.say(Warning, Maximum, name, "more than 100 percent of the parent is not to be had", "write 100 or remove it")
	case most <= 1 && (a.Capacity == 0 || a.Capacity > float32(most)/100):
		l.say(Warning, UnitTrap, name, fmt.Sprintf("it is a percentage: %s may use %s percent of its parent", q.Path, decimal(most)),
			fmt.Sprintf("write %s if a fraction was meant", decimal(most*100)))
	case a.Weight < 0 && !a.Absolute && float32(most) < a.Capacity*100*(1-precision):
		l.say(Warning, Maximum, name, fmt.Sprintf("the maximum is below the capacity of %s percent: the queue never gets its guarantee", percentText(a.Capacity)),
			"raise the maximum, or lower the capacity")
	}
}

func percentText(fraction float32) string { return decimal(float64(fraction) * 100) }

// oneCapacity finds a queue whose capacity is written as a fraction among
// siblings with percentages.
func (l *linter) oneCapacity(q *config.Queue) {
	name := key(q.Path, "capacity")
	v, ok := l.number(name)
	a := q.Amount("")
	if q.Parent == nil && ok && v != 100 {
		l.say(Warning, NoEffect, name, "the root always has 100 percent; the value is not looked at", "remove it")
	}
	if q.Parent == nil || !ok || v <= 0 || v >= 1 || a.Absolute || a.Weight >= 0 || l.said(key(q.Parent.Path, "queues")) {
		return
	}
	l.say(Hint, UnitTrap, name, fmt.Sprintf("it is a percentage: the queue gets %s of every thousand", decimal(v*10)),
		fmt.Sprintf("write %s if a fraction was meant", decimal(v*100)))
}

// capacityText finds resources in amounts that are passed over.
func (l *linter) capacityText(q *config.Queue, label string) {
	for _, name := range []string{capacityKey(q.Path, label), strings.TrimSuffix(capacityKey(q.Path, label), "capacity") + "maximum-capacity"} {
		value, ok := l.text(name)
		if !ok || !strings.HasPrefix(value, "[") || !strings.HasSuffix(value, "]") {
			continue
		}
		memory := false
		for pair := range strings.SplitSeq(strings.Trim(value, "[]"), ",") {
			what, amount, _ := strings.Cut(strings.TrimSpace(pair), "=")
			what = strings.TrimSpace(what)
			if what == "memory" {
				what = "memory-mb"
			}
			memory = memory || what == "memory-mb"
			unit := strings.TrimLeft(strings.TrimSpace(amount), "0123456789.-+ ")
			switch i := l.cfg.Cluster.Types.Index(what); {
			case i < 0:
				l.say(Warning, UnknownAmount, name, fmt.Sprintf("there is no resource %q: it is passed over", what), "write memory, vcores or a name of yarn.resource-types")
			case i != yarn.Memory && unit != "" && unit != "%" && unit != "w":
				l.say(Warning, UnitTrap, name, fmt.Sprintf("units convert to Mi for every resource, so %s of %s is not what it seems", strings.TrimSpace(amount), what),
					"write a plain number")
			}
		}
		if !memory {
			l.say(Warning, UnknownAmount, name, "amounts without memory count as none at all", "add memory=…")
		}
	}
}

// amShare finds percentages where a fraction is read.
func (l *linter) amShare(q *config.Queue, label string) {
	l.amPercent(strings.TrimSuffix(capacityKey(q.Path, label), "capacity") + "maximum-am-resource-percent")
}

func (l *linter) amPercent(name string) {
	switch v, ok := l.number(name); {
	case !ok:
	case v > 1:
		l.say(Warning, UnitTrap, name, fmt.Sprintf("it is a fraction: %s lets masters take %s times the queue, so that they may leave no room for their own containers", decimal(v), decimal(v)),
			fmt.Sprintf("write %s for %s percent", decimal(v/100), decimal(v)))
	case v <= 0:
		l.say(Warning, TakesNothing, name, "no room for masters: one application at a time is let through, all others wait", "write a fraction, such as 0.1")
	}
}

// users looks at the limits on the users of a leaf.
func (l *linter) users(q *config.Queue) {
	l.userNumbers(config.Prefix+q.Path+".", q.UserFactor)
}

// userNumbers looks at the limits under a prefix; factor is the user-limit-factor
// that holds there.
func (l *linter) userNumbers(prefix string, factor float32) {
	name := prefix + "minimum-user-limit-percent"
	switch v, ok := l.number(name); {
	case !ok:
	case v > 0 && v < 1:
		l.say(Warning, UnitTrap, name, fmt.Sprintf("it is a percentage: every user is only guaranteed %s percent", decimal(v)), fmt.Sprintf("write %s for that share", decimal(v*100)))
	case v > 100 || v < 0:
		l.say(Warning, UserLimit, name, "it is a percentage from 0 to 100; nothing checks it, and sizes that follow from it are wrong", "write a number from 1 to 100")
	case v == 100:
		l.say(Hint, UserLimit, name, "100 is no limit, not an equal share: the users of a queue are served one after the other, and the first may take all of it",
			"write 25 to have up to four users share evenly")
	case v > 0 && (factor == -1 || float64(factor)*100 > v):
		l.say(Hint, UserLimit, name, fmt.Sprintf("it is the least that each of several users gets, not the most: one user alone may take %s", aloneMayTake(factor)),
			fmt.Sprintf("set %suser-limit-factor to %s to hold every user to %s percent", prefix, decimal(v/100), decimal(v)))
	}
	name = prefix + "user-limit-factor"
	switch v, ok := l.number(name); {
	case !ok || v == -1:
	case v <= 0:
		l.say(Warning, UserLimit, name, "no user may have anything beyond one container", "write 1 for the whole queue, -1 for no limit")
	case v >= 10:
		l.say(Warning, UnitTrap, name, fmt.Sprintf("it is a multiple of the queue's capacity, not a percentage: a single user may take %s times the queue", decimal(v)),
			"write 1 for the whole queue, 0.5 for half of it, -1 for no limit")
	}
}

func aloneMayTake(factor float32) string {
	switch factor {
	case -1:
		return "all that the queue may use"
	case 1:
		return "the queue's whole capacity"
	}
	return decimal(float64(factor)) + " times the queue's capacity"
}

// admission finds leaves that take no application.
func (l *linter) admission(q *config.Queue) {
	if n, ok := l.number(key(q.Path, "maximum-applications")); ok && n == 0 {
		l.say(Warning, TakesNothing, key(q.Path, "maximum-applications"), "every submission is rejected", "remove it, or stop the queue by its state")
	}
	l.parallel(key(q.Path, "max-parallel-apps"))
	share, percent := l.absolute(q)
	if !percent || q.MaxApps >= 0 || l.cfg.MaxQueueApps > 0 || !l.cfg.Legacy || l.hasErrors() {
		return
	}
	if apps := math.Floor(float64(l.cfg.MaxSystemApps) * share * (1 + 1e-6)); apps < 1 {
		name := key(q.Path, "capacity")
		l.say(Warning, TakesNothing, name, fmt.Sprintf("the limit on applications follows the capacity: %s percent of %d is none, and every submission is rejected",
			decimal(share*100), l.cfg.MaxSystemApps), "set "+key(q.Path, "maximum-applications")+", or give the queue a capacity")
	}
}

// absolute is the queue's share of the cluster, if it and all above it are
// written as percentages, in the partition where it has most.
func (l *linter) absolute(q *config.Queue) (share float64, percent bool) {
	most := 0.0
	for _, label := range q.Configured {
		share := 1.0
		for p := q; p.Parent != nil; p = p.Parent {
			a := p.Amount(label)
			if a.Absolute || a.Weight >= 0 {
				return 0, false
			}
			share *= float64(a.Capacity)
		}
		most = max(most, share)
	}
	return most, true
}

// day is in seconds.
const day = 24 * 60 * 60

func (l *linter) lifetimes(q *config.Queue) {
	for _, suffix := range []string{"maximum-application-lifetime", "default-application-lifetime"} {
		name := key(q.Path, suffix)
		if v, ok := l.number(name); ok && v >= 40*day && math.Mod(v, 60_000) == 0 {
			l.say(Warning, UnitTrap, name, fmt.Sprintf("it is in seconds: %s days", decimal(math.Round(v/day))), fmt.Sprintf("write %s if milliseconds were meant", decimal(v/1000)))
		}
	}
	own, set := l.number(key(q.Path, "default-application-lifetime"))
	if set && own <= 0 && q.MaxLifetime > 0 {
		l.say(Warning, UnitTrap, key(q.Path, "default-application-lifetime"), fmt.Sprintf("a default of 0 or less means the maximum, %d seconds, not unlimited", q.MaxLifetime),
			"set "+key(q.Path, "maximum-application-lifetime")+" to 0 for unlimited applications")
	}
}

// ofPlans are the properties that only a reservable queue reads.
var ofPlans = []string{"reservation-agent", "reservation-policy", "reservation-planner", "reservation-window", "average-capacity", "instantaneous-max-capacity",
	"reservation-enforcement-window", "reservation-move-on-expiry", "show-reservations-as-queues", "acl_submit_reservations", "acl_administer_reservations",
	"acl_list_reservations"}

// reservations finds settings of plans where there is none, and shares of reservations written as fractions.
func (l *linter) reservations(q *config.Queue) {
	for _, suffix := range ofPlans {
		if _, ok := l.text(key(q.Path, suffix)); ok && q.Kind != config.Reservable {
			l.say(Warning, NoEffect, key(q.Path, suffix), fmt.Sprintf("%s cannot be reserved", q.Path), "set "+key(q.Path, "reservable")+" to true")
		}
	}
	for _, suffix := range []string{"instantaneous-max-capacity", "average-capacity"} {
		name := key(q.Path, suffix)
		if v, ok := l.number(name); ok && v > 0 && v <= 1 {
			l.say(Warning, UnitTrap, name, fmt.Sprintf("it is a percentage, 100 by default: one user may reserve %s percent of the plan", decimal(v)),
				fmt.Sprintf("write %s for that share", decimal(v*100)))
		}
	}
	if v, ok := l.number(key(q.Path, "reservation-window")); ok && v < 60_000 {
		l.say(Warning, UnitTrap, key(q.Path, "reservation-window"), fmt.Sprintf("it is in milliseconds: %s seconds", decimal(v/1000)), "write 86400000 for a day")
	}
}

func (l *linter) maxAllocation(q *config.Queue) {
	least := l.cfg.Cluster.MinAllocation
	for i, suffix := range []string{yarn.Memory: "maximum-allocation-mb", yarn.VCores: "maximum-allocation-vcores"} {
		name := key(q.Path, suffix)
		if v, ok := l.number(name); ok && v != -1 && v < float64(least[i]) {
			l.say(Warning, TooSmall, name, fmt.Sprintf("it is less than the smallest container, %d %s: nothing can be asked for", least[i], l.cfg.Cluster.Types[i].Name), "raise it")
		}
	}
	name := key(q.Path, "maximum-allocation")
	if list, _ := l.text(name); list == "" {
		return
	}
	for i, t := range l.cfg.Cluster.Types {
		switch most := q.MaxAllocation[i]; {
		case most < least[i]:
			l.say(Warning, TooSmall, name, fmt.Sprintf("%s is %d, less than the smallest container, %d: nothing can be asked for; what the list leaves out is 0", t.Name, most, least[i]), "name all resources")
		case most == 0:
			l.say(Warning, TooSmall, name, fmt.Sprintf("the list leaves %s out, which is 0 then: nothing can be asked for that needs it", t.Name), "name all resources")
		}
	}
}

// dynamic looks at parents that create queues.
func (l *linter) dynamic(q *config.Queue) {
	name := key(q.Path, "auto-queue-creation-v2.enabled")
	if q.Flexible && q.Kind == config.Managed {
		l.say(Warning, DynamicMode, name, "auto-create-child-queue.enabled is set, too, and wins", "choose one of them")
		return
	}
	l.templates(q)
	if q.Flexible && q.AutoRemove && !l.cfg.Cluster.Monitors {
		l.say(Hint, DynamicMode, name, "queues made on demand stay until a restart: without a monitor nothing removes empty ones",
			"set yarn.resourcemanager.scheduler.monitor.enable, and name AutoCreatedQueueDeletionPolicy in yarn.resourcemanager.scheduler.monitor.policies")
	}
	if !q.Flexible || !l.cfg.Legacy || len(q.Children) == 0 || wayOf(q, "") == byWeight {
		return
	}
	l.say(Warning, DynamicMode, name, fmt.Sprintf("queues made on demand have weights, which do not go with the capacities below %s: no queue will be made", q.Path),
		"write the capacities below as weights, such as 3w")
}

// templates finds templates that no queue can be made from. The scheduler reads
// them only when it makes one.
func (l *linter) templates(q *config.Queue) {
	var kinds []config.Kind
	switch {
	case q.Kind == config.Managed:
		kinds = []config.Kind{config.Leaf}
	case q.Flexible:
		kinds = []config.Kind{config.Leaf, config.Parent}
	}
	for _, kind := range kinds {
		_, err := l.cfg.Dynamic(q, anyName, kind)
		var refused *config.Error
		if !errors.As(err, &refused) {
			continue
		}
		f := refused.Finding
		name := l.templateOf(q, strings.TrimPrefix(f.Key, config.Prefix+q.Path+"."+anyName+"."), f.Origin)
		l.say(Warning, DynamicMode, name, fmt.Sprintf("no queue can be made below %s: %s", q.Path, f.Rule), "correct the value")
	}
}

// anyName stands for a queue that does not exist.
const anyName = "*"

// templateOf is the property of a template that was written at origin, or the
// parent's own switch.
func (l *linter) templateOf(q *config.Queue, suffix, origin string) string {
	for _, name := range l.names {
		if l.values[name].Origin == origin && strings.HasSuffix(name, "template."+suffix) {
			return name
		}
	}
	if q.Kind == config.Managed {
		return key(q.Path, "auto-create-child-queue.enabled")
	}
	return key(q.Path, "auto-queue-creation-v2.enabled")
}

// order finds priorities that nobody looks at.
func (l *linter) order(q *config.Queue) {
	name := key(q.Path, "priority")
	if n, ok := l.number(name); ok && n != 0 && q.Parent != nil && !q.Parent.ByPriority {
		l.say(Warning, Order, name, fmt.Sprintf("%s orders the queues below it by utilization alone, so priorities of queues have no effect", q.Parent.Path),
			"set "+key(q.Parent.Path, "ordering-policy")+" to priority-utilization")
	}
	name = key(q.Path, "default-application-priority")
	n, ok := l.number(name)
	switch ceiling := float64(l.cfg.Cluster.MaxPriority); {
	case !ok || n <= 0:
	case ceiling == 0:
		l.say(Warning, Order, name, "yarn.cluster.max-application-priority is 0, so every priority becomes 0", "raise that in yarn-site.xml")
	case n > ceiling:
		l.say(Warning, Order, name, fmt.Sprintf("more than yarn.cluster.max-application-priority: it becomes %s", decimal(ceiling)), "raise that in yarn-site.xml, or lower this")
	case q.Kind == config.Leaf && q.Ordering == config.FairOrder:
		l.say(Warning, Order, name, "with the ordering policy fair, applications are not ordered by priority", "use fifo, or remove the priority")
	}
}

func (l *linter) labels(q *config.Queue) {
	for _, label := range q.Configured {
		if label == "" || q.Parent == nil {
			continue
		}
		switch name := capacityKey(q.Path, label); {
		case !l.cfg.Cluster.LabelsEnabled:
			l.say(Warning, LabelsDisabled, l.anyOf(q.Path, label), "yarn.node-labels.enabled is not true, so there are no partitions", "set it in yarn-site.xml")
		case !q.MayUse(label):
			l.say(Warning, NoEffect, name, fmt.Sprintf("the label %s is not accessible to %s", label, q.Path), "add it to "+key(q.Path, "accessible-node-labels"))
		}
	}
}

// anyOf is the first property of the queue in the partition.
func (l *linter) anyOf(path, label string) string {
	prefix := key(path, "accessible-node-labels."+label+".")
	for _, name := range l.names {
		if strings.HasPrefix(name, prefix) {
			return name
		}
	}
	return capacityKey(path, label)
}

func (l *linter) vcoresUncounted() {
	for _, name := range l.names {
		o, ok := l.owners[name]
		if value, _ := l.text(name); ok && strings.HasSuffix(o.rest, "capacity") && strings.HasPrefix(value, "[") && strings.Contains(value, "vcores") {
			l.say(Hint, NoEffect, name, "the DefaultResourceCalculator counts memory only: vcores do not limit what is running",
				"set "+config.Prefix+"resource-calculator to org.apache.hadoop.yarn.util.resource.DominantResourceCalculator to count them")
			return
		}
	}
}
