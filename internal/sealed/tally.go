package sealed

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

// tally counts records and checks each against its own sum, on all processors if it
// may: what it comes to does not depend on the order. It takes most of the time in
// which a file is opened.
type tally struct {
	o      *Options
	sealed bool
	each   func(bucket string, key, value []byte)

	pile    []item      // that is handed on when it is full
	next    int         // the number of the next item
	piles   chan []item // nil: none is handed on
	workers sync.WaitGroup

	mu     sync.Mutex
	sums   map[string]sum
	spoilt []spoilt
}

// item is a record; at is its number in the order of the walk.
type item struct {
	at         int
	bucket     string
	key, value []byte
}

type spoilt struct {
	at int
	Record
	err error
}

// pileSize is how many records a goroutine takes at once.
const pileSize = 128

func newTally(o *Options, sealed bool, each func(bucket string, key, value []byte), shared bool) *tally {
	t := &tally{o: o, sealed: sealed, each: each, sums: map[string]sum{}}
	if !shared {
		return t
	}
	t.piles = make(chan []item, 2*runtime.GOMAXPROCS(0))
	for range runtime.GOMAXPROCS(0) {
		t.workers.Go(func() {
			for pile := range t.piles {
				t.take(pile)
			}
		})
	}
	return t
}

// add enters a record. key and value must stay as they are until finish.
func (t *tally) add(bucket string, key, value []byte) {
	t.pile = append(t.pile, item{t.next, bucket, key, value})
	if t.next++; len(t.pile) == pileSize {
		t.hand()
	}
}

func (t *tally) hand() {
	if t.piles == nil {
		t.take(t.pile)
		t.pile = t.pile[:0]
		return
	}
	t.piles <- t.pile
	t.pile = make([]item, 0, pileSize)
}

func (t *tally) take(pile []item) {
	var h hasher
	sums := map[string]sum{}
	var bad []spoilt
	for _, x := range pile {
		sums[x.bucket] = sums[x.bucket].plus(h.of(x.bucket, x.key, x.value))
		if err := t.o.intact(t.sealed, x.bucket, x.key, x.value); err != nil {
			bad = append(bad, spoilt{x.at, Record{x.bucket, string(x.key)}, err})
		} else if t.each != nil {
			t.each(x.bucket, x.key, x.value)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, s := range sums {
		t.sums[name] = t.sums[name].add(s)
	}
	t.spoilt = append(t.spoilt, bad...)
}

// finish waits until all are counted and enters them in x.
func (t *tally) finish(x *reading) {
	t.hand()
	if t.piles != nil {
		close(t.piles)
		t.workers.Wait()
	}
	x.sums = t.sums
	slices.SortFunc(t.spoilt, func(a, b spoilt) int { return cmp.Compare(a.at, b.at) })
	for _, s := range t.spoilt {
		x.found.record("record %s/%.80q: %v", s.Bucket, s.Key, s.err)
		x.spoilt = append(x.spoilt, s.Record)
	}
}
