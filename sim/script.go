package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// script is what users do in a run in which nothing goes wrong but this: the ResourceManager dies at some of the writes to its store. It goes on
// with what is in a store of any kind, and a store in memory tells what that must be.
type script struct {
	disk    disk
	writes  *writes // to the disk
	batches bool    // a commit has all changes that wait, not one

	epoch   int64                   // of the last start; -1 before the first
	under   []state.Op              // the batch that was being committed when the process died: it is there, or it is not
	changes map[uint64]string       // what each save is, by sequence number
	seen    map[yarn.AttemptID]bool // attempts that were stored

	began int64
	next  int // of acts
	asked bool

	refused *engine.Error // the last refusal
}

// disk is what a store of some kind writes to. Each write asks writes first.
type disk interface {
	open() store.Store // by a process that has just started
}

// writes counts the writes of a load or a commit, and has the process die at one of them: nothing is written any more until the next start.
type writes struct {
	dies func(what string, n int) bool // tells whether it dies before the n-th write, from 1; the last one is the answer of the store
	what string                        // "load", or what is committed
	n    int
	dead bool

	acknowledged bool // the batch that was being committed when the process seemed to die; whoever loads next has to find it
}

func (w *writes) begin(what string) { w.what, w.n = what, 0 }

// write is asked before each write, and once after the last.
func (w *writes) write() error {
	w.n++
	if w.dead = w.dead || w.dies(w.what, w.n); w.dead {
		return errDied
	}
	return nil
}

// errDied is what a write comes to whose process has died.
var errDied = errors.New("the process has died")

// both is the store under test and the one in memory.
type both struct {
	store.Store
	s      *script
	c      *Cluster
	memory store.Store
}

func (s *script) open(c *Cluster) store.Store {
	s.writes.dead = false
	return &both{s.disk.open(), s, c, c.disk.Open(store.Options{})}
}

// died tells whether the process has died while it was writing.
func (s *script) died() bool { return s != nil && s.writes.dead }

// Load implements store.Store.
func (b *both) Load(ctx context.Context) (*state.Snapshot, error) {
	b.s.writes.begin("load")
	got, err := b.Store.Load(ctx)
	if err == nil {
		err = b.s.writes.write()
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if got.Epoch <= b.s.epoch {
		return nil, fmt.Errorf("epoch %d comes after epoch %d", got.Epoch, b.s.epoch)
	}
	b.s.epoch = got.Epoch
	if b.s.writes.acknowledged { // while it went on
		b.s.writes.acknowledged = false
		if err := b.there(ctx); err != nil {
			return nil, err
		}
	}
	if same, err := b.holds(ctx, got); err != nil || same {
		b.s.under = nil
		return got, err
	}
	if b.s.under != nil { // all of it was stored, then
		if err := b.there(ctx); err != nil {
			return nil, err
		}
		if same, err := b.holds(ctx, got); err != nil || same {
			return got, err
		}
	}
	return nil, errors.New("the store does not have what was stored, all of it and nothing else")
}

// there brings the store in memory up to date when the batch that was being committed turns out to be stored.
func (b *both) there(ctx context.Context) error {
	b.memory = b.c.disk.Open(store.Options{})
	if _, err := b.memory.Load(ctx); err != nil {
		return err
	}
	err := b.memory.Commit(ctx, b.s.under)
	b.s.under, b.memory = nil, b.c.disk.Open(store.Options{})
	return err
}

// holds tells whether the store in memory, which it loads, has the same.
func (b *both) holds(ctx context.Context, got *state.Snapshot) (bool, error) {
	want, err := b.memory.Load(ctx)
	if err != nil {
		return false, err
	}
	want.Epoch = got.Epoch
	return reflect.DeepEqual(got, want), nil
}

// write commits, and dies where it is to die.
func (s *script) write(t *term, ops []state.Op) error {
	b := t.store.(*both)
	var what []string
	for _, x := range t.saves[:len(ops)] {
		what = append(what, s.changes[x.Seq])
	}
	s.writes.begin(strings.Join(what, ", "))
	err := b.Store.Commit(context.Background(), ops)
	if errors.As(err, new(*store.UnavailableError)) && !s.writes.dead { // somebody came in between; the ResourceManager tries again
		err = b.Store.Commit(context.Background(), ops)
	}
	if err == nil {
		err = b.memory.Commit(context.Background(), ops)
	} else {
		s.under = ops
	}
	if err == nil {
		err = s.writes.write()
	}
	if s.writes.dead {
		if closing := b.Close(); closing != nil { // as the end of a process does, it gives up its locks
			return closing
		}
		t.d.crash()
		return errDied
	}
	return err
}

// note names what a command has stored.
func (s *script) note(cmd engine.Command, saves []engine.Save) {
	for _, x := range saves {
		s.changes[x.Seq] = s.name(cmd, x.Op.Record) + " of " + x.Op.Record.Key().Name
	}
}

// name is what a change is to users.
func (s *script) name(cmd engine.Command, r state.Record) string {
	switch cmd.(type) {
	case engine.Submit:
		return "submit"
	case engine.Move:
		return "move"
	case engine.SetPriority:
		return "priority"
	case engine.SetLifetime:
		return "lifetime"
	}
	switch r := r.(type) {
	case state.Application:
		switch r.Final {
		case yarn.AppNew:
			return "start"
		case yarn.AppKilled:
			return "kill"
		}
		return "finish"
	case state.Attempt:
		if !s.seen[r.ID] {
			s.seen[r.ID] = true
			return "launch"
		}
		return "attempt's end"
	case state.ConfigVersion:
		return "configuration"
	case state.Labels:
		return "label"
	case state.NodeDeadline:
		return "drain deadline"
	case state.Reservation:
		return "reservation"
	}
	return "token" // and keys
}

// act is something that a user asks for until it is acknowledged.
type act func(c *Cluster, t engine.Ticket) engine.Command

// acts are done one after the other, once all applications run.
func acts(c *Cluster) []act {
	moved, killed, away := c.ids[0], c.ids[1], c.nodes[len(c.nodes)-1].id
	wall := c.script.began
	return []act{
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.Move{Ticket: t, Application: moved, Queue: "b"}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.SetPriority{Ticket: t, Application: moved, Priority: 4}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.SetLifetime{Ticket: t, Application: moved, ExpireAt: wall + 3_600_000}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.Remember{Ticket: t, Ops: []state.Op{state.Put(state.DelegationKey{ID: 1, ExpireAt: wall, Bytes: []byte("key")}),
				state.Put(state.MasterKeys{Current: state.MasterKey{ID: 2, Bytes: []byte("secret")}})}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.Remember{Ticket: t, Ops: []state.Op{state.Put(state.DelegationToken{Sequence: 1, Identifier: []byte("token"), RenewBy: wall}), state.Put(state.DelegationSequence{Last: 1})}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command { // a batch that removes something, and a file with the old number
			return engine.Remember{Ticket: t, Ops: []state.Op{state.Remove(state.DelegationToken{Sequence: 1}), state.Put(state.DelegationToken{Sequence: 2, Identifier: []byte("another token"), RenewBy: wall}),
				state.Put(state.DelegationSequence{Last: 2})}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.Remember{Ticket: t, Ops: []state.Op{state.Put(state.ConfigVersion{Version: 1, Blob: []byte("<configuration/>"), ChangedAt: wall, ChangedBy: "root"})}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.AddLabels{Ticket: t, Labels: []scheduler.Label{{Name: "x", Exclusive: true}}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.ReplaceLabels{Ticket: t, Nodes: []view.NodeLabels{{Node: away, Labels: []string{"x"}}}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.DrainNodes{Ticket: t, Nodes: []yarn.NodeID{away}, Deadline: wall + 3_600_000, User: "root", Source: "cli"}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.SubmitReservation{Ticket: t, Caller: engine.Caller{User: "ann"}, ID: yarn.ReservationID{ClusterTimestamp: 1, Number: 1}, Queue: "root.plan",
				Definition: &yarn.ReservationDefinition{Arrival: wall + 60_000, Deadline: wall + 3_600_000, Name: "nightly", Recurrence: "0", Interpreter: yarn.AllStages,
					Stages: []yarn.ReservationStage{{Capability: yarn.NewResource(1024, 1), Containers: 2, Concurrency: 1, Duration: 20_000}}}}
		},
		func(_ *Cluster, t engine.Ticket) engine.Command {
			return engine.Kill{Ticket: t, Application: killed, Diagnostics: "killed by its user"}
		},
	}
}

// step asks for the next act, once the one before has been acknowledged.
func (s *script) step(c *Cluster) {
	for _, id := range c.ids {
		if !c.apps[id].submitted {
			return
		}
	}
	if s.asked || len(c.ids) < c.opt.Applications {
		return
	}
	if s.began == 0 {
		s.began = c.now.Wall
	}
	all := acts(c)
	if s.next == len(all) {
		return
	}
	s.asked = true
	do := all[s.next]
	c.user.call(func(t engine.Ticket) engine.Command { return do(c, t) }, func(_ any, err *engine.Error) {
		if s.asked = false; err != nil { // a node has not come back, for instance; it is asked for again
			s.refused = err
			return
		}
		s.next++
	}, func() { s.asked = false })
}

// lasts is how many steps more containers run, so that applications outlast all acts.
func (s *script) lasts() int {
	if s == nil {
		return 0
	}
	return 300
}
