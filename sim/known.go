package sim

import (
	"fmt"
	"maps"
	"slices"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store/record"
	"github.com/heddle-project/heddle/yarn"
)

// known is what the simulation has seen of a term, to hold it against what must be.
type known struct {
	live      map[yarn.ContainerID]yarn.NodeID
	came      map[yarn.ContainerID]bool // granted by the term, or taken over from an earlier one
	reported  map[yarn.ContainerID]bool // by nodes that registered
	attempts  map[yarn.AttemptID]string // their states
	apps      map[yarn.ApplicationID]string
	nodes     map[yarn.NodeID]string
	counted   map[yarn.NodeID]int32      // the number of the last answer to a node's heartbeats, unless it has registered since
	undrained uint64                     // the latest save that took back an order to drain
	heard     map[yarn.NodeID]int64      // when each node called last
	overdue   map[yarn.NodeID]int64      // since when each draining node is known to be past its deadline
	noticed   map[yarn.ContainerID]int64 // when each container got notice of preemption
	sizes     map[yarn.NodeID]sized      // of each node that has not left, as last set
	again     uint64                     // the state with which another ResourceManager would begin
}

func newKnown() known {
	return known{live: map[yarn.ContainerID]yarn.NodeID{}, came: map[yarn.ContainerID]bool{}, reported: map[yarn.ContainerID]bool{},
		attempts: map[yarn.AttemptID]string{}, apps: map[yarn.ApplicationID]string{}, nodes: map[yarn.NodeID]string{}, counted: map[yarn.NodeID]int32{}, heard: map[yarn.NodeID]int64{}, overdue: map[yarn.NodeID]int64{}, noticed: map[yarn.ContainerID]int64{}, sizes: map[yarn.NodeID]sized{}}
}

// choice is a value of an application that its user may change: the one in force, and after it those that are being stored, of which a
// crash may leave any in force.
type choice struct {
	values []any
	seqs   []uint64 // the saves of those after the first
}

// choices are an application's queue, priority and deadline.
type choices [3]choice

func choicesIn(r state.Application) [3]any {
	expire := int64(0)
	for _, t := range r.Timeouts {
		expire = t.ExpireAt
	}
	return [3]any{r.Queue, r.Priority, expire}
}

// begin enters what is in force.
func (x *choices) begin(r state.Application) {
	for i, v := range choicesIn(r) {
		x[i] = choice{values: []any{v}}
	}
}

// chosen is which of them a command changes; -1: none.
func chosen(cmd engine.Command) int {
	switch cmd.(type) {
	case engine.Move:
		return 0
	case engine.SetPriority:
		return 1
	case engine.SetLifetime:
		return 2
	}
	return -1
}

// propose enters a value that is being stored.
func (x *choice) propose(v any, seq uint64) {
	x.values, x.seqs = append(x.values, v), append(x.seqs, seq)
}

// settle ends that: the value is in force, or is not.
func (x *choice) settle(seq uint64, holds bool) {
	i := slices.Index(x.seqs, seq)
	if i < 0 {
		return
	}
	if holds {
		x.values, x.seqs = x.values[i+1:], x.seqs[i+1:]
		return
	}
	x.values, x.seqs = slices.Delete(x.values, i+1, i+2), slices.Delete(x.seqs, i, i+1)
}

// watch follows what a command has led to, and holds it against what must be.
func (t *term) watch(cmd engine.Command, fx *engine.Effects) {
	c := t.c
	for _, x := range fx.Transitions {
		t.nodes[x.Node] = x.To
	}
	if cmd, ok := cmd.(engine.RegisterNode); ok {
		delete(t.counted, cmd.Node)
	}
	t.resized(cmd, fx)
	t.notices(fx)
	t.reservationsEnd(fx)
	for _, e := range fx.Containers {
		t.container(e)
		t.preempted(e, fx)
	}
	for _, x := range fx.Transitions {
		if x.Node != (yarn.NodeID{}) {
			c.Done["node "+x.From+" to "+x.To]++
		}
		if _, tick := cmd.(engine.Tick); tick && x.From == yarn.NodeDecommissioning.String() && x.To == yarn.NodeDecommissioned.String() {
			c.Done["nodes that left at their deadline"]++
		}
		switch {
		case !x.Attempt.IsZero():
			t.attempts[x.Attempt] = x.To
		case !x.Application.IsZero():
			t.apps[x.Application] = x.To
		case x.To == yarn.NodeLost.String() && c.now.Mono-t.heard[x.Node] < nodeExpiry:
			c.fail("%s: node %s was declared lost %d ms after it had called", t, x.Node, c.now.Mono-t.heard[x.Node])
		}
	}
	for _, id := range fx.Discarded {
		delete(t.apps, id)
	}
	for _, id := range fx.Summaries {
		if r, found := c.application(id); found && r.Final == yarn.AppNew {
			c.fail("%s: application %s is shown as ended, and is stored as running", t, id)
		}
		if a := c.apps[id]; a != nil {
			a.ended = true
		}
	}
	for _, r := range fx.Replies {
		switch v := r.Value.(type) {
		case *engine.HeartbeatReply:
			if cmd, ok := cmd.(*engine.Heartbeat); ok {
				t.counts(cmd, v, fx)
			}
		case engine.RegisterNodeReply:
			if cmd, ok := cmd.(engine.RegisterNode); ok && v.Action == engine.NodeNormal {
				t.heard[cmd.Node] = c.now.Mono
				t.registered(cmd)
			}
		}
	}
}

// counts sees that no node is found to have lost count of its calls that has not.
func (t *term) counts(cmd *engine.Heartbeat, v *engine.HeartbeatReply, fx *engine.Effects) {
	if v.Action == engine.NodeNormal {
		t.heard[cmd.Node] = t.c.now.Mono
		if !v.Duplicate {
			t.counted[cmd.Node] = v.ResponseID
		}
		return
	}
	last, known := t.counted[cmd.Node]
	t.c.Done["nodes that have lost count"]++
	if !known || cmd.ResponseID != last && cmd.ResponseID != last-1 {
		return
	}
	if slices.ContainsFunc(fx.Transitions, func(x engine.Transition) bool { return x.Node == cmd.Node && x.To == yarn.NodeRebooted.String() }) {
		t.c.fail("%s: node %s called in turn, and has lost count: %d comes after %d", t, cmd.Node, cmd.ResponseID, last)
	}
}

// container follows which containers there are.
func (t *term) container(e engine.ContainerEvent) {
	c := t.c
	if !e.Born {
		if _, ok := t.live[e.Container]; !ok {
			c.fail("%s: container %s ended twice or was never born", t, e.Container)
		}
		delete(t.live, e.Container)
		return
	}
	before, known := c.born[e.Container]
	switch {
	case t.came[e.Container]:
		c.fail("%s: container %s was granted or taken over twice", t, e.Container)
	case known && e.Container.Number>>yarn.EpochShift >= t.epoch:
		c.fail("%s: container %s was granted, as it was in epoch %d", t, e.Container, before.epoch)
	case known && before.node != e.Node:
		c.fail("%s: container %s is on %s, and was on %s", t, e.Container, e.Node, before.node)
	case !known:
		c.born[e.Container] = birth{t.epoch, e.Node, e.Resource}
		c.Granted++
		t.granted(e)
	}
	t.came[e.Container], t.live[e.Container] = true, e.Node
}

// birth is where a container began.
type birth struct {
	epoch int64
	node  yarn.NodeID
	size  yarn.Resource
}

// registered sees that what runs on a node goes on after another term has begun, if its master does.
func (t *term) registered(cmd engine.RegisterNode) {
	if !cmd.Health.Healthy {
		return
	}
	for _, r := range cmd.Containers {
		s, goesOn := t.attempts[r.ID.Attempt], false
		switch s {
		case yarn.AttemptLaunched.String(), yarn.AttemptRunning.String():
			a := t.apps[r.ID.Attempt.Application]
			goesOn = a == yarn.AppAccepted.String() || a == yarn.AppRunning.String()
		}
		if goesOn && !r.Complete && r.ID.Number>>yarn.EpochShift < t.epoch && !t.reported[r.ID] {
			t.c.Done["container of an earlier term reported"]++
		}
		if goesOn && !r.Complete && !t.reported[r.ID] && !t.came[r.ID] && r.ID.Number>>yarn.EpochShift < t.epoch {
			t.c.fail("%s: container %s on %s does not go on, and its master does", t, r.ID, cmd.Node)
		}
		t.reported[r.ID] = true
	}
}

// take enters what is to be stored.
func (t *term) take(p posted, saves []engine.Save) {
	c := t.c
	for _, s := range saves {
		if !stands(p.cmd, s.Op) && c.chance(poisoned) {
			t.poison[s.Seq] = true
			if r, ok := s.Op.Record.(state.Application); ok && r.Final != yarn.AppNew && c.apps[r.ID] != nil {
				c.apps[r.ID].endRefused = true
			}
		}
	}
	for _, s := range saves {
		t.reserves(p.cmd, s)
	}
	t.saves = append(t.saves, saves...)
	if c.script != nil {
		c.script.note(p.cmd, saves)
	}
	if len(saves) == 0 {
		return
	}
	if undrain, ok := p.cmd.(engine.UndrainNodes); ok {
		t.takenBack(undrain, saves[0].Seq)
	}
	if q := t.waiting[p.ticket]; q != nil {
		q.first, q.last = saves[0].Seq, saves[len(saves)-1].Seq
	}
	r, ok := saves[0].Op.Record.(state.Application)
	if a := c.apps[r.ID]; ok && a != nil && c.owner == t { // others store nothing any more
		if _, submitted := p.cmd.(engine.Submit); submitted {
			a.choices.begin(r)
		} else if i := chosen(p.cmd); i >= 0 {
			a.choices[i].propose(choicesIn(r)[i], saves[0].Seq)
		}
	}
	for _, s := range saves {
		t.moved(s)
	}
}

// stands tells whether the store takes the record in any case: it removes one, or is as an earlier one that was stored, because a change
// was refused; that of an end then has text that can be left out.
func stands(cmd engine.Command, op state.Op) bool {
	_, confirmed := cmd.(engine.Stored)
	r, app := op.Record.(state.Application)
	return op.Kind == state.OpRemove || confirmed && app && (r.Final == yarn.AppNew || r.Diagnostics == "")
}

// durable tells whether an answer without an error to the command means that what it led to is stored.
func durable(cmd engine.Command) bool {
	switch cmd.(type) {
	case engine.Submit, engine.Move, engine.SetPriority, engine.SetLifetime, engine.AddLabels, engine.RemoveLabels, engine.ReplaceLabels,
		engine.DrainNodes, engine.UndrainNodes, engine.Remember, engine.SubmitReservation, engine.UpdateReservation, engine.DeleteReservation:
		return true
	}
	return false
}

// acknowledged holds an answer against what is stored, and who may give it.
func (t *term) acknowledged(q *question, value any, err *engine.Error) {
	c := t.c
	if c.owner != t {
		c.fail("%s answered a %T after epoch %d had begun", t, q.cmd, c.owner.epoch)
	}
	t.settle(q, err)
	t.reservationAnswered(q, err)
	if err != nil {
		x, ok := q.cmd.(*engine.Allocate)
		if ok && err.Kind == engine.InvalidMaster {
			if m := c.masters[x.Attempt]; m.registered && m.epoch == t.epoch && m.responseID == x.ResponseID {
				c.fail("%s refused what the master of %s asked again: %v", t, x.Attempt, err)
			}
		}
		return
	}
	if durable(q.cmd) && q.last > 0 {
		c.Done[fmt.Sprintf("acknowledged as stored %T", q.cmd)]++
		for seq := q.first; seq <= q.last; seq++ {
			if seq > t.stored || t.poison[seq] {
				c.fail("%s: a %T was acknowledged, and is not stored", t, q.cmd)
			}
		}
	}
	switch cmd := q.cmd.(type) {
	case engine.RegisterMaster:
		c.masters[cmd.Attempt].welcomed = t.epoch
	case engine.Submit:
		if _, found := c.application(cmd.Application.ID); !found && !c.apps[cmd.Application.ID].ended && !c.apps[cmd.Application.ID].removed {
			c.fail("%s: application %s was acknowledged, and is not stored", t, cmd.Application.ID)
		}
	case engine.Kill:
		if r, found := c.application(cmd.Application); found && value.(engine.KillReply).Completed && r.Final != yarn.AppNew {
			c.Done["kills acknowledged"]++
		}
		if r, found := c.application(cmd.Application); found && value.(engine.KillReply).Completed && r.Final == yarn.AppNew {
			c.fail("%s: application %s was killed, and is stored as running", t, cmd.Application)
		}
	case engine.FinishMaster:
		if value.(engine.FinishReply).Unregistered {
			c.Done["ends acknowledged"]++
		}
		if r, found := c.application(cmd.Attempt.Application); found && value.(engine.FinishReply).Unregistered && r.Final == yarn.AppNew {
			c.fail("%s: application %s has finished, and is stored as running", t, cmd.Attempt.Application)
		}
	case engine.DrainNodes:
		t.ordered(cmd, q.first)
	case engine.RefreshQueues:
		if p := c.proposed[cmd.Config]; p != nil {
			c.queues = p
		}
	}
}

// settle enters that a change of an application holds, or does not.
func (t *term) settle(q *question, err *engine.Error) {
	i := chosen(q.cmd)
	if i < 0 || q.first == 0 {
		return
	}
	var id yarn.ApplicationID
	switch cmd := q.cmd.(type) {
	case engine.Move:
		id = cmd.Application
	case engine.SetPriority:
		id = cmd.Application
	case engine.SetLifetime:
		id = cmd.Application
	}
	t.c.apps[id].choices[i].settle(q.first, err == nil)
}

// application is what is stored of an application.
func (c *Cluster) application(id yarn.ApplicationID) (r state.Application, found bool) {
	key := state.Application{ID: id}.Key()
	value := c.disk.Value(key)
	if value == nil {
		return r, false
	}
	x, err := record.Codec{Types: yarn.BasicResourceTypes()}.Decode(key, value)
	if err != nil {
		c.fail("%s is stored, and cannot be read: %v", key, err)
		return r, false
	}
	return x.(state.Application), true
}

// recover hands what was stored to the engine. Before that it looks for what was acknowledged and is lost.
func (t *term) recover(s *state.Snapshot) {
	c := t.c
	cmd := engine.Recover{Labels: s.Labels, Drains: s.NodeDeadlines, Reservations: s.Reservations}
	if len(s.Quarantined) > 0 {
		c.fail("%s: %s cannot be read: %s", t, s.Quarantined[0].Key, s.Quarantined[0].Reason)
	}
	attempts := map[yarn.ApplicationID][]state.Attempt{}
	for _, r := range s.Attempts {
		attempts[r.ID.Application] = append(attempts[r.ID.Application], r)
	}
	found := map[yarn.ApplicationID]bool{}
	for _, r := range s.Applications {
		found[r.ID] = true
		a := c.apps[r.ID]
		if a.ended && r.Final == yarn.AppNew {
			c.fail("%s: application %s had ended and would run again", t, r.ID)
		}
		a.ended = r.Final != yarn.AppNew
		for i, v := range choicesIn(*r) {
			if !slices.Contains(a.choices[i].values, v) {
				c.fail("%s: application %s has %v, acknowledged or being stored was one of %v", t, r.ID, v, a.choices[i].values)
			}
		}
		for i := range a.choices {
			if len(a.choices[i].values) > 1 {
				c.Done["recovered: a change was under way"]++
			}
		}
		c.Done["recovered: "+map[bool]string{true: "runs", false: "ended"}[r.Final == yarn.AppNew]]++
		a.choices.begin(*r)
		sub := copied(a.submission)
		cmd.Applications = append(cmd.Applications, engine.RecoveredApplication{Submission: &sub, Record: r, Attempts: attempts[r.ID]})
	}
	for _, id := range c.ids {
		a := c.apps[id]
		a.ended = a.ended || a.removed && !found[id]
		a.endRefused, a.removed = false, false // this ResourceManager has to try the end itself before it may remove anything
		if a.submitted {
			c.Done["recovered: acknowledged"]++
		}
		if a.submitted && !found[id] && !a.ended {
			c.fail("%s: application %s was acknowledged and is lost", t, id)
		}
	}
	c.Done["recovered: orders"] += len(s.NodeDeadlines)
	c.Done["recovered: labels"] += len(s.Labels.Known)
	c.Done["recovered: labelled nodes"] += len(s.Labels.Nodes)
	c.Done["recovered: tokens"] += len(c.tokens)
	if c.quiet {
		c.Done["recoveries while quiet"]++
	}
	for _, n := range c.tokens {
		if !slices.ContainsFunc(s.DelegationTokens, func(x state.DelegationToken) bool { return x.Sequence == n }) || s.DelegationSequence < n {
			c.fail("%s: delegation token %d was given away and is lost", t, n)
		}
	}
	for _, x := range s.DelegationTokens {
		if c.cancelled[x.Sequence] {
			c.fail("%s: delegation token %d was cancelled and is there again", t, x.Sequence)
		}
	}
	t.recoverReservations(s)
	t.token = s.DelegationSequence
	t.twice(s, cmd)
	t.post(posted{cmd: cmd})
	t.recovered(s)
}

// twice recovers a second ResourceManager from the same snapshot, in one term of three, for recovered to compare: equal records must lead to equal states.
// The second one gets the applications in parts.
func (t *term) twice(s *state.Snapshot, cmd engine.Recover) {
	if t.c.script != nil || t.c.Terms%3 != 0 {
		return
	}
	other := &term{c: t.c, d: t.d, epoch: t.epoch}
	if err := other.build(s.Started(t.now().Wall)); err != nil {
		t.c.fail("%v", err)
		return
	}
	apps := slices.Clone(cmd.Applications)
	for i := range apps {
		sub := copied(*apps[i].Submission)
		apps[i].Submission = &sub
	}
	cmd.Applications, cmd.Coming = nil, len(apps)
	var fx engine.Effects
	other.engine.Apply(t.now(), cmd, &fx)
	for part := range slices.Chunk(apps, 1+len(apps)/3) {
		other.engine.Apply(t.now(), engine.RecoverApplications{Applications: part, All: len(apps)}, &fx)
	}
	other.engine.Apply(t.now(), engine.RecoverApplications{All: len(apps), Last: true}, &fx)
	t.again = other.engine.Digest()
}

// recovered compares the state after recovery with the records that it was recovered from.
func (t *term) recovered(s *state.Snapshot) {
	c := t.c
	if t.over || c.script != nil {
		return
	}
	if t.again != 0 && t.again != t.engine.Digest() {
		c.fail("%s: what is stored leads to different states", t)
	}
	t.engine.Publish(t.now(), t.reader)
	stored := map[yarn.NodeID]string{}
	for _, n := range s.Labels.Nodes {
		stored[n.Node] = n.Label
	}
	known, given := map[string]bool{}, map[yarn.NodeID]string{}
	if l := t.reader.labels; l != nil {
		for _, x := range l.Known {
			known[x.Name] = x.Exclusive
		}
		for _, n := range l.Nodes {
			given[n.Node] = n.Label
		}
	}
	if len(known) != len(s.Labels.Known) || !maps.Equal(stored, given) {
		c.fail("%s: labels %v of nodes %v are stored, and there are %v of %v", t, s.Labels.Known, stored, known, given)
	}
	for _, x := range s.Labels.Known {
		if exclusive, there := known[x.Name]; !there || exclusive != x.Exclusive {
			c.fail("%s: label %v is stored, and there are %v", t, x, known)
		}
	}
}

// fail keeps the first thing that went wrong.
func (c *Cluster) fail(format string, args ...any) {
	if c.wrong == "" {
		c.wrong = fmt.Sprintf(format, args...)
	}
}
