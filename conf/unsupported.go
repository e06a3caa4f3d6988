package conf

import (
	"fmt"
	"slices"
	"strings"
)

// missing is one row: a feature, the property that asks for it, and the
// judgement. Rows are deleted as features are built.
type missing struct {
	feature  string
	name     string
	with     string // the switch without which the property asks for nothing; "" if there is none
	asks     func(p *Properties, value string) bool
	severity Severity
	reason   string // what is, or would be, different from what was asked for
	instead  string // the value that asks for nothing; "" to remove the property
	advice   string // what else there is to do; may be empty
}

// judge is the finding of a row, if the configuration asks for its feature.
func (m *missing) judge(p *Properties) (Finding, bool) {
	v, ok := p.Lookup(m.name)
	if !ok || m.with != "" && !isTrue(p, trim(p.Get(m.with))) || !m.asks(p, trim(v.Value)) {
		return Finding{}, false
	}
	return Finding{m.severity, m.feature, v.Name, v.Value, v.Origin, m.reason, m.way()}, true
}

// way is what to do about the feature.
func (m *missing) way() string {
	to := []string{"set it to " + m.instead}
	if m.instead == "" {
		to[0] = "remove it"
	}
	if m.with != "" {
		to = append(to, "set "+m.with+" to false")
	}
	text := strings.Join(to, ", or ")
	if m.advice != "" {
		text += "; " + m.advice
	}
	return text
}

// isTrue matches what Configuration.getBoolean takes for true.
func isTrue(_ *Properties, v string) bool { return strings.EqualFold(v, "true") }

// isFalse matches what Configuration.getBoolean takes for false.
func isFalse(_ *Properties, v string) bool { return strings.EqualFold(v, "false") }

// forgetful matches high availability where no application is kept.
func forgetful(p *Properties, v string) bool {
	return isTrue(p, v) && !isTrue(p, trim(p.Get(rm+"recovery.enabled")))
}

// localLabels matches keeping node labels in a local directory.
func localLabels(p *Properties, v string) bool {
	where := trim(p.Get("yarn.node-labels.fs-store.root-dir"))
	return isTrue(p, v) && (where == "" || onOneMachine(p, where))
}

// unshared matches keeping applications in a store that others do not have.
func unshared(p *Properties, v string) bool {
	r := NewReader(p).recovery()
	return isTrue(p, v) && (slices.Contains([]string{"bolt", "memory", "null", "leveldb"}, r.Store) || r.Store == "filesystem" && onOneMachine(p, r.Directory))
}

// localQueues matches keeping changed queues where others do not have them. The built-in store is the replicated one, if there is one.
func localQueues(p *Properties, v string) bool {
	kept := NewReader(p).recovery()
	return classOtherThan(confStoreClasses, "file", "fs", "zk")(p, v) && !(kept.Enabled && kept.Store == "raft" && confStoreClasses[v] == "bolt")
}

// elsewhere matches URLs of file systems that others reach, too.
func elsewhere(p *Properties, url string) bool { return url != "" && !onOneMachine(p, url) }

// onOneMachine tells whether a URL is of a local file system.
func onOneMachine(p *Properties, url string) bool {
	if scheme, _, found := strings.Cut(url, ":"); !found || strings.Contains(scheme, "/") {
		url = trim(p.Get("fs.defaultFS"))
	}
	return url == "" || strings.HasPrefix(url, "file:")
}

// notOneOf matches any value but these (and unset).
func notOneOf(built ...string) func(*Properties, string) bool {
	return func(_ *Properties, v string) bool { return v != "" && !slices.Contains(built, v) }
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

// notOfScheduler matches any class but the one for the scheduler that is set.
func notOfScheduler(capacity, fair string) func(*Properties, string) bool {
	return func(p *Properties, v string) bool {
		if own := trim(p.Get(rm + "scheduler.class")); own == "fair" || schedulerClasses[own] == "fair" {
			return v != "" && v != fair
		}
		return v != "" && v != capacity
	}
}

// anyOtherThan matches lists with a class that is not among those built.
func anyOtherThan(built map[string]string) func(*Properties, string) bool {
	return func(_ *Properties, v string) bool {
		return slices.ContainsFunc(splitList(v), func(class string) bool { return built[class] == "" })
	}
}

// explicit narrows a match to values somebody set, for properties whose
// default Heddle replaces by its own.
func explicit(name string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool {
		set, ok := p.Lookup(name)
		return ok && !set.Origin.IsDefault() && match(p, v)
	}
}

// unless narrows a match to configurations in which another switch is off.
func unless(name string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool { return !isTrue(p, trim(p.Get(name))) && match(p, v) }
}

// whereStore narrows a match to configurations whose state store is of that kind.
func whereStore(kind string, match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool {
		class := trim(p.Get(rm + "store.class"))
		set, _ := p.Lookup(rm + "store.class")
		return !set.Origin.IsDefault() && (class == kind || storeClasses[class] == kind) && match(p, v)
	}
}

// toZooKeeper narrows a match to configurations in which something is in ZooKeeper: the state store, the queues' configuration or the election.
func toZooKeeper(match func(*Properties, string) bool) func(*Properties, string) bool {
	return func(p *Properties, v string) bool {
		r := NewReader(p)
		kept, ha := r.recovery(), r.highAvailability()
		queues, _ := r.Class("yarn.scheduler.configuration.store.class", "file", confStoreClasses)
		return match(p, v) && (kept.Enabled && kept.Store == "zookeeper" || queues == "zk" || ha.Enabled && ha.Elects && !ha.Raft.Enabled)
	}
}

const inTheClear = "what is told to ZooKeeper would travel in the clear"

// otherSchemes matches URLs of file systems that are not built.
func otherSchemes(_ *Properties, v string) bool {
	scheme, _, found := strings.Cut(v, ":")
	return found && !strings.Contains(scheme, "/") && !strings.EqualFold(scheme, "file") && !strings.EqualFold(scheme, "hdfs")
}

func anyValue(_ *Properties, v string) bool { return v != "" }

func kerberos(_ *Properties, v string) bool { return strings.EqualFold(v, "kerberos") }

// missingEverywhere is judged for every daemon.
var missingEverywhere = []missing{
	{"Kerberos", "hadoop.security.authentication", "", kerberos, Refused, "callers would not be authenticated", "simple",
		"only simple authentication is built: let only those reach the ports who may act as any user"},
	{"service-level authorization", "hadoop.security.authorization", "", isTrue, Refused, "hadoop-policy.xml would not be enforced", "false",
		"a firewall can say who reaches which port"},
	{"SASL protection", "hadoop.rpc.protection", "", protectionBeyondAuthentication, Refused, "traffic would be neither signed nor encrypted", "authentication",
		"a network of its own keeps others from reading it"},
	{"SASL protection", "hadoop.security.saslproperties.resolver.class", "", anyValue, Refused, "there are no levels per address", "", ""},
	{"TLS", "yarn.http.policy", "", notOneOf("HTTP_ONLY"), Refused, "web pages would not be served over TLS", "HTTP_ONLY", "put a proxy with TLS in front"},
	{"web authentication", "hadoop.http.authentication.type", "", notOneOf("simple"), Refused, "web callers would not be authenticated", "simple",
		"put a proxy that authenticates in front"},
	{"SASL mechanism", "hadoop.security.sasl.mechanism", "", notOneOf("DIGEST-MD5"), Refused, "callers with tokens could not connect", "DIGEST-MD5",
		"clients and other daemons need the same"},
	{"key algorithm", "hadoop.security.secret-manager.key-generator.algorithm", "", notOneOf("HmacSHA1"), Refused, "nodes would not accept our signatures", "HmacSHA1",
		"the other daemons need the same"},
	{"service user names", "hadoop.security.impersonation.provider.class", "", anyValue, Refused, "rules of a Java class cannot be run", "",
		"say with hadoop.proxyuser.* who may act for whom"},
	{"authorization plug-in", "yarn.authorization-provider", "", anyValue, Refused, "access decisions of a Java plug-in cannot be made", "",
		"use yarn.admin.acl and the queues' ACLs"},
	{"group mapping", "hadoop.security.group.mapping", "", classOtherThan(groupClasses, "shell"), Refused, "users would have other groups than configured",
		securityPackage + "ShellBasedUnixGroupsMapping",
		"only what the machine itself says (id) is built: have it ask a directory such as LDAP (sssd), or list users in hadoop.user.group.static.mapping.overrides"},
	{"web filters", "hadoop.http.filter.initializers", "", foreignFilters, Refused, "Java web filters cannot be run, and some guard access",
		"org.apache.hadoop.http.lib.StaticUserWebFilter", "a proxy in front can do what the filter did; HttpCrossOriginFilterInitializer may stay in the list"},
	{"federation", "yarn.federation.enabled", "", isTrue, Refused, "sub-clusters would not know of each other", "false", "run each of them by itself"},
}

// missingResourceManager is judged for the ResourceManager.
var missingResourceManager = []missing{
	{"scheduler", rm + "scheduler.class", "", classOtherThan(schedulerClasses, "capacity", "fair", "fifo"), Refused, "queues would share differently",
		schedulerPackage + "capacity.CapacityScheduler",
		"that one, FairScheduler and FifoScheduler are built"},
	{"election by Curator", rm + "ha.curator-leader-elector.enabled", rm + "ha.enabled", isTrue, Refused,
		"ResourceManagers that elect by Curator would not see this one, and two could be active", "false", "have all of them elect as Hadoop's default elector does"},
	{"external elector", rm + "ha.automatic-failover.embedded", rm + "ha.enabled", isFalse, Changed,
		"nothing makes a ResourceManager active but a failover controller that asks it to, or an administrator with --forcemanual", "true", ""},
	{"failover without recovery", rm + "ha.enabled", "", forgetful, Changed,
		"a ResourceManager that takes over knows no application of the one before: all of them are lost", "false",
		"or set " + rm + "recovery.enabled to true and " + rm + "store.class to a store that the ResourceManagers share"},
	{"node labels of each ResourceManager", "yarn.node-labels.enabled", rm + "ha.enabled", localLabels, Changed,
		"they are kept on one machine: a ResourceManager on another machine that takes over does not know them", "false",
		"or set yarn.node-labels.fs-store.root-dir to a directory that all ResourceManagers reach, such as one on hdfs://"},
	{"a store for each ResourceManager", rm + "recovery.enabled", rm + "ha.enabled", unshared, Refused,
		"what one ResourceManager has stored the others would not know: applications would be lost at a failover", "false",
		"or set " + rm + "store.class to a store that they share: " + recoveryPackage + "ZKRMStateStore, or " + raftClass + ", which needs no ZooKeeper"},
	{"queues of each ResourceManager", "yarn.scheduler.configuration.store.class", rm + "ha.enabled", localQueues, Changed,
		"they are kept on one machine: a ResourceManager that takes over does not know what was changed there", "zk", ""},
	{"store without a fence", rm + "fs.state-store.uri", rm + "ha.enabled", whereStore("filesystem", elsewhere), Changed,
		"two ResourceManagers could write there at the same moment: nothing but ZooKeeper keeps out one that does not know yet that another is active", "",
		"set " + rm + "store.class to " + recoveryPackage + "ZKRMStateStore, which keeps it out"},
	{"state store", rm + "store.class", rm + "recovery.enabled", explicit(rm+"store.class", classOtherThan(storeClasses, "bolt", "raft", "memory", "null", "zookeeper", "filesystem")), Refused,
		"applications would not be stored where it says", "", "they are then stored in the file " + rm + "heddle.state-store.path"},
	{"state store", rm + "fs.state-store.uri", rm + "recovery.enabled", whereStore("filesystem", otherSchemes), Refused,
		"applications could not be stored there", "", "name a directory with file: or hdfs:"},
	{"TLS to ZooKeeper", "hadoop.zk.ssl.enabled", "", toZooKeeper(isTrue), Refused, inTheClear, "false", ""},
	{"TLS to ZooKeeper", rm + "zk-client-ssl.enabled", "", toZooKeeper(isTrue), Refused, inTheClear, "false", ""},
	{"Kerberos to ZooKeeper", "hadoop.zk.kerberos.principal", "", toZooKeeper(anyValue), Refused, "ZooKeeper would not know who this is", "", "hadoop.zk.auth with the scheme digest is built"},
	{"Kerberos to ZooKeeper", "hadoop.zk.kerberos.keytab", "", toZooKeeper(anyValue), Refused, "ZooKeeper would not know who this is", "", "hadoop.zk.auth with the scheme digest is built"},
	{"reservations", rm + "scheduler.class", rm + "reservation-system.enable", classOtherThan(schedulerClasses, "capacity", "fair"), Refused,
		"capacity would not be reserved", schedulerPackage + "capacity.CapacityScheduler", "of that one's queues and the FairScheduler's capacity can be reserved"},
	{"reservation systems", rm + "reservation-system.class", rm + "reservation-system.enable",
		notOfScheduler(reservationPackage+"CapacityReservationSystem", reservationPackage+"FairReservationSystem"), Refused,
		"only the scheduler's own reservation system is built", "", "without it the one of the scheduler is used"},
	{"plan followers", rm + "reservation-system.plan.follower", rm + "reservation-system.enable",
		notOfScheduler(reservationPackage+"CapacitySchedulerPlanFollower", reservationPackage+"FairSchedulerPlanFollower"), Refused,
		"only the scheduler's own plan follower is built", "", "without it the one of the scheduler is used"},
	{"scheduler monitors", rm + "scheduler.monitor.policies", rm + "scheduler.monitor.enable", anyOtherThan(monitorClasses), Refused,
		"what the class does to queues would not be done", preemptionPolicy,
		"that one, AutoCreatedQueueDeletionPolicy, QueueManagementDynamicEditPolicy and QueueConfigurationAutoRefreshPolicy are built"},
	{"node labels", "yarn.node-labels.configuration-type", "yarn.node-labels.enabled", notOneOf("centralized", "distributed"), Refused,
		"a Java provider of labels cannot be run", "centralized", "give nodes labels with yarn rmadmin -replaceLabelsOnNode; with distributed they name their own"},
	{"store of node labels", "yarn.node-labels.fs-store.impl.class", "yarn.node-labels.enabled", classOtherThan(labelStoreClasses, "log", "no-log"), Refused,
		"labels would not be stored where it says", "", "they are then stored below yarn.node-labels.fs-store.root-dir, in files as Hadoop writes them"},
	{"placement constraints", rm + "placement-constraints.handler", "", notOneOf("disabled"), Refused, "constraints would not be obeyed", "disabled",
		"node labels keep applications to groups of nodes"},
	{"scheduler configuration store", "yarn.scheduler.configuration.store.class", "", classOtherThan(confStoreClasses, "file", "memory", "bolt", "fs", "zk"), Refused,
		"queues would come from capacity-scheduler.xml, not from the store", "file", "file, memory, leveldb, fs and zk are built; with file write the queues into that file and apply changes with yarn rmadmin -refreshQueues"},
	{"policy for changes of queues", "yarn.scheduler.configuration.mutation.acl-policy.class", "", classOtherThan(mutationPolicies, "admins", "queue-admins"), Refused,
		"others could change queues than the policy says", schedulerPackage + "DefaultConfigurationMutationACLPolicy", "that one and QueueAdminConfigurationMutationACLPolicy are built"},
	{"configuration provider", rm + "configuration.provider-class", "", notOneOf("org.apache.hadoop.yarn.LocalConfigurationProvider"), Refused,
		"refreshes would read local files, not the shared ones", "", "keep the files on this machine"},
	{"resource profiles", rm + "resource-profiles.enabled", "", isTrue, Refused, "applications asking by profile would get the wrong sizes", "false",
		"have applications ask for amounts"},
	{"node admission", rm + "resource-tracker.nm.ip-hostname-check", "", isTrue, Refused, "nodes would not be checked against DNS", "false",
		"list the nodes in the file that " + rm + "nodes.include-path names"},
	{"submission preprocessor", rm + "submission-preprocessor.enabled", "", isTrue, Refused, "submissions would not be rewritten", "false",
		"mapping rules of the queues place applications"},
	{"allocate interceptors", rm + "application-master-service.processors", "", anyValue, Refused, "Java processors cannot be run", "", ""},
	{"epochs of sub-clusters", rm + "epoch", "", notOneOf("0"), Refused, "ids of containers could clash with those of other sub-clusters", "", ""},
	{"blacklisting of nodes for masters", rm + "am-scheduling.node-blacklisting-enabled", "", isTrue, Changed,
		"a master's next attempt may start on the node where one failed", "false", ""},
	{"AM encryption", rm + "application-https.policy", "", notOneOf("NONE"), Refused, "masters would get no certificates", "NONE", ""},
	{"placement by tag", rm + "application-tag-based-placement.enable", "", isTrue, Refused,
		"applications would land in other queues", "false", "mapping rules of the queues place by user, group and name of the application"},
	{"token renewal for others", rm + "proxy-user-privileges.enabled", "", isTrue, Refused, "new tokens would not be fetched for applications", "false", ""},
	{"heartbeat scaling", rm + "nodemanagers.heartbeat-interval-scaling-enable", "", isTrue, Changed, "the interval stays fixed", "false",
		rm + "nodemanagers.heartbeat-interval-ms sets it"},
	{"rack lookup", "net.topology.node.switch.mapping.impl", "", classOtherThan(topologyClasses, "script", "table"), Changed,
		"a Java mapping cannot be run, every node is in /default-rack", netPackage + "TableMapping", "net.topology.table.file.name names the table; ScriptBasedMapping runs a script"},
	{"timeline service", "yarn.timeline-service.enabled", "", isTrue, Changed, "nothing is published to it", "false", ""},
	{"metrics publisher", "yarn.system-metrics-publisher.enabled", "", isTrue, Changed, "nothing is published to the timeline service", "false", ""},
	{"retries of the election", rm + "ha.failover-controller.active-standby-elector.zk.retries", rm + "ha.enabled", anyValue, Ignored,
		"calls are made anew for as long as the session lives", "", ""},
	{"shared cache", "yarn.sharedcache.enabled", "", isTrue, Ignored, "resources are localized without it", "false", ""},
	{"registry", "hadoop.registry.rm.enabled", "", isTrue, Changed, "services are not registered", "false", ""},
	{"AM encryption", "yarn.intermediate-data-encryption.enable", "", isTrue, Ignored, "the property concerns MapReduce only", "false", ""},
	{"web interface 2", "yarn.webapp.ui2.enable", "", isTrue, Ignored, "it is served where its war or folder is found, and the built-in interface always", "false", ""},
	{"scheduler interface", "yarn.webapp.scheduler-ui.enable", "", isTrue, Ignored, "it is served where its war or folder is found, and the built-in interface always", "false", ""},
	{"services API", "yarn.webapp.api-service.enable", "", isTrue, Changed, "long-running services are not managed", "false", ""},
}

// protectionBeyondAuthentication matches any list but one that begins with
// authentication: the first level is the one preferred.
func protectionBeyondAuthentication(_ *Properties, v string) bool {
	levels := splitList(v)
	return len(levels) > 0 && !(len(levels) == 1 && strings.EqualFold(levels[0], "authentication"))
}

// builtFilters are the HTTP filters whose effect the web ports have.
var builtFilters = map[string]bool{
	"org.apache.hadoop.http.lib.StaticUserWebFilter":             true,
	"org.apache.hadoop.security.AuthenticationFilterInitializer": true,
	crossOriginFilter: true,
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

// readElsewhereByResourceManager is what its parts read themselves, beside
// ReadResourceManager. A name that ends with a dot is a prefix of names.
var readElsewhereByResourceManager = []string{
	rm + "node-labels.am.default-node-label-expression",
	rm + "node-labels.am.allow-non-exclusive-allocation",
	rm + "scheduler.monitor.enable",
	rm + "nodes.include-path", rm + "nodes.exclude-path", rm + "nodemanager-graceful-decommission-timeout-secs",
	"yarn.log-aggregation-enable", "yarn.log-aggregation-status.time-out.ms",
}

// fairScheduler heads the properties of the FairScheduler.
const fairScheduler = "yarn.scheduler.fair."

// fairProperties are those that the FairScheduler reads (scheduler/config/fair.go), without their head.
var fairProperties = []string{
	"allocation.file", "allow-undeclared-pools", "user-as-default-queue", "preemption", "preemption.cluster-utilization-threshold", "am.preemption",
	"waitTimeBeforeKill", "waitTimeBeforeNextStarvationCheck", "assignmultiple", "dynamic.max.assign", "max.assign", "sizebasedweight",
	"locality.threshold.node", "locality.threshold.rack", "update-interval-ms", "reservable-nodes", "continuous-scheduling-enabled",
}

// readByFairScheduler is what the FairScheduler reads of these properties.
func readByFairScheduler(p *Properties) (names []string) {
	for _, n := range fairProperties {
		names = append(names, fairScheduler+n)
	}
	for _, v := range p.WithPrefix(fairScheduler + "am.preemption.") {
		names = append(names, v.Name)
	}
	return append(names, "yarn.scheduler.increment-allocation-mb", "yarn.scheduler.increment-allocation-vcores", "yarn.scheduler.reservation-threshold.increment-multiple")
}

// UnsupportedByResourceManager finds what is configured without having the effect
// that it asks for: features that are not built, properties that nobody reads, what
// was odd about the files.
func UnsupportedByResourceManager(p *Properties) Findings {
	r := NewReader(p)
	readResourceManager(r)
	asked, foreign := append(r.Asked(), readElsewhereByResourceManager...), othersThanResourceManager
	if class, _ := r.Class(rm+"scheduler.class", "capacity", schedulerClasses); class == "fair" {
		asked, foreign = append(asked, readByFairScheduler(p)...), othersThanFairScheduler
	} else {
		asked = append(asked, readByPreemption()...)
	}
	return unsupported(p, asked, foreign, missingEverywhere, missingResourceManager, ofDistributions)
}

func unsupported(p *Properties, asked, foreign []string, tables ...[]missing) Findings {
	judged := map[string]bool{}
	for _, n := range asked {
		judged[CurrentName(n)] = true
	}
	out := oddities(p)
	for _, table := range tables {
		for _, row := range table {
			judged[row.name] = true
			if f, found := row.judge(p); found {
				out = append(out, f)
			}
		}
	}
	out = append(out, unfollowed(p)...)
	if o := &p.one; o.id != "" {
		out = append(out, o.finding(p))
		for _, name := range o.names {
			judged[name] = true
		}
		judged[rm+"ha.rm-ids"], judged[rm+"ha.id"] = true, true
	}
	out = append(out, placeholders(p, judged)...)
	for _, f := range leftovers(p) {
		judged[f.Name] = true
		out = append(out, f)
	}
	return append(out, unread(p, judged, foreign)...)
}

// oddities are what was odd about the files.
func oddities(p *Properties) (out Findings) {
	for _, w := range p.warnings {
		f := Finding{Changed, "", w.Name, w.Value, w.Origin, w.Text, ""}
		if w.Harmless {
			f.Severity = Ignored
		}
		out = append(out, f)
	}
	return out
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
	othersThanFairScheduler   = slices.DeleteFunc(slices.Clone(othersThanResourceManager), func(p string) bool { return p == fairScheduler })
	othersThanNodeManager     = append([]string{"yarn.resourcemanager.", "yarn.scheduler.", "yarn.cluster.", "yarn.web-proxy.", "net.topology."}, othersEverywhere...)
)

// unread lists what somebody set for this daemon and nothing reads.
func unread(p *Properties, read map[string]bool, foreign []string) Findings {
	var out Findings
	for _, v := range p.Explicit() {
		if read[v.Name] || hasAnyPrefix(v.Name, foreign) {
			continue
		}
		f := Finding{Ignored, "property not read", v.Name, v.Value, v.Origin, "it has no effect", ""}
		if !known(v.Name) {
			if near := nearest(v.Name, read); near != "" {
				f.Severity, f.Advice = Changed, fmt.Sprintf("did you mean %s?", near)
			}
		}
		out = append(out, f)
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
