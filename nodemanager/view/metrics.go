package view

// Rate is how often something happened, and how long it took on average.
type Rate struct {
	Count   int64
	Average float64 // milliseconds
}

// Metrics are the node's counters and gauges, named as in Hadoop's
// NodeManagerMetrics. A field marked "now" is the current value; the others
// count since the daemon started. Memory is in MiB.
type Metrics struct {
	Launched, Completed, Failed, Killed int64 // containers
	Initializing, Running               int64 // containers, now: localizing or about to run; with a process, be it stopped
	Applications                        int64 // running, now
	Allocated                           int64 // containers that hold resources, now
	AllocatedMB, AvailableMB            int64
	AllocatedVCores, AvailableVCores    int64
	LaunchTime                          Rate

	QueuedGuaranteed, QueuedOpportunistic int64 // containers that wait for room, now
	Paused                                int64 // containers that are stopped until there is room, now
	Opportunistic                         int64 // opportunistic containers that run or are being started, now
	OpportunisticMB, OpportunisticVCores  int64

	BadLocalDirs, BadLogDirs      int   // now
	LocalDirsPercent, LogPercent  int   // of the good directories' disks, used
	CacheHitBytes, CacheMissBytes int64 // resources that were there, and that were fetched
	CacheHitFiles, CacheMissFiles int64
	LocalizationTime              Rate
	CacheSizeBeforeClean          int64 // bytes, at the last look
	PublicDeleted, PrivateDeleted int64 // bytes of the caches
	ContainersMB, ContainersVMB   int64 // used by all containers, now
	ContainersCPU                 float64
	NodeMB, NodeVMB               int64 // used on the machine, now
	NodeCPU                       float64
	MonitorTime                   int64 // of the last look at all containers, milliseconds
	ShuffleBytes                  int64
	ShuffleOK, ShuffleFailed      int64 // requests answered
	ShuffleConnections            int64 // now
}
