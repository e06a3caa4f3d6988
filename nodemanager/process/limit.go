package process

import (
	"fmt"
	"strconv"

	"github.com/heddle-project/heddle/yarn"
)

// Limits is what a container may use, in bytes, and which of it is enforced (yarn.nodemanager.pmem-check-enabled,
// yarn.nodemanager.vmem-check-enabled).
type Limits struct {
	Physical, Virtual           int64
	CheckPhysical, CheckVirtual bool
}

// Excess is a limit that a container exceeds.
type Excess struct {
	Exit int32 // the status that the container ends with
	By   int64 // bytes, of what is used now
	kind string
}

// Over tells whether the container exceeds a limit: its use is more than twice the limit, or processes older than one cycle use
// more than the limit. Virtual memory is checked first.
func (l Limits) Over(u Usage) (Excess, bool) {
	if l.CheckVirtual && over(u.Virtual, u.AgedVirtual, l.Virtual) {
		return Excess{yarn.ExitKilledExceededVMem, u.Virtual - l.Virtual, "VIRTUAL"}, true
	}
	if l.CheckPhysical && over(u.Physical, u.AgedPhysical, l.Physical) {
		return Excess{yarn.ExitKilledExceededPMem, u.Physical - l.Physical, "PHYSICAL"}, true
	}
	return Excess{}, false
}

func over(now, aged, limit int64) bool {
	return now/2 > limit || now > limit && now-limit > limit || aged > limit
}

// Explain is the diagnostics of the container that is killed for the excess, in Apache's words: users and scripts look for
// them. root is where the tree's command lines are read.
func (l Limits) Explain(e Excess, u Usage, id yarn.ContainerID, root Root) string {
	return fmt.Sprintf("Container [pid=%d,containerID=%s] is running %dB beyond the '%s' memory limit. Current usage: "+
		"%sB of %sB physical memory used; %sB of %sB virtual memory used. Killing container.\nDump of the process-tree for %s :\n%s",
		u.Tree[0].PID, id, e.By, e.kind, Size(u.Physical), Size(l.Physical), Size(u.Virtual), Size(l.Virtual), id, root.Dump(u.Tree))
}

// Size is a number of bytes, not negative, with a binary prefix as Hadoop writes it: "512", "1 G", "2.1 G". A half is
// rounded up.
func Size(n int64) string {
	if n < 1<<10 {
		return strconv.FormatInt(n, 10)
	}
	const prefixes = "KMGTPE"
	i := 0
	for i+1 < len(prefixes) && n >= 1<<(10*(i+2)) {
		i++
	}
	unit := uint64(1) << (10 * (i + 1))
	whole, rest := uint64(n)/unit, uint64(n)%unit
	if rest == 0 {
		return fmt.Sprintf("%d %c", whole, prefixes[i])
	}
	tenths := whole*10 + (rest*10+unit/2)/unit
	if tenths == 10240 { // rounded up to the next prefix
		tenths, i = 10, i+1
	}
	return fmt.Sprintf("%d.%d %c", tenths/10, tenths%10, prefixes[i])
}
