package rest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/yarn"
)

// rows keeps the text of applications as lists show them, so that a list of what has not changed costs little more than copying it.
// What is kept is bounded; when there is no more room, what no list has shown for one or two minutes makes some. The zero value is empty.
type rows struct {
	bytes  atomic.Int64
	minute atomic.Int64 // counts while anything is kept
	timing atomic.Bool  // the next minute is on its way
	shards [64]shard
}

// Bounds of rows.
const (
	rowBytes    = 64 << 20 // of everything that is kept
	rowsKept    = 16_000   // lists of more applications keep no texts: most would find no room, and the rest would leave none for other lists
	rowOverhead = 200      // bytes for a row besides its text
	rowAge      = time.Minute
)

type shard struct {
	mu   sync.Mutex
	rows map[rowKey]*row
}

// rowKey is an application in a form.
type rowKey struct {
	id  yarn.ApplicationID
	xml bool
}

// row is the text of a version of an application, in segments.
type row struct {
	term    int64 // when the ResourceManager started that made the version
	version uint64
	text    []byte
	ends    [segments]uint32
	used    int64 // minute in which a list showed it last
}

func (r *row) segment(i int) []byte {
	from := uint32(0)
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.text[from:r.ends[i]]
}

func (r *row) size() int64 { return int64(len(r.text)) + rowOverhead }

func (c *rows) shard(k rowKey) *shard { return &c.shards[uint32(k.id.Sequence)%uint32(len(c.shards))] } //nolint:gosec // any shard will do

// find is the text of that version, or nil.
func (c *rows) find(k rowKey, term int64, version uint64) *row {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rows[k]
	if r == nil || r.term != term || r.version != version {
		return nil
	}
	r.used = c.minute.Load()
	return r
}

// full tells that there is no room, so that it is not worth the while to make a row.
func (c *rows) full() bool { return c.bytes.Load() > rowBytes-8<<10 }

// put keeps a row instead of an earlier version, if there is room.
func (c *rows) put(k rowKey, r *row) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if before := s.rows[k]; before != nil {
		delete(s.rows, k)
		c.bytes.Add(-before.size())
	}
	if size := r.size(); c.bytes.Add(size) > rowBytes {
		c.bytes.Add(-size)
		return
	}
	if s.rows == nil {
		s.rows = map[rowKey]*row{}
	}
	r.used = c.minute.Load()
	s.rows[k] = r
	c.time()
}

// time has a minute pass, if that is not on its way.
func (c *rows) time() {
	if c.timing.CompareAndSwap(false, true) {
		time.AfterFunc(rowAge, c.pass)
	}
}

// pass drops what no list has shown for a minute at least.
func (c *rows) pass() {
	c.timing.Store(false)
	now := c.minute.Add(1)
	for i := range c.shards {
		c.shards[i].drop(c, now)
	}
	if c.bytes.Load() > 0 {
		c.time()
	}
}

func (s *shard) drop(c *rows, now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, r := range s.rows {
		if r.used < now-1 {
			delete(s.rows, k)
			c.bytes.Add(-r.size())
		}
	}
	if len(s.rows) == 0 {
		s.rows = nil // a map does not shrink
	}
}
