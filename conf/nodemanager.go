package conf

import (
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// NodeManagerFiles are the files that the NodeManager reads beside the standard
// set, in order; all may be absent (Options.Optional): the resource types of the
// cluster, the amounts of this node, and the properties of the shuffle.
var NodeManagerFiles = []string{"resource-types.xml", "node-resources.xml", "mapred-site.xml"}

// NodeManager is every setting of the NodeManager. It is a value: copy it, never
// change it. The property is named behind each field, `nm.` standing for
// `yarn.nodemanager.`; the unset default is Hadoop 3.5.0's unless said otherwise.
type NodeManager struct {
	Containers Endpoint // nm.address, port 0: any free one. With nm.bind-host set, Address.Host is the node's name; else the name of what is bound is
	Tracker    Tracker
	IPC        IPC
	Web        NodeWeb

	Resources NodeResources
	Dirs      NodeDirs
	Launch    NodeLaunch
	Cgroups   NodeCgroups
	Queue     NodeQueue
	Localizer NodeLocalizer
	Monitor   NodeMonitor
	Health    NodeHealth
	Label     NodeLabel
	Logs      NodeLogs
	Recovery  NodeRecovery
	Aux       []AuxService // nm.aux-services, in the order written
	Shuffle   Shuffle
	Security  Security
}

// Tracker is the way to the ResourceManager. Attempts, Base and Most are those
// of ipc.Policy: how often a call is tried, and the pauses between the tries.
type Tracker struct {
	Targets        []TrackerTarget
	Attempts       int           // nm.resourcemanager.connect.max-wait.ms, else yarn.resourcemanager.connect.max-wait.ms, over Base; math.MaxInt for ever
	Base, Most     time.Duration // nm.resourcemanager.connect.retry-interval.ms, else yarn.resourcemanager.connect.retry-interval.ms
	Connect        Connect
	CallTimeout    time.Duration // ipc.client.rpc-timeout.ms: how long an answer is waited for
	MinimumVersion string        // nm.resourcemanager.minimum.version: NONE, EqualToNM or a version
	Preserve       bool          // yarn.resourcemanager.work-preserving-recovery.enabled: containers outlive the ResourceManager
	StoppedFor     time.Duration // nm.duration-to-track-stopped-containers: how long a finished container's id is refused
}

// TrackerTarget is one ResourceManager.
type TrackerTarget struct {
	Address  Address
	Property string // the one that says where it is
}

// NodeWeb is the NodeManager's HTTP side.
type NodeWeb struct {
	Endpoint                          // nm.webapp.address, 8042
	ResourceManager     Address       // yarn.resourcemanager.webapp.address, or that of the first rm-id: where the pages lead to
	StaticUser          string        // hadoop.http.staticuser.user
	AnonymousWrites     bool          // yarn.webapp.heddle.anonymous-writes, ours, false
	SimpleAnonymous     bool          // hadoop.http.authentication.simple.anonymous.allowed
	FilterByUser        bool          // yarn.webapp.filter-entity-list-by-user
	SignatureSecretFile string        // hadoop.http.authentication.signature.secret.file
	CookieLife          time.Duration // hadoop.http.authentication.token.validity
	CSRF                CSRF          // nm.webapp.rest-csrf.*
	CrossOrigin         CrossOrigin   // nm.webapp.cross-origin.enabled, hadoop.http.cross-origin.*
	FrameOptions        string        // nm.webapp.xfs-filter.xframe-options; "" when yarn.webapp.xfs-filter.enabled is false
	Introspection       Introspection
}

// NodeResources say what the node offers; see Total.
type NodeResources struct {
	MemoryMB       int64   // nm.resource.memory-mb, -1 = 8192 or what is detected
	VCores         int32   // nm.resource.cpu-vcores, -1 = 8 or what is detected
	Detect         bool    // nm.resource.detect-hardware-capabilities
	ReservedMB     int64   // nm.resource.system-reserved-memory-mb, -1 = a fifth
	LogicalAsCores bool    // nm.resource.count-logical-processors-as-cores
	VCoresPerCore  float64 // nm.resource.pcores-vcores-multiplier
	CPUPercent     int     // nm.resource.percentage-physical-cpu-limit, 1 to 100

	Types   yarn.ResourceTypes // yarn.resource-types, after memory and vcores
	Amounts yarn.Resource      // nm.resource-type.NAME in the units of Types; where above 0 it wins over MemoryMB and VCores
}

// NodeDirs are where containers live. All are absolute, without file:, and no
// two of one list are equal.
type NodeDirs struct {
	Local   []string // nm.local-dirs
	Log     []string // nm.log-dirs
	LogMode uint32   // nm.default-container-executor.log-dirs.permissions, 0710
}

// EnvVar is one variable as written, not expanded.
type EnvVar struct{ Name, Value string }

// NodeLaunch is how containers are started, ended and cleaned up.
type NodeLaunch struct {
	EnvWhitelist   []string      // nm.env-whitelist
	AdminEnv       []EnvVar      // nm.admin-env in the order written, then those of nm.admin-env.NAME
	ForcePath      string        // nm.force.path
	HomeDir        string        // nm.user-home-dir
	DebugInfo      bool          // nm.log-container-debug-info.enabled
	Nice           int           // nm.container-executor.os.sched.priority.adjustment, 0 = none
	ExitFileWait   time.Duration // nm.container-executor.exit-code-file.timeout-ms
	StderrPattern  string        // nm.container.stderr.pattern, a glob with {a,b}
	StderrTail     int64         // nm.container.stderr.tail.bytes
	DiagnosticsMax int           // nm.container-diagnostics-maximum-size, characters
	RetryInterval  time.Duration // nm.container-retry-minimum-interval-ms
	KillDelay      time.Duration // nm.sleep-delay-before-sigkill.ms; 0 = SIGKILL at once
	PIDWait        time.Duration // nm.process-kill-wait.ms
	DeleteDelay    time.Duration // nm.delete.debug-delay-sec; negative = nothing is ever deleted
	DeleteThreads  int           // nm.delete.thread-count
}

// NodeCgroups are the limits that the kernel enforces, by cgroup version 2: without
// nm.linux-container-executor.cgroups.v2.enabled the switches are refused.
type NodeCgroups struct {
	Memory        bool          // nm.resource.memory.enabled
	Enforced      bool          // nm.resource.memory.enforced
	SoftPercent   float64       // nm.resource.memory.cgroups.soft-limit-percentage, 0 to 100
	CPU           bool          // nm.resource.cpu.enabled
	Strict        bool          // nm.linux-container-executor.cgroups.strict-resource-usage
	Mount         string        // nm.linux-container-executor.cgroups.v2.mount-path, else nm.linux-container-executor.cgroups.mount-path; "" = what /proc/mounts says
	Hierarchy     string        // nm.linux-container-executor.cgroups.hierarchy, below Mount
	DeleteDelay   time.Duration // nm.linux-container-executor.cgroups.delete-delay-ms
	DeleteTimeout time.Duration // nm.linux-container-executor.cgroups.delete-timeout-ms
}

// NodeQueue says which opportunistic containers wait for room on the node, and
// how they make room for guaranteed ones.
type NodeQueue struct {
	ByResources bool // nm.opportunistic-containers-queue-policy: BY_RESOURCES, not BY_QUEUE_LEN
	MaxLength   int  // nm.opportunistic-containers-max-queue-length; 0 = opportunistic containers are turned away, and guaranteed ones never wait
	Pause       bool // nm.opportunistic-containers-use-pause-for-preemption: they are paused, not killed
}

// NodeLocalizer is how resources are fetched and kept.
type NodeLocalizer struct {
	Endpoint                     // nm.localizer.address, 8040
	FetchThreads   int           // nm.localizer.fetch.thread-count, of public resources
	CacheTarget    int64         // nm.localizer.cache.target-size-mb, in bytes
	Cleanup        time.Duration // nm.localizer.cache.cleanup.interval-ms
	MaxFilesPerDir int           // nm.local-cache.max-files-per-directory
	JavaOptions    []string      // of ContainerLocalizer: nm.container-localizer.admin.java.opts, then nm.container-localizer.java.opts
	JavaExports    bool          // nm.container-localizer.java.opts.add-exports-as-default
	JavaLog        string        // nm.container-localizer.log.level
}

// NodeMonitor is what watches running containers.
type NodeMonitor struct {
	Enabled       bool          // nm.container-monitor.enabled
	Interval      time.Duration // nm.container-monitor.interval-ms, else nm.resource-monitor.interval-ms
	NodeInterval  time.Duration // nm.resource-monitor.interval-ms, of the node's own use; 0 = not watched
	PhysicalCheck bool          // nm.pmem-check-enabled
	VirtualCheck  bool          // nm.vmem-check-enabled
	VirtualRatio  float64       // nm.vmem-pmem-ratio
}

// NodeHealth says when the node counts as healthy.
type NodeHealth struct {
	Disks     NodeDisks
	Scripts   []HealthScript // nm.health-checker.scripts with a path, at most MaxHealthScripts
	RunBefore bool           // nm.health-checker.run-before-startup: the first run of scripts before the node registers
}

// NodeDisks are the bounds of local and log directories. Percentages are 0 to
// 100. A full directory comes back below the watermarks.
type NodeDisks struct {
	Enabled         bool          // nm.disk-health-checker.enable
	Interval        time.Duration // nm.disk-health-checker.interval-ms
	MinHealthy      float64       // nm.disk-health-checker.min-healthy-disks, a fraction
	UtilizationRule bool          // nm.disk-health-checker.disk-utilization-threshold.enabled
	MaxUsed         float64       // nm.disk-health-checker.max-disk-utilization-per-disk-percentage
	MaxUsedReturn   float64       // nm.disk-health-checker.disk-utilization-watermark-low-per-disk-percentage, MaxUsed unless lower
	FreeRule        bool          // nm.disk-health-checker.disk-free-space-threshold.enabled
	MinFreeMB       int64         // nm.disk-health-checker.min-free-space-per-disk-mb
	MinFreeReturnMB int64         // nm.disk-health-checker.min-free-space-per-disk-watermark-high-mb, MinFreeMB unless higher
	ReturnDelay     time.Duration // nm.heddle.disk-return-delay-ms, ours, 30 s: how long one that has become full or bad stays out at least, see health.disks
	Contents        bool          // nm.disk-health-checker.working-dir-content-accessibility-validation.enabled
}

// MaxHealthScripts is Hadoop's bound.
const MaxHealthScripts = 4

// HealthScript is one program that tells whether the node is healthy.
type HealthScript struct {
	Name     string
	Path     string        // nm.health-checker.NAME.path
	Args     []string      // nm.health-checker.NAME.opts
	Interval time.Duration // nm.health-checker.NAME.interval-ms, else nm.health-checker.interval-ms
	Timeout  time.Duration // nm.health-checker.NAME.timeout-ms, else nm.health-checker.timeout-ms
}

// NodeLabel says how the node finds out which label it has.
type NodeLabel struct {
	Provider   string        // nm.node-labels.provider: "", "config", "script"
	Configured string        // nm.node-labels.provider.configured-node-partition
	Every      time.Duration // nm.node-labels.provider.fetch-interval-ms; 0 = once (-1 in the property)
	Resync     time.Duration // nm.node-labels.resync-interval-ms: the ResourceManager is told again after so long
	Script     string        // nm.node-labels.provider.script.path
	Args       []string      // nm.node-labels.provider.script.opts
	Timeout    time.Duration // nm.node-labels.provider.fetch-timeout-ms, of the script
}

// NodeLogs is what happens to containers' logs.
type NodeLogs struct {
	Aggregate       bool          // yarn.log-aggregation-enable
	DefaultFS       string        // fs.defaultFS: the file system of a remote directory whose path names none
	RemoteGroup     string        // nm.remote-app-log-dir.groupname
	Compression     string        // nm.log-aggregation.compression-type
	Policy          string        // nm.log-aggregation.policy.class: "all", "am", "am-or-failed", "failed", "failed-or-killed", "sample", "limit-size", "none", or the unknown class
	PolicyParams    string        // nm.log-aggregation.policy.parameters
	Roll            time.Duration // nm.log-aggregation.roll-monitoring-interval-seconds, never below ….min; 0 = one upload at the end
	FilesPerApp     int           // nm.log-aggregation.num-log-files-per-app, for rolling uploads
	IndexedMaxBytes int64         // indexedFile.log.roll-over.max-file-size-gb: an indexed file of this size or more is not appended to
	IndexedRetries  int           // indexedFile.fs.op.num-retries
	IndexedPause    time.Duration // indexedFile.fs.retry-interval-ms
	LocalCleanup    bool          // yarn.log-aggregation.enable-local-cleanup: uploaded files are deleted
	Threads         int           // nm.logaggregation.threadpool-size-max
	Retain          time.Duration // nm.log.retain-seconds, without aggregation
	KeepStates      time.Duration // yarn.log-aggregation-status.time-out.ms: how long a ResourceManager may ask again for the state of an application's log aggregation
	ServerURL       string        // yarn.log.server.url, where people see aggregated logs
	ServiceURL      string        // yarn.log.server.web-service.url, where programs do
}

// NodeRecovery is what survives a restart of the NodeManager.
type NodeRecovery struct {
	Enabled    bool   // nm.recovery.enabled
	Dir        string // nm.recovery.dir
	Supervised bool   // nm.recovery.supervised: a stop leaves containers running
}

// AuxService is one auxiliary service.
type AuxService struct {
	Name  string
	Class string // nm.aux-services.NAME.class: "shuffle" for the MapReduce ShuffleHandler, else the class
}

// Shuffle is the ShuffleHandler (mapred-site.xml).
type Shuffle struct {
	Port           int           // mapreduce.shuffle.port, 0 = any
	MaxConnections int           // mapreduce.shuffle.max.connections, 0 = no limit
	KeepAlive      bool          // mapreduce.shuffle.connection-keep-alive.enable
	KeepAliveIdle  time.Duration // mapreduce.shuffle.connection-keep-alive.timeout
	MaxOpenFiles   int           // mapreduce.shuffle.max.session-open-files, of one request
	TransferTo     bool          // mapreduce.shuffle.transferTo.allowed
	Readahead      int64         // mapreduce.shuffle.readahead.bytes
	DropCache      bool          // mapreduce.shuffle.manage.os.cache
	IndexCache     int64         // mapreduce.reduce.shuffle.indexcache.mb, in bytes
}
