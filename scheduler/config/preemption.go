package config

import "strings"

// PreemptionPrefix heads the properties of preemption by the CapacityScheduler, which may stand in yarn-site.xml and in the queue file.
const PreemptionPrefix = "yarn.resourcemanager.monitor.capacity.preemption."

// Preemption is how the CapacityScheduler takes containers back. Whether it does at all is said by yarn.resourcemanager.scheduler.monitor.enable
// and .policies; what may be taken from a queue, by its disable_preemption. A comment begins with the name of
// the property; times are in milliseconds.
type Preemption struct {
	ObserveOnly         bool    // observe_only: find out, and take nothing
	Lazy                bool    // lazy-preemption-enabled: what has had its notice runs on until somebody needs its room
	Interval            int64   // monitoring_interval: between two rounds
	Wait                int64   // max_wait_before_kill: from the notice to the end
	PerRound            float32 // total_preemption_per_round: a fraction of the cluster
	IgnoredOverCapacity float64 // max_ignored_over_capacity: above its guarantee, as a fraction of it
	NaturalTermination  float64 // natural_termination_factor: what is taken of the excess in a round

	ByQueuePriority     bool  // ordering-policy.priority-utilization.underutilized-preemption.enabled
	ReservedDelay       int64 // its reserved-container-delay-ms
	MoveReserved        bool  // its allow-move-reservation
	ForReserved         bool  // select_based_on_reserved_containers
	CountReserved       bool  // additional_res_balance_based_on_reserved_containers
	ConservativeBetween bool  // conservative-drf
	Balance             bool  // preemption-to-balance-queue-after-satisfied.enabled
	BalanceWait         int64 // preemption-to-balance-queue-after-satisfied.max-wait-before-kill: not above zero: Wait counts

	Within             bool    // intra-queue-preemption.enabled
	WithinThreshold    float32 // minimum-threshold: of its guarantee, that a queue must use
	WithinLimit        float32 // max-allowable-limit: a fraction of the guarantee
	PriorityFirst      bool    // preemption-order-policy is priority_first, not userlimit_first
	ConservativeWithin bool    // conservative-drf
}

func (c *Preemption) read(s *settings) {
	const p, ranks, balance, within = PreemptionPrefix, Prefix + "ordering-policy.priority-utilization.underutilized-preemption.", "preemption-to-balance-queue-after-satisfied.", "intra-queue-preemption."
	millis := s.milliseconds
	*c = Preemption{
		ObserveOnly:         s.flag(p+"observe_only", false),
		Lazy:                s.flag(Prefix+"lazy-preemption-enabled", false),
		Interval:            millis(p+"monitoring_interval", 3000),
		Wait:                millis(p+"max_wait_before_kill", 15000),
		PerRound:            s.float(p+"total_preemption_per_round", 0.1),
		IgnoredOverCapacity: s.double(p+"max_ignored_over_capacity", 0.1),
		NaturalTermination:  s.double(p+"natural_termination_factor", 0.2),
		ByQueuePriority:     s.flag(ranks+"enabled", false),
		ReservedDelay:       millis(ranks+"reserved-container-delay-ms", 60_000),
		MoveReserved:        s.flag(ranks+"allow-move-reservation", false),
		ForReserved:         s.flag(p+"select_based_on_reserved_containers", false),
		CountReserved:       s.flag(p+"additional_res_balance_based_on_reserved_containers", false),
		ConservativeBetween: s.flag(p+"conservative-drf", false),
		Balance:             s.flag(p+balance+"enabled", false),
		BalanceWait:         millis(p+balance+"max-wait-before-kill", 300_000),
		Within:              s.flag(p+within+"enabled", false),
		WithinThreshold:     s.float(p+within+"minimum-threshold", 0.5),
		WithinLimit:         s.float(p+within+"max-allowable-limit", 0.2),
		ConservativeWithin:  s.flag(p+within+"conservative-drf", true),
	}
	for _, f := range []struct {
		name  string
		value float64
	}{
		{"total_preemption_per_round", float64(c.PerRound)}, {"natural_termination_factor", c.NaturalTermination},
		{within + "minimum-threshold", float64(c.WithinThreshold)}, {within + "max-allowable-limit", float64(c.WithinLimit)},
	} {
		if !(f.value >= 0 && f.value <= 1) {
			s.warn(p+f.name, "is a fraction and not from 0 to 1; 10 % is 0.1")
		}
	}
	if c.Interval <= 0 {
		s.warn(p+"monitoring_interval", "is not above zero: rounds follow each other as fast as they may, and Apache's ResourceManager does not start")
	}
	switch text, ok := s.text(p + within + "preemption-order-policy"); {
	case !ok || strings.EqualFold(text, "userlimit_first"):
	case strings.EqualFold(text, "priority_first"):
		c.PriorityFirst = true
	default:
		s.fail(p+within+"preemption-order-policy", "must be userlimit_first or priority_first")
	}
}
