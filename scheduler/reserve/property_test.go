package reserve

import (
	"errors"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve/timeline"
	"github.com/heddle-project/heddle/yarn"
)

const maxPeriod = 24_000

func drawSettings(t *rapid.T) Settings {
	return Settings{
		Agent: rapid.SampledFrom([]Agent{Aligned, Greedy}).Draw(t, "agent"), Early: rapid.Bool().Draw(t, "early"),
		Smoothness: rapid.Int32Range(1, 10).Draw(t, "smoothness"),
		Sharing:    rapid.SampledFrom([]Sharing{OverTime, NoOverCommit}).Draw(t, "sharing"),
		Window:     rapid.Int64Range(1, 40).Draw(t, "window") * 500,
		Average:    rapid.SampledFrom([]float32{30, 66.6, 100}).Draw(t, "average"),
		Peak:       rapid.SampledFrom([]float32{50, 100}).Draw(t, "peak"), Enforcement: 60_000, Step: 1000, MaxPeriod: maxPeriod,
		Calc: measure.Calculator{Types: 2, Dominant: rapid.Bool().Draw(t, "dominant")}, Max: yarn.NewResource(4, 4),
	}
}

func drawDefinition(t *rapid.T, now int64) yarn.ReservationDefinition {
	d := yarn.ReservationDefinition{Arrival: now + rapid.Int64Range(0, 20_000).Draw(t, "arrival"), Recurrence: "0",
		Interpreter: yarn.Interpreter(rapid.IntRange(0, 3).Draw(t, "interpreter"))}
	if rapid.Bool().Draw(t, "aligned") {
		d.Arrival = d.Arrival / 1000 * 1000
	}
	for range rapid.IntRange(1, 3).Draw(t, "stages") {
		gang := rapid.Int32Range(1, 3).Draw(t, "gang")
		d.Stages = append(d.Stages, stage(rapid.Int64Range(0, 2).Draw(t, "memory"), rapid.Int64Range(0, 2).Draw(t, "cores"),
			gang*rapid.Int32Range(1, 9).Draw(t, "gangs"), gang, rapid.Int64Range(1, 6000).Draw(t, "duration")))
	}
	d.Deadline = d.Arrival + rapid.Int64Range(0, 10_000).Draw(t, "spare")
	for _, s := range d.Stages {
		d.Deadline += s.Duration
	}
	if rapid.IntRange(0, 3).Draw(t, "recurs") == 0 {
		d = every(maxPeriod/rapid.Int64Range(1, 3).Draw(t, "times"), d)
	}
	return d
}

// TestProperties plays random changes on a plan.
func TestProperties(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		p := NewPlan(drawSettings(t), yarn.NewResource(24, 24))
		if rapid.IntRange(0, 2).Draw(t, "like Apache") == 2 {
			p.LikeApache()
		}
		now, shrunk := int64(0), false
		for range rapid.IntRange(5, 30).Draw(t, "changes") {
			now += rapid.Int64Range(0, 3000).Draw(t, "passes")
			id, user := number(rapid.Int64Range(1, 12).Draw(t, "id")), "user"+strconv.Itoa(rapid.IntRange(1, 3).Draw(t, "user"))
			before := state(p)
			var err error
			switch what := rapid.IntRange(0, 11).Draw(t, "what"); what {
			case 0:
				err = p.Delete(id)
			case 1:
				size := rapid.Int64Range(6, 24).Draw(t, "size")
				shrunk = shrunk || size < p.capacity[0]
				p.SetCapacity(yarn.NewResource(size, size))
			case 2:
				replanned(t, p, now)
			case 3:
				p.Archive(now)
			case 4, 5:
				d := drawDefinition(t, now)
				if err = p.Check(now, &d); err == nil {
					err = p.Update(now, id, user, d)
				}
			default:
				d := drawDefinition(t, now)
				if err = p.Check(now, &d); err == nil {
					err = p.Submit(now, id, user, d)
				}
				if r := p.Reservation(id); err == nil && r.Definition.Equal(&d) {
					accepted++
				}
			}
			var r *Refusal
			if err != nil && !errors.As(err, &r) {
				t.Fatalf("%T %v is no refusal", err, err)
			}
			if err != nil && !p.asApache && state(p) != before {
				t.Fatalf("refused (%v), but changed\n%s\n%s", err, before, state(p))
			}
			addsUp(t, p)
			if !shrunk && !p.asApache {
				fits(t, p)
			}
		}
	})
	if accepted < 80 {
		t.Errorf("only %d submissions were accepted", accepted)
	}
}

// TestTakenBack: a submission and its deletion leave what is committed as it was.
func TestTakenBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := NewPlan(drawSettings(t), yarn.NewResource(24, 24))
		for i := range rapid.Int64Range(0, 6).Draw(t, "others") {
			_ = p.Submit(0, number(i), "ann", drawDefinition(t, 0)) // some fit
		}
		var before []yarn.Resource
		for at := int64(0); at < 3*maxPeriod; at += 250 {
			before = append(before, p.CommittedAt(at))
		}
		if p.Submit(0, number(99), "bob", drawDefinition(t, 0)) == nil {
			if err := p.Delete(number(99)); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range before {
			if got := p.CommittedAt(int64(i) * 250); got != want {
				t.Fatalf("at %d %v is committed, before it was %v", i*250, got, want)
			}
		}
		if p.users["bob"] != nil {
			t.Fatalf("bob still has %+v", *p.users["bob"])
		}
	})
}

// points are all times at which something may change, over a few periods.
func changes(p *Plan) []int64 {
	var out []int64
	for _, l := range []timeline.Line{p.single, p.cyclic.Line} {
		for _, point := range l {
			if point.Known {
				out = append(out, point.At, point.At+p.settings.MaxPeriod, point.At+2*p.settings.MaxPeriod)
			}
		}
	}
	return out
}

// addsUp: what is committed, in all and to each user, is the sum of what the reservations get.
func addsUp(t *rapid.T, p *Plan) {
	for _, at := range changes(p) {
		var want yarn.Resource
		byUser := map[string]yarn.Resource{}
		for _, r := range p.all {
			got := r.line.Line.Amount(at)
			if r.period > 0 {
				got = r.line.Amount(at)
			}
			want = want.Add(got)
			byUser[r.User] = byUser[r.User].Add(got)
		}
		if got := p.CommittedAt(at); got != want {
			t.Fatalf("at %d %v is committed, the reservations have %v", at, got, want)
		}
		for name, u := range p.users {
			if got := u.single.Amount(at).Add(u.cyclic.Amount(at)); got != byUser[name] {
				t.Fatalf("at %d %v is committed to %s, whose reservations have %v", at, got, name, byUser[name])
			}
		}
	}
	if len(p.all) != len(p.byID) {
		t.Fatalf("%d reservations, %d ids", len(p.all), len(p.byID))
	}
}

// promised is what all reservations have at a time. (What is committed counts recurring ones
// even before their arrival.)
func promised(p *Plan, at int64) (sum yarn.Resource) {
	for _, r := range p.all {
		sum = sum.Add(r.At(at))
	}
	return sum
}

// fits: a plan that never shrank has never promised more than it has.
func fits(t *rapid.T, p *Plan) {
	for _, at := range changes(p) {
		if sum := promised(p, at); !sum.FitsIn(p.capacity) {
			t.Fatalf("at %d %v is promised of %v", at, sum, p.capacity)
		}
	}
}

// replanned: afterwards nothing is committed above capacity at any step that is looked at.
func replanned(t *rapid.T, p *Plan, now int64) {
	if _, err := p.Replan(now); err != nil {
		t.Fatal(err)
	}
	if p.asApache {
		return
	}
	for at := now; at < now+p.settings.Enforcement; at += p.settings.Step {
		if excess := promised(p, at).Sub(p.capacity); p.exceeds(&excess) {
			t.Fatalf("replanned at %d, but at %d %v is promised of %v", now, at, promised(p, at), p.capacity)
		}
	}
}

// FuzzDefinition: no definition makes a call long, or panic, or leave something behind when it is refused.
func FuzzDefinition(f *testing.F) {
	f.Add(int64(0), int64(1_000_000), "0", int32(1), int64(1024), int64(1), int32(8), int32(2), int64(5000), int32(3), true, false)
	f.Add(int64(5), int64(86_400_000), "86400000", int32(2), int64(1), int64(0), int32(1<<30), int32(1), int64(1), int32(1), false, true)
	f.Fuzz(func(t *testing.T, arrival, deadline int64, recurrence string, how int32, memory, cores int64, containers, gang int32, duration int64, stages int32, early, greedy bool) {
		s := usual()
		s.Early = early
		if greedy {
			s.Agent = Greedy
		}
		p := NewPlan(s, yarn.NewResource(10<<20, 10_000))
		crowd(t, p, 50)
		one := stage(memory, cores, containers, gang, duration)
		d := yarn.ReservationDefinition{Arrival: arrival, Deadline: deadline, Recurrence: recurrence, Interpreter: yarn.Interpreter(how),
			Stages: repeated(int(stages)&0x7ff, one)}
		before := state(p)
		soon(t, func() {
			if p.Check(0, &d) != nil || p.Submit(0, number(1000), "mallory", d) != nil {
				if state(p) != before {
					t.Fatal("refused, but changed")
				}
			}
		})
		soon(t, func() { _, _ = p.Replan(0) })
	})
}
