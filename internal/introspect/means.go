package introspect

import (
	"sync"
	"time"
)

// Means makes, of numbers that only grow, what happened lately: as in Hadoop a mean is that of the last whole period of ten seconds in which
// there was anything. Nothing runs between two readings; a period lasts until the first reading after it. Its methods are safe for concurrent
// use; with nil a mean is that of all time.
type Means struct {
	mu   sync.Mutex
	last map[string]*period
}

// meanPeriod is the shortest period of a mean.
const meanPeriod = 10 * time.Second

type period struct {
	since       time.Time
	count, sum  int64 // at its beginning
	mean, speed float64
}

// NewMeans has no periods yet.
func NewMeans() *Means { return &Means{last: map[string]*period{}} }

// Of is the mean of what a name stands for, of which there have been so many, that come to that sum; and how many there were in a second.
func (m *Means) Of(name string, count, sum int64) (mean, speed float64) {
	return m.at(time.Now(), name, count, sum)
}

func (m *Means) at(now time.Time, name string, count, sum int64) (mean, speed float64) {
	all := 0.0
	if count > 0 {
		all = float64(sum) / float64(count)
	}
	if m == nil {
		return all, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.last[name]
	if p == nil {
		m.last[name] = &period{since: now, count: count, sum: sum, mean: all}
		return all, 0
	}
	if n, took := count-p.count, now.Sub(p.since); took >= meanPeriod {
		if n > 0 {
			p.mean = float64(sum-p.sum) / float64(n)
		}
		p.speed = max(float64(n)/took.Seconds(), 0)
		p.since, p.count, p.sum = now, count, sum
	}
	return p.mean, p.speed
}

// GroupsBean tells how often users' groups were looked up, and how long that took together.
func (m *Means) GroupsBean(service string, n int64, took time.Duration) Bean {
	return Metrics(service, "UgiMetrics", "ugi", m.Timed("UgiMetrics", "GetGroups", n, took, "lookups of users' groups")...)
}

// Timed are NAMENumOps and NAMEAvgTime, in milliseconds, as Hadoop has them, of what was timed so often and took so long together.
func (m *Means) Timed(of, name string, count int64, took time.Duration, help string) []Attribute {
	mean, _ := m.Of(of+" "+name, count, int64(took))
	return []Attribute{Counter(name+"NumOps", count, help+": how many"), Gauge(name+"AvgTime", mean/1e6, help+": mean, ms")}
}
