package localize

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/heddle-project/heddle/internal/filesystem"
)

// gate serves files that begin and do not end before they are let go.
type gate struct {
	url     filesystem.URL
	started chan string
	open    chan struct{}
}

func newGate(t *testing.T) *gate {
	g := &gate{started: make(chan string, 100), open: make(chan struct{})}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead {
			return
		}
		g.started <- r.URL.Path
		select {
		case <-g.open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(s.Close)
	var err error
	if g.url, err = filesystem.ParseURL(s.URL); err != nil {
		t.Fatal(err)
	}
	return g
}

type outcomes struct {
	mu   sync.Mutex
	errs map[string]error
	done sync.WaitGroup
}

func (o *outcomes) submit(t *testing.T, ctx context.Context, b *bench, r Request) (heard chan struct{}) {
	t.Helper()
	o.done.Add(1)
	heard = make(chan struct{})
	err := b.Submit(ctx, Job{Request: r, Dest: filepath.Join(b.cache, r.URL.Path[1:])}, func(_ Result, err error) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.errs == nil {
			o.errs = map[string]error{}
		}
		if _, twice := o.errs[r.URL.Path]; twice {
			t.Error("answered twice")
		}
		o.errs[r.URL.Path] = err
		close(heard)
		o.done.Done()
	})
	if err != nil {
		t.Error(err)
	}
	return heard
}

func TestPool(t *testing.T) {
	g := newGate(t)
	b := newBench(t, Config{Workers: 2, OthersWorkers: 1, Queue: 6})
	var o outcomes
	ask := func(n int, v Visibility) Request {
		return Request{URL: g.url.At("/" + strconv.Itoa(n)), Type: File, Visibility: v}
	}
	for n := range 4 {
		o.submit(t, t.Context(), b, ask(n, Public))
	}
	<-g.started
	<-g.started
	first, cancelFirst := context.WithCancelCause(t.Context())
	o.submit(t, first, b, ask(10, Application)) // those have a place of their own
	if got := <-g.started; got != "/10" {
		t.Error(got)
	}
	second, cancelSecond := context.WithCancelCause(t.Context())
	heard := o.submit(t, second, b, ask(11, Private))
	if err := b.Submit(t.Context(), Job{}, nil); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	other := make(chan error)
	if err := b.Submit(t.Context(), Job{User: "another"}, func(_ Result, err error) { other <- err }); err != nil || <-other == nil {
		t.Error("another user has to wait, or gets nothing at all", err)
	}
	enough := errors.New("enough")
	cancelSecond(enough)
	<-heard // though the other still has the place
	cancelFirst(enough)
	close(g.open)
	o.done.Wait()
	if len(g.started) != 2 { // one that waited was never begun
		t.Error(len(g.started))
	}
	for path, err := range o.errs {
		if want := map[string]error{"/10": enough, "/11": enough}[path]; !errors.Is(err, want) {
			t.Error(path, err)
		}
	}
	if got := listing(t, b.cache); len(got) != 8 {
		t.Error(got)
	}
}

func TestPoolCloses(t *testing.T) {
	g := newGate(t)
	b := newBench(t, Config{Workers: 1})
	var o outcomes
	for n := range 3 {
		o.submit(t, t.Context(), b, Request{URL: g.url.At("/" + strconv.Itoa(n)), Type: File, Visibility: Public})
	}
	<-g.started
	b.Close()
	if len(o.errs) != 3 {
		t.Error("Close did not wait", o.errs)
	}
	for path, err := range o.errs {
		if !errors.Is(err, ErrClosed) {
			t.Error(path, err)
		}
	}
	b.holds(map[string]string{})
	if err := b.Submit(t.Context(), Job{}, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}
