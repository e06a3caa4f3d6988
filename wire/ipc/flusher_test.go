package ipc

import (
	"testing"
)

// While others of its calls are in flight a connection's answers wait for the flusher; the answer to the last one leaves at once and takes
// them along. A connection without others does not wait.
func TestAnswersLeaveTogether(t *testing.T) {
	calls := make(chan *Call, 8)
	p := Protocol{Name: clientProtocol, Version: 1, Methods: map[string]Handler{"hold": func(c *Call) { calls <- c }}}
	s := serve(t, ServerConfig{Protocols: []Protocol{p}})
	started := make(chan func(), 8)
	s.behind.run = func(f func()) { started <- f }
	r := rawDial(t, s)
	r.send(append(append([]byte(nil), simplePreface...), contextFrame("a", "", clientProtocol)...))
	held := func(n int32) (out []*Call) {
		for i := range n {
			r.send(request(i, 0, clientProtocol, "hold", text("x")))
		}
		for range n {
			out = append(out, <-calls)
		}
		return out
	}
	queued := func(want int) {
		t.Helper()
		if n := len(started); n != want {
			t.Fatalf("the flusher was started %d times, want %d", n, want)
		}
	}
	answers := func(want ...int32) {
		t.Helper()
		for _, call := range want {
			if h, _ := r.frame(); h.call != call {
				t.Fatalf("the answer is to call %d, want %d", h.call, call)
			}
		}
	}

	held(1)[0].Reply(nil)
	answers(0)
	queued(0)

	three := held(3)
	three[0].Reply(nil)
	three[1].Reply(nil)
	queued(1)
	if n := s.Stats().Queued; n == 0 {
		t.Fatal("nothing waits for the flusher")
	}
	three[2].Reply(nil)
	answers(0, 1, 2)
	(<-started)()

	two := held(2)
	two[0].Reply(nil)
	queued(1)
	(<-started)()
	answers(0)
	two[1].Reply(nil)
	answers(1)
	queued(0)
}
