package engine

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// reservers are clients that reserve, a store that answers late or refuses, nodes that come and go, and restarts.
type reservers struct {
	*rig
	t     *rapid.T
	set   Settings
	props []config.Property
	subs  map[yarn.ApplicationID]Submission
	asked map[Ticket]planning // calls that plan a reservation and have no answer
	ends  map[yarn.ReservationID]int
	kept  map[yarn.ReservationID]bool // acknowledged, and nobody has been told of its end; not those with a call under way
	hosts int
	apps  int32
}

// planning is a call that plans a reservation, which had ended so often before.
type planning struct {
	id   yarn.ReservationID
	ends int
}

func (w *reservers) draw(n int, what string) int { return rapid.IntRange(0, n-1).Draw(w.t, what) }

// heard enters what was answered and what is told of reservations.
func (w *reservers) heard() {
	for _, x := range w.fx.Replies {
		call, ok := w.asked[x.Ticket]
		if !ok {
			continue
		}
		delete(w.asked, x.Ticket)
		if x.Err == nil && call.ends == w.ends[call.id] {
			w.kept[call.id] = true
		}
	}
	for _, x := range w.fx.Reservations {
		if !x.ID.IsZero() {
			delete(w.kept, x.ID)
			w.ends[x.ID]++
		}
	}
	if bad := w.check(); bad != "" {
		w.t.Fatal(bad)
	}
}

func (w *reservers) there(id yarn.ReservationID) bool {
	p := w.e.plans.planOf[id]
	return p != nil && p.Reservation(id) != nil
}

func (w *reservers) send(c Command) {
	w.do(c)
	w.heard()
}

func (w *reservers) definition() *yarn.ReservationDefinition {
	from := int64(w.draw(20, "from")) * 1000
	d := &yarn.ReservationDefinition{Arrival: w.now.Wall + from, Deadline: w.now.Wall + from + int64(20+w.draw(30, "for"))*1000, Recurrence: "0", Priority: yarn.NoPriority,
		Interpreter: yarn.Interpreter((1 + w.draw(4, "how")) % 4)}
	if w.draw(5, "recurs") == 0 {
		d.Recurrence = "60000"
	}
	for range 1 + w.draw(3, "stages") {
		d.Stages = append(d.Stages, yarn.ReservationStage{Capability: yarn.NewResource(int64(1+w.draw(4, "size"))*256, 1), Containers: int32(w.draw(4, "containers")), Concurrency: 1,
			Duration: int64(1+w.draw(8, "duration")) * 1000})
	}
	return d
}

func (w *reservers) id() yarn.ReservationID {
	return yarn.ReservationID{ClusterTimestamp: clusterTimestamp, Number: int64(1 + w.draw(6, "id"))}
}

func (w *reservers) change() {
	t, id := w.next(), w.id()
	who := Caller{User: []string{"ann", "bob"}[w.draw(2, "user")]}
	switch w.draw(4, "call") {
	case 0, 1:
		w.asked[t] = planning{id, w.ends[id]}
		w.send(SubmitReservation{Ticket: t, Caller: who, ID: id, Queue: []string{"root.plan", "plan", "root.plan", "root.plan", "default"}[w.draw(5, "queue")], Definition: w.definition()})
	case 2:
		w.asked[t] = planning{id, w.ends[id]}
		w.send(UpdateReservation{Ticket: t, Caller: who, ID: id, Definition: w.definition()})
	case 3:
		w.send(DeleteReservation{Ticket: t, Caller: who, ID: id})
	}
}

func (w *reservers) store() {
	for range w.draw(4, "saves") {
		if len(w.pending) == 0 {
			return
		}
		var err error
		if _, ours := w.pending[0].Op.Record.(state.Reservation); ours && w.pending[0].Op.Kind == state.OpPut && w.draw(6, "poison") == 0 {
			err = errPoison
		}
		w.fx.Reset()
		w.confirm(err)
		w.heard()
	}
}

func (w *reservers) nodes() {
	if w.hosts < 3 && w.draw(2, "joins") == 0 {
		w.hosts++
		w.send(RegisterNode{Ticket: w.next(), Node: nodeID(fmt.Sprint("h", w.hosts)), Rack: "/r", Total: yarn.NewResource(int64(1+w.draw(8, "memory"))*1024, 8), Version: "3.5.0",
			Health: Health{Healthy: true}})
		return
	}
	if w.hosts > 0 {
		w.send(ExpireNode{Node: nodeID(fmt.Sprint("h", w.hosts))})
		w.hosts--
	}
}

func (w *reservers) time() {
	ms := []int64{300, 1000, 5000, 40_000}[w.draw(4, "passes")]
	w.now.Wall, w.now.Mono = w.now.Wall+ms, w.now.Mono+ms
	w.send(FollowPlans{})
}

func (w *reservers) submit() {
	w.apps++
	sub := Submission{ID: appID(w.apps), User: "ann", Queue: "root.plan", Name: "a", Type: "YARN", AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(256, 1), Count: 1, AllocationRequestID: -1}}}
	if w.draw(3, "reserved") > 0 {
		sub.Reservation = w.id()
	}
	w.subs[sub.ID] = copied(sub)
	w.send(Submit{Ticket: w.next(), Application: sub})
}

// restart loses what is not stored, and nothing else.
func (w *reservers) restart() {
	w.set.Epoch++
	w.rig = w.rig.restart(w.t, w.set, w.subs, w.props...)
	w.hold, w.hosts, w.asked = true, 0, map[Ticket]planning{}
	w.heard()
	for id := range w.kept {
		if !w.there(id) {
			w.t.Fatalf("%v was acknowledged, and is gone after a restart", id)
		}
	}
}

// sound compares what is promised with what is stored, once all is stored.
func (w *reservers) sound() {
	for len(w.pending) > 0 {
		w.fx.Reset()
		w.confirm(nil)
		w.heard()
	}
	stored := map[yarn.ReservationID]state.Reservation{}
	for _, r := range w.stored {
		if x, ok := r.(state.Reservation); ok {
			stored[x.ID] = x
		}
	}
	w.do(ListReservations{Ticket: w.next(), Caller: Caller{User: "ann"}, Queue: "root.plan", End: 1 << 60})
	listed := w.fx.Replies[0].Value.([]view.Reservation)
	for _, r := range listed {
		x, ok := stored[r.ID]
		if !ok || !x.Definition.Equal(&r.Definition) || len(x.Intervals) != len(r.Intervals) || x.Accepted != r.Accepted || x.User != r.User {
			w.t.Fatalf("promised %+v, stored %+v", r, x)
		}
	}
	if len(listed) != len(stored) {
		w.t.Fatalf("%d are promised, %d are stored: %v", len(listed), len(stored), slices.Collect(maps.Keys(stored)))
	}
}

// TestReservationsAtRandom: what was acknowledged is kept until it ends or somebody is told of it, whatever fails; what was refused has no effect.
func TestReservationsAtRandom(t *testing.T) {
	most := 0
	rapid.Check(t, func(t *rapid.T) {
		set := settings()
		set.Reservations = reserving()
		set.Reservations.Early = rapid.Bool().Draw(t, "early")
		set.Reservations.MaxPeriod = 600_000
		props := []config.Property{{Name: "root.queues", Value: "default,other,plan"}, {Name: "root.default.capacity", Value: "25"}, {Name: "root.other.capacity", Value: "25"},
			{Name: "root.plan.capacity", Value: "50"}, {Name: "root.plan.reservable", Value: "true"}, {Name: "root.plan.user-limit-factor", Value: "4"},
			{Name: "root.plan.reservation-window", Value: rapid.SampledFrom([]string{"1000", "60000"}).Draw(t, "window")},
			{Name: "root.plan.reservation-move-on-expiry", Value: rapid.SampledFrom([]string{"true", "false"}).Draw(t, "move")}}
		w := &reservers{rig: newRig(t, set, props...), t: t, set: set, props: props, subs: map[yarn.ApplicationID]Submission{}, asked: map[Ticket]planning{}, kept: map[yarn.ReservationID]bool{}, ends: map[yarn.ReservationID]int{}}
		w.hold = true
		w.nodes()
		steps := []func(){w.change, w.change, w.store, w.store, w.time, w.change, w.store, w.nodes, w.submit, w.restart}
		for range rapid.IntRange(20, 80).Draw(t, "steps") {
			steps[w.draw(len(steps), "step")]()
			most = max(most, len(w.kept))
		}
		w.sound()
	})
	if !t.Failed() && most < 3 {
		t.Errorf("the plays were too tame: %d reservations at most", most)
	}
}
