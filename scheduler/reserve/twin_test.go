package reserve

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/yarn"
)

// A twin has what a plan has promised as amounts over time, cell by cell, read from the intervals of its reservations alone. What the
// plan may have promised it works out by trying everything. Containers have as many MiB as vcores, so that one number is an amount.
type twin struct {
	t        *rapid.T
	s        Settings
	capacity int64
	now      int64
	shrunk   bool // the plan was larger once: more may be promised than there is
	removed  bool // some were, so that what a user has may change at other times than when it was looked at
	all      map[yarn.ReservationID]twinned
}

type twinned struct {
	user     string
	d        yarn.ReservationDefinition
	accepted int64
	period   int64
	cells    []int64
}

const (
	twinCell    = 500 // ms; all times are multiples of it
	twinHorizon = 260 // cells
)

// read takes over what the plan has promised now.
func (w *twin) read(r *Reservation) twinned {
	x := twinned{user: r.User, d: r.Definition, accepted: r.Accepted, cells: make([]int64, twinHorizon)}
	x.period, _ = strconv.ParseInt(x.d.Recurrence, 10, 64)
	for i := range x.cells {
		at := int64(i) * twinCell
		phase := at
		if x.period > 0 {
			phase %= x.period
		}
		for _, v := range r.Intervals {
			if v.Start%twinCell != 0 || v.End%twinCell != 0 || v.Resource[yarn.Memory] != v.Resource[yarn.VCores] {
				w.t.Fatalf("%+v", *r)
			}
			if v.Start <= phase && phase < v.End {
				x.cells[i] += v.Resource[yarn.Memory]
			}
		}
	}
	return x
}

// has is what the reservation has in a cell.
func (x *twinned) has(cell int) int64 {
	if at := int64(cell) * twinCell; at < x.d.Arrival {
		return 0
	}
	return x.cells[cell]
}

// active tells whether one of its instances is between arrival and deadline.
func (x *twinned) active(at int64) bool {
	if x.period > 0 && at >= x.d.Arrival {
		at = x.d.Arrival + (at-x.d.Arrival)%x.period
	}
	return x.d.Arrival <= at && at < x.d.Deadline
}

// block is a gang of a stage.
type block struct {
	size, cells int64
	left        int64 // how many of them have no place yet
}

func (w *twin) blocks(d *yarn.ReservationDefinition) (out []block) {
	for _, s := range d.Stages {
		out = append(out, block{s.Capability[0] * int64(s.Concurrency), (s.Duration + w.s.Step - 1) / w.s.Step * w.s.Step / twinCell, int64(s.Containers / s.Concurrency)})
	}
	return out
}

// fitsTogether tells whether the blocks are what the profile is made of, whichever way they lie in it.
func fitsTogether(profile []int64, at int, b []block) bool {
	for at < len(profile) && profile[at] == 0 {
		at++
	}
	if at == len(profile) {
		return !slices.ContainsFunc(b, func(x block) bool { return x.left > 0 && x.size > 0 })
	}
	return begin(profile, at, b, 0, profile[at])
}

// begin tries how many blocks of each stage from the i-th on begin in a cell of which so much is not explained.
func begin(profile []int64, at int, b []block, i int, rest int64) bool {
	if i == len(b) {
		return rest == 0 && fitsTogether(profile, at, b)
	}
	for n := int64(0); n <= b[i].left && n*b[i].size <= rest; n++ {
		if n > 0 && (b[i].size == 0 || at+int(b[i].cells) > len(profile)) {
			break
		}
		p, c := slices.Clone(profile), slices.Clone(b)
		c[i].left -= n
		ok := true
		for k := range int(b[i].cells) {
			if n > 0 {
				p[at+k] -= n * b[i].size
				ok = ok && p[at+k] >= 0
			}
		}
		if ok && begin(p, at, c, i+1, rest-n*b[i].size) {
			return true
		}
	}
	return false
}

// satisfied tells whether the reservation has what its definition asks for.
func (w *twin) satisfied(x *twinned) bool {
	d := &x.d
	from, to := int(d.Arrival/twinCell), int(d.Deadline/twinCell)
	for i := range x.cells {
		at := int64(i) * twinCell
		if in := x.active(at); !in && x.period == 0 && x.cells[i] != 0 || !in && x.has(i) != 0 {
			w.t.Errorf("%d at %d, outside of arrival and deadline", x.cells[i], at)
			return false
		}
	}
	profile, b := slices.Clone(x.cells[from:to]), w.blocks(d)
	switch d.Interpreter {
	case yarn.AnyStage:
		return slices.ContainsFunc(b, func(one block) bool { return fitsTogether(profile, 0, []block{one}) })
	case yarn.AllStages:
		return fitsTogether(profile, 0, b)
	}
	return inOrder(profile, b, d.Interpreter == yarn.OrderedNoGap)
}

// inOrder tells whether the stages lie one behind the other, and without a gap if that is asked for.
func inOrder(profile []int64, b []block, seamless bool) bool {
	if len(b) == 0 {
		return !slices.ContainsFunc(profile, func(n int64) bool { return n != 0 })
	}
	for cut := 0; cut <= len(profile); cut++ { // where the first stage ends
		first, next := profile[:cut], profile[cut:]
		if !fitsTogether(first, 0, b[:1]) {
			continue
		}
		if seamless && !(solid(first, false) && (len(b) == 1 || solid(next, true))) {
			continue
		}
		if inOrder(next, b[1:], seamless) {
			return true
		}
	}
	return false
}

// solid: there is no gap at the end, or at the beginning, and none within.
func solid(profile []int64, start bool) bool {
	p := slices.Clone(profile)
	if !start {
		slices.Reverse(p)
	}
	end := slices.Index(p, 0)
	return end != 0 && (end < 0 || !slices.ContainsFunc(p[end:], func(n int64) bool { return n != 0 }))
}

func share(of int64, percent float32) int64 {
	return int64(math.Floor(float64(of) * float64(percent/100)))
}

// lawful: nothing above the capacity, nor above what the sharing policy lets a user have at any time and on average.
func (w *twin) lawful(users []string) {
	for i := range twinHorizon {
		var sum int64
		for _, x := range w.all {
			sum += x.has(i)
		}
		if sum > w.capacity {
			w.t.Fatalf("at %d %d is promised of %d", i*twinCell, sum, w.capacity)
		}
	}
	if w.s.Sharing == NoOverCommit {
		return
	}
	for _, user := range users {
		own, recurs := make([]int64, twinHorizon), false
		for _, x := range w.all {
			for i := range own {
				if x.user == user {
					own[i] += x.has(i)
				}
			}
			recurs = recurs || x.user == user && x.period > 0
		}
		if recurs {
			continue // averages are taken around the first instance alone
		}
		var sum int64
		window := int(w.s.Window / twinCell)
		for i, n := range own {
			if most := share(w.capacity, w.s.Peak); n > most {
				w.t.Fatalf("at %d %s has %d, and may have %d at any time", i*twinCell, user, n, most)
			}
			if sum += n; i >= window {
				sum -= own[i-window]
			}
			if w.removed || i+1 < len(own) && own[i+1] == n {
				continue // compat: it is looked at where what the user has changes
			}
			if most := share(w.capacity, w.s.Average); sum >= (most+1)*int64(window) { // two sums are rounded
				w.t.Fatalf("in the %d ms before %d %s has %d cells of it, more than %d on average", w.s.Window, (i+1)*twinCell, user, sum, most)
			}
		}
	}
}

// replan is who must go.
func (w *twin) replan() (gone []yarn.ReservationID) {
	for at := w.now; at < min(w.now+w.s.Enforcement, twinHorizon*twinCell); at += w.s.Step {
		var sum int64
		var there []yarn.ReservationID
		for id, x := range w.all {
			if x.active(at) && !slices.Contains(gone, id) {
				there, sum = append(there, id), sum+x.has(int(at/twinCell))
			}
		}
		slices.SortFunc(there, func(a, b yarn.ReservationID) int {
			return cmp.Or(cmp.Compare(w.all[b].accepted, w.all[a].accepted), b.Compare(a))
		})
		for _, id := range there {
			if sum <= w.capacity {
				break
			}
			x := w.all[id]
			gone, sum = append(gone, id), sum-x.has(int(at/twinCell))
		}
	}
	return gone
}

// compare: the plan has what the twin has.
func (w *twin) compare(p *Plan) {
	if len(p.All()) != len(w.all) {
		w.t.Fatalf("the plan has %d reservations, the twin %d", len(p.All()), len(w.all))
	}
	for i := range twinHorizon {
		var sum int64
		for _, x := range w.all {
			sum += x.cells[i]
		}
		if got := p.CommittedAt(int64(i) * twinCell); got != yarn.NewResource(sum, sum) {
			w.t.Fatalf("at %d %v is committed, %d is promised", i*twinCell, got, sum)
		}
	}
}

func (w *twin) definition() yarn.ReservationDefinition {
	draw := func(low, high int64, what string) int64 {
		return twinCell * rapid.Int64Range(low, high).Draw(w.t, what)
	}
	d := yarn.ReservationDefinition{Arrival: w.now + draw(0, rapid.SampledFrom([]int64{10, 80}).Draw(w.t, "soon"), "arrival"), Recurrence: "0", Interpreter: yarn.Interpreter(rapid.IntRange(0, 3).Draw(w.t, "interpreter"))}
	d.Deadline = d.Arrival + draw(0, 12, "spare")
	for range rapid.IntRange(1, 3).Draw(w.t, "stages") {
		gang, size := rapid.Int32Range(1, 3).Draw(w.t, "gang"), rapid.Int64Range(1, 2).Draw(w.t, "size")
		d.Stages = append(d.Stages, stage(size, size, gang*rapid.Int32Range(1, 4).Draw(w.t, "gangs"), gang, draw(1, 8, "duration")))
		d.Deadline += d.Stages[len(d.Stages)-1].Duration
	}
	if rapid.IntRange(0, 4).Draw(w.t, "recurs") == 0 {
		d = every(maxPeriod/rapid.Int64Range(1, 3).Draw(w.t, "times"), d)
	}
	return d
}

// TestTwin plays random changes on a plan and its twin.
func TestTwin(t *testing.T) {
	accepted, revoked := map[yarn.Interpreter]int{}, 0
	users := []string{"user1", "user2", "user3"}
	rapid.Check(t, func(t *rapid.T) {
		w := &twin{t: t, s: drawSettings(t), capacity: 24, all: map[yarn.ReservationID]twinned{}}
		p := NewPlan(w.s, yarn.NewResource(24, 24))
		for range rapid.IntRange(5, 25).Draw(t, "changes") {
			w.now += twinCell * rapid.Int64Range(0, 4).Draw(t, "passes")
			id, user := number(rapid.Int64Range(1, 12).Draw(t, "id")), rapid.SampledFrom(users).Draw(t, "user")
			before := p.image()
			var err error
			var gone []yarn.ReservationID
			change := func(call func(int64, yarn.ReservationID, string, yarn.ReservationDefinition) error) {
				d := w.definition()
				if err = p.Check(w.now, &d); err != nil {
					return
				}
				if err = call(w.now, id, user, d); err != nil || p.Reservation(id) == before.byID[id] {
					return
				}
				x := w.read(p.Reservation(id))
				if !x.d.Equal(&d) || x.user != user || x.accepted != w.now || !w.satisfied(&x) {
					t.Fatalf("%+v has %v", d, p.Reservation(id).Intervals)
				}
				w.removed = w.removed || before.byID[id] != nil
				w.all[id] = x
				accepted[d.Interpreter]++
			}
			switch rapid.IntRange(0, 11).Draw(t, "what") {
			case 0:
				if err = p.Delete(id); err == nil {
					gone = append(gone, id)
				}
			case 1:
				w.capacity = rapid.Int64Range(6, 24).Draw(t, "capacity")
				w.shrunk = true
				p.SetCapacity(yarn.NewResource(w.capacity, w.capacity))
			case 2:
				want := w.replan()
				if gone, err = p.Replan(w.now); err != nil || !slices.Equal(gone, want) {
					t.Fatalf("revoked %v (%v), want %v", gone, err, want)
				}
				revoked += len(gone)
			case 3:
				gone = p.Archive(w.now)
			case 4, 5, 6:
				change(p.Update)
			default:
				change(p.Submit)
			}
			if err != nil && !p.is(before) {
				t.Fatalf("refused (%v), and changed", err)
			}
			for _, id := range gone {
				w.removed = true
				delete(w.all, id)
			}
			w.compare(p)
			if !w.shrunk {
				w.lawful(users)
			}
		}
	})
	if !t.Failed() && (len(accepted) < 4 || slices.Min(slices.Collect(maps.Values(accepted))) < 15 || revoked == 0) {
		t.Errorf("accepted %v, revoked %d: too tame", accepted, revoked)
	}
}
