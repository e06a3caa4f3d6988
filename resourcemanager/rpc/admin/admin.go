// Package admin serves ResourceManagerAdministrationProtocol and
// HAServiceProtocol, the protocols of administrators.
package admin

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// The protocols' names on the wire.
const (
	Name   = "org.apache.hadoop.yarn.server.api.ResourceManagerAdministrationProtocolPB"
	HAName = "org.apache.hadoop.ha.HAServiceProtocol"
)

// Daemon is what the protocol needs of the daemon: who is an administrator, and what
// can be read anew. Each Refresh method reads its files and either takes effect as a
// whole or changes nothing.
type Daemon interface {
	IsAdmin(caller *ipc.Identity) bool
	// RefreshQueues reads the queue file, for a user. done must be called with the engine's answer to cmd. After an error, too, cmd must
	// be posted: it says why the file cannot be read, and the engine refuses it. Without done nothing is refreshed here, and err is
	// the answer.
	//
	// compat: even a refresh that fails changes something; see engine.RefreshQueues.
	RefreshQueues(user string) (cmd engine.RefreshQueues, done func(error), err error)
	// RefreshNodes reads the include and exclude lists. seconds is the timeout of the
	// request; nil: it names none.
	RefreshNodes(how engine.Decommission, seconds *int32) (engine.RefreshNodes, error)
	// RefreshNodesResources reads dynamic-resources.xml.
	RefreshNodesResources() (engine.SetNodeResources, error)
	// RefreshMaxPriority reads yarn.cluster.max-application-priority.
	RefreshMaxPriority() (engine.SetMaxPriority, error)
	RefreshGroups() error
	RefreshProxyUsers() error
	RefreshAdminACL() error
	RefreshServiceACL() error
	Groups(user string) []string
	Audit(caller *ipc.Identity, operation string, err error)
}

// Loop takes commands and gives views.
type Loop interface {
	rpc.Poster
	rpc.Reader
}

// Config is what the protocols need.
type Config struct {
	Loop   Loop
	Types  yarn.ResourceTypes
	Daemon Daemon
}

type admin struct{ Config }

// Protocol is the table of the administrators' methods.
func Protocol(cfg Config) ipc.Protocol {
	a := &admin{cfg}
	methods := map[string]ipc.Handler{
		"refreshQueues":                       a.guarded("refreshQueues", ipc.InTurn(a.refreshQueues)),
		"refreshNodes":                        a.guarded("refreshNodes", ipc.InTurn(a.refreshNodes)),
		"refreshUserToGroupsMappings":         a.reread("refreshUserToGroupsMappings", cfg.Daemon.RefreshGroups, &pb.RefreshUserToGroupsMappingsResponse{}),
		"refreshSuperUserGroupsConfiguration": a.reread("refreshSuperUserGroupsConfiguration", cfg.Daemon.RefreshProxyUsers, &pb.RefreshSuperUserGroupsConfigurationResponse{}),
		"refreshAdminAcls":                    a.reread("refreshAdminAcls", cfg.Daemon.RefreshAdminACL, &pb.RefreshAdminAclsResponse{}),
		"refreshServiceAcls":                  a.reread("refreshServiceAcls", cfg.Daemon.RefreshServiceACL, &pb.RefreshServiceAclsResponse{}),
		"getGroupsForUser":                    ipc.InTurn(serve.With(message[pb.GetGroupsForUserRequest], a.groups)),
		"updateNodeResource":                  a.guarded("updateNodeResource", ipc.InTurn(serve.With(message[pb.UpdateNodeResourceRequest], a.updateNodeResource))),
		"refreshNodesResources":               a.guarded("refreshNodesResources", ipc.InTurn(a.refreshNodesResources)),
		"refreshClusterMaxPriority":           a.guarded("refreshClusterMaxPriority", ipc.InTurn(a.refreshMaxPriority)),
		"checkForDecommissioningNodes":        a.guarded("checkForDecommissioningNodes", ipc.InTurn(a.decommissioning)),
		"addToClusterNodeLabels":              a.guarded("addToClusterNodeLabels", ipc.InTurn(serve.With(message[pb.AddToClusterNodeLabelsRequest], a.addLabels))),
		"removeFromClusterNodeLabels":         a.guarded("removeFromClusterNodeLabels", ipc.InTurn(serve.With(message[pb.RemoveFromClusterNodeLabelsRequest], a.removeLabels))),
		"replaceLabelsOnNodes":                a.guarded("replaceLabelsOnNodes", ipc.InTurn(serve.With(message[pb.ReplaceLabelsOnNodeRequest], a.replaceLabels))),
		"mapAttributesToNodes":                a.missing("mapAttributesToNodes", "node attributes"),
	}
	return ipc.Protocol{Name: Name, Version: 1, Methods: methods}
}

// Denied is the refusal of a call by a user who is no administrator.
type Denied struct{ User, Operation string }

func (d *Denied) Error() string {
	return fmt.Sprintf("User %s doesn't have permission to call '%s'", d.User, d.Operation)
}

// refuse answers and audits a call that is invalid.
func (a *admin) refuse(c *ipc.Call, operation, format string, args ...any) {
	a.Daemon.Audit(c.Caller, operation, fmt.Errorf(format, args...))
	serve.Refuse(c, serve.YarnException, format, args...)
}

// missing is the handler of a method that is not built.
func (a *admin) missing(operation, what string) ipc.Handler {
	answer := serve.Missing(what)
	return a.guarded(operation, func(c *ipc.Call) {
		a.Daemon.Audit(c.Caller, operation, errors.New(what+" is not built"))
		answer(c)
	})
}

// guarded is h for administrators; calls of others are refused and audited.
func (a *admin) guarded(operation string, h ipc.Handler) ipc.Handler {
	return func(c *ipc.Call) {
		if !a.Daemon.IsAdmin(c.Caller) {
			err := &Denied{c.Caller.User, operation}
			a.Daemon.Audit(c.Caller, operation, err)
			serve.Deny(c, "%v", err)
			return
		}
		h(c)
	}
}

// finish answers and audits a call that has run.
func (a *admin) finish(c *ipc.Call, operation string, err error, m proto.Message) {
	a.Daemon.Audit(c.Caller, operation, err)
	if err != nil {
		rpc.Fail(c, err)
		return
	}
	serve.Answer(c, m)
}

// reread is the handler of a call that has do read something anew.
func (a *admin) reread(operation string, do func() error, m proto.Message) ipc.Handler {
	return a.guarded(operation, ipc.InTurn(func(c *ipc.Call) {
		err := do()
		if err != nil {
			err = &ipc.RemoteError{Class: serve.YarnException, Message: "java.io.IOException: " + err.Error()}
		}
		a.finish(c, operation, err, m)
	}))
}

func (a *admin) refreshQueues(c *ipc.Call) {
	cmd, done, err := a.Daemon.RefreshQueues(c.Caller.User)
	if done == nil {
		a.finish(c, "refreshQueues", err, nil)
		return
	}
	cmd.Ticket = a.Loop.Expect(func(_ any, err error) {
		done(err)
		a.finish(c, "refreshQueues", err, &pb.RefreshQueuesResponse{})
	})
	a.Loop.Post(cmd)
}

func (a *admin) refreshNodes(c *ipc.Call) {
	m := &pb.RefreshNodesRequest{}
	if !serve.Decode(c, m) {
		return
	}
	how := engine.AtOnce
	switch m.GetDecommissionType() {
	case pb.DecommissionType_GRACEFUL:
		how = engine.Graceful
	case pb.DecommissionType_FORCEFUL:
		how = engine.Forced
	}
	cmd, err := a.Daemon.RefreshNodes(how, m.DecommissionTimeout)
	if err != nil {
		a.finish(c, "refreshNodes", &ipc.RemoteError{Class: serve.YarnException, Message: "refreshNodes failed and changed nothing: " + err.Error()}, nil)
		return
	}
	cmd.User = c.Caller.User
	cmd.Ticket = a.Loop.Expect(func(_ any, err error) { a.finish(c, "refreshNodes", err, &pb.RefreshNodesResponse{}) })
	a.Loop.Post(cmd)
}

// decommissioning lists the nodes that are DECOMMISSIONING.
func (a *admin) decommissioning(c *ipc.Call) {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.ViewPatience)
	defer cancel()
	v, err := a.Loop.Views(ctx, view.Nodes)
	if err != nil {
		a.finish(c, "checkForDecommissioningNodes", err, nil)
		return
	}
	r := &pb.CheckForDecommissioningNodesResponse{}
	for _, n := range v.Nodes() {
		if n.State == yarn.NodeDecommissioning {
			r.DecommissioningNodes = append(r.DecommissioningNodes, convert.ToNodeID(n.ID))
		}
	}
	a.finish(c, "checkForDecommissioningNodes", nil, r)
}

func (a *admin) groups(c *ipc.Call, m *pb.GetGroupsForUserRequest) {
	serve.Answer(c, &pb.GetGroupsForUserResponse{Groups: a.Daemon.Groups(m.GetUser())})
}

// refreshNodesResources gives nodes the sizes of dynamic-resources.xml.
func (a *admin) refreshNodesResources(c *ipc.Call) {
	const operation = "refreshNodesResources"
	cmd, err := a.Daemon.RefreshNodesResources()
	if err != nil {
		a.unread(c, operation, err)
		return
	}
	cmd.Ticket = a.Loop.Expect(func(_ any, err error) { a.finish(c, operation, err, &pb.RefreshNodesResourcesResponse{}) })
	a.Loop.Post(cmd)
}

// refreshMaxPriority has priorities cut to yarn.cluster.max-application-priority as it is now.
func (a *admin) refreshMaxPriority(c *ipc.Call) {
	const operation = "refreshClusterMaxPriority"
	cmd, err := a.Daemon.RefreshMaxPriority()
	if err != nil {
		a.unread(c, operation, err)
		return
	}
	cmd.Ticket = a.Loop.Expect(func(_ any, err error) { a.finish(c, operation, err, &pb.RefreshClusterMaxPriorityResponse{}) })
	a.Loop.Post(cmd)
}

// unread answers a call for which something could not be read anew.
func (a *admin) unread(c *ipc.Call, operation string, err error) {
	a.finish(c, operation, &ipc.RemoteError{Class: serve.YarnException, Message: "java.io.IOException: " + err.Error()}, nil)
}

// overcommitTimeout returns the timeout of a request, or -1, the stock command's default, if the client sends none.
func overcommitTimeout(o *pb.ResourceOption) int64 {
	if o == nil || o.OverCommitTimeout == nil {
		return -1
	}
	return int64(*o.OverCommitTimeout)
}

// updateNodeResource changes one node. A change of several could succeed in part, and
// no stock command sends more than one.
func (a *admin) updateNodeResource(c *ipc.Call, m *pb.UpdateNodeResourceRequest) {
	if len(m.GetNodeResourceMap()) != 1 {
		a.refuse(c, "updateNodeResource", "updateNodeResource takes exactly one node at a time, not %d", len(m.GetNodeResourceMap()))
		return
	}
	entry := m.GetNodeResourceMap()[0]
	total, err := convert.Resource(entry.GetResourceOption().GetResource(), a.Types)
	if err == nil && (total.MemoryMB() < 0 || total.VCoreCount() < 0) {
		err = fmt.Errorf("a node cannot have less than nothing: %s", total)
	}
	if err != nil {
		a.refuse(c, "updateNodeResource", "Cannot change %s: %v", convert.NodeID(entry.GetNodeId()), err)
		return
	}
	cmd := engine.SetNodeResource{Node: convert.NodeID(entry.GetNodeId()), Total: total, Overcommit: engine.NewOvercommit(overcommitTimeout(entry.GetResourceOption()))}
	cmd.Ticket = a.Loop.Expect(func(_ any, err error) {
		a.finish(c, "updateNodeResource", err, &pb.UpdateNodeResourceResponse{})
	})
	a.Loop.Post(cmd)
}
