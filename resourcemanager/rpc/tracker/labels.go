package tracker

import (
	"fmt"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// maxLabels bounds the labels that a node may name; more than one is refused
// anyway, in words that say how many there were.
const maxLabels = 100

// heartbeatLabels reads the labels that a node names in a heartbeat; nil when
// there are none to read.
func heartbeatLabels(b []byte) (*[]string, error) {
	if b == nil {
		return nil, nil
	}
	m := &pb.NodeLabels{}
	if err := serve.Unmarshal(b, m); err != nil {
		return nil, err
	}
	return namedLabels(m)
}

// namedLabels are the different labels that a node names; nil when it names none.
func namedLabels(m *pb.NodeLabels) (*[]string, error) {
	if m == nil {
		return nil, nil
	}
	if len(m.NodeLabels) > maxLabels {
		return nil, fmt.Errorf("it names %d labels, at most %d are taken", len(m.NodeLabels), maxLabels)
	}
	names, seen := []string{}, map[string]bool{}
	for _, l := range m.NodeLabels {
		if name := l.GetName(); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return &names, nil
}
