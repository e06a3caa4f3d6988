package answer

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/heddle-project/heddle/internal/answer/tree"
)

// Bounds of the texts of an operation that several callers share.
const (
	maxShared  = 1 << 20                // bytes of one; a longer one is not shared
	sharedRoom = 16 << 20               // bytes of all, those included that slow callers still take
	sharedCost = 4 << 10                // bytes that a text takes of sharedRoom besides its own: for its key
	sharedFor  = 100 * time.Millisecond // after the first caller's request
)

// shared has the texts of one operation's documents for callers who ask for the same at about the same time. That is
// often: all of them wait for the same views to be published.
type shared struct {
	mu    sync.Mutex
	texts map[sharedKey]*sharedText
	bytes int64 // of all texts that anybody uses
	last  int   // bytes of the text that was made last
}

type sharedKey struct {
	format format
	same   any
}

// sharedText is a document's text.
type sharedText struct {
	made    chan struct{} // closed once the text is there or cannot be shared
	text    []byte        // nil: it cannot be shared, because it is too long or drawing it panicked
	holders int           // callers that use it, and one more while others may join; guarded by shared.mu
}

// size is how many bytes it takes of sharedRoom.
func (t *sharedText) size() int64 { return int64(cap(t.text)) + sharedCost }

// answer sends the text of a document to a caller. It returns false, and has sent nothing, if the text cannot be shared.
func (s *shared) answer(w http.ResponseWriter, status int, f format, res *Response) bool {
	t, first := s.join(sharedKey{f, res.Same})
	if t == nil {
		return false
	}
	defer s.leave(t)
	if first {
		s.make(t, f, res.Document)
	}
	<-t.made // drawing a document never waits for a client
	if t.text == nil {
		return false
	}
	res.Document = tree.Document{} // a slow caller keeps nothing but the text
	w.Header().Set("Content-Length", strconv.Itoa(len(t.text)))
	w.WriteHeader(status)
	_, _ = w.Write(t.text)
	return true
}

// join is the text for a key, which the first caller makes; nil if there is no room for another one.
func (s *shared) join(key sharedKey) (t *sharedText, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t = s.texts[key]; t != nil {
		t.holders++
		return t, false
	}
	if s.bytes+maxShared+sharedCost > sharedRoom {
		return nil, false
	}
	t = &sharedText{made: make(chan struct{}), holders: 2}
	if s.texts == nil {
		s.texts = map[sharedKey]*sharedText{}
	}
	s.texts[key] = t
	s.bytes += maxShared + sharedCost // until its length is known
	time.AfterFunc(sharedFor, func() {
		s.mu.Lock()
		delete(s.texts, key)
		s.mu.Unlock()
		s.leave(t)
	})
	return t, true
}

// make makes the text.
func (s *shared) make(t *sharedText, f format, d tree.Document) {
	defer func() { // also if drawing panics
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bytes += t.size() - maxShared - sharedCost
		if t.text != nil {
			s.last = len(t.text)
		}
		close(t.made)
	}()
	s.mu.Lock()
	room := min(s.last+s.last/8, maxShared)
	s.mu.Unlock()
	b := bounded{make([]byte, 0, room)} // as a rule enough: growing the buffer step by step costs more than all else here
	if f.write(&b, d) != nil {
		return
	}
	if t.text = b.buf; cap(b.buf) > 2*len(b.buf) {
		t.text = bytes.Clone(b.buf)
	}
}

// leave gives a text up. The last one to do so makes room for others.
func (s *shared) leave(t *sharedText) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.holders--; t.holders == 0 {
		s.bytes -= t.size()
	}
}

// bounded takes at most maxShared bytes.
type bounded struct{ buf []byte }

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.buf)+len(p) > maxShared {
		return 0, io.ErrShortWrite
	}
	b.buf = append(b.buf, p...)
	return len(p), nil
}
