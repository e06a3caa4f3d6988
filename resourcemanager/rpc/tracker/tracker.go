// Package tracker serves ResourceTracker, the protocol of NodeManagers.
package tracker

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/internal/release"
	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/secrets"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/wire/token"
	"github.com/heddle-project/heddle/yarn"
)

// Name is the protocol's name on the wire.
const Name = "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"

// Bounds of what a node may report.
const (
	MaxContainers = 20_000 // in one registration or heartbeat
	maxText       = 64 << 10
)

// Config is what the protocol needs.
type Config struct {
	Loop             rpc.Poster
	Types            yarn.ResourceTypes
	ContainerKeys    *secrets.Containers
	NodeKeys         *secrets.NM
	ContainerToken   func(engine.Grant) token.Token
	ClusterTimestamp int64
	HeartbeatMillis  int64
	MinimumVersion   string                                    // "NONE", "EqualToRM" or a version
	Rack             func(host string) string                  // must not block for long
	Excluded         func(host string, addr netip.Addr) string // why the lists do not admit a host; empty: they do
	Size             func(yarn.NodeID) (engine.NodeSize, bool) // what a node is to offer, whatever it says
	Untracked        func(host string, addr netip.Addr) bool   // no list names it, and that counts
}

type tracker struct {
	Config
	last  rpc.Last[yarn.NodeID]
	hosts names
}

// Server is the protocol and the answers that it keeps.
type Server struct {
	Protocol ipc.Protocol
	t        *tracker
}

// New makes the table of the protocol's methods.
func New(cfg Config) *Server {
	t := &tracker{Config: cfg}
	return &Server{t: t, Protocol: ipc.Protocol{Name: Name, Version: 1, Methods: map[string]ipc.Handler{
		"registerNodeManager":   serve.With(func() *pb.RegisterNodeManagerRequest { return &pb.RegisterNodeManagerRequest{} }, t.register),
		"nodeHeartbeat":         t.heartbeat,
		"unRegisterNodeManager": serve.With(func() *pb.UnRegisterNodeManagerRequest { return &pb.UnRegisterNodeManagerRequest{} }, t.unregister),
	}}}
}

// Forget drops the last answer to a node that registers anew or has left.
func (s *Server) Forget(id yarn.NodeID) { s.t.last.Drop(id) }

func (t *tracker) register(c *ipc.Call, m *pb.RegisterNodeManagerRequest) {
	cmd, err := t.registration(c, m)
	if err != nil {
		serve.Refuse(c, serve.YarnException, "cannot register %s: %v", convert.NodeID(m.GetNodeId()), err)
		return
	}
	if why := t.tooOld(m.GetNmVersion()); why != "" {
		t.answerRegistration(c, engine.RegisterNodeReply{Action: engine.NodeShutdown, Diagnostics: why})
		return
	}
	id := cmd.Node
	cmd.Ticket = t.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		t.hosts.add(id.Host)
		t.answerRegistration(c, v.(engine.RegisterNodeReply))
	})
	t.Loop.Post(cmd)
}

// registration checks a request and makes a command of it.
func (t *tracker) registration(c *ipc.Call, m *pb.RegisterNodeManagerRequest) (cmd engine.RegisterNode, err error) {
	id := convert.NodeID(m.GetNodeId())
	if !isHost(id.Host) || id.Port < 0 || id.Port > 65535 {
		return cmd, fmt.Errorf("%q is not a node's address: it must be a host name or an address, and a port", id)
	}
	if p := m.GetHttpPort(); p < 0 || p > 65535 {
		return cmd, fmt.Errorf("the port of its pages, %d, is not one from 0 to 65535", p)
	}
	if len(m.GetContainerStatuses()) > MaxContainers {
		return cmd, fmt.Errorf("%d containers reported, at most %d are taken", len(m.GetContainerStatuses()), MaxContainers)
	}
	cmd = engine.RegisterNode{Node: id, HTTPPort: m.GetHttpPort(), Version: m.GetNmVersion(), Health: engine.Health{Healthy: true}}
	if cmd.Total, err = convert.Resource(m.GetResource(), t.Types); err != nil {
		return cmd, err
	}
	for i, amount := range cmd.Total {
		if amount < 0 {
			return cmd, fmt.Errorf("it offers a negative amount of %s", t.Types[i].Name)
		}
	}
	if cmd.Physical, err = convert.Resource(m.GetPhysicalResource(), t.Types); err != nil {
		cmd.Physical = yarn.Resource{}
	}
	if s := m.GetNodeStatus(); s != nil && s.GetNodeHealthStatus() != nil {
		cmd.Health = health(s.GetNodeHealthStatus())
	}
	for _, p := range m.GetContainerStatuses() {
		r, err := t.recovered(p)
		if err != nil {
			return cmd, err
		}
		cmd.Containers = append(cmd.Containers, r)
	}
	for _, p := range m.GetRunningApplications() {
		cmd.Applications = append(cmd.Applications, convert.ApplicationID(p))
	}
	if cmd.Logs, err = logReports(m.GetLogAggregationReportsForApps()); err != nil {
		return cmd, err
	}
	if cmd.Labels, err = namedLabels(m.GetNodeLabels()); err != nil {
		return cmd, err
	}
	cmd.Rack = t.Rack(id.Host) // which may take a while: what can be refreshed meanwhile comes after it
	cmd.Excluded = t.Excluded(id.Host, c.Caller.Remote.Addr())
	cmd.Untracked = t.Untracked(id.Host, c.Caller.Remote.Addr())
	if size, ok := t.Size(id); ok {
		said := cmd.Total
		cmd.Total = size.Of(said)
		cmd.Resized = cmd.Total != said
	}
	return cmd, nil
}

// isHost tells whether a node's host is a name or an address and nothing that an address of the node's pages would be cut short or led elsewhere by.
func isHost(host string) bool {
	if host == "" || len(host) > 255 {
		return false
	}
	for _, r := range host {
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == utf8.RuneError || strings.ContainsRune(`/?#@\`, r) {
			return false
		}
	}
	if !strings.ContainsRune(host, ':') && !strings.ContainsAny(host, "[]") {
		return true
	}
	literal, bracketed := strings.CutPrefix(host, "[")
	if bracketed != strings.HasSuffix(literal, "]") {
		return false
	}
	_, err := netip.ParseAddr(strings.TrimSuffix(literal, "]"))
	return err == nil
}

func (t *tracker) recovered(p *pb.NMContainerStatus) (engine.RecoveredContainer, error) {
	resource, err := convert.Resource(p.GetResource(), t.Types)
	return engine.RecoveredContainer{
		ContainerStatus: engine.ContainerStatus{ID: convert.ContainerID(p.GetContainerId()),
			Complete:   p.GetContainerState() == pb.ContainerState_C_COMPLETE,
			ExitStatus: p.GetContainerExitStatus(), Diagnostics: clip(p.GetDiagnostics()),
			Execution: convert.ExecutionType(p.GetExecutionType())},
		Resource: resource, Priority: p.GetPriority().GetPriority(), CreatedAt: p.GetCreationTime(),
		Label: p.GetNodeLabelExpression(), Version: p.GetVersion(), AllocationRequestID: p.GetAllocationRequestId(),
	}, err
}

func (t *tracker) answerRegistration(c *ipc.Call, r engine.RegisterNodeReply) {
	m := &pb.RegisterNodeManagerResponse{
		NodeAction: action(r.Action), RmIdentifier: &t.ClusterTimestamp, RmVersion: proto.String(release.Hadoop),
		ContainerTokenMasterKey: masterKey(t.ContainerKeys.Current()), NmTokenMasterKey: masterKey(t.NodeKeys.Current()),
	}
	if r.LabelsAccepted {
		m.AreNodeLabelsAcceptedByRM = proto.Bool(true)
	}
	if r.Diagnostics != "" {
		m.DiagnosticsMessage = &r.Diagnostics
	}
	serve.Answer(c, m)
}

func (t *tracker) unregister(c *ipc.Call, m *pb.UnRegisterNodeManagerRequest) {
	t.Loop.Post(engine.UnregisterNode{Node: convert.NodeID(m.GetNodeId()), Ticket: t.Loop.Expect(func(_ any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		serve.Answer(c, &pb.UnRegisterNodeManagerResponse{})
	})})
}

func action(a engine.NodeAction) *pb.NodeAction { return pb.NodeAction(a).Enum() }

func masterKey(k state.MasterKey) *pb.MasterKey {
	return &pb.MasterKey{KeyId: &k.ID, Bytes: k.Bytes}
}

func health(p *pb.NodeHealthStatus) engine.Health {
	return engine.Health{Healthy: p == nil || p.GetIsNodeHealthy(), Report: clip(p.GetHealthReport()), At: p.GetLastHealthReportTime()}
}

// clip bounds a text that a node sends.
func clip(s string) string {
	if len(s) > maxText {
		return s[:maxText]
	}
	return s
}
