package conf

import (
	"math"
	"time"
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
	scheduler, _ := r.Class(rm+"scheduler.class", schedulerPackage+"capacity.CapacityScheduler", schedulerClasses)
	s := &ResourceManager{
		ClusterID: r.String(rm+"cluster-id", "yarn_cluster"),
		Client:    r.endpoint(rm+"address", 8032, rm+"client.thread-count", 50),
		Master:    r.endpoint(rm+"scheduler.address", 8030, rm+"scheduler.client.thread-count", 50),
		Tracker:   r.endpoint(rm+"resource-tracker.address", 8031, rm+"resource-tracker.client.thread-count", 50),
		Admin:     r.endpoint(rm+"admin.address", 8033, rm+"admin.client.thread-count", 1),
		Scheduler: scheduler,

		Web:          r.web(),
		IPC:          r.ipc(),
		Allocation:   r.allocation(),
		Applications: r.applications(),
		Nodes:        r.nodes(),
		Recovery:     r.recovery(),
		Tokens:       r.tokens(),
		Security:     r.security(),
		Topology:     r.topology(),
	}
	return s
}

// maxHandlers bounds concurrent calls of one server.
const maxHandlers = 100_000

// endpoint reads a listener of the ResourceManager. The default host is
// yarn.resourcemanager.hostname even when no defaults are loaded.
func (r *Reader) endpoint(name string, port int, handlers string, count int) Endpoint {
	a := r.Address(name, Address{r.String(rm+"hostname", "0.0.0.0"), port}.String(), port)
	e := Endpoint{Address: a, Bind: r.Bind(rm+"bind-host", a)}
	if handlers != "" {
		e.Handlers = r.Int(handlers, count, Range{1, maxHandlers})
	}
	return e
}

func (r *Reader) web() Web {
	w := Web{
		Endpoint:              r.endpoint(rm+"webapp.address", 8088, "", 0),
		HTTPS:                 r.Address(rm+"webapp.https.address", Address{r.String(rm+"hostname", "0.0.0.0"), 8090}.String(), 8090),
		Policy:                r.Enum("yarn.http.policy", "HTTP_ONLY", "HTTP_ONLY", "HTTPS_ONLY", "HTTP_AND_HTTPS"),
		Proxy:                 r.Address("yarn.web-proxy.address", "", 9099),
		ProxyConnectTimeout:   r.Duration(rm+"proxy.connection.timeout", time.Minute, time.Millisecond, 0),
		StaticUser:            r.String("hadoop.http.staticuser.user", "dr.who"),
		AnonymousWrites:       r.Bool("yarn.webapp.heddle.anonymous-writes", false),
		SimpleAnonymous:       r.Bool("hadoop.http.authentication.simple.anonymous.allowed", true),
		UIActions:             r.Bool(rm+"webapp.ui-actions.enabled", true),
		RESTSubmission:        r.Bool("yarn.webapp.enable-rest-app-submissions", true),
		FilterByUser:          r.Bool("yarn.webapp.filter-entity-list-by-user", false),
		FilterXMLChars:        r.Bool("yarn.webapp.filter-invalid-xml-chars", false),
		DelegationTokenFilter: r.Bool(rm+"webapp.delegation-token-auth-filter.enabled", true),
		CrossOrigin:           r.crossOrigin(),
		CSRF:                  r.csrf(),
		LogServerURL:          r.String("yarn.log.server.url", ""),
	}
	w.ProxyBind = w.Proxy
	if !w.Proxy.IsZero() {
		w.ProxyBind = r.Bind("yarn.web-proxy.bind-host", w.Proxy)
	}
	if !r.Bool(rm+"proxy.timeout.enabled", true) {
		w.ProxyConnectTimeout = 0
	}
	frame := r.Enum(rm+"webapp.xfs-filter.xframe-options", "SAMEORIGIN", "SAMEORIGIN", "DENY")
	if r.Bool("yarn.webapp.xfs-filter.enabled", true) {
		w.FrameOptions = frame
	}
	return w
}

func (r *Reader) crossOrigin() CrossOrigin {
	const p = "hadoop.http.cross-origin."
	return CrossOrigin{
		Enabled: r.Bool(rm+"webapp.cross-origin.enabled", false),
		Origins: r.list(p+"allowed-origins", "*"),
		Methods: r.list(p+"allowed-methods", "GET,POST,HEAD"),
		Headers: r.list(p+"allowed-headers", "X-Requested-With,Content-Type,Accept,Origin"),
		MaxAge:  r.Duration(p+"max-age", 1800*time.Second, time.Second, 0),
	}
}

func (r *Reader) csrf() CSRF {
	const p = rm + "webapp.rest-csrf."
	return CSRF{
		Enabled:       r.Bool(p+"enabled", false),
		Header:        r.String(p+"custom-header", "X-XSRF-Header"),
		IgnoreMethods: r.list(p+"methods-to-ignore", "GET,OPTIONS,HEAD"),
		BrowserAgents: r.list(p+"browser-useragents-regex", "^Mozilla.*,^Opera.*"),
	}
}

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
		MaxData:           r.Int64("ipc.maximum.data.length", 128<<20, intBytes),
		MaxResponse:       r.Int64("ipc.maximum.response.length", 128<<20, intBytes),
		LargeResponse:     r.Int64("ipc.server.max.response.size", 1<<20, intBytes),
		MaxConnections:    r.Int("ipc.server.max.connections", 0, NotBelow(0)),
		QueuePerHandler:   r.Int("ipc.server.handler.queue.size", 100, Positive),
		ListenBacklog:     r.Int("ipc.server.listen.queue.size", 256, Positive),
		IdleScan:          r.Duration("ipc.client.connection.idle-scan-interval.ms", 10*time.Second, time.Millisecond, time.Millisecond),
		MaxIdle:           r.Duration("ipc.client.connection.maxidletime", 10*time.Second, time.Millisecond, 0),
		IdleThreshold:     r.Int("ipc.client.idlethreshold", 4000, NotBelow(0)),
		NoDelay:           r.Bool("ipc.server.tcpnodelay", true),
		SASLMechanism:     r.String("hadoop.security.sasl.mechanism", "DIGEST-MD5"),
		Protection:        r.list("hadoop.rpc.protection", "authentication"),
		PingInterval:      r.Duration("ipc.ping.interval", time.Minute, time.Millisecond, 0),
		ConnectTimeout:    r.Duration("ipc.client.connect.timeout", 20*time.Second, time.Millisecond, time.Millisecond),
		RPCTimeout:        r.Duration("ipc.client.rpc-timeout.ms", 2*time.Minute, time.Millisecond, 0),
		ConnectRetries:    r.Int("ipc.client.connect.max.retries", 10, NotBelow(0)),
		ConnectRetryPause: r.Duration("ipc.client.connect.retry.interval", time.Second, time.Millisecond, 0),
	}
}

func (r *Reader) allocation() Allocation {
	const y = "yarn.scheduler."
	a := Allocation{
		MinimumMB:      int64(r.Int32(y+"minimum-allocation-mb", 1024, Positive)),
		MaximumMB:      int64(r.Int32(y+"maximum-allocation-mb", 8192, Positive)),
		MinimumVCores:  r.Int32(y+"minimum-allocation-vcores", 1, Positive),
		MaximumVCores:  r.Int32(y+"maximum-allocation-vcores", 4, Positive),
		ExpiryInterval: r.Duration(rm+"rm.container-allocation.expiry-interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond),
		Autocorrect:    r.Bool(rm+"scheduler.autocorrect.container.allocation", false),
		PortInNodeName: r.Bool(y+"include-port-in-node-name", false),
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

func (r *Reader) applications() Applications {
	a := Applications{
		MasterExpiry:   r.Duration("yarn.am.liveness-monitor.expiry-interval-ms", 15*time.Minute, time.Millisecond, time.Millisecond),
		MaxAttempts:    r.Int(rm+"am.max-attempts", 2, Positive),
		MaxPriority:    r.Int32("yarn.cluster.max-application-priority", 0, NotBelow(0)),
		MaxCompleted:   r.Int(rm+"max-completed-applications", 1000, NotBelow(0)),
		MaxTags:        r.Int(rm+"application.max-tags", 10, NotBelow(0)),
		MaxTagLength:   r.Int(rm+"application.max-tag.length", 100, NotBelow(0)),
		TimeoutScan:    r.Duration(rm+"application-timeouts.monitor.interval-ms", 3*time.Second, time.Millisecond, time.Millisecond),
		HTTPSPolicy:    r.Enum(rm+"application-https.policy", "NONE", "NONE", "LENIENT", "STRICT"),
		LaunchHandlers: r.Int(rm+"amlauncher.thread-count", 50, Range{1, maxHandlers}),
		LaunchRetries:  r.Int(rm+"nodemanager-connect-retries", 10, NotBelow(0)),
		LogDiagnostics: r.Int(rm+"max-log-aggregation-diagnostics-in-memory", 10, NotBelow(0)),
		TagPlacement: TagPlacement{
			Enabled:        r.Bool(rm+"application-tag-based-placement.enable", false),
			Users:          r.Strings(rm + "application-tag-based-placement.username.whitelist"),
			ForceLowerCase: r.Bool(rm+"application-tag-based-placement.force-lowercase", true),
		},
		NodeBlacklisting:   r.Bool(rm+"am-scheduling.node-blacklisting-enabled", false),
		BlacklistThreshold: r.Float(rm+"am-scheduling.node-blacklisting-disable-threshold", float64(float32(0.2)), 0, 1),
	}
	a.GlobalMaxAttempts = r.Int(rm+"am.global.max-attempts", a.MaxAttempts, Positive)
	stored := r.Int(rm+"state-store.max-completed-applications", a.MaxCompleted, NotBelow(0))
	a.MaxCompletedStored = min(stored, a.MaxCompleted) // Hadoop lowers it too
	return a
}

func (r *Reader) nodes() Nodes {
	n := Nodes{
		Expiry:               r.Duration("yarn.nm.liveness-monitor.expiry-interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond),
		IncludePath:          r.String(rm+"nodes.include-path", ""),
		ExcludePath:          r.String(rm+"nodes.exclude-path", ""),
		MinimumVersion:       r.String(rm+"nodemanager.minimum.version", "NONE"),
		Heartbeat:            r.heartbeat(),
		DecommissionTimeout:  r.Duration(rm+"nodemanager-graceful-decommission-timeout-secs", time.Hour, time.Second, -time.Second),
		DecommissionPoll:     r.Duration(rm+"decommissioning-nodes-watcher.poll-interval-secs", 20*time.Second, time.Second, time.Second),
		UntrackedTimeout:     r.Duration(rm+"node-removal-untracked.timeout-ms", time.Minute, time.Millisecond, math.MinInt64),
		UntrackedWithoutList: r.Bool(rm+"enable-node-untracked-without-include-path", false),
		UntrackedStates:      r.Strings(rm + "node-removal-untracked.node-selective-states-to-remove"),
		TrackUnregistered:    r.Bool(rm+"enable-tracking-for-unregistered-nodes", false),
		HostnameCheck:        r.Bool(rm+"resource-tracker.nm.ip-hostname-check", false),
		AddressCacheExpiry:   r.Duration(rm+"node-ip-cache.expiry-interval-secs", -time.Second, time.Second, math.MinInt64),
		SkipMultiplier:       r.Int("yarn.scheduler.skip.node.multiplier", 2, NotBelow(0)),
	}
	if n.Expiry < n.Heartbeat.Interval {
		r.Fail("yarn.nm.liveness-monitor.expiry-interval-ms", "must not be shorter than %snodemanagers.heartbeat-interval-ms, which is %s", rm, n.Heartbeat.Interval)
	}
	return n
}

func (r *Reader) heartbeat() Heartbeat {
	const p = rm + "nodemanagers.heartbeat-interval-"
	h := Heartbeat{
		Interval: r.Duration(p+"ms", time.Second, time.Millisecond, time.Millisecond),
		Scaling:  r.Bool(p+"scaling-enable", false),
		Minimum:  r.Duration(p+"min-ms", time.Second, time.Millisecond, time.Millisecond),
		Maximum:  r.Duration(p+"max-ms", time.Second, time.Millisecond, time.Millisecond),
		Speedup:  r.Float(p+"speedup-factor", 1, 0, math.MaxFloat32),
		Slowdown: r.Float(p+"slowdown-factor", 1, 0, math.MaxFloat32),
	}
	if h.Scaling && (h.Minimum > h.Interval || h.Interval > h.Maximum) {
		r.Fail(p+"ms", "must lie between %smin-ms (%s) and %smax-ms (%s)", p, h.Minimum, p, h.Maximum)
	}
	return h
}

func (r *Reader) recovery() Recovery {
	store, _ := r.Class(rm+"store.class", "", storeClasses)
	if v, ok := r.props.Lookup(rm + "store.class"); !ok || v.Origin.IsDefault() {
		store = "bolt" // FileSystemRMStateStore in Hadoop, which is not built
	}
	temporary := r.String("hadoop.tmp.dir", "/tmp/hadoop")
	return Recovery{
		Enabled:        r.Bool(rm+"recovery.enabled", false),
		Store:          store,
		Path:           r.String(rm+"heddle.state-store.path", temporary+"/yarn/system/rmstore.bolt"),
		WorkPreserving: r.Bool(rm+"work-preserving-recovery.enabled", true),
		SchedulingWait: r.Duration(rm+"work-preserving-recovery.scheduling-wait-ms", 10*time.Second, time.Millisecond, 0),
		FailFast:       r.Bool(rm+"fail-fast", r.Bool("yarn.fail-fast", false)),
		Epoch:          r.Int64(rm+"epoch", 0, NotBelow(0)),
		EpochRange:     r.Int64(rm+"epoch.range", 0, NotBelow(0)),
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
		DelegationRemoval:     r.Duration(rm+"delayed.delegation-token.removal-interval-ms", 30*time.Second, time.Millisecond, 0),
		AlwaysCancel:          r.Bool(rm+"delegation-token.always-cancel", false),
		MaxConfBytes:          r.Int64(rm+"delegation-token.max-conf-size-bytes", 12800, NotBelow(0)),
		KeyAlgorithm:          r.String("hadoop.security.secret-manager.key-generator.algorithm", "HmacSHA1"),
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
