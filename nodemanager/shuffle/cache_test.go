package shuffle

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

func entry(a yarn.ApplicationID, n int) *index {
	return &index{key: indexKey{a, attempt(n)}, table: make(table, 1000)}
}

func TestCacheBound(t *testing.T) {
	one := entry(app, 0).size()
	c := newCache(10 * one)
	for i := range 100 {
		c.put(entry(app, i))
		c.get(indexKey{app, attempt(0)}) // is used, so it stays
	}
	if c.bytes != 10*one || len(c.byKey) != 10 || c.order.Len() != 10 {
		t.Errorf("%d bytes, %d and %d entries", c.bytes, len(c.byKey), c.order.Len())
	}
	for i, want := range map[int]bool{0: true, 1: false, 90: false, 91: true, 99: true} {
		if got := c.get(indexKey{app, attempt(i)}) != nil; got != want {
			t.Errorf("entry %d: %v", i, got)
		}
	}
	c.put(entry(app, 99)) // in place of the one that is there
	if c.bytes != 10*one {
		t.Errorf("%d bytes after an entry was replaced", c.bytes)
	}
	other := yarn.ApplicationID{ClusterTimestamp: 1, Sequence: 1}
	c.put(entry(other, 1))
	c.dropApp(app)
	if c.bytes != one || c.get(indexKey{other, attempt(1)}) == nil {
		t.Errorf("%d bytes are left", c.bytes)
	}
	c.drop(indexKey{other, attempt(1)})
	c.drop(indexKey{other, attempt(1)})
	if c.bytes != 0 || c.order.Len() != 0 {
		t.Errorf("%d bytes in the empty cache", c.bytes)
	}
}

// The index is read once, and again when the output is another file.
func TestChangedOutputs(t *testing.T) {
	w := start(t, nil)
	w.output(0, attempt(1), []byte("abc"), []byte("de"))
	name := filepath.Join(w.folder(0, attempt(1)), indexFile)
	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 4, 0, "abc"}})
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	same(t, w.reducer().fetch(target(1, attempt(1))), []got{{attempt(1), 3, 1, "de"}})

	w.output(0, attempt(1), []byte("fghi"), []byte("j"))
	later := time.Now().Add(time.Hour) // a clock may be coarse
	if err := os.Chtimes(filepath.Join(w.folder(0, attempt(1)), dataFile), later, later); err != nil {
		t.Fatal(err)
	}
	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 5, 0, "fghi"}})

	// Another attempt's folder in the other local directory now has it.
	if err := os.RemoveAll(w.folder(0, attempt(1))); err != nil {
		t.Fatal(err)
	}
	w.output(1, attempt(1), []byte("kl"), []byte("m"))
	same(t, w.reducer().fetch(target(0, attempt(1))), []got{{attempt(1), 3, 0, "kl"}})
}

// What many outputs and reducers take is bounded by the cache and by the requests in service.
func TestMemoryIsBounded(t *testing.T) {
	const maps, reducers, limit = 400, 20, 64 << 10
	w := start(t, func(c *Config) { c.IndexCache, c.KeepAlive = limit, true })
	partitions := make([][]byte, reducers)
	for i := range partitions {
		partitions[i] = noise(byte(i), 10)
	}
	for i := range maps {
		w.output(i%2, attempt(i), partitions...)
	}
	done := make(chan bool)
	for n := range reducers {
		go func() {
			defer func() { done <- true }()
			r := w.reducer()
			for i := 0; i < maps; i += 20 {
				var ask []string
				for k := range 20 {
					ask = append(ask, attempt((i+k+n*7)%maps))
				}
				r.send(target(n, ask...))
				resp := r.answer()
				for _, g := range r.body(resp) {
					if g.data != string(partitions[n]) {
						t.Errorf("reducer %d: %s differs", n, g.attempt)
					}
				}
			}
		}()
	}
	for range reducers {
		<-done
	}
	if w.indexes.bytes > limit || w.indexes.bytes < limit/2 {
		t.Errorf("%d bytes of indexes are kept; the limit is %d", w.indexes.bytes, limit)
	}
	eventually(t, "all are answered", func() bool { return w.Stats().OK == maps/20*reducers })
}
