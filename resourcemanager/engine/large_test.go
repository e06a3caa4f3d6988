package engine

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// largeCalls are allocate calls as large as the edge lets through.
var largeCalls = []struct {
	name string
	row  func(i int, a *yarn.Ask)
}{
	{"priorities", func(i int, a *yarn.Ask) { a.Priority = int32(i) }},
	{"priorities from the highest", func(i int, a *yarn.Ask) { a.Priority = int32(1_000_000 - i) }},
	{"request ids", func(i int, a *yarn.Ask) { a.AllocationRequestID = int64(i) }},
	{"request ids in no order", func(i int, a *yarn.Ask) { a.AllocationRequestID = int64(uint32(i) * 2654435761) }},
	{"sizes", func(i int, a *yarn.Ask) { a.Capability = yarn.NewResource(int64(1+i%8000), 1) }},
	{"hosts", func(i int, a *yarn.Ask) { a.Where = fmt.Sprintf("host%d", i) }},
	{"hosts of priorities", func(i int, a *yarn.Ask) { a.Priority, a.Where = int32(i/2), []string{"host1", "*"}[i%2] }},
}

const largestCall = 100_000 // master.MaxAsks

func largeAsks(row func(i int, a *yarn.Ask), count int32) []yarn.Ask {
	asks := make([]yarn.Ask, largestCall)
	for i := range asks {
		asks[i] = yarn.Ask{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: count, RelaxLocality: true, AllocationRequestID: -1, Priority: 1}
		row(i, &asks[i])
	}
	return asks
}

// BenchmarkLargeAllocate is one call of 100,000 rows: the first, the same again, and
// one that takes all back.
func BenchmarkLargeAllocate(b *testing.B) {
	for _, x := range largeCalls {
		b.Run(x.name, func(b *testing.B) {
			var took [3]time.Duration
			for range b.N {
				p, _, masters := newPlant(b, 10, 1)
				for i, count := range []int32{3, 3, 0} {
					asks := largeAsks(x.row, count)
					began := time.Now()
					p.poll(masters[0], asks)
					took[i] += time.Since(began)
				}
			}
			for i, name := range []string{"first-ms", "again-ms", "back-ms"} {
				b.ReportMetric(float64(took[i].Microseconds())/1000/float64(b.N), name)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestLargeCalls: what a call costs grows with its rows, whatever they name, however
// often it comes again. If each row looked at all others, or moved them, this would take
// half a minute and more.
func TestLargeCalls(t *testing.T) {
	p, _, masters := newPlant(t, 10, 1)
	began := time.Now()
	for _, count := range []int32{3, 3, 0} {
		p.poll(masters[0], largeAsks(func(i int, a *yarn.Ask) {
			a.Priority, a.AllocationRequestID = int32(largestCall-i), int64(uint32(i)*2654435761)
			if i%4 == 0 {
				a.Where = fmt.Sprintf("host%d", i)
			}
		}, count))
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("three calls of %d rows took %s", largestCall, took)
	}
}

// TestLargeUpdates: a call that changes every container of an attempt lists them once,
// not for each change. What it allocates grows with the changes, and is counted.
func TestLargeUpdates(t *testing.T) {
	const few, times = 2_000, 10 // master.MaxUpdates, and far more
	least, most := allocatedByUpdates(t, few), allocatedByUpdates(t, few*times)
	for i, when := range []string{"first", "again"} {
		if most[i] > 2*times*least[i] {
			t.Errorf("%s: %d changes allocated %d KB, %d times as many %d KB", when, few, least[i]>>10, times, most[i]>>10)
		}
	}
}

// allocatedByUpdates is how many bytes two calls allocate that enlarge each of so many
// containers of one attempt. The second takes back what the first asks for, and asks anew.
func allocatedByUpdates(t *testing.T, count int) (bytes [2]uint64) {
	const each = 50
	p, nodes, masters := newPlant(t, count/each, 1)
	var updates []yarn.ContainerUpdate
	for _, n := range nodes {
		for _, s := range p.place(n, masters[0], each) {
			updates = append(updates, yarn.ContainerUpdate{Container: s.ID, Type: yarn.IncreaseResource, Capability: yarn.NewResource(2048, 1)})
		}
	}
	slices.Reverse(updates)
	for i := range bytes {
		call := &Allocate{Ticket: 1, Attempt: masters[0], ResponseID: p.polls[masters[0]], Updates: slices.Clone(updates)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p.do(call)
		runtime.ReadMemStats(&after)
		bytes[i] = after.TotalAlloc - before.TotalAlloc
		r := p.fx.Replies[0].Value.(*AllocateReply)
		if p.polls[masters[0]] = r.ResponseID; len(r.UpdateErrors) > 0 {
			t.Fatalf("%d of %d were refused: %+v", len(r.UpdateErrors), len(updates), r.UpdateErrors[0])
		}
	}
	if u := p.e.sched.AppUsage(p.e.apps[masters[0].Application].ref); u.PendingCount != int64(len(updates)) {
		t.Errorf("%d of %d changes are wanted", u.PendingCount, len(updates))
	}
	t.Logf("%d changes: %d and %d KB", count, bytes[0]>>10, bytes[1]>>10)
	return bytes
}

// TestSignalsWait: a node that does not fetch its signals is given no more of them.
func TestSignalsWait(t *testing.T) {
	p, nodes, masters := newPlant(t, 1, 1)
	id := p.place(nodes[0], masters[0], 1)[0].ID
	for range MaxCleanup {
		p.do(SignalContainer{Ticket: 1, Container: id})
		if err := p.fx.Replies[0].Err; err != nil {
			t.Fatal(err)
		}
	}
	p.do(SignalContainer{Ticket: 1, Container: id})
	if p.fx.Replies[0].Err == nil {
		t.Error("a node has more signals to fetch than one answer brings")
	}
	p.beat(nodes[0], []ContainerStatus{{ID: id}})
	p.do(SignalContainer{Ticket: 1, Container: id})
	if err := p.fx.Replies[0].Err; err != nil {
		t.Error(err)
	}
}

// TestManyIncreasesTakenBack: an answer tells of a bounded number of increases that were taken back, and the next ones of the others.
func TestManyIncreasesTakenBack(t *testing.T) {
	const many = MaxTold + 1000
	p, nodes, masters := newPlant(t, many/50, 1)
	at := p.e.findAttempt(masters[0])
	var all []ContainerStatus
	for _, n := range nodes {
		all = append(all, p.place(n, masters[0], 50)...)
	}
	for _, s := range all {
		p.e.rollBack(p.e.byID[s.ID], yarn.NewResource(1024, 1))
	}
	var told []int
	for at.rolledBack.len() > 0 {
		told = append(told, len(p.poll(masters[0], nil).Updated))
	}
	if !slices.Equal(told, []int{MaxTold, 1000}) {
		t.Errorf("the answers tell of %v", told)
	}
}
