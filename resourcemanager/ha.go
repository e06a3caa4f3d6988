package resourcemanager

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/heddle-project/heddle/conf"
	"github.com/heddle-project/heddle/internal/zookeeper"
	"github.com/heddle-project/heddle/resourcemanager/elect"
	"github.com/heddle-project/heddle/resourcemanager/rpc/admin"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/wire/ipc"
)

// maxTransitions bounds the transitions that administrators wait for.
const maxTransitions = 16

// standbyOf is the answer of a standby to calls.
func standbyOf(id string) *ipc.RemoteError {
	text := "this ResourceManager is not active"
	if id != "" {
		text = fmt.Sprintf("ResourceManager %s is not Active!", id)
	}
	return &ipc.RemoteError{Class: ipc.ClassStandby, Message: text}
}

// haProtocol is what the port of administrators serves, active or not.
func (d *Daemon) haProtocol() ipc.Protocol {
	h := &d.settings.HA
	return admin.HAProtocol(admin.HAConfig{Enabled: h.Enabled, Automatic: h.Automatic, Daemon: d, Go: func(run func()) bool {
		select {
		case d.waiting <- struct{}{}:
		default:
			return false
		}
		d.work.Go(func() {
			defer func() { <-d.waiting }()
			run()
		})
		return true
	}})
}

// Active implements admin.HADaemon.
func (d *Daemon) Active() bool { return d.active() }

// BecomeActive implements admin.HADaemon. Who is active by force has no lease that could run out; the store alone keeps others out.
func (d *Daemon) BecomeActive(why string) error {
	if d.isWitness() {
		return fmt.Errorf("%s is a witness (%s): it votes and is never active", d.settings.HA.ID, raftWitnesses)
	}
	return d.takeOver(d.ctx, why, false)
}

// BecomeStandby implements admin.HADaemon. Where the election decides, another one may win it then.
func (d *Daemon) BecomeStandby(why string) error {
	d.giveWay(why)
	d.yield(why)
	return nil
}

// elect stands for the election, where it decides.
func (d *Daemon) elect() error {
	h, z := &d.settings.HA, &d.settings.ZooKeeper
	if !h.Elects {
		return nil
	}
	if d.member != nil {
		d.electByRaft()
		return nil
	}
	acl, auth, err := zooKeeperAccess(z)
	if err != nil {
		return err
	}
	log, known := d.Log.With("logger", "elect"), make(chan struct{})
	e, err := elect.Start(elect.Config{
		Open: d.openZooKeeper, ACL: acl, Path: strings.TrimSuffix(h.BasePath, "/") + "/" + h.ClusterID, Cluster: h.ClusterID, ID: h.ID, Log: log,
		Options: zookeeper.Options{Address: cmp.Or(z.Elector, z.Address), Session: z.Session, Auth: auth, MaxRequest: z.MaxRequest, Log: func(text string) { log.Debug(text) }},
		Lead: func(ctx context.Context) error {
			<-known // what is lost from now on is told to the elector
			return d.takeOver(ctx, "it was elected", true)
		},
		StepDown: d.giveWay,
	})
	if err != nil {
		return fmt.Errorf("cannot stand for the election (yarn.resourcemanager.zk-address): %w", err)
	}
	d.Log.Info("standing for election; an active ResourceManager that dies is replaced once its session expires", "id", h.ID,
		"zooKeeper", cmp.Or(z.Elector, z.Address), "requestedSession", z.Session)
	d.elector.Store(e)
	close(known)
	return nil
}

// leadsNow tells whether this one may still be active, whatever it does not know yet.
func (d *Daemon) leadsNow() bool {
	e := d.elector.Load()
	return !d.elected.Load() || e == nil || e.Holds()
}

// zooKeeperAccess is what a connection to ZooKeeper and the nodes that it makes are protected with.
func zooKeeperAccess(z *conf.ZooKeeper) (acl []zookeeper.ACL, auth []zookeeper.Auth, err error) {
	if acl, err = accessList("hadoop.zk.acl", z.ACL); err != nil {
		return nil, nil, err
	}
	text, err := zookeeper.Indirect(z.Auth)
	if err == nil {
		auth, err = zookeeper.ParseAuth(text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("cannot authenticate to ZooKeeper (hadoop.zk.auth): %w", err)
	}
	return acl, auth, nil
}

// yield has the election won by another one, if there is one.
func (d *Daemon) yield(why string) {
	if e := d.elector.Load(); e != nil {
		e.Yield(why)
	}
}

// connectionState is what /info tells of the connection to the election's ZooKeeper, in Hadoop's words.
func connectionState(s elect.Status) string {
	switch {
	case s.Connected:
		return "CONNECTED"
	case s.State == elect.Resting:
		return "TERMINATED"
	}
	return "DISCONNECTED"
}

// takeOver is lead with high availability, after which everything holds that a refresh would read.
func (d *Daemon) takeOver(ctx context.Context, why string, elected bool) error {
	if d.active() {
		return d.lead(ctx, elected)
	}
	id := d.settings.HA.ID
	d.Log.Info("this ResourceManager becomes active", "id", id, "why", why)
	if err := d.rereadRights(); err != nil {
		d.Log.Error("this ResourceManager stays a standby", "id", id, "error", err)
		return err
	}
	if err := d.lead(ctx, elected); err != nil {
		d.Log.Error("this ResourceManager stays a standby", "id", id, "error", err)
		return err
	}
	d.Log.Info("this ResourceManager is active", "id", id, "why", why)
	d.became(why, 1)
	return nil
}

// role is what Role tells of what the process remembers.
type role struct {
	mu      sync.Mutex
	since   int64
	why     string
	actives int64
}

func (d *Daemon) became(why string, actives int64) {
	d.role.mu.Lock()
	defer d.role.mu.Unlock()
	d.role.since, d.role.why = time.Now().UnixMilli(), why
	d.role.actives += actives
}

// roleNow is this one's part in high availability.
func (d *Daemon) roleNow() *access.Role {
	d.role.mu.Lock()
	r := &access.Role{ID: d.settings.HA.ID, Since: cmp.Or(d.role.since, d.started), Why: cmp.Or(d.role.why, "it has started"), Actives: d.role.actives}
	d.role.mu.Unlock()
	if e := d.elector.Load(); e != nil {
		s := e.Status()
		r.Election, r.Connected, r.Holder = s.State.String(), s.Connected, s.Holder
	}
	r.Copy = d.copyNow()
	return r
}

// giveWay is stepDown with high availability.
func (d *Daemon) giveWay(why string) {
	if d.endTerm(0) {
		d.Log.Info("this ResourceManager is a standby", "id", d.settings.HA.ID, "why", why)
		d.became(why, 0)
	}
}

// giveUp ends a term that cannot go on.
func (d *Daemon) giveUp(stamp int64, why error) {
	if d.endTerm(stamp) {
		d.Log.Error("this ResourceManager is a standby, because it cannot go on as the active one", "id", d.settings.HA.ID, "error", why)
		d.became(why.Error(), 0)
		d.yield(why.Error())
	}
}

// rereadRights reads what a standby has not been told to refresh. Lists of nodes that cannot be read leave those of before in force, since
// a cluster without a ResourceManager would be worse.
func (d *Daemon) rereadRights() error {
	if err := d.rereadLists(); err != nil {
		d.Log.Error("the lists of nodes cannot be read; those of before hold", "error", err)
	}
	if err := d.rereadSizes(); err != nil {
		d.Log.Error("the sizes of nodes cannot be read; those of before hold", "error", err)
	}
	if err := d.RefreshGroups(); err != nil {
		return err
	}
	if err := d.RefreshProxyUsers(); err != nil {
		return err
	}
	return d.RefreshAdminACL()
}
