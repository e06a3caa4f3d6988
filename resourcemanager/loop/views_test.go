package loop

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/yarn"
)

func appID(n int) yarn.ApplicationID {
	return yarn.ApplicationID{ClusterTimestamp: 1, Sequence: int32(n)}
}

// TestListOfApplications: whatever comes and goes, the list is that of a map, by
// id, and versions that readers have do not change.
func TestListOfApplications(t *testing.T) {
	type version struct {
		seen *Views
		list []*view.Application
	}
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 1))
		next, want := newNext(), map[yarn.ApplicationID]*view.Application{}
		var old []version
		published := func() {
			t.Helper()
			v := next.views()
			list := []*view.Application{}
			for _, a := range want {
				list = append(list, a)
			}
			slices.SortFunc(list, func(a, b *view.Application) int { return a.ID.Compare(b.ID) })
			if !slices.Equal(v.Applications(), list) {
				t.Fatalf("seed %d: %d applications, want %d", seed, len(v.Applications()), len(list))
			}
			old = append(old, version{v, list})
		}
		first, last := 0, 0
		for range 80 {
			switch kind := random.IntN(5); kind {
			case 0, 1: // new ones come
				for range random.IntN(600) {
					last++
					a := &view.Application{ID: appID(last * 2)}
					want[a.ID] = a
					next.Application(a)
				}
			case 2: // the oldest go
				for range random.IntN(600) {
					first++
					delete(want, appID(first*2))
					next.ForgetApplication(appID(first * 2))
				}
			default: // some change, come out of order, or go
				for range random.IntN(300) {
					n := random.IntN(last*2 + 2)
					a := &view.Application{ID: appID(n)}
					if kind == 3 {
						want[a.ID] = a
						next.Application(a)
					} else {
						delete(want, a.ID)
						next.ForgetApplication(a.ID)
					}
				}
			}
			published()
		}
		for i, x := range old {
			if !slices.Equal(x.seen.apps.all(), x.list) {
				t.Fatalf("seed %d: version %d has changed", seed, i)
			}
			for _, a := range x.list[:min(len(x.list), 100)] {
				if x.seen.FindApplication(a.ID) != a {
					t.Fatalf("seed %d: %v is not found", seed, a.ID)
				}
			}
		}
		if blocks, most := len(next.apps.blocks), 4*len(want)/blockSize+2; blocks > most {
			t.Errorf("seed %d: %d blocks for %d applications", seed, blocks, len(want))
		}
		if v := next.views(); v.FindApplication(appID(-1)) != nil || v.FindApplication(appID(last*2+5)) != nil {
			t.Errorf("seed %d: what is not there is found", seed)
		}
	}
}

// TestNewest: the walk is that of a sorted list, whatever the order in which applications came, changed and went, and looks at few of them if
// it ends early.
func TestNewest(t *testing.T) {
	newer := func(a, b *view.Application) int {
		return cmp.Or(cmp.Compare(b.SubmitTime, a.SubmitTime), b.ID.Compare(a.ID))
	}
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		next, all := newNext(), map[yarn.ApplicationID]*view.Application{}
		spread := []int{1, 3, 1000, 100_000}[seed] // how far submissions are from the order of ids
		for n := 1; n < 3000; n++ {
			a := &view.Application{ID: appID(n), SubmitTime: int64(n/2 + random.IntN(spread))}
			if seed == 3 { // ids come in any order, too
				a.ID = appID(random.IntN(1 << 20))
			}
			all[a.ID] = a
			next.Application(a)
			if n%7 == 0 {
				gone := appID(random.IntN(n))
				delete(all, gone)
				next.ForgetApplication(gone)
			}
			if changed := all[appID(random.IntN(n))]; changed != nil {
				c := *changed
				all[c.ID] = &c
				next.Application(&c)
			}
			if n%500 == 0 {
				next.views()
			}
		}
		want := slices.SortedFunc(maps.Values(all), newer)
		v := next.views()
		for i := range 600 { // the version stays what it is
			next.ForgetApplication(want[i].ID)
			next.Application(&view.Application{ID: appID(1<<21 + i), SubmitTime: 1 << 40})
		}
		if got := slices.Collect(v.Newest()); !slices.Equal(got, want) {
			t.Errorf("seed %d: %d applications in another order, want %d", seed, len(got), len(want))
		}
		i := 0
		for a := range v.Newest() {
			if a != want[i] {
				t.Fatalf("seed %d: %v is at %d", seed, a.ID, i)
			}
			if i++; i == 10 {
				break
			}
		}
	}
	if got := slices.Collect((&Views{}).Newest()); len(got) != 0 {
		t.Errorf("%v in no views", got)
	}
}

// BenchmarkNewest takes the latest hundred of 100,000 applications, and all of them.
func BenchmarkNewest(b *testing.B) {
	next := newNext()
	for i := range 100_000 {
		next.Application(&view.Application{ID: appID(i), SubmitTime: int64(i + i%50)})
	}
	v := next.views()
	for _, most := range []int{100, 100_000} {
		b.Run(strconv.Itoa(most), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				n := 0
				for range v.Newest() {
					if n++; n == most {
						break
					}
				}
			}
		})
	}
}

// Nodes in use come first.
func TestListOfNodes(t *testing.T) {
	next := newNext()
	for i, s := range []yarn.NodeState{yarn.NodeLost, yarn.NodeRunning, yarn.NodeUnhealthy, yarn.NodeDecommissioned, yarn.NodeDecommissioning} {
		next.Node(&view.Node{ID: yarn.NodeID{Host: "h", Port: int32(i)}, State: s})
	}
	next.ForgetNode(yarn.NodeID{Host: "h", Port: 3})
	var got []int32
	for _, n := range next.views().Nodes() {
		got = append(got, n.ID.Port)
	}
	if want := []int32{1, 2, 4, 0}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestContainersGoWithTheirApplication: an application has an entry for its containers only while it has some and is known.
func TestContainersGoWithTheirApplication(t *testing.T) {
	next := newNext()
	at := func(n int) yarn.AttemptID { return yarn.AttemptID{Application: appID(n), Attempt: 1} }
	has := func(n int, list ...*view.Container) {
		next.Application(&view.Application{ID: appID(n)})
		next.Containers(&view.AppContainers{Application: appID(n), Attempt: at(n), List: list})
	}
	has(1, &view.Container{})
	has(2, &view.Container{}, &view.Container{})
	has(3)
	v := next.views()
	has(1)
	next.ForgetApplication(appID(2))
	for n, want := range map[int]int{1: 1, 2: 2, 3: 0} {
		if got := v.Containers(appID(n)).Of(at(n)); len(got) != want {
			t.Errorf("application %d has %d containers, want %d", n, len(got), want)
		}
	}
	if later := next.views(); later.containers.len != 0 || later.Containers(appID(1)) != nil || later.apps.len != 2 {
		t.Errorf("%d applications have containers, and %d are known", later.containers.len, later.apps.len)
	}
}
