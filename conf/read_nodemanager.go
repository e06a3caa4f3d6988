package conf

import (
	"math"
	"strings"
	"time"
)

const nm = "yarn.nodemanager."

// ReadNodeManager turns properties into settings. The error is Problems with
// every bad value. It is a pure function: same properties, same answer.
func ReadNodeManager(p *Properties) (*NodeManager, error) {
	r := NewReader(p)
	s := readNodeManager(r)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func readNodeManager(r *Reader) *NodeManager {
	s := &NodeManager{
		Containers: r.nodeEndpoint("address", 0),
		Tracker:    r.tracker(),
		IPC:        r.ipc(),
		Web:        r.nodeWeb(),
		Resources:  r.nodeResources(),
		Dirs:       r.nodeDirs(),
		Launch:     r.nodeLaunch(),
		Cgroups:    r.nodeCgroups(),
		Queue:      r.nodeQueue(),
		Localizer:  r.nodeLocalizer(),
		Monitor:    r.nodeMonitor(),
		Health:     r.nodeHealth(),
		Label:      r.nodeLabel(),
		Logs:       r.nodeLogs(),
		Aux:        r.auxServices(),
		Shuffle:    r.shuffle(),
		Security:   r.security(),
	}
	s.Recovery = r.nodeRecovery(s.Containers.Address.Port)
	return s
}

// nodeEndpoint reads a listener of the NodeManager. The default host is
// yarn.nodemanager.hostname even when no defaults are loaded.
func (r *Reader) nodeEndpoint(name string, port int) Endpoint {
	a := r.Address(nm+name, Address{r.String(nm+"hostname", "0.0.0.0"), port}.String(), port)
	return Endpoint{Address: a, Bind: r.Bind(nm+"bind-host", a)}
}

// maxResourceManagers bounds yarn.resourcemanager.ha.rm-ids.
const maxResourceManagers = 32

func (r *Reader) tracker() Tracker {
	ha := r.Bool(rm+"ha.enabled", false)
	t := Tracker{
		Targets:        r.trackerTargets(ha),
		MinimumVersion: r.String(nm+"resourcemanager.minimum.version", "NONE"),
		Preserve:       r.Bool(rm+"work-preserving-recovery.enabled", true),
		StoppedFor:     r.Duration(nm+"duration-to-track-stopped-containers", 10*time.Minute, time.Millisecond, 0),
	}
	r.trackerPolicy(&t, ha)
	return t
}

// trackerTargets are the ResourceManagers: one, or one per rm-id.
func (r *Reader) trackerTargets(ha bool) []TrackerTarget {
	const name, host, port = rm + "resource-tracker.address", rm + "hostname", 8031
	if !ha {
		a := r.Address(name, Address{r.String(host, "0.0.0.0"), port}.String(), port)
		return []TrackerTarget{{Address: a, Property: r.Source(name)}}
	}
	ids := distinct(r.Strings(rm + "ha.rm-ids"))
	if len(ids) == 0 || len(ids) > maxResourceManagers {
		r.Fail(rm+"ha.rm-ids", "%d ids, want 1 to %d while %sha.enabled is true", len(ids), maxResourceManagers, rm)
		return nil
	}
	var out []TrackerTarget
	for _, id := range ids {
		t := TrackerTarget{Property: name + "." + id}
		if t.Address = r.Address(t.Property, "", port); t.Address.IsZero() {
			t.Property = host + "." + id
			t.Address = r.Address(t.Property, "", port)
			t.Address.Port = port
		}
		if t.Address.Host == "" {
			r.Fail(name+"."+id, "not set, and neither is %s", t.Property)
		}
		out = append(out, t)
	}
	return out
}

// resourceManagerPages is where the ResourceManager's pages are, of the first
// one with high availability.
func (r *Reader) resourceManagerPages() Address {
	const name, host, port = rm + "webapp.address", rm + "hostname", 8088
	if ids := r.Strings(rm + "ha.rm-ids"); r.Bool(rm+"ha.enabled", false) && len(ids) > 0 {
		if a := r.Address(name+"."+ids[0], "", port); !a.IsZero() {
			return a
		}
		a := r.Address(host+"."+ids[0], "", port)
		a.Port = port
		return a
	}
	return r.Address(name, Address{r.String(host, "0.0.0.0"), port}.String(), port)
}

// trackerPolicy is that of Hadoop's ServerRMProxy: the NodeManager's own wait
// and interval (yarn.nodemanager.…) win over those for all programs.
func (r *Reader) trackerPolicy(t *Tracker, ha bool) {
	const connect = "resourcemanager.connect."
	wait := r.Int64("yarn."+connect+"max-wait.ms", 900_000, NotBelow(-1))
	wait = r.Int64(nm+connect+"max-wait.ms", wait, NotBelow(-1))
	interval := r.Int64("yarn."+connect+"retry-interval.ms", 30_000, Positive)
	interval = r.Int64(nm+connect+"retry-interval.ms", interval, Positive)
	base, most, given := interval, interval, 0
	if ha {
		base = r.Int64("yarn.client.failover-sleep-base-ms", interval, Positive)
		most = r.Int64("yarn.client.failover-sleep-max-ms", interval, Positive)
		given = r.Int("yarn.client.failover-max-attempts", 0, AnyInt)
	}
	t.Base, t.Most = milliseconds(base), milliseconds(most)
	t.CallTimeout, t.Connect = r.CallTimeout(), r.Connect(ha)
	switch {
	case given > 0:
		t.Attempts = given
	case wait < 0:
		t.Attempts = math.MaxInt
	default:
		t.Attempts = int(min(wait/base+1, math.MaxInt32))
	}
}

func milliseconds(n int64) time.Duration {
	return time.Duration(saturatingMul(n, int64(time.Millisecond)))
}

func (r *Reader) nodeWeb() NodeWeb {
	w := NodeWeb{
		Endpoint:            r.nodeEndpoint("webapp.address", 8042),
		ResourceManager:     r.resourceManagerPages(),
		StaticUser:          r.String("hadoop.http.staticuser.user", "dr.who"),
		AnonymousWrites:     r.Bool("yarn.webapp.heddle.anonymous-writes", false),
		SimpleAnonymous:     r.Bool("hadoop.http.authentication.simple.anonymous.allowed", true),
		FilterByUser:        r.Bool("yarn.webapp.filter-entity-list-by-user", false),
		SignatureSecretFile: r.String("hadoop.http.authentication.signature.secret.file", ""),
		CookieLife:          r.Duration("hadoop.http.authentication.token.validity", 10*time.Hour, time.Second, time.Second),
		CSRF:                r.csrf(nm),
		CrossOrigin:         r.crossOrigin(nm),
		Introspection:       r.introspection(),
	}
	frame := r.Enum(nm+"webapp.xfs-filter.xframe-options", "SAMEORIGIN", "SAMEORIGIN", "DENY")
	if r.Bool("yarn.webapp.xfs-filter.enabled", true) {
		w.FrameOptions = frame
	}
	return w
}

func (r *Reader) nodeQueue() NodeQueue {
	const p, byLength, byResources = nm + "opportunistic-containers-", "BY_QUEUE_LEN", "BY_RESOURCES"
	return NodeQueue{
		ByResources: r.Enum(p+"queue-policy", byLength, byLength, byResources) == byResources,
		MaxLength:   max(r.Int(p+"max-queue-length", 0, Range{math.MinInt32, math.MaxInt32}), 0),
		Pause:       r.Bool(p+"use-pause-for-preemption", false),
	}
}

func (r *Reader) nodeLocalizer() NodeLocalizer {
	const (
		mostMB = math.MaxInt64 >> 20
		java   = "container-localizer."
	)
	return NodeLocalizer{
		Endpoint:       r.nodeEndpoint("localizer.address", 8040),
		FetchThreads:   r.Int(nm+"localizer.fetch.thread-count", 4, Range{1, maxHandlers}),
		CacheTarget:    r.Int64(nm+"localizer.cache.target-size-mb", 10240, Range{1, mostMB}) << 20,
		Cleanup:        r.Duration(nm+"localizer.cache.cleanup.interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond),
		MaxFilesPerDir: r.Int(nm+"local-cache.max-files-per-directory", 8192, NotBelow(37)),
		JavaOptions:    strings.Fields(r.String(nm+java+"admin.java.opts", "") + " " + r.String(nm+java+"java.opts", "-Xmx256m")),
		JavaExports:    r.Bool(nm+java+"java.opts.add-exports-as-default", true),
		JavaLog:        r.String(nm+java+"log.level", "INFO"),
	}
}

// nodeRecovery needs to know the port: containers and masters find a restarted
// NodeManager only where it was.
func (r *Reader) nodeRecovery(port int) NodeRecovery {
	n := NodeRecovery{
		Enabled:    r.Bool(nm+"recovery.enabled", false),
		Dir:        r.String(nm+"recovery.dir", r.String("hadoop.tmp.dir", "/tmp/hadoop")+"/yarn-nm-recovery"),
		Supervised: r.Bool(nm+"recovery.supervised", false),
	}
	if !strings.HasPrefix(n.Dir, "/") {
		r.Fail(nm+"recovery.dir", "not allowed, expected an absolute path")
	}
	if n.Enabled && port == 0 {
		r.Fail(nm+"address", "needs a fixed port while %srecovery.enabled is true", nm)
	}
	return n
}

func (r *Reader) shuffle() Shuffle {
	const p = "mapreduce.shuffle."
	return Shuffle{
		Port:           r.Int(p+"port", 13562, Range{0, math.MaxUint16}),
		MaxConnections: r.Int(p+"max.connections", 0, NotBelow(0)),
		KeepAlive:      r.Bool(p+"connection-keep-alive.enable", false),
		KeepAliveIdle:  r.Duration(p+"connection-keep-alive.timeout", 5*time.Second, time.Second, 0),
		MaxOpenFiles:   r.Int(p+"max.session-open-files", 3, Positive),
		TransferTo:     r.Bool(p+"transferTo.allowed", true),
		Readahead:      int64(r.Int(p+"readahead.bytes", 4<<20, NotBelow(0))),
		DropCache:      r.Bool(p+"manage.os.cache", true),
		IndexCache:     int64(r.Int(shuffleIndexCache, 10, NotBelow(0))) << 20,
	}
}

const shuffleIndexCache = "mapreduce.reduce.shuffle.indexcache.mb"
