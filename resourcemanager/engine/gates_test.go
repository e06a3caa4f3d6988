package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/yarn"
)

// submitFor has a user submit an application whose master asks for so much.
func (r *rig) submitFor(n int32, user, queue string, mb int64) {
	r.do(Submit{Ticket: r.next(), Application: Submission{ID: appID(n), User: user, Queue: queue,
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(mb, 1), Count: 1, RelaxLocality: true}}}})
}

func (r *rig) pass(millis int64) {
	r.now.Wall += millis
	r.now.Mono += millis
}

func (r *rig) join(host string, mb int64) {
	r.do(RegisterNode{Ticket: r.next(), Node: nodeID(host), HTTPPort: 1, Total: yarn.NewResource(mb, 8), Health: Health{Healthy: true}})
}

// only is the one gate of an application.
func (r *rig) only(t *testing.T, n int32, code yarn.Code) view.Gate {
	t.Helper()
	g := r.e.Gates(r.now, appID(n))
	if len(g.List) != 1 || g.List[0].Code != code {
		t.Fatalf("%+v, want %s", g, code)
	}
	return g.List[0]
}

// TestSinceWhen: what holds an application from the beginning does so since it began to wait, what is found later since it was found; and all of it counts
// in waiting times.
func TestSinceWhen(t *testing.T) {
	r := newRig(t, settings())
	r.submitFor(1, "ann", "default", 1024)
	began := r.now.Wall
	r.pass(7000)
	r.e.ObserveWaits(r.now)
	r.pass(3000)
	if g := r.only(t, 1, fit.NoNodes); g.Since != began || g.Act.Do != "add-node" {
		t.Errorf("%+v, want it to begin at %d", g, began)
	}
	r.join("h1", 4096)
	r.pass(2000)
	r.e.ObserveWaits(r.now)
	found := r.now.Wall
	r.pass(500)
	if g := r.only(t, 1, fit.ComesNext); g.Since != found {
		t.Errorf("since %d, want %d", g.Since, found)
	}
	r.pass(500)
	r.do(&Heartbeat{Ticket: r.next(), Node: nodeID("h1"), ResponseID: 0, Health: Health{Healthy: true}})
	if g := r.e.Gates(r.now, appID(1)); len(g.List) > 0 {
		t.Errorf("it has its master, and waits because of %+v", g)
	}
	want := map[yarn.Code]int64{fit.NoNodes: 10_000, fit.ComesNext: 3000}
	rows := r.e.Waits()
	if len(rows) != 4 {
		t.Errorf("%+v", rows)
	}
	for _, x := range rows {
		if x.Queue != "root.default" || x.User != "" && x.User != "ann" || x.Millis != want[x.Cause] {
			t.Errorf("%+v, want %v", x, want)
		}
	}
	r.pass(60_000)
	r.e.ObserveWaits(r.now)
	if again := r.e.Waits(); !slices.Equal(again, rows) {
		t.Errorf("who does not wait is counted: %+v", again)
	}
}

// TestDiagnosticsOfWaiting: the diagnostics of who waits follow what holds it.
func TestDiagnosticsOfWaiting(t *testing.T) {
	r := newRig(t, settings())
	for n := range int32(3) {
		r.submitFor(n+1, "ann", "default", 4096)
	}
	says := func(n int32, want string) {
		t.Helper()
		r.pass(1000)
		r.e.ObserveWaits(r.now)
		r.e.Publish(r.now, &r.reader)
		if got := r.reader.apps[appID(n)].Diagnostics; !strings.Contains(got, want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	r.e.Publish(r.now, &r.reader)
	r.join("h1", 2048) // before the first look
	says(2, "Queue's AM resource limit exceeded")
	r.do(Kill{Ticket: r.next(), Application: appID(1)})
	says(2, "Application is Activated")
}

// TestWaitsAreSmall: what is kept for each application in the scheduler, and how many rows there may be.
func TestWaitsAreSmall(t *testing.T) {
	if n := unsafe.Sizeof(waitMark{}); n != 12 {
		t.Errorf("a mark has %d bytes", n)
	}
	var w waits
	for i := range 3 * MaxWaitQueues {
		w.add(fmt.Sprint("root.q", i), fmt.Sprint("user", i), fit.NodeFull, 1000)
	}
	if len(w.queues) != MaxWaitQueues+1 || len(w.users) > MaxWaitUsers+MaxWaitQueues+1 {
		t.Errorf("%d rows of queues, %d of users", len(w.queues), len(w.users))
	}
	sum := int64(0)
	for _, n := range w.queues {
		sum += n
	}
	if sum != 3*MaxWaitQueues*1000 || w.queues[waitOf{OtherQueues, "", fit.NodeFull}] == 0 {
		t.Errorf("%d ms in all", sum)
	}
}

// TestRefusedGates: an application that its queue has refused is told the gates that it would meet now, with the change that lets the next one in.
func TestRefusedGates(t *testing.T) {
	for _, c := range []struct {
		name  string
		set   config.Property
		code  yarn.Code
		queue string
		want  string
	}{
		{"stopped", config.Property{Name: "root.other.state", Value: "STOPPED"}, fit.QueueStopped, "other", "root.other.state=RUNNING"},
		{"many", config.Property{Name: "root.other.maximum-applications", Value: "1"}, fit.TooManyQueueApps, "other", "root.other.maximum-applications=2"},
		{"many of one user", config.Property{Name: "root.default.user-limit-factor", Value: "0.0001"}, fit.TooManyUserApps, "default", "root.default.user-limit-factor=0.01"},
		{"many in all", config.Property{Name: "maximum-applications", Value: "1"}, fit.TooManyApps, "limited", "maximum-applications=2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := func(more config.Property) *rig {
				set, queue := []config.Property{more}, c.queue
				if queue == "limited" { // by itself, so that its share of all is not its limit
					set, queue = append(set, config.Property{Name: "root.other.maximum-applications", Value: "10"}), "other"
				}
				r := newRig(t, settings(), set...)
				r.submitFor(1, "ann", queue, 1024)
				r.submitFor(2, "ann", queue, 1024)
				return r
			}
			r := start(c.set)
			g := r.e.Gates(r.now, appID(2))
			if !g.Refused || len(g.List) != 1 || g.List[0].Code != c.code || len(g.List[0].Change) != 1 {
				t.Fatalf("%+v", g)
			}
			x := g.List[0].Change[0]
			name := strings.TrimPrefix(x.Name, config.Prefix)
			if said := name + "=" + x.Value; said != c.want {
				t.Errorf("%s, want %s", said, c.want)
			}
			if a := start(config.Property{Name: name, Value: x.Value}).e.apps[appID(2)]; a.state != yarn.AppAccepted {
				t.Errorf("with that it is %s", a.state)
			}
		})
	}
}

// TestNoGateIsUnknown: each reason has a sentence, and something that helps in words.
func TestNoGateIsUnknown(t *testing.T) {
	r := newRig(t, settings())
	r.join("h1", 4096)
	r.submitFor(1, "ann", "default", 1024)
	a := r.e.apps[appID(1)]
	for _, c := range whyCases {
		switch c.why.Code {
		case fit.RunningApps, fit.UserRunningApps, fit.NextUpdate: // of the FairScheduler
			continue
		case fit.NothingFree: // of headrooms
			continue
		}
		x := r.e.remedy(a, c.why)
		if !x.Any() {
			t.Errorf("nothing helps against %+v", c.why)
		}
		if g := r.e.gate(a, c.why, &x); x.Act.Do != "" && (g.Act.Text == g.Act.Do || g.Act.Text == "") {
			t.Errorf("%s: %s has no words", c.why.Code, g.Act.Do)
		}
	}
}

// preemptingRig is a rig with one node, which the first application has filled.
func preemptingRig(t *testing.T) *rig {
	t.Helper()
	p := func(name, value string) config.Property {
		return config.Property{Name: config.PreemptionPrefix + name, Value: value}
	}
	r := newRig(t, settings(), p("total_preemption_per_round", "1"), p("natural_termination_factor", "1"), p("max_wait_before_kill", "3000"))
	r.join("h1", 4096)
	beat := func(response int32, running ...yarn.ContainerID) {
		h := &Heartbeat{Ticket: r.next(), Node: nodeID("h1"), ResponseID: response, Health: Health{Healthy: true}}
		for _, id := range running {
			h.Containers = append(h.Containers, ContainerStatus{ID: id})
		}
		r.do(h)
	}
	r.submitFor(1, "ann", "default", 1024)
	beat(0)
	master := r.e.apps[appID(1)].current()
	r.do(Launched{Attempt: master.id})
	r.do(RegisterMaster{Ticket: r.next(), Attempt: master.id})
	beat(1, master.masterID)
	r.do(&Allocate{Ticket: r.next(), Attempt: master.id, Asks: []yarn.Ask{{Priority: 1, Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 3, RelaxLocality: true}}})
	beat(2, master.masterID)
	return r
}

// TestPreemptionIsAGate: who waits for containers to end that have had notice is told so, and of whom they are.
func TestPreemptionIsAGate(t *testing.T) {
	r := preemptingRig(t)
	r.submitFor(2, "bob", "other", 1024)
	r.do(MonitorQueues{})
	g := r.e.Gates(r.now, appID(2))
	last := g.List[len(g.List)-1]
	if last.Code != fit.PreemptionWaits || last.Act.Do != "wait-for-preemption" || len(last.Holders) == 0 || last.Holders[0].App != appID(1) {
		t.Fatalf("%+v", g.List)
	}
	if first := g.List[0]; first.Code == fit.PreemptionWaits || len(first.Holders) == 0 {
		t.Errorf("%+v", first)
	}
	if g.Line.Place != 1 || g.Line.Of != 1 {
		t.Errorf("%+v", g.Line)
	}
}

// TestNoticesAreGatheredOnce: a round reads the log of preemption once for all who wait, and not at all where nothing is under notice.
func TestNoticesAreGatheredOnce(t *testing.T) {
	const waiting = 200
	r := preemptingRig(t)
	for i := range int32(waiting) {
		r.submitFor(i+2, "bob", "other", 1024)
	}
	log := &r.e.preemptionLog
	round := func() int {
		before := log.read
		r.pass(1000)
		r.e.ObserveWaits(r.now)
		return log.read - before
	}
	old := view.Preemption{Event: view.Preempted, Container: yarn.ContainerID{Number: 1 << 30}}
	for range MaxPreemptionEvents {
		log.add(old)
	}
	if n := round(); n != 0 {
		t.Errorf("nothing is under notice, and a round reads %d entries", n)
	}
	r.do(MonitorQueues{})
	noticed := 0
	log.walk(func(p *view.Preemption) bool {
		noticed++
		return p.Event == view.Noticed
	})
	if noticed--; noticed == 0 {
		t.Fatal("nothing is under notice")
	}
	if n := round(); n != noticed {
		t.Errorf("a round reads %d entries, %d tell of notices", n, noticed)
	}
	for range MaxPreemptionEvents - noticed {
		log.add(old)
	}
	if n := round(); n != MaxPreemptionEvents {
		t.Errorf("a round reads %d entries of %d", n, MaxPreemptionEvents)
	}
	told := func(n int32) int {
		t.Helper()
		before := log.read
		why := r.e.Gates(r.now, appID(n)).List
		if read := log.read - before; read > MaxPreemptionEvents {
			t.Errorf("an answer reads %d entries", read)
		}
		if last := why[len(why)-1]; last.Code == fit.PreemptionWaits {
			return len(last.Holders)
		}
		return 0
	}
	if got := told(2); got != noticed {
		t.Errorf("application 2 waits for %d containers, %d are under notice", got, noticed)
	}
	if got := told(3); got != 0 {
		t.Errorf("application 3 waits for %d containers, which are under notice for another one", got)
	}
	for _, last := range log.latest(MaxPreemptionEvents, func(p *view.Preemption) bool { return p.Event == view.Noticed }) {
		last.ForApp = yarn.ApplicationID{} // for its queue
		log.add(last)
	}
	if n := round(); n != noticed {
		t.Errorf("a round reads %d entries, %d tell of notices", n, noticed)
	}
	if got := told(waiting); got != noticed {
		t.Errorf("an application of the queue waits for %d containers, %d are under notice", got, noticed)
	}
}

// TestSavesLeaveNoBurst: an empty queue of saves does not keep the memory of its largest burst.
func TestSavesLeaveNoBurst(t *testing.T) {
	var q saveQueue
	for _, n := range []int{savesKept / 2, 50 * savesKept, 1} {
		for range n {
			q.all = append(q.all, saved{})
		}
		for range n {
			q.take()
		}
		if len(q.entries()) != 0 || cap(q.all) > savesKept {
			t.Errorf("after %d saves there is room for %d", n, cap(q.all))
		}
	}
}

// TestNeverIsTheFirstWord: what no node could ever meet is said at once.
func TestNeverIsTheFirstWord(t *testing.T) {
	r := newRig(t, settings())
	r.join("h1", 4096)
	r.submitFor(1, "ann", "default", 3072)
	r.do(SetNodeResource{Ticket: r.next(), Node: nodeID("h1"), Total: yarn.NewResource(2048, 8)})
	const want = "1 container of 3072 MB can never be had: the largest node there, h1:"
	if why := r.e.Why(appID(1)); !strings.HasPrefix(why, want) || !strings.Contains(why, nodeSize) {
		t.Error(why)
	}
	g := r.e.Gates(r.now, appID(1))
	if len(g.Impossible) != 1 || g.Impossible[0].Code != fit.NodeTooSmall || !g.List[0].TooLarge {
		t.Errorf("%+v", g)
	}
}

// BenchmarkObserveWaits is a round while 10,000 applications wait for the share of masters.
func BenchmarkObserveWaits(b *testing.B) {
	r := newRig(b, settings(), config.Property{Name: "root.default.maximum-am-resource-percent", Value: "0.1"}, config.Property{Name: "maximum-applications", Value: "100000"})
	r.join("h1", 65536)
	for i := range int32(10_000) {
		r.submitFor(i+1, "ann", "default", 1024)
	}
	b.ResetTimer()
	b.ReportAllocs()
	for range b.N {
		r.pass(1000)
		r.e.ObserveWaits(r.now)
	}
}
