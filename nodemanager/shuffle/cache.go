package shuffle

import (
	"container/list"
	"strings"
	"sync"

	"github.com/heddle-project/heddle/yarn"
)

// cache keeps the most recently used indexes, up to a number of bytes. An entry
// is valid while the output is still the same file (identity); the user of the
// cache compares, and drops entries that are not.
type cache struct {
	mu    sync.Mutex
	limit int64
	bytes int64
	byKey map[indexKey]*list.Element
	order list.List // of *index; the one used last is in front
}

type indexKey struct {
	app     yarn.ApplicationID
	attempt string
}

// index is a map output that has been found, with its verified index.
type index struct {
	key   indexKey
	dir   string   // the local directory where the output is
	file  identity // of the output
	table table
}

// entryOverhead is roughly what an entry takes beyond its table and name, in
// bytes.
const entryOverhead = 300

// keepFraction: an index larger than the limit divided by keepFraction is not
// cached but read each time, so that no single index empties the cache.
const keepFraction = 32

func newCache(limit int64) *cache {
	return &cache{limit: limit, byKey: make(map[indexKey]*list.Element)}
}

// keeps is the size of the largest table that is kept.
func (c *cache) keeps() int64 { return c.limit / keepFraction }

func (i *index) size() int64 { return int64(len(i.table)+len(i.key.attempt)) + entryOverhead }

func (c *cache) get(k indexKey) *index {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[k]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*index)
}

func (c *cache) put(i *index) {
	i.key.attempt = strings.Clone(i.key.attempt) // otherwise the cache would keep the whole URL in memory
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[i.key])
	c.byKey[i.key] = c.order.PushFront(i)
	c.bytes += i.size()
	for c.bytes > c.limit {
		c.remove(c.order.Back())
	}
}

func (c *cache) drop(k indexKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.byKey[k])
}

func (c *cache) dropApp(app yarn.ApplicationID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, e := range c.byKey {
		if k.app == app {
			c.remove(e)
		}
	}
}

func (c *cache) remove(e *list.Element) {
	if e == nil {
		return
	}
	i := c.order.Remove(e).(*index)
	delete(c.byKey, i.key)
	c.bytes -= i.size()
}
