package resourcemanager

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/replica"
	"github.com/heddle-project/heddle/resourcemanager/confstore"
	"github.com/heddle-project/heddle/resourcemanager/elect"
	"github.com/heddle-project/heddle/resourcemanager/store/raft"
)

// The state store that the ResourceManagers keep together, and their election of one of them. Both are of one replica.Member, which lasts as long as the
// process, standby or not.

const (
	raftPath   = "yarn.resourcemanager.heddle.raft.path"
	raftSecret = "yarn.resourcemanager.heddle.raft.secret-file"
)

// errTogether refuses what a single ResourceManager cannot do to that store.
var errTogether = errors.New("the state store is kept by several ResourceManagers together (yarn.resourcemanager.store.class is heddle.raft), and only they can change it. " +
	"To remove an application, kill it while they run. To begin with an empty store, stop all of them and run -format-state-store on each")

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

// memberConfig says what this one's part of the store is.
func memberConfig(s *conf.ResourceManager) replica.Config {
	h := &s.HA
	c := replica.Config{Dir: h.Raft.Path, Cluster: h.ClusterID, Name: h.ID, Members: map[string]string{}, Listen: h.Raft.Listen.String(),
		Timeout: h.Raft.Timeout / 2, // elections take up to twice as long as it takes to find that the leader is gone
		Buckets: append(raft.Buckets(), confstore.ReplicaBuckets()...), Clock: elect.Clock,
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

// openMember begins to keep the store, where it is configured.
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
		return fmt.Errorf("cannot keep the state store together with the other ResourceManagers (%s): %w", raftPath, err)
	}
	d.work.Go(d.watchMember)
	return nil
}

// watchMember ends the process if its part cannot go on: after a failed write nothing tells what the disk has.
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

// electByRaft has the leader of the store be active.
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

// replicatedConf keeps the configuration of the queues together with the state store, and under the same fence.
func (t *term) replicatedConf() confstore.Store {
	return confstore.OpenReplica(t.member, raft.Owned(t.replicated.Owner()))
}
