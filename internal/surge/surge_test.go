package surge

import "testing"

// Memory is given back once, when a surge is over, and not while much is
// allocated or when the heap has its usual size.
func TestSurge(t *testing.T) {
	const mb = 1 << 20
	now := reading{held: 50 * mb}
	freed := 0
	w := watch{read: func() reading { return now }, free: func() { freed++; now.held = 60 * mb }}
	w.begin()
	for _, step := range []struct {
		held, allocated uint64
		freed           int
	}{
		{78, 10, 0},  // the usual ups and downs
		{250, 90, 0}, // it goes on
		{250, 5, 1},  // it is over
		{90, 5, 1},   // what is in use has become more
		{40, 5, 1},
		{65, 5, 1},
		{67, 5, 2},
	} {
		now.held, now.allocated = step.held*mb, now.allocated+step.allocated*mb
		w.look()
		if freed != step.freed {
			t.Fatalf("%+v: freed %d times", step, freed)
		}
	}
	if r := read(); r.held == 0 || r.allocated == 0 {
		t.Fatalf("%+v", r)
	}
}
