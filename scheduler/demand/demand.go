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
	Leveled       bool             // somebody has looked at Level
	Level         cluster.Locality // how far from where containers are asked for they may be by now
	HasAny        bool
	Plain         bool // no request number, no label and nothing to enlarge
	listed        bool
	idle          bool  // among those that may be forgotten
	Rows          []Row // of hosts and racks
	Any           Row   // of *; Count 0 when nothing is outstanding
	Label         string
	Reservations  []cluster.ContainerRef // by age

	rowAt     map[cluster.Place]int32 // where rows stand in Rows; nil while they are few
	Latest    int32                   // for the caller of Open: the last ask of the call for any host
	wasListed bool                    // what listed was before the call that has opened it
	gone      bool                    // it is being forgotten
}

// At is the row of a place that is not *, or nil.
func (w *Want) At(p cluster.Place) *Row {
	for i := range w.Rows {
		if w.Rows[i].Place == p {
			return &w.Rows[i]
		}
		if i == fewRows {
			return w.search(p)
		}
	}
	return nil
}

// fewRows is how many rows are looked at one by one before the index is asked.
const fewRows = 8

func (w *Want) search(p cluster.Place) *Row {
	i, ok := w.rowAt[p]
	if !ok {
		return nil
	}
	return &w.Rows[i]
}

// Demand is what one attempt wants.
type Demand struct {
	keys        []*Want         // outstanding, in order
	pending     []yarn.Resource // by partition
	waiting     int64           // containers outstanding
	open        bool            // between Open and Close
	shared      bool            // by several attempts; see CopyTo
	tooManyIdle bool            // there may be too many idle keys
	taken       bool            // inline.first is in use, or was
	everAsked   [1]bool         // the memory of asked while there is one partition

	// Where the first key and the lists lie as long as there is but one key and
	// one partition: a decision then finds them next to each other.
	inline inline

	rows   int32   // of all keys, at hosts and racks
	spared int32   // of the idle keys: that could not be forgotten when last looked at
	all    []*Want // also those that were, in order
	asked  []bool  // partitions that were ever asked for
	idle   []*Want

	many *many // between Open of many keys and Close; else nil
}

// many is what is known while many keys are open. The demand's keys are out of date then.
type many struct {
	opened      []*Want // in order
	outstanding int     // how many keys have something outstanding
}

// inline is where the demand of one attempt lies as long as it is small. What a
// decision looks at stands together.
type inline struct {
	first   Want
	keys    [1]*Want
	pending [1]yarn.Resource
	all     [1]*Want
}

// useInline has a demand that holds nothing yet keep its lists in inline.
func (d *Demand) useInline() {
	if d.keys != nil {
		return
	}
	o := &d.inline
	d.keys, d.all, d.pending = o.keys[:0], o.all[:0], o.pending[:0]
	if d.asked == nil {
		d.asked = d.everAsked[:0]
	}
}

// Size is how many keys and rows the attempt keeps.
func (d *Demand) Size() int { return len(d.all) + int(d.rows) }

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

// PendingContainers is the number of containers outstanding in all partitions.
func (d *Demand) PendingContainers() int64 { return d.waiting }

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

// Delta is a change of what is outstanding in a partition.
type Delta struct {
	Part  cluster.Part
	Size  yarn.Resource // of the change, its sign included
	Count int64
}

func (d *Demand) change(p cluster.Part, size yarn.Resource, count int64) Delta {
	for int(p) >= len(d.pending) {
		d.pending = append(d.pending, yarn.Resource{})
	}
	for int(p) >= len(d.asked) { // Clear leaves asked behind
		d.asked = append(d.asked, false)
	}
	for i := range size {
		size[i] *= count
	}
	d.pending[p].Increase(&size)
	d.waiting += count
	return Delta{p, size, count}
}

// Set replaces the row of a key at a place. Changes of what is outstanding are
// appended to out. The caller has taken the place; rows that vanish drop theirs.
func (d *Demand) Set(places *cluster.Places, w *Want, r Row, part cluster.Part, label string, out []Delta) []Delta {
	if r.Place != cluster.AnyPlace {
		d.rows -= int32(len(w.Rows))
		w.setRow(places, r)
		d.rows += int32(len(w.Rows))
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
	w.Plain = w.RequestID == 0 && label == "" && w.Update.IsZero()
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
	w.Rows = append(w.Rows, r)
	switch {
	case w.rowAt != nil:
		w.rowAt[r.Place] = int32(len(w.Rows) - 1)
	case len(w.Rows) > fewRows:
		w.rowAt = map[cluster.Place]int32{}
		for i := range w.Rows {
			w.rowAt[w.Rows[i].Place] = int32(i)
		}
	}
}

// dropRow forgets a row, and puts the last one where it stood.
func (w *Want) dropRow(places *cluster.Places, r *Row) {
	last := len(w.Rows) - 1
	if w.rowAt != nil {
		i := w.rowAt[r.Place]
		delete(w.rowAt, r.Place)
		if int(i) != last {
			w.rowAt[w.Rows[last].Place] = i
		}
	}
	places.Drop(r.Place)
	*r = w.Rows[last]
	w.Rows = w.Rows[:last]
}

func (d *Demand) clear(places *cluster.Places, w *Want) {
	for i := range w.Rows {
		places.Drop(w.Rows[i].Place)
	}
	d.rows -= int32(len(w.Rows))
	if w.rowAt != nil { // many: not to be kept
		w.Rows, w.rowAt = nil, nil
	}
	w.Rows, w.Any, w.HasAny = w.Rows[:0], Row{}, false
	d.unlist(w)
}

func (d *Demand) list(w *Want) {
	if w.listed {
		return
	}
	w.listed = true
	if d.many != nil {
		d.many.outstanding++
		return
	}
	i, _ := slices.BinarySearchFunc(d.keys, w.Key, compareKey)
	d.keys = slices.Insert(d.keys, i, w)
}

func (d *Demand) unlist(w *Want) {
	if !w.listed {
		return
	}
	w.listed = false
	if d.many != nil || len(d.keys) > 1 {
		d.unlistOne(w)
	} else {
		d.keys = d.keys[:0]
	}
	if !w.idle {
		d.enterIdle(w)
	}
}

//go:noinline
func (d *Demand) unlistOne(w *Want) {
	switch {
	case d.many != nil:
		d.many.outstanding--
	case d.keys[0] == w: // whatever is served is served from the front
		d.keys[0] = nil
		d.keys = d.keys[1:]
	default:
		i, _ := slices.BinarySearchFunc(d.keys, w.Key, compareKey)
		d.keys = slices.Delete(d.keys, i, i+1)
	}
}

// Take serves one container of the key at that locality: so much less is
// outstanding.
func (d *Demand) Take(calc measure.Calculator, places *cluster.Places, w *Want, l cluster.Locality, n *cluster.NodeBook) {
	if len(w.Rows) > 0 {
		d.takeRows(places, w, l, n)
	}
	calc.Decrease(&d.pending[w.Part], &w.Any.Size)
	d.waiting--
	w.Any.Count--
	if w.Any.Count == 0 {
		w.HasAny = false
		d.unlist(w)
		if d.tooManyIdle && !d.open {
			d.forgetIdle()
		}
	}
}

func (d *Demand) takeRows(places *cluster.Places, w *Want, l cluster.Locality, n *cluster.NodeBook) {
	d.rows -= int32(len(w.Rows))
	if l == cluster.NodeLocal {
		w.takeRow(places, n.NodePlace)
	}
	if l != cluster.OffSwitch {
		w.takeRow(places, n.RackPlace)
	}
	d.rows += int32(len(w.Rows))
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
	w.dropRow(places, r)
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
	d.asked = append(d.everAsked[:0], asked...)
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
