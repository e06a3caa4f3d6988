package engine

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/scheduler"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/yarn"
)

// gallery keeps views of applications.
type gallery struct {
	reader
	apps []*view.Application
}

func (g *gallery) Application(v *view.Application) { g.apps = append(g.apps, v) }

// What a waiting application takes in engine and scheduler, and what its view takes: many wait in large clusters.
func TestFootprint(t *testing.T) {
	const (
		apps = 20_000
		most = 1300 // bytes of one
		seen = 420  // bytes of its view
	)
	sched, err := scheduler.New(queues(t, config.Property{Name: "maximum-applications", Value: strconv.Itoa(2 * apps)}))
	if err != nil {
		t.Fatal(err)
	}
	p := &plant{b: t, e: New(settings(), sched), now: yarn.Now{Wall: 1_000_000, Mono: 500}}
	p.e.nextApp = apps
	empty := live()
	for i := range apps {
		p.do(Submit{Ticket: 1, Application: Submission{ID: appID(int32(i + 1)), User: "u", Groups: []string{"g"}, Name: "job " + strconv.Itoa(i), Queue: "default", Type: "MAPREDUCE",
			AMAsks: []yarn.Ask{{Where: yarn.AnyHost, Capability: yarn.NewResource(1024, 1), Count: 1, RelaxLocality: true, AllocationRequestID: -1}}}})
	}
	p.fx = Effects{}
	waiting := live()
	g := &gallery{}
	p.e.Publish(p.now, g)
	shown := live()
	if got := (waiting - empty) / apps; got > most {
		t.Errorf("a waiting application takes %d bytes, more than %d", got, most)
	} else {
		t.Logf("a waiting application takes %d bytes", got)
	}
	if got := (shown - waiting) / apps; len(g.apps) != apps || got > seen {
		t.Errorf("%d views take %d bytes each, more than %d", len(g.apps), got, seen)
	} else {
		t.Logf("its view takes %d bytes", got)
	}
	runtime.KeepAlive(p)
	runtime.KeepAlive(g)
}

// live is how many bytes are live.
func live() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
