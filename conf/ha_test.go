package conf

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// pair is a configuration of two ResourceManagers, changed.
func pair(t *testing.T, changes ...string) *Properties {
	t.Helper()
	return overrides(t, append([]string{rm + "ha.enabled", "true", rm + "ha.rm-ids", "rm1,rm2", rm + "ha.id", "rm2", rm + "cluster-id", "c", rm + "zk-address", "zk:2181",
		rm + "hostname.rm1", "one", rm + "hostname.rm2", "two"}, changes...)...)
}

// Every listener is the one of the own id; what has no id is not looked at.
func TestAddressesOfOwnID(t *testing.T) {
	s, err := ReadResourceManager(pair(t, rm+"address", "zero:1", rm+"hostname", "zero", rm+"admin.address.rm2", "two:18033", rm+"bind-host", "0.0.0.0", rm+"webapp.address.rm1", "web:88"))
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name string
		got  Endpoint
		want string
	}{
		{"client", s.Client, "two:8032"}, {"scheduler", s.Master, "two:8030"}, {"tracker", s.Tracker, "two:8031"}, {"admin", s.Admin, "two:18033"}, {"web", s.Web.Endpoint, "two:8088"},
	} {
		if x.got.Address.String() != x.want || x.got.Bind.Host != "0.0.0.0" {
			t.Errorf("%s: %v", x.name, x.got)
		}
	}
	want := []Peer{{"rm1", Address{"one", 8033}, Address{"web", 88}}, {"rm2", Address{"two", 18033}, Address{"two", 8088}}}
	if h := s.HA; !h.Enabled || h.ID != "rm2" || !slices.Equal(h.Peers, want) || !h.Automatic || !h.Elects || h.BasePath != "/yarn-leader-election" {
		t.Errorf("%+v", h)
	}
	manual, err := ReadResourceManager(pair(t, rm+"ha.automatic-failover.enabled", "false", rm+"zk-address", "", rm+"cluster-id", ""))
	if err != nil || manual.HA.Automatic || manual.HA.Elects {
		t.Errorf("%+v %v", manual.HA, err)
	}
	external, err := ReadResourceManager(pair(t, rm+"ha.automatic-failover.embedded", "false", rm+"zk-address", ""))
	if err != nil || !external.HA.Automatic || external.HA.Elects {
		t.Errorf("%+v %v", external.HA, err)
	}
}

// Without an id the one is taken whose host is this machine.
func TestOwnIDByMachine(t *testing.T) {
	for _, c := range []struct {
		here []string
		want string
		text string
	}{
		{[]string{"one"}, "rm1", ""},
		{[]string{"two", "three"}, "rm2", ""},
		{nil, "", "none of yarn.resourcemanager.ha.rm-ids"},
		{[]string{"one", "two"}, "", "several of yarn.resourcemanager.ha.rm-ids have an address of this machine (rm1, rm2)"},
	} {
		o := site(nil)
		o.Local = func(host string) bool { return slices.Contains(c.here, host) }
		for _, v := range pair(t, rm+"ha.id", "").Explicit() {
			o.Overrides = append(o.Overrides, Override{v.Name, v.Raw})
		}
		s, err := ReadResourceManager(mustLoad(t, o))
		switch {
		case c.text == "" && (err != nil || s.HA.ID != c.want):
			t.Errorf("%v: %+v %v", c.here, s, err)
		case c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)):
			t.Errorf("%v: %v", c.here, err)
		}
	}
}

// TestBadPairs: a start names what is wrong.
func TestBadPairs(t *testing.T) {
	for _, c := range []struct{ name, value, text string }{
		{rm + "ha.rm-ids", "rm2", "1 ids, want 2 to 32"},
		{rm + "ha.rm-ids", "", "0 ids, want 2 to 32"},
		{rm + "ha.id", "rm3", "is none of yarn.resourcemanager.ha.rm-ids (rm1, rm2)"},
		{rm + "hostname.rm1", "", rm + "scheduler.address.rm1"},
		{rm + "cluster-id", "", "the election needs it"},
		{rm + "cluster-id", "a/b", "must not have a slash"},
		{rm + "zk-address", "", "neither is hadoop.zk.address"},
		{rm + "ha.automatic-failover.zk-base-path", "election", "must be a path"},
	} {
		_, err := ReadResourceManager(pair(t, c.name, c.value))
		if err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s=%s: %v", c.name, c.value, err)
		}
	}
}

// What a pair of ResourceManagers would lose is told, or refused.
func TestStoresOfPairs(t *testing.T) {
	for _, c := range []struct {
		changes []string
		refused bool
		feature string
	}{
		{nil, false, "failover without recovery"},
		{[]string{rm + "recovery.enabled", "true"}, true, "a store for each ResourceManager"},
		{[]string{rm + "recovery.enabled", "true", rm + "store.class", recoveryPackage + "MemoryRMStateStore"}, true, "a store for each ResourceManager"},
		{[]string{rm + "recovery.enabled", "true", rm + "ha.enabled", "false"}, false, ""},
	} {
		refused, rest := split(UnsupportedByResourceManager(pair(t, c.changes...)))
		all := append(slices.Clone(refused), rest...)
		if c.feature != "" && !slices.ContainsFunc(all, func(f Finding) bool { return f.Feature == c.feature }) || c.feature == "" && len(refused) > 0 || (len(refused) > 0) != c.refused {
			t.Errorf("%v: %v", c.changes, all)
		}
	}
	if refused, _ := split(UnsupportedByResourceManager(pair(t))); len(refused) > 0 {
		t.Errorf("%v", refused)
	}
}

// A store that the ResourceManagers keep together elects one of them; no ZooKeeper is looked for.
func TestRaft(t *testing.T) {
	three := []string{rm + "ha.rm-ids", "rm1,rm2,rm3", rm + "hostname.rm3", "three", rm + "zk-address", "", rm + "cluster-id", "", rm + "recovery.enabled", "true", rm + "store.class", raftClass,
		rm + "heddle.raft.secret-file", "/s", rm + "heddle.raft.address.rm3", "four:1", rm + "bind-host", "0.0.0.0"}
	s, err := ReadResourceManager(pair(t, three...))
	if err != nil {
		t.Fatal(err)
	}
	want := []Member{{"rm1", Address{"one", 8034}}, {"rm2", Address{"two", 8034}}, {"rm3", Address{"four", 1}}}
	if r := s.HA.Raft; !r.Enabled || !s.HA.Elects || !slices.Equal(r.Peers, want) || r.Listen.String() != "0.0.0.0:8034" || r.Secret != "/s" || r.Timeout != 2*time.Second || !strings.HasSuffix(r.Path, "/yarn/system/rmraft") {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		changes []string
		text    string
	}{
		{[]string{rm + "ha.rm-ids", "rm1,rm2"}, "two ResourceManagers could do nothing while one of them is away"},
		{[]string{rm + "heddle.raft.witnesses", "rm4"}, "rm4 is none of"}, {[]string{rm + "heddle.raft.witnesses", "rm1,rm2"}, "two of them at least"},
		{[]string{rm + "heddle.raft.secret-file", ""}, "make one with `openssl rand -hex 32`"},
		{[]string{rm + "ha.enabled", "false"}, "is a store that several ResourceManagers keep together"},
	} {
		if _, err := ReadResourceManager(pair(t, append(slices.Clone(three), c.changes...)...)); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%q: %v", c.changes, err)
		}
	}
	found := UnsupportedByResourceManager(pair(t, append(slices.Clone(three), "yarn.scheduler.configuration.store.class", "leveldb")...))
	for _, f := range found {
		if f.Severity == Refused || strings.Contains(f.Name, "raft") || strings.Contains(f.Name, "configuration.store") {
			t.Errorf("%+v", f)
		}
	}
}
