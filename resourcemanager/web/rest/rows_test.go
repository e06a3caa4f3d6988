package rest_test

import (
	"context"
	"iter"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/internal/webgate"
	"github.com/heddle-project/heddle/resourcemanager/view"
	"github.com/heddle-project/heddle/resourcemanager/web/access"
	"github.com/heddle-project/heddle/resourcemanager/web/rest"
	"github.com/heddle-project/heddle/resourcemanager/web/webtest"
	"github.com/heddle-project/heddle/yarn"
)

// many is a source with very many applications, by id.
type many struct {
	*webtest.Source
}

func (m many) Newest(context.Context) (newest iter.Seq[*view.Application], version uint64, err error) {
	return func(yield func(*view.Application) bool) {
		for _, a := range slices.Backward(m.Picture.Applications) {
			if !yield(a) {
				return
			}
		}
	}, m.Version, nil
}

// manyApps are n applications: of every four one runs, one waits, and two have ended.
func manyApps(n int) many {
	s := webtest.New()
	models := []*view.Application{s.Picture.Applications[3], s.Picture.Applications[4], s.Picture.Applications[0], s.Picture.Applications[2]}
	s.Picture.Applications = nil
	for i := range n {
		a := *models[i%4]
		a.ID, a.SubmitTime, a.Version = webtest.App(int32(i+1)), int64(i), uint64(i+1)
		if a.State.Final() { // the others are alike in what they have
			used := *a.Usage
			used.ResourceSeconds[0] += int64(i)
			a.Usage = &used
		}
		s.Picture.Applications = append(s.Picture.Applications, &a)
	}
	return many{s}
}

func serveMany(m many) http.Handler {
	var moment int64 = webtest.Moment
	return serveAt(m, &moment)
}

// TestRowsAreKept: a list is the same when the text of its applications was kept, shows what has changed, and what another user may not see is
// not shown because somebody else may.
func TestRowsAreKept(t *testing.T) {
	var moment int64 = webtest.Moment
	m := manyApps(40)
	fresh := func(accept, path string) string {
		// Without versions nothing is kept.
		s := *m.Source
		picture := *s.Picture
		s.Picture = &picture
		s.Picture.Applications = nil
		for _, a := range m.Picture.Applications {
			c := *a
			c.Version = 0
			s.Picture.Applications = append(s.Picture.Applications, &c)
		}
		return get(serveAt(many{&s}, &moment), path, accept).Body.String()
	}
	h := serveAt(m, &moment)
	check := func(what string) {
		t.Helper()
		for _, accept := range []string{"application/json", "application/xml"} {
			for _, path := range []string{"/apps", "/apps?limit=3", "/apps?deSelects=appNodeLabelExpression", "/apps?deSelects=resourceRequests,timeouts,resourceInfo", "/apps?states=FINISHED"} {
				if got, want := get(h, path, accept).Body.String(), fresh(accept, path); got != want {
					t.Fatalf("%s: %s as %s is\n%.3000s\nwant\n%.3000s", what, path, accept, got, want)
				}
			}
		}
	}
	check("at first")
	check("kept")
	moment += 5000
	check("later")
	if !strings.Contains(get(h, "/apps", "").Body.String(), `"elapsedTime"`) {
		t.Error("no elapsed time")
	}
	changed := *m.Picture.Applications[1]
	changed.Name, changed.Version, changed.Queue = "another", 1000, "root.other"
	m.Picture.Applications[1] = &changed
	check("changed")
	if !strings.Contains(get(h, "/apps", "").Body.String(), `"name":"another"`) {
		t.Error("the change is not shown")
	}
	m.Picture.StartedAt++ // another ResourceManager has become active: its versions begin anew
	for i, a := range m.Picture.Applications {
		c := *a
		c.Name = "new term"
		m.Picture.Applications[i] = &c
	}
	check("in another term")
	m.Denied = map[string]bool{"alice": true}
	check("denied")
	if n := strings.Count(get(h, "/apps", "").Body.String(), `"startedTime":0`); n != 20 { // half of them are alice's own
		t.Errorf("times of %d applications are hidden, want 20", n)
	}
}

// serveAt is serveMany at a time that can change.
func serveAt(m many, moment *int64) http.Handler {
	mux := http.NewServeMux()
	for _, r := range rest.Routes(rest.Config{Source: m, Controller: &webtest.Controller{}, Version: version,
		Links: access.Links{Scheme: "http", Address: "localhost:22050"}, Now: func() time.Time { return time.UnixMilli(*moment) }}) {
		mux.HandleFunc(r.Method+" "+r.Pattern, r.Handler)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mux.ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: "alice", Address: "127.0.0.1"})))
	})
}

// TestListCostsLittleMemory: a whole list of many applications makes hardly any garbage, and less where it has been made before.
func TestListCostsLittleMemory(t *testing.T) {
	const apps = 5000
	h := serveMany(manyApps(apps))
	allocated := func() (bytes, objects uint64) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		h.ServeHTTP(discard{http.Header{}}, httptest.NewRequest(http.MethodGet, rest.Prefix+"/apps", nil))
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs
	}
	first, _ := allocated()
	again, objects := allocated()
	if first > apps*4000 || again > apps*600 || objects > apps*12 {
		t.Errorf("%d bytes for each application, then %d in %d objects", first/apps, again/apps, objects/apps)
	}
}

// BenchmarkApps lists 100,000 applications: all, and the latest hundred. cpu-ms is processor time of the whole process.
func BenchmarkApps(b *testing.B) {
	m := manyApps(100_000)
	h := serveMany(m)
	for _, x := range []struct{ name, path, accept string }{
		{"limit=100", "/apps?limit=100", "application/json"},
		{"limit=100 of RUNNING", "/apps?limit=100&states=RUNNING", "application/json"},
		{"all", "/apps", "application/json"},
		{"all as XML", "/apps", "application/xml"},
	} {
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			before, text := processorTime(), 0
			for b.Loop() {
				r := httptest.NewRequest(http.MethodGet, rest.Prefix+x.path, nil)
				r.Header.Set("Accept", x.accept)
				w := &counting{discard: discard{http.Header{}}}
				h.ServeHTTP(w, r)
				text = w.bytes
			}
			b.ReportMetric(float64(text)/1e6, "MB-text")
			b.ReportMetric(float64((processorTime()-before).Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}

// counting counts what it is given.
type counting struct {
	discard
	bytes int
}

func (c *counting) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

func processorTime() time.Duration {
	var use syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &use) != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// TestListsAreShared: callers who may view everything get one text for the same views and the same question. A caller who may not view everything gets a list of
// his own, without what he may not see, whoever asked before.
func TestListsAreShared(t *testing.T) {
	for _, deniedFirst := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) { listsAreShared(t, deniedFirst) })
	}
}

func listsAreShared(t *testing.T, deniedFirst bool) {
	m := manyApps(40)
	m.Version = 7
	m.Denied = map[string]bool{"mallory": true}
	drawn := &drawings{many: m}
	mux := http.NewServeMux()
	for _, r := range rest.Routes(rest.Config{Source: drawn, Controller: &webtest.Controller{}, Version: version,
		Links: access.Links{Scheme: "http", Address: "localhost:22050"}, Now: func() time.Time { return time.UnixMilli(webtest.Moment) }}) {
		mux.HandleFunc(r.Method+" "+r.Pattern, r.Handler)
	}
	ask := func(user, path string) (text string, latest int) {
		r := httptest.NewRequest(http.MethodGet, rest.Prefix+path, nil)
		w := httptest.NewRecorder()
		before := drawn.latest
		mux.ServeHTTP(w, r.WithContext(webgate.WithCaller(r.Context(), webgate.Caller{User: user})))
		return w.Body.String(), drawn.latest - before
	}
	hidden := func(who string) {
		if text, latest := ask(who, "/apps"); strings.Count(text, `"startedTime":0`) != 40 || latest != 40 {
			t.Errorf("%s sees %d hidden applications, and %d were drawn", who, strings.Count(text, `"startedTime":0`), latest)
		}
	}
	if deniedFirst {
		hidden("mallory")
	}
	first, latest := ask("alice", "/apps")
	if strings.Contains(first, `"startedTime":0`) || latest != 40 {
		t.Errorf("%d drawn for alice", latest)
	}
	if text, latest := ask("bob", "/apps"); text != first || latest != 0 {
		t.Errorf("%d drawn for bob", latest)
	}
	hidden("mallory")
	for _, path := range []string{"/apps?limit=3", "/apps?user=alice", "/apps?states=RUNNING", "/apps?deSelects=timeouts"} {
		if text, latest := ask("bob", path); text == first || latest == 0 {
			t.Errorf("%s gets the list of another question", path)
		}
	}
	drawn.Version++
	if _, latest := ask("bob", "/apps"); latest != 40 {
		t.Errorf("newer views: %d drawn", latest)
	}
	drawn.Version = 0
	for range 2 {
		if _, latest := ask("bob", "/apps"); latest != 40 {
			t.Errorf("views of unknown version: %d drawn", latest)
		}
	}
}

// drawings counts how often an application was taken to be drawn.
type drawings struct {
	many
	latest int
}

func (d *drawings) Latest(id yarn.ApplicationID) *view.Application {
	d.latest++
	return d.many.Latest(id)
}
