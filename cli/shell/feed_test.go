package shell

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func numbers(p Page) string {
	var b strings.Builder
	for _, e := range p.Events {
		b.WriteString(string(rune('0' + e.Seq)))
	}
	if p.Over {
		b.WriteString(" over")
	}
	return b.String()
}

func TestPagesAcknowledgeWhatCameBefore(t *testing.T) {
	f := newFeed(time.Now, time.Minute)
	for n := range 5 {
		f.put(Event{Kind: Started, Number: n, Detail: strings.Repeat("x", 2*maxDetail)})
	}
	for _, x := range []struct {
		from int64
		want string
		left int
	}{{0, "01234", 5}, {0, "01234", 5}, {2, "234", 3}, {1, "234", 3}, {-9, "234", 3}, {4, "4", 1}, {99, "", 0}} {
		p := f.page(t.Context(), x.from, 0)
		if numbers(p) != x.want || len(f.events) != x.left || p.Next != 5 {
			t.Errorf("from %d: %q, %d left, next %d", x.from, numbers(p), len(f.events), p.Next)
		}
	}
	f.put(Event{})
	f.end()
	if p := f.page(t.Context(), 5, 0); numbers(p) != "5 over" || p.Events[0].Time == 0 {
		t.Error(p)
	}
	if p := f.page(t.Context(), 6, time.Hour); numbers(p) != " over" || p.Next != 6 {
		t.Error(p)
	}
}

func TestPagesAreBounded(t *testing.T) {
	f := newFeed(time.Now, time.Minute)
	for range maxPageEvents + 1 {
		f.put(Event{})
	}
	f.end()
	if p := f.page(t.Context(), 0, 0); len(p.Events) != maxPageEvents || p.Over {
		t.Error(len(p.Events))
	}
	p := f.page(t.Context(), maxPageEvents, 0)
	if len(p.Events) != 1 || !p.Over {
		t.Error(len(p.Events))
	}
	for range 3 {
		f.output(t.Context(), Event{Data: make([]byte, maxPageOutput/2+1)})
	}
	if p := f.page(t.Context(), p.Next, 0); len(p.Events) != 1 {
		t.Error("too much output on a page")
	}
}

func TestAPageWaitsForTheFirstEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(time.Now, time.Minute)
		begun := time.Now()
		go func() { time.Sleep(time.Second); f.put(Event{}) }()
		if p := f.page(t.Context(), 0, 2*time.Second); len(p.Events) != 1 || time.Since(begun) != time.Second {
			t.Error(p, time.Since(begun))
		}
		if p := f.page(t.Context(), 1, 2*time.Second); len(p.Events) != 0 || time.Since(begun) != 3*time.Second {
			t.Error(p, time.Since(begun))
		}
		go func() { time.Sleep(time.Second); f.end() }()
		if p := f.page(t.Context(), 1, time.Hour); !p.Over || time.Since(begun) != 4*time.Second {
			t.Error(p, time.Since(begun))
		}
	})
}

func TestOutputWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(time.Now, 30*time.Second)
		piece := Event{Kind: Output, Data: make([]byte, MaxHeld/2)}
		for range 2 {
			if !f.output(t.Context(), piece) {
				t.Fatal("there is room")
			}
		}
		done := make(chan bool)
		go func() { done <- f.output(t.Context(), piece) }()
		synctest.Wait()
		if len(f.events) != 2 {
			t.Error("more is held than may be")
		}
		f.page(t.Context(), 1, 0)
		if !<-done || f.held != MaxHeld {
			t.Error("no room after all", f.held)
		}
		// Nobody fetches any more: output is dropped, the rest is not.
		go func() { done <- f.output(t.Context(), piece) }()
		begun := time.Now()
		if <-done || time.Since(begun) != 30*time.Second {
			t.Error("waited for nobody", time.Since(begun))
		}
		f.put(Event{Kind: Ended})
		if len(f.events) != 3 {
			t.Error(len(f.events))
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.page(t.Context(), 1, 0)
		go func() { done <- f.output(ctx, piece) }()
		cancel()
		if <-done {
			t.Error("after the end")
		}
	})
}

func TestTheMasterWaitsUntilAllIsFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(time.Now, 30*time.Second)
		f.put(Event{})
		begun := time.Now()
		go func() {
			time.Sleep(20 * time.Second)
			f.page(t.Context(), 0, 0) // seen, not acknowledged
			time.Sleep(20 * time.Second)
			f.page(t.Context(), 1, 0)
		}()
		if !f.fetched(t.Context()) || time.Since(begun) != 40*time.Second {
			t.Error(time.Since(begun))
		}
		f.put(Event{})
		if f.fetched(t.Context()) || time.Since(begun) != 70*time.Second {
			t.Error(time.Since(begun))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		f.page(t.Context(), 1, 0)
		if f.fetched(ctx) {
			t.Error("nobody has fetched it")
		}
	})
}

func TestTheSite(t *testing.T) {
	f := newFeed(time.Now, time.Minute)
	f.put(Event{Kind: Output, Data: []byte("x\xff")})
	s := newSite(f, "5ec2e7", time.Millisecond, func() string { return "all is well" })
	get := func(method, path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w
	}
	for _, x := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/", 200, "all is well\n"},
		{"GET", "/events/5ec2e7?from=0", 200, `"Data":"eP8="`},
		{"GET", "/events/5ec2e7?from=1", 200, `{"Events":null,"Next":1,"Over":false}`},
		{"GET", "/events/5ec2e7", 400, "from"},
		{"GET", "/events/5ec2e7?from=-1", 400, "from"},
		{"GET", "/events/5ec2e8?from=0", 404, ""},
		{"GET", "/events/?from=0", 404, ""},
		{"GET", "/events", 404, ""},
		{"GET", "/5ec2e7", 404, ""},
		{"POST", "/events/5ec2e7?from=0", 405, ""},
		{"DELETE", "/", 405, ""},
	} {
		if w := get(x.method, x.path); w.Code != x.status || !strings.Contains(w.Body.String(), x.body) {
			t.Errorf("%s %s: %d %s", x.method, x.path, w.Code, w.Body)
		}
	}
	for range maxPolls {
		s.polls <- struct{}{}
	}
	if w := get("GET", "/events/5ec2e7?from=0"); w.Code != http.StatusServiceUnavailable {
		t.Error(w.Code)
	}
	s = newSite(f, "", 0, nil)
	if w := get("GET", "/events/"); w.Code != http.StatusNotFound {
		t.Error("no secret opens")
	}
}

func TestEventsTravelUnchanged(t *testing.T) {
	want := Event{Seq: 1, Time: 2, Kind: Ended, Number: 3, Try: 4, Container: "c", Node: "n", Exit: -100, Detail: "d", Stream: "stderr", Data: []byte{0, 255}}
	b, err := json.Marshal(Page{Events: []Event{want}, Next: 2})
	must(t, err)
	var got Page
	must(t, json.Unmarshal(b, &got))
	if e := got.Events[0]; string(e.Data) != string(want.Data) || e.Exit != want.Exit || e.Kind != want.Kind || e.Number != 3 {
		t.Error(got)
	}
}
