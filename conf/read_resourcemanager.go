package conf

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

const rm = "yarn.resourcemanager."

// ReadResourceManager turns properties into settings. The error is Problems
// with every bad value. It is a pure function: same properties, same answer.
func ReadResourceManager(p *Properties) (*ResourceManager, error) {
	r := NewReader(p)
	s := readResourceManager(r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func readResourceManager(r *Reader) *ResourceManager {
	s := &ResourceManager{
		Client:  r.endpoint(rm+"address", 8032),
		Master:  r.endpoint(rm+"scheduler.address", 8030),
		Tracker: r.endpoint(rm+"resource-tracker.address", 8031),
		Admin:   r.endpoint(rm+"admin.address", 8033),

		Web:           r.web(),
		IPC:           r.ipc(),
		Allocation:    r.allocation(),
		Opportunistic: r.opportunistic(),
		Monitors:      r.monitors(),
		Applications:  r.applications(),
		Nodes:         r.nodes(),
		Recovery:      r.recovery(),
		QueueConf:     r.queueConf(),
		ZooKeeper:     r.zooKeeper(),
		BlackBox:      r.blackBox(),
		Labels:        r.nodeLabels(),
		Tokens:        r.tokens(),
		Security:      r.security(),
		Topology:      r.topology(),
		Reservations:  r.reservations(),
		HA:            r.highAvailability(),
	}
	return s
}

// maxHandlers bounds threads of one kind.
const maxHandlers = 100_000

// endpoint reads a listener of the ResourceManager: with high availability the
// one of its id. The default host is yarn.resourcemanager.hostname even when no
// defaults are loaded.
func (r *Reader) endpoint(name string, port int) Endpoint {
	var a Address
	if id := r.ownID(); id != "" {
		a = r.idAddress(name, id, port)
	} else {
		a = r.Address(name, Address{r.String(hostname, "0.0.0.0"), port}.String(), port)
	}
	return Endpoint{Address: a, Bind: r.Bind(rm+"bind-host", a)}
}

func (r *Reader) web() Web {
	w := Web{
		Endpoint:            r.endpoint(rm+"webapp.address", 8088),
		Proxy:               r.Address("yarn.web-proxy.address", "", 9099),
		StaticUser:          r.String("hadoop.http.staticuser.user", "dr.who"),
		AnonymousWrites:     r.Bool("yarn.webapp.heddle.anonymous-writes", false),
		SimpleAnonymous:     r.Bool("hadoop.http.authentication.simple.anonymous.allowed", true),
		RESTSubmission:      r.Bool("yarn.webapp.enable-rest-app-submissions", true),
		FilterByUser:        r.Bool("yarn.webapp.filter-entity-list-by-user", false),
		SignatureSecretFile: r.String("hadoop.http.authentication.signature.secret.file", ""),
		CookieLife:          r.Duration("hadoop.http.authentication.token.validity", 10*time.Hour, time.Second, time.Second),
		CSRF:                r.csrf(rm),
		CrossOrigin:         r.crossOrigin(rm),
		Methods:             r.Strings(rm + "webapp.methods-allowed"),
		Introspection:       r.introspection(),
		UI2:                 r.webApp("yarn.webapp.ui2."),
		SchedulerUI:         r.webApp("yarn.webapp.scheduler-ui."),
	}
	if at := r.Address(rm+"heddle.ui.address", "", 8089); !at.IsZero() {
		w.Operators = Endpoint{Address: at, Bind: r.Bind(rm+"bind-host", at)}
	}
	frame := r.Enum(rm+"webapp.xfs-filter.xframe-options", "SAMEORIGIN", "SAMEORIGIN", "DENY")
	if r.Bool("yarn.webapp.xfs-filter.enabled", true) {
		w.FrameOptions = frame
	}
	return w
}

func (r *Reader) webApp(prefix string) WebApp {
	return WebApp{Enabled: r.Bool(prefix+"enable", false), Path: r.String(prefix+"war-file-path", "")}
}

func (r *Reader) introspection() Introspection {
	const endpoint = "hadoop.prometheus.endpoint.enabled"
	i := Introspection{
		AdminOnly:  r.Bool("hadoop.security.instrumentation.requires.admin", false),
		Prometheus: r.Bool(endpoint, true),
		Sensitive:  r.Strings("hadoop.security.sensitive-config-keys"),
	}
	if v, ok := r.props.Lookup(endpoint); ok && v.Origin.IsDefault() {
		i.Prometheus = true
	}
	return i
}

// csrf reads the filter of one daemon.
func (r *Reader) csrf(daemon string) CSRF {
	p := daemon + "webapp.rest-csrf."
	return CSRF{
		Enabled:       r.Bool(p+"enabled", false),
		Header:        r.String(p+"custom-header", "X-XSRF-Header"),
		IgnoreMethods: r.list(p+"methods-to-ignore", "GET,OPTIONS,HEAD"),
		BrowserAgents: r.list(p+"browser-useragents-regex", "^Mozilla.*,^Opera.*"),
	}
}

// crossOrigin reads what pages of other origins may read of one daemon.
func (r *Reader) crossOrigin(daemon string) CrossOrigin {
	const p = "hadoop.http.cross-origin."
	own, shared := r.Bool(daemon+"webapp.cross-origin.enabled", false), r.Bool(p+"enabled", false)
	c := CrossOrigin{
		Origins: r.list(p+"allowed-origins", "*"),
		Methods: r.list(p+"allowed-methods", "GET,POST,HEAD"),
		Headers: r.list(p+"allowed-headers", "X-Requested-With,Content-Type,Accept,Origin"),
		MaxAge:  r.Duration(p+"max-age", 30*time.Minute, time.Second, 0),
	}
	for _, o := range c.Origins {
		if text, ok := strings.CutPrefix(o, "regex:"); ok {
			if _, err := regexp.Compile(text); err != nil {
				r.Fail(p+"allowed-origins", "%q is not a regular expression as Go reads them (without look-around and back references): %v", text, err)
			}
		}
	}
	if !own && !shared || !slices.Contains(r.Strings("hadoop.http.filter.initializers"), crossOriginFilter) {
		return CrossOrigin{}
	}
	return c
}

// crossOriginFilter is the class that turns the filter on.
const crossOriginFilter = "org.apache.hadoop.security.HttpCrossOriginFilterInitializer"

// list reads a comma list with a default.
func (r *Reader) list(name, def string) []string {
	if got := r.Strings(name); got != nil {
		return got
	}
	return splitList(def)
}

// intBytes bounds sizes that Java keeps in an int.
var intBytes = Range{1, math.MaxInt32}

func (r *Reader) ipc() IPC {
	return IPC{
		MaxData:        r.Int64("ipc.maximum.data.length", 128<<20, intBytes),
		MaxResponse:    r.Int64("ipc.maximum.response.length", 128<<20, intBytes),
		MaxConnections: r.Int("ipc.server.max.connections", 0, NotBelow(0)),
	}
}

func (r *Reader) allocation() Allocation {
	const y = "yarn.scheduler."
	scheduler, _ := r.Class(rm+"scheduler.class", "capacity", schedulerClasses)
	least := Positive
	if scheduler == "fair" { // its sizes are multiples of another property
		least = NotBelow(0)
	}
	a := Allocation{
		Scheduler:      scheduler,
		MinimumMB:      int64(r.Int32(y+"minimum-allocation-mb", 1024, least)),
		MaximumMB:      int64(r.Int32(y+"maximum-allocation-mb", 8192, Positive)),
		MinimumVCores:  r.Int32(y+"minimum-allocation-vcores", 1, least),
		MaximumVCores:  r.Int32(y+"maximum-allocation-vcores", 4, Positive),
		ExpiryInterval: r.Duration(rm+"rm.container-allocation.expiry-interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond),
		PortInNodeName: r.Bool(y+"include-port-in-node-name", false),
		Correct:        r.Bool(rm+"scheduler.autocorrect.container.allocation", false),
		AutoUpdate:     r.Bool(rm+"auto-update.containers", false),
	}
	if a.MinimumMB > a.MaximumMB {
		r.Fail(y+"minimum-allocation-mb", "must not be above %smaximum-allocation-mb, which is %d", y, a.MaximumMB)
	}
	if a.MinimumVCores > a.MaximumVCores {
		r.Fail(y+"minimum-allocation-vcores", "must not be above %smaximum-allocation-vcores, which is %d", y, a.MaximumVCores)
	}
	return a
}

// maxLeastLoaded bounds the nodes among which opportunistic containers are distributed.
const maxLeastLoaded = 1000

func (r *Reader) opportunistic() Opportunistic {
	const queuing = rm + "nm-container-queuing."
	o := Opportunistic{
		Enabled:      r.Bool(rm+"opportunistic-container-allocation.enabled", false),
		Nodes:        r.Int32(rm+"opportunistic-container-allocation.nodes-used", 10, Range{1, maxLeastLoaded}),
		PerHeartbeat: r.Int32(rm+"opportunistic.max.container-allocation.per.am.heartbeat", -1, NotBelow(-1)),
		Order:        r.Duration(queuing+"sorting-nodes-interval-ms", time.Second, time.Millisecond, time.Millisecond),
		Comparator:   r.Enum(queuing+"load-comparator", "QUEUE_LENGTH", "QUEUE_LENGTH", "QUEUE_WAIT_TIME", "QUEUE_LENGTH_THEN_RESOURCES"),
		Deviations:   float32(r.Float(queuing+"queue-limit-stdev", 1, 0, 1000)),
	}
	bounds := [...]string{"min-queue-length", "max-queue-length"}
	lowest, highest := int32(5), int32(15)
	if o.Comparator == "QUEUE_WAIT_TIME" {
		bounds, lowest, highest = [...]string{"min-queue-wait-time-ms", "max-queue-wait-time-ms"}, 10, 100
	}
	o.Lowest = r.Int32(queuing+bounds[0], lowest, NotBelow(0))
	o.Highest = r.Int32(queuing+bounds[1], highest, NotBelow(0))
	return o
}

func (r *Reader) monitors() Monitors {
	m := Monitors{ShareEvery: r.Duration(rm+"monitor.capacity.queue-management.monitoring-interval", 1500*time.Millisecond, time.Millisecond, time.Millisecond)}
	enabled := r.Bool(rm+"scheduler.monitor.enable", false)
	classes := r.Strings(rm + "scheduler.monitor.policies")
	if len(classes) == 0 {
		classes = []string{preemptionPolicy}
	}
	for _, class := range classes {
		switch monitorClasses[class] {
		case "preempt":
			m.Preempt = enabled
		case "delete-queues":
			m.DeleteQueues = enabled
		case "share-out":
			m.ShareOut = enabled
		case "refresh":
			m.Refresh = enabled
		}
	}
	return m
}

// reservations reads the reservation system's settings.
//
// compat: a step or a period that makes no sense is the default one.
func (r *Reader) reservations() Reservations {
	const system = rm + "reservation-system."
	s := Reservations{
		Enabled:    r.Bool(system+"enable", false),
		ACLs:       r.Bool("yarn.acl.enable", false) && r.Bool("yarn.acl.reservation-enable", false),
		Step:       r.Duration(system+"planfollower.time-step", time.Second, time.Millisecond, time.Millisecond),
		MaxPeriod:  r.Int64(system+"max-periodicity", 86_400_000, AnyInt),
		Early:      r.Bool(system+"favor-early-allocation", true),
		Smoothness: r.Int32(system+"smoothness-factor", 10, Positive),
	}
	if s.MaxPeriod <= 0 {
		s.MaxPeriod = 86_400_000
	}
	return s
}

func (r *Reader) applications() Applications {
	a := Applications{
		MasterExpiry:   r.Duration("yarn.am.liveness-monitor.expiry-interval-ms", 15*time.Minute, time.Millisecond, time.Millisecond),
		MaxAttempts:    r.Int(rm+"am.max-attempts", 2, Positive),
		MaxPriority:    r.Int32("yarn.cluster.max-application-priority", 0, NotBelow(0)),
		MaxCompleted:   r.Int(rm+"max-completed-applications", 1000, NotBelow(0)),
		MaxTags:        r.Int(rm+"application.max-tags", 10, NotBelow(0)),
		MaxTagLength:   r.Int(rm+"application.max-tag.length", 100, NotBelow(0)),
		LaunchHandlers: r.Int(rm+"amlauncher.thread-count", 50, Range{1, maxHandlers}),
	}
	a.GlobalMaxAttempts = r.Int(rm+"am.global.max-attempts", a.MaxAttempts, Positive)
	return a
}

func (r *Reader) nodes() Nodes {
	n := Nodes{
		Expiry:         r.Duration("yarn.nm.liveness-monitor.expiry-interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond),
		MinimumVersion: r.String(rm+"nodemanager.minimum.version", "NONE"),
		Heartbeat:      r.Duration(rm+"nodemanagers.heartbeat-interval-ms", time.Second, time.Millisecond, time.Millisecond),
		DrainStatus:    r.Duration(rm+"decommissioning-nodes-watcher.poll-interval-secs", 20*time.Second, time.Second, time.Second),

		UntrackedTimeout:        time.Duration(r.Int32(rm+"node-removal-untracked.timeout-ms", 60_000, Positive)) * time.Millisecond,
		RemovedStates:           r.removedStates(),
		UntrackedWithoutInclude: r.Bool(rm+"enable-node-untracked-without-include-path", false),
		ShowUnregistered:        r.Bool(rm+"enable-tracking-for-unregistered-nodes", false),
	}
	if n.Expiry < n.Heartbeat {
		r.Fail("yarn.nm.liveness-monitor.expiry-interval-ms", "must not be shorter than %snodemanagers.heartbeat-interval-ms, which is %s", rm, n.Heartbeat)
	}
	return n
}

// removedStates are the states in which untracked nodes are removed. Hadoop passes over a name that is none.
func (r *Reader) removedStates() (out []yarn.NodeState) {
	const name = rm + "node-removal-untracked.node-selective-states-to-remove"
	for _, word := range r.Strings(name) {
		switch s, _ := yarn.ParseNodeState(word); s {
		case yarn.NodeDecommissioned, yarn.NodeLost, yarn.NodeRebooted, yarn.NodeShutdown:
			out = append(out, s)
		default:
			r.Fail(name, "%q is no state in which a node has left, expected a list of DECOMMISSIONED, LOST, REBOOTED, SHUTDOWN", word)
		}
	}
	return out
}

func (r *Reader) recovery() Recovery {
	store, _ := r.Class(rm+"store.class", "", storeClasses)
	if v, ok := r.props.Lookup(rm + "store.class"); !ok || v.Origin.IsDefault() {
		store = "bolt" // FileSystemRMStateStore in Hadoop, in a directory below hadoop.tmp.dir
	}
	temporary := r.String("hadoop.tmp.dir", "/tmp/hadoop")
	return Recovery{
		Enabled:        r.Bool(rm+"recovery.enabled", false),
		Store:          store,
		Path:           r.String(rm+"heddle.state-store.path", temporary+"/yarn/system/rmstore.bolt"),
		WorkPreserving: r.Bool(rm+"work-preserving-recovery.enabled", true),
		SchedulingWait: r.Duration(rm+"work-preserving-recovery.scheduling-wait-ms", 10*time.Second, time.Millisecond, 0),
		Directory:      r.String(rm+"fs.state-store.uri", temporary+"/yarn/system/rmstore"),
		Parent:         r.String(rm+"zk-state-store.parent-path", "/rmstore"),
		RootACL:        r.String(rm+"zk-state-store.root-node.acl", ""),
		Fenced:         r.Bool(rm+"ha.enabled", false),
		AppSplit:       r.splitIndex(rm + "zk-appid-node.split-index"),
		TokenSplit:     r.splitIndex(rm + "zk-delegation-token-node.split-index"),
		MaxNode:        r.Int(rm+"zk-max-znode-size.bytes", 1<<20, Range{1 << 10, 256 << 20}),
	}
}

// splitIndex is how many characters at the end of a name are a node of their own. Hadoop takes
// 0 for a number that is not allowed, with a line in the log.
func (r *Reader) splitIndex(name string) int { return r.Int(name, 0, Range{0, 4}) }

// maxLogs bounds the log of changes of queues, which is held in memory.
const maxLogs = 100_000

func (r *Reader) queueConf() QueueConf {
	const prefix = "yarn.scheduler.configuration."
	store, _ := r.Class(prefix+"store.class", "file", confStoreClasses)
	policy, _ := r.Class(prefix+"mutation.acl-policy.class", "admins", mutationPolicies)
	temporary := r.String("hadoop.tmp.dir", "/tmp/hadoop")
	q := QueueConf{
		Store: store, QueueAdmins: policy == "queue-admins",
		Path:      r.String(prefix+"leveldb-store.path", temporary+"/yarn/system/confstore"),
		Directory: r.String(prefix+"fs.path", "file://"+temporary+"/yarn/system/schedconf"),
		Versions:  r.Int(prefix+"max.version", 100, Range{1, maxLogs}),
		Parent:    r.String(prefix+"zk-store.parent-path", "/confstore"),
		MaxLogs:   r.Int(prefix+"store.max-logs", 1000, Range{0, maxLogs}),
	}
	history := ""
	if kept := r.recovery(); kept.Enabled && kept.Store == "bolt" {
		history = kept.Path + ".queues"
	}
	q.History = r.String(rm+"heddle.configuration-history.path", history)
	return q
}

func (r *Reader) zooKeeper() ZooKeeper {
	elector := r.String(rm+"zk-address", "")
	return ZooKeeper{
		Address:       r.String("hadoop.zk.address", elector),
		Elector:       elector,
		Session:       r.Duration("hadoop.zk.timeout-ms", 10*time.Second, time.Millisecond, time.Second),
		ACL:           r.String("hadoop.zk.acl", "world:anyone:rwcda"),
		Auth:          r.String("hadoop.zk.auth", ""),
		Retries:       r.Int("hadoop.zk.num-retries", 1000, NotBelow(0)),
		RetryInterval: r.Duration("hadoop.zk.retry-interval-ms", time.Second, time.Millisecond, 0),
		MaxRequest:    r.Int(rm+"heddle.zk-max-request-bytes", 0xfffff, Range{64 << 10, 1 << 30}),
	}
}

// leastBlackBox is the least memory, in bytes, that holds more than a moment's commands.
const leastBlackBox = 1 << 20

func (r *Reader) blackBox() BlackBox {
	b := BlackBox{
		Bytes:       r.Int(rm+"heddle.black-box.bytes", 8<<20, Range{0, 1 << 30}),
		Record:      r.Bool(rm+"heddle.black-box.record", false),
		RecordBytes: r.Int64(rm+"heddle.black-box.record-bytes", 1<<30, NotBelow(leastBlackBox)),
	}
	switch {
	case b.Bytes != 0 && b.Bytes < leastBlackBox:
		r.Fail(rm+"heddle.black-box.bytes", "must be 0, which keeps nothing, or at least %d", leastBlackBox)
	case b.Bytes == 0 && b.Record:
		r.Fail(rm+"heddle.black-box.record", "must not be true where %sheddle.black-box.bytes is 0", rm)
	}
	return b
}

func (r *Reader) nodeLabels() NodeLabels {
	const l = "yarn.node-labels."
	kept, _ := r.Class(l+"fs-store.impl.class", "log", labelStoreClasses)
	return NodeLabels{
		Enabled:   r.Bool(l+"enabled", false),
		ByNodes:   r.String(l+"configuration-type", "centralized") == "distributed",
		Directory: r.String(l+"fs-store.root-dir", ""),
		NoLog:     kept == "no-log",
	}
}

func (r *Reader) tokens() Tokens {
	t := Tokens{
		AMRMKeyRolling:        r.Duration(rm+"am-rm-tokens.master-key-rolling-interval-secs", 24*time.Hour, time.Second, time.Second),
		ContainerKeyRolling:   r.Duration(rm+"container-tokens.master-key-rolling-interval-secs", 24*time.Hour, time.Second, time.Second),
		NMKeyRolling:          r.Duration(rm+"nm-tokens.master-key-rolling-interval-secs", 24*time.Hour, time.Second, time.Second),
		DelegationKeyUpdate:   r.Duration(rm+"delegation.key.update-interval", 24*time.Hour, time.Millisecond, time.Millisecond),
		DelegationRenew:       r.Duration(rm+"delegation.token.renew-interval", 24*time.Hour, time.Millisecond, time.Millisecond),
		DelegationMaxLifetime: r.Duration(rm+"delegation.token.max-lifetime", 7*24*time.Hour, time.Millisecond, time.Millisecond),
		DelegationScan:        r.Duration(rm+"delegation.token.remove-scan-interval", time.Hour, time.Millisecond, time.Millisecond),
		KeyBits:               r.Int("hadoop.security.secret-manager.key-length", 64, Range{1, 4096}),
		UseIP:                 r.Bool("hadoop.security.token.service.use_ip", true),
	}
	r.rollingAboveExpiry(t)
	return t
}

// rollingAboveExpiry is Hadoop's rule for keys: a new key is used only after
// one and a half expiries, so that everybody has it by then, and a key must
// stay for twice that.
func (r *Reader) rollingAboveExpiry(t Tokens) {
	const am, nm = "yarn.am.liveness-monitor.expiry-interval-ms", "yarn.nm.liveness-monitor.expiry-interval-ms"
	for _, k := range []struct {
		name, expiry string
		rolling, def time.Duration
	}{
		{rm + "am-rm-tokens.master-key-rolling-interval-secs", am, t.AMRMKeyRolling, 15 * time.Minute},
		{rm + "container-tokens.master-key-rolling-interval-secs", nm, t.ContainerKeyRolling, 10 * time.Minute},
		{rm + "nm-tokens.master-key-rolling-interval-secs", nm, t.NMKeyRolling, 10 * time.Minute},
	} {
		v, _ := r.props.Lookup(k.expiry)
		expiry, ok := parseDuration(v.Value, time.Millisecond)
		if !ok {
			expiry = k.def // reported where the expiry itself is read
		}
		if k.rolling/3 <= expiry {
			r.Fail(k.name, "must be more than 3 times %s, which is %s", k.expiry, expiry)
		}
	}
}

func (r *Reader) topology() Topology {
	mapping, _ := r.Class("net.topology.node.switch.mapping.impl", netPackage+"ScriptBasedMapping", topologyClasses)
	return Topology{
		Mapping:       mapping,
		Script:        r.String("net.topology.script.file.name", ""),
		ScriptMaxArgs: r.Int("net.topology.script.number.args", 100, Positive),
		Table:         r.String("net.topology.table.file.name", ""),
	}
}
