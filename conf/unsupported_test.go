package conf

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestDefaultsAreSupported(t *testing.T) {
	if no, odd := UnsupportedByResourceManager(Defaults()); len(no)+len(odd) != 0 {
		t.Errorf("ResourceManager: %v %v", no, odd)
	}
	if no, odd := UnsupportedByNodeManager(Defaults()); len(no)+len(odd) != 0 {
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
		{"scheduler", rm + "scheduler.class", schedulerPackage + "fair.FairScheduler", schedulerPackage + "capacity.CapacityScheduler"},
		{"scheduler", rm + "scheduler.class", schedulerPackage + "fifo.FifoScheduler", "capacity"},
		{"high availability", rm + "ha.enabled", "true", "false"},
		{"reservations", rm + "reservation-system.enable", "true", "false"},
		{"opportunistic containers", rm + "opportunistic-container-allocation.enabled", "true", "false"},
		{"placement constraints", rm + "placement-constraints.handler", "scheduler", "disabled"},
		{"scheduler configuration store", "yarn.scheduler.configuration.store.class", "zk", "file"},
		{"node admission", rm + "resource-tracker.nm.ip-hostname-check", "true", "false"},
		{"SASL mechanism", "hadoop.security.sasl.mechanism", "SCRAM-SHA-256", "DIGEST-MD5"},
		{"key algorithm", "hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA256", "HmacSHA1"},
		{"automatic updates", rm + "auto-update.containers", "true", "false"},
		{"correction of allocations", rm + "scheduler.autocorrect.container.allocation", "true", "false"},
		{"epochs of sub-clusters", rm + "epoch", "3", "0"},
		{"AM encryption", rm + "application-https.policy", "STRICT", "NONE"},
		{"web filters", "hadoop.http.filter.initializers", "com.example.Guard", "org.apache.hadoop.http.lib.StaticUserWebFilter"},
	} {
		no, _ := UnsupportedByResourceManager(overrides(t, c.name, c.on))
		if len(no) != 1 || no[0].Feature != c.feature || no[0].Name != c.name {
			t.Errorf("%s=%s: %v", c.name, c.on, no)
		}
		if no, _ := UnsupportedByResourceManager(overrides(t, c.name, c.off)); len(no) != 0 {
			t.Errorf("%s=%s: %v", c.name, c.off, no)
		}
	}
}

// The default of the list of monitors is preemption, which is not built.
func TestMonitorRefusal(t *testing.T) {
	const policies, capacity = rm + "scheduler.monitor.policies", schedulerPackage + "capacity."
	for _, c := range []struct {
		enable, list string
		refused      int
		want         Monitors
	}{
		{"false", "", 0, Monitors{}},
		{"false", capacity + "AutoCreatedQueueDeletionPolicy", 0, Monitors{}},
		{"true", "", 1, Monitors{}},
		{"true", "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy", 1, Monitors{}},
		{"true", capacity + "QueueConfigurationAutoRefreshPolicy", 1, Monitors{}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy", 0, Monitors{DeleteQueues: true}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy , " + capacity + "QueueManagementDynamicEditPolicy", 0, Monitors{DeleteQueues: true, ShareOut: true}},
		{"true", capacity + "AutoCreatedQueueDeletionPolicy,com.example.Policy", 1, Monitors{DeleteQueues: true}},
	} {
		set := []string{rm + "scheduler.monitor.enable", c.enable}
		if c.list != "" {
			set = append(set, policies, c.list)
		}
		p := overrides(t, set...)
		if no, odd := UnsupportedByResourceManager(p); len(no) != c.refused || len(no) == 1 && no[0].Name != policies || len(odd) != 0 {
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
		if no, _ := UnsupportedByResourceManager(overrides(t, set...)); len(no) != c.refused || len(no) == 1 && no[0].Name != kind {
			t.Errorf("%v: %v", set, no)
		}
	}
}

func TestStateStoreRefusal(t *testing.T) {
	zk := recoveryPackage + "ZKRMStateStore"
	if no, _ := UnsupportedByResourceManager(overrides(t, rm+"store.class", zk)); len(no) != 0 {
		t.Errorf("without recovery the class is not used: %v", no)
	}
	for class, want := range map[string]int{zk: 1, recoveryPackage + "LeveldbRMStateStore": 1, recoveryPackage + "FileSystemRMStateStore": 1,
		"com.example.Store": 1, recoveryPackage + "MemoryRMStateStore": 0, "bolt": 0} {
		if no, _ := UnsupportedByResourceManager(overrides(t, rm+"recovery.enabled", "true", rm+"store.class", class)); len(no) != want {
			t.Errorf("%s: %v", class, no)
		}
	}
	if no, _ := UnsupportedByResourceManager(overrides(t, rm+"recovery.enabled", "true")); len(no) != 0 {
		t.Errorf("recovery with the built-in store: %v", no)
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
<property name="read.elsewhere" value="x"/>
</configuration>`}))
	no, odd := UnsupportedByResourceManager(p, "read.elsewhere")
	var got []string
	for _, f := range append(no, odd...) {
		got = append(got, f.String())
	}
	want := []string{
		`yarn-site.xml:6:1: yarn.webapp.ui2.enable = "true": web interface 2: the built-in interface is served`,
		`yarn-site.xml:8:1: site.own = "x": property not read: it has no effect`,
		`yarn-site.xml:2:1: yarn.resourcemanager.hostnam = "rm1": property not read: it has no effect; did you mean yarn.resourcemanager.hostname?`,
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
	codeOnly := []string{"yarn.authorization-provider", "hadoop.registry.rm.enabled", rm + "epoch", rm + "am-scheduling.node-blacklisting-enabled",
		nm + "resource.cpu.enabled", nm + "resource.disk.enabled", nm + "resource.network.enabled", "mapreduce.shuffle.ssl.enabled"}
	for _, table := range [][]missing{missingEverywhere, missingResourceManager, missingNodeManager} {
		for _, row := range table {
			if !known(row.name) && !slices.Contains(codeOnly, row.name) {
				t.Errorf("%s is in no default file", row.name)
			}
			if row.feature == "" || row.reason == "" {
				t.Errorf("%s says too little", row.name)
			}
		}
	}
}
