package sim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/blackbox"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// term is one leadership: a scheduler and an engine that began with what was stored.
type term struct {
	c       *Cluster
	d       *daemon
	epoch   int64
	engine  *engine.Engine
	sched   *scheduler.Scheduler
	inForce *config.Config
	box     *blackbox.Recorder // nil when nobody wants recordings
	over    bool
	began   int // the step in which the term began

	inbox   []posted
	applies bool // one is being applied

	store    store.Store
	saves    []engine.Save   // not confirmed
	batch    int             // how many of them the commit under way has; 0: there is none
	flying   bool            // a slow commit is under way
	poison   map[uint64]bool // saves that can never be stored
	stored   uint64          // the last one confirmed
	away     int             // how often the store was not there, one after the other
	token    int32           // the last delegation token
	ticket   engine.Ticket
	waiting  map[engine.Ticket]*question
	beats    map[yarn.NodeID]*engine.HeartbeatReply // last answers, which are sent again
	answered map[yarn.AttemptID]*engine.AllocateReply

	reader *reader
	known
}

// question is a call that is not answered yet.
type question struct {
	cmd         engine.Command
	answer      func(any, *engine.Error)
	closed      func()
	first, last uint64 // saves that it led to at once
}

// errInjected is why a record cannot be stored.
var errInjected = errors.New("the simulation makes it fail")

// Faults of the store, in percent of its commits, or of its records.
const (
	storeAway   = 4 // it does nothing
	storeSilent = 4 // it stores what it should, and does not say so
	storeSlow   = 4 // it takes its time
	poisoned    = 1 // a record that it will never store
	inFlight    = 50
)

// mostAway is how often the store is tried before the term ends.
const mostAway = 60

// lead has the daemon begin a term, unless the store is away.
func (c *Cluster) lead(d *daemon) {
	if d.cutStore > c.Steps || c.chance(storeAway) {
		return
	}
	var s store.Store
	if c.script != nil {
		s = c.script.open(c)
	} else {
		s = c.disk.Open(store.Options{})
	}
	snapshot, err := s.Load(context.Background())
	if c.script.died() {
		d.crash()
		return
	}
	if c.script != nil && errors.As(err, new(*store.UnavailableError)) { // somebody came in between; it tries again
		return
	}
	if err != nil {
		c.fail("the store cannot be loaded: %v", err)
		return
	}
	t := &term{c: c, d: d, epoch: snapshot.Epoch, began: c.Steps, store: s, poison: map[uint64]bool{}, waiting: map[engine.Ticket]*question{},
		beats: map[yarn.NodeID]*engine.HeartbeatReply{}, answered: map[yarn.AttemptID]*engine.AllocateReply{}, reader: newReader(), known: newKnown()}
	c.owner, c.Terms = t, c.Terms+1
	if n := len(snapshot.Applications); n > 0 && c.chance(clocksBack) { // to the very moment of an earlier start
		c.Done["clock set back to an earlier start"]++
		d.skew = snapshot.Applications[c.rng.IntN(n)].ID.ClusterTimestamp - c.now.Wall
	}
	if err := t.build(snapshot.Started(c.now.Wall + d.skew)); err != nil {
		c.fail("%v", err)
		return
	}
	d.term = t
	t.recover(snapshot)
}

// now is the time on the daemon's machine.
func (t *term) now() yarn.Now { return yarn.Now{Wall: t.c.now.Wall + t.d.skew, Mono: t.c.now.Mono} }

// ask hands a call in. closed is called if there is going to be no answer.
func (t *term) ask(cmd command, answer func(any, *engine.Error), closed func()) {
	t.ticket++
	c := cmd(t.ticket)
	t.waiting[t.ticket] = &question{cmd: c, answer: answer, closed: closed}
	t.post(posted{c, t.ticket})
}

// posted is a command that waits for its turn.
type posted struct {
	cmd    engine.Command
	ticket engine.Ticket // 0: nobody waits for an answer
}

// post applies a command, after those that are there already.
func (t *term) post(p posted) {
	t.inbox = append(t.inbox, p)
	if t.applies {
		return
	}
	t.applies = true
	for len(t.inbox) > 0 && !t.over {
		next := t.inbox[0]
		t.inbox = t.inbox[1:]
		t.apply(next)
	}
	t.applies = false
}

// apply carries a command out, and what follows from it, unless the process ends in between.
func (t *term) apply(p posted) {
	c, cmd := t.c, p.cmd
	c.Commands++
	var fx engine.Effects
	if t.box != nil {
		t.box.Add(t.now(), cmd)
	}
	before := t.holds(cmd)
	t.engine.Apply(t.now(), cmd, &fx)
	if before != 0 && len(fx.Saves) == 0 && len(fx.Replies) == 1 && fx.Replies[0].Err != nil {
		c.Done["refusals held against the state before"]++
		if after := t.engine.Digest(); after != before {
			c.fail("%s: a %T was refused (%v), and has changed something", t, cmd, fx.Replies[0].Err)
		}
	}
	if refresh, ok := cmd.(engine.RefreshQueues); ok {
		t.refreshed(refresh, fx.Replies)
	}
	if t.box != nil {
		t.box.Carried(&fx)
	}
	t.take(p, fx.Saves)
	t.watch(cmd, &fx)
	left := len(fx.Launches) + len(fx.Stops) + len(fx.Replies)
	dies := !c.quiet && c.rng.IntN(100_000) < crashesAfter(cmd)
	if dies {
		c.Done["died after a command"]++
		c.Done[fmt.Sprintf("died after %T", cmd)]++
		if left > 0 {
			c.Done["died after a command with effects"]++
		}
		left = c.rng.IntN(left + 1)
	}
	for _, l := range fx.Launches {
		if left--; left >= 0 {
			t.launch(l)
		}
	}
	for _, s := range fx.Stops {
		if n := c.find(s.Node); n != nil && !c.chance(lostStops) {
			if left--; left >= 0 {
				n.kill(s.Container)
			}
		}
	}
	for _, r := range fx.Replies {
		if left--; left >= 0 && !t.over {
			t.reply(r)
		}
	}
	if dies && !t.over {
		t.lastCommit()
		t.d.crash()
	}
}

// holds is a digest of the state before a command that may be refused, to be compared if it is; 0: there is none to compare with.
func (t *term) holds(cmd engine.Command) uint64 {
	switch cmd.(type) {
	case engine.AddLabels, engine.RemoveLabels, engine.ReplaceLabels, engine.DrainNodes, engine.UndrainNodes, engine.SetNodeResource, engine.Move,
		engine.SetPriority, engine.SetLifetime, engine.FailAttempt: // not those of reservations: even a refused one may change what the engine knows of a plan
		if t.box == nil && t.c.Commands%refusalsSeen == 0 { // a recording knows nothing of the digests
			return t.engine.Digest()
		}
	}
	return 0
}

// refusalsSeen: of so many commands the digest is taken before one, because a digest of the whole state takes long.
const refusalsSeen = 8

// crashesAfter is after how many of 100,000 such commands the process dies. It is less for calls of nodes and masters, which are far more frequent than others.
func crashesAfter(cmd engine.Command) int {
	switch cmd.(type) {
	case *engine.Heartbeat, *engine.Allocate, engine.RegisterNode, engine.Tick, engine.Sweep, engine.UpdateShares, engine.MonitorQueues, engine.FollowPlans:
		return crashes
	}
	return 10 * crashes
}

// reply passes an answer on, if the daemon may still give any.
func (t *term) reply(r engine.Reply) {
	q := t.waiting[r.Ticket]
	if q == nil {
		t.c.fail("a call was answered twice")
		return
	}
	delete(t.waiting, r.Ticket)
	if !t.d.leads() {
		t.c.Done["answers withheld"]++
		if q.closed != nil {
			q.closed()
		}
		return
	}
	value := t.edge(q.cmd, r.Value)
	t.acknowledged(q, value, r.Err)
	if q.answer != nil {
		q.answer(value, r.Err)
	}
}

// edge is what the ports add to an answer: what was answered last, if that is asked for.
func (t *term) edge(cmd engine.Command, value any) any {
	switch v := value.(type) {
	case *engine.HeartbeatReply:
		id := cmd.(*engine.Heartbeat).Node
		if v.Duplicate {
			t.c.Done["nodes answered again"]++
		}
		if !v.Duplicate {
			t.beats[id] = v
		}
		return t.beats[id]
	case *engine.AllocateReply:
		id := cmd.(*engine.Allocate).Attempt
		if v.Duplicate {
			t.c.Done["masters answered again"]++
		}
		if !v.Duplicate {
			t.answered[id] = v
		}
		return t.answered[id]
	}
	return value
}

// step does what is due, and stores.
func (t *term) step() {
	if due, ok := t.engine.NextDue(); ok && due <= t.now().Mono {
		t.post(posted{cmd: engine.Tick{}})
	}
	t.silent()
	t.tend()
	if !t.over {
		t.commit()
	}
}

// commit stores some of what waits, and confirms it.
func (t *term) commit() {
	c := t.c
	if len(t.saves) == 0 || t.flying {
		return
	}
	if t.batch == 0 {
		if t.batch = len(t.saves); !c.quiet {
			t.batch = c.rng.IntN(t.batch + 1)
		}
	}
	n := t.batch
	if n == 0 {
		return
	}
	if c.script != nil && !c.script.batches {
		n, t.batch = 1, 1
	}
	if t.d.cutStore > c.Steps || c.chance(storeAway) {
		t.unavailable()
		return
	}
	if c.chance(storeSlow) { // whoever leads by then
		t.flying = true
		c.Done["store slow"]++
		if len(c.daemons) > 1 && c.chance(inFlight) { // because the machine has no network, which the others notice
			t.d.cutLock, t.d.cutStore = c.Steps+mostCut/2, c.Steps+mostCut/2
		}
		c.after(1+c.rng.IntN(latest), func() {
			if c.owner != t {
				c.Done["slow commits of who was replaced"]++
			} else if t.over {
				c.Done["slow commits of who has died"]++
			}
			_ = t.put(n)
			t.flying = false
		})
		return
	}
	err := t.put(n)
	switch {
	case t.over: // it died on the way
		return
	case errors.Is(err, store.ErrFenced):
		t.lost()
		return
	case err != nil:
		c.fail("a commit failed: %v", err)
		return
	case c.chance(storeSilent):
		c.Done["store silent"]++
		t.unavailable()
		return
	}
	t.away, t.batch = 0, 0
	confirmed := t.saves[:n]
	t.saves = t.saves[n:]
	for i, s := range confirmed {
		x := engine.Stored{Seq: s.Seq}
		if t.poison[s.Seq] {
			c.Done["poison"]++
			c.Done[fmt.Sprintf("poison %T", s.Op.Record)]++
			x.Err = &store.PoisonError{Index: i, Key: s.Op.Record.Key(), Err: errInjected}
		}
		t.stored = s.Seq
		if t.post(posted{cmd: x}); t.over {
			return
		}
	}
}

// unavailable: the store did not answer.
func (t *term) unavailable() {
	t.c.Done["store unavailable"]++
	if t.away++; t.away > mostAway {
		t.c.Done["terms given up because of the store"]++
		t.lost()
	}
}

// put commits the first saves but those that can never be stored.
func (t *term) put(n int) error {
	ops := make([]state.Op, 0, n)
	for _, s := range t.saves[:n] {
		if !t.poison[s.Seq] {
			ops = append(ops, s.Op)
		}
	}
	return t.write(ops)
}

// write commits, and takes note of what the store has then.
func (t *term) write(ops []state.Op) error {
	if s := t.c.script; s != nil {
		return s.write(t, ops)
	}
	err := t.store.Commit(context.Background(), ops)
	if errors.Is(err, store.ErrFenced) {
		t.c.Done["fenced"]++
	}
	for _, op := range ops {
		if r, ok := op.Record.(state.Application); ok && err == nil && op.Kind == state.OpRemove {
			if a := t.c.apps[r.ID]; a != nil && a.endRefused { // rather than that a restart runs it again
				a.removed = true
			}
		}
	}
	if err == nil && t.c.owner != t && len(ops) > 0 {
		t.c.fail("the store took what the ResourceManager of epoch %d wrote after that of epoch %d had taken it over", t.epoch, t.c.owner.epoch)
	}
	return err
}

// lastCommit stores, of what waits when the process dies, as much as may have been on its way: at once, or later.
func (t *term) lastCommit() {
	c := t.c
	n := t.batch
	if n == 0 {
		n = c.rng.IntN(len(t.saves) + 1)
	}
	if n == 0 || t.d.cutStore > c.Steps || !c.chance(inFlight) {
		return
	}
	if len(c.daemons) > 1 && c.chance(inFlight) {
		c.late(func() {
			c.Done["last commits that came late"]++
			if c.owner != t {
				c.Done["last commits that came after another took over"]++
			}
			_ = t.put(n)
		})
		return
	}
	c.Done["last commits that were made"]++
	if err := t.put(n); err != nil && !errors.Is(err, store.ErrFenced) {
		c.fail("the last commit failed: %v", err)
	}
}

// lost ends the term because of its store. Alone the process ends, with others it becomes a standby.
func (t *term) lost() {
	if len(t.c.daemons) == 1 {
		t.d.crash()
		return
	}
	t.end()
	t.d.yield()
}

// end ends the leadership: whoever waits is told to look elsewhere.
func (t *term) end() {
	t.c.Done["terms ended"]++
	t.over, t.d.term = true, nil
	t.recorded()
	t.hangUp()
}

// hangUp tells whoever waits that there will be no answer.
func (t *term) hangUp() {
	for _, x := range slices.Sorted(maps.Keys(t.waiting)) {
		if q := t.waiting[x]; q.closed != nil {
			q.closed()
		}
	}
}

// recorded hands over the recording of the term.
func (t *term) recorded() {
	digest := t.engine.Digest
	if t.box != nil {
		t.box.Add(t.now(), blackbox.Digest{})
		t.c.opt.Recorded(t.box.Snapshot(blackbox.End{At: t.now().Wall, Looked: true, State: digest()}))
	}
	t.c.mix(digest())
}

// String names the term.
func (t *term) String() string {
	return fmt.Sprintf("ResourceManager %d in epoch %d", t.d.index, t.epoch)
}
