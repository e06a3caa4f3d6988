package tracker

import (
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/rpc"
	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/field"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/scan"
	"github.com/heddle-project/heddle/wire/serve"
	"github.com/heddle-project/heddle/yarn"
)

// Every node sends a heartbeat about once a second. So requests are scanned in place and
// answers appended to bytes: see package scan.

// beats pools scanned requests.
var beats = sync.Pool{New: func() any { return new(scan.Heartbeat) }}

// keepStatuses bounds the lists of a request that is pooled.
const keepStatuses = 1 << 10

func (t *tracker) heartbeat(c *ipc.Call) {
	h := beats.Get().(*scan.Heartbeat)
	if err := h.Scan(c.Body, MaxContainers); err != nil {
		refuse(c, h, err)
		return
	}
	logs, err := heartbeatLogs(c.Body)
	if err != nil {
		serve.Refuse(c, serve.YarnException, "heartbeat of %s:%d: %v", clip(string(h.Host)), h.Port, err)
		return
	}
	labels, err := heartbeatLabels(h.Labels)
	if err != nil {
		serve.Refuse(c, serve.YarnException, "heartbeat of %s:%d: %v", clip(string(h.Host)), h.Port, err)
		return
	}
	cmd := t.command(h)
	cmd.Logs, cmd.Labels = logs, labels
	known := knownKeys{container: h.ContainerKey, node: h.NodeKey}
	if cap(h.Containers) <= keepStatuses && cap(h.KeepAlive) <= keepStatuses {
		clear(h.Containers)
		beats.Put(h)
	}
	cmd.Ticket = t.Loop.Expect(func(v any, err error) {
		if err != nil {
			rpc.Fail(c, err)
			return
		}
		t.answerHeartbeat(c, cmd.Node, known, v.(*engine.HeartbeatReply))
	})
	t.Loop.Post(cmd)
}

func refuse(c *ipc.Call, h *scan.Heartbeat, err error) {
	var limit *scan.LimitError
	if errors.As(err, &limit) {
		serve.Refuse(c, serve.YarnException, "heartbeat of %s:%d: %v", clip(string(h.Host)), h.Port, limit)
		return
	}
	c.Fail(&ipc.RemoteError{Class: ipc.ClassServer, Message: fmt.Sprintf("cannot read the request of %s: %v", c.Method, err)})
}

// command makes the engine's command. It copies, because h is used again.
func (t *tracker) command(h *scan.Heartbeat) *engine.Heartbeat {
	cmd := &engine.Heartbeat{
		Node: yarn.NodeID{Host: t.hosts.of(h.Host), Port: h.Port}, ResponseID: h.ResponseID,
		Health:        engine.Health{Healthy: !h.HasHealth || h.Healthy, Report: clip(string(h.HealthReport)), At: h.HealthAt},
		ContainersUse: engine.Utilization(h.ContainersUse), NodeUse: engine.Utilization(h.NodeUse), Opportunistic: engine.Opportunistic(h.Opportunistic),
		KeepAlive: append([]yarn.ApplicationID(nil), h.KeepAlive...),
	}
	if len(h.Containers) > 0 {
		cmd.Containers = make([]engine.ContainerStatus, len(h.Containers))
	}
	for i := range h.Containers {
		s := &h.Containers[i]
		cmd.Containers[i] = engine.ContainerStatus{ID: s.ID, Complete: s.Complete(), ExitStatus: s.ExitStatus,
			Diagnostics: diagnostics(s.Diagnostics), Execution: s.Execution}
	}
	return cmd
}

// diagnostics is a container's text; it allocates nothing for the usual one.
func diagnostics(b []byte) string {
	if string(b) == noDiagnostics {
		return noDiagnostics
	}
	return clip(string(b))
}

const noDiagnostics = "N/A"

// knownKeys are the ids of the keys that the node knows.
type knownKeys struct{ container, node int32 }

// answerHeartbeat sends the answer and keeps it, or repeats the last one if the engine
// says so.
func (t *tracker) answerHeartbeat(c *ipc.Call, node yarn.NodeID, known knownKeys, r *engine.HeartbeatReply) {
	if r.Duplicate {
		t.last.Repeat(c, node)
		return
	}
	rpc.Compose(func(b []byte) []byte { return t.appendAnswer(b, known, r) }, func(b []byte) {
		if r.Action == engine.NodeNormal {
			t.last.Keep(node, b)
		} else {
			t.last.Drop(node)
		}
		c.Reply(b)
	})
}

// appendAnswer appends a NodeHeartbeatResponseProto.
func (t *tracker) appendAnswer(b []byte, known knownKeys, r *engine.HeartbeatReply) []byte {
	b = field.AppendInt(b, 1, int64(r.ResponseID))
	if k, ok := t.ContainerKeys.ForHeartbeat(known.container); ok {
		b = appendKey(b, 2, k)
	}
	if k, ok := t.NodeKeys.ForHeartbeat(known.node); ok {
		b = appendKey(b, 3, k)
	}
	b = field.AppendInt(b, 4, int64(r.Action))
	for _, id := range r.CleanupContainers {
		b = field.AppendContainerID(b, 5, id)
	}
	for _, id := range r.CleanupApplications {
		b = field.AppendApplicationID(b, 6, id)
	}
	b = field.AppendInt(b, 7, t.HeartbeatMillis)
	if r.Diagnostics != "" {
		b = field.AppendText(b, 8, r.Diagnostics)
	}
	for _, id := range r.RemoveContainers {
		b = field.AppendContainerID(b, 9, id)
	}
	if r.LabelsAccepted {
		b = field.AppendInt(b, 11, 1)
	}
	for i := range r.Updates { // NodeManagers of Hadoop 2 read no other list than the first
		if r.Updates[i].Type == yarn.DecreaseResource {
			b = t.appendUpdated(b, 12, &r.Updates[i].Grant)
		}
	}
	for _, s := range r.Signals {
		var mark int
		b, mark = field.Open(b, 13)
		b = field.AppendContainerID(b, 1, s.Container)
		b = field.Shut(field.AppendInt(b, 2, int64(s.Signal)), mark)
	}
	if r.Total != nil {
		b = field.AppendResource(b, 14, *r.Total, t.Types)
	}
	if q := r.Queue; q != nil {
		var mark int
		b, mark = field.Open(b, 15)
		b = field.AppendInt(b, 1, int64(q.Length))
		b = field.Shut(field.AppendInt(b, 2, int64(q.WaitMillis)), mark)
	}
	for i := range r.Updates {
		b = t.appendUpdated(b, 17, &r.Updates[i].Grant)
	}
	return b
}

func appendKey(b []byte, num protowire.Number, k state.MasterKey) []byte {
	b, mark := field.Open(b, num)
	return field.Shut(field.AppendBytes(field.AppendInt(b, 1, int64(k.ID)), 2, k.Bytes), mark)
}

// appendUpdated appends a container that has changed, as a node gets it: with a token, in which Java NodeManagers look for the change.
func (t *tracker) appendUpdated(b []byte, num protowire.Number, g *engine.Grant) []byte {
	b, mark := field.Open(b, num)
	b = field.AppendContainerID(b, 1, g.ID)
	b = field.AppendNodeID(b, 2, g.Node)
	b = field.AppendText(b, 3, g.NodeHTTPAddress)
	b = field.AppendResource(b, 4, g.Resource, t.Types)
	b = field.AppendPriority(b, 5, g.Priority)
	b = scan.AppendToken(b, 6, t.ContainerToken(*g))
	b = scan.AppendExecution(b, 7, g.Execution)
	b = field.AppendInt(b, 8, g.AllocationRequestID)
	return field.Shut(field.AppendInt(b, 9, int64(g.Version)), mark)
}

// maxNames bounds the names that are kept. One more drops all others.
const maxNames = 100_000

// names keeps the host names of registered nodes, so that a heartbeat does not
// allocate its own.
type names struct {
	mu   sync.RWMutex
	kept map[string]string
}

func (n *names) add(host string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil || len(n.kept) >= maxNames {
		n.kept = map[string]string{}
	}
	n.kept[host] = host
}

func (n *names) of(host []byte) string {
	n.mu.RLock()
	s, ok := n.kept[string(host)]
	n.mu.RUnlock()
	if ok {
		return s
	}
	return string(host)
}
