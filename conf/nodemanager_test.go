package conf

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// node reads name, value pairs over the defaults.
func node(t *testing.T, pairs ...string) *NodeManager {
	t.Helper()
	s, err := ReadNodeManager(nodeProperties(t, pairs...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func nodeProperties(t *testing.T, pairs ...string) *Properties {
	t.Helper()
	o := site(nil)
	o.System = map[string]string{"yarn.log.dir": "/var/log", "user.name": "u"}
	for i := 0; i < len(pairs); i += 2 {
		o.Overrides = append(o.Overrides, Override{pairs[i], pairs[i+1]})
	}
	return mustLoad(t, o)
}

// TestNodeDefaultsAgree compares the defaults written in code with Hadoop's files.
func TestNodeDefaultsAgree(t *testing.T) {
	inCode, err := ReadNodeManager(mustLoad(t, Options{NoDefaults: true}))
	if err != nil {
		t.Fatal(err)
	}
	inFiles := node(t)
	if want := []string{"/tmp/hadoop-u/nm-local-dir"}; !slices.Equal(inFiles.Dirs.Local, want) {
		t.Errorf("local directories %q", inFiles.Dirs.Local)
	}
	if want := []string{"/var/log/userlogs"}; !slices.Equal(inFiles.Dirs.Log, want) {
		t.Errorf("log directories %q", inFiles.Dirs.Log)
	}
	inCode.Dirs = inFiles.Dirs                                               // need hadoop.tmp.dir and yarn.log.dir
	inCode.Recovery.Dir = inFiles.Recovery.Dir                               // likewise
	inCode.Web.SignatureSecretFile = inFiles.Web.SignatureSecretFile         // needs user.home
	inCode.Web.Introspection.Sensitive = inFiles.Web.Introspection.Sensitive // a long list; what is always secret is in code
	if !reflect.DeepEqual(inCode, inFiles) {
		t.Errorf("code  %+v\nfiles %+v", inCode, inFiles)
	}
}

// TestNodeNamesAreKnown catches misspelt property names: all but these are in
// the default files that are embedded.
func TestNodeNamesAreKnown(t *testing.T) {
	const mapred = "of mapred-default.xml"
	only := map[string]string{
		"yarn.webapp.heddle.anonymous-writes": "ours", nm + "heddle.disk-return-delay-ms": "ours", nm + "webapp.rest-csrf.browser-useragents-regex": "code only",
		nm + "duration-to-track-stopped-containers": "code only", nm + "resource.cpu.enabled": "code only", nm + "user-home-dir": "code only",
		"yarn.log-aggregation.TFile.remote-app-log-dir": "by format", "yarn.log-aggregation.TFile.remote-app-log-dir-suffix": "by format",
		nm + "health-checker.script.path": "by name", nm + "health-checker.script.opts": "by name",
		nm + "health-checker.script.interval-ms": "by name", nm + "health-checker.script.timeout-ms": "by name",
		"mapreduce.shuffle.port": mapred, "mapreduce.shuffle.max.connections": mapred, "mapreduce.shuffle.connection-keep-alive.enable": mapred,
		"mapreduce.shuffle.connection-keep-alive.timeout": mapred, "mapreduce.shuffle.max.session-open-files": "code only",
		"mapreduce.shuffle.ssl.enabled": mapred, "mapreduce.shuffle.transferTo.allowed": mapred,
		"mapreduce.shuffle.readahead.bytes": "code only", "mapreduce.shuffle.manage.os.cache": "code only",
		shuffleIndexCache: "code only", "indexedFile.fs.op.num-retries": "code only", "indexedFile.fs.retry-interval-ms": "code only", "indexedFile.log.roll-over.max-file-size-gb": "code only",
	}
	r := NewReader(nodeProperties(t))
	readNodeManager(r)
	for _, name := range r.Asked() {
		if !known(name) && only[name] == "" {
			t.Errorf("%s is in no default file", name)
		}
	}
	if len(r.Asked()) < 120 {
		t.Errorf("only %d names are read", len(r.Asked()))
	}
}

func TestNodeAddresses(t *testing.T) {
	s := node(t, nm+"hostname", "n1", nm+"bind-host", "0.0.0.0", nm+"webapp.address", "n2:9042")
	for _, c := range []struct {
		got  Address
		want string
	}{
		{s.Containers.Address, "n1:0"}, {s.Containers.Bind, "0.0.0.0:0"}, {s.Localizer.Address, "n1:8040"},
		{s.Web.Address, "n2:9042"}, {s.Web.Bind, "0.0.0.0:9042"},
	} {
		if c.got.String() != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
}

func TestTracker(t *testing.T) {
	const connect = "resourcemanager.connect."
	one := node(t, rm+"hostname", "rm").Tracker
	if want := []TrackerTarget{{Address: Address{"rm", 8031}, Property: rm + "resource-tracker.address"}}; !slices.Equal(one.Targets, want) {
		t.Errorf("%+v", one.Targets)
	}
	if one.Attempts != 31 || one.Base != 30*time.Second || one.Most != one.Base || one.CallTimeout != 2*time.Minute {
		t.Errorf("%+v", one)
	}
	for value, want := range map[string]time.Duration{"20000": 20 * time.Second, "0": 24 * time.Hour} {
		if got := node(t, "ipc.client.rpc-timeout.ms", value).Tracker.CallTimeout; got != want {
			t.Errorf("%s: an answer is waited for %v", value, got)
		}
	}
	if want := (Connect{10, time.Second, 20 * time.Second}); one.Connect != want {
		t.Errorf("%+v", one.Connect)
	}
	quick := []string{"ipc.client.connect.max.retries", "3", "ipc.client.connect.retry.interval", "50", "ipc.client.connect.timeout", "200"}
	if got, want := node(t, quick...).Tracker.Connect, (Connect{3, 50 * time.Millisecond, 200 * time.Millisecond}); got != want {
		t.Errorf("%+v", got)
	}
	own := node(t, nm+connect+"max-wait.ms", "-1", nm+connect+"retry-interval.ms", "500", "yarn."+connect+"max-wait.ms", "1").Tracker
	if own.Attempts != math.MaxInt || own.Base != 500*time.Millisecond {
		t.Errorf("%+v", own)
	}
	ha := node(t, rm+"ha.enabled", "true", rm+"ha.rm-ids", "a,b", rm+"hostname.a", "h1", rm+"resource-tracker.address.b", "h2:9031",
		"yarn.client.failover-sleep-base-ms", "100", "yarn.client.failover-max-attempts", "7").Tracker
	if ha.Connect.Retries != 0 {
		t.Errorf("one of several ResourceManagers is looked for %d times more", ha.Connect.Retries)
	}
	want := []TrackerTarget{
		{Address{"h1", 8031}, rm + "hostname.a"}, {Address{"h2", 9031}, rm + "resource-tracker.address.b"},
	}
	if pages := node(t, rm+"ha.enabled", "true", rm+"ha.rm-ids", "a,b", rm+"hostname.a", "h1", rm+"hostname.b", "h2").Web.ResourceManager; pages.String() != "h1:8088" {
		t.Errorf("pages at %s", pages)
	}
	if !slices.Equal(ha.Targets, want) || ha.Attempts != 7 || ha.Base != 100*time.Millisecond || ha.Most != 30*time.Second {
		t.Errorf("%+v", ha)
	}
}

// TestNodeTotals are the rules of Hadoop's NodeManagerHardwareUtils.
func TestNodeTotals(t *testing.T) {
	const p = nm + "resource."
	machine := Machine{MemoryMB: 10_000, Processors: 16, Cores: 8}
	for _, c := range []struct {
		pairs  []string
		mb, vc int64
	}{
		{nil, 8192, 8},
		{[]string{p + "memory-mb", "4096", p + "cpu-vcores", "3"}, 4096, 3},
		{[]string{p + "detect-hardware-capabilities", "true"}, 8000, 8},
		{[]string{p + "detect-hardware-capabilities", "true", p + "memory-mb", "100"}, 100, 8},
		{[]string{p + "detect-hardware-capabilities", "true", p + "system-reserved-memory-mb", "1000", p + "count-logical-processors-as-cores", "true"}, 9000, 16},
		{[]string{p + "detect-hardware-capabilities", "true", p + "percentage-physical-cpu-limit", "60", p + "pcores-vcores-multiplier", "1.5"}, 8000, 7},
		{[]string{p + "detect-hardware-capabilities", "true", p + "percentage-physical-cpu-limit", "1"}, 8000, 1},
		{[]string{p + "count-logical-processors-as-cores", "true"}, 8192, 8},
		{[]string{nm + "resource-type.memory-mb", "2Gi", nm + "resource-type.vcores", "5"}, 2048, 5},
	} {
		got, err := node(t, c.pairs...).Resources.Total(machine)
		if err != nil || got != yarn.NewResource(c.mb, c.vc) {
			t.Errorf("%v: %v %v", c.pairs, got, err)
		}
	}
	_, err := node(t, p+"detect-hardware-capabilities", "true", p+"system-reserved-memory-mb", "20000").Resources.Total(machine)
	if err == nil || !strings.Contains(err.Error(), p+"system-reserved-memory-mb is 20000") {
		t.Errorf("more reserved than there is: %v", err)
	}
}

func TestNodeResourceTypes(t *testing.T) {
	got := node(t, "yarn.resource-types", "memory-mb,gpu,disk", "yarn.resource-types.disk.units", "Gi",
		nm+"resource-type.gpu", "4", nm+"resource-type.disk", "3Ti").Resources
	total, err := got.Total(Machine{})
	want := yarn.NewResource(8192, 8)
	want[2], want[3] = 4, 3072
	if err != nil || total != want || got.Types.Format(total) != "<memory:8192, vCores:8, gpu: 4, disk: 3072>" {
		t.Errorf("%s %v", got.Types.Format(total), err)
	}
}

func TestAmounts(t *testing.T) {
	for _, c := range []struct {
		text, units string
		want        int64
		ok          bool
	}{
		{"10", "", 10, true}, {"10k", "", 10_000, true}, {"1Gi", "Mi", 1024, true}, {"1023", "Ki", 0, true}, {"5", "m", 5000, true},
		{"9000P", "p", 0, false}, {"-1", "", 0, false}, {"", "", 0, false}, {"1 G", "", 0, false}, {"1KB", "", 0, false}, {"1G", "B", 0, false},
	} {
		if got, ok := amountIn(c.text, c.units); got != c.want || ok != c.ok {
			t.Errorf("%s in %s: %d %v", c.text, c.units, got, ok)
		}
	}
}

func TestDirectories(t *testing.T) {
	got := node(t, nm+"local-dirs", "/a//b/, file:/c,file:///d/ ,/a/b", nm+"log-dirs", "/l")
	if want := []string{"/a/b", "/c", "/d"}; !slices.Equal(got.Dirs.Local, want) {
		t.Errorf("%q", got.Dirs.Local)
	}
	if got.Dirs.LogMode != 0o710 {
		t.Errorf("%o", got.Dirs.LogMode)
	}
}

func TestAdminEnv(t *testing.T) {
	got := node(t, nm+"admin-env", "A=1,B=$A:x,not this,C=", nm+"admin-env.B", "2", nm+"admin-env.D", "a,b=c").Launch.AdminEnv
	if want := []EnvVar{{"A", "1"}, {"C", ""}, {"B", "2"}, {"D", "a,b=c"}}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := node(t).Launch.AdminEnv; !slices.Equal(got, []EnvVar{{"MALLOC_ARENA_MAX", "$MALLOC_ARENA_MAX"}}) {
		t.Errorf("%q", got)
	}
}

func TestHealthSettings(t *testing.T) {
	const d, s = nm + "disk-health-checker.", nm + "health-checker."
	got := node(t, d+"max-disk-utilization-per-disk-percentage", "80", d+"disk-utilization-watermark-low-per-disk-percentage", "85",
		d+"min-free-space-per-disk-mb", "100", d+"min-free-space-per-disk-watermark-high-mb", "50",
		s+"script.path", "/ok", s+"script.opts", "-v, -x", s+"timeout-ms", "9000", s+"script.interval-ms", "0").Health
	if got.Disks.MaxUsed != 80 || got.Disks.MaxUsedReturn != 80 || got.Disks.MinFreeReturnMB != 100 {
		t.Errorf("a watermark on the wrong side counts for unset: %+v", got.Disks)
	}
	want := []HealthScript{{"script", "/ok", []string{"-v", "-x"}, 10 * time.Minute, 9 * time.Second}}
	if !reflect.DeepEqual(got.Scripts, want) {
		t.Errorf("%+v", got.Scripts)
	}
	two := node(t, s+"scripts", "a,b", s+"b.path", "/b", s+"b.timeout-ms", "1")
	if len(two.Health.Scripts) != 1 || two.Health.Scripts[0].Name != "b" || two.Health.Scripts[0].Timeout != time.Millisecond {
		t.Errorf("%+v", two.Health.Scripts)
	}
}

func TestLogSettings(t *testing.T) {
	const roll = nm + "log-aggregation.roll-monitoring-interval-seconds"
	if l := node(t).Logs; l.Roll != 0 || l.Policy != "all" || l.Retain != 3*time.Hour {
		t.Errorf("%+v", l)
	}
	if l := node(t, roll, "60").Logs; l.Roll != time.Hour {
		t.Errorf("rolling more often than allowed: %v", l.Roll)
	}
	l := node(t, roll, "60", roll+".min", "30", nm+"log-aggregation.policy.class", policyPackage+"FailedContainerLogAggregationPolicy",
		"yarn.log-aggregation.TFile.remote-app-log-dir", "/own").Logs
	if l.Roll != time.Minute || l.Policy != "failed" {
		t.Errorf("%+v", l)
	}
}

func TestCgroups(t *testing.T) {
	const memory, cpu = nm + "resource.memory.", nm + "resource.cpu.enabled"
	p := nodeProperties(t, memory+"enabled", "true", memory+"cgroups.soft-limit-percentage", "50", cpu, "true", cgroups+"v2.enabled", "true",
		cgroups+"mount-path", "/one", cgroups+"hierarchy", "a", nm+"resource.percentage-physical-cpu-limit", "80")
	s, err := ReadNodeManager(p)
	want := NodeCgroups{Memory: true, Enforced: true, SoftPercent: 50, CPU: true, Mount: "/one", Hierarchy: "a", DeleteDelay: 20 * time.Millisecond, DeleteTimeout: time.Second}
	if err != nil || s.Cgroups != want {
		t.Errorf("%+v %v", s, err)
	}
	if no, odd := split(UnsupportedByNodeManager(p)); len(no)+len(odd) != 0 {
		t.Errorf("%v %v", no, odd)
	}
	if got := node(t, cgroups+"mount-path", "/one", cgroups+"v2.mount-path", "/two").Cgroups.Mount; got != "/two" {
		t.Errorf("mounted at %s", got)
	}
}

func TestAuxServices(t *testing.T) {
	const aux = nm + "aux-services"
	p := nodeProperties(t, aux, "mapreduce_shuffle,spark_shuffle", aux+".spark_shuffle.class", "org.apache.spark.network.yarn.YarnShuffleService")
	s, err := ReadNodeManager(p)
	want := []AuxService{{"mapreduce_shuffle", "shuffle"}, {"spark_shuffle", "org.apache.spark.network.yarn.YarnShuffleService"}}
	if err != nil || !slices.Equal(s.Aux, want) {
		t.Errorf("%v %v", s, err)
	}
	no, odd := split(UnsupportedByNodeManager(p))
	if len(no) != 0 || len(odd) != 1 || odd[0].Name != aux+".spark_shuffle.class" || !strings.Contains(odd[0].Reason, "spark_shuffle will fail") {
		t.Errorf("%v %v", no, odd)
	}
}

// TestNodeManagerRefusals turns each refused feature on by itself and expects
// exactly that finding, then off again and expects none.
func TestNodeManagerRefusals(t *testing.T) {
	for _, c := range []struct{ feature, name, on, off string }{
		{"container isolation", nm + "container-executor.class", executorPackage + "LinuxContainerExecutor", executorPackage + "DefaultContainerExecutor"},
		{"container runtimes", nm + "runtime.linux.allowed-runtimes", "default,docker", "default"},
		{"Java sandbox", nm + "runtime.linux.sandbox-mode", "enforcing", "disabled"},
		{"AM proxy", nm + "amrmproxy.enabled", "true", "false"},
		{"distributed scheduling", nm + "distributed-scheduling.enabled", "true", "false"},
		{"Kerberos", "hadoop.security.authentication", "kerberos", "simple"},
		{"web filters", "hadoop.http.filter.initializers", "com.example.Guard", ""},
		{"cgroup version 1", nm + "resource.memory.enabled", "true", "false"},
		{"cgroup version 1", nm + "resource.cpu.enabled", "true", "false"},
		{"devices", nm + "resource-plugins", "yarn.io/gpu", ""},
		{"node labels", nm + "node-labels.provider", "com.example.Labels", "Script"},
		{"limits of log directories", nm + "container-log-monitor.enable", "true", "false"},
		{"log aggregation policy", nm + "log-aggregation.policy.class", "com.example.Policy", policyPackage + "AMOnlyLogAggregationPolicy"},
		{"log compression", nm + "log-aggregation.compression-type", "lzo", "gz"},
		{"shuffle over TLS", "mapreduce.shuffle.ssl.enabled", "true", "false"},
	} {
		no, _ := split(UnsupportedByNodeManager(nodeProperties(t, "yarn.log-aggregation-enable", "true", c.name, c.on)))
		if len(no) != 1 || no[0].Feature != c.feature || no[0].Name != c.name {
			t.Errorf("%s=%s: %v", c.name, c.on, no)
		}
		if no, _ := split(UnsupportedByNodeManager(nodeProperties(t, "yarn.log-aggregation-enable", "true", c.name, c.off))); len(no) != 0 {
			t.Errorf("%s=%s: %v", c.name, c.off, no)
		}
	}
}

// TestLogFormats: the list must have one of Hadoop's own formats, under any name; the first of them is written.
func TestLogFormats(t *testing.T) {
	for list, want := range map[string]Severity{"TFile": -1, "IFile": -1, "IFile,TFile": -1, "TFile,Other": -1, "Other": Refused, "Other,IFile": Changed, "Unset": Refused} {
		no, odd := split(UnsupportedByNodeManager(nodeProperties(t, "yarn.log-aggregation-enable", "true", "yarn.log-aggregation.file-formats", list,
			"yarn.log-aggregation.file-controller.IFile.class", "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController",
			"yarn.log-aggregation.file-controller.Other.class", "com.example.Controller")))
		odd = slices.DeleteFunc(append(odd, no...), func(f Finding) bool { return f.Name != "yarn.log-aggregation.file-formats" })
		if want < 0 && len(odd) > 0 || want >= 0 && (len(odd) != 1 || odd[0].Severity != want) {
			t.Errorf("%s: %v", list, odd)
		}
	}
}

// TestNodeManagerWarnings are about what is set and passed over.
func TestNodeManagerWarnings(t *testing.T) {
	for name, value := range map[string]string{
		nm + "numa-awareness.enabled":                 "true",
		nm + "containers-launcher.class":              "com.example.Launcher",
		nm + "resource.percentage-physical-cpu-limit": "80",
		nm + "vmem-chek-enabled":                      "false",
	} {
		no, odd := split(UnsupportedByNodeManager(nodeProperties(t, name, value)))
		if len(no) != 0 || len(odd) != 1 || odd[0].Name != name {
			t.Errorf("%s: %v %v", name, no, odd)
		}
	}
	if no, odd := split(UnsupportedByNodeManager(nodeProperties(t, nm+"health-checker.script.path", "/x", rm+"hostname", "rm", "mapreduce.shuffle.port", "0"))); len(no)+len(odd) != 0 {
		t.Errorf("%v %v", no, odd)
	}
}

func TestNodeQueue(t *testing.T) {
	const p = "yarn.nodemanager.opportunistic-containers-"
	if s := node(t).Queue; s != (NodeQueue{}) {
		t.Errorf("%+v", s)
	}
	if s := node(t, p+"queue-policy", "BY_RESOURCES", p+"max-queue-length", "7", p+"use-pause-for-preemption", "true").Queue; s != (NodeQueue{true, 7, true}) {
		t.Errorf("%+v", s)
	}
	if s := node(t, p+"max-queue-length", "-3").Queue; s != (NodeQueue{}) {
		t.Errorf("%+v", s)
	}
	if _, err := ReadNodeManager(nodeProperties(t, p+"queue-policy", "by_resources")); err == nil || !strings.Contains(err.Error(), "BY_QUEUE_LEN, BY_RESOURCES") {
		t.Errorf("%v", err)
	}
}

func TestNodeLocalizerOptions(t *testing.T) {
	const p = nm + "container-localizer."
	if s := node(t).Localizer; !slices.Equal(s.JavaOptions, []string{"-Xmx256m"}) || !s.JavaExports || s.JavaLog != "INFO" {
		t.Errorf("by default: %+v", s)
	}
	s := node(t, p+"admin.java.opts", " -Da=b\n -Dc ", p+"java.opts", "-Xmx1g", p+"java.opts.add-exports-as-default", "false", p+"log.level", "DEBUG").Localizer
	if !slices.Equal(s.JavaOptions, []string{"-Da=b", "-Dc", "-Xmx1g"}) || s.JavaExports || s.JavaLog != "DEBUG" {
		t.Errorf("%+v", s)
	}
}

// TestUncollectedLogs: whoever names a file system on which logs cannot be collected is told, and the others are left alone.
func TestUncollectedLogs(t *testing.T) {
	const enabled, root, own, home = "yarn.log-aggregation-enable", nm + "remote-app-log-dir", "yarn.log-aggregation.TFile.remote-app-log-dir", "fs.defaultFS"
	for _, c := range []struct {
		set    []string
		blamed string
	}{
		{[]string{enabled, "true"}, ""},
		{[]string{enabled, "true", home, "gs://bucket"}, home},
		{[]string{enabled, "false", home, "gs://bucket"}, ""},
		{[]string{home, "gs://bucket"}, ""},
		{[]string{enabled, "TRUE", home, "abfs://c@a.dfs.core.windows.net", root, "/logs"}, home},
		{[]string{enabled, "true", home, "gs://bucket", root, "hdfs://nn/logs"}, ""},
		{[]string{enabled, "true", home, "gs://bucket", root, "file:///shared/logs"}, ""},
		{[]string{enabled, "true", home, "hdfs://nn", root, "s3a://bucket/logs"}, root},
		{[]string{enabled, "true", home, "hdfs://nn", root, "https://x/logs"}, root},
		{[]string{enabled, "true", home, "hdfs://nn", root, "hdfs://nn/l", own, "WASB://c@a/logs"}, own},
		{[]string{enabled, "true", home, "hdfs://nn:8020", root, "/a:b"}, ""},
	} {
		found := UnsupportedByNodeManager(nodeProperties(t, c.set...))
		if c.blamed == "" && len(found) > 0 || c.blamed != "" && (len(found) != 1 || found[0].Name != c.blamed || found[0].Severity != Changed || found[0].Advice == "") {
			t.Errorf("%v: %v", c.set, found)
		}
	}
}
