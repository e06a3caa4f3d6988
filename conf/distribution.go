package conf

import "strings"

// What distributions add to Hadoop's properties, and the placeholders that their managers leave in values.

const drainTimeout = rm + "nodemanager-graceful-decommission-timeout-secs"

// notTheDrains matches a number of seconds other than the configured timeout of drains.
func notTheDrains(p *Properties, v string) bool { return v != "" && v != trim(p.Get(drainTimeout)) }

// ofDistributions are rows like those of missingResourceManager for properties that none of Hadoop's files of defaults has.
var ofDistributions = []missing{
	{"partition of masters (EMR)", "yarn.node-labels.am.default-node-label-expression", "yarn.node-labels.enabled", anyValue, Changed,
		"ApplicationMasters run where their queue's default-node-label-expression or they themselves say", "",
		"have applications say it (mapreduce.job.am.node-label-expression, spark.yarn.am.nodeLabelExpression)"},
	{"timeout of drains (EMR)", rm + "decommissioning.timeout", "", notTheDrains, Changed, "drains last as long as " + drainTimeout + " says", "",
		"set " + drainTimeout + " in its place"},
	{"drains by shuffle data (Dataproc)", rm + "decommissioning-nodes-watcher.decommission-if-no-shuffle-data", "", isTrue, Changed,
		"a draining node waits until the applications that ran there have ended, or for its deadline", "false", ""},
}

// placeholder is the beginning of every placeholder that the agent of Cloudera Manager replaces when it starts a role.
const placeholder = "{{CMF_"

// placeholders finds the properties that are read and still have a placeholder in their values.
func placeholders(p *Properties, read map[string]bool) (out Findings) {
	for _, v := range p.Explicit() {
		_, rest, found := strings.Cut(v.Value, placeholder)
		if !found || !read[v.Name] {
			continue
		}
		name, _, _ := strings.Cut(rest, "}")
		out = append(out, Finding{Refused, "placeholder of Cloudera Manager", v.Name, v.Value, v.Origin,
			"its agent writes something in place of " + placeholder + clip(name) + "}} when it starts a role, which has not happened here",
			"write it there; {{CMF_CONF_DIR}} is the directory of the role's files"})
	}
	return out
}

// preemptionProperties are the properties of preemption that the CapacityScheduler reads (scheduler/config/preemption.go), without the prefix that they share.
var preemptionProperties = []string{
	"observe_only", "monitoring_interval", "max_wait_before_kill", "total_preemption_per_round", "max_ignored_over_capacity", "natural_termination_factor",
	"select_based_on_reserved_containers", "additional_res_balance_based_on_reserved_containers", "conservative-drf",
	"preemption-to-balance-queue-after-satisfied.enabled", "preemption-to-balance-queue-after-satisfied.max-wait-before-kill",
	"intra-queue-preemption.enabled", "intra-queue-preemption.minimum-threshold", "intra-queue-preemption.max-allowable-limit",
	"intra-queue-preemption.conservative-drf", "intra-queue-preemption.preemption-order-policy",
}

func readByPreemption() (names []string) {
	for _, n := range preemptionProperties {
		names = append(names, rm+"monitor.capacity.preemption."+n)
	}
	return names
}
