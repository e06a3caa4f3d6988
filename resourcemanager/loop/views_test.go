package loop

import (
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func appID(n int) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(n)}
}

// TestListOfApplications: whatever comes and goes, the list is that of the map,
// by id.
func TestListOfApplications(t *testing.T) {
	var v Views
	v.init(nil)
	want := map[yarn.ApplicationID]*view.Application{}
	show := func(n int) {
		a := &view.Application{ID: appID(n)}
		want[a.ID] = a
		v.Application(a)
	}
	forget := func(n int) {
		delete(want, appID(n))
		v.ForgetApplication(appID(n))
	}
	check := func(when string) {
		t.Helper()
		list := v.Applications()
		if len(list) != len(want) {
			t.Fatalf("%s: %d applications, want %d", when, len(list), len(want))
		}
		for i, a := range list {
			if want[a.ID] != a || v.FindApplication(a.ID) != a || i > 0 && list[i-1].ID.Compare(a.ID) >= 0 {
				t.Fatalf("%s: %v at %d", when, a.ID, i)
			}
		}
	}
	for n := range 1000 {
		show(n * 2)
	}
	check("in order")
	for _, n := range []int{501, 3, 1999, 501, 7} {
		show(n)
	}
	check("out of order")
	for n := range 900 {
		forget(n * 2)
		if n%100 == 0 {
			check("while they go")
		}
	}
	forget(100_000)
	check("when most have gone")
	if len(v.list) > 2*len(want)+100 {
		t.Errorf("%d places for %d applications", len(v.list), len(want))
	}
	show(4)
	show(2 * 899)
	check("when some come back")
	if v.FindApplication(appID(2)) != nil {
		t.Error("a forgotten application is still found")
	}
}
