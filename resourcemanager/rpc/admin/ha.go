package admin

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// ServiceFailed is the class of a transition that has failed.
const ServiceFailed = "org.apache.hadoop.ha.ServiceFailedException"

// HAConfig is what HAServiceProtocol needs.
type HAConfig struct {
	Enabled   bool // without high availability there are no transitions
	Automatic bool // yarn.resourcemanager.ha.automatic-failover.enabled
	Daemon    HADaemon
	// Go runs a transition beside the connection that asks for it, or returns false if too many are waiting.
	Go func(func()) bool
}

// HADaemon is what the protocol needs of the daemon. Transitions may take as long as loading the state store.
type HADaemon interface {
	IsAdmin(caller *ipc.Identity) bool
	Audit(caller *ipc.Identity, operation string, err error)
	RefreshAdminACL() error
	Active() bool
	BecomeActive(why string) error
	BecomeStandby(why string) error
}

type ha struct{ HAConfig }

// HAProtocol is the table of HAServiceProtocol's methods, which are for administrators.
func HAProtocol(cfg HAConfig) ipc.Protocol {
	h := &ha{cfg}
	methods := map[string]ipc.Handler{
		"monitorHealth":    h.guarded("monitorHealth", func(c *ipc.Call) { serve.Answer(c, &pb.MonitorHealthResponse{}) }),
		"getServiceStatus": h.guarded("getServiceState", h.status),
		"transitionToActive": func(c *ipc.Call) {
			if m := (&pb.TransitionToActiveRequest{}); serve.Decode(c, m) {
				h.transition(c, "transitionToActive", m.GetReqInfo(), &pb.TransitionToActiveResponse{})
			}
		},
		"transitionToStandby": func(c *ipc.Call) {
			if m := (&pb.TransitionToStandbyRequest{}); serve.Decode(c, m) {
				h.transition(c, "transitionToStandby", m.GetReqInfo(), &pb.TransitionToStandbyResponse{})
			}
		},
		"transitionToObserver": func(c *ipc.Call) { serve.Refuse(c, ServiceFailed, "Does not support transition to Observer") },
	}
	return ipc.Protocol{Name: HAName, Version: 1, Methods: methods}
}

// guarded is handle for administrators.
func (h *ha) guarded(operation string, handle ipc.Handler) ipc.Handler {
	return func(c *ipc.Call) {
		if h.allowed(c, operation) {
			handle(c)
		}
	}
}

func (h *ha) allowed(c *ipc.Call, operation string) bool {
	if h.Daemon.IsAdmin(c.Caller) {
		return true
	}
	h.refuse(c, operation, ipc.ClassAccessControl, &Denied{c.Caller.User, operation})
	return false
}

// refuse answers and audits a call that is not carried out.
func (h *ha) refuse(c *ipc.Call, operation, class string, why error) {
	h.Daemon.Audit(c.Caller, operation, why)
	serve.Refuse(c, class, "%v", why)
}

func (h *ha) status(c *ipc.Call) {
	state := pb.HAServiceState_STANDBY
	if h.Daemon.Active() {
		state = pb.HAServiceState_ACTIVE
	}
	serve.Answer(c, &pb.GetServiceStatusResponse{State: &state, ReadyToBecomeActive: proto.Bool(true)})
}

// transition is one of the two.
//
// compat: who asks an active ResourceManager to become active is not checked, and told that it is. The administrators are read
// anew before anybody is checked.
func (h *ha) transition(c *ipc.Call, operation string, m *pb.HAStateChangeRequestInfo, done proto.Message) {
	toActive := operation == "transitionToActive"
	if !h.Enabled {
		if h.allowed(c, operation) {
			h.refuse(c, operation, serve.YarnException, fmt.Errorf("cannot %s: high availability (yarn.resourcemanager.ha.enabled) is off", operation))
		}
		return
	}
	if toActive && h.Daemon.Active() {
		serve.Answer(c, done)
		return
	}
	started := h.Go(func() {
		if err := h.Daemon.RefreshAdminACL(); err != nil {
			h.refuse(c, operation, ServiceFailed, fmt.Errorf("Can not execute refreshAdminAcls: %w", err))
			return
		}
		if !h.allowed(c, operation) {
			return
		}
		if err := h.mayDecide(c, m.GetReqSource()); err != nil {
			h.refuse(c, operation, ipc.ClassAccessControl, err)
			return
		}
		why := fmt.Sprintf("%s by %s from %s (%s)", operation, c.Caller.User, c.Caller.Remote.Addr(), m.GetReqSource())
		become, name := h.Daemon.BecomeStandby, "Standby"
		if toActive {
			become, name = h.Daemon.BecomeActive, "Active"
		}
		if err := become(why); err != nil {
			h.refuse(c, operation, ServiceFailed, fmt.Errorf("Error when transitioning to %s mode: %w", name, err))
			return
		}
		h.Daemon.Audit(c.Caller, operation, nil)
		serve.Answer(c, done)
	})
	if !started {
		serve.Refuse(c, ServiceFailed, "cannot %s: too many transitions are waiting", operation)
	}
}

// mayDecide are Hadoop's rules of who decides: administrators while failover is manual, or by force; a failover controller otherwise.
func (h *ha) mayDecide(c *ipc.Call, source pb.HARequestSource) error {
	switch {
	case source == pb.HARequestSource_REQUEST_BY_USER && h.Automatic:
		return fmt.Errorf("Manual failover for this ResourceManager is disallowed, because automatic failover is enabled.")
	case source == pb.HARequestSource_REQUEST_BY_ZKFC && !h.Automatic:
		return fmt.Errorf("Request from ZK failover controller at %s denied since automatic failover is not enabled", c.Caller.Remote.Addr())
	}
	return nil
}
