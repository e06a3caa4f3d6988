package engine

import "testing"

// TestMastersAreToldOfTheLoad: of what all of them ask for, and of all vcores.
func TestMastersAreToldOfTheLoad(t *testing.T) {
	p, nodes, masters := newPlant(t, 2, 2)
	p.poll(masters[0], want(100))
	if r := p.poll(masters[1], want(7)); r.Pending != 107 || r.ActiveCores != 128 {
		t.Errorf("%d containers are pending, %d vcores active", r.Pending, r.ActiveCores)
	}
	p.beat(nodes[0], nil)
	if r := p.poll(masters[1], nil); r.Pending != 97 || r.ActiveCores != 128 {
		t.Errorf("ten of them were granted: %d containers are pending, %d vcores active", r.Pending, r.ActiveCores)
	}
}
