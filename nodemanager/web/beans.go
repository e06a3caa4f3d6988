package web

import (
	"github.com/heddle-project/heddle/internal/introspect"
	"github.com/heddle-project/heddle/nodemanager/view"
)

// beans are the node's metrics as Hadoop names them.
func beans(m view.Metrics) []introspect.Bean {
	gauge, counter := introspect.Gauge, introspect.Counter
	node := introspect.Metrics(service, "NodeManagerMetrics", "yarn",
		gauge("AllocatedContainers", m.Allocated, "containers that hold resources"),
		gauge("AllocatedGB", gib(m.AllocatedMB), "their memory, GiB rounded down"),
		gauge("AllocatedVCores", m.AllocatedVCores, "their vcores"),
		gauge("AllocatedOpportunisticGB", (m.OpportunisticMB+1023)>>10, "memory of opportunistic containers that run, GiB rounded up"),
		gauge("AllocatedOpportunisticVCores", m.OpportunisticVCores, "their vcores"),
		gauge("ApplicationsRunning", m.Applications, "applications that run here"),
		gauge("AvailableGB", gib(m.AvailableMB), "memory for more containers, GiB rounded down"),
		gauge("AvailableVCores", m.AvailableVCores, "vcores for more containers"),
		gauge("BadLocalDirs", m.BadLocalDirs, "local directories that are not written to"),
		gauge("BadLogDirs", m.BadLogDirs, "log directories that are not written to"),
		gauge("CacheSizeBeforeClean", m.CacheSizeBeforeClean, "bytes of the caches at the last look"),
		gauge("ContainerCpuUtilization", float32(m.ContainersCPU), "cores that containers keep busy"),
		gauge("ContainerLaunchDurationNumOps", m.LaunchTime.Count, "launches"),
		gauge("ContainerLaunchDurationAvgTime", m.LaunchTime.Average, "milliseconds of a launch"),
		gauge("ContainerUsedMemGB", gib(m.ContainersMB), "memory that containers use, GiB rounded down"),
		gauge("ContainerUsedVMemGB", gib(m.ContainersVMB), "virtual memory that containers use, GiB rounded down"),
		counter("ContainersCompleted", m.Completed, "containers that ended well"),
		counter("ContainersFailed", m.Failed, "containers that failed"),
		gauge("ContainersGuaranteedQueued", m.QueuedGuaranteed, "guaranteed containers that wait for room"),
		gauge("ContainersIniting", m.Initializing, "containers before their process"),
		counter("ContainersKilled", m.Killed, "containers that were killed"),
		counter("ContainersLaunched", m.Launched, "containers that were launched"),
		gauge("ContainersMonitorCostTime", m.MonitorTime, "milliseconds of the last look at all containers"),
		gauge("ContainersOpportunisticQueued", m.QueuedOpportunistic, "opportunistic containers that wait for room"),
		gauge("ContainersPaused", m.Paused, "containers that are stopped until there is room"),
		gauge("ContainersRunning", m.Running, "containers with a process"),
		gauge("GoodLocalDirsDiskUtilizationPerc", m.LocalDirsPercent, "used part of the disks of good local directories, percent"),
		gauge("GoodLogDirsDiskUtilizationPerc", m.LogPercent, "used part of the disks of good log directories, percent"),
		gauge("LocalizationDurationMillisNumOps", m.LocalizationTime.Count, "localizations"),
		gauge("LocalizationDurationMillisAvgTime", m.LocalizationTime.Average, "milliseconds of a localization"),
		counter("LocalizedCacheHitBytes", m.CacheHitBytes, "bytes that were in a cache"),
		gauge("LocalizedCacheHitBytesRatio", percent(m.CacheHitBytes, m.CacheMissBytes), "part of them, percent"),
		counter("LocalizedCacheHitFiles", m.CacheHitFiles, "resources that were in a cache"),
		gauge("LocalizedCacheHitFilesRatio", percent(m.CacheHitFiles, m.CacheMissFiles), "part of them, percent"),
		counter("LocalizedCacheMissBytes", m.CacheMissBytes, "bytes that were fetched"),
		counter("LocalizedCacheMissFiles", m.CacheMissFiles, "resources that were fetched"),
		gauge("NodeCpuUtilization", float32(m.NodeCPU), "cores of the machine that are busy"),
		gauge("NodeUsedMemGB", gib(m.NodeMB), "used memory of the machine, GiB rounded down"),
		gauge("NodeUsedVMemGB", gib(m.NodeVMB), "used virtual memory of the machine, GiB rounded down"),
		gauge("PrivateBytesDeleted", m.PrivateDeleted, "bytes deleted from private caches"),
		gauge("PublicBytesDeleted", m.PublicDeleted, "bytes deleted from public caches"),
		gauge("RunningOpportunisticContainers", m.Opportunistic, "opportunistic containers that run"),
		gauge("TotalBytesDeleted", m.PublicDeleted+m.PrivateDeleted, "bytes deleted from all caches"),
	)
	shuffle := introspect.Metrics(service, "ShuffleMetrics", "mapred",
		gauge("ShuffleConnections", m.ShuffleConnections, "connections now"),
		counter("ShuffleOutputBytes", m.ShuffleBytes, "bytes of map output sent"),
		counter("ShuffleOutputsFailed", m.ShuffleFailed, "answers that were not sent whole"),
		counter("ShuffleOutputsOK", m.ShuffleOK, "answers that were sent whole"),
	)
	return []introspect.Bean{node, shuffle}
}

func gib(mb int64) int64 { return mb >> 10 }

// percent is the share of hits.
func percent(hits, misses int64) int64 {
	if hits+misses <= 0 {
		return 0
	}
	return hits * 100 / (hits + misses)
}
