package conf

import "time"

// Endpoint is one listener: the address that clients are told, and the one
// that is bound (bind-host properties change only the latter).
type Endpoint struct {
	Address, Bind Address
	Handlers      int // threads in Hadoop; a bound on concurrent calls for us
}

// ResourceManager is every setting of the ResourceManager, the scheduler's own
// file left out. It is a value: copy it, never change it; a refresh builds a
// new one. The property is named behind each field; the unset default is
// Hadoop 3.5.0's unless said otherwise.
type ResourceManager struct {
	ClusterID string // yarn.resourcemanager.cluster-id

	Client  Endpoint // yarn.resourcemanager.address, 8032
	Master  Endpoint // yarn.resourcemanager.scheduler.address, 8030
	Tracker Endpoint // yarn.resourcemanager.resource-tracker.address, 8031
	Admin   Endpoint // yarn.resourcemanager.admin.address, 8033
	Web     Web
	IPC     IPC

	Scheduler    string // "capacity" or the unknown class as written
	Allocation   Allocation
	Applications Applications
	Nodes        Nodes
	Recovery     Recovery
	Tokens       Tokens
	Security     Security
	Topology     Topology
}

// Web is the HTTP side.
type Web struct {
	Endpoint                            // yarn.resourcemanager.webapp.address, 8088
	HTTPS                 Address       // yarn.resourcemanager.webapp.https.address, 8090
	Policy                string        // yarn.http.policy: HTTP_ONLY, HTTPS_ONLY, HTTP_AND_HTTPS
	Proxy                 Address       // yarn.web-proxy.address; zero when the proxy runs inside
	ProxyBind             Address       // yarn.web-proxy.bind-host
	ProxyConnectTimeout   time.Duration // yarn.resourcemanager.proxy.connection.timeout; 0 when proxy.timeout.enabled is false
	StaticUser            string        // hadoop.http.staticuser.user
	AnonymousWrites       bool          // yarn.webapp.heddle.anonymous-writes, ours, false
	SimpleAnonymous       bool          // hadoop.http.authentication.simple.anonymous.allowed
	UIActions             bool          // yarn.resourcemanager.webapp.ui-actions.enabled
	RESTSubmission        bool          // yarn.webapp.enable-rest-app-submissions
	FilterByUser          bool          // yarn.webapp.filter-entity-list-by-user
	FilterXMLChars        bool          // yarn.webapp.filter-invalid-xml-chars
	DelegationTokenFilter bool          // yarn.resourcemanager.webapp.delegation-token-auth-filter.enabled
	CrossOrigin           CrossOrigin   // yarn.resourcemanager.webapp.cross-origin.enabled and hadoop.http.cross-origin.*
	CSRF                  CSRF          // yarn.resourcemanager.webapp.rest-csrf.*
	FrameOptions          string        // yarn.resourcemanager.webapp.xfs-filter.xframe-options; "" when yarn.webapp.xfs-filter.enabled is false
	LogServerURL          string        // yarn.log.server.url
}

// CrossOrigin is the CORS filter.
type CrossOrigin struct {
	Enabled                   bool
	Origins, Methods, Headers []string
	MaxAge                    time.Duration
}

// CSRF is the filter that asks browsers for a header on changing requests.
type CSRF struct {
	Enabled       bool
	Header        string
	IgnoreMethods []string
	BrowserAgents []string // patterns of User-Agent that count as browsers
}

// IPC bounds the RPC servers.
type IPC struct {
	MaxData           int64         // ipc.maximum.data.length, bytes of one request
	MaxResponse       int64         // ipc.maximum.response.length, bytes of one answer
	LargeResponse     int64         // ipc.server.max.response.size, answers above are logged
	MaxConnections    int           // ipc.server.max.connections, 0 = no limit
	QueuePerHandler   int           // ipc.server.handler.queue.size
	ListenBacklog     int           // ipc.server.listen.queue.size
	IdleScan          time.Duration // ipc.client.connection.idle-scan-interval.ms
	MaxIdle           time.Duration // ipc.client.connection.maxidletime; servers close after twice this
	IdleThreshold     int           // ipc.client.idlethreshold, connections below which none is closed
	NoDelay           bool          // ipc.server.tcpnodelay
	SASLMechanism     string        // hadoop.security.sasl.mechanism
	Protection        []string      // hadoop.rpc.protection
	PingInterval      time.Duration // ipc.ping.interval, as a client
	ConnectTimeout    time.Duration // ipc.client.connect.timeout, as a client
	RPCTimeout        time.Duration // ipc.client.rpc-timeout.ms, as a client
	ConnectRetries    int           // ipc.client.connect.max.retries, as a client
	ConnectRetryPause time.Duration // ipc.client.connect.retry.interval, as a client
}

// Allocation is the smallest and largest container. Memory is in MiB.
type Allocation struct {
	MinimumMB, MaximumMB         int64 // yarn.scheduler.{minimum,maximum}-allocation-mb
	MinimumVCores, MaximumVCores int32 // yarn.scheduler.{minimum,maximum}-allocation-vcores
	ExpiryInterval               time.Duration
	Autocorrect                  bool // yarn.resourcemanager.scheduler.autocorrect.container.allocation
	PortInNodeName               bool // yarn.scheduler.include-port-in-node-name
	AutoUpdate                   bool // yarn.resourcemanager.auto-update.containers
}

// Applications are limits and lives of applications and their masters.
type Applications struct {
	MasterExpiry       time.Duration // yarn.am.liveness-monitor.expiry-interval-ms
	MaxAttempts        int           // yarn.resourcemanager.am.max-attempts
	GlobalMaxAttempts  int           // yarn.resourcemanager.am.global.max-attempts; unset means MaxAttempts
	MaxPriority        int32         // yarn.cluster.max-application-priority
	MaxCompleted       int           // yarn.resourcemanager.max-completed-applications
	MaxCompletedStored int           // yarn.resourcemanager.state-store.max-completed-applications, at most MaxCompleted
	MaxTags            int           // yarn.resourcemanager.application.max-tags
	MaxTagLength       int           // yarn.resourcemanager.application.max-tag.length, characters
	TimeoutScan        time.Duration // yarn.resourcemanager.application-timeouts.monitor.interval-ms
	HTTPSPolicy        string        // yarn.resourcemanager.application-https.policy
	LaunchHandlers     int           // yarn.resourcemanager.amlauncher.thread-count
	LaunchRetries      int           // yarn.resourcemanager.nodemanager-connect-retries
	LogDiagnostics     int           // yarn.resourcemanager.max-log-aggregation-diagnostics-in-memory
	TagPlacement       TagPlacement

	// NodeBlacklisting keeps later attempts off nodes where one failed, until
	// the share of blacklisted nodes passes BlacklistThreshold.
	NodeBlacklisting   bool    // yarn.resourcemanager.am-scheduling.node-blacklisting-enabled
	BlacklistThreshold float64 // yarn.resourcemanager.am-scheduling.node-blacklisting-disable-threshold
}

// TagPlacement places an application as the user named in one of its tags.
type TagPlacement struct {
	Enabled        bool     // yarn.resourcemanager.application-tag-based-placement.enable
	Users          []string // yarn.resourcemanager.application-tag-based-placement.username.whitelist
	ForceLowerCase bool     // yarn.resourcemanager.application-tag-based-placement.force-lowercase
}

// Nodes are the NodeManagers' heartbeats and lists.
type Nodes struct {
	Expiry               time.Duration // yarn.nm.liveness-monitor.expiry-interval-ms
	IncludePath          string        // yarn.resourcemanager.nodes.include-path
	ExcludePath          string        // yarn.resourcemanager.nodes.exclude-path
	MinimumVersion       string        // yarn.resourcemanager.nodemanager.minimum.version: NONE, EqualToRM or a version
	Heartbeat            Heartbeat
	DecommissionTimeout  time.Duration // yarn.resourcemanager.nodemanager-graceful-decommission-timeout-secs; -1s = wait for ever
	DecommissionPoll     time.Duration // yarn.resourcemanager.decommissioning-nodes-watcher.poll-interval-secs
	UntrackedTimeout     time.Duration // yarn.resourcemanager.node-removal-untracked.timeout-ms
	UntrackedWithoutList bool          // yarn.resourcemanager.enable-node-untracked-without-include-path
	UntrackedStates      []string      // yarn.resourcemanager.node-removal-untracked.node-selective-states-to-remove
	TrackUnregistered    bool          // yarn.resourcemanager.enable-tracking-for-unregistered-nodes
	HostnameCheck        bool          // yarn.resourcemanager.resource-tracker.nm.ip-hostname-check
	AddressCacheExpiry   time.Duration // yarn.resourcemanager.node-ip-cache.expiry-interval-secs; negative = no cache
	SkipMultiplier       int           // yarn.scheduler.skip.node.multiplier, heartbeats missed before a node is skipped
}

// Heartbeat is the interval told to NodeManagers, and its scaling by load.
type Heartbeat struct {
	Interval         time.Duration // yarn.resourcemanager.nodemanagers.heartbeat-interval-ms
	Scaling          bool          // ...heartbeat-interval-scaling-enable
	Minimum, Maximum time.Duration // ...heartbeat-interval-min-ms, ...-max-ms
	Speedup          float64       // ...heartbeat-interval-speedup-factor
	Slowdown         float64       // ...heartbeat-interval-slowdown-factor
}

// Recovery is what survives a restart.
type Recovery struct {
	Enabled        bool          // yarn.resourcemanager.recovery.enabled
	Store          string        // yarn.resourcemanager.store.class as "bolt" (ours, the default), "memory", "null", or another class's word
	Path           string        // yarn.resourcemanager.heddle.state-store.path, ours: the bolt file
	WorkPreserving bool          // yarn.resourcemanager.work-preserving-recovery.enabled
	SchedulingWait time.Duration // yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms
	FailFast       bool          // yarn.resourcemanager.fail-fast
	Epoch          int64         // yarn.resourcemanager.epoch
	EpochRange     int64         // yarn.resourcemanager.epoch.range, 0 = no wrapping
}

// Tokens are the lives of keys and tokens.
type Tokens struct {
	AMRMKeyRolling        time.Duration // yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
	ContainerKeyRolling   time.Duration // yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs
	NMKeyRolling          time.Duration // yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs
	DelegationKeyUpdate   time.Duration // yarn.resourcemanager.delegation.key.update-interval
	DelegationRenew       time.Duration // yarn.resourcemanager.delegation.token.renew-interval
	DelegationMaxLifetime time.Duration // yarn.resourcemanager.delegation.token.max-lifetime
	DelegationScan        time.Duration // yarn.resourcemanager.delegation.token.remove-scan-interval
	DelegationRemoval     time.Duration // yarn.resourcemanager.delayed.delegation-token.removal-interval-ms
	AlwaysCancel          bool          // yarn.resourcemanager.delegation-token.always-cancel
	MaxConfBytes          int64         // yarn.resourcemanager.delegation-token.max-conf-size-bytes
	KeyAlgorithm          string        // hadoop.security.secret-manager.key-generator.algorithm
	KeyBits               int           // hadoop.security.secret-manager.key-length
	UseIP                 bool          // hadoop.security.token.service.use_ip
}

// Topology is how a host finds its rack.
type Topology struct {
	Mapping       string // net.topology.node.switch.mapping.impl: "script", "table", "static", or the unknown class
	Script        string // net.topology.script.file.name; "" puts every node in /default-rack
	ScriptMaxArgs int    // net.topology.script.number.args, hosts of one call
	Table         string // net.topology.table.file.name
}

// Java class names of settings with a closed set of meanings.
const (
	schedulerPackage = "org.apache.hadoop.yarn.server.resourcemanager.scheduler."
	recoveryPackage  = "org.apache.hadoop.yarn.server.resourcemanager.recovery."
	netPackage       = "org.apache.hadoop.net."
	securityPackage  = "org.apache.hadoop.security."
)

var schedulerClasses = map[string]string{
	schedulerPackage + "capacity.CapacityScheduler": "capacity",
	schedulerPackage + "fair.FairScheduler":         "fair",
	schedulerPackage + "fifo.FifoScheduler":         "fifo",
}

var storeClasses = map[string]string{
	recoveryPackage + "MemoryRMStateStore":     "memory",
	recoveryPackage + "NullRMStateStore":       "null",
	recoveryPackage + "FileSystemRMStateStore": "filesystem",
	recoveryPackage + "ZKRMStateStore":         "zookeeper",
	recoveryPackage + "LeveldbRMStateStore":    "leveldb",
	"heddle.bolt":                              "bolt",
}

var topologyClasses = map[string]string{
	netPackage + "ScriptBasedMapping": "script",
	netPackage + "TableMapping":       "table",
	netPackage + "StaticMapping":      "static",
}
