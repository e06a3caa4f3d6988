package reserve

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// day is the largest period of these tests, and the window of averages.
const day = 86_400_000

// patience is how long one call may take here. Calls are meant to end within a tenth of a second; the
// rest is for slow machines and the race detector.
const patience = 30 * time.Second

func number(n int64) yarn.ReservationID {
	return yarn.ReservationID{ClusterTimestamp: 1, Number: n}
}

func usual() Settings {
	return Settings{Early: true, Smoothness: 10, Window: day, Average: 100, Peak: 100, Enforcement: 3_600_000, Step: 1000, MaxPeriod: day,
		Calc: measure.Calculator{Dominant: true, Types: 2}, Max: yarn.NewResource(1<<20, 1000)}
}

func stage(memory, cores int64, containers, gang int32, duration int64) yarn.ReservationStage {
	return yarn.ReservationStage{Capability: yarn.NewResource(memory, cores), Containers: containers, Concurrency: gang, Duration: duration}
}

func define(arrival, deadline int64, how yarn.Interpreter, stages ...yarn.ReservationStage) yarn.ReservationDefinition {
	return yarn.ReservationDefinition{Arrival: arrival, Deadline: deadline, Recurrence: "0", Interpreter: how, Stages: stages}
}

func every(period int64, d yarn.ReservationDefinition) yarn.ReservationDefinition {
	d.Recurrence = strconv.FormatInt(period, 10)
	return d
}

func repeated(n int, s yarn.ReservationStage) []yarn.ReservationStage {
	out := make([]yarn.ReservationStage, n)
	for i := range out {
		out[i] = s
	}
	return out
}

// hostile are definitions that would keep a naive planner busy for hours, or overflow.
func hostile() map[string]yarn.ReservationDefinition {
	const year = 365 * day
	one := stage(1024, 1, 1, 1, 1000)
	return map[string]yarn.ReservationDefinition{
		"ten thousand stages":             define(0, day, yarn.AllStages, repeated(10_000, one)...),
		"a thousand stages, all":          define(0, day, yarn.AllStages, repeated(1000, one)...),
		"a thousand stages, ordered":      define(0, day, yarn.Ordered, repeated(1000, one)...),
		"a thousand stages, no gap":       define(0, day, yarn.OrderedNoGap, repeated(1000, one)...),
		"a thousand alternatives":         define(0, day, yarn.AnyStage, repeated(1000, stage(1<<20, 1, math.MaxInt32, 1, 1000))...),
		"a year of seconds":               define(0, year, yarn.AllStages, one),
		"a day of seconds":                define(0, day, yarn.AllStages, stage(1024, 1, 86_400, 1, 1)),
		"two hours of seconds":            define(0, day/12, yarn.AllStages, stage(1024, 1, 7200, 1, 1)),
		"a million containers in a year":  define(0, year, yarn.AllStages, stage(1<<20, 1, 1_000_000, 1, 1000)),
		"a thousand million containers":   define(0, year, yarn.AllStages, stage(1, 1, 1_000_000_000, 1, 3_600_000)),
		"many small ones":                 define(0, day, yarn.AllStages, stage(1, 0, math.MaxInt32, 1, 3_600_000)),
		"a period of a millisecond":       every(1, define(0, 1, yarn.AllStages, one)),
		"a period of ten seconds":         every(10_000, define(0, 10_000, yarn.AllStages, one)),
		"of ten seconds, many stages":     every(10_000, define(0, 10_000, yarn.Ordered, repeated(10, one)...)),
		"the end of time":                 define(0, math.MaxInt64, yarn.AllStages, one),
		"before time":                     define(math.MinInt64, math.MaxInt64, yarn.AllStages, one),
		"a duration without end":          define(0, day, yarn.AnyStage, stage(1024, 1, 1, 1, math.MaxInt64-1)),
		"no duration":                     define(0, day, yarn.AllStages, stage(1024, 1, 1, 1, 0)),
		"a negative duration":             define(0, day, yarn.AllStages, stage(1024, 1, 1, 1, -1000)),
		"nothing":                         define(0, day, yarn.AllStages, stage(0, 0, 1, 1, 1000)),
		"nothing of memory, ordered":      define(0, day, yarn.Ordered, stage(0, 1, 1, 1, 1000), stage(0, 1, 1, 1, 1000)),
		"less than nothing":               define(0, day, yarn.AllStages, stage(-1024, -1, 1, 1, 1000)),
		"too much":                        define(0, day, yarn.AllStages, stage(math.MaxInt64, 1, math.MaxInt32, math.MaxInt32, 1000)),
		"deadline before arrival":         define(day, 0, yarn.AnyStage, one),
		"far away":                        define(MaxTime-year, MaxTime, yarn.AllStages, one),
		"not a period":                    {Deadline: day, Recurrence: "daily", Interpreter: yarn.AllStages, Stages: []yarn.ReservationStage{one}},
		"no recurrence":                   {Deadline: day, Interpreter: yarn.AllStages, Stages: []yarn.ReservationStage{one}},
		"a negative period":               every(-5, define(0, day, yarn.AllStages, one)),
		"an interpreter that is not one":  define(0, day, 77, one),
		"gangs that do not divide":        define(0, day, yarn.AllStages, stage(1024, 1, 3, 2, 1000)),
		"gangs of none":                   define(0, day, yarn.AllStages, stage(1024, 1, 3, 0, 1000)),
		"the least gang":                  define(0, day, yarn.AllStages, stage(1024, 1, math.MinInt32, math.MinInt32, 1000)),
		"no stages":                       define(0, day, yarn.AllStages),
		"a window of less than one step":  define(1, 999, yarn.AllStages, stage(1024, 1, 1, 1, 1)),
		"a window that ends in its step":  define(1500, 1999, yarn.AllStages, stage(1024, 1, 1, 1, 1)),
		"one container for half the time": define(0, MaxTime, yarn.AllStages, stage(1024, 1, 1, 1, MaxTime/2)),
	}
}

// modes are settings that plan in different ways.
func modes() map[string]Settings {
	out := map[string]Settings{}
	for name, change := range map[string]func(*Settings){
		"aligned, early":               func(s *Settings) { s.Early = true },
		"greedy, late, no over-commit": func(s *Settings) { s.Agent, s.Sharing, s.Early = Greedy, NoOverCommit, false },
		"greedy, early, short window":  func(s *Settings) { s.Agent, s.Early, s.Window = Greedy, true, 1000 },
	} {
		s := usual()
		change(&s)
		out[name] = s
	}
	return out
}

// mostWork is what any call may cost: MaxWork, and to pass over what a plan holds a few times.
const mostWork = MaxWork + 12*(MaxPoints+MaxReservations)/passesPerPoint

// costs runs a call and counts its work.
func costs(t *testing.T, p *Plan, what string, call func()) {
	t.Helper()
	begun, start := p.work, time.Now()
	call()
	work, took := p.work-begun, time.Since(start)
	if testing.Verbose() && took > 20*time.Millisecond {
		t.Logf("%6d ms, %d points: %s", took.Milliseconds(), work, what)
	}
	if work > mostWork {
		t.Errorf("%s costs %d points; no call may cost more than %d", what, work, mostWork)
	}
	if took > patience {
		t.Errorf("%s took %v", what, took)
	}
}

// TestHostile: whatever is asked for, of a plan that is empty, one with many reservations, and one that
// is full, the answer comes soon, and a refusal changes nothing.
func TestHostile(t *testing.T) {
	all := hostile()
	for _, fill := range []string{"empty", "crowded", "full", "brimming", "recurring"} {
		for mode, s := range modes() {
			if len(fill) > 7 && s.Sharing == NoOverCommit {
				continue // the other one does more
			}
			p := filled(t, s, fill)
			before := p.image()
			for _, name := range slices.Sorted(maps.Keys(all)) {
				d, what := all[name], fill+", "+mode+", "+name
				_ = p.Check(-1, &d) // what it refuses must be refused without it, too
				var err error
				costs(t, p, what, func() { err = p.Submit(0, number(1_000_000), "mallory", d) })
				var r *Refusal
				switch {
				case err == nil:
					costs(t, p, what+", updated", func() { _ = p.Update(0, number(1_000_000), "trudy", d) })
					costs(t, p, what+", deleted", func() { err = p.Delete(number(1_000_000)) })
					if err != nil {
						t.Errorf("%s: %v", what, err)
					}
					before = p.image()
				case !errors.As(err, &r):
					t.Errorf("%s: %T is no refusal", what, err)
				case !p.is(before):
					t.Errorf("%s: a refused submission changed the plan", what)
				}
			}
		}
	}
}

// TestHostileSteps: what comes at every step of time does not cost more, however much has to go.
func TestHostileSteps(t *testing.T) {
	for _, fill := range []string{"crowded", "full", "brimming", "recurring"} {
		for mode, s := range modes() {
			s.Enforcement = 10 * day
			if fill != "crowded" && s.Agent == Greedy {
				continue // that makes no difference
			}
			for _, size := range []int64{0, 3000} {
				p := filled(t, s, fill)
				p.SetCapacity(yarn.NewResource(size, size))
				what := fmt.Sprintf("%s, %s, %d left", fill, mode, size)
				for now := int64(0); now < 2000; now += 1000 {
					costs(t, p, what+", replan", func() { _, _ = p.Replan(now) })
					costs(t, p, what+", active", func() { p.Active(now) })
				}
				costs(t, p, what+", archive", func() { p.Archive(100 * day) })
			}
		}
	}
}

// image is what a plan holds, to compare it with later.
type image struct {
	saved
	byID map[yarn.ReservationID]*Reservation
	all  map[string]account
}

func (p *Plan) image() image {
	out := image{saved: *p.save([2]string{}), byID: maps.Clone(p.byID), all: map[string]account{}}
	for name, u := range p.users {
		v := *u
		v.single, v.cyclic.Line, v.active = slices.Clone(u.single), slices.Clone(u.cyclic.Line), slices.Clone(u.active)
		out.all[name] = v
	}
	return out
}

// is tells whether the plan still looks so.
func (p *Plan) is(a image) bool {
	return slices.Equal(a.saved.all, p.all) && slices.Equal(a.single, p.single) && slices.Equal(a.cyclic, p.cyclic.Line) && maps.Equal(a.byID, p.byID) &&
		maps.EqualFunc(a.all, p.users, func(u account, v *account) bool {
			return u.reservations == v.reservations && u.singles == v.singles && u.cyclics == v.cyclics && slices.Equal(u.single, v.single) &&
				slices.Equal(u.cyclic.Line, v.cyclic.Line) && slices.Equal(u.active, v.active)
		})
}

// filled is a plan with something in it.
func filled(t testing.TB, s Settings, how string) *Plan {
	p := NewPlan(s, yarn.NewResource(10<<20, 10_000))
	switch how {
	case "crowded":
		crowd(t, p, 1000)
	case "full":
		d := define(0, 40*day, yarn.AllStages, stage(1024, 1, 10_000, 1, 40*day))
		p.Restore(Reservation{ID: number(1), User: "ann", Definition: d, Start: d.Arrival, End: d.Deadline,
			Intervals: []Interval{{0, 40 * day, yarn.NewResource(10<<20, 10_000)}}})
	case "brimming":
		brim(p, 9990, 5, 0)
	case "recurring":
		brim(p, 9990, 1, day)
		brim(p, 9, 3000, day)
	}
	return p
}

// brim restores so many reservations over a day, of a hundred users, each in so many pieces.
func brim(p *Plan, n, pieces int, period int64) {
	var list []Reservation
	for i := range n {
		at := int64(len(p.all)+i) * day / 10_000 % (day / 2)
		d := define(at, at+day/2, yarn.AllStages, repeated(pieces, stage(1, 0, 1, 1, 1))...)
		if period > 0 {
			d = every(period, d)
		}
		r := Reservation{ID: number(int64(10_000 + len(p.all) + i)), User: "user" + strconv.Itoa(i%100), Definition: d, Start: d.Arrival, End: d.Deadline}
		for k := range int64(pieces) {
			r.Intervals = append(r.Intervals, Interval{at + k*day/2/int64(pieces), at + (k+1)*day/2/int64(pieces) - 1, yarn.NewResource(1, 0)})
		}
		list = append(list, r)
	}
	p.Restore(list...)
}

// crowd submits so many reservations over a day, of ten users.
func crowd(t testing.TB, p *Plan, n int) {
	for i := range n {
		at := int64(i) * 79_000
		d := define(at, at+1_800_000+int64(i%7)*11_000, yarn.AllStages, stage(2048, 1, int32(1+i%40), 1, 60_000+int64(i%13)*17_000))
		if i%10 == 0 {
			d = every(day, d)
		}
		if err := p.Submit(0, number(int64(i)), "user"+strconv.Itoa(i%10), d); err != nil {
			t.Fatalf("reservation %d of %d: %v", i, n, err)
		}
	}
}

func soon(t *testing.T, call func()) {
	t.Helper()
	start := time.Now()
	if call(); time.Since(start) > patience {
		t.Fatalf("took %v", time.Since(start))
	}
}
