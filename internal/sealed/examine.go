package sealed

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"sync"
)

// reading is what a file was found to hold.
type reading struct {
	walk
	found   Findings
	meta    meta
	sums    map[string]sum
	own     map[string][]byte // the records of the file's own bucket, without the seal
	raw     []byte            // the seal as it is stored; nil if there is none
	seal    *seal             // nil: there is none, or it cannot be read
	spoilt  []Record          // records whose own sum is wrong
	warning string            // what is odd but no damage
	refused error             // the outcome of Parts.Begin
}

// examine reads a file and compares it with what its seal and its witness say. mapped is the file in memory, or nil.
func (o *Options) examine(r io.ReaderAt, mapped []byte, size int64, t testimony) *reading {
	x := &reading{sums: map[string]sum{}, own: map[string][]byte{}}
	img := newImage(r, size)
	img.mapped = mapped
	var ok bool
	if x.meta, ok = img.newest(); !ok {
		x.found.file("neither of its two meta pages can be read (it has %d bytes)", size)
		return x
	}
	if err := catchFault(func() error {
		if img.dense(x.meta) {
			var ahead sync.WaitGroup
			ahead.Go(func() { populate(mapped) })
			defer ahead.Wait() // the file stays mapped until then
		}
		x.read(o, img, x.meta, t, o.Each)
		return nil
	}); err != nil {
		x.found.file("%v", err)
	}
	x.judge(t)
	return x
}

// read walks from a meta page and counts what there is; each takes every record that is as it was written. Of a mapped file
// several goroutines call it at once.
func (x *reading) read(o *Options, img *image, m meta, t testimony, each func(bucket string, key, value []byte)) {
	count := &tally{o: o, sealed: t.exists || img.sealAt(m.root, o.Own) > 0, each: each, image: img, sums: map[string]sum{}, byLength: map[int]*run{}}
	x.walk = walk{image: img, found: &x.found, visit: func(bucket string, key, value []byte) {
		if bucket == o.Own {
			if string(key) == sealKey {
				x.raw = bytes.Clone(value)
				return
			}
			x.own[string(key)] = bytes.Clone(value)
		}
		count.add(bucket, key, value)
	}}
	x.everything(m)
	count.finish(x)
	for _, name := range x.names {
		if _, ok := x.sums[name]; !ok {
			x.sums[name] = sum{} // an empty one counts, too
		}
	}
	if x.raw != nil {
		var err error
		if x.seal, err = decodeSeal(x.raw); err != nil {
			x.found.record("record %s/%s: %v", o.Own, sealKey, err)
		}
	}
}

// judge compares what was read with seal and witness. A file without either was written by a
// program that made no seals; it only has to agree with itself.
func (x *reading) judge(t testimony) {
	switch {
	case x.seal == nil && t.exists && x.raw == nil:
		x.found.file("it has no seal, and was sealed: there is a witness")
	case x.seal != nil:
		x.compare(t)
	}
	for i, whole := range x.image.whole {
		switch {
		case whole:
		case x.seal == nil || t.seal == nil:
			x.found.page("meta page %d cannot be read, and nothing tells whether its transaction was acknowledged", i)
		case t.number() <= x.seal.number:
			// The page that would be newest was being written when everything
			// ended, or it is the older one: its transaction was acknowledged by
			// nobody, or is in the other one as well.
			x.warning = "one of the two meta pages cannot be read; nothing that was acknowledged is missing"
		default:
			x.found.page("meta page %d cannot be read", i)
		}
	}
}

func (x *reading) compare(t testimony) {
	if x.seal.txid != x.meta.txid {
		x.found.file("its seal is of transaction %d and its meta page of %d", x.seal.txid, x.meta.txid)
	}
	if missing := int64(t.number() - x.seal.number); t.number() > x.seal.number {
		x.found.file("the last %d transactions that were acknowledged are not in it", missing)
	}
	all := maps.Clone(x.seal.buckets)
	maps.Copy(all, x.sums)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		want, sealed := x.seal.buckets[name]
		have, there := x.sums[name]
		switch {
		case !there:
			x.found.bucket("bucket %s with %d records is missing", name, want.count)
		case !sealed:
			x.found.bucket("bucket %.40q should not be there", name)
		case want.count != have.count:
			x.found.bucket("bucket %s has %d records and was sealed with %d", name, have.count, want.count)
		case want != have:
			x.found.bucket("bucket %s has other content than it was sealed with", name)
		}
	}
}

// sealAt is the number of the seal on a page that is a list of buckets, 0 on any
// other. own is small enough for bbolt to keep it on that page.
func (m *image) sealAt(id uint64, own string) uint64 {
	p, err := m.read(id, m.size/m.pageSize, leafPage)
	if err != nil {
		return 0
	}
	for i := range int(p.count) {
		e, err := p.element(i)
		if err != nil || e.flags != bucketFlag || string(e.key) != own || len(e.value) < bucketHeader+pageHeader {
			continue
		}
		inline := page{flags: leafPage, count: native.Uint16(e.value[bucketHeader+10:]), b: e.value[bucketHeader:]}
		for j := range int(inline.count) {
			if record, err := inline.element(j); err == nil && string(record.key) == sealKey {
				if found, err := decodeSeal(record.value); err == nil {
					return found.number
				}
			}
		}
	}
	return 0
}
