// Package webtest has a source and a controller for tests of the web server: a small
// cluster that never changes, with an application in every relevant state.
package webtest

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/answer"
	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/events"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Source serves fixed values.
type Source struct {
	Picture  *view.Cluster
	Live     map[yarn.ApplicationID]*view.AppContainers
	Tree     *queue.Snapshot
	Self     access.Daemon
	Waiting  map[yarn.ApplicationID]string // why applications wait
	Taken    []view.Preemption
	Gated    view.Gates // of every application
	Left     []view.Room
	Waited   []view.Wait
	Happens  *events.Log
	Tallied  access.Tallies
	Doing    []view.NodeActivities // of every node and application
	Before   []access.Sample
	Settings []config.Property
	Denied   map[string]bool               // users who may view only their own applications
	Rights   map[string]access.QueueRights // by user and path: "bob root.dev"; nil: everybody has all rights
	Err      error                         // that every read returns, if set
	Version  uint64                        // of the picture, as Newest tells it

	Changing *sync.Mutex // is held while Picture changes during calls of Latest
}

var _ access.Source = (*Source)(nil)

// Cluster is those parts of the fixed cluster.
func (s *Source) Cluster(_ context.Context, parts view.Part) (*view.Cluster, error) {
	c := *s.Picture
	if parts&view.Applications == 0 {
		c.Applications = nil
	}
	if parts&view.Nodes == 0 {
		c.Nodes, c.Labels = nil, nil
	}
	if parts&view.Counts == 0 {
		c.Metrics = view.Metrics{}
	}
	if parts&view.Queues != 0 {
		c.Queues = s.Tree
	}
	return &c, s.Err
}

// Application is the application in the fixed cluster.
func (s *Source) Application(_ context.Context, id yarn.ApplicationID) (*view.Application, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	for _, a := range s.Picture.Applications {
		if a.ID == id {
			return a, nil
		}
	}
	return nil, answer.Errorf(answer.NotFound, "application %s is not known", id)
}

// Containers is the application with its fixed containers.
func (s *Source) Containers(ctx context.Context, id yarn.ApplicationID) (*view.Application, *view.AppContainers, error) {
	a, err := s.Application(ctx, id)
	return a, s.Live[id], err
}

// Newest are the applications in the fixed cluster.
func (s *Source) Newest(context.Context) (newest iter.Seq[*view.Application], version uint64, err error) {
	all := slices.SortedFunc(slices.Values(s.Picture.Applications), func(a, b *view.Application) int {
		return cmp.Or(cmp.Compare(b.SubmitTime, a.SubmitTime), b.ID.Compare(a.ID))
	})
	return slices.Values(all), s.Version, s.Err
}

// Latest is the application in the fixed cluster, or nil.
func (s *Source) Latest(id yarn.ApplicationID) *view.Application {
	s.Changing.Lock()
	defer s.Changing.Unlock()
	if apps, n := s.Picture.Applications, int(id.Sequence)-1; n >= 0 && n < len(apps) && apps[n].ID == id {
		return apps[n] // fast, for tests with very many
	}
	a, _ := s.Application(context.Background(), id)
	return a
}

// Why is the fixed reason.
func (s *Source) Why(_ context.Context, id yarn.ApplicationID) (string, error) {
	return s.Waiting[id], s.Err
}

// LogNodes are two nodes with logs of every application, of which one fails.
func (s *Source) LogNodes(context.Context, yarn.ApplicationID) ([]view.NodeLogs, error) {
	return []view.NodeLogs{{Node: nodeA, Status: view.LogsSucceeded}, {Node: nodeB, Status: view.LogsFailed, Failures: []string{"no room for <b>logs</b>", "still none"}}}, s.Err
}

// Preemptions are those of Taken that match.
func (s *Source) Preemptions(_ context.Context, queue string, app yarn.ApplicationID, most int) (out []view.Preemption, err error) {
	for _, p := range s.Taken {
		if (queue == "" || p.Of(queue)) && (app.Sequence == 0 || p.OfApplication(app)) && len(out) < most {
			out = append(out, p)
		}
	}
	return out, s.Err
}

// Gates are the fixed ones.
func (s *Source) Gates(context.Context, yarn.ApplicationID) (view.Gates, error) {
	return s.Gated, s.Err
}

// Rooms are those of Left that are of these queues.
func (s *Source) Rooms(_ context.Context, leaves []string, _ string) (out []view.Room, err error) {
	for _, r := range s.Left {
		if slices.Contains(leaves, r.Queue) {
			out = append(out, r)
		}
	}
	return out, s.Err
}

// Waits are the fixed ones.
func (s *Source) Waits(context.Context) ([]view.Wait, error) { return s.Waited, s.Err }

// NodeActivities are the first of Doing.
func (s *Source) NodeActivities(context.Context, yarn.NodeID) ([]view.NodeActivities, error) {
	return s.Doing[:min(len(s.Doing), 1)], s.Err
}

// AppActivities are all of Doing.
func (s *Source) AppActivities(_ context.Context, _ yarn.ApplicationID, most int) ([]view.NodeActivities, error) {
	return s.Doing[:min(len(s.Doing), most)], s.Err
}

// Tallies are those of the test.
func (s *Source) Tallies() access.Tallies { return s.Tallied }

// QueueSettings are Settings, whatever the queue.
func (s *Source) QueueSettings(context.Context, string) ([]config.Property, error) {
	return s.Settings, s.Err
}

// Past is Before.
func (s *Source) Past() []access.Sample { return s.Before }

// Events are those of the test.
func (s *Source) Events() *events.Log { return s.Happens }

// Daemon is the fixed state.
func (s *Source) Daemon(context.Context) access.Daemon { return s.Self }

// MayView lets everybody see everything, except those who are denied.
func (s *Source) MayView(c webgate.Caller, a *view.Application) bool {
	return !s.Denied[c.User] || c.User == a.User
}

// MayViewAll is true for everybody except those who are denied.
func (s *Source) MayViewAll(c webgate.Caller) bool { return !s.Denied[c.User] }

// QueueRights are the fixed rights.
func (s *Source) QueueRights(c webgate.Caller, path string) access.QueueRights {
	if s.Rights == nil {
		return access.QueueRights{Submit: true, Administer: true}
	}
	return s.Rights[c.User+" "+path]
}

// Controller records calls and returns fixed answers.
type Controller struct {
	mu    sync.Mutex
	calls []string

	Done bool               // that Kill returns
	Err  error              // that every call returns, if set
	Most yarn.Resource      // that NewApplication returns
	Plan []view.Reservation // that Reservations returns

	Submitted []byte           // by the last call of Submit
	Fresh     access.Refreshed // that Refresh returns
}

var _ access.Controller = (*Controller)(nil)

// Calls are the calls so far.
func (c *Controller) Calls() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.calls...)
}

func (c *Controller) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
}

// Kill notes the call.
func (c *Controller) Kill(_ context.Context, by webgate.Caller, id yarn.ApplicationID, diagnostics string) (bool, error) {
	c.note("kill %s by %s: %s", id, by.User, diagnostics)
	return c.Done, c.Err
}

// Move notes the call.
func (c *Controller) Move(_ context.Context, by webgate.Caller, id yarn.ApplicationID, queue string) (string, error) {
	c.note("move %s by %s to %s", id, by.User, queue)
	return queue, c.Err
}

// SetPriority notes the call and clips at 10.
func (c *Controller) SetPriority(_ context.Context, by webgate.Caller, id yarn.ApplicationID, p int32) (int32, error) {
	c.note("priority of %s by %s: %d", id, by.User, p)
	return min(p, 10), c.Err
}

// SetLifetime notes the call.
func (c *Controller) SetLifetime(_ context.Context, by webgate.Caller, id yarn.ApplicationID, at int64) (int64, error) {
	c.note("lifetime of %s by %s: %d", id, by.User, at)
	return at, c.Err
}

// NewApplication notes the call and answers number 10.
func (c *Controller) NewApplication(_ context.Context, by webgate.Caller) (yarn.ApplicationID, yarn.Resource, error) {
	c.note("new application by %s", by.User)
	return yarn.ApplicationID{ClusterTimestamp: Started, Sequence: 10}, c.Most, c.Err
}

// Submit notes the call and keeps the submission.
func (c *Controller) Submit(_ context.Context, by webgate.Caller, submission []byte) error {
	c.note("submit by %s", by.User)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Submitted = submission
	return c.Err
}

// Signal notes the call.
func (c *Controller) Signal(_ context.Context, by webgate.Caller, id yarn.ContainerID, signal int32) error {
	c.note("signal %d to %s by %s", signal, id, by.User)
	return c.Err
}

// Resize notes the call.
func (c *Controller) Resize(_ context.Context, by webgate.Caller, node yarn.NodeID, total yarn.Resource, overcommit int64) error {
	after := ""
	if overcommit >= 0 {
		after = fmt.Sprintf(", overcommitted for %d ms", overcommit)
	}
	c.note("resize %s by %s: %d, %d%s", node, by.User, total.MemoryMB(), total.VCoreCount(), after)
	return c.Err
}

// AddLabels notes the call.
func (c *Controller) AddLabels(_ context.Context, by webgate.Caller, labels []view.Label) error {
	c.note("add labels by %s: %v", by.User, labels)
	return c.Err
}

// RemoveLabels notes the call.
func (c *Controller) RemoveLabels(_ context.Context, by webgate.Caller, names []string) error {
	c.note("remove labels by %s: %v", by.User, names)
	return c.Err
}

// NewReservation notes the call and answers number 10.
func (c *Controller) NewReservation(_ context.Context, by webgate.Caller) (yarn.ReservationID, error) {
	c.note("new reservation by %s", by.User)
	return yarn.ReservationID{ClusterTimestamp: Started, Number: 10}, c.Err
}

// SubmitReservation notes the call.
func (c *Controller) SubmitReservation(_ context.Context, by webgate.Caller, r access.Reservation) error {
	c.note("reserve %s by %s in %s: %+v", r.ID, by.User, r.Queue, *r.Definition)
	return c.Err
}

// UpdateReservation notes the call.
func (c *Controller) UpdateReservation(_ context.Context, by webgate.Caller, r access.Reservation) error {
	c.note("update %s by %s: %+v", r.ID, by.User, *r.Definition)
	return c.Err
}

// DeleteReservation notes the call.
func (c *Controller) DeleteReservation(_ context.Context, by webgate.Caller, id yarn.ReservationID) error {
	c.note("delete %s by %s", id, by.User)
	return c.Err
}

// Reservations answers Plan.
func (c *Controller) Reservations(context.Context, webgate.Caller, access.ReservationQuery) ([]view.Reservation, error) {
	return c.Plan, c.Err
}

// Drain notes the call.
func (c *Controller) Drain(_ context.Context, by webgate.Caller, d access.DrainRequest) error {
	c.note("drain by %s: %v until %d, %q, %s", by.User, d.Nodes, d.Deadline, d.Reason, d.Source)
	return c.Err
}

// Undrain notes the call.
func (c *Controller) Undrain(_ context.Context, by webgate.Caller, nodes []yarn.NodeID) error {
	c.note("undrain by %s: %v", by.User, nodes)
	return c.Err
}

// Refresh notes the call and answers Fresh.
func (c *Controller) Refresh(_ context.Context, by webgate.Caller, r access.RefreshRequest) (access.Refreshed, error) {
	c.note("refresh by %s: %+v", by.User, r)
	return c.Fresh, c.Err
}

// DeleteQueue notes the call.
func (c *Controller) DeleteQueue(_ context.Context, by webgate.Caller, queue string) (string, error) {
	c.note("delete queue %s by %s", queue, by.User)
	return queue, c.Err
}

// Record notes the call, unless it changes nothing.
func (c *Controller) Record(_ context.Context, by webgate.Caller, what access.RecordAction) (access.Recording, error) {
	if what != access.RecordStatus {
		c.note("record by %s: %s", by.User, what)
	}
	return access.Recording{Commands: 100, Missing: 20, File: "/logs/a.blackbox"}, c.Err
}

// LogScheduler notes the call.
func (c *Controller) LogScheduler(_ context.Context, by webgate.Caller, period time.Duration) error {
	c.note("log the scheduler by %s: %s", by.User, period)
	return c.Err
}

// ReplaceLabels notes the call.
func (c *Controller) ReplaceLabels(_ context.Context, by webgate.Caller, operation string, nodes []view.NodeLabels) error {
	c.note("%s by %s: %v", operation, by.User, nodes)
	return c.Err
}
