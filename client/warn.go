package client

import (
	"errors"
	"slices"
	"sync"

	"github.com/heddle-project/heddle/wire/ipc"
)

// warnEvery is how many failures pass between two notices about an address.
const warnEvery = 10

// warner counts failures by address and passes some of them on.
type warner struct {
	tell    func(Retry)
	group   int // addresses that a call goes to
	targets map[string]Target

	mu    sync.Mutex
	tries map[string]int
}

func newWarner(tell func(Retry), s settings) *warner {
	w := &warner{tell: tell, group: max(1, len(s.User)), targets: map[string]Target{}, tries: map[string]int{}}
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

// retried is told of attempts after which a call goes on. Answers of standbys are not worth a word before each address has been asked.
func (w *warner) retried(address string, attempt int, err error) {
	var answer *ipc.RemoteError
	if n := attempt - w.group; w.tell != nil && n >= 0 && n%(warnEvery*w.group) == 0 && errors.As(err, &answer) {
		w.tell(Retry{Target: w.targets[address], Tries: attempt, Err: err, Nobody: true})
	}
}

func (w *warner) reached(address string) {
	w.mu.Lock()
	delete(w.tries, address)
	w.mu.Unlock()
}
