package client

import (
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Grant is a container that the ResourceManager has given to a master, with the
// token that starts it.
type Grant struct {
	ID              yarn.ContainerID
	Node            yarn.NodeID
	NodeHTTPAddress string // host:port of the node's web server
	Size            Resource
	Priority        int32
	RequestID       int64 // of the Request that it answers; -1 if there is none
	Opportunistic   bool
	Version         int32 // counts the container's changes
	Token           token.Token
}

// Completion is the end of a container. ExitStatus is that of its process, or
// one of YARN's below zero (yarn.ExitAborted and the like).
type Completion struct {
	ID          yarn.ContainerID
	ExitStatus  int32
	Diagnostics string
}

// Changed is a change that was made. A decrease or a demotion reaches the node
// with the new token: see [Nodes.Change].
type Changed struct {
	Type  yarn.UpdateType
	Grant Grant
}

// Unchanged is a change that was refused.
type Unchanged struct {
	Container yarn.ContainerID
	Type      yarn.UpdateType
	Reason    string // INCORRECT_CONTAINER_VERSION_ERROR, UPDATE_OUTSTANDING_ERROR …
	Version   int32  // that the container has
}

// Preemption is what the ResourceManager is about to take back.
type Preemption struct {
	Strict     []yarn.ContainerID // whatever the master does
	Negotiable []yarn.ContainerID // or as much elsewhere
}

// Allocation is the answer to a master's heartbeat. The ResourceManager reports
// everything in it only once.
type Allocation struct {
	Granted      []Grant
	Completed    []Completion
	Changed      []Changed
	Unchanged    []Unchanged
	Nodes        []*Node // whose state has changed
	Preempt      Preemption
	Previous     []Grant  // of earlier attempts, found again after a restart
	Headroom     Resource // what the application may still get
	ClusterNodes int32
	// Resynced says that the ResourceManager had been restarted and was told
	// everything again.
	Resynced bool
}

// Registration is the answer to a master's registration.
type Registration struct {
	Maximum  Resource // the largest container of the queue
	Queue    string   // full path
	ACLs     map[AppAccess]string
	Previous []Grant // containers of earlier attempts that still run
	// ClientKey signs the tokens of the master's clients; empty without security.
	ClientKey []byte
}

func fromToken(m *pb.Token) token.Token {
	return token.Token{Identifier: m.GetIdentifier(), Password: m.GetPassword(), Kind: m.GetKind(), Service: m.GetService()}
}

func toToken(t token.Token) *pb.Token {
	// Required fields: nil would not be sent.
	return &pb.Token{Identifier: append([]byte{}, t.Identifier...), Password: append([]byte{}, t.Password...), Kind: &t.Kind, Service: &t.Service}
}

func fromGrant(m *pb.Container) Grant {
	return Grant{
		ID: fromContainerID(m.GetId()), Node: fromNodeID(m.GetNodeId()), NodeHTTPAddress: m.GetNodeHttpAddress(),
		Size: fromResource(m.GetResource()), Priority: m.GetPriority().GetPriority(), RequestID: m.GetAllocationRequestId(),
		Opportunistic: m.GetExecutionType() == pb.ExecutionType_OPPORTUNISTIC, Version: m.GetVersion(), Token: fromToken(m.GetContainerToken()),
	}
}

func fromAllocation(m *pb.AllocateResponse) *Allocation {
	return &Allocation{
		Granted: each(m.GetAllocatedContainers(), fromGrant),
		Completed: each(m.GetCompletedContainerStatuses(), func(s *pb.ContainerStatus) Completion {
			return Completion{fromContainerID(s.GetContainerId()), s.GetExitStatus(), s.GetDiagnostics()}
		}),
		Changed: each(m.GetUpdatedContainers(), func(u *pb.UpdatedContainer) Changed {
			return Changed{yarn.UpdateType(u.GetUpdateType()), fromGrant(u.GetContainer())}
		}),
		Unchanged: each(m.GetUpdateErrors(), func(e *pb.UpdateContainerError) Unchanged {
			return Unchanged{fromContainerID(e.GetUpdateRequest().GetContainerId()), yarn.UpdateType(e.GetUpdateRequest().GetUpdateType()),
				e.GetReason(), e.GetCurrentContainerVersion()}
		}),
		Nodes:    each(m.GetUpdatedNodes(), fromNode),
		Preempt:  Preemption{preempted(m.GetPreempt().GetStrictContract().GetContainer()), preempted(m.GetPreempt().GetContract().GetContainer())},
		Previous: each(m.GetContainersFromPreviousAttempts(), fromGrant),
		Headroom: fromResource(m.GetLimit()), ClusterNodes: m.GetNumClusterNodes(),
	}
}

func preempted(list []*pb.PreemptionContainer) []yarn.ContainerID {
	return each(list, func(m *pb.PreemptionContainer) yarn.ContainerID { return fromContainerID(m.GetId()) })
}

func fromRegistration(m *pb.RegisterApplicationMasterResponse) Registration {
	r := Registration{Maximum: fromResource(m.GetMaximumCapability()), Queue: m.GetQueue(), ACLs: map[AppAccess]string{},
		Previous: each(m.GetContainersFromPreviousAttempts(), fromGrant), ClientKey: m.GetClientToAmTokenMasterKey()}
	for _, a := range m.GetApplication_ACLs() {
		r.ACLs[AppAccess(a.GetAccessType())] = a.GetAcl()
	}
	return r
}
