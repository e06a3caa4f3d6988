package sealed

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"sync/atomic"
)

// The format of bbolt's pages, in the byte order of the machine:
//
//	page     id 8 │ flags 2 │ count 2 │ overflow 4 │ elements │ keys and values
//	branch   pos 4 │ key size 4 │ page 8             pos counts from the element
//	leaf     flags 4 │ pos 4 │ key size 4 │ value size 4
//	bucket   root page 8 │ sequence 8 │ if the root is 0, a page
//	meta     magic 4 │ version 4 │ page size 4 │ flags 4 │ bucket 16 │ free list 8 │ pages 8 │ txid 8 │ FNV-1a 8
const (
	pageHeader   = 16
	leafSize     = 16
	bucketHeader = 16
	metaSize     = 64

	branchPage   = 1
	leafPage     = 2
	freelistPage = 0x10
	bucketFlag   = 1

	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = ^uint64(0)
	maxDepth    = 32 // branches above a leaf; a page has two children at least
)

var native = binary.NativeEndian

// meta is a meta page that is whole.
type meta struct {
	pageSize, root, freelist, pages, txid uint64
}

func parseMeta(b []byte) (meta, bool) {
	if len(b) < pageHeader+metaSize {
		return meta{}, false
	}
	b = b[pageHeader:]
	h := fnv.New64a()
	h.Write(b[:metaSize-8])
	m := meta{pageSize: uint64(native.Uint32(b[8:])), root: native.Uint64(b[16:]), freelist: native.Uint64(b[32:]), pages: native.Uint64(b[40:]), txid: native.Uint64(b[48:])}
	ok := native.Uint32(b) == metaMagic && native.Uint32(b[4:]) == metaVersion && native.Uint64(b[56:]) == h.Sum64() &&
		m.pageSize >= 1024 && m.pageSize <= 1<<24 && m.pageSize&(m.pageSize-1) == 0
	return m, ok
}

// image gives access to the pages of a file, without bbolt.
type image struct {
	r        io.ReaderAt
	mapped   []byte // the file, mapped into memory; nil: it is read from r
	size     uint64
	pageSize uint64
	metas    [2]meta
	whole    [2]bool // which of metas can be read

	counted atomic.Int64 // records of a mapped file
}

// progress notes that n more of all records were counted. Half-way it drops the pages of a mapped file, so that they are not in memory all at once.
func (m *image) progress(n, all int) {
	now, half := m.counted.Add(int64(n)), int64(all/2+1)
	if now >= half && now-int64(n) < half {
		dropPages(m.mapped)
	}
}

// bytes returns n bytes of the file. Those of a mapped file must not be changed, nor used after it is unmapped.
func (m *image) bytes(at, n uint64) ([]byte, error) {
	if end := at + n; m.mapped != nil && end >= at && end <= uint64(len(m.mapped)) {
		return m.mapped[at:end:end], nil
	}
	b := make([]byte, n)
	_, err := m.r.ReadAt(b, int64(at))
	return b, err
}

func newImage(r io.ReaderAt, size int64) *image {
	m := &image{r: r, size: uint64(size)}
	at := func(off uint64) (meta, bool) {
		b := make([]byte, pageHeader+metaSize)
		if n, err := r.ReadAt(b, int64(off)); n < len(b) || err != nil && err != io.EOF {
			return meta{}, false
		}
		return parseMeta(b)
	}
	if m.metas[0], m.whole[0] = at(0); m.whole[0] {
		m.pageSize = m.metas[0].pageSize
		m.metas[1], m.whole[1] = at(m.pageSize)
		m.whole[1] = m.whole[1] && m.metas[1].pageSize == m.pageSize
		return m
	}
	for ps := uint64(1024); ps <= 1<<24 && ps < m.size; ps <<= 1 {
		if x, ok := at(ps); ok && x.pageSize == ps {
			m.pageSize, m.metas[1], m.whole[1] = ps, x, true
			break
		}
	}
	return m
}

// newest is the meta page that bbolt would use.
func (m *image) newest() (meta, bool) {
	switch a, b := m.metas[0], m.metas[1]; {
	case m.whole[0] && (!m.whole[1] || a.txid > b.txid):
		return a, true
	default:
		return b, m.whole[1]
	}
}

// maxPopulated is the size of the largest file, in bytes, that is brought into memory as a whole while it is walked.
const maxPopulated = 1 << 30

// dense tells whether the file is small enough for that, and most of it is in use.
func (m *image) dense(of meta) bool { return m.size <= maxPopulated && m.free(of) < of.pages/4 }

// free returns how many pages the list of free pages says that it has, 0 if it cannot be read. A file never becomes shorter: most of it may be free.
func (m *image) free(of meta) uint64 {
	p, err := m.read(of.freelist, of.pages, freelistPage)
	if err != nil {
		return 0
	}
	if p.count == 0xFFFF && len(p.b) >= pageHeader+8 {
		return native.Uint64(p.b[pageHeader:])
	}
	return uint64(p.count)
}

// page is a page with its overflow, the pages that continue it.
type page struct {
	id       uint64
	flags    uint16
	count    uint16
	overflow uint64 // number of pages
	b        []byte // with the header
}

// first reads a page without its overflow.
func (m *image) first(id uint64) (p page, err error) {
	if id >= m.size/m.pageSize {
		return p, fmt.Errorf("page %d is behind the end of the file, at byte %d", id, m.size)
	}
	b, err := m.bytes(id*m.pageSize, m.pageSize)
	if err != nil {
		return p, fmt.Errorf("page %d cannot be read: %w", id, err)
	}
	p = page{id: native.Uint64(b), flags: native.Uint16(b[8:]), count: native.Uint16(b[10:]), overflow: uint64(native.Uint32(b[12:])), b: b}
	if p.id != id {
		return p, fmt.Errorf("page %d says that it is page %d", id, p.id)
	}
	return p, nil
}

// read reads a page with its overflow. All of it must lie below limit, and be of one of the kinds in flags.
func (m *image) read(id, limit uint64, flags ...uint16) (p page, err error) {
	if p, err = m.first(id); err != nil {
		return p, err
	}
	ok := false
	for _, f := range flags {
		ok = ok || p.flags == f
	}
	if !ok {
		return p, fmt.Errorf("page %d is of kind %#x, which does not belong there", id, p.flags)
	}
	limit = min(limit, m.size/m.pageSize)
	if id+p.overflow >= limit {
		return p, fmt.Errorf("page %d says that it is %d pages long, there are %d", id, p.overflow+1, limit)
	}
	if p.overflow > 0 {
		if p.b, err = m.bytes(id*m.pageSize, (p.overflow+1)*m.pageSize); err != nil {
			return p, fmt.Errorf("page %d cannot be read: %w", id, err)
		}
	}
	return p, nil
}

// element is one entry of a leaf or a branch.
type element struct {
	flags      uint32
	key, value []byte // of a leaf
	page       uint64 // of a branch
}

// element returns entry i of a page, which may be an inline page.
func (p *page) element(i int) (e element, err error) {
	at := uint64(pageHeader + i*leafSize)
	end := uint64(len(p.b))
	if at+leafSize > end {
		return e, fmt.Errorf("entry %d does not fit into page %d", i, p.id)
	}
	b := p.b[at:]
	var pos, keys, values uint64
	if p.flags == branchPage {
		pos, keys = uint64(native.Uint32(b)), uint64(native.Uint32(b[4:]))
		e.page = native.Uint64(b[8:])
	} else {
		e.flags = native.Uint32(b)
		pos, keys, values = uint64(native.Uint32(b[4:])), uint64(native.Uint32(b[8:])), uint64(native.Uint32(b[12:]))
	}
	from := at + pos
	if from < uint64(pageHeader+int(p.count)*leafSize) && keys+values > 0 || from+keys+values > end {
		return e, fmt.Errorf("entry %d of page %d points out of it", i, p.id)
	}
	e.key = p.b[from : from+keys : from+keys]
	e.value = p.b[from+keys : from+keys+values : from+keys+values]
	return e, nil
}

// pageSet is a set of pages of a file.
type pageSet struct {
	bits  []uint64
	count uint64
}

// newPageSet returns an empty set for the pages below pages. It never has others.
func newPageSet(pages uint64) pageSet { return pageSet{bits: make([]uint64, (pages+63)/64)} }

func (s *pageSet) has(id uint64) bool {
	return id/64 < uint64(len(s.bits)) && s.bits[id/64]&(1<<(id%64)) != 0
}

func (s *pageSet) add(id uint64) {
	if id/64 < uint64(len(s.bits)) && !s.has(id) {
		s.bits[id/64] |= 1 << (id % 64)
		s.count++
	}
}

// walk visits everything that a meta page leads to. It reports what is damaged and
// goes on with the rest.
type walk struct {
	*image
	found *Findings
	limit uint64                                 // pages below it may be in use
	seen  pageSet                                // in use or free
	free  map[uint64]struct{}                    // of them, the free ones
	visit func(bucket string, key, value []byte) // takes each record
	names []string                               // of the buckets
}

// everything walks all buckets. If there is a list of free pages, each page must
// be in use or in that list.
func (w *walk) everything(m meta) {
	w.limit, w.seen, w.free = m.pages, newPageSet(min(m.pages, w.size/w.pageSize)), map[uint64]struct{}{}
	if need := w.limit * w.pageSize; w.size < need {
		w.found.file("it ends at byte %d and had at least %d", w.size, need)
	}
	root := branch{walk: w}
	root.visit = func(e element) { w.bucket(e) }
	root.tree(m.root, nil, 0)
	if m.freelist != noFreelist {
		w.accountFor(m)
	}
}

// bucket walks an entry of the root, which must be a bucket.
func (w *walk) bucket(e element) {
	name := string(e.key)
	if e.flags != bucketFlag || len(e.value) < bucketHeader {
		w.found.bucket("entry %.40q of the root is no bucket", name)
		return
	}
	w.names = append(w.names, name)
	b := branch{walk: w, bucket: name}
	b.visit = func(e element) {
		if e.flags != 0 {
			w.found.record("record %.80q of bucket %s is marked as a bucket", e.key, name)
			return
		}
		w.visit(name, e.key, e.value)
	}
	if root := native.Uint64(e.value); root != 0 {
		b.tree(root, nil, 0)
		return
	}
	inline := e.value[bucketHeader:]
	if len(inline) < pageHeader || native.Uint16(inline[8:]) != leafPage {
		w.found.bucket("bucket %s has no page", name)
		return
	}
	b.leaf(&page{flags: leafPage, count: native.Uint16(inline[10:]), b: inline}, nil)
}

// branch walks one tree of pages.
type branch struct {
	*walk
	bucket string // "" for the root
	visit  func(element)
	last   []byte // the key before
	any    bool   // there was one
}

func (b *branch) place() string {
	if b.bucket == "" {
		return "the list of buckets"
	}
	return "bucket " + b.bucket
}

// tree walks the page and all below it. first is the key that the branch above has for it; nil: there is none above.
func (b *branch) tree(id uint64, first []byte, depth int) {
	if depth > maxDepth {
		b.found.page("page %d of %s is below %d others", id, b.place(), maxDepth)
		return
	}
	p, err := b.read(id, b.limit, branchPage, leafPage)
	if err != nil {
		b.found.page("in %s %v", b.place(), err)
		return
	}
	if !b.claim(&p) {
		return
	}
	if p.flags == leafPage {
		b.leaf(&p, first)
		return
	}
	if p.count == 0 {
		b.found.page("page %d of %s is a branch without pages", id, b.place())
	}
	for i := range int(p.count) {
		e, err := p.element(i)
		if err != nil {
			b.found.page("in %s %v", b.place(), err)
			continue
		}
		if i == 0 && first != nil && !bytes.Equal(e.key, first) {
			b.found.page("page %d of %s begins with another key than is said of it", id, b.place())
		}
		b.tree(e.page, e.key, depth+1)
	}
}

// claim marks a page as in use. It returns false if something else uses it, too.
func (b *branch) claim(p *page) bool {
	for id := p.id; id <= p.id+p.overflow; id++ {
		if b.seen.has(id) || id < 2 {
			b.found.page("page %d of %s belongs to something else, too", id, b.place())
			return false
		}
	}
	for id := p.id; id <= p.id+p.overflow; id++ {
		b.seen.add(id)
	}
	return true
}

func (b *branch) leaf(p *page, first []byte) {
	if first != nil && p.count == 0 {
		b.found.page("page %d of %s is empty", p.id, b.place())
	}
	for i := range int(p.count) {
		e, err := p.element(i)
		if err != nil {
			b.found.page("in %s %v", b.place(), err)
			continue
		}
		if i == 0 && first != nil && !bytes.Equal(e.key, first) {
			b.found.page("page %d of %s begins with another key than is said of it", p.id, b.place())
		}
		if b.any && bytes.Compare(b.last, e.key) >= 0 {
			b.found.page("page %d of %s has the key %.80q, which is not above the one before", p.id, b.place(), e.key)
		}
		b.last, b.any = append(b.last[:0], e.key...), true
		b.visit(e)
	}
}

// accountFor reads the list of free pages and checks that each page is in use or free, never both.
func (w *walk) accountFor(m meta) {
	p, err := w.read(m.freelist, w.limit, freelistPage)
	if err != nil {
		w.found.page("in the list of free pages %v", err)
		return
	}
	own := branch{walk: w, bucket: "free pages"}
	own.claim(&p)
	ids, n := p.b[pageHeader:], uint64(p.count)
	if n == 0xFFFF {
		n, ids = native.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		w.found.page("the list of free pages on page %d says that it has %d entries, more than it has room for", p.id, n)
		return
	}
	wrong := 0
	for i := range n {
		id := native.Uint64(ids[i*8:])
		if w.seen.has(id) || id < 2 || id >= w.limit {
			wrong++
			continue
		}
		w.seen.add(id)
		w.free[id] = struct{}{}
	}
	if wrong > 0 {
		w.found.page("the list of free pages on page %d names %d pages that are in use", p.id, wrong)
	}
	if pages := min(w.limit, w.size/w.pageSize); pages > 2 && w.seen.count < pages-2 {
		w.found.page("%d of %d pages are neither in use nor free", pages-2-w.seen.count, pages)
	}
}
