package config

import (
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Classes of Apache's that may stand in a configuration for a short name.
const policyPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.policy."

var orderings = map[string]Ordering{
	"fifo": FifoOrder, policyPackage + "FifoOrderingPolicy": FifoOrder,
	"fair": FairOrder, policyPackage + "FairOrderingPolicy": FairOrder,
	"fifo-with-partitions": FifoWithPartitions,
	policyPackage + "FifoOrderingPolicyWithExclusivePartitions": FifoWithPartitions,
	"fifo-for-pending-apps":                            FifoForPending,
	policyPackage + "FifoOrderingPolicyForPendingApps": FifoForPending,
}

func (s *settings) ordering(q *Queue) {
	k := key(q.Path) + "ordering-policy"
	text, ok := s.trimmed(k)
	q.Priority = s.int32(key(q.Path)+"priority", 0)
	if q.Kind != Leaf {
		s.orderOfChildren(q, k, text, ok)
		return
	}
	if !ok {
		text = "fifo"
	}
	o, known := orderings[text]
	if !known {
		s.fail(k, "must be fifo, fair, fifo-with-partitions or fifo-for-pending-apps")
	}
	q.Ordering, q.Order = o, o.String()
	q.SizeWeight = s.flag(k+".fair.enable-size-based-weight", false)
	enforced, _ := s.text(k + ".exclusive-enforced-partitions")
	q.Enforced = list(enforced)
}

func (s *settings) orderOfChildren(q *Queue, k, text string, ok bool) {
	q.Order = "utilization"
	if q.Parent != nil {
		q.Order = q.Parent.Order
	}
	if ok {
		q.Order = text
	}
	switch q.Order {
	case "utilization":
	case "priority-utilization":
		q.ByPriority = true
	default:
		s.fail(k, "must be utilization or priority-utilization")
	}
}

func (s *settings) limits(q *Queue) {
	k := key(q.Path)
	q.MaxParallel = s.int32(k+"max-parallel-apps", s.int32(Prefix+"max-parallel-apps", math.MaxInt32))
	q.MaxApps = s.int32(k+"maximum-applications", -1)
	q.UserLimit = s.float(k+"minimum-user-limit-percent", s.float(Prefix+"minimum-user-limit-percent", 100))
	q.UserFactor = s.float(k+"user-limit-factor", s.float(Prefix+"user-limit-factor", 1))
	q.DefaultPriority = s.int32(k+"default-application-priority", 0)
	q.AllowZeroSum = s.flag(k+"allow-zero-capacity-sum", false)
	s.userWeights(q)
}

// userWeights are those of the parent, with those of the queue's own on top.
func (s *settings) userWeights(q *Queue) {
	q.UserWeights = map[string]float32{}
	if q.Parent != nil {
		maps.Copy(q.UserWeights, q.Parent.UserWeights)
	}
	prefix := key(q.Path) + "user-settings."
	for _, rest := range s.under(prefix) {
		if user, ok := strings.CutSuffix(rest, ".weight"); ok && user != "" {
			q.UserWeights[user] = s.float(prefix+rest, 1)
		}
	}
	if q.Kind != Leaf {
		return
	}
	most := float32(100 / min(100, q.UserLimit))
	for _, user := range slices.Sorted(maps.Keys(q.UserWeights)) {
		if w := q.UserWeights[user]; w < 0 || w > most {
			s.fail(prefix+user+".weight", "weight %v of user %s in %s must be from 0 to %v (100 / minimum-user-limit-percent)", w, user, q.Path, most)
		}
	}
}

// maxAllocation reads the largest container of a queue.
//
// compat: a list leaves what it does not name at 0.
func (s *settings) maxAllocation(q *Queue) {
	q.MaxAllocation = s.cl.MaxAllocation
	if q.Parent != nil {
		q.MaxAllocation = q.Parent.MaxAllocation
	}
	k := key(q.Path) + "maximum-allocation"
	if text, ok := s.trimmed(k); ok && text != "" {
		q.MaxAllocation = yarn.Resource{}
		for pair := range strings.SplitSeq(text, ",") {
			s.maxAllocationOf(q, k, pair)
		}
		return
	}
	if mb := s.number(k+"-mb", -1); mb != -1 {
		q.MaxAllocation[yarn.Memory] = mb
		s.atMostCluster(k+"-mb", yarn.Memory, mb)
	}
	if cores := s.number(k+"-vcores", -1); cores != -1 {
		q.MaxAllocation[yarn.VCores] = cores
		s.atMostCluster(k+"-vcores", yarn.VCores, cores)
	}
}

func (s *settings) maxAllocationOf(q *Queue, k, pair string) {
	name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
	if name == "memory" {
		name = "memory-mb"
	}
	i := s.cl.Types.Index(strings.TrimSpace(name))
	unit := strings.TrimLeft(strings.TrimSpace(value), "0123456789")
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), unit), 10, 64)
	if !ok || i < 0 || err != nil || !knownUnit(unit) {
		s.fail(k, "must be a list of resources, such as memory-mb=4096,vcores=4")
		return
	}
	if i == yarn.Memory && unit != "" {
		n = toMebi(n, unit)
	}
	q.MaxAllocation[i] = n
	s.atMostCluster(k, i, n)
}

func (s *settings) atMostCluster(k string, i int, n int64) {
	if most := s.cl.MaxAllocation[i]; n > most {
		s.fail(k, "%d %s is more than the cluster's maximum allocation of %d", n, s.cl.Types[i].Name, most)
	}
}

func (s *settings) lifetimes(q *Queue) {
	k := key(q.Path)
	own := s.number(k+"default-application-lifetime", -1)
	q.MaxLifetime = s.number(k+"maximum-application-lifetime", -1)
	p := q.Parent
	q.defaultLifetimeSet = own >= 0 || p != nil && p.defaultLifetimeSet
	q.DefaultLifetime = own
	if p == nil {
		return
	}
	if q.MaxLifetime < 0 {
		q.MaxLifetime = p.MaxLifetime
	}
	if own < 0 && q.defaultLifetimeSet {
		q.DefaultLifetime = min(p.DefaultLifetime, q.MaxLifetime)
	}
	if q.MaxLifetime > 0 && q.DefaultLifetime > q.MaxLifetime {
		s.fail(k+"default-application-lifetime", "default lifetime %d is more than the maximum of %d", q.DefaultLifetime, q.MaxLifetime)
	}
	if q.DefaultLifetime <= 0 {
		q.DefaultLifetime = q.MaxLifetime
	}
}

var priorityGroup = regexp.MustCompile(`\[([^\]]+)`)

func (s *settings) access(q *Queue) {
	k := key(q.Path)
	otherwise := " "
	if q.Parent == nil {
		otherwise = "*"
	}
	q.Submit = s.acl(k+"acl_submit_applications", otherwise)
	q.Admin = s.acl(k+"acl_administer_queue", otherwise)
	text, _ := s.text(k + "acl_application_max_priority")
	for _, m := range priorityGroup.FindAllStringSubmatch(text, -1) {
		if strings.TrimSpace(m[1]) != "" {
			q.PriorityACLs = append(q.PriorityACLs, s.priorityACL(k+"acl_application_max_priority", m[1]))
		}
	}
	slices.SortStableFunc(q.PriorityACLs, func(a, b queue.PriorityACL) int { return int(b.Max) - int(a.Max) })
}

func (s *settings) priorityACL(k, text string) (a queue.PriorityACL) {
	var who []string
	for _, pair := range strings.Fields(text) {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		switch strings.ToLower(name) {
		case "user", "group":
			who = append(who, strings.TrimSpace(value))
		case "max_priority", "default_priority":
			n, err := strconv.ParseInt(value, 10, 32)
			if err != nil {
				s.fail(k, "%s must be a whole number", name)
			}
			if strings.EqualFold(name, "max_priority") {
				a.Max = min(int32(n), s.cl.MaxPriority)
			} else {
				a.Default = max(int32(n), 0)
			}
		default:
			s.fail(k, "%q is none of user, group, max_priority and default_priority", name)
		}
	}
	if len(who) > 0 && who[0] == "*" {
		who = who[:1]
	}
	a.Who = yarn.ParseACL(strings.Join(who, " "))
	return a
}

func (s *settings) preemption(q *Queue) {
	if !s.cl.Monitors {
		q.PreemptionDisabled = true
	} else {
		q.PreemptionDisabled = s.flag(key(q.Path)+"disable_preemption", q.Parent != nil && q.Parent.PreemptionDisabled)
	}
	const intra = "intra-queue-preemption.disable_preemption"
	q.intraDisabled = !s.flag(PreemptionPrefix+"intra-queue-preemption.enabled", false) ||
		s.flag(key(q.Path)+intra, q.Parent != nil && q.Parent.intraDisabled)
	q.IntraPreemptionDisabled = q.intraDisabled || q.PreemptionDisabled
	runtime := int64(0)
	if q.Parent != nil {
		runtime = q.Parent.MinimumRuntime
	}
	k := key(q.Path) + "heddle.minimum-runtime-ms"
	if q.MinimumRuntime = s.number(k, runtime); q.MinimumRuntime < 0 {
		s.fail(k, "must not be negative")
	}
}
