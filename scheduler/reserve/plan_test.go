package reserve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/yarn"
)

// small is a plan of ten containers of 1024 MiB, without limits of users.
func smallPlan(change func(*Settings)) *Plan {
	s := usual()
	s.Agent, s.Sharing, s.Max = Greedy, NoOverCommit, yarn.NewResource(4096, 4)
	if change != nil {
		change(&s)
	}
	return NewPlan(s, yarn.NewResource(10240, 10))
}

// some is a reservation of so many containers from one time to another.
func some(n int32, from, to int64) yarn.ReservationDefinition {
	return define(from, to, yarn.AllStages, stage(1024, 1, n, 1, to-from))
}

func submit(t *testing.T, p *Plan, now, id int64, d yarn.ReservationDefinition) {
	t.Helper()
	if err := p.Submit(now, number(id), "ann", d); err != nil {
		t.Fatalf("reservation %d: %v", id, err)
	}
}

func ids(rs []*Reservation) string {
	var out []yarn.ReservationID
	for _, r := range rs {
		out = append(out, r.ID)
	}
	return idsOf(out)
}

func idsOf(all []yarn.ReservationID) string {
	var out []string
	for _, id := range all {
		out = append(out, fmt.Sprint(id.Number))
	}
	return strings.Join(out, " ")
}

// TestCheck has the messages of Apache's ReservationInputValidator.
func TestCheck(t *testing.T) {
	p := smallPlan(nil)
	good := some(2, 1000, 5000)
	change := func(f func(*yarn.ReservationDefinition)) *yarn.ReservationDefinition {
		d := good
		d.Stages = slices.Clone(good.Stages)
		f(&d)
		return &d
	}
	for _, c := range []struct {
		d    *yarn.ReservationDefinition
		want string
	}{
		{&good, "<nil>"},
		{nil, "Missing reservation definition. Please try again by specifying a reservation definition."},
		{change(func(d *yarn.ReservationDefinition) { d.Deadline = 500 }), "The specified deadline: 500 is the past. Please try again with deadline in the future."},
		{change(func(d *yarn.ReservationDefinition) { d.Stages = nil }), "No resources have been specified to reserve.Please try again by specifying the resources to reserve."},
		{change(func(d *yarn.ReservationDefinition) { d.Stages = []yarn.ReservationStage{} }), "No resources have been specified to reserve. Please try again by specifying the resources to reserve."},
		{change(func(d *yarn.ReservationDefinition) { d.Stages[0].Duration++ }), "The time difference (4000) between arrival (1000) and deadline (5000) must  be greater or equal to the minimum resource duration (4001)"},
		{change(func(d *yarn.ReservationDefinition) { d.Stages[0].Duration, d.Interpreter = 9000, yarn.AnyStage }), "<nil>"},
		{change(func(d *yarn.ReservationDefinition) {
			d.Interpreter, d.Stages = yarn.Ordered, append(d.Stages, d.Stages[0])
		}), "The time difference (4000) between arrival (1000) and deadline (5000) must  be greater or equal to the minimum resource duration (8000)"},
		{change(func(d *yarn.ReservationDefinition) { d.Stages[0].Concurrency = 11 }), "The size of the largest gang in the reservation definition (<memory:11264, vCores:11>) exceed the capacity available (<memory:10240, vCores:10> )"},
		{change(func(d *yarn.ReservationDefinition) { d.Recurrence = "-1" }), "Negative Period : -1. Please try again with a non-negative long value as period."},
		{change(func(d *yarn.ReservationDefinition) { d.Recurrence = "daily" }), "Invalid period daily. Please try again with a non-negative long value as period."},
		{change(func(d *yarn.ReservationDefinition) { d.Recurrence = "3000" }), "Duration of the requested reservation: 4000 is greater than the recurrence: 3000. Please try again with a smaller duration."},
		{change(func(d *yarn.ReservationDefinition) { d.Recurrence = "7000" }), "The maximum periodicity: 86400000 must be divisible by the recurrence expression provided: 7000. Please try again with a recurrence expression that satisfies this requirement."},
		{change(func(d *yarn.ReservationDefinition) { d.Recurrence = "+86400000" }), "<nil>"},
		{change(func(d *yarn.ReservationDefinition) { d.Stages = repeated(1001, d.Stages[0]) }), "the reservation has 1001 stages, and at most 1000 are planned; divide it into several reservations"},
		{change(func(d *yarn.ReservationDefinition) { d.Stages[0].Capability[0] = -1 }), "stage 1 asks for containers of <memory:-1, vCores:1>; no amount may be negative"},
	} {
		err := p.Check(500, c.d)
		if got := fmt.Sprint(err); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		if err != nil && kind(err) != "YarnException" {
			t.Errorf("%v is a %s", err, kind(err))
		}
	}
}

// TestStages: what cannot be meant is refused when its turn comes.
func TestStages(t *testing.T) {
	for _, c := range []struct {
		s    yarn.ReservationStage
		want string
	}{
		{stage(1024, 1, 2, 0, 1000), "Gang Size should be >= 1"},
		{stage(1024, 1, 0, 1, 1000), "Num containers should be > 0"},
		{stage(1024, 1, 3, 2, 1000), "Parallelism must be an exact multiple of gang size"},
		{stage(1024, 5, 1, 1, 1000), "Individual capability requests should not exceed cluster's maxAlloc"},
	} {
		p := smallPlan(func(s *Settings) { s.Early = true })
		err := p.Submit(0, number(1), "ann", define(0, 5000, yarn.AllStages, c.s))
		if err == nil || err.Error() != c.want || kind(err) != "ContractValidationException" {
			t.Errorf("%+v: %v (%s), want %s", c.s, err, kind(err), c.want)
		}
		submit(t, p, 0, 1, define(0, 5000, yarn.AnyStage, stage(1024, 1, 1, 1, 1000), c.s))
	}
}

func TestSubmitAgain(t *testing.T) {
	p := smallPlan(nil)
	submit(t, p, 0, 1, some(6, 0, 10_000))
	before := state(p)
	if err := p.Submit(5, number(1), "bob", some(6, 0, 10_000)); err != nil || state(p) != before {
		t.Errorf("the same once more: %v", err)
	}
	if err := p.Submit(5, number(1), "ann", some(5, 0, 10_000)); kind(err) != "YarnException" || state(p) != before {
		t.Errorf("another one with its id: %v", err)
	}
	if err := p.Submit(5, number(2), "ann", some(5, 0, 10_000)); kind(err) != "PlanningException" || state(p) != before {
		t.Errorf("too much: %v", err)
	}
	if err := p.Delete(number(2)); kind(err) != "IllegalArgumentException" {
		t.Errorf("deleted one that is not there: %v", err)
	}
}

// TestUpdate: the owner and the time of acceptance change with it; where the policy refuses the
// new version once the old one is gone, the old one stays. Apache loses it.
func TestUpdate(t *testing.T) {
	p := smallPlan(nil)
	submit(t, p, 3, 1, some(6, 0, 10_000))
	if err := p.Update(7, number(1), "bob", some(8, 0, 10_000)); err != nil {
		t.Fatal(err)
	}
	r := p.Reservation(number(1))
	if r.User != "bob" || r.Accepted != 7 || p.CommittedAt(5000) != yarn.NewResource(8192, 8) || p.users["ann"] != nil {
		t.Errorf("updated to %+v", r)
	}
	before := state(p)
	if err := p.Update(9, number(1), "bob", some(11, 0, 10_000)); kind(err) != "PlanningException" || state(p) != before {
		t.Errorf("too much: %v", err)
	}
	if err := p.Update(9, number(5), "cid", some(2, 0, 10_000)); err != nil || p.Reservation(number(5)) == nil {
		t.Errorf("an update of one that is not there makes it: %v", err)
	}
}

// TestQuota: half of the plan on average over 20 s is 100 container-seconds.
func TestQuota(t *testing.T) {
	half := func(s *Settings) { s.Sharing, s.Window, s.Average = OverTime, 20_000, 50 }
	p := smallPlan(half)
	submit(t, p, 0, 1, some(6, 0, 10_000))
	for n := int32(3); n <= 7; n++ { // compat: the old version counts, too
		if err := p.Update(0, number(1), "ann", some(n, 0, 10_000)); kind(err) != "PlanningQuotaException" {
			t.Errorf("updated to %d: %v", n, err)
		}
	}
	if err := p.Submit(0, number(2), "ann", some(6, 10_000, 30_000)); kind(err) != "PlanningQuotaException" {
		t.Errorf("six for twenty seconds more: %v", err)
	}
	submit(t, p, 0, 3, some(6, 20_000, 30_000))
	if err := p.Submit(0, number(4), "bob", some(4, 0, 10_000)); err != nil {
		t.Errorf("another user: %v", err)
	}
	peak := smallPlan(func(s *Settings) { half(s); s.Average, s.Peak = 100, 30 })
	submit(t, peak, 0, 1, some(3, 0, 10_000))
	if err := peak.Submit(0, number(2), "ann", some(1, 0, 10_000)); kind(err) != "PlanningException" {
		t.Errorf("more than the share at any time: %v", err)
	}
}

// TestRecurring: instances later than the first have what was promised, and it stays until it is deleted.
func TestRecurring(t *testing.T) {
	const period = 10_000
	p := smallPlan(func(s *Settings) { s.MaxPeriod = 2 * period })
	submit(t, p, 0, 1, every(period, some(4, 21_000, 23_000)))
	r := p.Reservation(number(1))
	if want := []Interval{{1000, 3000, yarn.NewResource(4096, 4)}}; !slices.Equal(r.Intervals, want) || r.Period() != period {
		t.Errorf("intervals %v, period %d", r.Intervals, r.Period())
	}
	for at, want := range map[int64]bool{1500: false, 20_999: false, 21_000: true, 22_999: true, 23_000: false, 31_000: true, 1_000_002_000: true, 1_000_000_000: false} {
		if got := !r.At(at).IsZero(); got != want || (ids(p.Active(at)) == "1") != want {
			t.Errorf("at %d: %v, active %q", at, r.At(at), ids(p.Active(at)))
		}
	}
	if err := p.Submit(0, number(2), "bob", some(7, 41_000, 42_000)); kind(err) != "PlanningException" {
		t.Errorf("in the way of a later instance: %v", err)
	}
	submit(t, p, 0, 3, some(7, 100_000, 101_000))
	if err := p.Submit(0, number(4), "bob", every(period, some(4, 20_000, 21_000))); kind(err) != "ResourceOverCommitException" {
		t.Errorf("a later instance is in the way of another one: %v", err)
	}
	if gone := idsOf(p.Archive(1_000_000)); gone != "3" {
		t.Errorf("archived %s", gone)
	}
	submit(t, p, 0, 5, every(period, some(1, 30_000, 40_000)))
	if ids(p.Active(55_555)) != "5" || ids(p.List(55_555, 55_999)) != "5" {
		t.Errorf("one that takes all of its period is always there")
	}
}

// TestFold: what reaches over the end of a period begins at 0.
func TestFold(t *testing.T) {
	p := smallPlan(func(s *Settings) { s.MaxPeriod = 10_000 })
	submit(t, p, 0, 1, every(10_000, define(8000, 12_000, yarn.Ordered, stage(1024, 1, 4, 1, 3000), stage(1024, 1, 6, 1, 1000))))
	want := []Interval{{0, 1000, yarn.NewResource(4096, 4)}, {1000, 2000, yarn.NewResource(6144, 6)}, {2000, 8000, yarn.Resource{}}, {8000, 10_000, yarn.NewResource(4096, 4)}}
	if got := p.Reservation(number(1)).Intervals; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestTypes: the calculator may see memory alone, but no resource is promised twice.
func TestTypes(t *testing.T) {
	memory := func(s *Settings) { s.Calc, s.Sharing = measure.Calculator{Types: 2}, OverTime }
	p := smallPlan(memory)
	if err := p.Submit(0, number(1), "ann", define(0, 5000, yarn.AllStages, stage(1024, 6, 2, 1, 5000))); kind(err) != "PlanningQuotaException" {
		t.Errorf("12 of 10 vcores: %v", err)
	}
	submit(t, p, 0, 2, define(0, 5000, yarn.AllStages, stage(1024, 6, 1, 1, 5000)))
	if err := p.Submit(0, number(3), "bob", define(0, 5000, yarn.AllStages, stage(1024, 6, 1, 1, 5000))); kind(err) != "PlanningQuotaException" {
		t.Errorf("6 of 4 vcores: %v", err)
	}
}

// TestReplan: the latest go first, whether they have something at the time or not.
func TestReplan(t *testing.T) {
	p := smallPlan(func(s *Settings) { s.Early = false })
	submit(t, p, 1, 1, some(3, 0, 10_000))
	submit(t, p, 2, 2, some(5, 0, 10_000))
	submit(t, p, 3, 3, define(0, 20_000, yarn.AllStages, stage(1024, 1, 2, 1, 10_000)))
	submit(t, p, 4, 4, some(2, 5000, 10_000))
	if gone, err := p.Replan(5); gone != nil || err != nil {
		t.Errorf("%s went of a plan that is large enough", idsOf(gone))
	}
	p.SetCapacity(yarn.NewResource(7168, 7))
	if gone := replan(t, p, 3); gone != "3 2" || ids(p.All()) != "1 4" {
		t.Errorf("%s went, %s are left", gone, ids(p.All()))
	}
	p.SetCapacity(yarn.NewResource(0, 0))
	if gone := replan(t, p, 3); gone != "1 4" || len(p.users) != 0 {
		t.Errorf("%s went of an empty plan", gone)
	}
}

// TestListAndArchive: both ends of a range belong to it, a reservation's own end does not.
func TestListAndArchive(t *testing.T) {
	p := smallPlan(func(s *Settings) { s.Sharing, s.Window = OverTime, 50_000 })
	submit(t, p, 0, 2, some(1, 10_000, 20_000))
	submit(t, p, 0, 1, some(1, 10_000, 20_000))
	submit(t, p, 0, 3, some(1, 5000, 40_000))
	for _, c := range []struct {
		start, end int64
		want       string
	}{{0, 4999, ""}, {0, 5000, "3"}, {0, 10_000, "3 1 2"}, {19_999, 90_000, "3 1 2"}, {20_000, 90_000, "3"}, {40_000, 90_000, ""}} {
		if got := ids(p.List(c.start, c.end)); got != c.want {
			t.Errorf("from %d to %d: %q, want %q", c.start, c.end, got, c.want)
		}
	}
	if got := idsOf(p.Archive(69_999)); got != "" {
		t.Errorf("archived %s", got)
	}
	if got := idsOf(p.Archive(70_000)); got != "1 2" {
		t.Errorf("archived %s", got)
	}
}

// TestRestore: a plan that is read back is the one that was stored.
func TestRestore(t *testing.T) {
	p := smallPlan(func(s *Settings) { s.Sharing = OverTime })
	crowd(t, p, 0)
	submit(t, p, 1, 1, some(3, 0, 10_000))
	submit(t, p, 2, 2, every(day/4, some(5, 50_000, 60_000)))
	q := NewPlan(p.settings, yarn.NewResource(1024, 1)) // nothing is checked
	for _, r := range p.All() {
		stored := Reservation{ID: r.ID, User: r.User, Definition: r.Definition, Start: r.Start, End: r.End, Accepted: r.Accepted, Intervals: r.Intervals}
		q.Restore(stored)
		q.Restore(stored)
	}
	q.SetCapacity(p.Capacity())
	for at := int64(0); at < 2*day; at += 5000 {
		if p.CommittedAt(at) != q.CommittedAt(at) {
			t.Fatalf("at %d %v is committed, before it was %v", at, q.CommittedAt(at), p.CommittedAt(at))
		}
	}
	if ids(q.All()) != ids(p.All()) || q.Reservation(number(2)).Period() != day/4 {
		t.Errorf("restored %s", ids(q.All()))
	}
}

func replan(t *testing.T, p *Plan, now int64) string {
	t.Helper()
	gone, err := p.Replan(now)
	if err != nil {
		t.Error(err)
	}
	return idsOf(gone)
}

// TestUserBounds: nobody has more of a plan's bounds than is left for others; what becomes smaller is not refused.
func TestUserBounds(t *testing.T) {
	hold := func(p *Plan, user string, from, n, stages int) {
		var list []Reservation
		for i := range n {
			d := define(0, day, yarn.AllStages, repeated(stages, stage(0, 0, 1, 1, 1))...)
			list = append(list, Reservation{ID: number(int64(from + i)), User: user, Definition: d, Start: 0, End: day})
		}
		p.Restore(list...)
	}
	big := func(n int) yarn.ReservationDefinition {
		return define(0, day, yarn.AllStages, repeated(n, stage(1, 1, 1, 1, 1000))...)
	}
	for name, c := range map[string]struct {
		fill func(*Plan)
		d    yarn.ReservationDefinition
		want string // of what mallory has too much; "" if she may
		all  string // of what the plan has too much, for ann
	}{
		"one reservation below half": {func(p *Plan) { hold(p, "mallory", 1, MaxReservations/2-1, 1) }, big(1), "", ""},
		"half of the reservations":   {func(p *Plan) { hold(p, "mallory", 1, MaxReservations/2, 1) }, big(1), "reservations", ""},
		"as many as are left": {func(p *Plan) {
			hold(p, "bob", 1, MaxReservations/2, 1)
			hold(p, "mallory", MaxReservations, MaxReservations/4, 1)
		}, big(1), "reservations", ""},
		"no reservation left":     {func(p *Plan) { hold(p, "bob", 1, MaxReservations, 1) }, big(1), "reservations", "reservations"},
		"one stage too many":      {func(p *Plan) { hold(p, "mallory", 1, 49, 1000); hold(p, "mallory", 50, 1, 996) }, big(5), "stages", ""},
		"stages up to the bounds": {func(p *Plan) { hold(p, "mallory", 1, 49, 1000); hold(p, "mallory", 50, 1, 995) }, big(5), "", ""},
		"pieces of time": {func(p *Plan) {
			r := Reservation{ID: number(1), User: "mallory", Definition: define(0, day, yarn.AllStages, stage(1, 0, 1, 1, 1)), End: day}
			for at := range int64(25_000) {
				r.Intervals = append(r.Intervals, Interval{at, at + 1, yarn.NewResource(1+at%2, 0)})
			}
			p.Restore(r)
		}, big(1), "pieces of time", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := smallPlan(func(s *Settings) { s.Early = true })
			c.fill(p)
			before := p.image()
			check := func(user, want string) {
				err := p.Submit(0, number(1<<20), user, c.d)
				switch {
				case want == "" && err != nil:
					t.Errorf("%s: %v", user, err)
				case want != "" && (kind(err) != "PlanningException" || !strings.Contains(err.Error(), want) || !p.is(before)):
					t.Errorf("%s: %v, want too many %s", user, err, want)
				case err == nil:
					_ = p.Delete(number(1 << 20))
				}
			}
			check("mallory", c.want)
			check("ann", c.all)
		})
	}
	p := smallPlan(nil)
	hold(p, "mallory", 1, MaxReservations/2, 10)
	hold(p, "bob", MaxReservations, MaxReservations/8, 10)
	if err := p.Update(0, number(2), "mallory", big(11)); err == nil || !strings.Contains(err.Error(), "stages") {
		t.Errorf("one stage more: %v", err)
	}
	if err := p.Update(0, number(2), "mallory", big(9)); err != nil {
		t.Errorf("fewer stages: %v", err)
	}
}
