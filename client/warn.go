package client

import (
	"slices"
	"sync"
)

// warnEvery is how many failures pass between two notices about an address.
const warnEvery = 10

// warner counts failures by address and passes some of them on.
type warner struct {
	tell    func(Retry)
	targets map[string]Target

	mu    sync.Mutex
	tries map[string]int
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
		w.tell(Retry{w.targets[address], n, err})
	}
}

func (w *warner) reached(address string) {
	w.mu.Lock()
	delete(w.tries, address)
	w.mu.Unlock()
}
