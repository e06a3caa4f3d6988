package heartbeat

import (
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// labelBook knows what the ResourceManager was told of the node's label.
type labelBook struct {
	name   func() string // now; nil: the node names none
	resync time.Duration

	told string
	at   time.Time // zero: it is to be told again
	sent bool      // the last heartbeat told it
}

// message is the label as it travels; nil if it cannot be one, so that the
// ResourceManager goes on with what it had.
func message(label string) (*pb.NodeLabels, error) {
	if label == "" {
		return &pb.NodeLabels{}, nil
	}
	if err := yarn.CheckLabel(label); err != nil {
		return nil, err
	}
	return &pb.NodeLabels{NodeLabels: []*pb.NodeLabel{{Name: proto.String(label), IsExclusive: proto.Bool(true)}}}, nil
}

// label is what a registration tells.
func (r *Reporter) label() *pb.NodeLabels {
	b := &r.labels
	if b.name == nil {
		return nil
	}
	b.told, b.at = b.name(), time.Time{}
	return r.checked(b.told)
}

func (r *Reporter) checked(label string) *pb.NodeLabels {
	m, err := message(label)
	if err != nil {
		r.cfg.Log.Error("the node's label is not one, and the ResourceManager is not told", "error", err)
	}
	return m
}

// news is what a heartbeat tells: the label when it has changed, and every now
// and then whatever it is.
func (r *Reporter) news() *pb.NodeLabels {
	b := &r.labels
	b.sent = false
	if b.name == nil {
		return nil
	}
	label, now := b.name(), time.Now()
	if label == b.told && !b.at.IsZero() && now.Sub(b.at) <= b.resync {
		return nil
	}
	b.told, b.at = label, now
	m := r.checked(label)
	b.sent = m != nil
	return m
}

// unheard has the label sent again, because the heartbeat that carried it may
// be lost.
func (b *labelBook) unheard() {
	if b.sent {
		b.at = time.Time{}
	}
}

// judged logs whether the ResourceManager accepted the label.
func (r *Reporter) judged(accepted bool, why string) {
	label := r.labels.told
	switch {
	case accepted:
		r.cfg.Log.Debug("the ResourceManager has accepted the node's label", "label", label)
	case why == "":
		r.cfg.Log.Error("the ResourceManager does not take labels from nodes; set yarn.node-labels.configuration-type to distributed there", "label", label)
	default:
		r.cfg.Log.Error("the ResourceManager has not accepted the node's label; yarn rmadmin -addToClusterNodeLabels adds a label to the cluster", "label", label, "why", why)
	}
}
