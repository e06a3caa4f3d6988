package client

import (
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/scan"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// report is what a caller is told of an application.
type report struct {
	app     *view.Application
	visible bool
	login   *token.Token // of its unmanaged master; nil: the caller does not get one
}

// reportFor is the report for this caller. One who may not view the application gets it without attempt, addresses, diagnostics and usage.
func (s *client) reportFor(caller *ipc.Identity, a *view.Application) report {
	r := report{app: a, visible: s.Access.MayView(caller, a)}
	if t := a.Current(); r.visible && t != nil && a.Unmanaged && t.State == yarn.AttemptLaunched && caller.User == a.User {
		login := s.LoginToken(t.ID) // an unmanaged master gets it only here
		r.login = &login
	}
	return r
}

// applicationReport is the same as a message.
func (s *client) applicationReport(caller *ipc.Identity, a *view.Application) (*pb.ApplicationReport, error) {
	m, r := &pb.ApplicationReport{}, s.reportFor(caller, a)
	b, err := field.Find(s.appendReport(nil, 1, &r, time.Now().UnixMilli()), 1)
	if err == nil {
		err = serve.Unmarshal(b, m)
	}
	return m, err
}

// appendReport appends the report, an ApplicationReportProto, as the field of that number. At the same moment it appends the same bytes.
//
// compat: the field for the time of submission is not filled in; the start time is that time.
func (s *client) appendReport(b []byte, num protowire.Number, r *report, now int64) []byte {
	a, t := r.app, r.app.Current()
	host, port, original, diagnostics := view.NotAvailable, int32(-1), view.NotAvailable, view.NotAvailable
	attempt, progress := yarn.AttemptID{Application: a.ID, Attempt: -1}, float32(0) // compat: -1 is none
	if r.visible {
		diagnostics = a.Diagnostics
	}
	if r.visible && t != nil {
		attempt, progress, original = t.ID, a.Progress, s.Places.OriginalURL(a, t)
		if t.State != yarn.AttemptFailed && t.State != yarn.AttemptKilled {
			host, port = t.Host, t.RPCPort
		}
	}
	b, whole := field.Open(b, num)
	b = field.AppendApplicationID(b, 1, a.ID)
	b = field.AppendText(b, 2, a.User)
	b = field.AppendText(b, 3, a.Queue)
	b = field.AppendText(b, 4, a.Name)
	b = field.AppendText(b, 5, host)
	b = field.AppendInt(b, 6, int64(port))
	b = field.AppendInt(b, 8, int64(a.PublicState))
	b, tracking := field.Open(b, 9)
	if r.visible {
		b = s.Places.AppendTrackingURL(b, a, t)
	} else {
		b = append(b, view.NotAvailable...)
	}
	b = field.Shut(b, tracking)
	b = field.AppendText(b, 10, diagnostics)
	b = field.AppendInt(b, 11, a.StartTime)
	b = field.AppendInt(b, 12, a.FinishTime)
	b = field.AppendInt(b, 13, int64(a.FinalStatus))
	b = s.appendUsage(b, 14, r, now)
	b = field.AppendText(b, 15, original)
	b = field.AppendAttemptID(b, 16, attempt)
	b = field.AppendFloat(b, 17, progress)
	b = field.AppendText(b, 18, a.Type)
	if r.login != nil {
		b = scan.AppendToken(b, 19, *r.login)
	}
	for _, tag := range a.Tags {
		b = field.AppendText(b, 20, tag)
	}
	if status := a.LogStatusAt(now); status != 0 {
		b = field.AppendInt(b, 21, int64(status))
	}
	b = field.AppendInt(b, 22, bit(a.Unmanaged))
	b = field.AppendPriority(b, 23, a.Priority)
	b = field.AppendText(b, 24, labelText(a.Label, a.LabelSet))
	if !a.Unmanaged {
		b = field.AppendText(b, 25, labelText(a.AMLabel, true))
	}
	b = appendTimeouts(b, 26, a, now)
	return field.Shut(field.AppendInt(b, 27, a.LaunchTime), whole)
}

func bit(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// labelText is a node label expression as reports show it.
func labelText(label string, set bool) string {
	switch {
	case !set:
		return "<Not set>"
	case label == "":
		return "<DEFAULT_PARTITION>"
	}
	return label
}

// appendTimeouts appends the one timeout that there is, an AppTimeoutsMapProto.
func appendTimeouts(b []byte, num protowire.Number, a *view.Application, now int64) []byte {
	const lifetime = int64(pb.ApplicationTimeoutType_APP_TIMEOUT_LIFETIME)
	expires, left := "UNLIMITED", int64(-1)
	for _, t := range a.Timeouts {
		if expires, left = time.UnixMilli(t.ExpireAt).Format(timeoutFormat), max(t.ExpireAt-now, 0)/1000; a.PublicState >= yarn.PublicFinished {
			left = 0
		}
	}
	b, whole := field.Open(b, num)
	b = field.AppendInt(b, 1, lifetime)
	b, timeout := field.Open(b, 2)
	b = field.AppendInt(b, 1, lifetime)
	b = field.AppendText(b, 2, expires)
	b = field.AppendInt(b, 3, left)
	return field.Shut(field.Shut(b, timeout), whole)
}

// appendUsage appends an ApplicationResourceUsageReportProto.
//
// compat: the usage of an ended application is -1, not 0, and so is one that the caller may not view.
func (s *client) appendUsage(b []byte, num protowire.Number, r *report, now int64) []byte {
	b, whole := field.Open(b, num)
	u := r.app.Usage
	used, reserved, needed := u.Used, u.Reserved, u.Used.Add(u.Reserved)
	containers, held := count(u.Containers), count(u.ReservedContainers)
	if !r.visible || r.app.PublicState >= yarn.PublicFinished {
		used = yarn.NewResource(-1, -1)
		reserved, needed, containers, held = used, used, -1, -1
	}
	b = field.AppendInt(b, 1, int64(containers))
	b = field.AppendInt(b, 2, int64(held))
	b = field.AppendResource(b, 3, used, s.Types)
	b = field.AppendResource(b, 4, reserved, s.Types)
	b = field.AppendResource(b, 5, needed, s.Types)
	if !r.visible {
		b = field.AppendInt(b, 6, 0)
		return field.Shut(field.AppendInt(b, 7, 0), whole)
	}
	seconds := r.app.SecondsAt(now)
	b = field.AppendInt(b, 6, seconds.MemoryMB())
	b = field.AppendInt(b, 7, seconds.VCoreCount())
	b = field.AppendFloat(b, 8, u.QueuePercent)
	b = field.AppendFloat(b, 9, u.ClusterPercent)
	b = field.AppendInt(b, 10, u.PreemptedSeconds.MemoryMB())
	b = field.AppendInt(b, 11, u.PreemptedSeconds.VCoreCount())
	b = s.appendAmounts(b, 12, &seconds)
	return field.Shut(s.appendAmounts(b, 13, &u.PreemptedSeconds), whole)
}

// appendAmounts appends a StringLongMapProto for each type of resource.
func (s *client) appendAmounts(b []byte, num protowire.Number, r *yarn.Resource) []byte {
	for i := range s.Types {
		var mark int
		b, mark = field.Open(b, num)
		b = field.AppendText(b, 1, s.Types[i].Name)
		b = field.Shut(field.AppendInt(b, 2, r[i]), mark)
	}
	return b
}

func count(n int) int32 { return int32(min(n, math.MaxInt32)) }

func (s *client) attemptReport(a *view.Application, t *view.Attempt) *pb.ApplicationAttemptReport {
	r := &pb.ApplicationAttemptReport{
		ApplicationAttemptId: convert.ToAttemptID(t.ID), Host: &t.Host, RpcPort: &t.RPCPort, Diagnostics: &t.Diagnostics,
		TrackingUrl: proto.String(s.Places.TrackingURL(a, t)), OriginalTrackingUrl: proto.String(s.Places.OriginalURL(a, t)),
		YarnApplicationAttemptState: convert.ToAttemptState(t.State), StartTime: &t.StartTime, FinishTime: &t.FinishTime,
	}
	if t.State == yarn.AttemptFailed || t.State == yarn.AttemptKilled {
		r.Host, r.RpcPort = proto.String(view.NotAvailable), proto.Int32(-1)
	}
	if !t.MasterContainer.IsZero() {
		r.AmContainerId = convert.ToContainerID(t.MasterContainer)
	}
	return r
}

func (s *client) containerReport(x *view.Container) *pb.ContainerReport {
	return &pb.ContainerReport{
		ContainerId: convert.ToContainerID(x.ID), Resource: convert.ToResource(x.Resource, s.Types), NodeId: convert.ToNodeID(x.Node),
		Priority: convert.ToPriority(x.Priority), CreationTime: &x.CreatedAt, FinishTime: proto.Int64(0),
		LogUrl:              proto.String("http://" + x.NodeHTTPAddress + "/node/containerlogs/" + x.ID.String() + "/" + x.User),
		ContainerExitStatus: proto.Int32(0), ContainerState: pb.ContainerState_C_RUNNING.Enum(),
		NodeHttpAddress: proto.String("http://" + x.NodeHTTPAddress), ExecutionType: convert.ToExecutionType(x.ExecutionType),
	}
}
