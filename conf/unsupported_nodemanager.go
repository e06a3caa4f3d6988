package conf

import (
	"fmt"
	"strings"
)

// missingNodeManager is judged for the NodeManager.
var missingNodeManager = []missing{
	{"container isolation", nm + "container-executor.class", classOtherThan(executorClasses, "default"), refuse,
		"containers would run as the daemon's own user; only the DefaultContainerExecutor is built"},
	{"container runtimes", nm + "runtime.linux.allowed-runtimes", notOneOf("default"), refuse,
		"docker and runc containers would run without their isolation; set it to default"},
	{"container runtimes", nm + "runtime.linux.type", notOneOf("default"), refuse, "containers would run without its isolation; unset it"},
	{"Java sandbox", nm + "runtime.linux.sandbox-mode", notOneOf("disabled"), refuse, "containers would run without it; set it to disabled"},
	{"AM proxy", nm + "amrmproxy.enabled", isTrue, refuse, "masters' requests would not be intercepted; set it to false"},
	{"distributed scheduling", nm + "distributed-scheduling.enabled", isTrue, refuse, "nodes would not allocate; set it to false"},

	{"cgroup version 1", nm + "resource.memory.enabled", withoutV2, refuse,
		"containers would not be limited; only version 2 is built: set " + cgroups + "v2.enabled to true, or this to false"},
	{"cgroup version 1", nm + "resource.cpu.enabled", withoutV2, refuse,
		"containers would take all cores; only version 2 is built: set " + cgroups + "v2.enabled to true, or this to false"},
	{"CPU limit of all containers", nm + "resource.percentage-physical-cpu-limit", unless(nm+"resource.cpu.enabled", notOneOf("100")), warn,
		"it counts for vcores that are detected, but containers can use all cores without " + nm + "resource.cpu.enabled"},
	{"disk limits", nm + "resource.disk.enabled", isTrue, refuse, "containers would not be slowed down; set it to false"},
	{"network limits", nm + "resource.network.enabled", isTrue, refuse, "containers would not be slowed down; set it to false"},
	{"elastic memory control", nm + "elastic-memory-control.enabled", isTrue, refuse, "containers would not be ended when the node's memory is used up; set it to false"},
	{"devices", nm + "resource-plugins", anyValue, refuse, "containers would not get their devices to themselves; unset it"},
	{"devices", nm + "pluggable-device-framework.enabled", isTrue, refuse, "containers would not get their devices to themselves; set it to false"},
	{"node labels", nm + "node-labels.provider", otherThanFolded("config", "script"), refuse,
		"a Java provider cannot be run, and the node would be in the default partition; name config or script, or unset it"},
	{"node attributes", nm + "node-attributes.provider", anyValue, refuse, "placement constraints would not find the node; unset it"},
	{"limits of log directories", nm + "container-log-monitor.enable", isTrue, refuse,
		"containers that write too much would go on; set it to false"},
	{"health of disks", nm + "disk-validator", notOneOf("basic"), refuse, "directories would be checked in the basic way alone; set it to basic"},
	{"volumes", nm + "csi-driver.names", anyValue, refuse, "containers would run without their volumes; unset it"},

	{"log aggregation policy", nm + "log-aggregation.policy.class", classOtherThan(policyClasses, builtPolicies...), refuse,
		"other logs would be kept than it says; name one of Hadoop's own policies, with its package"},
	{"log aggregation format", "yarn.log-aggregation.file-formats", otherFormat, refuse,
		"readers would look for another format; put TFile first"},
	{"log compression", nm + "log-aggregation.compression-type", notOneOf("none", "gz"), refuse, "logs would be stored otherwise; set it to none or gz"},
	{"shuffle over TLS", "mapreduce.shuffle.ssl.enabled", isTrue, refuse, "map output would go over the wire in the clear; set it to false"},

	{"NUMA", nm + "numa-awareness.enabled", isTrue, warn, "containers run on any socket"},
	{"manifest of auxiliary services", nm + "aux-services.manifest.enabled", isTrue, warn, "no service of the manifest is started"},
	{"opportunistic containers", nm + "opportunistic-containers-max-queue-length", notOneOf("0"), warn, "none are queued"},
	{"deletion of logs by size", nm + "log.trigger.delete.by-size.enabled", isTrue, warn, "logs are kept for " + nm + "log.retain-seconds whatever their size"},
	{"memory from smaps", nm + "container-monitor.procfs-tree.smaps-based-rss.enabled", isTrue, warn, "the resident set of /proc/PID/stat is used"},
	{"process tree", nm + "container-monitor.process-tree.class", anyValue, warn, "the built-in reader of /proc is used"},
	{"resource calculator", nm + "container-monitor.resource-calculator.class", anyValue, warn, "the built-in reader of /proc is used"},
	{"resource calculator", nm + "resource-calculator.class", anyValue, warn, "the built-in reader of /proc is used"},
	{"launcher", nm + "containers-launcher.class", notOneOf(containermanager + "launcher.ContainersLauncher"), warn, "the built-in one is used"},
	{"container listeners", nm + "container-state-transition-listener.classes", anyValue, warn, "Java listeners cannot be run"},
	{"cross-origin requests", nm + "webapp.cross-origin.enabled", isTrue, warn, "browsers keep pages of other sites from reading the answers"},
	{"timeline service", "yarn.timeline-service.enabled", isTrue, warn, "nothing is published to it"},
	{"shared cache", "yarn.sharedcache.enabled", isTrue, warn, "resources are localized without it"},
	{"log aggregation format", "yarn.log-aggregation.file-formats", moreFormats, warn, "only the first one is written"},
}

// otherThanFolded matches any value but these words, in whatever case.
func otherThanFolded(built ...string) func(*Properties, string) bool {
	known := notOneOf(built...)
	return func(p *Properties, v string) bool { return known(p, strings.ToLower(v)) }
}

const containermanager = "org.apache.hadoop.yarn.server.nodemanager.containermanager."

// builtPolicies are the words of log aggregation policies that we carry out.
var builtPolicies = []string{"all", "am", "am-or-failed", "failed", "failed-or-killed", "sample", "limit-size", "none"}

// withoutV2 matches what Apache does with cgroup version 1.
func withoutV2(p *Properties, v string) bool {
	return unless(cgroups+"v2.enabled", isTrue)(p, v)
}

func otherFormat(_ *Properties, v string) bool {
	list := splitList(v)
	return len(list) > 0 && list[0] != "TFile"
}

func moreFormats(_ *Properties, v string) bool {
	list := splitList(v)
	return len(list) > 1 && list[0] == "TFile"
}

// UnsupportedByNodeManager judges what is configured but not built, as
// UnsupportedByResourceManager does. asked lists what the caller's readers read
// besides ReadNodeManager.
func UnsupportedByNodeManager(p *Properties, asked ...string) (refuse, warn []Finding) {
	r := NewReader(p)
	s := readNodeManager(r)
	asked = append(asked, cgroups+"v2.enabled") // by withoutV2
	refuse, warn = unsupported(p, append(r.Asked(), asked...), othersThanNodeManager, missingEverywhere, missingNodeManager)
	return refuse, append(foreignAux(p, s.Aux), warn...)
}

// foreignAux are the auxiliary services that are Java classes.
func foreignAux(p *Properties, services []AuxService) []Finding {
	var out []Finding
	for _, s := range services {
		if s.Class == "shuffle" {
			continue
		}
		name := nm + "aux-services." + s.Name + ".class"
		v, _ := p.Lookup(name)
		reason := fmt.Sprintf("the Java class cannot be run, and containers that need %s will fail", s.Name)
		out = append(out, Finding{"auxiliary service", name, v.Value, v.Origin, reason})
	}
	return out
}
