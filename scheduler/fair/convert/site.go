package convert

import (
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

const (
	rm              = "yarn.resourcemanager."
	preemption      = rm + "monitor.capacity.preemption."
	capacityPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity."
	nodeDelay       = "node-locality-delay"
	rackDelay       = "rack-locality-additional-delay"
	monitorPackage  = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity."
)

// siteProperties writes what belongs into yarn-site.xml.
func (c *conversion) siteProperties() {
	s, o := c.settings, c.options
	put := func(name, value string) { c.site[name] = value }
	number := func(name string, n int32) { put(name, strconv.Itoa(int(n))) }
	var monitors []string
	put(rm+"scheduler.class", capacityPackage+"CapacityScheduler")
	put(rm+"scheduler.monitor.enable", "true")
	if s.Preemption {
		monitors = append(monitors, monitorPackage+"ProportionalCapacityPreemptionPolicy")
		number(preemption+"max_wait_before_kill", s.WaitBeforeKill)
		number(preemption+"monitoring_interval", s.CheckInterval)
	}
	if o.ObserveOnly { // compat: preemption on or off
		c.queues[preemption+"observe_only"] = "true"
	}
	if !o.Percentages {
		monitors = append(monitors, capacityPackage+"AutoCreatedQueueDeletionPolicy")
		put(config.Prefix+"auto-queue-creation-v2.queue-expiration-time", "10")
	}
	monitors = append(monitors, capacityPackage+"QueueConfigurationAutoRefreshPolicy")
	put(rm+"scheduler.monitor.policies", strings.Join(monitors, ","))

	put(config.Prefix+"per-node-heartbeat.multiple-assignments-enabled", strconv.FormatBool(s.AssignMultiple))
	if s.MaxAssign != NoMaxAssign {
		number(config.Prefix+"per-node-heartbeat.maximum-container-assignments", s.MaxAssign)
	}
	if s.Continuous {
		number(config.Prefix+"schedule-asynchronously.scheduling-interval-ms", s.ContinuousSleep)
	}
	if s.Continuous || o.Asynchronous {
		// compat: continuous scheduling alone does not make it asynchronous.
		put(config.Prefix+"schedule-asynchronously.enable", strconv.FormatBool(o.Asynchronous))
	}
	if c.drf {
		put(config.Prefix+"resource-calculator", "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator")
	}
	c.delay("locality.threshold.node", s.NodeThreshold, nodeDelay)
	c.delay("locality.threshold.rack", s.RackThreshold, rackDelay)
	if s.ReservationSystem {
		c.judge(ReservationSystem, 0, "", "Conversion of reservation system is not supported", "")
	}
}

// delay is how long an application waits for the nodes that it prefers.
//
// compat: the fraction of the nodes is written where a number of missed opportunities is read, with which no ResourceManager
// starts. How many it should be depends on the number of nodes, which nobody says.
func (c *conversion) delay(from string, threshold float32, to string) {
	if threshold == NoThreshold {
		return
	}
	name, value := config.Prefix+to, javanum.Text(threshold)
	c.site[name] = value
	c.note(0, "", "yarn.scheduler.fair.%s is a fraction of the nodes, and %s = %s should be a number of missed opportunities: no ResourceManager "+
		"starts with it. Multiply it by the number of nodes and round it, or remove the property", from, name, value)
}

// Delays are the properties that a result may have with a value with which no ResourceManager starts. There is a finding then.
func Delays() []string {
	return []string{config.Prefix + nodeDelay, config.Prefix + rackDelay}
}
