package engine

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/yarn"
)

// Where no more nodes can be labelled, those that are can still be given another label, or none.
func TestLabelledNodesAreBounded(t *testing.T) {
	e := &Engine{set: Settings{Labels: true}}
	e.labels.known = []scheduler.Label{{Name: "x"}, {Name: "y"}}
	for port := range int32(MaxLabelledNodes) {
		e.labels.put(labelling{node: yarn.NodeID{Host: "h", Port: port + 1}, label: "x"})
	}
	replace := func(port int32, labels ...string) *Error {
		_, err := e.planLabels(ReplaceLabels{Nodes: []view.NodeLabels{{Node: yarn.NodeID{Host: "h", Port: port}, Labels: labels}}})
		return err
	}
	if err := replace(1, "y"); err != nil {
		t.Errorf("another label: %v", err)
	}
	if err := replace(2); err != nil {
		t.Errorf("no label: %v", err)
	}
	if err := replace(0, "x"); err == nil {
		t.Error("one more was labelled")
	}
}
