package conf

import (
	"fmt"
	"slices"
	"strings"
)

// missingNodeManager is judged for the NodeManager.
var missingNodeManager = []missing{
	{"container isolation", nm + "container-executor.class", "", classOtherThan(executorClasses, "default"), Refused,
		"containers would run as the daemon's own user", executorPackage + "DefaultContainerExecutor",
		"all users' containers run as one user with it, so let only users share the cluster who trust each other; limits of memory and cores by cgroups work with it, too"},
	{"container runtimes", nm + "runtime.linux.allowed-runtimes", "", notOneOf("default"), Refused,
		"docker and runc containers would run without their isolation", "default", ""},
	{"container runtimes", nm + "runtime.linux.type", "", notOneOf("default"), Refused, "containers would run without its isolation", "", ""},
	{"Java sandbox", nm + "runtime.linux.sandbox-mode", "", notOneOf("disabled"), Refused, "containers would run without it", "disabled", ""},
	{"AM proxy", nm + "amrmproxy.enabled", "", isTrue, Refused, "masters' requests would not be intercepted", "false", ""},
	{"distributed scheduling", nm + "distributed-scheduling.enabled", "", isTrue, Refused, "nodes would not allocate", "false", ""},

	{"cgroup version 1", nm + "resource.memory.enabled", "", withoutV2, Refused,
		"containers would not be limited", "false", "version 2 is built: " + cgroups + "v2.enabled=true enforces the limits"},
	{"cgroup version 1", nm + "resource.cpu.enabled", "", withoutV2, Refused,
		"containers would take all cores", "false", "version 2 is built: " + cgroups + "v2.enabled=true enforces the limits"},
	{"CPU limit of all containers", nm + "resource.percentage-physical-cpu-limit", "", unless(nm+"resource.cpu.enabled", notOneOf("100")), Changed,
		"it reduces the vcores that are detected, but containers can use all cores", "100", nm + "resource.cpu.enabled and " + cgroups + "v2.enabled=true enforce it"},
	{"disk limits", nm + "resource.disk.enabled", "", isTrue, Refused, "containers would not be slowed down", "false", ""},
	{"network limits", nm + "resource.network.enabled", "", isTrue, Refused, "containers would not be slowed down", "false", ""},
	{"elastic memory control", nm + "elastic-memory-control.enabled", "", isTrue, Refused, "containers would not be ended when the node's memory is used up", "false",
		nm + "resource.memory.enabled with " + cgroups + "v2.enabled=true limits each container"},
	{"devices", nm + "resource-plugins", "", anyValue, Refused, "containers would not get their devices to themselves", "",
		"node labels and queues keep nodes with devices to those who use them"},
	{"devices", nm + "pluggable-device-framework.enabled", "", isTrue, Refused, "containers would not get their devices to themselves", "false", ""},
	{"node labels", nm + "node-labels.provider", "", otherThanFolded("config", "script"), Refused,
		"a Java provider cannot be run, and the node would be in the default partition", "config", nm + "node-labels.provider.configured-node-partition names the label; with script a program does"},
	{"node attributes", nm + "node-attributes.provider", "", anyValue, Refused, "placement constraints would not find the node", "", "use node labels"},
	{"limits of log directories", nm + "container-log-monitor.enable", "", isTrue, Refused,
		"containers that write too much would go on", "false", "disks that become full are left out (" + nm + "disk-health-checker.*)"},
	{"health of disks", nm + "disk-validator", "", notOneOf("basic"), Refused, "directories would be checked in the basic way alone", "basic", ""},
	{"volumes", nm + "csi-driver.names", "", anyValue, Refused, "containers would run without their volumes", "", ""},

	{"log aggregation policy", nm + "log-aggregation.policy.class", "", classOtherThan(policyClasses, builtPolicies...), Refused,
		"other logs would be kept than it says", policyPackage + "AllContainerLogAggregationPolicy", "or to another of Hadoop's own policies, with its package"},
	{"log aggregation format", "yarn.log-aggregation.file-formats", "yarn.log-aggregation-enable", otherFormats, Refused,
		"readers would look for another format", "TFile", "or add TFile or IFile, Hadoop's own formats, to the list"},
	{"log compression", nm + "log-aggregation.compression-type", "", notOneOf("none", "gz"), Refused, "logs would be stored otherwise", "gz", "or to none"},
	{"shuffle over TLS", "mapreduce.shuffle.ssl.enabled", "", isTrue, Refused, "map output would go over the wire in the clear", "false", ""},

	{"NUMA", nm + "numa-awareness.enabled", "", isTrue, Changed, "containers run on any socket", "false", ""},
	{"manifest of auxiliary services", nm + "aux-services.manifest.enabled", "", isTrue, Changed, "no service of the manifest is started", "false",
		"name the shuffle in " + nm + "aux-services"},
	{"deletion of logs by size", nm + "log.trigger.delete.by-size.enabled", "", isTrue, Changed, "logs are kept for " + nm + "log.retain-seconds whatever their size", "false",
		"choose a time short enough for the disks"},
	{"memory from smaps", nm + "container-monitor.procfs-tree.smaps-based-rss.enabled", "", isTrue, Changed, "the resident set of /proc/PID/stat is used, which counts shared pages for each process", "false", ""},
	{"process tree", nm + "container-monitor.process-tree.class", "", anyValue, Ignored, "the built-in reader of /proc is used", "", ""},
	{"resource calculator", nm + "container-monitor.resource-calculator.class", "", anyValue, Ignored, "the built-in reader of /proc is used", "", ""},
	{"resource calculator", nm + "resource-calculator.class", "", anyValue, Ignored, "the built-in reader of /proc is used", "", ""},
	{"launcher", nm + "containers-launcher.class", "", notOneOf(containermanager + "launcher.ContainersLauncher"), Ignored, "the built-in one is used", "", ""},
	{"container listeners", nm + "container-state-transition-listener.classes", "", anyValue, Changed, "Java listeners cannot be run", "", ""},
	{"timeline service", "yarn.timeline-service.enabled", "", isTrue, Changed, "nothing is published to it", "false", ""},
	{"shared cache", "yarn.sharedcache.enabled", "", isTrue, Ignored, "resources are localized without it", "false", ""},
	{"log aggregation format", "yarn.log-aggregation.file-formats", "yarn.log-aggregation-enable", laterFormat, Changed,
		"logs are written in the first of Hadoop's own formats; of an application that has logs in an earlier format, too, Apache's readers show those alone", "TFile",
		"or put one of Hadoop's own formats first if Apache's NodeManagers run beside ours"},
}

// otherThanFolded matches any value but these words, in whatever case.
func otherThanFolded(built ...string) func(*Properties, string) bool {
	known := notOneOf(built...)
	return func(p *Properties, v string) bool { return known(p, strings.ToLower(v)) }
}

const containermanager = "org.apache.hadoop.yarn.server.nodemanager.containermanager."

// builtPolicies are the words of the log aggregation policies that are built.
var builtPolicies = []string{"all", "am", "am-or-failed", "failed", "failed-or-killed", "sample", "limit-size", "none"}

// withoutV2 matches switches that are on without cgroup version 2: Apache then uses version 1.
func withoutV2(p *Properties, v string) bool {
	return unless(cgroups+"v2.enabled", isTrue)(p, v)
}

// ownFormat is the index of the first of Hadoop's own formats in a list of formats, or -1.
func ownFormat(p *Properties, list []string) int {
	return slices.IndexFunc(list, func(name string) bool {
		class := p.Get("yarn.log-aggregation.file-controller." + name + ".class")
		return strings.HasSuffix(class, ".LogAggregationTFileController") || strings.HasSuffix(class, ".LogAggregationIndexedFileController")
	})
}

func otherFormats(p *Properties, v string) bool {
	list := splitList(v)
	return len(list) > 0 && ownFormat(p, list) < 0
}

func laterFormat(p *Properties, v string) bool { return ownFormat(p, splitList(v)) > 0 }

// readElsewhereByNodeManager is what its parts read themselves, beside
// ReadNodeManager, and what only withoutV2 looks at.
var readElsewhereByNodeManager = []string{
	nm + "remote-app-log-dir", nm + "remote-app-log-dir-suffix",
	"yarn.log-aggregation.TFile.remote-app-log-dir", "yarn.log-aggregation.TFile.remote-app-log-dir-suffix",
	"yarn.log-aggregation.file-formats", cgroups + "v2.enabled",
}

// UnsupportedByNodeManager is UnsupportedByResourceManager for the NodeManager.
func UnsupportedByNodeManager(p *Properties) Findings {
	r := NewReader(p)
	s := readNodeManager(r)
	out := unsupported(p, append(r.Asked(), readElsewhereByNodeManager...), othersThanNodeManager, missingEverywhere, missingNodeManager)
	return append(append(foreignAux(p, s.Aux), uncollected(p)...), out...)
}

// foreignAux are the auxiliary services that are Java classes.
func foreignAux(p *Properties, services []AuxService) (out Findings) {
	for _, s := range services {
		if s.Class == "shuffle" {
			continue
		}
		v, _ := p.Lookup(nm + "aux-services." + s.Name + ".class")
		reason := fmt.Sprintf("the Java class cannot be run, and containers that need %s will fail", s.Name)
		advice := "take " + s.Name + " out of " + nm + "aux-services"
		if strings.Contains(v.Value, "spark") {
			advice += ", and run Spark without its shuffle service (spark.shuffle.service.enabled=false, spark.dynamicAllocation.shuffleTracking.enabled=true)"
		}
		out = append(out, Finding{Changed, "auxiliary service", v.Name, v.Value, v.Origin, reason, advice})
	}
	return out
}
