package conf

import (
	"fmt"
	"slices"
	"strings"
)

// Finding is one property that asks for something that is not built.
type Finding struct {
	Feature string // what it would turn on
	Name    string
	Value   string
	Origin  Origin
	Reason  string // why it matters, and what to do instead
}

// String is one line: where, what, why.
func (f Finding) String() string {
	return Problem{Name: f.Name, Value: f.Value, Origin: f.Origin, Text: f.Feature + ": " + f.Reason}.Error()
}

// verdict is what a configured but missing feature does to a start.
type verdict bool

const (
	refuse verdict = true  // it changes safety, durability or who gets resources
	warn   verdict = false // the rest
)

// missing is one row: a feature, the property that asks for it, and the
// judgement. Rows are deleted as features are built.
type missing struct {
	feature string
	name    string
	asks    func(p *Properties, value string) bool
	verdict verdict
	reason  string
}

// isTrue matches what Configuration.getBoolean takes for true.
func isTrue(_ *Properties, v string) bool { return strings.EqualFold(v, "true") }

// notOneOf matches any value but these (and unset).
func notOneOf(built ...string) func(*Properties, string) bool {
	return func(_ *Properties, v string) bool {
		for _, b := range built {
			if v == b {
				return false
			}
		}
		return v != ""
	}
}

// classOtherThan matches classes whose word is not among those built.
func classOtherThan(words map[string]string, built ...string) func(*Properties, string) bool {
	known := notOneOf(built...)
	return func(p *Properties, v string) bool {
		if w, ok := words[v]; ok {
			v = w
		}
		return known(p, v)
	}
}

// anyOtherThan matches lists with a class that is not among those built.
func anyOtherThan(built map[string]string) func(*Properties, string) bool {
	return func(_ *Properties, v string) bool {
		return slices.ContainsFunc(splitList(v), func(class string) bool { return built[class] == "" })
	}
}

// explicit narrows a match to values somebody set, for properties whose
// default we replace by our own.
func explicit(name string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool {
		set, ok := p.Lookup(name)
		return ok && !set.Origin.IsDefault() && match(p, v)
	}
}

// when narrows a match to configurations in which another switch is on.
func when(name string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool { return isTrue(p, trim(p.Get(name))) && match(p, v) }
}

// unless narrows a match to configurations in which another switch is off.
func unless(name string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool { return !isTrue(p, trim(p.Get(name))) && match(p, v) }
}

func anyValue(_ *Properties, v string) bool { return v != "" }

// missingEverywhere is judged for every daemon.
var missingEverywhere = []missing{
	{"Kerberos", "hadoop.security.authentication", func(_ *Properties, v string) bool { return strings.EqualFold(v, "kerberos") }, refuse,
		"callers would not be authenticated; only simple is built"},
	{"service-level authorization", "hadoop.security.authorization", isTrue, refuse,
		"hadoop-policy.xml would not be enforced; set it to false"},
	{"SASL protection", "hadoop.rpc.protection", protectionBeyondAuthentication, refuse,
		"traffic would be neither signed nor encrypted; only authentication is built"},
	{"SASL protection", "hadoop.security.saslproperties.resolver.class", anyValue, refuse,
		"levels per address are not built; unset it"},
	{"TLS", "yarn.http.policy", notOneOf("HTTP_ONLY"), refuse,
		"web pages would not be served over TLS; set HTTP_ONLY and put a proxy in front"},
	{"web authentication", "hadoop.http.authentication.type", notOneOf("simple"), refuse,
		"web callers would not be authenticated; only simple is built"},
	{"SASL mechanism", "hadoop.security.sasl.mechanism", notOneOf("DIGEST-MD5"), refuse, "callers with tokens could not connect; only DIGEST-MD5 is built"},
	{"key algorithm", "hadoop.security.secret-manager.key-generator.algorithm", notOneOf("HmacSHA1"), refuse,
		"nodes would not accept our signatures; only HmacSHA1 is built"},
	{"service user names", "hadoop.security.impersonation.provider.class", anyValue, refuse,
		"custom impersonation rules are not run; use hadoop.proxyuser.*"},
	{"authorization plug-in", "yarn.authorization-provider", anyValue, refuse,
		"access decisions of a Java plug-in cannot be made; unset it to use yarn.admin.acl and queue ACLs"},
	{"group mapping", "hadoop.security.group.mapping", classOtherThan(groupClasses, "shell"), refuse,
		"users would have other groups than configured; only the shell mapping (id) and static overrides are built"},
	{"web filters", "hadoop.http.filter.initializers", foreignFilters, refuse,
		"Java web filters cannot be run, and some guard access; remove it"},
	{"federation", "yarn.federation.enabled", isTrue, refuse, "sub-clusters would not know of each other; set it to false"},
}

// missingResourceManager is judged for the ResourceManager.
var missingResourceManager = []missing{
	{"scheduler", rm + "scheduler.class", classOtherThan(schedulerClasses, "capacity"), refuse,
		"queues would share differently; only the CapacityScheduler is built"},
	{"high availability", rm + "ha.enabled", isTrue, refuse, "two active ResourceManagers could run at once; set it to false"},
	{"state store", rm + "store.class", when(rm+"recovery.enabled", explicit(rm+"store.class", classOtherThan(storeClasses, "bolt", "memory", "null"))), refuse,
		"applications would not survive a restart the way it says; unset it for the built-in file store"},
	{"reservations", rm + "reservation-system.enable", isTrue, refuse, "reserved capacity would not be kept; set it to false"},
	{"scheduler monitors", rm + "scheduler.monitor.policies", when(rm+"scheduler.monitor.enable", anyOtherThan(monitorClasses)), refuse,
		"preemption would not happen, nor a refresh of queues by itself; name AutoCreatedQueueDeletionPolicy or QueueManagementDynamicEditPolicy alone, or set " +
			rm + "scheduler.monitor.enable to false"},
	{"opportunistic containers", rm + "opportunistic-container-allocation.enabled", isTrue, refuse, "they would not be allocated; set it to false"},
	{"node labels", "yarn.node-labels.configuration-type", when("yarn.node-labels.enabled", notOneOf("centralized", "distributed")), refuse,
		"a Java provider of labels cannot be run; set it to centralized and give nodes labels with yarn rmadmin, or to distributed and let them name their own"},
	{"store of node labels", "yarn.node-labels.fs-store.impl.class", when("yarn.node-labels.enabled", classOtherThan(labelStoreClasses, "log", "no-log")), refuse,
		"labels would not be kept where it says; unset it to keep them in the files of Hadoop's own"},
	{"placement constraints", rm + "placement-constraints.handler", notOneOf("disabled"), refuse, "constraints would not be kept; set it to disabled"},
	{"scheduler configuration store", "yarn.scheduler.configuration.store.class", notOneOf("file"), refuse,
		"queues would come from capacity-scheduler.xml, not from the store; set it to file"},
	{"configuration provider", rm + "configuration.provider-class", notOneOf("org.apache.hadoop.yarn.LocalConfigurationProvider"), refuse,
		"refreshes would read local files, not the shared ones; unset it"},
	{"resource profiles", rm + "resource-profiles.enabled", isTrue, refuse, "applications asking by profile would get the wrong sizes; set it to false"},
	{"node admission", rm + "resource-tracker.nm.ip-hostname-check", isTrue, refuse, "nodes would not be checked against DNS; set it to false"},
	{"submission preprocessor", rm + "submission-preprocessor.enabled", isTrue, refuse, "submissions would not be rewritten; set it to false"},
	{"allocate interceptors", rm + "application-master-service.processors", anyValue, refuse, "Java processors cannot be run; unset it"},
	{"automatic updates", rm + "auto-update.containers", isTrue, refuse, "nodes would not be told of new sizes; set it to false"},
	{"correction of allocations", rm + "scheduler.autocorrect.container.allocation", isTrue, refuse,
		"containers beyond what was asked for would be kept; set it to false"},
	{"epochs of sub-clusters", rm + "epoch", notOneOf("0"), refuse, "ids of containers could clash with those of other sub-clusters; unset it"},
	{"blacklisting of nodes for masters", rm + "am-scheduling.node-blacklisting-enabled", isTrue, warn,
		"a master's next attempt may start on the node where one failed"},
	{"AM encryption", rm + "application-https.policy", notOneOf("NONE"), refuse, "masters would get no certificates; set it to NONE"},
	{"placement by tag", rm + "application-tag-based-placement.enable", isTrue, refuse,
		"applications would land in other queues; set it to false"},
	{"token renewal for others", rm + "proxy-user-privileges.enabled", isTrue, refuse, "new tokens would not be fetched for applications; set it to false"},
	{"heartbeat scaling", rm + "nodemanagers.heartbeat-interval-scaling-enable", isTrue, warn, "the interval stays fixed"},
	{"rack lookup", "net.topology.node.switch.mapping.impl", classOtherThan(topologyClasses, "script", "table"), warn,
		"a Java mapping cannot be run, every node is in /default-rack"},
	{"timeline service", "yarn.timeline-service.enabled", isTrue, warn, "nothing is published to it"},
	{"metrics publisher", "yarn.system-metrics-publisher.enabled", isTrue, warn, "nothing is published to the timeline service"},
	{"shared cache", "yarn.sharedcache.enabled", isTrue, warn, "resources are localized without it"},
	{"registry", "hadoop.registry.rm.enabled", isTrue, warn, "services are not registered"},
	{"AM encryption", "yarn.intermediate-data-encryption.enable", isTrue, warn, "the property concerns MapReduce only"},
	{"web interface 2", "yarn.webapp.ui2.enable", isTrue, warn, "the built-in interface is served"},
	{"scheduler interface", "yarn.webapp.scheduler-ui.enable", isTrue, warn, "the built-in interface is served"},
	{"services API", "yarn.webapp.api-service.enable", isTrue, warn, "long-running services are not managed"},
}

// protectionBeyondAuthentication matches any list but one that begins with
// authentication: the first level is the one preferred.
func protectionBeyondAuthentication(_ *Properties, v string) bool {
	levels := splitList(v)
	return len(levels) > 0 && !(len(levels) == 1 && strings.EqualFold(levels[0], "authentication"))
}

// builtFilters are the HTTP filters whose effect we have.
var builtFilters = map[string]bool{
	"org.apache.hadoop.http.lib.StaticUserWebFilter":                                true,
	"org.apache.hadoop.security.AuthenticationFilterInitializer":                    true,
	"org.apache.hadoop.security.HttpCrossOriginFilterInitializer":                   true,
	"org.apache.hadoop.yarn.server.security.http.RMAuthenticationFilterInitializer": true,
}

func foreignFilters(_ *Properties, v string) bool {
	for _, c := range splitList(v) {
		if !builtFilters[c] {
			return true
		}
	}
	return false
}

// UnsupportedByResourceManager judges what is configured but not built: refuse
// must stop the start, warn deserves one log line each. asked lists what the
// caller's readers read besides ReadResourceManager.
func UnsupportedByResourceManager(p *Properties, asked ...string) (refuse, warn []Finding) {
	r := NewReader(p)
	readResourceManager(r)
	return unsupported(p, append(r.Asked(), asked...), othersThanResourceManager, missingEverywhere, missingResourceManager)
}

func unsupported(p *Properties, asked, foreign []string, tables ...[]missing) (refuse, warn []Finding) {
	judged := map[string]bool{}
	for _, n := range asked {
		judged[CurrentName(n)] = true
	}
	for _, table := range tables {
		for _, row := range table {
			judged[row.name] = true
			v, ok := p.Lookup(row.name)
			if !ok || !row.asks(p, trim(v.Value)) {
				continue
			}
			f := Finding{row.feature, row.name, v.Value, v.Origin, row.reason}
			if row.verdict {
				refuse = append(refuse, f)
			} else {
				warn = append(warn, f)
			}
		}
	}
	return refuse, append(append(warn, unfollowed(p)...), unread(p, judged, foreign)...)
}

// Properties set for other programs that share the files.
var (
	othersEverywhere = []string{
		"fs.", "dfs.", "io.", "file.", "ftp.", "ha.", "hive.", "spark.", "hbase.", "tez.", "mapred.", "mapreduce.", "nfs.", "s3.", "httpfs.",
		"hadoop.kms.", "hadoop.zk.", "hadoop.tmp.dir", "hadoop.ssl.", "hadoop.security.key.", "hadoop.security.crypto.", "hadoop.security.credential.",
		"hadoop.proxyuser.", "hadoop.tags.", "hadoop.system.tags", "hadoop.caller.context.", "hadoop.common.", "hadoop.kerberos.",
		"yarn.client.", "yarn.app.", "yarn.application.classpath", "yarn.log-aggregation", "yarn.timeline-service.", "yarn.registry.", "yarn.router.",
		"yarn.sharedcache.", "yarn.service.", "yarn.resource-types", "yarn.scheduler.capacity.", "yarn.scheduler.fair.", "ipc.client.", "rpc.metrics.", "security.",
	}
	othersThanResourceManager = append([]string{"yarn.nodemanager."}, othersEverywhere...)
	othersThanNodeManager     = append([]string{"yarn.resourcemanager.", "yarn.scheduler.", "yarn.cluster.", "yarn.web-proxy.", "net.topology."}, othersEverywhere...)
)

// unread lists what somebody set for us and nothing reads.
func unread(p *Properties, read map[string]bool, foreign []string) []Finding {
	var out []Finding
	for _, v := range p.Explicit() {
		if read[v.Name] || hasAnyPrefix(v.Name, foreign) {
			continue
		}
		reason := "it has no effect"
		if !known(v.Name) {
			if near := Nearest(v.Name); near != "" {
				reason = fmt.Sprintf("it has no effect; did you mean %s?", near)
			}
		}
		out = append(out, Finding{"property not read", v.Name, v.Value, v.Origin, reason})
	}
	return out
}

func hasAnyPrefix(s string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}
