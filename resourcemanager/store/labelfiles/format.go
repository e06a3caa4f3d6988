package labelfiles

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/heddle-project/heddle/resourcemanager/state"
	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/yarn"
)

// Bounds of what is read.
const (
	maxMessage = 64 << 20 // bytes of one message
	maxHost    = 255      // bytes of a host's name
)

// The kinds of changes in a log.
const (
	added    = 0
	replaced = 1
	removed  = 2
)

// content is what has been read from the files.
type content struct {
	labels map[string]bool           // by name; true: exclusive
	given  map[yarn.NodeID]string    // labels of nodes, and with port 0 of hosts
	ports  map[string]map[int32]bool // the ports in given, by host
	limits Limits

	unknown bool // the mirror has unknown fields
}

// Limits bound what the files may have.
type Limits struct{ Labels, Nodes int }

func newContent(l Limits) *content {
	return &content{labels: map[string]bool{}, given: map[yarn.NodeID]string{}, ports: map[string]map[int32]bool{}, limits: l}
}

// record is the content as a record.
func (c *content) record() state.Labels {
	var out state.Labels
	for _, name := range slices.Sorted(maps.Keys(c.labels)) {
		out.Known = append(out.Known, state.NodeLabel{Name: name, Exclusive: c.labels[name]})
	}
	for _, id := range slices.SortedFunc(maps.Keys(c.given), yarn.NodeID.Compare) {
		out.Nodes = append(out.Nodes, state.LabelledNode{Node: id, Label: c.given[id]})
	}
	return out
}

// add makes labels known. One that is known already does not change.
func (c *content) add(m *pb.AddToClusterNodeLabelsRequest) error {
	labels := m.GetNodeLabels()
	for _, name := range m.GetDeprecatedNodeLabels() {
		labels = append(labels, &pb.NodeLabel{Name: &name})
	}
	for _, l := range labels {
		if err := yarn.CheckLabel(l.GetName()); err != nil {
			return err
		}
		if _, known := c.labels[l.GetName()]; !known {
			c.labels[l.GetName()] = l.GetIsExclusive()
		}
	}
	if len(c.labels) > c.limits.Labels {
		return fmt.Errorf("there are more than %d labels", c.limits.Labels)
	}
	return nil
}

// remove removes labels, from nodes as well.
func (c *content) remove(m *pb.RemoveFromClusterNodeLabelsRequest) {
	gone := map[string]bool{}
	for _, name := range m.GetNodeLabels() {
		gone[name] = true
		delete(c.labels, name)
	}
	for id, label := range c.given {
		if gone[label] {
			c.put(id, "")
		}
	}
}

// replace gives hosts and nodes labels. Hosts come first; a label of a host also
// replaces those of its nodes. A label that is not known is ignored: it was removed by
// a later change.
func (c *content) replace(m *pb.ReplaceLabelsOnNodeRequest) error {
	given := make([]state.LabelledNode, 0, len(m.GetNodeToLabels()))
	for _, n := range m.GetNodeToLabels() {
		host, port := n.GetNodeId().GetHost(), n.GetNodeId().GetPort()
		if host == "" || len(host) > maxHost || port < 0 || port > math.MaxUint16 {
			return fmt.Errorf("%.80q with port %d is not a node", host, port)
		}
		x := state.LabelledNode{Node: yarn.NodeID{Host: host, Port: port}}
		switch labels := n.GetNodeLabels(); len(labels) {
		case 0:
		case 1:
			x.Label = labels[0]
		default:
			return fmt.Errorf("%s has %d labels, a node has one at most", x.Node, len(labels))
		}
		if _, known := c.labels[x.Label]; known || x.Label == "" {
			given = append(given, x)
		}
	}
	slices.SortStableFunc(given, func(a, b state.LabelledNode) int { return cmp.Compare(min(a.Node.Port, 1), min(b.Node.Port, 1)) })
	for _, x := range given {
		if x.Node.Port == 0 {
			for port := range c.ports[x.Node.Host] {
				c.put(yarn.NodeID{Host: x.Node.Host, Port: port}, x.Label)
			}
		}
		c.put(x.Node, x.Label)
	}
	c.tidy()
	if len(c.given) > c.limits.Nodes {
		return fmt.Errorf("more than %d hosts and nodes have labels", c.limits.Nodes)
	}
	return nil
}

func (c *content) put(id yarn.NodeID, label string) {
	c.given[id] = label
	if id.Port == 0 {
		return
	}
	if c.ports[id.Host] == nil {
		c.ports[id.Host] = map[int32]bool{}
	}
	c.ports[id.Host][id.Port] = true
}

// tidy removes entries without effect: the empty label of a host, and that of a node
// whose host has none.
func (c *content) tidy() {
	for id, label := range c.given {
		if label == "" && (id.Port == 0 || c.given[yarn.NodeID{Host: id.Host}] == "") {
			delete(c.given, id)
			delete(c.ports[id.Host], id.Port)
		}
	}
}

// errTorn tells that a file ends in the middle of a message or a change.
var errTorn = errors.New("the file ends here, in the middle of a message")

// source reads a file and counts the bytes.
type source struct {
	r     *bufio.Reader
	at    int64 // the next byte
	began int64 // where the mirror's message or the log's change begins
}

func newSource(r io.Reader) *source { return &source{r: bufio.NewReader(r)} }

// ReadByte implements io.ByteReader for lengths.
func (s *source) ReadByte() (byte, error) {
	b, err := s.r.ReadByte()
	if err == nil {
		s.at++
	}
	return b, err
}

func (s *source) full(b []byte) error {
	n, err := io.ReadFull(s.r, b)
	s.at += int64(n)
	return err
}

// message reads the next message.
func (s *source) message(m proto.Message) error {
	size, err := binary.ReadUvarint(s)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errTorn
	case err != nil:
		return err
	case size > maxMessage:
		return fmt.Errorf("a message cannot have %d bytes", size)
	}
	var b bytes.Buffer // grows with what is read: the size may be wrong
	n, err := io.CopyN(&b, s.r, int64(size))
	s.at += n
	switch {
	case errors.Is(err, io.EOF):
		return errTorn
	case err != nil:
		return err
	}
	return proto.Unmarshal(b.Bytes(), m)
}

// end tells whether nothing follows.
func (s *source) end() (bool, error) {
	_, err := s.r.Peek(1)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// readMirror reads a mirror. Without nodes it ignores the labels of hosts and nodes.
func (c *content) readMirror(s *source, nodes bool) error {
	var labels pb.AddToClusterNodeLabelsRequest
	if err := s.message(&labels); err != nil {
		return err
	}
	c.unknown = hasUnknown(&labels)
	if err := c.add(&labels); err != nil {
		return err
	}
	s.began = s.at
	if end, err := s.end(); end || err != nil {
		return err
	}
	var given pb.ReplaceLabelsOnNodeRequest
	if err := s.message(&given); err != nil {
		return err
	}
	if nodes {
		if err := c.replace(&given); err != nil {
			return err
		}
	}
	s.began = s.at
	end, err := s.end()
	if err == nil && !end {
		err = errors.New("nothing should follow here")
	}
	return err
}

// readLog applies the changes of a log. If it returns errTorn it has applied all before
// the one that is incomplete.
func (c *content) readLog(s *source, nodes bool) error {
	for {
		s.began = s.at
		if end, err := s.end(); end || err != nil {
			return err
		}
		var word [4]byte
		if err := s.full(word[:]); errors.Is(err, io.ErrUnexpectedEOF) {
			return errTorn
		} else if err != nil {
			return err
		}
		if err := c.readChange(binary.BigEndian.Uint32(word[:]), s, nodes); err != nil {
			return err
		}
	}
}

func (c *content) readChange(kind uint32, s *source, nodes bool) error {
	switch kind {
	case added:
		var m pb.AddToClusterNodeLabelsRequest
		if err := s.message(&m); err != nil {
			return err
		}
		return c.add(&m)
	case replaced:
		var m pb.ReplaceLabelsOnNodeRequest
		if err := s.message(&m); err != nil || !nodes {
			return err
		}
		return c.replace(&m)
	case removed:
		var m pb.RemoveFromClusterNodeLabelsRequest
		if err := s.message(&m); err != nil {
			return err
		}
		c.remove(&m)
		c.tidy()
		return nil
	}
	return fmt.Errorf("%d is not a kind of change; 0, 1 and 2 are", kind)
}

// mirror is the bytes of a mirror with these labels, sealed as change number.
func mirror(l state.Labels, nodes bool, number uint64) ([]byte, error) {
	known := pb.AddToClusterNodeLabelsRequest{}
	for _, x := range l.Known {
		known.NodeLabels = append(known.NodeLabels, &pb.NodeLabel{Name: proto.String(x.Name), IsExclusive: proto.Bool(x.Exclusive)})
		known.DeprecatedNodeLabels = append(known.DeprecatedNodeLabels, x.Name) // as Apache's, for its older releases
	}
	out, err := delimited(nil, emptySeal(number), &known)
	if err != nil {
		return nil, err
	}
	if nodes {
		var given pb.ReplaceLabelsOnNodeRequest
		for _, x := range l.Nodes {
			n := &pb.NodeIdToLabels{NodeId: &pb.NodeId{Host: proto.String(x.Node.Host), Port: proto.Int32(x.Node.Port)}}
			if x.Label != "" {
				n.NodeLabels = []string{x.Label}
			}
			given.NodeToLabels = append(given.NodeToLabels, n)
		}
		if out, err = delimited(out, nil, &given); err != nil {
			return nil, err
		}
	}
	return out, fillSeal(out)
}

func delimited(to, first []byte, m proto.Message) ([]byte, error) {
	b, err := proto.MarshalOptions{}.MarshalAppend(first, m)
	if err != nil {
		return nil, err
	}
	if len(b) > maxMessage {
		return nil, fmt.Errorf("%d bytes of labels are more than %d", len(b), maxMessage)
	}
	return append(protowire.AppendVarint(to, uint64(len(b))), b...), nil
}
