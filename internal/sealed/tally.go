package sealed

import (
	"bytes"
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// tally adds up the sum of each bucket and checks each record by its own checksum. The result does not depend on the order of the records.
// Most of the time in which a file is opened goes into it.
type tally struct {
	o      *Options
	sealed bool                                   // as Options.Intact is told
	each   func(bucket string, key, value []byte) // takes intact records; nil: nobody does
	image  *image

	added    int          // number of records
	byLength map[int]*run // those for Options.Parts, by the length of the key
	others   []*pile      // all others; of a file that is not mapped only those that are not counted yet
	held     int          // number of records in others
	bytes    int          // length of their keys and values

	mu     sync.Mutex
	sums   map[string]sum // by bucket
	spoilt []spoilt
}

// pile holds records of one bucket, in the order in which they were added.
type pile struct {
	bucket string
	chunks [][]Entry // all but the last one are full
}

func (p *pile) add(e Entry) {
	last := len(p.chunks) - 1
	switch {
	case last < 0:
		p.chunks, last = append(p.chunks, nil), 0 // it grows as it fills: there may be many small piles
	case len(p.chunks[last]) == chunkSize:
		p.chunks, last = append(p.chunks, make([]Entry, 0, chunkSize)), last+1
	}
	p.chunks[last] = append(p.chunks[last], e)
}

// parts appends the records to list, in parts.
func (p *pile) parts(list []part) []part {
	for _, chunk := range p.chunks {
		for entries := range slices.Chunk(chunk, partSize) {
			list = append(list, part{p.bucket, entries})
		}
	}
	return list
}

// part is at most partSize records of a bucket.
type part struct {
	bucket  string
	entries []Entry
}

// run is a pile of records for Options.Parts whose keys are equally long.
type run struct {
	pile
	first, last Rank
	unsorted    bool // some record does not have a higher rank than the one before
}

func (r *run) add(e Entry, rank Rank) {
	if len(r.chunks) == 0 {
		r.first = rank
	} else if r.last.compare(rank) >= 0 {
		r.unsorted = true
	}
	r.last = rank
	r.pile.add(e)
}

// spoilt is a record that is not intact.
type spoilt struct {
	Record
	err error
}

const (
	partSize  = 256     // the largest number of records in a part
	chunkSize = 4096    // records of a chunk
	giveWay   = 256     // records after which a goroutine lets others run
	holdBytes = 4 << 20 // keys and values held in memory until they are counted, where the file is not mapped
)

// add enters a record. It is counted in finish if the file is mapped, else once enough are held.
func (t *tally) add(bucket string, key, value []byte) {
	t.added++
	if p := t.o.Parts; p != nil && bucket == p.Bucket && t.image.mapped != nil {
		r := t.byLength[len(key)]
		if r == nil {
			r = &run{pile: pile{bucket: bucket}}
			t.byLength[len(key)] = r
		}
		r.add(Entry{key, value}, p.Rank(key))
		return
	}
	if n := len(t.others); n == 0 || t.others[n-1].bucket != bucket {
		t.others = append(t.others, &pile{bucket: bucket})
	}
	t.others[len(t.others)-1].add(Entry{key, value})
	t.held, t.bytes = t.held+1, t.bytes+len(key)+len(value)
	if t.image.mapped == nil && (t.held == chunkSize || t.bytes >= holdBytes) {
		t.countHeld()
	}
}

// countHeld counts the records of a file that is not mapped.
func (t *tally) countHeld() {
	for _, p := range t.others {
		for _, chunk := range p.chunks {
			t.count(p.bucket, chunk, t.each)
		}
	}
	t.others, t.held, t.bytes = t.others[:0], 0, 0
}

// count counts records of a bucket and gives those that are intact to each.
func (t *tally) count(bucket string, entries []Entry, each func(bucket string, key, value []byte)) {
	var h hasher
	var all sum
	var bad []spoilt
	for i, e := range entries {
		if i%giveWay == 0 {
			runtime.Gosched() // those who use the records come first
		}
		all = all.plus(h.of(bucket, e.Key, e.Value))
		if err := t.o.intact(t.sealed, bucket, e.Key, e.Value); err != nil {
			bad = append(bad, spoilt{Record{bucket, string(e.Key)}, err})
		} else if each != nil {
			each(bucket, e.Key, e.Value)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sums[bucket] = t.sums[bucket].add(all)
	t.spoilt = append(t.spoilt, bad...)
}

// inParts shares the parts out among one goroutine for each processor. Each goroutine calls worker once, and what that returns for each of its parts. After a
// fault parts may be left out.
func (t *tally) inParts(parts []part, worker func() func(number int, p part)) error {
	var workers sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(errs) {
		workers.Go(func() {
			do := worker()
			errs <- catchFault(func() error {
				for {
					number := int(next.Add(1) - 1)
					if number >= len(parts) {
						return nil
					}
					do(number, parts[number])
					t.image.progress(len(parts[number].entries), t.added)
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

// finish counts what is left and enters the result in x.
func (t *tally) finish(x *reading) {
	if t.image.mapped == nil {
		t.countHeld()
	} else if err := t.countMapped(x); err != nil {
		x.found.file("%v", err)
	}
	x.sums = t.sums
	slices.SortFunc(t.spoilt, func(a, b spoilt) int {
		return cmp.Or(strings.Compare(a.Bucket, b.Bucket), strings.Compare(a.Key, b.Key))
	})
	for _, s := range t.spoilt {
		x.found.record("record %s/%.80q: %v", s.Bucket, s.Key, s.err)
		x.spoilt = append(x.spoilt, s.Record)
	}
}

// countMapped counts all records of a mapped file, those for Options.Parts last.
func (t *tally) countMapped(x *reading) error {
	var others []part
	for _, p := range t.others {
		others = p.parts(others)
	}
	err := t.inParts(others, func() func(int, part) {
		return func(_ int, p part) { t.count(p.bucket, p.entries, t.each) }
	})
	if err != nil || t.o.Parts == nil {
		return err
	}
	ranked, count, greatest := t.ranked()
	take := func(int, []Entry) {}
	if x.found.None() && len(t.spoilt) == 0 { // else nothing of the file is used
		// If Begin fails, go on counting: the cause may be damage that only the sums show.
		if x.refused = t.o.Parts.Begin(count, greatest); x.refused == nil {
			take = t.o.Parts.Take
		}
	}
	return t.inParts(ranked, func() func(int, part) {
		intact := make([]Entry, 0, partSize)
		return func(number int, p part) {
			intact = intact[:0]
			t.count(p.bucket, p.entries, func(_ string, key, value []byte) { intact = append(intact, Entry{key, value}) })
			take(number, intact)
		}
	})
}

// ranked returns the records for Options.Parts by rank, in parts, how many they are, and the greatest rank.
func (t *tally) ranked() (parts []part, count int, greatest Rank) {
	sorted := true
	// Usually longer keys have higher ranks, and those of one length are in the order of their ranks: then nothing is left to sort.
	for _, length := range slices.Sorted(maps.Keys(t.byLength)) {
		r := t.byLength[length]
		if r.unsorted || len(parts) > 0 && greatest.compare(r.first) >= 0 {
			sorted = false
		}
		parts, greatest = r.parts(parts), r.last
	}
	for _, p := range parts {
		count += len(p.entries)
	}
	if sorted {
		return parts, count, greatest
	}
	type place struct {
		rank Rank
		Entry
	}
	places := make([]place, 0, count)
	for _, p := range parts {
		for _, e := range p.entries {
			places = append(places, place{t.o.Parts.Rank(e.Key), e})
		}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(a.rank.compare(b.rank), bytes.Compare(a.Key, b.Key)) })
	all := pile{bucket: t.o.Parts.Bucket}
	for _, p := range places {
		all.add(p.Entry)
	}
	return all.parts(nil), count, places[count-1].rank
}

// Rank orders records: by the first number, then by the second, ascending.
type Rank [2]int64

func (r Rank) compare(other Rank) int {
	if r[0] != other[0] {
		return cmp.Compare(r[0], other[0])
	}
	return cmp.Compare(r[1], other[1])
}

// Entry is a record without the name of its bucket.
type Entry struct{ Key, Value []byte }

// Parts takes the records of one large bucket in parts, while Open still reads the rest of them. As with Each, they count only if Open succeeds:
// damage may be found after the last record. If the file is new or cannot be mapped into memory, Parts is not used and Each takes all records.
type Parts struct {
	Bucket string
	Rank   func(key []byte) Rank // of a record
	// Begin is called before the first part, when Each has taken all other records, with the number of records of the bucket and their greatest rank.
	// It is not called if damage has been found by then. If it fails, Open fails: with its error, or with the damage if there is any.
	Begin func(count int, greatest Rank) error
	// Take takes the intact records of a part. Parts are numbered from 0 by rank; several goroutines call Take at once, in no certain order of parts.
	// The entries are its own only until it returns.
	Take func(part int, entries []Entry)
}
