package logs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Container is a container whose log files may be collected.
type Container struct {
	ID     yarn.ContainerID
	Master bool  // of the application
	Exit   int32 // 0 while it runs
	Ended  bool
}

// policy tells which containers' logs are worth collecting.
type policy func(c Container) bool

// The exit statuses that policies know.
const (
	exitSIGKILL    = 137
	exitSIGTERM    = 143
	exitExcessLogs = -109 // ContainerExitStatus.KILLED_FOR_EXCESS_LOGS
)

func failed(c Container) bool {
	return c.Exit != 0 && c.Exit != exitSIGKILL && c.Exit != exitSIGTERM
}

// policies are those of Hadoop, by the words of our configuration and by the
// names under which applications ask for them, without the package.
var policies = []struct {
	word, class string
	make        func(parameters string) policy
}{
	{"all", "AllContainerLogAggregationPolicy", plainly(func(Container) bool { return true })},
	{"am", "AMOnlyLogAggregationPolicy", plainly(func(c Container) bool { return c.Master })},
	{"am-or-failed", "AMOrFailedContainerLogAggregationPolicy", plainly(func(c Container) bool { return c.Master || failed(c) })},
	{"failed", "FailedContainerLogAggregationPolicy", plainly(failed)},
	{"failed-or-killed", "FailedOrKilledContainerLogAggregationPolicy", plainly(func(c Container) bool { return c.Exit != 0 })},
	{"limit-size", "LimitSizeContainerLogAggregationPolicy", plainly(func(c Container) bool { return c.Exit != exitExcessLogs })},
	{"none", "NoneContainerLogAggregationPolicy", plainly(func(Container) bool { return false })},
	{"sample", "SampleContainerLogAggregationPolicy", sample},
}

func plainly(p policy) func(string) policy { return func(string) policy { return p } }

// policyPackage is where Hadoop has its policies.
const policyPackage = "org.apache.hadoop.yarn.server.nodemanager.containermanager.logaggregation."

// findPolicy is the policy of that word, or of that Java class.
func findPolicy(name, parameters string) (policy, error) {
	for _, p := range policies {
		if name == p.word || name == policyPackage+p.class {
			return p.make(parameters), nil
		}
	}
	return nil, fmt.Errorf("%.200q is no policy of log aggregation that is known here", name)
}

// sample keeps masters, failures, the first MIN workers, and a share SR of the
// other workers. Parameters, as "SR:0.2,MIN:20", that are wrong are passed over.
//
// compat: the share comes out of a remainder of two floats, and is only roughly
// what it says.
func sample(parameters string) policy {
	rate, first := float32(0.2), int64(20)
	for _, p := range strings.Split(parameters, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), ":")
		if f, err := strconv.ParseFloat(value, 32); name == "SR" && err == nil && f >= 0 && f <= 1 {
			rate = float32(f)
		}
		if n, err := strconv.ParseInt(value, 10, 32); name == "MIN" && err == nil && n >= 0 {
			first = n
		}
	}
	return func(c Container) bool {
		switch {
		case c.Master, c.Exit != 0, c.ID.Number&(1<<yarn.EpochShift-1) < first+2:
			return true
		case rate == 0:
			return false
		}
		every := 1 / rate
		return math.Mod(float64(float32(javaHash(c.ID))), float64(every)) == 0
	}
}

// javaHash is ContainerId.hashCode.
func javaHash(id yarn.ContainerID) int32 {
	long := func(n int64) int32 { return int32(n ^ int64(uint64(n)>>32)) }
	app, h, attempt := id.Attempt.Application, int32(6521), int32(5501)
	h = 371237*h + long(app.ClusterTimestamp)
	h = 371237*h + app.Sequence
	attempt = 347671*attempt + h
	attempt = 347671*attempt + id.Attempt.Attempt
	return 31*long(id.Number) + attempt
}
