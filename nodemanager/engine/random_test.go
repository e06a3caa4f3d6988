package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/heddle-project/heddle/nodemanager/state"
	"github.com/heddle-project/heddle/yarn"
)

// TestRandom plays masters, a ResourceManager, processes, fetches, disks and sudden ends of the daemon, all at random, and
// judges every effect in its order. recount knows whether the node has given out more than it may, and whether somebody waits
// in vain. At the end everything goes home and nothing may be left but the shared cache.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := settings()
		set.Total = yarn.NewResource(rapid.Int64Range(0, 12).Draw(t, "memory"), rapid.Int64Range(0, 8).Draw(t, "vcores"))
		set.Queue = QueueSettings{MaxLength: rapid.IntRange(0, 4).Draw(t, "queue"), ByResources: rapid.IntRange(0, 5).Draw(t, "policy") == 0,
			Pause: rapid.Bool().Draw(t, "pause")}
		w := &world{t: t, stopped: map[yarn.ContainerID]bool{}, script: &script{engine: New(set), set: set, now: yarn.Now{Wall: begin, Mono: 1}, kept: map[string]state.Op{}}}
		w.newLife()
		w.do(Disks{Local: []string{"/d1", "/d2"}, Log: []string{"/l1"}})
		for range rapid.IntRange(10, 150).Draw(t, "steps") {
			w.step()
		}
		if rapid.Bool().Draw(t, "drain") {
			w.drain()
		}
		w.goHome()
	})
}

// world is everything around the engine, and what it may expect of it.
type world struct {
	*script
	t *rapid.T

	processes map[yarn.ContainerID]bool // Launch or Attach, not Exited
	survivors map[yarn.ContainerID]bool // processes that the last life has left
	fetches   map[int64]Fetch           // not answered
	given     map[int64]bool            // of those, abandoned
	clearing  map[yarn.ApplicationID]bool
	cleared   map[yarn.ApplicationID]bool
	shown     map[yarn.ContainerID]*View
	apps      map[yarn.ApplicationID]string
	links     map[yarn.ContainerID][]Link // of live containers
	stopping  map[yarn.ContainerID]int    // Pause, not answered
	resuming  map[yarn.ContainerID]int    // Resume, likewise
	stopped   map[yarn.ContainerID]bool   // processes that were last paused, not resumed: they outlive the daemon
	asked     map[Ticket]bool
	recovers  bool // the command under way is Recover
}

// newLife forgets what dies with the daemon.
func (w *world) newLife() {
	w.survivors = w.processes
	w.processes, w.fetches, w.given = map[yarn.ContainerID]bool{}, map[int64]Fetch{}, map[int64]bool{}
	w.clearing, w.cleared = map[yarn.ApplicationID]bool{}, map[yarn.ApplicationID]bool{}
	w.shown, w.apps = map[yarn.ContainerID]*View{}, map[yarn.ApplicationID]string{}
	w.stopping, w.resuming = map[yarn.ContainerID]int{}, map[yarn.ContainerID]int{}
	w.links, w.asked = map[yarn.ContainerID][]Link{}, map[Ticket]bool{}
}

func (w *world) step() {
	d := func(n int) int { return rapid.IntRange(0, n-1).Draw(w.t, "choice") }
	id := w.anyContainer()
	switch d(25) {
	case 0, 1, 2, 3, 4:
		w.do(Start{w.ask(), w.anySpec(id)})
	case 5:
		w.do(Stop{w.ask(), id})
	case 6:
		w.do(Signal{w.ask(), id, 1})
	case 7:
		w.do(Update{Ticket: w.ask(), ID: id, Resource: yarn.NewResource(int64(d(9)), 1), Execution: yarn.ExecutionType(d(2)), Version: int32(d(4))})
	case 8, 9:
		w.do(w.anyOrders(id))
	case 10:
		w.do(Overrun{id, -104, "too much"})
	case 11, 12, 13:
		w.fetched(d(4) > 0)
	case 14, 15:
		w.do(Launched{id, int32(d(3))})
	case 16, 17:
		if w.processes[id] || d(4) == 0 {
			w.exit(id, []int32{0, 0, 1, 5, 137, 143}[d(6)])
		}
	case 18:
		app := id.Attempt.Application
		delete(w.clearing, app)
		w.cleared[app] = w.cleared[app] || w.apps[app] == appClearing.String()
		w.do(Cleared{app})
		w.do(LogsDone{app})
	case 19:
		w.do([]Command{Disks{Local: []string{"/d1"}, Log: []string{"/l1"}}, Disks{Local: []string{"/d1", "/d2"}, Log: []string{"/l1"}},
			Disks{TooFew: "none"}}[d(3)])
	case 20:
		w.pass(int64(d(4)) * 400)
	case 22, 23:
		w.halted(id, d(4) > 0)
	case 24:
		if d(3) > 0 {
			w.do(Shed{d(4)})
			break
		}
		w.set.Total = yarn.NewResource(int64(d(13)), int64(d(9)))
		w.do(Offer{w.set.Total})
	case 21:
		if d(3) == 0 {
			w.die()
		} else {
			w.do(Noted{id, "so and so"})
			w.do(Gone{fmt.Sprintf("/d1/filecache/p%d/f", 10+d(3))})
		}
	}
}

func (w *world) ask() Ticket {
	t := w.next()
	w.asked[t] = true
	return t
}

func (w *world) anyContainer() yarn.ContainerID {
	d := func(n int32) int32 { return rapid.Int32Range(1, n).Draw(w.t, "id") }
	return yarn.ContainerID{Attempt: yarn.AttemptID{Application: yarn.ApplicationID{ClusterTimestamp: 1, Sequence: d(2)}, Attempt: 1}, Number: int64(d(4))}
}

// anySpec is a container that wants some of a few resources, and may be launched again.
func (w *world) anySpec(id yarn.ContainerID) Spec {
	words := []string{short(id)}
	for _, r := range []string{"public:a", "public:b", "private:c", "own:d", "own:d", "retry=1/0", "retry=1/0/*/500", "retry=-1/5"} {
		if rapid.IntRange(0, 2).Draw(w.t, r) == 0 {
			words = append(words, r)
		}
	}
	if rapid.Bool().Draw(w.t, "opportunistic") {
		words = append(words, "opp")
	}
	return w.spec(append(words, fmt.Sprintf("mem=%d", rapid.IntRange(0, 7).Draw(w.t, "mem"))))
}

func (w *world) anyOrders(id yarn.ContainerID) Orders {
	var o Orders
	switch rapid.IntRange(0, 5).Draw(w.t, "order") {
	case 0, 1:
		o.Cleanup = append(o.Cleanup, id)
	case 2:
		o.Finish = append(o.Finish, id.Attempt.Application)
	default:
		o.Forget = append(o.Forget, id, id)
	}
	return o
}

// fetched answers one of the fetches, given up or not.
func (w *world) fetched(well bool) {
	numbers := slices.Sorted(maps.Keys(w.fetches))
	if len(numbers) == 0 {
		return
	}
	n := rapid.SampledFrom(numbers).Draw(w.t, "fetch")
	f := Fetched{Number: n, Path: w.fetches[n].Dir + "/f", Bytes: 40}
	if !well {
		f.Failure = "cannot"
	}
	delete(w.fetches, n)
	delete(w.given, n)
	w.do(f)
}

// halted answers what a container's processes were last told to do, stop or go on.
func (w *world) halted(id yarn.ContainerID, well bool) {
	failure := ""
	if !well {
		failure = "cannot"
	}
	switch {
	case w.stopping[id] > 0:
		w.stopping[id]--
		w.do(Paused{id, failure})
	case w.resuming[id] > 0:
		w.resuming[id]--
		w.do(Resumed{id, failure})
	}
}

// drain has everything go on as it should until nothing does any more. What has not ended then is too large for the node, or
// behind such a one.
func (w *world) drain() {
	w.do(Disks{Local: []string{"/d1", "/d2"}, Log: []string{"/l1"}})
	for range 1000 {
		for len(w.fetches) > 0 {
			w.fetched(true)
		}
		for _, m := range []map[yarn.ContainerID]int{w.stopping, w.resuming} {
			for _, id := range slices.SortedFunc(maps.Keys(m), yarn.ContainerID.Compare) {
				for m[id] > 0 {
					w.halted(id, true)
				}
			}
		}
		w.pass(5000)
		if len(w.processes)+len(w.engine.waiting)+len(w.fetches) == 0 {
			break
		}
		for _, id := range slices.SortedFunc(maps.Keys(w.processes), yarn.ContainerID.Compare) {
			if !w.stopped[id] { // what is stopped does not end
				w.exit(id, 0)
				break
			}
		}
	}
	q := &w.engine.queue
	tooLarge := func(line []*container) bool { return len(line) > 0 && !line[0].amount().fitsIn(q.total) }
	for id, v := range w.shown {
		c := w.engine.containers[id]
		w.must(v.Done() || c.phase.waits() && (tooLarge(q.guaranteed) || len(q.guaranteed) == 0 && tooLarge(q.opportunistic)), "%s is still %s, %v", short(id), c.phase, q.total)
	}
}

func (w *world) exit(id yarn.ContainerID, code int32) {
	delete(w.processes, id)
	delete(w.stopping, id)
	delete(w.resuming, id)
	delete(w.stopped, id)
	w.do(Exited{id, code, "text"})
}

func (w *world) pass(n int64) {
	w.now.Wall, w.now.Mono = w.now.Wall+n, w.now.Mono+n
	w.do(Wake{})
}

// die ends the daemon and begins its next life, which must know the same containers.
func (w *world) die() {
	before := map[yarn.ContainerID]int32{}
	for id, v := range w.shown {
		before[id] = v.Exit
	}
	disks := w.engine.disks
	w.engine = New(w.set)
	w.newLife()
	w.do(disks)
	w.recovers = true
	w.do(w.remembered())
	w.recovers = false
	for id, exit := range before {
		v := w.shown[id]
		if v == nil || exit != NotExited && v.Exit != exit {
			w.t.Fatalf("container %s with the exit status %d is %+v in the next life", short(id), exit, v)
		}
	}
	if len(before) != len(w.shown) {
		w.t.Fatalf("%d containers became %d", len(before), len(w.shown))
	}
	if len(w.survivors) > 0 {
		w.t.Fatalf("processes that nobody follows: %v", w.survivors)
	}
}

// do has a command applied and judges its effects.
func (w *world) do(c Command) {
	for _, x := range w.engine.Apply(w.now, c, nil) {
		w.judge(x)
	}
	if bad := recount(w.engine); bad != "" {
		w.t.Fatalf("after %#v: %s", c, bad)
	}
	d, q := Divide(slices.Collect(maps.Values(w.shown))), &w.engine.queue
	w.must(d.QueuedGuaranteed == len(q.guaranteed) && d.QueuedOpportunistic == len(q.opportunistic), "%+v", d)
	for t := range w.asked {
		w.t.Fatalf("call %d has no answer", t)
	}
}

func (w *world) judge(x Effect) {
	switch x := x.(type) {
	case Save:
		w.store(x.Op)
	case Reply:
		w.must(w.asked[x.Ticket], "call %d is answered again", x.Ticket)
		delete(w.asked, x.Ticket)
	case Fetch:
		_, again := w.fetches[x.Number]
		w.must(!again && w.apps[x.Application] == appRunning.String() || w.recovers, "fetch %d for %s", x.Number, w.apps[x.Application])
		w.unused(x.Dir)
		w.fetches[x.Number] = x
	case Abandon:
		_, known := w.fetches[x.Number]
		w.must(known && !w.given[x.Number], "fetch %d is given up again", x.Number)
		w.given[x.Number] = true
	case Remove:
		for _, path := range x.Paths {
			w.unused(path)
		}
	case Launch:
		w.launch(x)
	case Attach:
		w.must(w.recovers && w.record(x.Spec.ID).Tries > 0, "attach %s", short(x.Spec.ID))
		delete(w.survivors, x.Spec.ID)
		w.processes[x.Spec.ID] = true
	case Kill:
		w.must(w.processes[x.ID] && w.record(x.ID).Killed != 0, "kill %s, which has no process", short(x.ID))
		delete(w.stopped, x.ID)
	case Pause:
		w.must(w.processes[x.ID] && w.record(x.ID).Paused, "pause %s, which has no process", short(x.ID))
		w.stopping[x.ID]++
		w.stopped[x.ID] = true
	case Resume:
		w.must(w.processes[x.ID] && w.stopped[x.ID] && w.record(x.ID).Paused, "resume %s, which is not stopped", short(x.ID))
		w.resuming[x.ID]++
		delete(w.stopped, x.ID)
	case Resize:
		w.must(w.processes[x.Spec.ID] && w.record(x.Spec.ID).Resource == x.Spec.Resource, "%s is resized", short(x.Spec.ID))
	case Deliver:
		w.must(w.processes[x.ID], "a signal to %s, which has no process", short(x.ID))
	case Show:
		w.show(x.Container)
	case Hide:
		w.must(w.shown[x.ID].Done(), "%s is hidden before its end", short(x.ID))
		delete(w.shown, x.ID)
	default:
		w.judgeApplication(x)
	}
}

func (w *world) judgeApplication(x Effect) {
	switch x := x.(type) {
	case ShowApplication:
		w.must(w.kept["a"+x.ID.String()] != nil, "%s is shown and not kept", x.ID)
		w.apps[x.ID] = x.State
	case HideApplication:
		delete(w.apps, x.ID)
	case Clear:
		w.must(!w.clearing[x.Application], "%s is cleared again", x.Application)
		w.clearing[x.Application] = true
		for id, v := range w.shown {
			w.must(id.Attempt.Application != x.Application || v.Done(), "%s is cleared and %s lives", x.Application, short(id))
		}
		for n, f := range w.fetches {
			w.must(f.Application != x.Application || f.Visibility != Application, "%s is cleared and fetch %d is under way", x.Application, n)
		}
	case CollectLogs:
		w.must(w.cleared[x.Application], "logs of %s, which is not cleared", x.Application)
		delete(w.cleared, x.Application)
	}
}

func (w *world) launch(x Launch) {
	id := x.Spec.ID
	w.must(!w.processes[id], "%s is launched and has a process", short(id))
	r := w.record(id)
	w.must(r.Tries > 0 && !r.Done && r.Killed == 0 && r.WorkDir == x.Place.WorkDir, "%s is launched, kept as %+v", short(id), r)
	w.must(len(x.Links) == len(x.Spec.Resources), "%s has %d links", short(id), len(x.Links))
	for _, l := range x.Links {
		w.must(l.Target != "", "%s has an empty link", short(id))
	}
	w.links[id] = x.Links
	w.processes[id] = true
}

func (w *world) show(v *View) {
	old := w.shown[v.ID]
	r := w.record(v.ID)
	w.must(old == nil || !old.Done(), "%s is shown after its end", short(v.ID))
	w.must(v.Done() == r.Done && (!v.Done() || v.Exit == r.Exit), "%s is shown as %s %d and kept as %+v", short(v.ID), v.State, v.Exit, r)
	w.must(!v.Done() || !w.processes[v.ID], "%s has ended and has a process", short(v.ID))
	w.must(!v.Waits || !v.Holds && (!w.processes[v.ID] || v.Sub == SubPaused && w.stopped[v.ID]), "%s waits and runs", short(v.ID))
	w.must(v.Sub != SubRunning || !w.stopped[v.ID] || v.State != running.String(), "%s runs and is stopped", short(v.ID))
	if v.Done() {
		delete(w.links, v.ID)
	}
	w.shown[v.ID] = v
}

// unused: nothing of the cache that somebody has, or waits for, lies below a directory.
func (w *world) unused(dir string) {
	for n, f := range w.fetches {
		w.must(w.given[n] || f.Dir != dir, "%s is being filled by fetch %d", dir, n)
	}
	for _, op := range w.kept {
		if r, ok := op.(state.PutResource); ok {
			w.must(r.Resource.Dir != dir, "%s is part of the cache", dir)
		}
	}
	for id, links := range w.links {
		for _, l := range links {
			w.must(w.shown[id].Done() || !strings.HasPrefix(l.Target, dir+"/"), "%s is used by %s", dir, short(id))
		}
	}
}

func (w *world) record(id yarn.ContainerID) state.Container {
	op, ok := w.kept["c"+id.String()].(state.PutContainer)
	w.must(ok, "%s is not kept", short(id))
	return op.Container
}

func (w *world) must(ok bool, format string, args ...any) {
	if !ok {
		w.t.Helper()
		w.t.Fatalf(format, args...)
	}
}

// goHome ends everything, again and again until nothing happens any more.
func (w *world) goHome() {
	w.do(Disks{Local: []string{"/d1", "/d2"}, Log: []string{"/l1"}})
	finish := Orders{Finish: slices.SortedFunc(maps.Keys(w.apps), yarn.ApplicationID.Compare)}
	w.do(finish)
	for _, id := range slices.SortedFunc(maps.Keys(w.processes), yarn.ContainerID.Compare) {
		w.exit(id, 143)
	}
	for len(w.fetches) > 0 {
		w.fetched(true)
	}
	for _, id := range finish.Finish {
		delete(w.clearing, id)
		w.cleared[id] = true
		w.do(Cleared{id})
		w.do(LogsDone{id})
	}
	w.pass(settings().CacheInterval)
	e := w.engine
	if len(e.containers)+len(e.apps)+len(e.waiting)+len(e.cache.abandoned)+len(w.shown)+len(w.apps) > 0 {
		w.t.Fatalf("left: %d containers, %d applications, %d that wait, %d fetches", len(e.containers), len(e.apps), len(e.waiting), len(e.cache.abandoned))
	}
	var total int64
	for _, x := range e.cache.byNumber {
		total += x.Bytes
		w.must(x.refs == 0 && x.shared() && x.ready && !x.retired, "left: %+v", x)
	}
	w.must(total <= settings().CacheTarget, "the cache holds %d bytes", total)
	w.must(len(w.kept) == len(e.cache.byNumber), "records that nobody needs: %v", slices.Collect(maps.Keys(w.kept)))
}
