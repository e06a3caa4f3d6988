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

	image   *image
	pile    pile      // that is handed on when it is full
	next    int       // the number of the next item
	piles   chan pile // nil: none is handed on
	taken   chan pile // whose memory is used again
	workers sync.WaitGroup

	mu     sync.Mutex
	sums   map[string]sum
	spoilt []spoilt
}

// pile is what a goroutine takes at once: records, and the pages that they are all of.
type pile struct {
	items []item
	pages [][]byte
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

// pileSize is for how many records a goroutine is called.
const pileSize = 128

func newTally(o *Options, sealed bool, each func(bucket string, key, value []byte), shared bool, of *image) *tally {
	t := &tally{o: o, sealed: sealed, each: each, sums: map[string]sum{}, image: of}
	if !shared {
		return t
	}
	n := runtime.GOMAXPROCS(0)
	t.piles, t.taken = make(chan pile, 2*n), make(chan pile, 4*n)
	for i := range of.spare {
		of.spare[i] = make(chan []byte, 4*n*pileSize)
	}
	for range n {
		t.workers.Go(func() {
			for p := range t.piles {
				t.take(p.items)
				for _, b := range p.pages {
					of.reuse(b)
				}
				select {
				case t.taken <- p:
				default:
				}
			}
		})
	}
	return t
}

// add enters a record. key and value must stay as they are until finish, or until page tells that they will not.
func (t *tally) add(bucket string, key, value []byte) {
	t.pile.items = append(t.pile.items, item{t.next, bucket, key, value})
	t.next++
}

// page gives away the memory of records that were entered.
func (t *tally) page(b []byte) {
	t.pile.pages = append(t.pile.pages, b)
	if len(t.pile.items) >= pileSize {
		t.hand()
	}
}

func (t *tally) hand() {
	if t.piles == nil {
		t.take(t.pile.items)
		t.pile = pile{items: t.pile.items[:0]}
		return
	}
	t.piles <- t.pile
	select {
	case p := <-t.taken:
		t.pile = pile{p.items[:0], p.pages[:0]}
	default:
		t.pile = pile{items: make([]item, 0, pileSize+pileSize/4), pages: make([][]byte, 0, pileSize)}
	}
}

func (t *tally) take(items []item) {
	var h hasher
	sums := map[string]sum{}
	var bad []spoilt
	for _, x := range items {
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
