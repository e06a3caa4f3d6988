package shell

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// collect follows until the end and says what was seen.
func collect(t *testing.T, urls ...string) string {
	t.Helper()
	var seen []string
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := follow(ctx, urls, "5ec2e7", func(e Event) { seen = append(seen, string(e.Data)) }, time.Millisecond); err != nil {
		t.Error(err)
	}
	return strings.Join(seen, "")
}

func TestFollowSeesEverythingOnce(t *testing.T) {
	f := newFeed(time.Now, time.Minute)
	site := newSite(f, "5ec2e7", 10*time.Millisecond, nil)
	inside := http.StripPrefix("/proxy/app", site)
	asked := atomic.Int32{}
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch asked.Add(1) {
		case 1: // its answer gets lost
			inside.ServeHTTP(httptest.NewRecorder(), r)
			http.Error(w, "bad gateway", http.StatusBadGateway)
		case 2:
			w.Write([]byte("{"))
		default:
			inside.ServeHTTP(w, r)
		}
	}))
	defer way.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	f.put(Event{Kind: Output, Data: []byte("ab")})
	go func() {
		for asked.Load() < 4 {
			time.Sleep(time.Millisecond)
		}
		f.put(Event{Kind: Output, Data: []byte("cd")})
		f.end()
	}()
	if got := collect(t, dead.URL, way.URL+"/proxy/app/"); got != "abcd" || asked.Load() < 5 {
		t.Errorf("%q after %d requests", got, asked.Load())
	}
	if !f.fetched(t.Context()) {
		t.Error("not acknowledged to the end")
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	moved := httptest.NewServer(http.RedirectHandler("/cluster/app/x", http.StatusFound)) // a proxy without a master
	defer moved.Close()
	ctx, cancel := context.WithCancel(t.Context())
	once := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{PutIdleConn: func(error) { cancel() }}) // it has read an answer
	err := Follow(once, []string{moved.URL}, "5ec2e7", func(Event) { t.Error("an event from nowhere") })
	if err == nil || !strings.Contains(err.Error(), "302") || strings.Contains(err.Error(), "5ec2e7") {
		t.Error(err)
	}
	moved.Close()
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := Follow(ctx, []string{moved.URL}, "5ec2e7", nil); err == nil || strings.Contains(err.Error(), "5ec2e7") {
		t.Error(err)
	}
}

func TestFollowIsNotDeceived(t *testing.T) {
	pages := []Page{
		{Events: []Event{{Seq: 3, Data: []byte("a")}}, Next: 4},
		{Events: []Event{{Seq: 3, Data: []byte("again")}, {Seq: 4, Data: []byte("b")}}, Next: 5, Over: true},
		{Next: 5, Over: true},
	}
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := json.Marshal(pages[0])
		pages = pages[1:]
		w.Write(b)
	}))
	defer hostile.Close()
	if got := collect(t, hostile.URL); got != "ab" {
		t.Errorf("%q", got)
	}
	flood := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(make([]byte, maxAnswer+10))
	}))
	defer flood.Close()
	if _, err := ask(t.Context(), flood.Client(), flood.URL, "s", 0); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

func TestWhoIsSlowToSeeIsStillThere(t *testing.T) {
	f := newFeed(time.Now, time.Minute)
	asked := make(chan string, 100)
	site := newSite(f, "5ec2e7", time.Millisecond, nil)
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Query().Get("from")
		site.ServeHTTP(w, r)
	}))
	defer way.Close()
	f.put(Event{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stop := keepUp(ctx, way.Client(), way.URL, "5ec2e7", 0, time.Millisecond)
	for range 3 {
		if from := <-asked; from != "0" {
			t.Error(from)
		}
	}
	stop()
	if len(f.events) != 1 {
		t.Error("acknowledged what nobody has seen")
	}
}
