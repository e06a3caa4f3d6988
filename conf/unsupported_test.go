package conf

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// split parts what stops a start from the rest.
func split(all Findings) (refused, rest Findings) {
	return all.Of(Refused), append(all.Of(Changed), all.Of(Ignored)...)
}

func TestDefaultsAreSupported(t *testing.T) {
	if no, odd := split(UnsupportedByResourceManager(shippedDefaults())); len(no)+len(odd) != 0 {
		t.Errorf("ResourceManager: %v %v", no, odd)
	}
	if no, odd := split(UnsupportedByNodeManager(shippedDefaults())); len(no)+len(odd) != 0 {
		t.Errorf("NodeManager: %v %v", no, odd)
	}
}

// TestRefusals turns each refused feature on by itself and expects exactly
// that finding, then off again and expects none.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ feature, name, on, off string }{
		{"Kerberos", "hadoop.security.authentication", "KERBEROS", "simple"},
		{"service-level authorization", "hadoop.security.authorization", "true", "false"},
		{"SASL protection", "hadoop.rpc.protection", "privacy", "authentication"},
		{"SASL protection", "hadoop.rpc.protection", "authentication,privacy", "Authentication"},
		{"TLS", "yarn.http.policy", "HTTPS_ONLY", "HTTP_ONLY"},
		{"web authentication", "hadoop.http.authentication.type", "kerberos", "simple"},
		{"authorization plug-in", "yarn.authorization-provider", "org.apache.ranger.X", ""},
		{"group mapping", "hadoop.security.group.mapping", securityPackage + "LdapGroupsMapping", securityPackage + "ShellBasedUnixGroupsMapping"},
		{"federation", "yarn.federation.enabled", "true", "false"},
		{"scheduler", rm + "scheduler.class", "com.example.Scheduler", schedulerPackage + "fair.FairScheduler"},
		{"scheduler", rm + "scheduler.class", "com.example.Scheduler", schedulerPackage + "fifo.FifoScheduler"},
		{"placement constraints", rm + "placement-constraints.handler", "scheduler", "disabled"},
		{"scheduler configuration store", "yarn.scheduler.configuration.store.class", "com.example.Store", "zk"},
		{"policy for changes of queues", "yarn.scheduler.configuration.mutation.acl-policy.class", "com.example.Policy", schedulerPackage + "DefaultConfigurationMutationACLPolicy"},
		{"node admission", rm + "resource-tracker.nm.ip-hostname-check", "true", "false"},
		{"SASL mechanism", "hadoop.security.sasl.mechanism", "SCRAM-SHA-256", "DIGEST-MD5"},
		{"key algorithm", "hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA256", "HmacSHA1"},
		{"epochs of sub-clusters", rm + "epoch", "3", "0"},
		{"AM encryption", rm + "application-https.policy", "STRICT", "NONE"},
		{"web filters", "hadoop.http.filter.initializers", "com.example.Guard", "org.apache.hadoop.http.lib.StaticUserWebFilter"},
	} {
		no, _ := split(UnsupportedByResourceManager(overrides(t, c.name, c.on)))
		if len(no) != 1 || no[0].Feature != c.feature || no[0].Name != c.name {
			t.Errorf("%s=%s: %v", c.name, c.on, no)
		}
		if no, _ := split(UnsupportedByResourceManager(overrides(t, c.name, c.off))); len(no) != 0 {
			t.Errorf("%s=%s: %v", c.name, c.off, no)
		}
	}
}

// A change of queues that one ResourceManager alone knows is lost at a failover.
func TestQueuesOfEachResourceManager(t *testing.T) {
	for store, warned := range map[string]bool{"file": false, "memory": true, "leveldb": true, "fs": false, "zk": false} {
		for _, ha := range []string{"true", "false"} {
			p := mustLoad(t, site(map[string]string{"yarn-site.xml": "<configuration>\n<property name=\"yarn.scheduler.configuration.store.class\" value=\"" + store + "\"/>\n" +
				"<property name=\"" + rm + "ha.enabled\" value=\"" + ha + "\"/>\n</configuration>"}))
			said := false
			for _, f := range UnsupportedByResourceManager(p) {
				said = said || strings.Contains(f.String(), "queues of each ResourceManager: they are kept on one machine")
			}
			if said != (warned && ha == "true") {
				t.Errorf("%s with high availability %s: warned %v", store, ha, said)
			}
		}
	}
}

// The default of the list of monitors is preemption.
func TestMonitorRefusal(t *testing.T) {
	const enable, policies, capacity = rm + "scheduler.monitor.enable", rm + "scheduler.monitor.policies", schedulerPackage + "capacity."
	for _, c := range []struct {
		enable, list string
		refused      int
		blamed       string
		want         Monitors
	}{
		{"false", "", 0, "", Monitors{}},
		{"false", capacity + "AutoCreatedQueueDeletionPolicy", 0, "", Monitors{}},
		{"true", "", 0, "", Monitors{Preempt: true}},
		{"true", preemptionPolicy, 0, "", Monitors{Preempt: true}},
		{"false", preemptionPolicy, 0, "", Monitors{}},
		{"true", capacity + "QueueConfigurationAutoRefreshPolicy", 0, "", Monitors{Refresh: true}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy", 0, "", Monitors{DeleteQueues: true}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy , " + capacity + "QueueManagementDynamicEditPolicy", 0, "", Monitors{DeleteQueues: true, ShareOut: true}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy,com.example.Policy", 1, policies, Monitors{DeleteQueues: true}},
	} {
		set := []string{enable, c.enable}
		if c.list != "" {
			set = append(set, policies, c.list)
		}
		p := overrides(t, set...)
		if no, odd := split(UnsupportedByResourceManager(p)); len(no) != c.refused || len(no) == 1 && no[0].Name != c.blamed || len(odd) != 0 {
			t.Errorf("%v: refused %v, odd %v", set, no, odd)
		}
		c.want.ShareEvery = 1500 * time.Millisecond
		if s, err := ReadResourceManager(p); err != nil || s.Monitors != c.want {
			t.Errorf("%v: %+v, %v", set, s.Monitors, err)
		}
	}
}

func TestNodeLabelsRefusal(t *testing.T) {
	const enabled, kind = "yarn.node-labels.enabled", "yarn.node-labels.configuration-type"
	for _, c := range []struct {
		enabled, kind string
		refused       int
	}{{"false", "delegated-centralized", 0}, {"true", "distributed", 0}, {" TRUE ", "delegated-centralized", 1}, {"true", "nonsense", 1}, {"true", "centralized", 0}, {"true", "", 0}} {
		set := []string{enabled, c.enabled}
		if c.kind != "" {
			set = append(set, kind, c.kind)
		}
		if no, _ := split(UnsupportedByResourceManager(overrides(t, set...))); len(no) != c.refused || len(no) == 1 && no[0].Name != kind {
			t.Errorf("%v: %v", set, no)
		}
	}
}

func TestStateStoreRefusal(t *testing.T) {
	zk := recoveryPackage + "ZKRMStateStore"
	if no, _ := split(UnsupportedByResourceManager(overrides(t, rm+"store.class", zk))); len(no) != 0 {
		t.Errorf("without recovery the class is not used: %v", no)
	}
	for class, want := range map[string]int{zk: 0, recoveryPackage + "LeveldbRMStateStore": 1, recoveryPackage + "FileSystemRMStateStore": 0,
		"com.example.Store": 1, recoveryPackage + "MemoryRMStateStore": 0, "bolt": 0} {
		if no, _ := split(UnsupportedByResourceManager(overrides(t, rm+"recovery.enabled", "true", rm+"store.class", class))); len(no) != want {
			t.Errorf("%s: %v", class, no)
		}
	}
	for _, c := range []struct {
		name, value, class string
		want               int
	}{
		{rm + "fs.state-store.uri", "s3a://b/x", "FileSystemRMStateStore", 1}, {rm + "fs.state-store.uri", "hdfs://b/x", "FileSystemRMStateStore", 0},
		{rm + "fs.state-store.uri", "/a:b", "FileSystemRMStateStore", 0}, {rm + "fs.state-store.uri", "s3a://b/x", "ZKRMStateStore", 0},
		{"hadoop.zk.ssl.enabled", "true", "ZKRMStateStore", 1}, {rm + "zk-client-ssl.enabled", "true", "ZKRMStateStore", 1},
		{"hadoop.zk.kerberos.principal", "rm/_HOST@X", "ZKRMStateStore", 1}, {"hadoop.zk.ssl.enabled", "true", "FileSystemRMStateStore", 0},
	} {
		no, _ := split(UnsupportedByResourceManager(overrides(t, rm+"recovery.enabled", "true", rm+"store.class", recoveryPackage+c.class, c.name, c.value)))
		if len(no) != c.want {
			t.Errorf("%+v: %v", c, no)
		}
	}
	for _, c := range []struct {
		set  []string
		want int
	}{
		{nil, 0}, {[]string{"yarn.scheduler.configuration.store.class", "zk"}, 1}, {[]string{"yarn.scheduler.configuration.store.class", "fs"}, 0},
		{[]string{rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2"}, 1},
		{[]string{rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2", rm + "ha.automatic-failover.enabled", "false"}, 0},
		{[]string{rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2,rm3", rm + "recovery.enabled", "true", rm + "store.class", "heddle.raft"}, 0},
	} {
		for _, secure := range [][2]string{{"hadoop.zk.ssl.enabled", "true"}, {"hadoop.zk.kerberos.principal", "rm/_HOST@X"}, {"hadoop.zk.kerberos.keytab", "/k"}} {
			no, _ := split(UnsupportedByResourceManager(overrides(t, append(slices.Clone(c.set), secure[0], secure[1])...)))
			if len(no) != c.want {
				t.Errorf("%s with %v: %v", secure[0], c.set, no)
			}
		}
	}
	if no, _ := split(UnsupportedByResourceManager(overrides(t, rm+"recovery.enabled", "true"))); len(no) != 0 {
		t.Errorf("recovery with the built-in store: %v", no)
	}
}

// TestReservationsRefusal: each scheduler has its own classes, and the FifoScheduler has none.
func TestReservationsRefusal(t *testing.T) {
	system, follower := rm+"reservation-system.class", rm+"reservation-system.plan.follower"
	for _, c := range []struct {
		scheduler, name, value, blamed string
	}{
		{"", system, "CapacityReservationSystem", ""},
		{"capacity", follower, "CapacitySchedulerPlanFollower", ""},
		{"capacity", system, "FairReservationSystem", system},
		{"capacity", follower, "FairSchedulerPlanFollower", follower},
		{"fair", system, "FairReservationSystem", ""},
		{schedulerPackage + "fair.FairScheduler", follower, "FairSchedulerPlanFollower", ""},
		{schedulerPackage + "fair.FairScheduler", system, "CapacityReservationSystem", system},
		{schedulerPackage + "fair.FairScheduler", follower, "Mine", follower},
		{schedulerPackage + "fifo.FifoScheduler", "", "", rm + "scheduler.class"},
	} {
		set := []string{rm + "reservation-system.enable", "true"}
		if c.scheduler != "" {
			set = append(set, rm+"scheduler.class", c.scheduler)
		}
		if c.name != "" {
			set = append(set, c.name, reservationPackage+c.value)
		}
		no, _ := split(UnsupportedByResourceManager(overrides(t, set...)))
		if c.blamed == "" && len(no) > 0 || c.blamed != "" && (len(no) != 1 || no[0].Name != c.blamed) {
			t.Errorf("%v: %v", set, no)
		}
		set[1] = "false"
		if no, _ := split(UnsupportedByResourceManager(overrides(t, set...))); len(no) > 0 {
			t.Errorf("%v: nobody reserves: %v", set, no)
		}
	}
}

// TestUnread names what nobody reads, once, with its place and a suggestion.
func TestUnread(t *testing.T) {
	p := mustLoad(t, site(map[string]string{"yarn-site.xml": `<configuration>
<property name="yarn.resourcemanager.hostnam" value="rm1"/>
<property name="yarn.resourcemanager.hostname" value="rm1"/>
<property name="yarn.nodemanager.vmem-check-enabled" value="false"/>
<property name="yarn.scheduler.capacity.root.queues" value="a"/>
<property name="yarn.webapp.ui2.enable" value="true"/>
<property name="yarn.resourcemanager.metrics.runtime.buckets" value="1"/>
<property name="site.own" value="x"/>
<property name="yarn.log-aggregation-enable" value="true"/>
</configuration>`}))
	no, odd := split(UnsupportedByResourceManager(p))
	var got []string
	for _, f := range append(no, odd...) {
		got = append(got, f.String())
	}
	want := []string{
		`yarn-site.xml:2:1: yarn.resourcemanager.hostnam = "rm1": property not read: it has no effect; did you mean yarn.resourcemanager.hostname?`,
		`yarn-site.xml:6:1: yarn.webapp.ui2.enable = "true": web interface 2: it is served where its war or folder is found, and the built-in interface always; set it to false`,
		`yarn-site.xml:8:1: site.own = "x": property not read: it has no effect`,
		`yarn-site.xml:7:1: yarn.resourcemanager.metrics.runtime.buckets = "1": property not read: it has no effect`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"yarn.acl.enabled":                "yarn.acl.enable",
		"yarn.resourcemanager.adress":     "yarn.resourcemanager.address",
		"yarn.resourcemanager.clusterid":  "yarn.resourcemanager.cluster-id",
		"something.quite.different":       "",
		"yarn.scheduler.minimum-alloc-mb": "",
	} {
		if got := Nearest(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestRowsAreKnown catches misspelt names in the tables.
func TestRowsAreKnown(t *testing.T) {
	codeOnly := []string{rm + "ha.curator-leader-elector.enabled", "yarn.authorization-provider", "hadoop.registry.rm.enabled", rm + "epoch", rm + "am-scheduling.node-blacklisting-enabled",
		nm + "resource.cpu.enabled", nm + "resource.disk.enabled", nm + "resource.network.enabled", "mapreduce.shuffle.ssl.enabled"}
	for _, table := range [][]missing{missingEverywhere, missingResourceManager, missingNodeManager} {
		for _, row := range table {
			for _, name := range []string{row.name, row.with} {
				if name != "" && !known(name) && !slices.Contains(codeOnly, name) {
					t.Errorf("%s is in no default file", name)
				}
			}
			if row.feature == "" || row.reason == "" {
				t.Errorf("%s says too little", row.name)
			}
		}
	}
}

// asking are values that ask for what the rows of a property are about, where
// neither true nor a Java class does.
var asking = map[string]string{
	"hadoop.security.authentication": "kerberos", "hadoop.rpc.protection": "privacy", rm + "epoch": "2",
	nm + "resource.percentage-physical-cpu-limit": "80", rm + "ha.automatic-failover.embedded": "false",
	rm + "fs.state-store.uri": "s3a://bucket/store",
}

// also is what else has to be set.
var also = map[string][]string{
	rm + "fs.state-store.uri": {rm + "store.class", "filesystem"}, "hadoop.zk.ssl.enabled": {"yarn.scheduler.configuration.store.class", "zk"},
	rm + "zk-client-ssl.enabled":   {rm + "store.class", "zookeeper", rm + "recovery.enabled", "true"},
	"hadoop.zk.kerberos.principal": {rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2", rm + "store.class", "zookeeper", rm + "recovery.enabled", "true"},
	"hadoop.zk.kerberos.keytab":    {"yarn.scheduler.configuration.store.class", "zk"},
}

// TestEveryRowTellsTheWayOn: whoever meets a row is told what to do, and has done with it by doing so.
func TestEveryRowTellsTheWayOn(t *testing.T) {
	for _, daemon := range []struct {
		judge  func(*Properties) Findings
		tables [][]missing
	}{
		{UnsupportedByResourceManager, [][]missing{missingEverywhere, missingResourceManager, ofDistributions}},
		{UnsupportedByNodeManager, [][]missing{missingEverywhere, missingNodeManager}},
	} {
		of := func(row missing, set ...string) Findings {
			return slices.DeleteFunc(daemon.judge(overrides(t, set...)), func(f Finding) bool { return f.Feature != row.feature || f.Reason != row.reason })
		}
		for _, table := range daemon.tables {
			for _, row := range table {
				with := slices.Clone(also[row.name])
				if row.with != "" {
					with = append(with, row.with, "true")
				}
				var met Findings
				for _, value := range []string{asking[row.name], "true", "com.example.Foreign", "TFile,com.example.Foreign", "com.example.Foreign,TFile"} {
					if met = of(row, append(with, row.name, value)...); len(met) > 0 {
						break
					}
				}
				if len(met) != 1 || met[0].Name != row.name || met[0].Severity != row.severity || met[0].Origin.File != "command line" {
					t.Errorf("%s: found %v", row.name, met)
					continue
				}
				if want := "set it to " + row.instead; row.instead != "" && !strings.HasPrefix(met[0].Advice, want) || row.instead == "" && !strings.HasPrefix(met[0].Advice, "remove it") {
					t.Errorf("%s: what to set is not told: %q", row.name, met[0].Advice)
				}
				if after := of(row, append(with, row.name, row.instead)...); row.instead != "" && len(after) > 0 {
					t.Errorf("%s: the advice was followed, and it is still refused: %v", row.name, after)
				}
				if row.with != "" {
					if after := of(row, row.with, "false", row.name, met[0].Value); len(after) > 0 {
						t.Errorf("%s: %s was set to false, and it is still refused: %v", row.name, row.with, after)
					}
				}
				if after := of(row, with...); len(after) > 0 && (after[0].Name != row.with || !strings.HasPrefix(after[0].Advice, "set it to false")) {
					t.Errorf("%s: nobody has set it, and it is blamed: %v", row.name, after)
				}
			}
		}
	}
}

// TestBlame: the message has the property with its file and line, and says what to do.
func TestBlame(t *testing.T) {
	p := mustLoad(t, site(map[string]string{"yarn-site.xml": "<configuration>\n<property name=\"yarn.resourcemanager.scheduler.monitor.enable\" value=\"true\"/>\n" +
		"<property name=\"yarn.resourcemanager.scheduler.monitor.policies\" value=\"x.Y\"/>\n</configuration>"}))
	got := UnsupportedByResourceManager(p)
	if len(got) != 1 || !strings.HasPrefix(got[0].String(), `yarn-site.xml:3:1: yarn.resourcemanager.scheduler.monitor.policies = "x.Y": scheduler monitors: what the class does to queues would not be done`) ||
		!strings.Contains(got[0].String(), "; set it to "+preemptionPolicy+", or set yarn.resourcemanager.scheduler.monitor.enable to false; ") {
		t.Error(got)
	}
}

// TestAddressesOfIds: without high availability Hadoop does not read what belongs to a single ResourceManager's id, and neither daemon
// is silent about it.
func TestAddressesOfIds(t *testing.T) {
	set := []string{rm + "ha.enabled", "false", rm + "ha.rm-ids", "rm1,rm2", rm + "ha.id", "rm1", rm + "hostname", "one", rm + "hostname.rm1", "one", rm + "hostname.rm2", "two",
		rm + "address.rm1", "one:18032", rm + "scheduler.address.rm1", "one:8030"}
	p := overrides(t, set...)
	if s, err := ReadResourceManager(p); err != nil || s.Client.Address.String() != "one:8032" {
		t.Errorf("%+v %v", s.Client, err)
	}
	for _, judge := range []func(*Properties) Findings{UnsupportedByResourceManager, UnsupportedByNodeManager} {
		found := judge(p)
		var got []string
		for _, f := range append(found.Of(Refused), found.Of(Changed)...) {
			got = append(got, f.Name+": "+f.Advice)
		}
		want := []string{rm + "hostname.rm2: if this is the one ResourceManager, set " + rm + "hostname to two", rm + "address.rm1: if this is the one ResourceManager, set " + rm + "address to one:18032"}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	set[1] = "true"
	if found := UnsupportedByNodeManager(overrides(t, set...)); len(found) != 0 {
		t.Errorf("with high availability they are read: %v", found)
	}
}

// TestReport: what stops a start is the error, what changes something has a line of its own, the rest is counted.
func TestReport(t *testing.T) {
	p := mustLoad(t, site(map[string]string{"yarn-site.xml": `<configuration>
<property name="yarn.webapp.ui2.enable" value="true"/>
<property name="site.own" value="x"/>
<property name="fs.default.name" value="file:///"/>
<property name="yarn.system-metrics-publisher.enabled" value="true"/>
<property name="yarn.federation.enabled" value="true"/>
<property><name>yarn.acl.enable</name><value></value></property>
</configuration>`}))
	var warned, told []string
	err := UnsupportedByResourceManager(p).Report("/etc/hadoop/conf", func(l string) { warned = append(warned, l) }, func(l string) { told = append(told, l) })
	if err == nil || !strings.Contains(err.Error(), "yarn-site.xml:6:1: yarn.federation.enabled") || strings.Count(err.Error(), "\n") != 1 {
		t.Error(err)
	}
	if len(warned) != 2 || !strings.HasPrefix(warned[0], "yarn-site.xml:7:39: yarn.acl.enable = \"\": an empty value") || !strings.HasPrefix(warned[1], "yarn-site.xml:5:1:") {
		t.Errorf("%q", warned)
	}
	if want := []string{"settings that make no difference here: 3; yarn --config /etc/hadoop/conf conf -lint lists them"}; !slices.Equal(told, want) {
		t.Errorf("%q", told)
	}
}

// TestCrossOrigin: as in Hadoop it takes the filter and a switch.
func TestCrossOrigin(t *testing.T) {
	const filters, shared, origins = "hadoop.http.filter.initializers", "hadoop.http.cross-origin.enabled", "hadoop.http.cross-origin.allowed-origins"
	for _, c := range []struct {
		set    []string
		rm, nm bool
	}{
		{nil, false, false},
		{[]string{filters, "a.B, " + crossOriginFilter, shared, "true"}, true, true},
		{[]string{filters, crossOriginFilter}, false, false},
		{[]string{filters, crossOriginFilter, rm + "webapp.cross-origin.enabled", "true"}, true, false},
		{[]string{filters, crossOriginFilter, nm + "webapp.cross-origin.enabled", "true"}, false, true},
		{[]string{shared, "true", rm + "webapp.cross-origin.enabled", "true"}, false, false},
	} {
		p := overrides(t, append(c.set, origins, "https://a , regex:b.*")...)
		r, err := ReadResourceManager(p)
		if err != nil {
			t.Fatal(err)
		}
		n, err := ReadNodeManager(nodeProperties(t, append(c.set, origins, "https://a , regex:b.*")...))
		if err != nil {
			t.Fatal(err)
		}
		for _, got := range []struct {
			x  CrossOrigin
			on bool
		}{{r.Web.CrossOrigin, c.rm}, {n.Web.CrossOrigin, c.nm}} {
			want := CrossOrigin{}
			if got.on {
				want = CrossOrigin{[]string{"https://a", "regex:b.*"}, []string{"GET", "POST", "HEAD"}, []string{"X-Requested-With", "Content-Type", "Accept", "Origin"}, 30 * time.Minute}
			}
			if !reflect.DeepEqual(got.x, want) {
				t.Errorf("%v: %+v", c.set, got.x)
			}
		}
	}
	if _, err := ReadResourceManager(overrides(t, origins, "regex:(?=a)")); err == nil || !strings.Contains(err.Error(), "look-around") {
		t.Error(err)
	}
}

// What a refresh of the lists of nodes reads is not said to have no effect.
func TestListsOfNodesAreRead(t *testing.T) {
	for _, name := range []string{rm + "nodes.include-path", rm + "nodes.exclude-path", rm + "nodemanager-graceful-decommission-timeout-secs"} {
		if all := UnsupportedByResourceManager(overrides(t, name, "60")); len(all) != 0 {
			t.Errorf("%s: %v", name, all)
		}
	}
	if all := UnsupportedByResourceManager(overrides(t, rm+"node-ip-cache.expiry-interval-secs", "60")).Of(Ignored); len(all) != 1 {
		t.Errorf("a cache that there is not: %v", all)
	}
}

// With the FairScheduler a property of its own that nothing reads is named, with the one that it resembles; those that it reads are not.
func TestPropertiesOfTheFairScheduler(t *testing.T) {
	const class = rm + "scheduler.class"
	read := []string{class, schedulerPackage + "fair.FairScheduler", "yarn.scheduler.increment-allocation-mb", "512", "yarn.scheduler.fair.am.preemption.root.a", "false"}
	for _, name := range fairProperties {
		read = append(read, fairScheduler+name, "1")
	}
	if got := UnsupportedByResourceManager(overrides(t, read...)); len(got) != 0 {
		t.Errorf("%v", got)
	}
	odd := []string{class, read[1], "yarn.scheduler.fair.asignmultiple", "true"}
	if got := UnsupportedByResourceManager(overrides(t, odd...)); len(got) != 1 || got[0].Name != odd[2] || got[0].Advice != "did you mean yarn.scheduler.fair.assignmultiple?" {
		t.Errorf("%v", got)
	}
	if got := UnsupportedByResourceManager(overrides(t, odd[2:]...)); len(got) != 0 {
		t.Errorf("without the FairScheduler: %v", got)
	}
}
