package conf

// deprecated maps the old names that matter to YARN and the core to the names
// that replaced them. Sources: Configuration's own list and the one
// YarnConfiguration adds (3.5.0).
var deprecated = map[string]string{
	"topology.script.file.name":         "net.topology.script.file.name",
	"topology.script.number.args":       "net.topology.script.number.args",
	"hadoop.configured.node.mapping":    "net.topology.configured.node.mapping",
	"topology.node.switch.mapping.impl": "net.topology.node.switch.mapping.impl",
	"dfs.df.interval":                   "fs.df.interval",
	"fs.default.name":                   "fs.defaultFS",
	"dfs.umaskmode":                     "fs.permissions.umask-mode",
	"dfs.nfs.exports.allowed.hosts":     "nfs.exports.allowed.hosts",

	"yarn.client.max-nodemanagers-proxies":                  "yarn.client.max-cached-nodemanagers-proxies",
	"yarn.resourcemanager.system-metrics-publisher.enabled": "yarn.system-metrics-publisher.enabled",
	"yarn.resourcemanager.zk-acl":                           "hadoop.zk.acl",
	"yarn.resourcemanager.zk-auth":                          "hadoop.zk.auth",
	"yarn.resourcemanager.zk-num-retries":                   "hadoop.zk.num-retries",
	"yarn.resourcemanager.zk-timeout-ms":                    "hadoop.zk.timeout-ms",
	"yarn.resourcemanager.zk-retry-interval-ms":             "hadoop.zk.retry-interval-ms",
	"hadoop.http.rmwebapp.scheduler.page.class":             "yarn.http.rmwebapp.scheduler.page.class",
	"yarn.resourcemanager.display.per-user-apps":            "yarn.webapp.filter-entity-list-by-user",
}

// CurrentName is the name that replaced a deprecated one, or the name itself.
func CurrentName(name string) string {
	if n, ok := deprecated[name]; ok {
		return n
	}
	return name
}
