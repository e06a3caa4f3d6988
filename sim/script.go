package sim

import (
	"context"
	"errors"
	"reflect"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/store"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// script is what users do in a run in which nothing goes wrong but this: the ResourceManager dies before or after some of its commits, each of
// which has one change. It goes on with what is in a store of any kind, and a store in memory tells what that must be.
type script struct {
	real    func() store.Store // opens the store
	dies    func(int) death    // at the commits, which count from 1
	commits int

	began int64
	next  int // of acts
	asked bool

	refused *engine.Error // the last refusal
}

// death is when the process dies at a commit.
type death int

const (
	never  death = iota
	before       // nothing is stored
	after        // it is stored, and nobody knows
)

// both is the store under test and the one in memory.
type both struct {
	store.Store
	memory store.Store
}

func (s *script) open(memory store.Store) store.Store { return &both{s.real(), memory} }

// Load implements store.Store.
func (b *both) Load(ctx context.Context) (*state.Snapshot, error) {
	got, err := b.Store.Load(ctx)
	if err != nil {
		return nil, err
	}
	want, err := b.memory.Load(ctx)
	if err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(got, want) {
		return nil, errors.New("the store does not have what was stored, all of it and nothing else")
	}
	return got, nil
}

// errDied is what a commit comes to whose process has died.
var errDied = errors.New("the process has died")

// write commits, and dies where it is to die.
func (s *script) write(t *term, ops []state.Op) error {
	s.commits++
	b := t.store.(*both)
	dies := s.dies(s.commits)
	if dies != before {
		if err := b.Store.Commit(context.Background(), ops); err != nil {
			return err
		}
		if err := b.memory.Commit(context.Background(), ops); err != nil {
			return err
		}
	}
	if dies != never {
		if err := b.Close(); err != nil { // as the end of a process does, it gives up its locks
			return err
		}
		t.d.crash()
		return errDied
	}
	return nil
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
	return 200
}
