package answer

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

// operation has a document of so many lines, and counts how often it is drawn.
type operation struct {
	drawn atomic.Int32
	texts shared
	lines int
	slow  time.Duration // that drawing takes
	fails bool          // drawing panics
}

func (o *operation) response(same any) *Response {
	list := tree.Stream(func(yield func(tree.Value) bool) {
		o.drawn.Add(1)
		time.Sleep(o.slow)
		if o.fails {
			panic("no document")
		}
		for range o.lines {
			if !yield(strings.Repeat("x", 1000)) {
				return
			}
		}
	})
	r := Wrapped("r", tree.New().Add("line", list))
	r.Same = same
	return r
}

// ask asks once and checks that the answer is whole.
func (o *operation) ask(t *testing.T, f format, same any) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	write(w, f, o.response(same), &o.texts)
	if n := strings.Count(w.Body.String(), strings.Repeat("x", 1000)); n != o.lines {
		t.Errorf("%d lines of %d", n, o.lines)
	}
	return w
}

// taken is how many texts others may join, and the bytes of all that are used.
func (o *operation) taken() (texts int, bytes int64) {
	o.texts.mu.Lock()
	defer o.texts.mu.Unlock()
	return len(o.texts.texts), o.texts.bytes
}

// finish waits until nobody shares anything, and checks that all room is free again.
func (o *operation) finish(t *testing.T) {
	t.Helper()
	time.Sleep(2 * sharedFor)
	synctest.Wait()
	if texts, b := o.taken(); texts != 0 || b != 0 {
		t.Errorf("%d texts and %d bytes are left", texts, b)
	}
}

// TestSharedText: all who ask for the same at about the same time get one text, whether they come while it is made or a little later; who asks for something
// else, for another form or later gets another one.
func TestSharedText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{lines: 300, slow: 5 * time.Millisecond}
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if w := o.ask(t, formatJSON, 1); w.Code != 200 || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
					t.Errorf("%d, %v, %d bytes", w.Code, w.Header(), w.Body.Len())
				}
			})
		}
		all.Wait()
		o.ask(t, formatJSON, 1)
		if n := o.drawn.Load(); n != 1 {
			t.Errorf("drawn %d times", n)
		}
		o.ask(t, formatXML, 1)
		o.ask(t, formatJSON, 2)
		o.ask(t, formatJSON, nil)
		o.ask(t, formatJSON, nil)
		if n := o.drawn.Load(); n != 5 {
			t.Errorf("another form, other views and what is not known to be the same: drawn %d times, want 5", n)
		}
		time.Sleep(sharedFor)
		synctest.Wait()
		o.ask(t, formatJSON, 1)
		if n := o.drawn.Load(); n != 6 {
			t.Errorf("later: drawn %d times, want 6", n)
		}
		o.finish(t)
	})
}

// TestTooLongToShare: a longer text is made for each caller, and is whole.
func TestTooLongToShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{lines: maxShared/1000 + 1}
		for range 3 {
			if w := o.ask(t, formatJSON, 1); w.Header().Get("Content-Length") != "" {
				t.Error("it has a length")
			}
		}
		if n := o.drawn.Load(); n != 4 {
			t.Errorf("drawn %d times, want 4: once to learn that it is too long", n)
		}
		o.finish(t)
	})
}

// TestNoRoomToShare: whoever finds no room gets an answer of his own.
func TestNoRoomToShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{lines: 10, slow: time.Millisecond}
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() { o.ask(t, formatJSON, i%100) })
		}
		all.Wait()
		if n := o.drawn.Load(); n < 100 || n > 200-sharedRoom/(maxShared+sharedCost) {
			t.Errorf("drawn %d times", n)
		}
		o.finish(t)
	})
}

// stuck is a caller who takes nothing until he is released.
type stuck struct {
	*httptest.ResponseRecorder
	release chan struct{}
}

func (s stuck) Write(p []byte) (int, error) {
	<-s.release
	return s.ResponseRecorder.Write(p)
}

// TestSlowCallersShare: a caller who takes nothing holds up nobody else, and his text counts until he has it.
func TestSlowCallersShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{lines: 900}
		var all sync.WaitGroup
		release := make(chan struct{})
		const slow = 100
		for i := range slow {
			all.Go(func() { // the first ones share, the others find no room; all take nothing
				write(stuck{httptest.NewRecorder(), release}, formatJSON, o.response(i), &o.texts)
			})
		}
		synctest.Wait()
		o.ask(t, formatJSON, 0)
		time.Sleep(2 * sharedFor)
		synctest.Wait()
		if _, b := o.taken(); b < sharedRoom*3/4 || b > sharedRoom {
			t.Errorf("%d bytes count", b)
		}
		o.ask(t, formatJSON, 0)
		close(release)
		all.Wait()
		o.finish(t)
	})
}

// TestSharedTextThatFails: when drawing panics the others draw for themselves; nobody waits forever.
func TestSharedTextThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{fails: true, slow: time.Millisecond}
		var all sync.WaitGroup
		var panics atomic.Int32
		for range 5 {
			all.Go(func() {
				defer func() {
					if recover() != nil {
						panics.Add(1)
					}
				}()
				write(httptest.NewRecorder(), formatJSON, o.response(1), &o.texts)
			})
		}
		all.Wait()
		if panics.Load() != 5 || o.drawn.Load() != 5 {
			t.Errorf("%d panics, drawn %d times", panics.Load(), o.drawn.Load())
		}
		o.finish(t)
	})
}

// TestShortTextAfterLongOne: a text begins with the room that the last one needed, and takes no more than twice its own length of what all have together.
func TestShortTextAfterLongOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := operation{lines: 900}
		o.ask(t, formatJSON, "long")
		o.finish(t)
		for _, lines := range []int{900, 2} {
			o.lines = lines
			w := o.ask(t, formatJSON, lines)
			if _, b := o.taken(); b > int64(2*w.Body.Len()+sharedCost) {
				t.Errorf("a text of %d bytes takes %d", w.Body.Len(), b)
			}
			o.finish(t)
		}
	})
}

// TestServeShares: Serve keeps the texts of one operation apart from those of others, over HTTP.
func TestServeShares(t *testing.T) {
	var drawn atomic.Int32
	serve := func(text string) string {
		h := Serve(nil, func(*http.Request) (*Response, error) {
			r := Wrapped("r", tree.New().Add("line", tree.Stream(func(yield func(tree.Value) bool) {
				drawn.Add(1)
				yield(text)
			})))
			r.Same = "same"
			return r, nil
		})
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		return s.URL
	}
	for _, text := range []string{"a", "b"} {
		url := serve(text)
		for range 3 {
			res, err := http.Get(url)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if want := `{"r":{"line":["` + text + `"]}}`; err != nil || string(body) != want || res.Header.Get("Content-Type") != typeJSON {
				t.Errorf("%s %v %v", body, res.Header, err)
			}
		}
	}
	if n := drawn.Load(); n < 2 || n > 6 {
		t.Errorf("drawn %d times", n)
	}
}
