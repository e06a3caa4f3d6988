package core

import (
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/yarn"
)

// replay is what replays of recorded decisions need, and nobody else.
type replay struct {
	// AsApache lets things go wrong that go wrong in Apache.
	AsApache bool
	// EndedTwice is what was released and still ran on nodes that were lost. Apache's
	// FifoScheduler takes it off what is used both times. It is zero without AsApache.
	EndedTwice yarn.Resource
	// stuck is that what was answered last would not have been answered by Apache.
	stuck bool
}

// forgetDecrease forgets how large a container is to become that has grown.
//
// compat: Apache does, so that it has no size for a decrease that was asked for before the increase was fetched.
func (s *Core) forgetDecrease(w *updates, id yarn.ContainerID) {
	if s.AsApache {
		delete(w.decreases, id)
	}
}

// getsStuck tells whether an answer ends with a decrease that has no size.
//
// compat: Apache's allocate call ends there with a NullPointerException, and so does every later one until the container ends or
// its master asks for another decrease.
func (s *Core) getsStuck(a *App, n named, sized bool) bool {
	if sized || !s.AsApache || !s.still(a, n) {
		return false
	}
	s.stuck = true
	return true
}

// Unanswered tells whether Apache's answer is lost; see the facade.
func (s *Core) Unanswered() bool {
	stuck := s.stuck
	s.stuck = false
	return stuck
}

// lostReleased notes that a container was lost with its node after its release.
func (s *Core) lostReleased(container *cluster.Container) {
	if s.AsApache && !s.App(container.App).Gone {
		s.EndedTwice = s.EndedTwice.Add(container.Resource)
	}
}

// movesReleased tells whether what a container used that was released and still runs goes
// to another partition with its node.
//
// compat: in Apache it does, while there is the application.
func (s *Core) movesReleased(a *App) bool { return s.AsApache && !a.Gone }

// restoresIncreases tells whether an ask to enlarge a container is put back.
//
// compat: in Apache it is, as an ask for a container like any other, on that node alone.
func (s *Core) restoresIncreases() bool { return s.AsApache }
