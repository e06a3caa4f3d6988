package blackbox

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// kinds are the types in which commands are recorded. The number of a kind is its
// place here, from 1.
var kinds = []reflect.Type{
	reflect.TypeFor[engine.Heartbeat](), // applied as a pointer, like the next one
	reflect.TypeFor[engine.Allocate](),
	reflect.TypeFor[engine.NewApplication](),
	reflect.TypeFor[engine.Submit](),
	reflect.TypeFor[engine.Kill](),
	reflect.TypeFor[engine.FailAttempt](),
	reflect.TypeFor[engine.Move](),
	reflect.TypeFor[engine.SetPriority](),
	reflect.TypeFor[engine.SetLifetime](),
	reflect.TypeFor[engine.SignalContainer](),
	reflect.TypeFor[engine.RegisterMaster](),
	reflect.TypeFor[engine.FinishMaster](),
	reflect.TypeFor[engine.RegisterNode](),
	reflect.TypeFor[engine.UnregisterNode](),
	reflect.TypeFor[engine.Launched](),
	reflect.TypeFor[engine.LaunchFailed](),
	reflect.TypeFor[engine.QueueBasis](),
	reflect.TypeFor[engine.RefreshNodes](),
	reflect.TypeFor[engine.SetNodeResource](),
	reflect.TypeFor[engine.SetNodeLabel](),
	reflect.TypeFor[engine.AddLabels](),
	reflect.TypeFor[engine.RemoveLabels](),
	reflect.TypeFor[engine.ReplaceLabels](),
	reflect.TypeFor[engine.TendQueues](),
	reflect.TypeFor[engine.Tick](),
	reflect.TypeFor[engine.Sweep](),
	reflect.TypeFor[engine.Stored](),
	reflect.TypeFor[engine.Recover](),
	reflect.TypeFor[engine.ExpireNode](),
	reflect.TypeFor[refresh](), // RefreshQueues
	reflect.TypeFor[remember](),
	reflect.TypeFor[Publish](),
	reflect.TypeFor[Digest](),
	reflect.TypeFor[Explain](),
	reflect.TypeFor[engine.DrainNodes](),
	reflect.TypeFor[engine.UndrainNodes](),
	reflect.TypeFor[engine.NodeIDs](),
	reflect.TypeFor[engine.ExcludedHosts](),
	reflect.TypeFor[engine.UpdateShares](),
	reflect.TypeFor[engine.DeleteQueue](),
	reflect.TypeFor[engine.MonitorQueues](),
	reflect.TypeFor[engine.Preemptions](),
	reflect.TypeFor[engine.NewReservation](),
	reflect.TypeFor[engine.SubmitReservation](),
	reflect.TypeFor[engine.UpdateReservation](),
	reflect.TypeFor[engine.DeleteReservation](),
	reflect.TypeFor[engine.ListReservations](),
	reflect.TypeFor[engine.FollowPlans](),
	reflect.TypeFor[engine.LogNodes](),
	reflect.TypeFor[engine.SetNodeResources](),
	reflect.TypeFor[engine.SetMaxPriority](),
	reflect.TypeFor[engine.RecoverApplications](),
}

// The kinds of the commands that come most often.
const (
	kindHeartbeat = 1
	kindAllocate  = 2
)

var kindOf = func() map[reflect.Type]byte {
	m := map[reflect.Type]byte{}
	for i, t := range kinds {
		m[t] = byte(i + 1)
	}
	return m
}()

// Publish is a slice of a publication of views. It is recorded because it changes
// caches of the engine.
type Publish struct {
	Parts view.Part
	First bool // the publication begins with it
}

// Explain asks why an application waits; see engine.Why.
type Explain struct{ Application yarn.ApplicationID }

// Digest computes the hash of the engine's state; see engine.Digest.
type Digest struct{}

// refresh is RefreshQueues with the properties instead of what was made of them.
type refresh struct {
	Ticket   engine.Ticket
	Read     bool // there is a configuration
	Queues   Queues
	Prepared bool
	Problem  string
	DryRun   bool
}

// Queues are what a configuration of the scheduler is made of.
type Queues struct {
	Properties []config.Property
	Cluster    config.Cluster
}

// QueuesOf is what the configuration was made of.
func QueuesOf(c *config.Config) Queues { return Queues{c.Properties(), c.Cluster} }

// Parse makes the configuration again.
func (q Queues) Parse() (*config.Config, error) {
	c, _, err := config.Parse(q.Properties, q.Cluster)
	return c, err
}

// remember is Remember without what is secret.
type remember struct {
	Ticket engine.Ticket
	Ops    []named
}

// named is a change of a record without its content, which the engine does not read.
type named struct {
	Kind  state.Kind
	Table state.Table
	ID    int64
}

func nameOf(op state.Op) named {
	switch r := op.Record.(type) {
	case state.DelegationKey:
		return named{op.Kind, state.DelegationKeys, int64(r.ID)}
	case state.DelegationToken:
		return named{op.Kind, state.DelegationTokens, int64(r.Sequence)}
	case state.DelegationSequence:
		return named{op.Kind, state.DelegationSequences, int64(r.Last)}
	default: // the engine does not read the key of any other record
		return named{op.Kind, state.AMRMKeys, 0}
	}
}

func (n named) op() state.Op {
	switch n.Table {
	case state.DelegationKeys:
		return state.Op{Kind: n.Kind, Record: state.DelegationKey{ID: int32(n.ID)}}
	case state.DelegationTokens:
		return state.Op{Kind: n.Kind, Record: state.DelegationToken{Sequence: int32(n.ID)}}
	case state.DelegationSequences:
		return state.Op{Kind: n.Kind, Record: state.DelegationSequence{Last: int32(n.ID)}}
	default:
		return state.Op{Kind: n.Kind, Record: state.MasterKeys{}}
	}
}

// kept is the command in the type in which it is recorded.
func kept(c any) any {
	switch c := c.(type) {
	case *engine.Heartbeat:
		return *c
	case *engine.Allocate:
		return *c
	case engine.RefreshQueues:
		r := refresh{Ticket: c.Ticket, Read: c.Config != nil, Prepared: c.Prepared != nil, Problem: c.Problem, DryRun: c.DryRun}
		if r.Read {
			r.Queues = QueuesOf(c.Config)
		}
		return r
	case engine.Remember:
		r := remember{Ticket: c.Ticket}
		for _, op := range c.Ops {
			r.Ops = append(r.Ops, nameOf(op))
		}
		return r
	case engine.Recover:
		return withoutSecrets(c)
	case engine.RecoverApplications:
		c.Applications = appsWithoutSecrets(c.Applications)
		return c
	}
	return c
}

// outsized tells whether a command would take more than there is room for, judging by the first of its many parts: a restart with 100,000
// applications would put together 40 MB, to drop them with the next command.
func outsized(c any, room int) bool {
	var apps []engine.RecoveredApplication
	all := 0
	switch c := c.(type) {
	case engine.Recover:
		apps, all = c.Applications, len(c.Applications)+c.Coming
	case engine.RecoverApplications:
		apps, all = c.Applications, c.All
	}
	if len(apps) == 0 {
		return false
	}
	return all*len(appendValue(nil, reflect.ValueOf(appsWithoutSecrets(apps[:1])))) > room
}

// appsWithoutSecrets is withoutSecrets for applications.
func appsWithoutSecrets(apps []engine.RecoveredApplication) []engine.RecoveredApplication {
	out := append([]engine.RecoveredApplication(nil), apps...)
	for i := range out {
		a := &out[i]
		if a.Record != nil {
			record := *a.Record
			record.Context, record.CallerSignature, record.Unknown = nil, nil, nil
			a.Record = &record
		}
		a.Attempts = append([]state.Attempt(nil), a.Attempts...)
		for j := range a.Attempts {
			a.Attempts[j].Unknown = nil
		}
	}
	return out
}

// withoutSecrets is a copy without what the engine does not read: contexts, signatures
// and unknown fields.
func withoutSecrets(c engine.Recover) engine.Recover {
	out := engine.Recover{Labels: c.Labels, Coming: c.Coming, Applications: appsWithoutSecrets(c.Applications),
		Drains: append([]state.NodeDeadline(nil), c.Drains...), Reservations: append([]state.Reservation(nil), c.Reservations...)}
	for i := range out.Reservations {
		out.Reservations[i].Unknown = nil
	}
	for i := range out.Drains {
		out.Drains[i].Unknown = nil
	}
	out.Labels.Known = append([]state.NodeLabel(nil), c.Labels.Known...)
	for i := range out.Labels.Known {
		out.Labels.Known[i].Unknown = nil
	}
	out.Labels.Nodes = append([]state.LabelledNode(nil), c.Labels.Nodes...)
	for i := range out.Labels.Nodes {
		out.Labels.Nodes[i].Unknown = nil
	}
	return out
}

// appendCommand appends a command, a Publish, an Explain or a Digest in its recorded form.
func appendCommand(b []byte, c any) []byte {
	switch c := c.(type) {
	case *engine.Heartbeat:
		return appendHeartbeat(append(b, kindHeartbeat), c)
	case *engine.Allocate:
		return appendAllocate(append(b, kindAllocate), c)
	}
	v := reflect.ValueOf(kept(c))
	kind, ok := kindOf[v.Type()]
	if !ok {
		panic(fmt.Sprintf("blackbox: a %T cannot be kept", c))
	}
	return appendValue(append(b, kind), v)
}

// command reads what appendCommand wrote: an engine.Command, a Publish, an Explain or a
// Digest. prepared is true for a RefreshQueues that had a Prepared.
func (d *decoder) command() (c any, prepared bool) {
	kind := d.uint()
	if kind == 0 || kind > uint64(len(kinds)) {
		d.fail(errOdd)
	}
	if d.err != nil {
		return nil, false
	}
	v := reflect.New(kinds[kind-1])
	d.value(v.Elem())
	if d.err != nil {
		return nil, false
	}
	switch c := v.Interface().(type) {
	case *engine.Heartbeat:
		return c, false
	case *engine.Allocate:
		return c, false
	case *engine.Recover:
		for i := range c.Applications {
			if a := &c.Applications[i]; a.Submission == nil || a.Record == nil {
				d.fail(errOdd)
				return nil, false
			}
		}
	case *engine.RecoverApplications:
		for i := range c.Applications {
			if a := &c.Applications[i]; a.Submission == nil || a.Record == nil {
				d.fail(errOdd)
				return nil, false
			}
		}
	case *refresh:
		out := engine.RefreshQueues{Ticket: c.Ticket, Problem: c.Problem, DryRun: c.DryRun}
		if c.Read {
			var err error
			if out.Config, err = c.Queues.Parse(); err != nil {
				d.fail(err)
			}
		}
		return out, c.Prepared
	case *remember:
		out := engine.Remember{Ticket: c.Ticket}
		for _, n := range c.Ops {
			out.Ops = append(out.Ops, n.op())
		}
		return out, false
	}
	return v.Elem().Interface(), false
}

// appendHeartbeat writes what appendValue would, faster, for the command that comes
// most often.
func appendHeartbeat(b []byte, c *engine.Heartbeat) []byte {
	b = binary.AppendUvarint(b, uint64(c.Ticket))
	b = appendString(b, c.Node.Host)
	b = binary.AppendVarint(b, int64(c.Node.Port))
	b = binary.AppendVarint(b, int64(c.ResponseID))
	b = appendLength(b, len(c.Containers), c.Containers == nil)
	for i := range c.Containers {
		s := &c.Containers[i]
		b = binary.AppendVarint(b, s.ID.Attempt.Application.ClusterTimestamp)
		b = binary.AppendVarint(b, int64(s.ID.Attempt.Application.Sequence))
		b = binary.AppendVarint(b, int64(s.ID.Attempt.Attempt))
		b = binary.AppendVarint(b, s.ID.Number)
		b = appendBool(b, s.Complete)
		b = binary.AppendVarint(b, int64(s.ExitStatus))
		b = appendString(b, s.Diagnostics)
		b = binary.AppendUvarint(b, uint64(s.Execution))
	}
	b = appendValues(b, c.Increased)
	b = appendValues(b, c.KeepAlive)
	b = appendValues(b, c.Logs)
	if c.Labels == nil {
		b = append(b, 0)
	} else {
		b = appendValue(b, reflect.ValueOf(c.Labels))
	}
	b = appendBool(b, c.Health.Healthy)
	b = appendString(b, c.Health.Report)
	b = binary.AppendVarint(b, c.Health.At)
	b = appendUtilization(b, &c.ContainersUse)
	b = appendUtilization(b, &c.NodeUse)
	o := &c.Opportunistic
	b = binary.AppendVarint(b, int64(o.Running))
	b = binary.AppendVarint(b, int64(o.Queued))
	b = binary.AppendVarint(b, o.MemoryMB)
	b = binary.AppendVarint(b, int64(o.VCores))
	b = appendBool(b, o.Reported)
	b = binary.AppendVarint(b, int64(o.Waiting))
	b = binary.AppendVarint(b, int64(o.WaitMillis))
	return binary.AppendVarint(b, int64(o.Capacity))
}

func appendUtilization(b []byte, u *engine.Utilization) []byte {
	b = binary.AppendVarint(b, int64(u.PhysicalMemoryMB))
	b = binary.AppendVarint(b, int64(u.VirtualMemoryMB))
	return appendFloat32(b, u.CPU)
}

// appendAllocate writes what appendValue would, faster, for masters' calls.
func appendAllocate(b []byte, c *engine.Allocate) []byte {
	b = binary.AppendUvarint(b, uint64(c.Ticket))
	b = binary.AppendVarint(b, c.Attempt.Application.ClusterTimestamp)
	b = binary.AppendVarint(b, int64(c.Attempt.Application.Sequence))
	b = binary.AppendVarint(b, int64(c.Attempt.Attempt))
	b = binary.AppendVarint(b, int64(c.ResponseID))
	b = appendFloat32(b, c.Progress)
	b = appendString(b, c.TrackingURL)
	b = appendLength(b, len(c.Asks), c.Asks == nil)
	for i := range c.Asks {
		a := &c.Asks[i]
		b = binary.AppendVarint(b, int64(a.Priority))
		b = binary.AppendVarint(b, a.AllocationRequestID)
		b = appendString(b, a.Where)
		n := len(a.Capability)
		for n > 0 && a.Capability[n-1] == 0 {
			n--
		}
		b = binary.AppendUvarint(b, uint64(n))
		for _, x := range a.Capability[:n] {
			b = binary.AppendVarint(b, x)
		}
		b = binary.AppendVarint(b, int64(a.Count))
		b = appendBool(b, a.RelaxLocality)
		b = appendString(b, a.Label)
		b = appendBool(b, a.LabelSet)
		b = binary.AppendUvarint(b, uint64(a.ExecutionType))
		b = appendBool(b, a.EnforceExecution)
	}
	b = appendValues(b, c.Release)
	b = appendValues(b, c.BlacklistAdd)
	b = appendValues(b, c.BlacklistRemove)
	b = appendValues(b, c.Updates)
	return appendBool(b, c.HasConstraints)
}

// appendLength appends the length of a slice; none tells that it is nil.
func appendLength(b []byte, n int, none bool) []byte {
	if none {
		return append(b, 0)
	}
	return binary.AppendUvarint(b, uint64(n)+1)
}

// appendValues appends a slice; it is fast if that is nil, as these slices mostly are.
func appendValues[T any](b []byte, list []T) []byte {
	if list == nil {
		return append(b, 0)
	}
	return appendValue(b, reflect.ValueOf(list))
}
