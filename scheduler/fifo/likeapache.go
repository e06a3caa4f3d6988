package fifo

import "github.com/heddle-project/heddle/yarn"

// LikeApache counts off twice what was released on a node that is lost; see the facade.
func (s *Scheduler) LikeApache() { s.AsApache = true }

// CountUsers counts nobody: users have no limits.
func (s *Scheduler) CountUsers() {}

// lessEndedTwice is what is used as Apache counts it in replays; otherwise it is used.
func (s *Scheduler) lessEndedTwice(used yarn.Resource) yarn.Resource { return used.Sub(s.EndedTwice) }
