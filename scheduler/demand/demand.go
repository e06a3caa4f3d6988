package demand

import (
	"slices"

	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// Row is what a key asks for at one place.
type Row struct {
	Place cluster.Place
	Count int32
	Relax bool // a less local place will do
	Size  yarn.Resource
}

// Key orders what one application wants: container updates after everything
// else, then by priority, request number and container.
type Key struct {
	Priority  int32
	RequestID int64
	Update    yarn.ContainerID // zero unless it enlarges that container
}

func (k Key) compare(o Key) int {
	a, b := k.Update.IsZero(), o.Update.IsZero()
	switch {
	case a && !b:
		return -1
	case b && !a:
		return 1
	case k.Priority != o.Priority:
		return order(int64(k.Priority), int64(o.Priority))
	case k.RequestID != o.RequestID:
		return order(k.RequestID, o.RequestID)
	}
	return k.Update.Compare(o.Update)
}

func order(a, b int64) int {
	if a < b {
		return -1
	}
	return 1
}

// Want is what is outstanding under one key. The counters outlive the rows.
//
// compat: Apache never forgets the counters of a key while the attempt lasts, so
// that a key that is used again goes on where it was.
type Want struct {
	Key
	Part          cluster.Part
	Opportunities int32 // nodes seen since the last local allocation
	Missed        int32 // unlabelled nodes not seen
	Rereserved    int32
	HasAny        bool
	Plain         bool // no request number, no label and nothing to enlarge
	listed        bool
	idle          bool // it was outstanding, and is among those that may be forgotten
	Exec          yarn.ExecutionType
	Rows          []Row // of hosts and racks, by place
	Any           Row   // of *; Count 0 when nothing is outstanding
	Label         string
	Reservations  []cluster.ContainerRef // by age
}

// At is the row of a place that is not *, or nil.
func (w *Want) At(p cluster.Place) *Row {
	for i := range w.Rows {
		if w.Rows[i].Place == p {
			return &w.Rows[i]
		}
		if i == scanLimit {
			return w.search(p)
		}
	}
	return nil
}

// scanLimit is how many rows are looked at one by one before a binary search.
const scanLimit = 8

func (w *Want) search(p cluster.Place) *Row {
	i, ok := slices.BinarySearchFunc(w.Rows, p, func(r Row, p cluster.Place) int { return int(r.Place) - int(p) })
	if !ok {
		return nil
	}
	return &w.Rows[i]
}

// MaxIdleKeys bounds the keys of an attempt that want nothing and are only
// remembered for their counters; the oldest are forgotten first.
const MaxIdleKeys = 4096

// Demand is what one attempt wants.
type Demand struct {
	keys    []*Want         // outstanding, in order
	pending []yarn.Resource // by partition

	// Where the first key and the lists lie as long as there is but one key and
	// one partition: a decision then finds them next to each other.
	own room

	rows  int     // of all keys, at hosts and racks
	all   []*Want // also those that were, in order
	asked []bool  // partitions that were ever asked for
	idle  []*Want
}

// room is where the demand of one attempt lies as long as it is small. What a
// decision looks at stands together.
type room struct {
	first   Want
	keys    [1]*Want
	pending [1]yarn.Resource
	taken   bool // first is in use, or was
	asked   [1]bool
	all     [1]*Want
}

// settle gives a demand that holds nothing its room.
func (d *Demand) settle() {
	if d.keys != nil {
		return
	}
	o := &d.own
	d.keys, d.all, d.pending = o.keys[:0], o.all[:0], o.pending[:0]
	if d.asked == nil {
		d.asked = o.asked[:0]
	}
}

// Size is how many keys and rows the attempt keeps.
func (d *Demand) Size() int { return len(d.all) + d.rows }

// Keys are the keys with something outstanding, in the order in which they are
// served.
func (d *Demand) Keys() []*Want { return d.keys }

// All are the keys that anything is known of, in order.
func (d *Demand) All() []*Want { return d.all }

// Pending is what is outstanding in the partition.
func (d *Demand) Pending(p cluster.Part) yarn.Resource {
	if int(p) < len(d.pending) {
		return d.pending[p]
	}
	return yarn.Resource{}
}

// Outstanding tells whether any amount is outstanding in the partition.
//
// compat: memory and vcores below zero are none, others are some.
func (d *Demand) Outstanding(p cluster.Part) bool {
	if int(p) >= len(d.pending) {
		return false
	}
	r := &d.pending[p]
	return r[yarn.Memory] > 0 || r[yarn.VCores] > 0 || r[2]|r[3]|r[4]|r[5]|r[6]|r[7] != 0
}

// PendingContainers is the number of containers outstanding in the partition.
func (d *Demand) PendingContainers(p cluster.Part) (n int64) {
	for _, w := range d.keys {
		if w.Part == p {
			n += int64(w.Any.Count)
		}
	}
	return n
}

// Asked tells in which partitions something was ever asked for.
func (d *Demand) Asked() []bool { return d.asked }

// ForgetAsked forgets that something was asked for in the default partition.
func (d *Demand) ForgetAsked() {
	if len(d.asked) > 0 {
		d.asked[0] = false
	}
}

func compareKey(w *Want, k Key) int { return w.compare(k) }

// Find is what is known under the key, or nil.
func (d *Demand) Find(k Key) *Want {
	i, ok := slices.BinarySearchFunc(d.all, k, compareKey)
	if !ok {
		return nil
	}
	return d.all[i]
}

func (d *Demand) open(k Key) *Want {
	i, ok := slices.BinarySearchFunc(d.all, k, compareKey)
	if ok {
		return d.all[i]
	}
	w := &Want{Key: k}
	if d.settle(); !d.own.taken {
		d.own.taken, w = true, &d.own.first
		w.Key = k
	}
	d.all = slices.Insert(d.all, i, w)
	return w
}

// Delta is a change of what is outstanding in a partition.
type Delta struct {
	Part  cluster.Part
	Size  yarn.Resource // of the change, its sign included
	Count int64
}

func (d *Demand) change(p cluster.Part, size yarn.Resource, count int64) Delta {
	for int(p) >= len(d.pending) {
		d.pending, d.asked = append(d.pending, yarn.Resource{}), append(d.asked, false)
	}
	for i := range size {
		size[i] *= count
	}
	d.pending[p].Increase(&size)
	return Delta{p, size, count}
}

// Set replaces the row of a key at a place. Changes of what is outstanding are
// appended to out. The caller has taken the place; rows that vanish drop theirs.
func (d *Demand) Set(places *cluster.Places, k Key, r Row, part cluster.Part, label string, out []Delta) []Delta {
	w := d.open(k)
	if r.Place != cluster.AnyPlace {
		d.rows -= len(w.Rows)
		w.setRow(places, r)
		d.rows += len(w.Rows)
		return out
	}
	last := w.Any
	if !w.HasAny {
		last = Row{}
	}
	if last.Count != 0 {
		out = append(out, d.change(w.Part, last.Size, -int64(last.Count)))
	}
	w.Any, w.HasAny, w.Part, w.Label = r, true, part, label
	w.Plain = k.RequestID == 0 && label == "" && k.Update.IsZero()
	out = append(out, d.change(part, r.Size, int64(r.Count)))
	d.asked[part] = true
	if r.Count <= 0 {
		// compat: an ask for none removes the rows of all places.
		out = append(out, d.change(part, r.Size, -int64(r.Count)))
		d.clear(places, w)
		return out
	}
	d.list(w)
	return out
}

func (w *Want) setRow(places *cluster.Places, r Row) {
	if old := w.At(r.Place); old != nil {
		places.Drop(r.Place)
		*old = r
		return
	}
	i, _ := slices.BinarySearchFunc(w.Rows, r.Place, func(r Row, p cluster.Place) int { return int(r.Place) - int(p) })
	w.Rows = slices.Insert(w.Rows, i, r)
}

func (d *Demand) clear(places *cluster.Places, w *Want) {
	for i := range w.Rows {
		places.Drop(w.Rows[i].Place)
	}
	d.rows -= len(w.Rows)
	w.Rows, w.Any, w.HasAny = w.Rows[:0], Row{}, false
	d.unlist(w)
}

func (d *Demand) list(w *Want) {
	if w.listed {
		return
	}
	w.listed = true
	i, _ := slices.BinarySearchFunc(d.keys, w.Key, compareKey)
	d.keys = slices.Insert(d.keys, i, w)
}

func (d *Demand) unlist(w *Want) {
	if !w.listed {
		return
	}
	w.listed = false
	if len(d.keys) > 1 {
		d.unlistOne(w)
	} else {
		d.keys = d.keys[:0]
	}
	if !w.idle {
		d.rest(w)
	}
}

//go:noinline
func (d *Demand) unlistOne(w *Want) {
	i := 0
	if d.keys[0] != w { // whatever is served is served from the front
		i, _ = slices.BinarySearchFunc(d.keys, w.Key, compareKey)
	}
	d.keys = slices.Delete(d.keys, i, i+1)
}

// rest remembers a key for its counters, at most MaxIdleKeys of them.
func (d *Demand) rest(w *Want) {
	w.idle = true
	d.idle = append(d.idle, w)
	if len(d.idle) <= MaxIdleKeys {
		return
	}
	kept := d.idle[:0]
	for i, old := range d.idle {
		if i < MaxIdleKeys/2 && !old.listed && len(old.Rows) == 0 && len(old.Reservations) == 0 {
			old.idle = false
			if j, ok := slices.BinarySearchFunc(d.all, old.Key, compareKey); ok && d.all[j] == old {
				d.all = slices.Delete(d.all, j, j+1)
			}
			continue
		}
		kept = append(kept, old)
	}
	d.idle = kept
}

// Take serves one container of the key at that locality: so much less is
// outstanding.
func (d *Demand) Take(calc measure.Calculator, places *cluster.Places, w *Want, l cluster.Locality, n *cluster.NodeBook) {
	if len(w.Rows) > 0 {
		d.takeRows(places, w, l, n)
	}
	calc.Decrease(&d.pending[w.Part], &w.Any.Size)
	w.Any.Count--
	if w.Any.Count == 0 {
		w.HasAny = false
		d.unlist(w)
	}
}

func (d *Demand) takeRows(places *cluster.Places, w *Want, l cluster.Locality, n *cluster.NodeBook) {
	d.rows -= len(w.Rows)
	if l == cluster.NodeLocal {
		w.takeRow(places, n.NodePlace)
	}
	if l != cluster.OffSwitch {
		w.takeRow(places, n.RackPlace)
	}
	d.rows += len(w.Rows)
}

func (w *Want) takeRow(places *cluster.Places, p cluster.Place) {
	r := w.At(p)
	if r == nil {
		return
	}
	r.Count--
	if r.Count != 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(w.Rows, p, func(r Row, p cluster.Place) int { return int(r.Place) - int(p) })
	w.Rows = slices.Delete(w.Rows, i, i+1)
	places.Drop(p)
}

// Clear forgets everything and returns what was outstanding.
func (d *Demand) Clear(places *cluster.Places, out []Delta) []Delta {
	for _, w := range d.keys {
		out = append(out, Delta{w.Part, scale(w.Any.Size, -int64(w.Any.Count)), -int64(w.Any.Count)})
	}
	for _, w := range d.all {
		for i := range w.Rows {
			places.Drop(w.Rows[i].Place)
		}
	}
	asked := slices.Clone(d.asked)
	*d = Demand{}
	d.asked = append(d.own.asked[:0], asked...)
	return out
}

func scale(r yarn.Resource, n int64) yarn.Resource {
	for i := range r {
		r[i] *= n
	}
	return r
}

// Left is how many containers are outstanding under the key.
func (w *Want) Left() int32 {
	if !w.HasAny {
		return 0
	}
	return w.Any.Count
}

// Fetch brings near what a decision reads of what is wanted, as Books.Fetch does.
func (d *Demand) Fetch() int64 {
	w := &d.own.first
	return int64(len(d.keys)) | int64(w.Priority) | int64(w.Any.Count) | w.Any.Size[0] | int64(len(w.Rows)) | int64(w.Missed) | d.own.pending[0][0]
}
