package conf

import (
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// Endpoint is one listener: the address that clients are told, and the one
// that is bound (bind-host properties change only the latter).
type Endpoint struct {
	Address, Bind Address
}

// ResourceManager is every setting of the ResourceManager, the scheduler's own
// file left out. It is a value: copy it, never change it; a refresh builds a
// new one. The property is named behind each field; the unset default is
// Hadoop 3.5.0's unless said otherwise.
type ResourceManager struct {
	Client  Endpoint // yarn.resourcemanager.address, 8032
	Master  Endpoint // yarn.resourcemanager.scheduler.address, 8030
	Tracker Endpoint // yarn.resourcemanager.resource-tracker.address, 8031
	Admin   Endpoint // yarn.resourcemanager.admin.address, 8033
	Web     Web
	IPC     IPC

	Allocation    Allocation
	Opportunistic Opportunistic
	Monitors      Monitors
	Applications  Applications
	Nodes         Nodes
	Recovery      Recovery
	QueueConf     QueueConf
	ZooKeeper     ZooKeeper
	BlackBox      BlackBox
	Labels        NodeLabels
	Tokens        Tokens
	Security      Security
	Topology      Topology
	Reservations  Reservations
	HA            HA
}

// Web is the HTTP side.
type Web struct {
	Endpoint                          // yarn.resourcemanager.webapp.address, 8088
	Operators           Endpoint      // yarn.resourcemanager.heddle.ui.address, ours; zero: there is none
	Proxy               Address       // yarn.web-proxy.address; zero when the proxy runs inside
	StaticUser          string        // hadoop.http.staticuser.user
	AnonymousWrites     bool          // yarn.webapp.heddle.anonymous-writes, ours, false
	SimpleAnonymous     bool          // hadoop.http.authentication.simple.anonymous.allowed
	RESTSubmission      bool          // yarn.webapp.enable-rest-app-submissions
	FilterByUser        bool          // yarn.webapp.filter-entity-list-by-user
	SignatureSecretFile string        // hadoop.http.authentication.signature.secret.file
	CookieLife          time.Duration // hadoop.http.authentication.token.validity
	CSRF                CSRF          // yarn.resourcemanager.webapp.rest-csrf.*
	CrossOrigin         CrossOrigin   // yarn.resourcemanager.webapp.cross-origin.enabled, hadoop.http.cross-origin.*
	Methods             []string      // yarn.resourcemanager.webapp.methods-allowed, Dataproc's own: the HTTP methods that are answered; nil: every method
	FrameOptions        string        // yarn.resourcemanager.webapp.xfs-filter.xframe-options; "" when yarn.webapp.xfs-filter.enabled is false
	Introspection       Introspection
	UI2                 WebApp // yarn.webapp.ui2.*
	SchedulerUI         WebApp // yarn.webapp.scheduler-ui.*
}

// WebApp is one of Apache's own web interfaces, which the daemon serves where an installation of Apache has it.
type WebApp struct {
	Enabled bool   // .enable
	Path    string // .war-file-path: a war, or a folder with its content; "": it is looked for in the installation
}

// Introspection is what a daemon tells of itself at /conf, /jmx, /prom and /stacks.
type Introspection struct {
	AdminOnly  bool     // hadoop.security.instrumentation.requires.admin
	Prometheus bool     // hadoop.prometheus.endpoint.enabled; true unless somebody sets it, unlike Hadoop
	Sensitive  []string // hadoop.security.sensitive-config-keys, regular expressions of names
}

// CrossOrigin says which pages of other origins may read what the web port
// answers; the zero value none. It is on if hadoop.http.filter.initializers lists
// HttpCrossOriginFilterInitializer and hadoop.http.cross-origin.enabled or the
// daemon's own webapp.cross-origin.enabled is true.
type CrossOrigin struct {
	Origins []string      // hadoop.http.cross-origin.allowed-origins, *
	Methods []string      // hadoop.http.cross-origin.allowed-methods, GET,POST,HEAD
	Headers []string      // hadoop.http.cross-origin.allowed-headers, X-Requested-With,Content-Type,Accept,Origin
	MaxAge  time.Duration // hadoop.http.cross-origin.max-age, 1800 s
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
	MaxData        int64 // ipc.maximum.data.length, bytes of one request
	MaxResponse    int64 // ipc.maximum.response.length, bytes of one answer
	MaxConnections int   // ipc.server.max.connections, 0 = no limit
}

// Allocation is the smallest and largest container. Memory is in MiB.
type Allocation struct {
	Scheduler                    string // yarn.resourcemanager.scheduler.class: "capacity", "fair", "fifo", or the unknown class
	MinimumMB, MaximumMB         int64  // yarn.scheduler.{minimum,maximum}-allocation-mb
	MinimumVCores, MaximumVCores int32  // yarn.scheduler.{minimum,maximum}-allocation-vcores
	ExpiryInterval               time.Duration
	PortInNodeName               bool // yarn.scheduler.include-port-in-node-name
	Correct                      bool // yarn.resourcemanager.scheduler.autocorrect.container.allocation
	AutoUpdate                   bool // yarn.resourcemanager.auto-update.containers
}

// Opportunistic says how opportunistic containers are allocated.
type Opportunistic struct {
	Enabled         bool          // yarn.resourcemanager.opportunistic-container-allocation.enabled
	Nodes           int32         // yarn.resourcemanager.opportunistic-container-allocation.nodes-used: the least loaded ones
	PerHeartbeat    int32         // yarn.resourcemanager.opportunistic.max.container-allocation.per.am.heartbeat; not above 0: no limit but our own
	Order           time.Duration // yarn.resourcemanager.nm-container-queuing.sorting-nodes-interval-ms: how long an order of the nodes is used
	Comparator      string        // yarn.resourcemanager.nm-container-queuing.load-comparator
	Deviations      float32       // yarn.resourcemanager.nm-container-queuing.queue-limit-stdev
	Lowest, Highest int32         // bounds of the limit that nodes are told: yarn.resourcemanager.nm-container-queuing.{min,max}-queue-length or -queue-wait-time-ms
}

// Reservations are the settings of the reservation system (yarn.resourcemanager.reservation-system); those of single plans belong to their queues.
type Reservations struct {
	Enabled    bool          // .enable
	ACLs       bool          // yarn.acl.reservation-enable, if yarn.acl.enable is true
	Step       time.Duration // .planfollower.time-step
	MaxPeriod  int64         // .max-periodicity, milliseconds
	Early      bool          // .favor-early-allocation
	Smoothness int32         // .smoothness-factor
}

// Monitors are what is done to queues periodically. Without
// yarn.resourcemanager.scheduler.monitor.enable there are none; else
// yarn.resourcemanager.scheduler.monitor.policies names their classes.
type Monitors struct {
	Preempt      bool          // ProportionalCapacityPreemptionPolicy, which is also what runs if no policies are named
	Refresh      bool          // QueueConfigurationAutoRefreshPolicy; a property of the queues says how often
	DeleteQueues bool          // AutoCreatedQueueDeletionPolicy; the queues' properties say how often
	ShareOut     bool          // QueueManagementDynamicEditPolicy
	ShareEvery   time.Duration // yarn.resourcemanager.monitor.capacity.queue-management.monitoring-interval
}

// Applications are limits and time-outs of applications and their masters.
type Applications struct {
	MasterExpiry      time.Duration // yarn.am.liveness-monitor.expiry-interval-ms
	MaxAttempts       int           // yarn.resourcemanager.am.max-attempts
	GlobalMaxAttempts int           // yarn.resourcemanager.am.global.max-attempts; unset means MaxAttempts
	MaxPriority       int32         // yarn.cluster.max-application-priority
	MaxCompleted      int           // yarn.resourcemanager.max-completed-applications
	MaxTags           int           // yarn.resourcemanager.application.max-tags
	MaxTagLength      int           // yarn.resourcemanager.application.max-tag.length, characters
	LaunchHandlers    int           // yarn.resourcemanager.amlauncher.thread-count
}

// Nodes are the NodeManagers' heartbeats and lists.
type Nodes struct {
	Expiry         time.Duration // yarn.nm.liveness-monitor.expiry-interval-ms
	MinimumVersion string        // yarn.resourcemanager.nodemanager.minimum.version: NONE, EqualToRM or a version
	Heartbeat      time.Duration // yarn.resourcemanager.nodemanagers.heartbeat-interval-ms
	DrainStatus    time.Duration // yarn.resourcemanager.decommissioning-nodes-watcher.poll-interval-secs: how often the log tells of draining nodes

	UntrackedTimeout        time.Duration    // yarn.resourcemanager.node-removal-untracked.timeout-ms
	RemovedStates           []yarn.NodeState // yarn.resourcemanager.node-removal-untracked.node-selective-states-to-remove; nil: all in which a node has left
	UntrackedWithoutInclude bool             // yarn.resourcemanager.enable-node-untracked-without-include-path
	ShowUnregistered        bool             // yarn.resourcemanager.enable-tracking-for-unregistered-nodes
}

// QueueConf is where the configuration of the queues is kept while it can be changed, yarn.scheduler.configuration.*.
type QueueConf struct {
	Store       string // store.class: file, memory, bolt (for leveldb), fs or zk
	QueueAdmins bool   // mutation.acl-policy.class: administrators of queues may change these; false: only those of the cluster may
	Path        string // leveldb-store.path: the directory of the bolt file
	Directory   string // fs.path: a URL
	Versions    int    // max.version: files that fs keeps
	Parent      string // zk-store.parent-path
	MaxLogs     int    // store.max-logs
	History     string // yarn.resourcemanager.heddle.configuration-history.path, ours: the file of the history with the store file; "" keeps it in memory
}

// Recovery is what survives a restart.
type Recovery struct {
	Enabled        bool          // yarn.resourcemanager.recovery.enabled
	Store          string        // yarn.resourcemanager.store.class as "bolt" (ours, the default), "raft" (ours), "zookeeper", "filesystem", "memory", "null", or another class's word
	Path           string        // yarn.resourcemanager.heddle.state-store.path, ours: the bolt file
	WorkPreserving bool          // yarn.resourcemanager.work-preserving-recovery.enabled
	SchedulingWait time.Duration // yarn.resourcemanager.work-preserving-recovery.scheduling-wait-ms

	Directory  string // yarn.resourcemanager.fs.state-store.uri, of the store "filesystem"
	Parent     string // yarn.resourcemanager.zk-state-store.parent-path, of the store "zookeeper", as are the next ones
	RootACL    string // yarn.resourcemanager.zk-state-store.root-node.acl; empty: that of ZooKeeper.ACL, or what fences others off
	Fenced     bool   // yarn.resourcemanager.ha.enabled: others are fenced off by the root's access list
	AppSplit   int    // yarn.resourcemanager.zk-appid-node.split-index
	TokenSplit int    // yarn.resourcemanager.zk-delegation-token-node.split-index
	MaxNode    int    // yarn.resourcemanager.zk-max-znode-size.bytes, of one record
}

// ZooKeeper says where ZooKeeper is and how to talk to it. Text that may name a file by @ is as it was written.
type ZooKeeper struct {
	Address       string        // hadoop.zk.address, else yarn.resourcemanager.zk-address: host:port,…/chroot; empty: none
	Elector       string        // yarn.resourcemanager.zk-address alone, for the election
	Session       time.Duration // hadoop.zk.timeout-ms
	ACL           string        // hadoop.zk.acl: scheme:id:permissions,… of the nodes that are made
	Auth          string        // hadoop.zk.auth: scheme:secret,…
	Retries       int           // hadoop.zk.num-retries, of a call that was lost
	RetryInterval time.Duration // hadoop.zk.retry-interval-ms
	MaxRequest    int           // yarn.resourcemanager.heddle.zk-max-request-bytes, ours: what the servers' jute.maxbuffer is
}

// BlackBox says which commands are kept, to play them again. All its properties are ours.
type BlackBox struct {
	Bytes       int   // yarn.resourcemanager.heddle.black-box.bytes: of the last ones in memory; 0: none
	Record      bool  // yarn.resourcemanager.heddle.black-box.record: all from the start go to a file
	RecordBytes int64 // yarn.resourcemanager.heddle.black-box.record-bytes: the most that a file of all takes
}

// NodeLabels are the partitions of the cluster, and where they are kept.
type NodeLabels struct {
	Enabled   bool   // yarn.node-labels.enabled
	ByNodes   bool   // yarn.node-labels.configuration-type is distributed: nodes name their own label
	Directory string // yarn.node-labels.fs-store.root-dir, a URL; empty: /tmp/hadoop-yarn-USER/node-labels of this machine
	NoLog     bool   // yarn.node-labels.fs-store.impl.class is Hadoop's NonAppendableFSNodeLabelStore
}

// Tokens are the lifetimes of keys and tokens.
type Tokens struct {
	AMRMKeyRolling        time.Duration // yarn.resourcemanager.am-rm-tokens.master-key-rolling-interval-secs
	ContainerKeyRolling   time.Duration // yarn.resourcemanager.container-tokens.master-key-rolling-interval-secs
	NMKeyRolling          time.Duration // yarn.resourcemanager.nm-tokens.master-key-rolling-interval-secs
	DelegationKeyUpdate   time.Duration // yarn.resourcemanager.delegation.key.update-interval
	DelegationRenew       time.Duration // yarn.resourcemanager.delegation.token.renew-interval
	DelegationMaxLifetime time.Duration // yarn.resourcemanager.delegation.token.max-lifetime
	DelegationScan        time.Duration // yarn.resourcemanager.delegation.token.remove-scan-interval
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

const reservationPackage = "org.apache.hadoop.yarn.server.resourcemanager.reservation."

const preemptionPolicy = "org.apache.hadoop.yarn.server.resourcemanager.monitor.capacity.ProportionalCapacityPreemptionPolicy"

var monitorClasses = map[string]string{
	preemptionPolicy: "preempt",
	schedulerPackage + "capacity.AutoCreatedQueueDeletionPolicy":      "delete-queues",
	schedulerPackage + "capacity.QueueManagementDynamicEditPolicy":    "share-out",
	schedulerPackage + "capacity.QueueConfigurationAutoRefreshPolicy": "refresh",
}

var labelStoreClasses = map[string]string{
	"org.apache.hadoop.yarn.nodelabels.FileSystemNodeLabelsStore":     "log",
	"org.apache.hadoop.yarn.nodelabels.NonAppendableFSNodeLabelStore": "no-log",
}

var storeClasses = map[string]string{
	recoveryPackage + "MemoryRMStateStore":     "memory",
	recoveryPackage + "NullRMStateStore":       "null",
	recoveryPackage + "FileSystemRMStateStore": "filesystem",
	recoveryPackage + "ZKRMStateStore":         "zookeeper",
	recoveryPackage + "LeveldbRMStateStore":    "leveldb",
	"heddle.bolt":                              "bolt",
	raftClass:                                  "raft",
}

// confStoreClasses are the stores of the queues' configuration; leveldb is the built-in file.
var confStoreClasses = map[string]string{
	"file": "file", "memory": "memory", "leveldb": "bolt", "fs": "fs", "zk": "zk",
	capacityConf + "InMemoryConfigurationStore":    "memory",
	capacityConf + "LeveldbConfigurationStore":     "bolt",
	capacityConf + "FSSchedulerConfigurationStore": "fs",
	capacityConf + "ZKConfigurationStore":          "zk",
}

const capacityConf = schedulerPackage + "capacity.conf."

// mutationPolicies say who may change queues.
var mutationPolicies = map[string]string{
	schedulerPackage + "DefaultConfigurationMutationACLPolicy": "admins",
	capacityConf + "QueueAdminConfigurationMutationACLPolicy":  "queue-admins",
}

var topologyClasses = map[string]string{
	netPackage + "ScriptBasedMapping": "script",
	netPackage + "TableMapping":       "table",
	netPackage + "StaticMapping":      "static",
}
