package lint

import (
	"maps"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/spelling"
)

// preemptions are the properties of preemption, without config.PreemptionPrefix.
var preemptions = map[string]setting{
	"observe_only":                                                     {kind: flag},
	"monitoring_interval":                                              {},
	"max_wait_before_kill":                                             {},
	"total_preemption_per_round":                                       {},
	"max_ignored_over_capacity":                                        {},
	"natural_termination_factor":                                       {},
	"conservative-drf":                                                 {kind: flag},
	"select_based_on_reserved_containers":                              {kind: flag},
	"additional_res_balance_based_on_reserved_containers":              {kind: flag},
	"preemption-to-balance-queue-after-satisfied.enabled":              {kind: flag},
	"preemption-to-balance-queue-after-satisfied.max-wait-before-kill": {},
	"intra-queue-preemption.enabled":                                   {kind: flag},
	"intra-queue-preemption.minimum-threshold":                         {},
	"intra-queue-preemption.max-allowable-limit":                       {},
	"intra-queue-preemption.preemption-order-policy":                   {},
	"intra-queue-preemption.conservative-drf":                          {kind: flag},
}

const noMonitor = "no scheduling monitor preempts: yarn.resourcemanager.scheduler.monitor.enable is not true, or yarn.resourcemanager.scheduler.monitor.policies does not name ProportionalCapacityPreemptionPolicy"

// preemptionKey judges a property whose name begins with config.PreemptionPrefix.
func (l *linter) preemptionKey(name, rest string) {
	switch s, ok := preemptions[rest]; {
	case !ok:
		fix := "remove it"
		if near := spelling.Nearest(rest, slices.Sorted(maps.Keys(preemptions))); near != "" {
			fix = didYouMean(config.PreemptionPrefix + near)
		}
		l.say(Warning, UnknownKey, name, ignored, fix)
	case !l.in.Cluster.Preempts:
		l.say(Hint, NoEffect, name, noMonitor, "set them in yarn-site.xml")
	case s.kind == flag:
		if value, _ := l.text(name); !strings.EqualFold(value, "true") && !strings.EqualFold(value, "false") {
			l.say(Warning, NotAFlag, name, "it is neither true nor false, so the default counts", "write true or false")
		}
	}
}
