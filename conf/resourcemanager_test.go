package conf

import (
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

// settings reads name, value pairs over the defaults.
func settings(t *testing.T, pairs ...string) *ResourceManager {
	t.Helper()
	s, err := ReadResourceManager(overrides(t, pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func overrides(t *testing.T, pairs ...string) *Properties {
	t.Helper()
	o := site(nil)
	for i := 0; i < len(pairs); i += 2 {
		o.Overrides = append(o.Overrides, Override{pairs[i], pairs[i+1]})
	}
	return mustLoad(t, o)
}

// TestDefaultsAgree compares the defaults written in code with Hadoop's files.
func TestDefaultsAgree(t *testing.T) {
	empty := mustLoad(t, Options{NoDefaults: true})
	inCode, err := ReadResourceManager(empty)
	if err != nil {
		t.Fatal(err)
	}
	inFiles, err := ReadResourceManager(shippedDefaults())
	if err != nil {
		t.Fatal(err)
	}
	inCode.Recovery.Directory = inFiles.Recovery.Directory                   // needs hadoop.tmp.dir
	inCode.Recovery.Path = inFiles.Recovery.Path                             // needs hadoop.tmp.dir
	inCode.QueueConf.Path = inFiles.QueueConf.Path                           // likewise
	inCode.QueueConf.Directory = inFiles.QueueConf.Directory                 // likewise
	inCode.Web.SignatureSecretFile = inFiles.Web.SignatureSecretFile         // needs user.home
	inCode.Web.Introspection.Sensitive = inFiles.Web.Introspection.Sensitive // a long list; what is always secret is in code
	if !reflect.DeepEqual(inCode, inFiles) {
		t.Errorf("code  %+v\nfiles %+v", inCode, inFiles)
	}
}

// TestNamesAreKnown catches misspelt property names: all but these are in
// Hadoop's default files.
func TestNamesAreKnown(t *testing.T) {
	only := map[string]string{
		"yarn.webapp.heddle.anonymous-writes":                            "ours",
		"yarn.resourcemanager.heddle.state-store.path":                   "ours",
		"yarn.resourcemanager.heddle.ui.address":                         "ours",
		"yarn.resourcemanager.heddle.zk-max-request-bytes":               "ours",
		"yarn.resourcemanager.heddle.black-box.bytes":                    "ours",
		"yarn.resourcemanager.heddle.configuration-history.path":         "ours",
		"yarn.resourcemanager.heddle.black-box.record":                   "ours",
		"yarn.resourcemanager.heddle.black-box.record-bytes":             "ours",
		"yarn.resourcemanager.webapp.methods-allowed":                    "Dataproc's",
		"yarn.resourcemanager.webapp.rest-csrf.browser-useragents-regex": "code only",
		rm + "monitor.capacity.queue-management.monitoring-interval":     "code only",
		rm + "reservation-system.favor-early-allocation":                 "code only",
		rm + "reservation-system.max-periodicity":                        "code only",
		rm + "reservation-system.smoothness-factor":                      "code only",
	}
	r := NewReader(shippedDefaults())
	readResourceManager(r)
	for _, name := range r.Asked() {
		if !known(name) && only[name] == "" {
			t.Errorf("%s is in no default file", name)
		}
	}
	if len(r.Asked()) < 60 {
		t.Errorf("only %d names are read", len(r.Asked()))
	}
}

func TestAddresses(t *testing.T) {
	s := settings(t,
		"yarn.resourcemanager.hostname", "rm1",
		"yarn.resourcemanager.bind-host", "0.0.0.0",
		"yarn.resourcemanager.admin.address", "rm2:9033",
		"yarn.resourcemanager.webapp.address", "rm3",
		"yarn.web-proxy.address", "proxy",
	)
	for _, c := range []struct {
		got  Address
		want string
	}{
		{s.Client.Address, "rm1:8032"}, {s.Client.Bind, "0.0.0.0:8032"},
		{s.Master.Address, "rm1:8030"}, {s.Tracker.Address, "rm1:8031"},
		{s.Admin.Address, "rm2:9033"}, {s.Admin.Bind, "0.0.0.0:9033"},
		{s.Web.Address, "rm3:8088"}, {s.Web.Bind, "0.0.0.0:8088"},
		{s.Web.Proxy, "proxy:9099"},
	} {
		if c.got.String() != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	if !(Address{"127.0.0.9", 1}).Loopback() || !(Address{"::1", 1}).Loopback() || (Address{"rm1", 1}).Loopback() {
		t.Error("Loopback")
	}
}

func TestAddressesOfIPv6(t *testing.T) {
	for text, want := range map[string]string{"[::1]:9": "[::1]:9", "[2001:db8::5]": "[2001:db8::5]:1", "::1:8032": "[::1]:8032", "2001:db8::5:8032": "[2001:db8::5]:8032",
		"2001:db8:0:0:0:0:0:5:8032": "[2001:db8::5]:8032", "::1": "[::1]:1", "2001:db8::1:abcd": "[2001:db8::1:abcd]:1", "http://::1:8088/x": "[::1]:8088",
		"::1:99999": "", "a::1:2": "[a::1]:2", "a:b:1": "", "::1:": "[::1]:1", "[::1": "", "1::2::3": ""} {
		got, ok := ParseAddress(text, 1)
		if ok != (want != "") || ok && net.JoinHostPort(net.ParseIP(got.Host).String(), strconv.Itoa(got.Port)) != want {
			t.Errorf("%s: %s %t, want %s", text, got, ok, want)
		}
	}
}

func TestDurationsAndLimits(t *testing.T) {
	s := settings(t,
		"yarn.am.liveness-monitor.expiry-interval-ms", "10m",
		"yarn.nm.liveness-monitor.expiry-interval-ms", "60000",
		"yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs", "181",
		"yarn.resourcemanager.max-completed-applications", "5",
		"yarn.resourcemanager.am.max-attempts", "4",
		"yarn.webapp.xfs-filter.enabled", "FALSE",
	)
	if s.Applications.MasterExpiry != 10*time.Minute || s.Nodes.Expiry != time.Minute {
		t.Errorf("expiries %v %v", s.Applications.MasterExpiry, s.Nodes.Expiry)
	}
	if s.Tokens.ContainerKeyRolling != 181*time.Second {
		t.Errorf("%v", s.Tokens.ContainerKeyRolling)
	}
	if s.Applications.MaxCompleted != 5 || s.Applications.GlobalMaxAttempts != 4 {
		t.Errorf("%+v", s.Applications)
	}
	if s.Web.FrameOptions != "" {
		t.Errorf("%+v", s.Web)
	}
}

// TestPrometheus: the endpoint is there unless somebody takes it away.
func TestPrometheus(t *testing.T) {
	const name = "hadoop.prometheus.endpoint.enabled"
	if on := settings(t).Web.Introspection; !on.Prometheus || len(on.Sensitive) < 20 {
		t.Errorf("%+v", on)
	}
	if settings(t, name, "false").Web.Introspection.Prometheus {
		t.Error("it was switched off")
	}
}

func TestRecoveryStore(t *testing.T) {
	if s := settings(t, "yarn.resourcemanager.recovery.enabled", "true", "hadoop.tmp.dir", "/d").Recovery; s.Store != "bolt" || s.Path != "/d/yarn/system/rmstore.bolt" {
		t.Errorf("%+v", s)
	}
	if s := settings(t, "yarn.resourcemanager.store.class", recoveryPackage+"MemoryRMStateStore").Recovery; s.Store != "memory" {
		t.Errorf("%+v", s)
	}
}

func TestSecurity(t *testing.T) {
	s := settings(t,
		"hadoop.user.group.static.mapping.overrides", "alice=dev, ops;bob=;carol",
		"hadoop.proxyuser.oozie.server.hosts", "10.0.0.0/8, h1 ,192.168.1.1,::1",
		"hadoop.proxyuser.oozie.server.groups", "users",
		"hadoop.proxyuser.livy.users", "*",
		"hadoop.proxyuser.hue.hosts", "*",
		"yarn.resourcemanager.proxyuser.hue.users", "alice",
		"yarn.admin.acl", " ops",
		"hadoop.security.group.mapping", securityPackage+"ShellBasedUnixGroupsMapping",
	).Security
	if want := map[string][]string{"alice": {"dev", "ops"}, "bob": nil, "carol": nil}; !reflect.DeepEqual(s.StaticGroups, want) {
		t.Errorf("static groups %v", s.StaticGroups)
	}
	if len(s.ProxyUsers) != 3 || s.GroupMapping != "shell" {
		t.Fatalf("%+v", s)
	}
	hue, livy, oozie := s.ProxyUsers[0], s.ProxyUsers[1], s.ProxyUsers[2]
	if !hue.Hosts.All || !slices.Equal(hue.Allowed.Users(), []string{"alice"}) {
		t.Errorf("hue %+v", hue)
	}
	if !livy.Allowed.All() || livy.Hosts.Contains(netip.MustParseAddr("127.0.0.1")) {
		t.Errorf("livy has no hosts and must be let in from nowhere: %+v", livy)
	}
	if oozie.User != "oozie.server" || !slices.Equal(oozie.Hosts.Names, []string{"h1"}) || !slices.Equal(oozie.Allowed.Groups(), []string{"users"}) {
		t.Errorf("oozie %+v", oozie)
	}
	for addr, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "192.168.1.1": true, "192.168.1.2": false, "::1": true} {
		if got := oozie.Hosts.Contains(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

func TestTopologyWords(t *testing.T) {
	if s := settings(t, "net.topology.node.switch.mapping.impl", netPackage+"TableMapping", "net.topology.table.file.name", "/t").Topology; s.Mapping != "table" || s.Table != "/t" {
		t.Errorf("%+v", s)
	}
	if s := settings(t, "topology.script.file.name", "/s").Topology; s.Mapping != "script" || s.Script != "/s" {
		t.Errorf("%+v", s)
	}
}

func TestOpportunistic(t *testing.T) {
	const queuing = rm + "nm-container-queuing."
	s := settings(t, rm+"opportunistic-container-allocation.enabled", "true", queuing+"load-comparator", "QUEUE_WAIT_TIME", queuing+"max-queue-wait-time-ms", "70")
	if o := s.Opportunistic; !o.Enabled || o.Nodes != 10 || o.PerHeartbeat != -1 || o.Order != time.Second || o.Deviations != 1 || o.Lowest != 10 || o.Highest != 70 {
		t.Errorf("%+v", o)
	}
	for name, value := range map[string]string{rm + "opportunistic-container-allocation.nodes-used": "0", queuing + "load-comparator": "QUEUE", queuing + "sorting-nodes-interval-ms": "0",
		queuing + "queue-limit-stdev": "-1", queuing + "max-queue-length": "-1", rm + "opportunistic.max.container-allocation.per.am.heartbeat": "-2"} {
		if _, err := ReadResourceManager(overrides(t, name, value)); err == nil {
			t.Errorf("%s=%s was accepted", name, value)
		}
	}
}
