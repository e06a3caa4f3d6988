package lint

import "strings"

// kind says what the text of a property must look like, as far as the linter
// cares.
type kind uint8

const (
	text kind = iota
	flag      // true or false; anything else silently means the default
)

// reader says which queues read a property.
type reader uint8

const (
	anyQueue reader = iota
	leavesOnly
	parentsOnly
)

// setting describes one known property.
type setting struct {
	kind   kind
	reader reader
	unread string // why Heddle does not use it, "" if it does
}

const (
	noMultiNode = "placement over several nodes at a time is not built"
	noThreads   = "scheduling has one thread here, and starts when something changes"
)

// globals are the properties of no queue, without the prefix.
var globals = map[string]setting{
	"resource-calculator": {}, "maximum-applications": {}, "global-queue-max-application": {}, "maximum-am-resource-percent": {},
	"minimum-user-limit-percent": {}, "user-limit-factor": {}, "node-locality-delay": {}, "rack-locality-additional-delay": {},
	"rack-locality-full-reset": {kind: flag}, "reservations-continue-look-all-nodes": {kind: flag},
	"skip-allocate-on-nodes-with-reserved-containers":                       {kind: flag, unread: noMultiNode},
	"per-node-heartbeat.multiple-assignments-enabled":                       {kind: flag},
	"per-node-heartbeat.maximum-container-assignments":                      {},
	"per-node-heartbeat.maximum-offswitch-assignments":                      {},
	"schedule-asynchronously.enable":                                        {kind: flag},
	"schedule-asynchronously.scheduling-interval-ms":                        {unread: noThreads},
	"schedule-asynchronously.maximum-threads":                               {unread: noThreads},
	"schedule-asynchronously.maximum-pending-backlogs":                      {unread: noThreads},
	"multi-node-placement-enabled":                                          {kind: flag},
	"multi-node-sorting.policy.names":                                       {unread: noMultiNode},
	"multi-node-sorting.policy":                                             {unread: noMultiNode},
	"lazy-preemption-enabled":                                               {kind: flag},
	"application.fail-fast":                                                 {kind: flag, unread: "recovery puts lost applications aside and says so"},
	"user-metrics.enable":                                                   {kind: flag},
	"max-parallel-apps":                                                     {},
	"user.max-parallel-apps":                                                {},
	"queue-mappings":                                                        {},
	"queue-mappings-override.enable":                                        {kind: flag},
	"mapping-rule-format":                                                   {},
	"mapping-rule-json":                                                     {},
	"mapping-rule-json-file":                                                {},
	"workflow-priority-mappings":                                            {},
	"workflow-priority-mappings-override.enable":                            {kind: flag},
	"legacy-queue-mode.enabled":                                             {kind: flag},
	"auto-queue-creation-v2.maximum-queue-depth":                            {},
	"auto-queue-creation-v2.queue-expiration-time":                          {},
	"queue.auto.refresh.monitoring-interval":                                {},
	"ordering-policy.priority-utilization.underutilized-preemption.enabled": {kind: flag},
	"ordering-policy.priority-utilization.underutilized-preemption.reserved-container-delay-ms": {},
	"ordering-policy.priority-utilization.underutilized-preemption.allow-move-reservation":      {kind: flag},
}

// ofQueues are the properties of a queue, without its path.
var ofQueues = map[string]setting{
	"queues": {}, "capacity": {}, "maximum-capacity": {}, "state": {}, "priority": {}, "ordering-policy": {},
	"accessible-node-labels": {}, "default-node-label-expression": {},
	"ordering-policy.fair.enable-size-based-weight": {kind: flag, reader: leavesOnly},
	"ordering-policy.exclusive-enforced-partitions": {reader: leavesOnly},
	"minimum-user-limit-percent":                    {reader: leavesOnly}, "user-limit-factor": {reader: leavesOnly},
	"maximum-am-resource-percent": {reader: leavesOnly}, "maximum-applications": {reader: leavesOnly},
	"default-application-priority": {reader: leavesOnly}, "max-parallel-apps": {},
	"maximum-allocation": {}, "maximum-allocation-mb": {}, "maximum-allocation-vcores": {},
	"maximum-application-lifetime": {}, "default-application-lifetime": {},
	"disable_preemption":                        {kind: flag},
	"intra-queue-preemption.disable_preemption": {kind: flag},
	"heddle.minimum-runtime-ms":                 {},
	"acl_submit_applications":                   {}, "acl_administer_queue": {}, "acl_application_max_priority": {},
	"acl_administer_reservations": {}, "acl_list_reservations": {},
	"acl_submit_reservations": {},
	"allow-zero-capacity-sum": {kind: flag},
	"reservable":              {kind: flag},
	"reservation-agent":       {}, "reservation-move-on-expiry": {kind: flag},
	"show-reservations-as-queues": {kind: flag}, "reservation-policy": {},
	"reservation-window": {}, "instantaneous-max-capacity": {},
	"average-capacity": {}, "reservation-planner": {},
	"reservation-enforcement-window":                            {},
	"multi-node-sorting.policy":                                 {unread: noMultiNode},
	"auto-create-child-queue.enabled":                           {kind: flag, reader: parentsOnly},
	"auto-create-child-queue.max-queues":                        {reader: parentsOnly},
	"auto-create-child-queue.fail-on-exceeding-parent-capacity": {kind: flag, reader: parentsOnly},
	"auto-create-child-queue.management-policy":                 {reader: parentsOnly},
	"auto-queue-creation-v2.enabled":                            {kind: flag, reader: parentsOnly},
	"auto-queue-creation-v2.max-queues":                         {reader: parentsOnly},
	"auto-queue-creation-v2.maximum-queue-depth":                {reader: parentsOnly},
	"auto-queue-creation-v2.queue-auto-removal.enable":          {kind: flag},
}

// ofLabels are the properties of a queue in one partition.
var ofLabels = map[string]setting{"capacity": {}, "maximum-capacity": {}, "maximum-am-resource-percent": {reader: leavesOnly}}

// templates are what stands before a queue's property that queues made on
// demand are to have.
var templates = []string{"leaf-queue-template.", "auto-queue-creation-v2.template.", "auto-queue-creation-v2.leaf-template.", "auto-queue-creation-v2.parent-template."}

// names that other schedulers, older releases or memory suggest.
var aliases = map[string]string{
	"max-capacity": "maximum-capacity", "maxcapacity": "maximum-capacity", "absolute-capacity": "capacity", "guaranteed-capacity": "capacity",
	"weight": "capacity", "max-applications": "maximum-applications", "max-apps": "maximum-applications", "maxrunningapps": "max-parallel-apps",
	"max-running-apps": "max-parallel-apps", "maximum-parallel-apps": "max-parallel-apps", "acl_submit_jobs": "acl_submit_applications", "acl_submit_job": "acl_submit_applications",
	"acl_administer_jobs": "acl_administer_queue", "acl_administer_applications": "acl_administer_queue", "aclsubmitapps": "acl_submit_applications",
	"acladministerapps": "acl_administer_queue", "max-am-resource-percent": "maximum-am-resource-percent", "maxamshare": "maximum-am-resource-percent",
	"user-limit": "minimum-user-limit-percent", "min-user-limit-percent": "minimum-user-limit-percent", "max-allocation-mb": "maximum-allocation-mb",
	"max-application-lifetime": "maximum-application-lifetime", "schedulingpolicy": "ordering-policy", "queue": "queues", "preemption-disabled": "disable_preemption",
	"disable-preemption": "disable_preemption",
}

// globalSetting is the property of no queue with that name.
func globalSetting(rest string) (setting, bool) {
	if s, ok := globals[rest]; ok {
		return s, true
	}
	if user, ok := strings.CutPrefix(rest, "user."); ok && len(user) > len(".max-parallel-apps") && strings.HasSuffix(user, ".max-parallel-apps") {
		return setting{}, true
	}
	if policy, ok := strings.CutPrefix(rest, "multi-node-sorting.policy."); ok && (strings.HasSuffix(policy, ".class") || strings.HasSuffix(policy, ".sorting-interval.ms")) {
		return setting{unread: noMultiNode}, true
	}
	return setting{}, false
}

// queueSetting is the property of a queue with that name.
func queueSetting(rest string) (setting, bool) {
	if s, ok := ofQueues[rest]; ok {
		return s, true
	}
	if user, ok := strings.CutPrefix(rest, "user-settings."); ok && len(user) > len(".weight") && strings.HasSuffix(user, ".weight") {
		return setting{}, true
	}
	if label, ok := strings.CutPrefix(rest, "accessible-node-labels."); ok {
		label, of, ok := strings.Cut(label, ".")
		s, known := ofLabels[of]
		return s, ok && known && label != ""
	}
	for _, t := range templates {
		if inner, ok := strings.CutPrefix(rest, t); ok {
			s, known := queueSetting(inner)
			return setting{kind: s.kind, reader: parentsOnly, unread: s.unread}, known && inner != "queues"
		}
	}
	return setting{}, false
}
