package resourcemanager

import (
	"context"
	"iter"
	"net/netip"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/yarn"
)

// The daemon as the web server sees it: access.Source and access.Controller of the term that there is. Without one there is nothing to
// read and nothing to change.

// active tells whether there is a term.
func (d *Daemon) active() bool { return d.term.Load() != nil }

// current is the term that there is.
func (d *Daemon) current() (*term, error) {
	if t := d.term.Load(); t != nil {
		return t, nil
	}
	return nil, answer.Errorf(answer.Unavailable, "%s", d.standby.Message)
}

// Java names of stores, as /info shows them.
const (
	nullStore   = "org.apache.hadoop.yarn.server.resourcemanager.recovery.NullRMStateStore"
	memoryStore = "org.apache.hadoop.yarn.server.resourcemanager.recovery.MemoryRMStateStore"
	filesStore  = "org.apache.hadoop.yarn.server.resourcemanager.recovery.FileSystemRMStateStore"
	zkStore     = "org.apache.hadoop.yarn.server.resourcemanager.recovery.ZKRMStateStore"
)

// schedulers are the names under which they are shown.
var schedulers = map[string]string{"capacity": access.Capacity, "fair": access.Fair, "fifo": access.Fifo}

// Daemon implements access.Source.
func (d *Daemon) Daemon(context.Context) access.Daemon {
	name, path := nullStore, ""
	switch r := d.settings.Recovery; {
	case r.Enabled && r.Store == storeBolt:
		name, path = "heddle.bolt", r.Path
	case r.Enabled && r.Store == storeRaft:
		name, path = "heddle.raft", d.settings.HA.Raft.Path
	case r.Enabled && r.Store == storeFiles:
		name, path = filesStore, r.Directory
	case r.Enabled && r.Store == storeZooKeeper:
		name, path = zkStore, d.settings.ZooKeeper.Address+" "+r.Parent
	case r.Enabled && r.Store == "memory":
		name = memoryStore
	}
	out := access.Daemon{StartedAt: d.started, State: "STARTED", HAState: "STANDBY", Store: name, StorePath: path, LoginUser: d.User, ClientAddress: d.clientAddress(), Scheduler: schedulers[d.settings.Allocation.Scheduler],
		Connection: "Could not find leader elector. Verify both HA and automatic failover are enabled."}
	if d.settings.HA.Enabled {
		out.Role = d.roleNow()
	}
	if e := d.elector.Load(); e != nil {
		out.Connection = connectionState(e.Status())
	}
	if t := d.term.Load(); t != nil {
		out.HAState, out.StartedAt, out.Holds = "ACTIVE", t.started, t.holds()
		out.Allocations = t.allocations.status.Load()
		out.SetAside, out.Aside = t.setAside, t.aside
	}
	return out
}

// Cluster implements access.Source.
func (d *Daemon) Cluster(ctx context.Context, parts view.Part) (*view.Cluster, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Cluster(ctx, parts)
}

// Application implements access.Source.
func (d *Daemon) Application(ctx context.Context, id yarn.ApplicationID) (*view.Application, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Application(ctx, id)
}

// Containers implements access.Source.
func (d *Daemon) Containers(ctx context.Context, id yarn.ApplicationID) (*view.Application, *view.AppContainers, error) {
	t, err := d.current()
	if err != nil {
		return nil, nil, err
	}
	return t.Containers(ctx, id)
}

// Newest implements access.Source.
func (d *Daemon) Newest(ctx context.Context) (newest iter.Seq[*view.Application], version uint64, err error) {
	t, err := d.current()
	if err != nil {
		return nil, 0, err
	}
	return t.Newest(ctx)
}

// Latest implements access.Source.
func (d *Daemon) Latest(id yarn.ApplicationID) *view.Application {
	if t := d.term.Load(); t != nil {
		return t.Latest(id)
	}
	return nil
}

// Why implements access.Source.
func (d *Daemon) Why(ctx context.Context, id yarn.ApplicationID) (string, error) {
	t, err := d.current()
	if err != nil {
		return "", err
	}
	return t.Why(ctx, id)
}

// LogNodes implements access.Source.
func (d *Daemon) LogNodes(ctx context.Context, id yarn.ApplicationID) ([]view.NodeLogs, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.LogNodes(ctx, id)
}

// Preemptions implements access.Source.
func (d *Daemon) Preemptions(ctx context.Context, queue string, app yarn.ApplicationID, most int) ([]view.Preemption, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Preemptions(ctx, queue, app, most)
}

// Gates implements access.Source.
func (d *Daemon) Gates(ctx context.Context, id yarn.ApplicationID) (view.Gates, error) {
	t, err := d.current()
	if err != nil {
		return view.Gates{}, err
	}
	return t.Gates(ctx, id)
}

// Rooms implements access.Source.
func (d *Daemon) Rooms(ctx context.Context, leaves []string, user string) ([]view.Room, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Rooms(ctx, leaves, user)
}

// Waits implements access.Source.
func (d *Daemon) Waits(ctx context.Context) ([]view.Wait, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.Waits(ctx)
}

// QueueSettings implements access.Source.
func (d *Daemon) QueueSettings(ctx context.Context, path string) ([]config.Property, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.QueueSettings(ctx, path)
}

// Past implements access.Source.
func (d *Daemon) Past() []access.Sample {
	t, err := d.current()
	if err != nil {
		return nil
	}
	return t.past.all()
}

// NodeActivities implements access.Source.
func (d *Daemon) NodeActivities(ctx context.Context, id yarn.NodeID) ([]view.NodeActivities, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.loop.NodeActivities(ctx, id)
}

// AppActivities implements access.Source.
func (d *Daemon) AppActivities(ctx context.Context, id yarn.ApplicationID, most int) ([]view.NodeActivities, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return t.loop.AppActivities(ctx, id, most)
}

// Events implements access.Source.
func (d *Daemon) Events() *events.Log {
	if t := d.term.Load(); t != nil {
		return t.outside.events
	}
	return nil
}

// MayView implements access.Source.
func (d *Daemon) MayView(c webgate.Caller, a *view.Application) bool {
	t := d.term.Load()
	return t != nil && t.access.MayView(identity(c), a)
}

// MayViewAll implements access.Source.
func (d *Daemon) MayViewAll(c webgate.Caller) bool {
	t := d.term.Load()
	return t != nil && t.access.mayViewAll(identity(c))
}

// QueueRights implements access.Source.
func (d *Daemon) QueueRights(c webgate.Caller, path string) access.QueueRights {
	t := d.term.Load()
	if t == nil {
		return access.QueueRights{}
	}
	return access.QueueRights(t.access.QueueRights(identity(c), []string{path})[0])
}

// addressesOf are those that a node's host had when the node registered.
func (d *Daemon) addressesOf(host string) []netip.Addr {
	if t := d.term.Load(); t != nil {
		return t.grants.addresses.of(host)
	}
	return nil
}

// Kill implements access.Controller.
func (d *Daemon) Kill(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, diagnostics string) (bool, error) {
	t, err := d.current()
	if err != nil {
		return false, err
	}
	return t.Kill(ctx, c, id, diagnostics)
}

// Move implements access.Controller.
func (d *Daemon) Move(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, queue string) (string, error) {
	t, err := d.current()
	if err != nil {
		return "", err
	}
	return t.Move(ctx, c, id, queue)
}

// SetPriority implements access.Controller.
func (d *Daemon) SetPriority(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, priority int32) (int32, error) {
	t, err := d.current()
	if err != nil {
		return 0, err
	}
	return t.SetPriority(ctx, c, id, priority)
}

// SetLifetime implements access.Controller.
func (d *Daemon) SetLifetime(ctx context.Context, c webgate.Caller, id yarn.ApplicationID, expireAt int64) (int64, error) {
	t, err := d.current()
	if err != nil {
		return 0, err
	}
	return t.SetLifetime(ctx, c, id, expireAt)
}

// NewApplication implements access.Controller.
func (d *Daemon) NewApplication(ctx context.Context, c webgate.Caller) (yarn.ApplicationID, yarn.Resource, error) {
	t, err := d.current()
	if err != nil {
		return yarn.ApplicationID{}, yarn.Resource{}, err
	}
	return t.NewApplication(ctx, c)
}

// AddLabels implements access.Controller.
func (d *Daemon) AddLabels(ctx context.Context, c webgate.Caller, labels []view.Label) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.AddLabels(ctx, c, labels)
}

// RemoveLabels implements access.Controller.
func (d *Daemon) RemoveLabels(ctx context.Context, c webgate.Caller, names []string) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.RemoveLabels(ctx, c, names)
}

// ReplaceLabels implements access.Controller.
func (d *Daemon) ReplaceLabels(ctx context.Context, c webgate.Caller, operation string, nodes []view.NodeLabels) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.ReplaceLabels(ctx, c, operation, nodes)
}

// Drain implements access.Controller.
func (d *Daemon) Drain(ctx context.Context, c webgate.Caller, r access.DrainRequest) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.Drain(ctx, c, r)
}

// Undrain implements access.Controller.
func (d *Daemon) Undrain(ctx context.Context, c webgate.Caller, nodes []yarn.NodeID) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.Undrain(ctx, c, nodes)
}

// Refresh implements access.Controller.
func (d *Daemon) Refresh(ctx context.Context, c webgate.Caller, r access.RefreshRequest) (access.Refreshed, error) {
	t, err := d.current()
	if err != nil {
		return access.Refreshed{}, err
	}
	return t.Refresh(ctx, c, r)
}

// DeleteQueue implements access.Controller.
func (d *Daemon) DeleteQueue(ctx context.Context, c webgate.Caller, queue string) (string, error) {
	t, err := d.current()
	if err != nil {
		return "", err
	}
	return t.DeleteQueue(ctx, c, queue)
}

// Record implements access.Controller.
func (d *Daemon) Record(ctx context.Context, c webgate.Caller, what access.RecordAction) (access.Recording, error) {
	t, err := d.current()
	if err != nil {
		return access.Recording{}, err
	}
	return t.Record(ctx, c, what)
}

// LogScheduler implements access.Controller.
func (d *Daemon) LogScheduler(ctx context.Context, c webgate.Caller, period time.Duration) error {
	t, err := d.current()
	if err != nil {
		return err
	}
	return t.LogScheduler(ctx, c, period)
}

// QueueConf implements access.Controller.
func (d *Daemon) QueueConf() (access.QueueConf, error) {
	t, err := d.current()
	if err != nil {
		return nil, err
	}
	return &queueAccess{t}, nil
}

// identity is a caller of the web server as the protocols know callers.
func identity(c webgate.Caller) *ipc.Identity {
	addr, _ := netip.ParseAddr(c.Address)
	return &ipc.Identity{User: c.User, Remote: netip.AddrPortFrom(addr, 0)}
}
