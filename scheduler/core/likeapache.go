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
