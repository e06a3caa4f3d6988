package engine

import (
	"strings"
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

// A change of labels is bounded by what it names, not by what comes of it.
func TestLabelsOfOneCallAreBounded(t *testing.T) {
	e := &Engine{set: Settings{Labels: true}, labels: labels{known: []scheduler.Label{{Name: "x"}}}}
	for _, c := range []Command{
		AddLabels{Labels: make([]scheduler.Label, MaxLabelledOnce+1)},
		RemoveLabels{Names: make([]string, MaxLabelledOnce+1)},
		ReplaceLabels{Nodes: make([]view.NodeLabels, MaxLabelledOnce+1)},
	} {
		if _, err := e.planLabels(c); err == nil || !strings.Contains(err.Text, "the most is 10000") {
			t.Errorf("%T: %+v", c, err)
		}
	}
}
