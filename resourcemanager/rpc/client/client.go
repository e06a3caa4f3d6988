// Package client serves ApplicationClientProtocol, the protocol of users' clients.
package client

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/audit"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB"

// Access decides who may see and change what.
type Access interface {
	MayView(caller *ipc.Identity, a *view.Application) bool
	MayModify(caller *ipc.Identity, a *view.Application) bool
	Groups(user string) []string
	// KnownGroups are the same if they are known already; it waits for nothing.
	KnownGroups(user string) (groups []string, ok bool)
	// QueueRights are the caller's rights on each of the queues, in the order of paths.
	QueueRights(caller *ipc.Identity, paths []string) []Rights
}

// Rights are what a caller may do with a queue.
type Rights struct{ Submit, Administer bool }

// Contexts keeps submission contexts, which the engine never sees.
type Contexts interface {
	// Keep keeps the context of an application that is being submitted. done must be
	// called with the outcome. ok is false, and nothing is kept, while another
	// submission of the same id with another context is under way: whichever is
	// accepted must run with its own context.
	Keep(yarn.ApplicationID, []byte) (done func(accepted bool), ok bool)
}

// Config is what the protocol needs.
type Config struct {
	Loop interface {
		rpc.Poster
		rpc.Reader
	}
	Types        yarn.ResourceTypes
	Access       Access
	Contexts     Contexts
	Delegation   Delegation
	LoginToken   func(yarn.AttemptID) token.Token // the AMRM token for an unmanaged master
	Audit        *audit.Log
	MaxTags      int
	MaxTagLength int
	Places       view.Places
}

// Delegation issues, renews and cancels delegation tokens. done is called once the
// change is stored.
type Delegation interface {
	Issue(caller *ipc.Identity, renewer string, done func(token.Token, error))
	Renew(caller *ipc.Identity, t token.Token, done func(expires int64, err error))
	Cancel(caller *ipc.Identity, t token.Token, done func(error))
}

type client struct {
	Config
	lookUps, submissions chan struct{} // one element for each that runs on a goroutine of its own
}

// Bounds of calls that run on goroutines of their own; at a bound no more calls are read from connections. A look-up may wait
// for a publication of views, a submission for the external command that lists the submitter's groups.
const (
	maxLookUps     = 256
	maxSubmissions = 256
)

// Protocol is the table of the protocol's methods.
func Protocol(cfg Config) ipc.Protocol {
	s := &client{cfg, make(chan struct{}, maxLookUps), make(chan struct{}, maxSubmissions)}
	return ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"getNewApplication":           serve.With(message[pb.GetNewApplicationRequest], s.newApplication),
		"submitApplication":           s.submit,
		"getApplicationReport":        serve.With(message[pb.GetApplicationReportRequest], s.report),
		"getApplications":             ipc.InTurn(serve.With(message[pb.GetApplicationsRequest], s.list)),
		"forceKillApplication":        serve.With(message[pb.KillApplicationRequest], s.kill),
		"failApplicationAttempt":      serve.With(message[pb.FailApplicationAttemptRequest], s.failAttempt),
		"moveApplicationAcrossQueues": serve.With(message[pb.MoveApplicationAcrossQueuesRequest], s.move),
		"updateApplicationPriority":   serve.With(message[pb.UpdateApplicationPriorityRequest], s.priority),
		"updateApplicationTimeouts":   serve.With(message[pb.UpdateApplicationTimeoutsRequest], s.timeouts),
		"signalToContainer":           serve.With(message[pb.SignalContainerRequest], s.signal),
		"getApplicationAttemptReport": serve.With(message[pb.GetApplicationAttemptReportRequest], s.attempt),
		"getApplicationAttempts":      ipc.InTurn(serve.With(message[pb.GetApplicationAttemptsRequest], s.attempts)),
		"getContainerReport":          serve.With(message[pb.GetContainerReportRequest], s.container),
		"getContainers":               ipc.InTurn(serve.With(message[pb.GetContainersRequest], s.containers)),
		"getClusterMetrics":           ipc.InTurn(serve.With(message[pb.GetClusterMetricsRequest], s.metrics)),
		"getClusterNodes":             ipc.InTurn(serve.With(message[pb.GetClusterNodesRequest], s.nodes)),
		"getQueueInfo":                ipc.InTurn(serve.With(message[pb.GetQueueInfoRequest], s.queue)),
		"getQueueUserAcls":            ipc.InTurn(serve.With(message[pb.GetQueueUserAclsInfoRequest], s.queueACLs)),
		"getResourceTypeInfo":         serve.With(message[pb.GetAllResourceTypeInfoRequest], s.resourceTypes),
		"getNodeToLabels":             ipc.InTurn(serve.With(message[pb.GetNodesToLabelsRequest], s.nodesToLabels)),
		"getLabelsToNodes":            ipc.InTurn(serve.With(message[pb.GetLabelsToNodesRequest], s.labelsToNodes)),
		"getClusterNodeLabels":        ipc.InTurn(serve.With(message[pb.GetClusterNodeLabelsRequest], s.labels)),
		"getDelegationToken":          serve.With(message[pb.GetDelegationTokenRequest], s.delegationToken),
		"renewDelegationToken":        serve.With(message[pb.RenewDelegationTokenRequest], s.renewToken),
		"cancelDelegationToken":       serve.With(message[pb.CancelDelegationTokenRequest], s.cancelToken),
		"getResourceProfiles":         noProfiles,
		"getResourceProfile":          noProfiles,
		"getNewReservation":           serve.With(message[pb.GetNewReservationRequest], s.newReservation),
		"submitReservation":           serve.With(message[pb.ReservationSubmissionRequest], s.submitReservation),
		"updateReservation":           serve.With(message[pb.ReservationUpdateRequest], s.updateReservation),
		"deleteReservation":           serve.With(message[pb.ReservationDeleteRequest], s.deleteReservation),
		"listReservations":            ipc.InTurn(serve.With(message[pb.ReservationListRequest], s.listReservations)),
		"getClusterNodeAttributes":    answer(&pb.GetClusterNodeAttributesResponse{}),
		"getAttributesToNodes":        answer(&pb.GetAttributesToNodesResponse{}),
		"getNodesToAttributes":        answer(&pb.GetNodesToAttributesResponse{}),
	}}
}

// message makes an empty request.
func message[T any, P interface {
	*T
	proto.Message
}]() P {
	return new(T)
}

// noProfiles answers that there are no resource profiles. Clients know this exception
// and go on without them.
func noProfiles(c *ipc.Call) {
	serve.Refuse(c, serve.FeatureNotEnabled, "Resource profile is not enabled, please enable resource profile feature before using its functions. (by setting yarn.resourcemanager.resource-profiles.enabled to true)")
}

// answer is the handler of a method whose answer is always the same: it asks for
// something that Heddle does not have.
func answer(m proto.Message) ipc.Handler {
	return func(c *ipc.Call) { serve.Answer(c, m) }
}

// lookUp calls read with fresh views of those parts, on a goroutine of its own, since
// it may have to wait for them. It is for small answers.
func (s *client) lookUp(c *ipc.Call, parts view.Part, read func(*loop.Views)) {
	spawn(c, s.lookUps, func() { s.withViews(c, parts, read) })
}

// spawn runs a part of a call on a goroutine of its own, as soon as room has space.
func spawn(c *ipc.Call, room chan struct{}, f func()) {
	room <- struct{}{}
	c.Go(func() {
		defer func() { <-room }()
		f()
	})
}

// withViews calls read with fresh views of some parts. It may wait for them, so it is
// for calls that are served in turn.
func (s *client) withViews(c *ipc.Call, parts view.Part, read func(*loop.Views)) {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := s.Loop.Views(ctx, parts)
	if err != nil {
		rpc.Fail(c, err)
		return
	}
	read(v)
}
