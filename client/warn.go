package client

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/heddle-project/heddle/wire/ipc"
)

// How often the same is told.
const (
	warnEvery   = 10          // failures to reach an address
	nobodyEvery = time.Minute // that nobody is active
)

// warner counts failures by address and passes some of them on.
type warner struct {
	tell    func(Retry)
	targets map[string]Target

	mu     sync.Mutex
	tries  map[string]int
	nobody time.Time // when it was told last that nobody is active
}

func newWarner(tell func(Retry), s settings) *warner {
	w := &warner{tell: tell, targets: map[string]Target{}, tries: map[string]int{}}
	for _, t := range slices.Concat(s.User, s.Admin, s.Master) {
		w.targets[t.Address] = t
	}
	return w
}

func (w *warner) failed(address string, err error) {
	w.mu.Lock()
	w.tries[address]++
	n := w.tries[address]
	w.mu.Unlock()
	if w.tell != nil && n%warnEvery == 1 {
		w.tell(Retry{Target: w.targets[address], Tries: n, Err: err})
	}
}

// retried is told of attempts after which a call goes on. The answer of a standby is worth a word if nobody else is active.
func (w *warner) retried(r ipc.Retry) {
	var answer *ipc.RemoteError
	if w.tell == nil || !r.Nobody || !errors.As(r.Err, &answer) {
		return
	}
	w.mu.Lock()
	now := time.Now()
	says := now.Sub(w.nobody) >= nobodyEvery
	if says {
		w.nobody = now
	}
	w.mu.Unlock()
	if says {
		w.tell(Retry{Target: w.targets[r.Address], Tries: r.Attempt, Err: r.Err, Nobody: true})
	}
}

func (w *warner) reached(address string) {
	w.mu.Lock()
	delete(w.tries, address)
	w.mu.Unlock()
}
