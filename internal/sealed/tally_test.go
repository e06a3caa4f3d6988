package sealed

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// Of a file that is not mapped only a few of large records are in memory at once.
func TestTallyHoldsFew(t *testing.T) {
	o := testOptions()
	seen, value := 0, make([]byte, holdBytes/4)
	c := &tally{o: &o, sums: map[string]sum{}, image: &image{}, each: func(string, []byte, []byte) { seen++ }}
	o.Intact = func(bool, string, []byte, []byte) error { return nil }
	for i := range 40 {
		if c.add("a", []byte{byte(i)}, value); i+1-seen > 4 {
			t.Fatalf("%d records wait", i+1-seen)
		}
	}
	x := &reading{}
	c.finish(x)
	if seen != 40 || x.sums["a"].count != 40 {
		t.Errorf("%d records were seen, %d counted", seen, x.sums["a"].count)
	}
}

// Records that are not intact are told by bucket and key, whoever has counted them.
func TestSpoiltInOrder(t *testing.T) {
	for name, mapped := range map[string][]byte{"mapped": {}, "not mapped": nil} {
		t.Run(name, func(t *testing.T) {
			o := testOptions()
			o.Intact = func(bool, string, []byte, []byte) error { return errors.New("it is not intact") }
			o.Parts = &Parts{Bucket: "b", Rank: func([]byte) Rank { return Rank{} }}
			c := &tally{o: &o, sums: map[string]sum{}, byLength: map[int]*run{}, image: &image{mapped: mapped}}
			var want []Record
			for _, bucket := range []string{"a", "b", "c"} {
				for i := range 3 * chunkSize / 2 {
					key := strconv.Itoa(100_000 + i)
					c.add(bucket, []byte(key), nil)
					want = append(want, Record{bucket, key})
				}
			}
			x := &reading{}
			c.finish(x)
			if !slices.Equal(x.spoilt, want) || x.sums["b"].count != 3*chunkSize/2 {
				t.Errorf("%d records are spoilt, want %d in order; the first is %v", len(x.spoilt), len(want), x.spoilt[0])
			}
		})
	}
}

// The memory for records follows their number, in however many buckets they are.
func TestSmallPiles(t *testing.T) {
	o := testOptions()
	c := &tally{o: &o, byLength: map[int]*run{}, image: &image{mapped: []byte{}}}
	for i := range 5_000 {
		c.add(strconv.Itoa(i), []byte("k"), nil)
	}
	room := 0
	for _, p := range c.others {
		for _, chunk := range p.chunks {
			room += cap(chunk)
		}
	}
	if len(c.others) != 5_000 || room > 2*5_000 {
		t.Errorf("%d piles have room for %d records", len(c.others), room)
	}
}

// A file that somebody cuts short while it is mapped is refused, whenever that happens.
func TestCutShortWhileMapped(t *testing.T) {
	good, _ := many(t)
	f, err := Open(good, testOptions())
	if err != nil {
		t.Fatal(err)
	}
	var bucket string
	for name, s := range f.seal.buckets {
		if name != f.o.Own && s.count > f.seal.buckets[bucket].count {
			bucket = name
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	x := take(t, good)
	for _, when := range []string{"a record", "begin", "part"} {
		t.Run(when, func(t *testing.T) {
			x.put(t, good)
			var once sync.Once
			cut := func(now string) {
				if now == when {
					once.Do(func() {
						if err := os.Truncate(good, int64(2*os.Getpagesize())); err != nil {
							t.Error(err)
						}
					})
				}
			}
			o := testOptions()
			intact := o.Intact
			o.Intact = func(sealed bool, bucket string, key, value []byte) error {
				cut("a record")
				return intact(sealed, bucket, key, value)
			}
			o.Parts = &Parts{Bucket: bucket, Rank: func([]byte) Rank { return Rank{} },
				Begin: func(int, Rank) error { cut("begin"); return nil },
				Take:  func(int, []Entry) { cut("part") }}
			if f, err := Open(good, o); !errors.As(err, new(*DamageError)) {
				t.Errorf("%v", err)
				if err == nil {
					_ = f.Close()
				}
			}
		})
	}
}

// Records come by rank, whatever the order of the file.
func TestRanked(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := rapid.SliceOfN(rapid.StringMatching(`[0-9]{1,4}x?`), 0, 60).Draw(t, "keys")
		if rapid.Bool().Draw(t, "as in a file") {
			slices.Sort(keys)
		}
		o := testOptions()
		o.Parts = &Parts{Bucket: "a", Rank: func(key []byte) Rank {
			n, _ := strconv.ParseInt(string(key), 10, 64) // 0 for a key that is no number
			return Rank{0, n}
		}}
		c := &tally{o: &o, byLength: map[int]*run{}, image: &image{mapped: []byte{}}}
		for _, k := range keys {
			c.add("a", []byte(k), nil)
		}
		rank := func(key string) Rank { return o.Parts.Rank([]byte(key)) }
		want := slices.SortedFunc(slices.Values(keys), func(a, b string) int { return cmp.Or(rank(a).compare(rank(b)), strings.Compare(a, b)) })
		parts, count, greatest := c.ranked()
		var got []string
		for _, p := range parts {
			for _, e := range p.entries {
				got = append(got, string(e.Key))
			}
		}
		if !slices.Equal(got, want) || count != len(want) || len(want) > 0 && greatest != rank(want[len(want)-1]) {
			t.Fatalf("%q: %q, %d of them, and %v, want %q", keys, got, count, greatest, want)
		}
	})
}

// Of a file that is mostly free, as after a burst, only the pages in use are read.
func TestDense(t *testing.T) {
	path, all := many(t)
	look := func() (dense bool, free uint64, listed int) {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		o := testOptions()
		x := o.examine(file, nil, info.Size(), testimony{})
		return x.image.dense(x.meta), x.image.free(x.meta), len(x.free)
	}
	if dense, free, listed := look(); !dense || free != uint64(listed) {
		t.Errorf("full: dense %t, %d pages are free, %d are listed", dense, free, listed)
	}
	f := mustOpen(t, path)
	for range 2 { // what one transaction frees is free for the next one
		if err := f.Update(func(tx *Tx) error {
			for name := range all {
				bucket, key, _ := strings.Cut(name, "/")
				if err := tx.Delete(bucket, key); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	mustClose(t, f)
	if dense, free, listed := look(); dense || free == 0 || free != uint64(listed) {
		t.Errorf("empty: dense %t, %d pages are free, %d are listed", dense, free, listed)
	}
}
