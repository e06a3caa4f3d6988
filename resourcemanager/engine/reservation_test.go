package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/measure"
	"github.com/heddle-project/heddle/scheduler/reserve"
	"github.com/heddle-project/heddle/yarn"
)

// reserving is the reservation system with steps of a second.
func reserving() Reservations {
	return Reservations{Enabled: true, Step: 1000, MaxPeriod: 86_400_000, Early: true, Smoothness: 10, Calc: measure.Calculator{Types: 2},
		Max: yarn.NewResource(8192, 8), Patience: 10_000}
}

// reservation is a command on reservations, or nil.
func (s *script) reservation(t Ticket, word string, args []string) Command {
	who := func() Caller { return Caller{User: args[1]} }
	switch word {
	case "reserve": // reserve r1 ann root.plan from=10 until=60 want=1024x1:4:1:20,… [how=any|all|order|no-gap] [every=60]: seconds from now
		return SubmitReservation{Ticket: t, Caller: who(), ID: s.reservationID(args[0]), Queue: args[2], Definition: s.definition()}
	case "update-reservation": // update-reservation r1 ann from=…: an update
		return UpdateReservation{Ticket: t, Caller: who(), ID: s.reservationID(args[0]), Definition: s.definition()}
	case "delete-reservation": // delete-reservation r1 ann
		return DeleteReservation{Ticket: t, Caller: who(), ID: s.reservationID(args[0])}
	case "reservations": // reservations root.plan ann [id=r1]
		c := ListReservations{Ticket: t, Caller: who(), Queue: args[0], End: 1 << 60}
		if id := s.opts["id"]; id != "" {
			c.ID = s.reservationID(id)
		}
		return c
	case "follow":
		return FollowPlans{}
	case "tend": // removes empty dynamic queues
		return TendQueues{Deleting: true}
	}
	return nil
}

func (s *script) reservationID(text string) yarn.ReservationID {
	return yarn.ReservationID{ClusterTimestamp: clusterTimestamp, Number: s.number(strings.TrimPrefix(text, "r"))}
}

func (s *script) definition() *yarn.ReservationDefinition {
	seconds := func(name string) int64 { return 1000 * s.number(s.opts[name]) }
	d := &yarn.ReservationDefinition{Arrival: s.rig.now.Wall + seconds("from"), Deadline: s.rig.now.Wall + seconds("until"), Priority: yarn.NoPriority, Recurrence: "0",
		Interpreter: map[string]yarn.Interpreter{"any": yarn.AnyStage, "order": yarn.Ordered, "no-gap": yarn.OrderedNoGap, "all": yarn.AllStages, "": yarn.AllStages}[s.opts["how"]]}
	if s.opts["every"] != "" {
		d.Recurrence = fmt.Sprint(seconds("every"))
	}
	for _, w := range words(s.opts["want"]) {
		p := strings.Split(w, ":")
		d.Stages = append(d.Stages, yarn.ReservationStage{Capability: s.size(p[0]), Containers: int32(s.number(p[1])), Concurrency: int32(s.number(p[2])), Duration: 1000 * s.number(p[3])})
	}
	return d
}

// allocations is an allocation file of the FairScheduler.
func (s *script) allocations(queues []string) (file string) {
	for _, k := range slices.Sorted(keys(s.opts)) {
		file += fmt.Sprintf("<%s>%s</%[1]s>", k, s.opts[k])
	}
	for _, q := range queues {
		p := strings.Split(q, ":")
		file += fmt.Sprintf("<queue name=%q>", p[0])
		for i := 1; i < len(p); i += 2 {
			if i+1 == len(p) {
				file += "<" + p[i] + "/>"
			} else {
				file += fmt.Sprintf("<%s>%s</%[1]s>", p[i], p[i+1])
			}
		}
		file += "</queue>"
	}
	return file
}

// shares prints what the queues below a plan have.
func (s *script) shares(plan string) (out []string) {
	q, _ := s.rig.sched.Queue(plan)
	for _, path := range q.Children {
		c, _ := s.rig.sched.Queue(path)
		if f := c.Fair; f != nil {
			out = append(out, fmt.Sprintf("%s weight %.4g, steady %s, %d applications, %s used", shortQueue(path), f.Weight, shortSize(f.SteadyShare), c.SubmittedApps,
				shortSize(c.Default.Used)))
			continue
		}
		d := c.Capacity.Default
		out = append(out, fmt.Sprintf("%s %.4g %%, %s to %s, %d applications, %s used", shortQueue(path), 100*d.Capacity, shortSize(c.Default.EffectiveMin), shortSize(c.Default.EffectiveMax),
			c.SubmittedApps, shortSize(c.Default.Used)))
	}
	return out
}

// shortQueue is the path with reservations as scenarios name them.
func shortQueue(path string) string {
	return strings.Replace(path, fmt.Sprintf("reservation_%d_000", clusterTimestamp), "r", 1)
}

// reservationEvents prints what became of reservations.
func (s *script) reservationEvents() (out []string) {
	for _, x := range s.rig.fx.Reservations {
		switch x.What {
		case QueueRefused:
			out = append(out, x.Plan+" leaves a queue as it is: "+x.Why)
			continue
		case ReplanCutShort:
			out = append(out, x.Plan+" is not replanned to the end: "+x.Why)
			continue
		}
		out = append(out, shortReservation(x.ID)+[]string{" was deleted", " is over", " was revoked", " is not recovered"}[x.What])
	}
	return out
}

func shortReservation(id yarn.ReservationID) string { return fmt.Sprintf("r%d", id.Number) }

func shortPromise(r state.Reservation) string {
	text := shortReservation(r.ID) + when(r.Plan != "", " in "+r.Plan)
	for _, i := range r.Intervals {
		text += fmt.Sprintf(" [%d,%d) %s", i.Start, i.End, shortSize(i.Resource))
	}
	return text
}

// listed prints an answer to ListReservations.
func listed(list []view.Reservation) (out []string) {
	for _, r := range list {
		text := fmt.Sprintf("%s of %s, accepted at %d:", shortReservation(r.ID), r.User, r.Accepted)
		for _, i := range r.Intervals {
			text += fmt.Sprintf(" [%d,%d) %s", i.Start, i.End, shortSize(i.Resource))
		}
		out = append(out, text)
	}
	return append(out, fmt.Sprintf("%d reservations", len(list)))
}

// planned is a script with a plan of half of a node of 8 GiB.
func planned(t *testing.T, more ...string) *script {
	s := newScript(t)
	s.set.Reservations = reserving()
	s.play("queues root.queues=default,other,plan root.default.capacity=25 root.other.capacity=25 root.plan.capacity=50 root.plan.user-limit-factor=4 root.plan.reservable=true " +
		strings.Join(more, " ") + "; node h1 8192x8")
	return s
}

// TestReservationNotStored: a call whose record cannot be stored is refused, and has no effect.
func TestReservationNotStored(t *testing.T) {
	s := planned(t)
	const first = "r1 ann root.plan from=100 until=200 want=1024x1:2:1:50"
	s.play("hold; reserve " + first)
	if got := s.play("poison"); len(got) != 1 || got[0] != "refused: not stored" {
		t.Errorf("submitted: %v", got)
	}
	if got := s.play("reservations root.plan ann"); got[0] != "0 reservations" {
		t.Errorf("it is there: %v", got)
	}
	s.play("reserve " + first + "; stored")
	before := s.play("reservations root.plan ann")
	s.play("update-reservation r1 ann from=150 until=300 want=512x1:1:1:20")
	if got := s.play("poison"); len(got) != 1 || got[0] != "refused: not stored" {
		t.Errorf("updated: %v", got)
	}
	if got := s.play("reservations root.plan ann"); strings.Join(got, "|") != strings.Join(before, "|") {
		t.Errorf("it has changed: %v, before %v", got, before)
	}
	// Until it is stored nobody is told of it.
	s.play("reserve r2 bob root.plan from=100 until=200 want=512x1:1:1:10")
	if got := s.play("reservations root.plan ann"); len(got) != 0 {
		t.Errorf("shown before it was stored: %v", got)
	}
	if got := s.play("stored"); len(got) != 4 || got[3] != "2 reservations" {
		t.Errorf("then: %v", got)
	}
}

// TestReservationsInTurn: while a change of a reservation is being stored others of the same wait, and have their own outcome.
func TestReservationsInTurn(t *testing.T) {
	const first, other = "r1 ann root.plan from=100 until=200 want=1024x1:2:1:50", "r1 ann root.plan from=100 until=200 want=512x1:2:1:50"
	const whole, too = "r1 ann root.plan from=100 until=200 want=1024x1:4:1:100", "r2 bob root.plan from=100 until=200 want=1024x1:3:1:100"
	for _, c := range []struct{ calls, stored, want, left string }{
		{"reserve " + first + "; reserve " + first, "poison; stored", "refused: not stored|done", "1 reservations"},
		{"reserve " + first + "; reserve " + first, "poison; poison", "refused: not stored|refused: not stored", "0 reservations"},
		{"reserve " + first + "; reserve " + other, "stored", "done|refused: failed", "1 reservations"},
		{"reserve " + first + "; delete-reservation r1 ann", "poison", "refused: not stored|refused: failed", "0 reservations"},
		{"reserve " + first + "; delete-reservation r1 ann", "stored; poison", "done|refused: not stored", "1 reservations"},
		{"reserve " + first + "; delete-reservation r1 ann; reserve " + other, "all", "done|done|done", "1 reservations"},
		{"reserve " + first + "; stored; update-reservation r1 ann from=100 until=200 want=512x1:1:1:20; update-reservation r1 ann from=100 until=200 want=256x1:1:1:20", "poison; poison",
			"refused: not stored|refused: not stored", "1 reservations"},
		// What a change gives free belongs to nobody until it is stored.
		{"reserve " + whole + "; stored; delete-reservation r1 ann; reserve " + too, "poison", "refused: not stored|refused: failed", "1 reservations"},
		{"reserve " + whole + "; stored; delete-reservation r1 ann; reserve " + too, "stored; stored", "done|done", "1 reservations"},
		{"reserve " + whole + "; stored; update-reservation r1 ann from=100 until=200 want=1024x1:1:1:100; reserve " + too, "poison", "refused: not stored|refused: failed", "1 reservations"},
		{"reserve " + whole + "; stored; update-reservation r1 ann from=100 until=200 want=1024x1:1:1:100; reserve " + too, "stored; stored", "done|done", "2 reservations"},
	} {
		s := planned(t)
		s.play("hold; " + c.calls)
		answers := slices.DeleteFunc(s.play(c.stored), func(line string) bool { return line != "done" && !strings.HasPrefix(line, "refused") })
		if got := strings.Join(answers, "|"); got != c.want {
			t.Errorf("%s; %s: %s, want %s", c.calls, c.stored, got, c.want)
		}
		got := s.play("reservations root.plan ann")
		if got[len(got)-1] != c.left {
			t.Errorf("%s; %s: left %v, want %s", c.calls, c.stored, got, c.left)
		}
		if p := &s.rig.e.plans; p.saving || len(p.waiting) > 0 {
			t.Errorf("%s: %d still wait", c.calls, len(p.waiting))
		}
		p := s.rig.e.plans.list[0]
		if at, capacity := p.CommittedAt(s.rig.now.Wall+150_000), p.Capacity(); !at.FitsIn(capacity) {
			t.Errorf("%s; %s: %v is promised of %v", c.calls, c.stored, at, capacity)
		}
	}
}

// TestReservationACLs: who reserves, changes, lists and uses.
func TestReservationACLs(t *testing.T) {
	testReservationACLs(t, planned(t, "root.plan.acl_submit_reservations=ann,cat", "root.plan.acl_administer_reservations=root", "root.plan.acl_list_reservations=cat"))
}

// TestReservationACLsInFair: the same lists of an allocation file, and none of them.
func TestReservationACLsInFair(t *testing.T) {
	for _, lists := range []string{":aclSubmitReservations:ann,cat:aclAdministerReservations:root:aclListReservations:cat", ""} {
		s := newScript(t)
		s.set.Reservations = reserving()
		s.play("fair default plan" + lists + ":reservation; node h1 8192x8")
		if lists != "" {
			testReservationACLs(t, s)
			continue
		}
		s.rig.e.set.Reservations.ACLs = true
		for _, line := range []string{"reserve r1 ann root.plan from=100 until=200 want=1024x1:1:1:50", "reservations plan bob", "update-reservation r1 cat from=120 until=200 want=1024x1:1:1:50",
			"submit a1 bob root.plan 512x1 reservation=r1", "delete-reservation r1 bob"} {
			if got := s.play(line); len(got) == 0 || strings.HasPrefix(got[len(got)-1], "refused") {
				t.Errorf("without lists: %s: %v", line, got)
			}
		}
	}
}

func testReservationACLs(t *testing.T, s *script) {
	s.set.Reservations.ACLs = true
	s.rig.e.set.Reservations.ACLs = true
	const want = " root.plan from=100 until=200 want=1024x1:1:1:50"
	for _, c := range []struct{ line, want string }{
		{"reserve r1 bob" + want, "refused: access denied"},
		{"reserve r1 ann" + want, "done"},
		{"reserve r2 root" + want, "done"},
		{"reservations root.plan ann", "refused: access denied"},
		{"reservations root.plan ann id=r1", "1 reservations"},
		{"reservations root.plan ann id=r2", "refused: access denied"},
		{"reservations root.plan cat", "2 reservations"},
		{"reservations root.plan root", "2 reservations"},
		{"update-reservation r1 cat from=120 until=200 want=1024x1:1:1:50", "refused: access denied"},
		{"update-reservation r1 ann from=120 until=200 want=1024x1:1:1:50", "done"},
		{"delete-reservation r2 ann", "refused: access denied"},
		{"submit a1 bob root.plan 512x1 reservation=r1", "refused: access denied"},
		{"submit a2 bob root.plan 512x1", "done"},
		{"delete-reservation r1 ann", "done"},
		{"delete-reservation r2 root", "done"},
	} {
		got := s.play(c.line)
		if len(got) == 0 || got[len(got)-1] != c.want {
			t.Errorf("%s: %v, want %s", c.line, got, c.want)
		}
	}
}

// TestMovedOutOfReservation: where a caller has moved an application to is where it is after any number of restarts.
func TestMovedOutOfReservation(t *testing.T) {
	fair := func(t *testing.T) *script {
		s := newScript(t)
		s.set.Reservations = reserving()
		s.play("fair other plan:reservation queueMaxAMShareDefault=-1; node h1 8192x8")
		return s
	}
	for name, start := range map[string]func(*testing.T) *script{"capacity": func(t *testing.T) *script { return planned(t) }, "fair": fair} {
		for _, c := range []struct{ to, leaf string }{
			{"root.plan", "root.plan.plan-default"},
			{"plan", "root.plan.plan-default"},
			{"root.plan.plan-default", "root.plan.plan-default"},
			{"root.plan.reservation_1000_0002", "root.plan.reservation_1000_0002"},
			{"root.other", "root.other"},
		} {
			s := start(t)
			s.play("reserve r1 ann root.plan from=0 until=900 want=1024x1:2:1:800; reserve r2 bob root.plan from=0 until=900 want=1024x1:1:1:800; follow; submit a1 ann root.plan 512x1 reservation=r1")
			leaf := func() string { return s.rig.sched.LeafOf(s.rig.e.apps[appID(1)].ref) }
			if got := leaf(); got != "root.plan.reservation_1000_0001" {
				t.Fatalf("%s: submitted to %s", name, got)
			}
			if got := s.play("move a1 " + c.to + " user=ann"); len(got) == 0 || got[len(got)-1] != "done" {
				t.Fatalf("%s: moved to %s: %v", name, c.to, got)
			}
			for restarts := range 3 {
				if got := leaf(); got != c.leaf {
					t.Errorf("%s: moved to %s, and after %d restarts in %s, want %s", name, c.to, restarts, got, c.leaf)
				}
				s.play("lifetime a1 5000; restart; node h1 8192x8; follow") // its record is written anew
			}
		}
	}
}

// TestPlanMaximum: after a refresh plans go by the new largest container, and keep what they have promised.
func TestPlanMaximum(t *testing.T) {
	s := planned(t)
	s.play("reserve r1 ann root.plan from=100 until=200 want=1024x1:1:1:50")
	cfg := queues(t, s.props...)
	cfg.Cluster.MaxAllocation = yarn.NewResource(1024, 1)
	s.rig.do(RefreshQueues{Ticket: s.rig.next(), Config: cfg})
	for line, want := range map[string]string{
		"reserve r2 ann root.plan from=100 until=200 want=2048x1:1:1:50": "refused: failed",
		"reserve r3 ann root.plan from=100 until=200 want=1024x1:1:1:50": "done",
		"reservations root.plan ann id=r1":                               "1 reservations",
	} {
		if got := s.play(line); len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s: %v, want %s", line, got, want)
		}
	}
}

// TestReplanCutShort: what a replanning could not look at is told.
func TestReplanCutShort(t *testing.T) {
	s := planned(t)
	p := s.rig.e.planAt("root.plan")
	var list []reserve.Reservation
	for i := range int64(3000) { // one container, each a second later
		from := s.rig.now.Wall + 1000*i
		d := yarn.ReservationDefinition{Arrival: from, Deadline: from + 1000, Recurrence: "0", Interpreter: yarn.AllStages,
			Stages: []yarn.ReservationStage{{Capability: yarn.NewResource(4096+i%2, 4), Containers: 1, Concurrency: 1, Duration: 1000}}}
		list = append(list, reserve.Reservation{ID: yarn.ReservationID{ClusterTimestamp: clusterTimestamp, Number: i + 1}, User: "ann", Definition: d, Start: from, End: from + 1000,
			Intervals: []reserve.Interval{{Start: from, End: from + 1000, Resource: d.Stages[0].Capability}}})
	}
	p.Restore(list...)
	s.play("expire h1; node h2 1024x1; after 20000")
	got := s.play("follow")
	if n := len(got); n == 0 || !slices.ContainsFunc(got, func(line string) bool {
		return strings.Contains(line, "root.plan is not replanned to the end: replanning takes more than")
	}) {
		t.Errorf("%d lines, the last one %q; %d reservations are left", n, got[max(n-1, 0):], len(p.All()))
	}
}
