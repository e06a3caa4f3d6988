package engine

import (
	"fmt"
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
// often it comes again. Where each row looked at all others, or moved them, this took
// half a minute.
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
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("three calls of %d rows took %s", largestCall, took)
	}
}
