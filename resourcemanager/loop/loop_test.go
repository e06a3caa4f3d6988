package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/internal/clock"
	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

const nodeExpiry = 10 * time.Second

// rig is a loop with a real engine, in a bubble of testing/synctest.
type rig struct {
	t     *testing.T
	l     *Loop
	end   context.CancelFunc
	log   bytes.Buffer
	files string        // directory of recordings
	gate  chan struct{} // while not nil, the loop stands still at its next transition

	mu    sync.Mutex
	fatal []*Loss

	former atomic.Bool // this loop may not lead any more
}

// inBubble runs a test with a loop, which has ended when the test ends.
func inBubble(t *testing.T, s store.Store, test func(*testing.T, *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, s)
		ctx, end := context.WithCancel(t.Context())
		r.end = end
		go r.l.Run(ctx, 2)
		test(t, r)
		end()
		r.l.Wait()
	})
}

func newRig(t *testing.T, s store.Store) *rig {
	t.Helper()
	if s != nil {
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	r := &rig{t: t, files: t.TempDir()}
	eng, head := newEngine(t)
	log := slog.New(slog.NewTextHandler(&r.log, nil))
	r.l = New(Config{Engine: eng, Clock: clock.System(), Outside: r, Store: s, BlackBox: blackbox.NewRecorder(head, blackbox.Options{Dir: r.files, Log: log}), Log: log,
		Lost: func(why *Loss) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.fatal = append(r.fatal, why)
		}, Leads: func() bool { return !r.former.Load() }})
	return r
}

func newEngine(t testing.TB) (*engine.Engine, blackbox.Header) {
	t.Helper()
	p := []config.Property{{Name: "root.queues", Value: "default"}, {Name: "root.default.capacity", Value: "100"}, {Name: "maximum-am-resource-percent", Value: "1"}}
	for i := range p {
		p[i].Name = config.Prefix + p[i].Name
	}
	cfg, _, err := config.Parse(p, config.Cluster{MinAllocation: yarn.NewResource(256, 1), MaxAllocation: yarn.NewResource(8192, 8)})
	if err != nil {
		t.Fatal(err)
	}
	sched, err := scheduler.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	set := engine.Settings{ClusterTimestamp: 1000, NodeExpiry: nodeExpiry.Milliseconds(), MasterExpiry: 20_000, AllocationExpiry: 5_000,
		MaxAttempts: 2, GlobalMaxAttempts: 2, MaxCompleted: 100, NodeMinimum: yarn.NewResource(256, 1), ResourceTypes: yarn.BasicResourceTypes()}
	return engine.New(set, sched), blackbox.Header{Settings: set, Queues: blackbox.QueuesOf(cfg)}
}

// Outside of the loop nothing happens here, save that it may be held up.
func (r *rig) Launch(engine.Launch)                   {}
func (r *rig) Stop(engine.Stop)                       {}
func (r *rig) Login(engine.Login)                     {}
func (r *rig) Forgotten(yarn.NodeID)                  {}
func (r *rig) Discarded(yarn.ApplicationID)           {}
func (r *rig) Summaries([]yarn.ApplicationID)         {}
func (r *rig) Reservations([]engine.ReservationEvent) {}
func (r *rig) Decisions(*engine.Effects)              {}
func (r *rig) Transitions([]engine.Transition) {
	if r.gate != nil {
		<-r.gate
	}
}

// answered collects answers in the order in which they come.
type answered struct {
	mu     sync.Mutex
	values []any
	errs   []error
}

func (a *answered) take(v any, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.values, a.errs = append(a.values, v), append(a.errs, err)
}

func (a *answered) len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.values)
}

// newApp asks for an application id.
func (r *rig) newApp(a *answered) { r.l.Post(engine.NewApplication{Ticket: r.l.Expect(a.take)}) }

// node brings the n-th node, which is a transition.
func (r *rig) node(n int, done Done) {
	c := engine.RegisterNode{Node: yarn.NodeID{Host: fmt.Sprint("node", n), Port: 1}, Total: yarn.NewResource(8192, 8), Rack: "/r", Health: engine.Health{Healthy: true}}
	if done != nil {
		c.Ticket = r.l.Expect(done)
	}
	r.l.Post(c)
}

// hold stops the loop in the middle of a command until the result is called.
func (r *rig) hold() (release func()) {
	gate := make(chan struct{})
	r.gate = gate
	r.node(1000, nil)
	synctest.Wait()
	return func() { close(gate) }
}

func submission(n int32) engine.Submission {
	return engine.Submission{ID: yarn.ApplicationID{ClusterTimestamp: 1000, Sequence: n}, User: "alice", Name: "a", Queue: "default",
		AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(512, 1), Count: 1, RelaxLocality: true}}}
}

// ids takes the first n application ids, which submissions then bear.
func (r *rig) ids(n int) {
	var a answered
	for range n {
		r.newApp(&a)
	}
	synctest.Wait()
}

// Commands are applied in the order in which one goroutine posts them.
func TestOrder(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		const n = 5000
		var a answered
		for range n {
			r.newApp(&a)
		}
		synctest.Wait()
		if a.len() != n {
			t.Fatalf("%d answers, want %d", a.len(), n)
		}
		seen := map[int32]bool{}
		for i, v := range a.values {
			id := v.(engine.NewApplicationReply).ID.Sequence
			if seen[id] || id < 1 || id > n || a.errs[i] != nil {
				t.Fatalf("answer %d is %d (%v)", i, id, a.errs[i])
			}
			seen[id] = true
		}
	})
}

// Whoever waits for an answer before the next command gets numbers that rise.
func TestOrderOfOne(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		for want := int32(1); want <= 100; want++ {
			got := make(chan any, 1)
			r.l.Post(engine.NewApplication{Ticket: r.l.Expect(func(v any, _ error) { got <- v })})
			if id := (<-got).(engine.NewApplicationReply).ID.Sequence; id != want {
				t.Fatalf("got %d, want %d", id, want)
			}
		}
	})
}

// What has gathered is applied at once, in batches of a bounded size.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		var a answered
		const n = 2*maxBatch + 10
		for range n {
			r.newApp(&a)
		}
		ctx, end := context.WithCancel(t.Context())
		go r.l.Run(ctx, 2)
		synctest.Wait()
		end()
		r.l.Wait()
		if a.len() != n || r.l.stats.Commands != n || r.l.stats.Batches < 3 || r.l.stats.Batches > 6 {
			t.Errorf("%d answers, %+v", a.len(), r.l.stats)
		}
	})
}

// A full mailbox makes callers wait, but not the store's confirmations.
func TestFullMailbox(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		release := r.hold()
		var a answered
		for range MaxMailbox {
			r.newApp(&a)
		}
		posted := make(chan struct{})
		go func() {
			r.newApp(&a)
			close(posted)
		}()
		synctest.Wait()
		select {
		case <-posted:
			t.Error("a full mailbox took a command")
		default:
		}
		forced := make(chan struct{})
		go func() {
			r.l.force(engine.Tick{})
			close(forced)
		}()
		<-forced
		release()
		<-posted
		synctest.Wait()
		if a.len() != MaxMailbox+1 {
			t.Errorf("%d answers, want %d", a.len(), MaxMailbox+1)
		}
	})
}

// The end frees callers that wait for room.
func TestEndOfFullMailbox(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		release := r.hold()
		var a answered
		for range MaxMailbox {
			r.newApp(&a)
		}
		go r.newApp(&a)
		synctest.Wait()
		r.end()
		release()
		r.l.Wait()
		synctest.Wait()
		for i, err := range a.errs {
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Fatalf("answer %d: %v", i, err)
			}
		}
		if a.len() != MaxMailbox+1 {
			t.Errorf("%d answers, want %d", a.len(), MaxMailbox+1)
		}
	})
}

// Once this ResourceManager may not lead any more, whatever it has decided is answered as by one that is ending.
func TestAnswersOfFormerLeader(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		var late, again answered
		r.former.Store(true)
		r.newApp(&late)
		synctest.Wait()
		r.former.Store(false)
		r.newApp(&again)
		synctest.Wait()
		if late.len() != 1 || !errors.Is(late.errs[0], ErrClosed) || again.len() != 1 || again.errs[0] != nil {
			t.Errorf("answers %v, want one of ErrClosed; then %v, want one without an error", late.errs, again.errs)
		}
	})
}

// Views show everything that was answered before they were asked for.
func TestViewsAreFresh(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.ids(50)
		var readers sync.WaitGroup
		for n := range int32(50) {
			done := make(chan error, 1)
			r.l.Post(engine.Submit{Application: submission(n + 1), Ticket: r.l.Expect(func(_ any, err error) { done <- err })})
			readers.Go(func() {
				if err := <-done; err != nil {
					t.Error(err)
				}
				v, err := r.l.Views(t.Context(), view.Everything)
				if err != nil || v.FindApplication(yarn.ApplicationID{ClusterTimestamp: 1000, Sequence: n + 1}) == nil {
					t.Errorf("application %d was answered and is not shown (%v)", n+1, err)
				}
			})
		}
		readers.Wait()
		for n := range 3 {
			r.node(n, nil)
		}
		v, err := r.l.Views(t.Context(), view.Everything)
		if err != nil || len(v.Nodes()) != 3 || len(v.Applications()) != 50 || v.FindNode(yarn.NodeID{Host: "node2", Port: 1}) == nil {
			t.Errorf("%d nodes, %d applications (%v)", len(v.Nodes()), len(v.Applications()), err)
		}
		if apps := v.Applications(); apps[0].ID.Sequence != 1 || apps[49].ID.Sequence != 50 {
			t.Error("applications are not in the order of their ids")
		}
	})
}

// A reader gives up when its time is over, and learns of the end.
func TestViewsEnd(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		release := r.hold()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.l.Views(ctx, view.Everything); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a reader whose time is over got %v", err)
		}
		got := make(chan error, 1)
		go func() {
			_, err := r.l.Views(t.Context(), view.Everything)
			got <- err
		}()
		synctest.Wait()
		r.end()
		release()
		if err := <-got; err != nil && !errors.Is(err, ErrClosed) { // nil if the last batch still published
			t.Errorf("a reader at the end got %v", err)
		}
		r.l.Wait()
		if _, err := r.l.Views(t.Context(), view.Everything); !errors.Is(err, ErrClosed) {
			t.Errorf("a reader after the end got %v", err)
		}
	})
}

// After the end every call is answered: it comes too late.
func TestCallsAfterTheEnd(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		var early, late answered
		ticket := r.l.Expect(early.take)
		r.end()
		r.l.Wait()
		r.l.Post(engine.NewApplication{Ticket: ticket})
		r.newApp(&late)
		synctest.Wait()
		for _, a := range []*answered{&early, &late} {
			if a.len() != 1 || !errors.Is(a.errs[0], ErrClosed) {
				t.Errorf("answers %v, want one of ErrClosed", a.errs)
			}
		}
	})
}

// What is due happens when it is due, without any command.
func TestTimers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		state := func() yarn.NodeState {
			v, err := r.l.Views(t.Context(), view.Everything)
			if err != nil {
				t.Fatal(err)
			}
			return v.FindNode(yarn.NodeID{Host: "node1", Port: 1}).State
		}
		r.node(1, nil)
		synctest.Wait()
		time.Sleep(nodeExpiry - 10*time.Millisecond)
		if s := state(); s != yarn.NodeRunning {
			t.Errorf("before its time the node is %s", s)
		}
		time.Sleep(20 * time.Millisecond)
		if s := state(); s != yarn.NodeLost {
			t.Errorf("after its time the node is %s", s)
		}
	})
}

// A lease that is renewed moves the timer.
func TestTimersMove(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.node(1, nil)
		id := yarn.NodeID{Host: "node1", Port: 1}
		for beat := range int32(5) {
			time.Sleep(nodeExpiry - time.Second)
			r.l.Post(&engine.Heartbeat{Node: id, ResponseID: beat, Health: engine.Health{Healthy: true}})
		}
		time.Sleep(nodeExpiry - 10*time.Millisecond)
		v, err := r.l.Views(t.Context(), view.Everything)
		if err != nil || v.FindNode(id).State != yarn.NodeRunning {
			t.Fatalf("a node that sends heartbeats is %s (%v)", v.FindNode(id).State, err)
		}
		time.Sleep(20 * time.Millisecond)
		if v, err = r.l.Views(t.Context(), view.Everything); err != nil || v.FindNode(id).State != yarn.NodeLost {
			t.Errorf("a node that has fallen silent is %s (%v)", v.FindNode(id).State, err)
		}
		r.end()
		r.l.Wait()
		if n := r.l.stats.Commands; n > 20 {
			t.Errorf("%d commands for one node and five heartbeats: the timer goes off too often", n)
		}
	})
}

// A deadline that is further away than a time.Duration reaches keeps the loop neither busy nor from what is due before.
func TestTimersFar(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, r *rig) {
		r.node(1, nil)
		id := yarn.NodeID{Host: "node1", Port: 1}
		const years400 = 400 * 365 * 24 * 3_600_000
		r.l.Post(engine.DrainNodes{Nodes: []yarn.NodeID{{Host: "node1"}}, Deadline: time.Now().UnixMilli() + years400, User: "root", Source: "cli"})
		time.Sleep(nodeExpiry + time.Second)
		if v, err := r.l.Views(t.Context(), view.Everything); err != nil || v.FindNode(id).State != yarn.NodeLost {
			t.Errorf("a node that has fallen silent is %s (%v)", v.FindNode(id).State, err)
		}
	})
}

// A panic of the engine ends the process, after the last commands were logged and
// everybody was answered.
func TestBlackBox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, nil)
		crash := make(chan any, 1)
		var a answered
		ticket := r.l.Expect(a.take)
		go func() {
			defer func() { crash <- recover() }()
			r.l.Run(t.Context(), 2)
		}()
		for range 2 * lastTypes {
			r.l.Post(engine.Tick{})
		}
		r.l.Post(engine.Stored{Seq: 77})
		if p := <-crash; p == nil || !strings.Contains(fmt.Sprint(p), "save 77") {
			t.Errorf("the loop ended with %v", p)
		}
		r.l.Wait()
		synctest.Wait()
		if text := r.log.String(); strings.Count(text, "black box") != lastTypes || !strings.Contains(text, "engine.Stored") {
			t.Errorf("the black box holds\n%s", text)
		}
		r.l.Post(engine.NewApplication{Ticket: ticket})
		if a.len() != 1 || !errors.Is(a.errs[0], ErrClosed) {
			t.Errorf("a call at the crash was answered with %v", a.errs)
		}
	})
}

// Tickets are used once and found by nobody else.
func TestTickets(t *testing.T) {
	var list tickets
	calls := 0
	done := func(any, error) { calls++ }
	first := list.take(done)
	if first == 0 || list.redeem(first) == nil || list.redeem(first) != nil {
		t.Error("a ticket is good once")
	}
	second := list.take(done)
	if second == first || list.redeem(first) != nil || list.redeem(second) == nil {
		t.Error("a used ticket found the next one's place")
	}
	for _, stranger := range []engine.Ticket{0, 1, 1 << 40, 1<<64 - 1} {
		if list.redeem(stranger) != nil {
			t.Errorf("ticket %d was never given", stranger)
		}
	}
	if len(list.slots) != 1 {
		t.Errorf("%d places for one ticket at a time", len(list.slots))
	}
}
