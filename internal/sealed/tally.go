package sealed

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
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

	items    [][]item     // added and not counted yet, in chunks of chunkSize
	added    int          // number of items
	bytes    int          // length of their keys and values
	done     int          // records counted before them
	byLength map[int]*run // the items for Options.Parts, by the length of the key
	others   []int        // numbers of all other items

	mu     sync.Mutex
	sums   map[string]sum // by bucket
	spoilt []spoilt
}

// item is a record.
type item struct {
	bucket string
	Entry
}

// run holds the numbers of the items for Options.Parts whose keys are equally long, in the order of the walk.
type run struct {
	numbers     []int
	first, last Rank
	unsorted    bool // some item does not have a higher rank than the one before
}

func (r *run) add(number int, rank Rank) {
	if len(r.numbers) == 0 {
		r.first = rank
	} else if r.last.compare(rank) >= 0 {
		r.unsorted = true
	}
	r.numbers, r.last = append(r.numbers, number), rank
}

// spoilt is a record that is not intact.
type spoilt struct {
	at int // its number in the order of the walk
	Record
	err error
}

const (
	partSize  = 256     // records of a part
	chunkSize = 4096    // items of a chunk
	giveWay   = 256     // records after which a goroutine lets others run
	holdBytes = 4 << 20 // keys and values held in memory until they are counted, where the file is not mapped
)

// add enters a record. It is counted in finish if the file is mapped, else once enough are held.
func (t *tally) add(bucket string, key, value []byte) {
	if t.added%chunkSize == 0 {
		t.items = append(t.items, make([]item, 0, chunkSize))
	}
	last := &t.items[len(t.items)-1]
	*last = append(*last, item{bucket, Entry{key, value}})
	if p := t.o.Parts; p != nil && bucket == p.Bucket && t.image.mapped != nil {
		r := t.byLength[len(key)]
		if r == nil {
			r = &run{}
			t.byLength[len(key)] = r
		}
		r.add(t.added, p.Rank(key))
	} else {
		t.others = append(t.others, t.added)
	}
	t.bytes += len(key) + len(value)
	if t.added++; t.image.mapped == nil && (t.added == chunkSize || t.bytes >= holdBytes) {
		t.countAdded()
	}
}

// countAdded counts the items of a file that is not mapped.
func (t *tally) countAdded() {
	t.count(t.others, t.each)
	t.done += t.added
	t.items, t.others, t.added, t.bytes = t.items[:0], t.others[:0], 0, 0
}

func (t *tally) item(number int) *item { return &t.items[number/chunkSize][number%chunkSize] }

// count counts items and gives those that are intact to each.
func (t *tally) count(numbers []int, each func(bucket string, key, value []byte)) {
	var h hasher
	sums := map[string]sum{}
	var bad []spoilt
	for i, number := range numbers {
		if i%giveWay == 0 {
			runtime.Gosched() // those who use the records come first
		}
		x := t.item(number)
		sums[x.bucket] = sums[x.bucket].plus(h.of(x.bucket, x.Key, x.Value))
		if err := t.o.intact(t.sealed, x.bucket, x.Key, x.Value); err != nil {
			bad = append(bad, spoilt{t.done + number, Record{x.bucket, string(x.Key)}, err})
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

// inParts has a worker for each processor, and one of them takes each part of the items. Parts are numbered from 0.
func (t *tally) inParts(numbers []int, worker func() func(part int, numbers []int)) error {
	var workers sync.WaitGroup
	var next atomic.Int64
	errs := make(chan error, runtime.GOMAXPROCS(0))
	for range cap(errs) {
		workers.Go(func() {
			do := worker()
			errs <- catchFault(func() error {
				for {
					part := int(next.Add(1) - 1)
					from := part * partSize
					if from >= len(numbers) {
						return nil
					}
					do(part, numbers[from:min(from+partSize, len(numbers))])
					t.image.progress(partSize, t.added)
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
		t.countAdded()
	} else if err := t.countMapped(x); err != nil {
		x.found.file("%v", err)
	}
	x.sums = t.sums
	slices.SortFunc(t.spoilt, func(a, b spoilt) int { return cmp.Compare(a.at, b.at) })
	for _, s := range t.spoilt {
		x.found.record("record %s/%.80q: %v", s.Bucket, s.Key, s.err)
		x.spoilt = append(x.spoilt, s.Record)
	}
}

// countMapped counts all records of a mapped file, those for Options.Parts last.
func (t *tally) countMapped(x *reading) error {
	parts := t.o.Parts
	err := t.inParts(t.others, func() func(int, []int) {
		return func(_ int, numbers []int) { t.count(numbers, t.each) }
	})
	if err != nil || parts == nil {
		return err
	}
	ranked, greatest := t.ranked()
	take := func(int, []Entry) {}
	if x.found.None() && len(t.spoilt) == 0 { // else nothing of the file is used
		// If Begin fails, go on counting: the cause may be damage that only the sums show.
		if x.refused = parts.Begin(len(ranked), greatest); x.refused == nil {
			take = parts.Take
		}
	}
	return t.inParts(ranked, func() func(int, []int) {
		entries := make([]Entry, 0, partSize)
		return func(part int, numbers []int) {
			entries = entries[:0]
			t.count(numbers, func(_ string, key, value []byte) { entries = append(entries, Entry{key, value}) })
			take(part, entries)
		}
	})
}

// ranked returns the numbers of the items for Options.Parts by rank, and the greatest rank.
func (t *tally) ranked() (numbers []int, greatest Rank) {
	sorted := true
	// Usually longer keys have higher ranks, and those of one length are in the order of their ranks: then nothing is left to sort.
	for _, length := range slices.Sorted(maps.Keys(t.byLength)) {
		r := t.byLength[length]
		if r.unsorted || len(numbers) > 0 && greatest.compare(r.first) >= 0 {
			sorted = false
		}
		numbers, greatest = append(numbers, r.numbers...), r.last
	}
	if sorted {
		return numbers, greatest
	}
	type place struct {
		rank   Rank
		number int
	}
	places := make([]place, len(numbers))
	for i, n := range numbers {
		places[i] = place{t.o.Parts.Rank(t.item(n).Key), n}
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Or(a.rank.compare(b.rank), cmp.Compare(a.number, b.number)) })
	for i, p := range places {
		numbers[i], greatest = p.number, p.rank
	}
	return numbers, greatest
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
