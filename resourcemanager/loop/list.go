package loop

import (
	"cmp"
	"container/heap"
	"slices"
)

// list is an immutable list ordered by id. It consists of blocks, so that successive
// versions share the blocks that are equal.
type list[K interface{ Compare(K) int }, V any] struct {
	id     func(V) K
	rank   func(V) int64 // of a value, the same in all its versions; nil: it has none
	blocks [][]V         // none is empty
	tops   []int64       // for each block: no value in it has a higher rank; empty without rank
	len    int
}

// blockSize bounds the values of a block, and so what is copied for one change.
const blockSize = 256

// place is where the value with that id is, or where it would be inserted.
func (l *list[K, V]) place(id K) (block, at int, found bool) {
	block, found = slices.BinarySearchFunc(l.blocks, id, func(b []V, id K) int { return l.id(b[0]).Compare(id) })
	if found {
		return block, 0, true
	}
	if block == 0 {
		return 0, 0, false
	}
	block--
	at, found = slices.BinarySearchFunc(l.blocks[block], id, func(v V, id K) int { return l.id(v).Compare(id) })
	return block, at, found
}

// find is the value with that id; ok is false if there is none.
func (l *list[K, V]) find(id K) (v V, ok bool) {
	block, at, ok := l.place(id)
	if !ok {
		return v, false
	}
	return l.blocks[block][at], true
}

// all is every value in order, in a slice of its own.
func (l *list[K, V]) all() []V {
	out := make([]V, 0, l.len)
	for _, b := range l.blocks {
		out = append(out, b...)
	}
	return out
}

// best walks the values from the highest rank to the lowest, those of equal rank from the last id to the first. It looks at little more than
// what it yields, as long as ranks mostly grow with ids.
func (l *list[K, V]) best(yield func(V) bool) {
	blocks := make([]int, len(l.blocks))
	for i := range blocks {
		blocks[i] = len(blocks) - 1 - i
	}
	slices.SortStableFunc(blocks, func(a, b int) int { return cmp.Compare(l.tops[b], l.tops[a]) })
	open := rests[V]{newer: func(a, b *ranked[V]) bool {
		return a.rank > b.rank || a.rank == b.rank && l.id(a.v).Compare(l.id(b.v)) > 0
	}}
	for len(blocks) > 0 || len(open.of) > 0 {
		if len(blocks) > 0 && (len(open.of) == 0 || l.tops[blocks[0]] >= open.of[0][0].rank) {
			heap.Push(&open, l.sorted(blocks[0]))
			blocks = blocks[1:]
			continue
		}
		if !yield(open.of[0][0].v) {
			return
		}
		switch open.of[0] = open.of[0][1:]; {
		case len(open.of[0]) == 0:
			heap.Pop(&open)
		case len(open.of) > 1:
			heap.Fix(&open, 0)
		}
	}
}

// sorted are the values of a block as best walks them.
func (l *list[K, V]) sorted(block int) []ranked[V] {
	out := make([]ranked[V], 0, len(l.blocks[block]))
	for _, v := range slices.Backward(l.blocks[block]) {
		out = append(out, ranked[V]{l.rank(v), v})
	}
	slices.SortStableFunc(out, func(a, b ranked[V]) int { return cmp.Compare(b.rank, a.rank) })
	return out
}

// ranked is a value with its rank, so that sorting looks at no values.
type ranked[V any] struct {
	rank int64
	v    V
}

// rests is a heap of what is left of blocks, none of them empty, the one that begins with the first value at the top.
type rests[V any] struct {
	newer func(a, b *ranked[V]) bool
	of    [][]ranked[V]
}

func (r *rests[V]) Len() int           { return len(r.of) }
func (r *rests[V]) Less(i, j int) bool { return r.newer(&r.of[i][0], &r.of[j][0]) }
func (r *rests[V]) Swap(i, j int)      { r.of[i], r.of[j] = r.of[j], r.of[i] }
func (r *rests[V]) Push(x any)         { r.of = append(r.of, x.([]ranked[V])) }

func (r *rests[V]) Pop() any {
	last := len(r.of) - 1
	x := r.of[last]
	r.of = r.of[:last]
	return x
}

// draft is the next version of a list, which can be changed.
type draft[K interface{ Compare(K) int }, V any] struct {
	list[K, V]
	own []bool // by block: no version shares it, so it may be changed
}

// change makes a block changeable: it copies it if a version shares it.
func (d *draft[K, V]) change(block int) {
	if !d.own[block] {
		d.blocks[block], d.own[block] = append(make([]V, 0, blockSize), d.blocks[block]...), true
	}
}

// set inserts a value, or replaces the one with the same id. New ids are mostly larger
// than all others, so a value after a full block begins a new one.
func (d *draft[K, V]) set(v V) {
	block, at, found := d.place(d.id(v))
	if found {
		d.change(block)
		d.blocks[block][at] = v
		d.raise(block, v)
		return
	}
	d.len++
	if len(d.blocks) == 0 {
		d.insert(0, v)
		return
	}
	if at == blockSize {
		d.insert(block+1, v)
		return
	}
	if half := blockSize / 2; len(d.blocks[block]) == blockSize {
		d.insert(block+1, d.blocks[block][half:]...)
		d.change(block)
		clear(d.blocks[block][half:])
		d.blocks[block] = d.blocks[block][:half]
		if at > half {
			block, at = block+1, at-half
		}
	}
	d.change(block)
	d.blocks[block] = slices.Insert(d.blocks[block], at, v)
	d.raise(block, v)
}

// raise has the top of a block cover a value.
func (d *draft[K, V]) raise(block int, v V) {
	if d.rank != nil {
		d.tops[block] = max(d.tops[block], d.rank(v))
	}
}

// insert makes a new block of the values.
func (d *draft[K, V]) insert(block int, values ...V) {
	d.blocks = slices.Insert(d.blocks, block, append(make([]V, 0, blockSize), values...))
	d.own = slices.Insert(d.own, block, true)
	if d.rank == nil {
		return
	}
	d.tops = slices.Insert(d.tops, block, d.rank(values[0]))
	for _, v := range values[1:] {
		d.raise(block, v)
	}
}

// remove removes the value with that id, if there is one.
func (d *draft[K, V]) remove(id K) {
	block, at, found := d.place(id)
	if !found {
		return
	}
	d.len--
	d.change(block)
	if d.blocks[block] = slices.Delete(d.blocks[block], at, at+1); len(d.blocks[block]) == 0 {
		d.drop(block)
	} else {
		d.join(block)
	}
	d.join(block - 1)
}

// join merges a block with the next one if both together fill at most half a block.
func (d *draft[K, V]) join(block int) {
	next := block + 1
	if block < 0 || next >= len(d.blocks) || len(d.blocks[block])+len(d.blocks[next]) > blockSize/2 {
		return
	}
	d.change(block)
	d.blocks[block] = append(d.blocks[block], d.blocks[next]...)
	if d.rank != nil {
		d.tops[block] = max(d.tops[block], d.tops[next])
	}
	d.drop(next)
}

func (d *draft[K, V]) drop(block int) {
	d.blocks, d.own = slices.Delete(d.blocks, block, block+1), slices.Delete(d.own, block, block+1)
	if d.rank != nil {
		d.tops = slices.Delete(d.tops, block, block+1)
	}
}

// version is the list as it is now. Later changes of the draft do not affect it.
func (d *draft[K, V]) version() list[K, V] {
	clear(d.own)
	v := d.list
	v.blocks, v.tops = slices.Clone(v.blocks), slices.Clone(v.tops)
	return v
}
