package localize

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

// hall is seats whose users a test drives; each that sits waits to be told to get up.
type hall struct {
	*seats
	mu      sync.Mutex
	sitting map[string]int
	rise    map[string]chan struct{}
}

func newHall(n int, users ...string) *hall {
	h := &hall{seats: newSeats(n), sitting: map[string]int{}, rise: map[string]chan struct{}{}}
	for _, user := range users {
		h.rise[user] = make(chan struct{})
	}
	return h
}

func (h *hall) comes(ctx context.Context, user string, times int) {
	for range times {
		go func() {
			if h.take(ctx, user, nil) != nil {
				return
			}
			h.count(user, 1)
			<-h.rise[user]
			h.count(user, -1)
			h.give(user)
		}()
	}
	synctest.Wait()
}

func (h *hall) count(user string, by int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sitting[user] += by
}

func (h *hall) shows(t *testing.T, want ...int) {
	t.Helper()
	synctest.Wait()
	var got []int
	for _, user := range []string{"a", "b", "c", "d"} {
		got = append(got, h.sitting[user])
	}
	if !slices.Equal(got, want) {
		t.Errorf("they have %v, want %v", got, want)
	}
}

func TestSeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(4, "a", "b", "c", "d")
		h.comes(t.Context(), "a", 10)
		h.shows(t, 4, 0, 0, 0)
		h.comes(t.Context(), "b", 10)
		h.shows(t, 4, 2, 0, 0)
		h.comes(t.Context(), "c", 2)
		h.comes(t.Context(), "d", 2)
		h.shows(t, 4, 2, 1, 1)
		h.rise["a"] <- struct{}{}
		h.shows(t, 3, 2, 1, 1) // one is kept for whoever comes
		h.rise["a"] <- struct{}{}
		h.shows(t, 2, 2, 2, 1) // who has one, and came first
		for range 9 {
			h.rise["b"] <- struct{}{}
		}
		h.rise["b"] <- struct{}{}
		for range 2 {
			h.rise["c"] <- struct{}{}
			h.rise["d"] <- struct{}{}
		}
		for range 8 {
			h.rise["a"] <- struct{}{}
		}
		h.shows(t, 0, 0, 0, 0)
		if h.free != 8 || len(h.taken)+len(h.lines) != 0 {
			t.Errorf("in the end: %+v", h.seats)
		}
	})
}

func TestSeatsOfThoseWhoLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(1, "a")
		h.comes(t.Context(), "a", 1)
		ctx, leave := context.WithCancelCause(t.Context())
		why, waited := errors.New("enough"), false
		go func() {
			if err := h.take(ctx, "a", func() { waited = true }); !errors.Is(err, why) {
				t.Error(err)
			}
		}()
		synctest.Wait()
		leave(why)
		synctest.Wait()
		h.rise["a"] <- struct{}{}
		synctest.Wait()
		if h.free != 2 || len(h.taken)+len(h.lines) != 0 || !waited {
			t.Errorf("in the end: %+v", h.seats)
		}
	})
}

// TestSeatsAtRandom has many come and go, some before it is their turn: none is lost, and nobody has more than half.
func TestSeatsAtRandom(t *testing.T) {
	s := newSeats(3)
	var mu sync.Mutex
	have := map[string]int{}
	var work sync.WaitGroup
	for i := range 200 {
		user := string(rune('a' + i%5))
		work.Go(func() {
			for range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					go cancel()
				}
				if s.take(ctx, user, nil) == nil {
					mu.Lock()
					if have[user]++; have[user] > 3 {
						t.Errorf("%s has %d", user, have[user])
					}
					mu.Unlock()
					mu.Lock()
					have[user]--
					mu.Unlock()
					s.give(user)
				}
				cancel()
			}
		})
	}
	work.Wait()
	if s.free != 6 || len(s.taken)+len(s.lines) != 0 {
		t.Errorf("in the end: %+v", s)
	}
}
