package conf

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// maxDirs bounds local and log directories of one node.
const maxDirs = 256

func (r *Reader) nodeDirs() NodeDirs {
	d := NodeDirs{
		Local: r.directories(nm+"local-dirs", r.String("hadoop.tmp.dir", "/tmp/hadoop")+"/nm-local-dir"),
		Log:   r.directories(nm+"log-dirs", "/tmp/logs"),
	}
	const mode = nm + "default-container-executor.log-dirs.permissions"
	m, err := strconv.ParseUint(r.String(mode, "710"), 8, 32)
	if err != nil || m > 0o777 {
		r.Fail(mode, "not allowed, expected an octal mode such as 710")
	}
	d.LogMode = uint32(m)
	return d
}

// directories reads a list of absolute local paths; file: URLs are taken too.
func (r *Reader) directories(name, def string) []string {
	list := r.list(name, def)
	out := make([]string, 0, len(list))
	for _, s := range list {
		dir, ok := localPath(s)
		if !ok {
			r.Fail(name, "%q is not an absolute path on this machine", clip(s))
			continue
		}
		out = append(out, dir)
	}
	out = distinct(out)
	if len(out) > maxDirs {
		r.Fail(name, "%d directories, at most %d are allowed", len(out), maxDirs)
	}
	return out
}

// localPath strips file: and redundant slashes. Names with a character that
// cannot be in the lists of a container's environment are refused.
func localPath(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "file:"); ok {
		s = rest
		if rest, ok = strings.CutPrefix(s, "//"); ok {
			s = "/" + strings.TrimLeft(rest, "/")
			if !strings.HasPrefix(rest, "/") { // file://host/path
				return "", false
			}
		}
	}
	if !strings.HasPrefix(s, "/") || strings.ContainsAny(s, "\x00\n") {
		return "", false
	}
	return path.Clean(s), true
}

func (r *Reader) nodeLaunch() NodeLaunch {
	return NodeLaunch{
		EnvWhitelist:   r.list(nm+"env-whitelist", envWhitelist),
		AdminEnv:       r.adminEnv(),
		ForcePath:      r.String(nm+"force.path", ""),
		HomeDir:        r.String(nm+"user-home-dir", "/home/"),
		DebugInfo:      r.Bool(nm+"log-container-debug-info.enabled", true),
		Nice:           r.Int(nm+"container-executor.os.sched.priority.adjustment", 0, Range{-20, 19}),
		ExitFileWait:   r.Duration(nm+"container-executor.exit-code-file.timeout-ms", 2*time.Second, time.Millisecond, 0),
		StderrPattern:  r.String(nm+"container.stderr.pattern", "{*stderr*,*STDERR*}"),
		StderrTail:     r.Int64(nm+"container.stderr.tail.bytes", 4096, Range{0, maxStderrTail}),
		DiagnosticsMax: r.Int(nm+"container-diagnostics-maximum-size", 10_000, NotBelow(0)),
		RetryInterval:  r.Duration(nm+"container-retry-minimum-interval-ms", time.Second, time.Millisecond, 0),
		KillDelay:      r.Duration(nm+"sleep-delay-before-sigkill.ms", 250*time.Millisecond, time.Millisecond, 0),
		PIDWait:        r.Duration(nm+"process-kill-wait.ms", 5*time.Second, time.Millisecond, 0),
		DeleteDelay:    r.Duration(nm+"delete.debug-delay-sec", 0, time.Second, math.MinInt64),
		DeleteThreads:  r.Int(nm+"delete.thread-count", 4, Range{1, maxHandlers}),
	}
}

const (
	envWhitelist  = "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,CLASSPATH_PREPEND_DISTCACHE,HADOOP_YARN_HOME,HADOOP_HOME,PATH,LANG,TZ"
	maxStderrTail = 1 << 20 // of each file, into a container's diagnostics
)

const executorPackage = "org.apache.hadoop.yarn.server.nodemanager."

var executorClasses = map[string]string{
	executorPackage + "DefaultContainerExecutor": "default",
	executorPackage + "LinuxContainerExecutor":   "linux",
}

// assignment is NAME=value at the start of a text or after a comma; the value
// ends at the next comma (Hadoop's pattern).
var assignment = regexp.MustCompile(`(?:^|,)([A-Za-z_][A-Za-z0-9_]*)=([^,]*)`)

// adminEnv reads the list, over which variables win that have a property of
// their own.
func (r *Reader) adminEnv() []EnvVar {
	const name = nm + "admin-env"
	var out []EnvVar
	text, ok := r.Raw(name)
	if !ok {
		text = "MALLOC_ARENA_MAX=$MALLOC_ARENA_MAX"
	}
	for _, m := range assignment.FindAllStringSubmatch(text, -1) {
		out = append(out, EnvVar{m[1], m[2]})
	}
	for _, v := range r.props.WithPrefix(name + ".") {
		value, _ := r.Raw(v.Name)
		out = append(out, EnvVar{v.Name[len(name)+1:], value})
	}
	last := map[string]int{}
	for i, v := range out {
		last[v.Name] = i
	}
	kept := out[:0]
	for i, v := range out {
		if last[v.Name] == i {
			kept = append(kept, v)
		}
	}
	return kept
}

const cgroups = nm + "linux-container-executor.cgroups."

func (r *Reader) nodeCgroups() NodeCgroups {
	const memory = nm + "resource.memory."
	c := NodeCgroups{
		Memory:        r.Bool(memory+"enabled", false),
		Enforced:      r.Bool(memory+"enforced", true),
		SoftPercent:   r.Float(memory+"cgroups.soft-limit-percentage", 90, 0, 100),
		CPU:           r.Bool(nm+"resource.cpu.enabled", false),
		Strict:        r.Bool(cgroups+"strict-resource-usage", false),
		Hierarchy:     r.String(cgroups+"hierarchy", "/hadoop-yarn"),
		DeleteDelay:   r.Duration(cgroups+"delete-delay-ms", 20*time.Millisecond, time.Millisecond, 0),
		DeleteTimeout: r.Duration(cgroups+"delete-timeout-ms", time.Second, time.Millisecond, 0),
	}
	for _, name := range []string{cgroups + "mount-path", cgroups + "v2.mount-path"} {
		dir := r.String(name, "")
		if dir != "" && !path.IsAbs(dir) {
			r.Fail(name, "not allowed, expected an absolute path")
		}
		c.Mount = cmp.Or(dir, c.Mount)
	}
	return c
}

func (r *Reader) nodeMonitor() NodeMonitor {
	m := NodeMonitor{
		Enabled:       r.Bool(nm+"container-monitor.enabled", true),
		NodeInterval:  r.Duration(nm+"resource-monitor.interval-ms", 3*time.Second, time.Millisecond, 0),
		PhysicalCheck: r.Bool(nm+"pmem-check-enabled", true),
		VirtualCheck:  r.Bool(nm+"vmem-check-enabled", true),
		VirtualRatio:  r.Float(nm+"vmem-pmem-ratio", 2.1, 0.01, math.MaxFloat32),
	}
	m.Interval = r.Duration(nm+"container-monitor.interval-ms", m.NodeInterval, time.Millisecond, 0)
	m.Enabled = m.Enabled && m.Interval > 0
	return m
}

func (r *Reader) nodeHealth() NodeHealth {
	return NodeHealth{
		Disks:     r.nodeDisks(),
		Scripts:   r.healthScripts(),
		RunBefore: r.Bool(nm+"health-checker.run-before-startup", false),
	}
}

func (r *Reader) nodeLabel() NodeLabel {
	const p = nm + "node-labels."
	every := r.Int64(p+"provider.fetch-interval-ms", 600_000, Range{-1, math.MaxInt64 / int64(time.Millisecond)})
	if every == 0 {
		r.Fail(p+"provider.fetch-interval-ms", "not allowed, expected at least 1, or -1 to find the label out once")
	}
	return NodeLabel{
		Provider:   strings.ToLower(r.String(p+"provider", "")),
		Configured: r.String(p+"provider.configured-node-partition", ""),
		Every:      time.Duration(max(every, 0)) * time.Millisecond,
		Resync:     r.Duration(p+"resync-interval-ms", 2*time.Minute, time.Millisecond, 0),
		Script:     r.String(p+"provider.script.path", ""),
		Args:       r.Strings(p + "provider.script.opts"),
		Timeout:    r.Duration(p+"provider.fetch-timeout-ms", 20*time.Minute, time.Millisecond, time.Millisecond),
	}
}

func (r *Reader) nodeDisks() NodeDisks {
	const p = nm + "disk-health-checker."
	d := NodeDisks{
		Enabled:         r.Bool(p+"enable", true),
		Interval:        r.Duration(p+"interval-ms", 2*time.Minute, time.Millisecond, time.Millisecond),
		MinHealthy:      r.Float(p+"min-healthy-disks", 0.25, 0, 1),
		UtilizationRule: r.Bool(p+"disk-utilization-threshold.enabled", true),
		MaxUsed:         r.Float(p+"max-disk-utilization-per-disk-percentage", 90, 0, 100),
		FreeRule:        r.Bool(p+"disk-free-space-threshold.enabled", true),
		MinFreeMB:       r.Int64(p+"min-free-space-per-disk-mb", 0, NotBelow(0)),
		ReturnDelay:     r.Duration(nm+"heddle.disk-return-delay-ms", 30*time.Second, time.Millisecond, 0),
		Contents:        r.Bool(p+"working-dir-content-accessibility-validation.enabled", false),
	}
	d.MaxUsedReturn = min(d.MaxUsed, r.optionalFloat(p+"disk-utilization-watermark-low-per-disk-percentage", d.MaxUsed, 0, 100))
	d.MinFreeReturnMB = max(d.MinFreeMB, r.Int64(p+"min-free-space-per-disk-watermark-high-mb", d.MinFreeMB, NotBelow(0)))
	return d
}

// optionalFloat takes blank text for unset.
func (r *Reader) optionalFloat(name string, def, low, high float64) float64 {
	if r.String(name, "") == "" {
		return def
	}
	return r.Float(name, def, low, high)
}

// scriptName can be part of a property's name.
var scriptName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,100}$`)

// healthScripts reads those that have a path: the name "script" is there by
// default without one.
func (r *Reader) healthScripts() []HealthScript {
	const p = nm + "health-checker."
	interval := r.Duration(p+"interval-ms", 10*time.Minute, time.Millisecond, time.Millisecond)
	timeout := r.Duration(p+"timeout-ms", 20*time.Minute, time.Millisecond, time.Millisecond)
	names := distinct(r.list(p+"scripts", "script"))
	if len(names) > MaxHealthScripts {
		r.Fail(p+"scripts", "%d names, at most %d are allowed", len(names), MaxHealthScripts)
		return nil
	}
	var out []HealthScript
	for _, name := range names {
		if !scriptName.MatchString(name) {
			r.Fail(p+"scripts", "%q is not a name made of letters, digits, _ . and -", clip(name))
			continue
		}
		s := HealthScript{
			Name:     name,
			Path:     r.String(p+name+".path", ""),
			Args:     r.Strings(p + name + ".opts"),
			Interval: r.positiveOr(p+name+".interval-ms", interval),
			Timeout:  r.positiveOr(p+name+".timeout-ms", timeout),
		}
		if s.Path == "" {
			continue
		}
		if !strings.HasPrefix(s.Path, "/") {
			r.Fail(p+name+".path", "not allowed, expected an absolute path")
		}
		out = append(out, s)
	}
	return out
}

// positiveOr reads milliseconds, of which 0 stands for def.
func (r *Reader) positiveOr(name string, def time.Duration) time.Duration {
	if d := r.Duration(name, def, time.Millisecond, 0); d > 0 {
		return d
	}
	return def
}

func (r *Reader) nodeLogs() NodeLogs {
	const tfile, nma = "yarn.log-aggregation.TFile.", nm + "log-aggregation."
	policy, _ := r.Class(nma+"policy.class", policyPackage+"AllContainerLogAggregationPolicy", policyClasses)
	l := NodeLogs{
		Aggregate:    r.Bool("yarn.log-aggregation-enable", false),
		DefaultFS:    r.String("fs.defaultFS", "file:///"),
		RemoteGroup:  r.String(nm+"remote-app-log-dir.groupname", ""),
		Compression:  r.Enum(nma+"compression-type", "none", "none", "gz", "lzo"),
		Policy:       policy,
		PolicyParams: r.String(nma+"policy.parameters", ""),
		FilesPerApp:  r.Int(nma+"num-log-files-per-app", 30, Positive),

		IndexedMaxBytes: int64(r.Int("indexedFile.log.roll-over.max-file-size-gb", 10, Range{0, 1 << 20})) << 30,
		IndexedRetries:  r.Int("indexedFile.fs.op.num-retries", 3, Range{0, 100}),
		IndexedPause:    r.Duration("indexedFile.fs.retry-interval-ms", time.Second, time.Millisecond, 0),

		LocalCleanup: r.Bool("yarn.log-aggregation.enable-local-cleanup", true),
		Threads:      r.Int(nm+"logaggregation.threadpool-size-max", 100, Range{1, maxHandlers}),
		Retain:       r.Duration(nm+"log.retain-seconds", 3*time.Hour, time.Second, 0),
		KeepStates:   r.Duration("yarn.log-aggregation-status.time-out.ms", 10*time.Minute, time.Millisecond, 0),
		ServerURL:    r.String("yarn.log.server.url", ""),
		ServiceURL:   r.String("yarn.log.server.web-service.url", ""),
	}
	least := r.Duration(nma+"roll-monitoring-interval-seconds.min", time.Hour, time.Second, time.Second)
	if roll := r.Duration(nma+"roll-monitoring-interval-seconds", -1, time.Second, math.MinInt64); roll > 0 {
		l.Roll = max(roll, least)
	}
	return l
}

const policyPackage = "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."

var policyClasses = map[string]string{
	policyPackage + "AllContainerLogAggregationPolicy":            "all",
	policyPackage + "AMOnlyLogAggregationPolicy":                  "am",
	policyPackage + "AMOrFailedContainerLogAggregationPolicy":     "am-or-failed",
	policyPackage + "FailedContainerLogAggregationPolicy":         "failed",
	policyPackage + "FailedOrKilledContainerLogAggregationPolicy": "failed-or-killed",
	policyPackage + "SampleContainerLogAggregationPolicy":         "sample",
	policyPackage + "LimitSizeContainerLogAggregationPolicy":      "limit-size",
	policyPackage + "NoneContainerLogAggregationPolicy":           "none",
}

// maxAux bounds auxiliary services of one node.
const maxAux = 64

// auxName is Hadoop's rule for names of auxiliary services.
var auxName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}$`)

var auxClasses = map[string]string{"org.apache.hadoop.mapred.ShuffleHandler": "shuffle"}

func (r *Reader) auxServices() []AuxService {
	const p = nm + "aux-services"
	names := distinct(r.Strings(p))
	if len(names) > maxAux {
		r.Fail(p, "%d names, at most %d are allowed", len(names), maxAux)
		return nil
	}
	var out []AuxService
	for _, name := range names {
		if !auxName.MatchString(name) {
			r.Fail(p, "%q is not a name made of letters, digits and _ that does not begin with a digit", clip(name))
			continue
		}
		def := ""
		if name == "mapreduce_shuffle" {
			def = "shuffle"
		}
		class, _ := r.Class(p+"."+name+".class", def, auxClasses)
		if class == "" {
			r.Fail(p+"."+name+".class", "not set, and needed because %s names %s", p, name)
		}
		out = append(out, AuxService{name, class})
	}
	return out
}
