package process

import (
	"os"
	"time"
)

// Meter follows what one container uses. It is for one goroutine.
type Meter struct {
	pid   int
	start uint64 // of the root process; 0: not seen yet
	seen  map[identity]seen
	last  time.Duration
	spent time.Duration
}

// identity is what tells a process from a later one with the same id.
type identity struct {
	pid   int
	start uint64
}

type seen struct {
	cycles  int
	jiffies int64
}

// NewMeter follows the tree of the process.
func NewMeter(pid int) *Meter { return &Meter{pid: pid} }

// Usage is what a container's processes use at one moment. The Aged fields count only processes that the meter also saw in its
// last cycle: a process that was just forked shows its parent's memory until it starts its own program.
type Usage struct {
	Physical, Virtual         int64 // bytes
	AgedPhysical, AgedVirtual int64
	Cores                     float64       // processors kept busy since the last cycle; 0 in the first
	Spent                     time.Duration // processor time since the meter began
	Tree                      []Info
}

// Sample measures the container. now must come from a monotonic clock. It returns false once the root process has ended, even
// if another process has its id by then.
func (m *Meter) Sample(t *Table, now time.Duration) (Usage, bool) {
	tree := t.Tree(m.pid)
	if len(tree) == 0 || m.start != 0 && tree[0].Start != m.start {
		return Usage{}, false
	}
	u := Usage{Tree: tree}
	before := m.seen
	m.start, m.seen = tree[0].Start, make(map[identity]seen, len(tree))
	var spent int64
	page := int64(os.Getpagesize())
	for _, p := range tree {
		id := identity{p.PID, p.Start}
		old := before[id]
		now := seen{old.cycles + 1, p.User + p.System}
		m.seen[id] = now
		spent += max(now.jiffies-old.jiffies, 0)
		u.Physical += p.Resident * page
		u.Virtual += p.Virtual
		if now.cycles > 1 {
			u.AgedPhysical += p.Resident * page
			u.AgedVirtual += p.Virtual
		}
	}
	m.spent += time.Duration(spent) * Jiffy
	u.Spent = m.spent
	if before != nil && now > m.last {
		u.Cores = float64(time.Duration(spent)*Jiffy) / float64(now-m.last)
	}
	m.last = now
	return u, true
}
