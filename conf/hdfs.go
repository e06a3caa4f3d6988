package conf

import (
	"slices"
	"strings"
)

// HDFSSite is a text for people: which hdfs-site.xml was read, or where there is none.
func (p *Properties) HDFSSite() string {
	switch {
	case p.hdfsSite == "":
		return "no hdfs-site.xml was read"
	case !slices.Contains(p.files, p.hdfsSite):
		return p.hdfsSite + " does not exist"
	}
	return p.hdfsSite + " was read"
}

const failoverOfHDFS = "dfs.client.failover."

// failoverClasses are the proxy providers that Heddle's HDFS client can do without: it asks the listed NameNodes in turn
// ("failover"), or the one address ("address").
var failoverClasses = map[string]string{
	"org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider":                   "failover",
	"org.apache.hadoop.hdfs.server.namenode.ha.RequestHedgingProxyProvider":                       "failover",
	"org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProvider":                         "failover",
	"org.apache.hadoop.hdfs.server.namenode.ha.RouterObserverReadProxyProvider":                   "failover",
	"org.apache.hadoop.hdfs.server.namenode.ha.RouterObserverReadConfiguredFailoverProxyProvider": "failover",
	"org.apache.hadoop.hdfs.server.namenode.ha.IPFailoverProxyProvider":                           "address",
	"org.apache.hadoop.hdfs.server.namenode.ha.ObserverReadProxyProviderWithIPFailover":           "address",
	"org.apache.hadoop.hdfs.server.namenode.ha.WrappedFailoverProxyProvider":                      "address",
}

// unfollowed are settings of HDFS clients that Heddle's client does not follow.
func unfollowed(p *Properties) Findings {
	var out Findings
	say := func(v Value, feature, reason, advice string) {
		out = append(out, Finding{Changed, feature, v.Name, v.Value, v.Origin, reason, advice})
	}
	for _, v := range p.WithPrefix(failoverOfHDFS) {
		switch rest := strings.TrimPrefix(v.Name, failoverOfHDFS); {
		case strings.HasPrefix(rest, "proxy.provider.") && failoverClasses[trim(v.Value)] == "":
			say(v, "HDFS failover", "the class cannot be run: the NameNodes of dfs.ha.namenodes are asked in turn",
				"set it to org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider, which does that")
		case strings.HasPrefix(rest, "resolve-needed") && isTrue(p, trim(v.Value)):
			say(v, "HDFS failover", "names are not resolved to several NameNodes", "set it to false, and list each of them in dfs.ha.namenodes")
		}
	}
	const encryption = "dfs.encrypt.data.transfer"
	if v, ok := p.Lookup(encryption); ok && isTrue(p, trim(v.Value)) {
		say(v, "HDFS data transfer encryption", "it is not built: files of an HDFS whose NameNode asks for it can be neither read nor written, so resources on it are not "+
			"localized, and logs and node labels cannot lie on it", "keep these on an HDFS that does not ask for it, or on a file system that all nodes mount (file:)")
	}
	const protection = "dfs.data.transfer.protection"
	if v, ok := p.Lookup(protection); ok && trim(v.Value) != "" {
		say(v, "HDFS data transfer protection", "it needs Kerberos, which is not built: blocks are read and written as they are, as Hadoop's clients do without Kerberos", "remove it")
	}
	return out
}
