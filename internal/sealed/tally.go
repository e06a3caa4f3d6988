package sealed

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// tally counts records and checks each against its own sum: what it comes to does not depend on the order. It takes most of the time in
// which a file is opened.
type tally struct {
	o      *Options
	sealed bool
	each   func(bucket string, key, value []byte)
	image  *image

	items  [][]item // that are not counted yet, chunk by chunk
	added  int      // how many these are
	bytes  int      // how long these are
	done   int      // how many were counted before them
	coming []place  // of them, those that come in parts
	others []place  // the rest

	mu     sync.Mutex
	sums   map[string]sum
	spoilt []spoilt
}

// item is a record.
type item struct {
	bucket string
	Entry
}

// place is where an item is among all, and its rank if it is one of those that come in parts.
type place struct {
	at   int
	rank Rank
}

type spoilt struct {
	at int // in the order of the walk
	Record
	err error
}

const (
	partSize  = 2048    // records that a goroutine takes at once
	chunkSize = 4096    // items that lie together
	giveWay   = 256     // records after which a goroutine lets others run
	holdBytes = 4 << 20 // of keys and values of a file that is not mapped, which wait in memory to be counted
)

// add enters a record. key and value of a mapped file are looked at later, by several goroutines.
func (t *tally) add(bucket string, key, value []byte) {
	if t.added%chunkSize == 0 {
		t.items = append(t.items, make([]item, 0, chunkSize))
	}
	last := &t.items[len(t.items)-1]
	*last = append(*last, item{bucket, Entry{key, value}})
	if p := t.o.Parts; p != nil && bucket == p.Bucket && t.image.mapped != nil {
		t.coming = append(t.coming, place{t.added, p.Rank(key)})
	} else {
		t.others = append(t.others, place{at: t.added})
	}
	t.bytes += len(key) + len(value)
	if t.added++; t.image.mapped == nil && (t.added == chunkSize || t.bytes >= holdBytes) {
		t.takeAdded()
	}
}

// takeAdded counts what was added, in this goroutine.
func (t *tally) takeAdded() {
	t.take(t.others, t.each)
	t.done += t.added
	t.items, t.others, t.added, t.bytes = t.items[:0], t.others[:0], 0, 0
}

// take counts items and gives those that are intact to each.
func (t *tally) take(places []place, each func(bucket string, key, value []byte)) {
	var h hasher
	sums := map[string]sum{}
	var bad []spoilt
	for i, p := range places {
		if i%giveWay == 0 {
			runtime.Gosched() // whoever uses what was taken comes first
		}
		x := &t.items[p.at/chunkSize][p.at%chunkSize]
		sums[x.bucket] = sums[x.bucket].plus(h.of(x.bucket, x.Key, x.Value))
		if err := t.o.intact(t.sealed, x.bucket, x.Key, x.Value); err != nil {
			bad = append(bad, spoilt{t.done + p.at, Record{x.bucket, string(x.Key)}, err})
		} else if each != nil {
			each(x.bucket, x.Key, x.Value)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, s := range sums {
		t.sums[name] = t.sums[name].add(s)
	}
	t.spoilt = append(t.spoilt, bad...)
}

// takeAll has all processors take items of a mapped file, in numbered parts.
func (t *tally) takeAll(places []place, take func(part int, places []place)) error {
	var workers sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(errs) {
		workers.Go(func() {
			errs <- faulting(func() error {
				for {
					part := int(next.Add(1) - 1)
					from := part * partSize
					if from >= len(places) {
						return nil
					}
					take(part, places[from:min(from+partSize, len(places))])
					t.image.taken(partSize, len(places))
				}
			})
		})
	}
	workers.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// finish counts what is left and enters all in x.
func (t *tally) finish(x *reading) {
	if t.image.mapped == nil {
		t.takeAdded()
	} else if err := t.takeMapped(x); err != nil {
		x.found.file("%v", err)
	}
	x.sums = t.sums
	slices.SortFunc(t.spoilt, func(a, b spoilt) int { return cmp.Compare(a.at, b.at) })
	for _, s := range t.spoilt {
		x.found.record("record %s/%.80q: %v", s.Bucket, s.Key, s.err)
		x.spoilt = append(x.spoilt, s.Record)
	}
}

// takeMapped counts all records of a mapped file. Those of the bucket of o.Parts come last.
func (t *tally) takeMapped(x *reading) error {
	parts, last := t.o.Parts, t.coming
	err := t.takeAll(t.others, func(_ int, places []place) { t.take(places, t.each) })
	if err != nil || parts == nil {
		return err
	}
	slices.SortFunc(last, func(a, b place) int { return cmp.Or(a.rank.compare(b.rank), cmp.Compare(a.at, b.at)) })
	take := func(int, []Entry) {}
	if x.found.None() && len(t.spoilt) == 0 { // else nothing of the file is used
		var greatest Rank
		if n := len(last); n > 0 {
			greatest = last[n-1].rank
		}
		if x.refused = parts.Begin(len(last), greatest); x.refused == nil { // else the reason may be damage that the sums will show
			take = parts.Take
		}
	}
	return t.takeAll(last, func(part int, places []place) {
		entries := make([]Entry, 0, len(places))
		t.take(places, func(_ string, key, value []byte) { entries = append(entries, Entry{key, value}) })
		take(part, entries)
	})
}

// Rank is a place in an order of records: of two, the one whose first number is smaller comes first, then the one whose second is.
type Rank [2]int64

func (r Rank) compare(other Rank) int {
	if r[0] != other[0] {
		return cmp.Compare(r[0], other[0])
	}
	return cmp.Compare(r[1], other[1])
}

// Entry is a record of a bucket.
type Entry struct{ Key, Value []byte }

// Parts has whoever opens a file use the records of one bucket, of which there are many, while others of them are still being read. They count only if Open
// succeeds: a file may be found to be damaged after its last record. Where a file cannot be mapped into memory Each takes them like all others.
type Parts struct {
	Bucket string
	Rank   func(key []byte) Rank // is the order in which they come
	// Begin is told how many records there are, and the greatest rank, after all other records were given to Each and before the first part.
	// After an error Open fails: with it, or with the damage if there is some.
	Begin func(count int, greatest Rank) error
	// Take takes a part. Parts are numbered from 0 in the order of the records; several goroutines call it, not quite in that order. The entries are its own
	// only until it returns.
	Take func(part int, entries []Entry)
}
