package demand

import (
	"cmp"
	"slices"
)

// fewKeys is how many keys of a call are looked up one by one. Those of a larger one
// are sorted and put in their places together: one by one, each would move all that
// stand behind it.
const fewKeys = 8

// slabSize is how many new wants of a large call lie together.
const slabSize = 16

// Open appends to out what is known under each of the keys, some of which may be the
// same; it is made where nothing is. Until Close nothing under other keys may change,
// and Keys does not tell what is outstanding, but Wanting does.
func (d *Demand) Open(keys []Key, out []*Want) []*Want {
	d.open = true
	if len(keys) <= fewKeys {
		for _, k := range keys {
			out = append(out, d.OpenOne(k))
		}
		return out
	}
	from := len(out)
	out = append(out, make([]*Want, len(keys))...)
	d.many = &many{opened: make([]*Want, 0, len(keys)), outstanding: len(d.keys)}
	var w *Want
	var fresh []*Want
	var slab []Want
	rest := d.all
	for _, r := range ranked(keys) {
		if k := &keys[r.at]; w == nil || w.Key != *k {
			i, ok := seek(rest, *k)
			if rest = rest[i:]; ok {
				w = rest[0]
			} else {
				if len(slab) == 0 {
					slab = make([]Want, slabSize)
				}
				w, slab = &slab[0], slab[1:]
				w.Key = *k
				d.enterIdle(w)
				fresh = append(fresh, w)
			}
			w.wasListed = w.listed
			d.many.opened = append(d.many.opened, w)
		}
		out[from+int(r.at)] = w
	}
	d.all = splice(d.all, fresh, func(*Want) bool { return true })
	return out
}

// OpenOne is what is known under one key; it is made where nothing is.
func (d *Demand) OpenOne(k Key) *Want {
	i, ok := slices.BinarySearchFunc(d.all, k, compareKey)
	if ok {
		return d.all[i]
	}
	var w *Want
	if d.useInline(); !d.taken {
		d.taken, w = true, &d.inline.first
	} else {
		w = &Want{}
	}
	w.Key = k
	d.all = slices.Insert(d.all, i, w)
	d.enterIdle(w)
	return w
}

// Close ends what Open began.
func (d *Demand) Close() {
	if d.open = false; d.many != nil {
		changed := slices.DeleteFunc(d.many.opened, func(w *Want) bool { return w.wasListed == w.listed })
		d.many = nil
		d.keys = splice(d.keys, changed, func(w *Want) bool { return w.listed })
	}
	if d.tooManyIdle {
		d.forgetIdle()
	}
}

// Wanting tells whether anything is outstanding.
func (d *Demand) Wanting() bool {
	if d.many != nil {
		return d.many.outstanding > 0
	}
	return len(d.keys) > 0
}

// rank is the place of a key among those of a call.
type rank struct {
	request  int64
	priority int32
	at       int32
	update   bool
}

// ranked are the keys in order, and equal ones as they came.
func ranked(keys []Key) []rank {
	out := make([]rank, len(keys))
	for i := range keys {
		k := &keys[i]
		out[i] = rank{k.RequestID, k.Priority, int32(i), !k.Update.IsZero()}
	}
	slices.SortFunc(out, func(a, b rank) int {
		switch {
		case a.update || b.update:
			return cmp.Or(keys[a.at].compare(keys[b.at]), int(a.at-b.at))
		case a.priority != b.priority:
			return cmp.Compare(a.priority, b.priority)
		case a.request != b.request:
			return cmp.Compare(a.request, b.request)
		}
		return int(a.at - b.at)
	})
	return out
}

// seek is where the key stands in the list, or would. It takes the less time the
// nearer that is to the beginning.
func seek(list []*Want, k Key) (int, bool) {
	to := 1
	for to <= len(list) && list[to-1].compare(k) < 0 {
		to *= 2
	}
	from := to / 2
	i, ok := slices.BinarySearchFunc(list[from:min(to, len(list))], k, compareKey)
	return from + i, ok
}

// splice puts those of some wants that stay into their places in a list and takes the
// others out of it. Both are in order.
func splice(list, some []*Want, stays func(*Want) bool) []*Want {
	if len(some) == 0 {
		return list
	}
	out := make([]*Want, 0, len(list)+len(some))
	for _, w := range some {
		i, ok := seek(list, w.Key)
		out = append(out, list[:i]...)
		if list = list[i:]; ok {
			list = list[1:]
		}
		if stays(w) {
			out = append(out, w)
		}
	}
	return append(out, list...)
}

// MaxIdleKeys bounds the keys of an attempt that want nothing and are only
// remembered for their counters; the oldest are forgotten first.
const MaxIdleKeys = 4096

// enterIdle enters a key among those that may be forgotten. Who has something outstanding
// may be there, too, and is not forgotten.
//
//go:noinline
func (d *Demand) enterIdle(w *Want) {
	w.idle = true
	d.idle = append(d.idle, w)
	d.tooManyIdle = len(d.idle) > MaxIdleKeys+int(d.spared)
}

// forgetIdle forgets the older half of the idle keys when there are too many: then to
// look at all of them is seldom due. Nothing may be open.
func (d *Demand) forgetIdle() {
	d.tooManyIdle = false
	d.idle = slices.DeleteFunc(d.idle, func(w *Want) bool {
		w.idle = !w.listed
		return w.listed
	})
	most, gone := len(d.idle)-MaxIdleKeys/2, false
	d.spared = 0
	var kept []*Want
	for i, w := range d.idle {
		switch {
		case i >= most:
		case len(w.Rows) > 0 || len(w.Reservations) > 0:
			d.spared++
		default:
			w.idle, w.gone, gone = false, true, true
			continue
		}
		kept = append(kept, w)
	}
	d.idle = kept
	if gone {
		d.all = slices.DeleteFunc(d.all, func(w *Want) bool { return w.gone })
	}
}
