package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/elect"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
)

// The replicated state store and the election by Raft. One replica.Member serves both; it runs as long as the process, active or standby.

const (
	raftPath   = "yarn.resourcemanager.heddle.raft.path"
	raftSecret = "yarn.resourcemanager.heddle.raft.secret-file"

	raftWitnesses = "yarn.resourcemanager.heddle.raft.witnesses"
)

// errTogether refuses offline changes of the replicated store.
var errTogether = errors.New("the state store is replicated by several ResourceManagers (yarn.resourcemanager.store.class is heddle.raft) and can only be changed while they run. " +
	"To remove an application, kill it. To begin with an empty store, stop all of them and run -format-state-store on each")

// candidate holds the election's candidate, if there is one.
type candidate struct {
	is atomic.Pointer[elect.Candidate]
}

// Load returns nil if there is none.
func (c *candidate) Load() elect.Candidate {
	if p := c.is.Load(); p != nil {
		return *p
	}
	return nil
}

// Store sets it.
func (c *candidate) Store(to elect.Candidate) { c.is.Store(&to) }

// raftPatience is for how long a ResourceManager that is made active by force waits until it leads.
func raftPatience(s *conf.ResourceManager) time.Duration { return 3*s.HA.Raft.Timeout + 2*time.Second }

// memberConfig configures this ResourceManager's member.
func memberConfig(s *conf.ResourceManager) replica.Config {
	h := &s.HA
	c := replica.Config{Dir: h.Raft.Path, Cluster: h.ClusterID, Name: h.ID, Members: map[string]string{}, Listen: h.Raft.Listen.String(),
		Timeout: h.Raft.Timeout / 2, // the failure of a leader is noticed after one to two of them
		Witness: h.Raft.Witness, Buckets: append(raft.Buckets(), confstore.ReplicaBuckets()...), Clock: elect.Clock,
		Intact: func(bucket string, value []byte) error {
			if confstore.IsReplicaBucket(bucket) {
				return nil
			}
			return raft.Intact(bucket, value)
		}}
	for _, p := range h.Raft.Peers {
		c.Members[p.ID] = p.Address.String()
	}
	return c
}

// openMember starts this ResourceManager's member, if the store is replicated.
func (d *Daemon) openMember() error {
	if !d.settings.HA.Raft.Enabled {
		return nil
	}
	c := memberConfig(d.settings)
	c.Log = d.Log.With("logger", "raft")
	var err error
	if c.Secret, err = replica.ReadSecret(d.settings.HA.Raft.Secret); err != nil {
		return fmt.Errorf("cannot read the secret of the ResourceManagers (%s): %w", raftSecret, err)
	}
	d.warnOfTemporary("this ResourceManager's copy of the state store", c.Dir, "it would have to be made anew from the others', and if that happens to most of them every application is lost",
		"set "+raftPath+" to a directory on a disk that stays, and while the ResourceManager is down move the files there")
	if d.member, err = replica.Open(c); err != nil {
		return fmt.Errorf("cannot open this ResourceManager's copy of the replicated state store (%s): %w", raftPath, err)
	}
	d.work.Go(d.watchMember)
	return nil
}

// watchMember ends the process if the member fails: after a failed write it is unknown what is on the disk.
func (d *Daemon) watchMember() {
	for {
		s, changed := d.member.Standing()
		if s.Broken != nil {
			d.fail(fmt.Errorf("this ResourceManager's copy of the state store cannot be used any more (%s): %w", raftPath, s.Broken))
			return
		}
		select {
		case <-changed:
		case <-d.ctx.Done():
			return
		}
	}
}

func (d *Daemon) closeMember() {
	if d.member == nil {
		return
	}
	if err := d.member.Close(); err != nil {
		d.Log.Warn("cannot close this ResourceManager's copy of the state store", "error", err)
	}
}

// isWitness tells whether this ResourceManager votes and is never active.
func (d *Daemon) isWitness() bool {
	return slices.Contains(d.settings.HA.Raft.Witness, d.settings.HA.ID)
}

// electByRaft makes the leader of the store the active ResourceManager.
func (d *Daemon) electByRaft() {
	known := make(chan struct{})
	d.elector.Store(elect.StartRaft(elect.RaftConfig{Member: d.member, ID: d.settings.HA.ID, Log: d.Log.With("logger", "elect"), Clock: elect.Clock,
		Lead: func(ctx context.Context) error {
			<-known // what is lost from now on is told to the candidate
			return d.takeOver(ctx, "it was elected", true)
		},
		StepDown: d.giveWay,
	}))
	close(known)
}

// replicatedConf keeps the queues' configuration in the replicated store, with the fencing of the state store.
func (t *term) replicatedConf() confstore.Store {
	return confstore.OpenReplica(t.member, raft.Owned(t.replicated.Owner()))
}
