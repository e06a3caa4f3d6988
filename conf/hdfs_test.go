package conf

import (
	"slices"
	"strings"
	"testing"
)

func TestHDFSSite(t *testing.T) {
	file := func(name, value string) string {
		return "<configuration>\n<property name='" + name + "' value='" + value + "'/></configuration>"
	}
	o := Options{Dir: "/c", Read: memory(map[string]string{
		"/c/core-site.xml":   file("dfs.replication", "1"),
		"/c/yarn-site.xml":   "<configuration><property name='dfs.blocksize' value='64m' final='true'/></configuration>",
		"/c/hdfs-site.xml":   "<configuration>\n<property name='dfs.replication' value='2'/>\n<property name='dfs.blocksize' value='1g'/></configuration>",
		"/c/mapred-site.xml": file("mapreduce.shuffle.port", "0"),
	}), Files: []string{"mapred-site.xml"}}
	p := mustLoad(t, o)
	if v, _ := p.Lookup("dfs.replication"); v.Value != "2" || v.Origin.String() != "/c/hdfs-site.xml:2" {
		t.Errorf("%+v", v)
	}
	if v := p.Get("dfs.blocksize"); v != "64m" {
		t.Error("final of an earlier file:", v)
	}
	if got := p.Files(); !slices.Equal(got, []string{"/c/core-site.xml", "/c/yarn-site.xml", "/c/hdfs-site.xml", "/c/mapred-site.xml"}) {
		t.Error(got)
	}
	over := mustLoad(t, Options{Dir: "/c", Base: p, Overrides: []Override{{"dfs.replication", "3"}}})
	if got := over.HDFSSite(); got != "/c/hdfs-site.xml was read" || over.Get("dfs.replication") != "3" {
		t.Error(got)
	}
	if got := mustLoad(t, Options{Dir: "/d", Read: memory(nil)}).HDFSSite(); got != "/d/hdfs-site.xml does not exist" {
		t.Error(got)
	}
	if got := shippedDefaults().HDFSSite(); got != "no hdfs-site.xml was read" {
		t.Error(got)
	}
	broken := Options{Dir: "/c", Read: memory(map[string]string{"/c/hdfs-site.xml": "<configuration>\n<property>"})}
	if _, err := Load(broken); err == nil || !strings.Contains(err.Error(), "/c/hdfs-site.xml:2") {
		t.Error(err)
	}
}

func TestWhatHDFSClientsAreToldAndOursDoesNot(t *testing.T) {
	const ha = "org.apache.hadoop.hdfs.server.namenode.ha."
	for _, k := range []struct {
		name, value string
		told        bool
	}{
		{"dfs.client.failover.proxy.provider.ns", ha + "ConfiguredFailoverProxyProvider", false},
		{"dfs.client.failover.proxy.provider.ns", " " + ha + "RequestHedgingProxyProvider ", false},
		{"dfs.client.failover.proxy.provider.ns", ha + "ObserverReadProxyProvider", false},
		{"dfs.client.failover.proxy.provider.vip", ha + "IPFailoverProxyProvider", false},
		{"dfs.client.failover.proxy.provider.ns", "com.example.Provider", true},
		{"dfs.client.failover.resolve-needed.ns", "true", true},
		{"dfs.client.failover.resolve-needed.ns", "false", false},
		{"dfs.client.failover.max.attempts", "3", false},
		{"dfs.data.transfer.protection", "privacy", true},
		{"dfs.encrypt.data.transfer", "true", true},
		{"dfs.encrypt.data.transfer", "false", false},
		{"dfs.replication", "2", false},
	} {
		for _, judge := range []func(*Properties) Findings{UnsupportedByResourceManager, UnsupportedByNodeManager} {
			refused, warned := split(judge(overrides(t, k.name, k.value)))
			if len(refused) != 0 || (len(warned) == 1 && warned[0].Name == k.name) != k.told || len(warned) > 1 {
				t.Errorf("%s=%s: %v %v", k.name, k.value, refused, warned)
			}
		}
	}
}
