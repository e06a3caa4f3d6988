package introspect

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
)

// names of runtime/metrics that are told.
const (
	heapLive     = "/memory/classes/heap/objects:bytes"
	heapUnused   = "/memory/classes/heap/unused:bytes"
	heapFree     = "/memory/classes/heap/free:bytes"
	heapReleased = "/memory/classes/heap/released:bytes"
	totalMemory  = "/memory/classes/total:bytes"
	memoryLimit  = "/gc/gomemlimit:bytes"
	collections  = "/gc/cycles/total:gc-cycles"
	goroutines   = "/sched/goroutines:goroutines"
)

// processBeans are those of every daemon: the values of Go's runtime under the
// names of the Java beans that tell the same.
func processBeans(service string, started time.Time) []Bean {
	v := read(heapLive, heapUnused, heapFree, heapReleased, totalMemory, memoryLimit, collections, goroutines)
	heap := v[heapLive] + v[heapUnused] + v[heapFree]
	other := v[totalMemory] - heap - v[heapReleased]
	limit, limitMB := int64(-1), float32(-1)
	if n := v[memoryLimit]; n < 1<<62 { // none is the largest number
		limit, limitMB = n, megabytes(n)
	}
	jvm := Metrics(service, "JvmMetrics", "jvm",
		Attribute{Name: "tag.ProcessName", Value: service}, Attribute{Name: "tag.SessionId"},
		Gauge("MemNonHeapUsedM", megabytes(other), "memory beside the heap, MiB"),
		Gauge("MemNonHeapCommittedM", megabytes(other), "memory beside the heap, MiB"),
		Gauge("MemNonHeapMaxM", float32(-1), "-1: no limit"),
		Gauge("MemHeapUsedM", megabytes(v[heapLive]), "heap in use, MiB"),
		Gauge("MemHeapCommittedM", megabytes(heap), "heap, MiB"),
		Gauge("MemHeapMaxM", limitMB, "limit of the heap, MiB; -1: none"),
		Gauge("MemMaxM", limitMB, "limit of memory, MiB; -1: none"),
		Counter("GcCount", v[collections], "collections"),
		Counter("GcTimeMillis", pauses(), "time that collections held up the program, ms"),
		Gauge("ThreadsRunnable", v[goroutines], "goroutines"),
	)
	return []Bean{jvm, securityBean(service), memoryBean(v, heap, other, limit), runtimeBean(started), threadingBean(v[goroutines]), systemBean()}
}

// securityBean tells whether callers prove who they are.
func securityBean(service string) Bean {
	return Bean{Name: "Hadoop:service=" + service + ",name=" + service, Type: service, Attributes: []Attribute{{Name: "SecurityEnabled", Value: false}}}
}

// httpBean is the traffic of a web port, under the names of Hadoop's servlet container.
func httpBean(service, address string, n webgate.TrafficStats, started time.Time) Bean {
	b := Metrics(service, "HttpServer2-"+address[strings.LastIndexByte(address, ':')+1:], "http",
		Counter("Requests", n.Requests, "requests that were answered"),
		Gauge("RequestsActive", n.Active, "requests that are being answered"),
		Gauge("RequestsActiveMax", n.MostActive, "the most requests that were answered at a time"),
		Gauge("RequestTimeMax", n.MaxTime, "the longest time of a request, ms"),
		Gauge("RequestTimeMean", n.MeanTime, "the mean time of requests, ms"),
		Gauge("RequestTimeStdDev", n.TimeDeviations, "the standard deviation of the time of requests, ms"),
		Counter("RequestTimeTotal", n.Total.Milliseconds(), "the time of all requests together, ms"),
		Counter("ResponsesBytesTotal", n.Bytes, "bytes of answers, without their headers"),
		Counter("StatsOnMs", time.Since(started).Milliseconds(), "for how long has been counted, ms"))
	b.Record = "HttpServer2"
	for class := 1; class <= 5; class++ {
		b.Attributes = append(b.Attributes, Counter("Responses"+strconv.Itoa(class)+"xx", n.Responses[class], "answers with such a status"))
	}
	return b
}

// read takes unsigned numbers.
func read(names ...string) map[string]int64 {
	samples := make([]metrics.Sample, len(names))
	for i, n := range names {
		samples[i].Name = n
	}
	metrics.Read(samples)
	out := map[string]int64{}
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			out[s.Name] = int64(min(s.Value.Uint64(), 1<<62)) //nolint:gosec // bounded
		}
	}
	return out
}

// pauses is how long collections have held up the program, in milliseconds.
func pauses() int64 {
	sample := []metrics.Sample{{Name: "/cpu/classes/gc/pause:cpu-seconds"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return int64(sample[0].Value.Float64() * 1000)
}

func megabytes(n int64) float32 { return float32(n) / (1 << 20) }

func memoryBean(v map[string]int64, heap, other, limit int64) Bean {
	usage := func(used, committed, most int64) []Attribute {
		return []Attribute{{Name: "committed", Value: committed}, {Name: "init", Value: 0}, {Name: "max", Value: most}, {Name: "used", Value: used}}
	}
	return Bean{Name: "java.lang:type=Memory", Type: "runtime/metrics", Attributes: []Attribute{
		{Name: "HeapMemoryUsage", Value: usage(v[heapLive], heap, limit)},
		{Name: "NonHeapMemoryUsage", Value: usage(other, other, -1)},
	}}
}

func runtimeBean(started time.Time) Bean {
	host, _ := os.Hostname()
	return Bean{Name: "java.lang:type=Runtime", Type: "runtime", Attributes: []Attribute{
		{Name: "Name", Value: fmt.Sprintf("%d@%s", os.Getpid(), host)},
		{Name: "Pid", Value: os.Getpid()},
		{Name: "SpecName", Value: "Go"},
		{Name: "SpecVersion", Value: strings.TrimPrefix(runtime.Version(), "go")},
		{Name: "StartTime", Value: started.UnixMilli()},
		{Name: "Uptime", Value: time.Since(started).Milliseconds()},
	}}
}

func threadingBean(n int64) Bean {
	return Bean{Name: "java.lang:type=Threading", Type: "runtime/metrics", Attributes: []Attribute{{Name: "ThreadCount", Value: n}}}
}

func systemBean() Bean {
	a := []Attribute{{Name: "Name", Value: "Linux"}, {Name: "Arch", Value: runtime.GOARCH}, {Name: "AvailableProcessors", Value: runtime.GOMAXPROCS(0)}}
	if files, err := os.ReadDir("/proc/self/fd"); err == nil {
		a = append(a, Attribute{Name: "OpenFileDescriptorCount", Value: len(files)})
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		a = append(a, Attribute{Name: "MaxFileDescriptorCount", Value: int64(min(limit.Cur, 1<<62))}) //nolint:gosec // bounded
	}
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		unit := int64(info.Unit)
		free, total, freeSwap, swap := int64(info.Freeram)*unit, int64(info.Totalram)*unit, int64(info.Freeswap)*unit, int64(info.Totalswap)*unit //nolint:gosec,unconvert // no machine has so much
		a = append(a, Attribute{Name: "FreeMemorySize", Value: free}, Attribute{Name: "FreePhysicalMemorySize", Value: free},
			Attribute{Name: "TotalMemorySize", Value: total}, Attribute{Name: "TotalPhysicalMemorySize", Value: total},
			Attribute{Name: "FreeSwapSpaceSize", Value: freeSwap}, Attribute{Name: "TotalSwapSpaceSize", Value: swap},
			Attribute{Name: "SystemLoadAverage", Value: float64(info.Loads[0]) / (1 << 16)})
	}
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) == nil {
		a = append(a, Attribute{Name: "ProcessCpuTime", Value: use.Utime.Nano() + use.Stime.Nano()})
	}
	return Bean{Name: "java.lang:type=OperatingSystem", Type: "syscall", Attributes: a}
}
