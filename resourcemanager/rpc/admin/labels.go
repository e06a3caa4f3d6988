package admin

import (
	"errors"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/resourcemanager/loop"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/wire/convert"
	"github.com/heddle-project/heddle/wire/ipc"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// message makes an empty request.
func message[T any]() *T { return new(T) }

// labelsDone answers a change of labels. A refusal is a YarnException around an
// IOException, as in Apache: clients would repeat the call for ever after a bare
// IOException.
func (a *admin) labelsDone(c *ipc.Call, operation string, m proto.Message) loop.Done {
	return func(_ any, err error) {
		var refused *engine.Error
		if errors.As(err, &refused) {
			err = &ipc.RemoteError{Class: serve.YarnException, Message: "java.io.IOException: " + refused.Text}
		}
		a.finish(c, operation, err, m)
	}
}

// addLabels also takes the deprecated list of names, which is all that very old clients
// send. Newer clients fill in both; then only the list with exclusivity counts.
func (a *admin) addLabels(c *ipc.Call, m *pb.AddToClusterNodeLabelsRequest) {
	cmd := engine.AddLabels{}
	for _, l := range m.GetNodeLabels() {
		cmd.Labels = append(cmd.Labels, scheduler.Label{Name: l.GetName(), Exclusive: l.GetIsExclusive()})
	}
	for _, name := range m.GetDeprecatedNodeLabels() {
		if len(m.GetNodeLabels()) > 0 {
			break
		}
		cmd.Labels = append(cmd.Labels, scheduler.Label{Name: name, Exclusive: true})
	}
	cmd.Ticket = a.Loop.Expect(a.labelsDone(c, "addToClusterNodeLabels", &pb.AddToClusterNodeLabelsResponse{}))
	a.Loop.Post(cmd)
}

func (a *admin) removeLabels(c *ipc.Call, m *pb.RemoveFromClusterNodeLabelsRequest) {
	cmd := engine.RemoveLabels{Names: m.GetNodeLabels()}
	cmd.Ticket = a.Loop.Expect(a.labelsDone(c, "removeFromClusterNodeLabels", &pb.RemoveFromClusterNodeLabelsResponse{}))
	a.Loop.Post(cmd)
}

func (a *admin) replaceLabels(c *ipc.Call, m *pb.ReplaceLabelsOnNodeRequest) {
	cmd := engine.ReplaceLabels{FailOnUnknown: m.GetFailOnUnknownNodes()}
	for _, n := range m.GetNodeToLabels() {
		cmd.Nodes = append(cmd.Nodes, view.NodeLabels{Node: convert.NodeID(n.GetNodeId()), Labels: n.GetNodeLabels()})
	}
	cmd.Ticket = a.Loop.Expect(a.labelsDone(c, "replaceLabelsOnNodes", &pb.ReplaceLabelsOnNodeResponse{}))
	a.Loop.Post(cmd)
}
