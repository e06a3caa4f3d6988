package tracker

import (
	"fmt"

	"github.com/heddle-project/heddle/wire/pb"
	"github.com/heddle-project/heddle/wire/serve"
)

// maxLabels bounds the labels in one request. The engine refuses more than one anyway;
// its text says how many there were.
const maxLabels = 100

// heartbeatLabels reads the labels that a node gives itself in a heartbeat; nil if the
// heartbeat says nothing about labels.
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

// namedLabels are the labels in m without duplicates; nil if there is no m.
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
