// Package scheduler has what replays need.
package scheduler

type Scheduler struct{ core *Scheduler }

func (s *Scheduler) LikeApache() { s.core.LikeApache() }

func (s *Scheduler) CountUsers() { s.core.CountUsers() }
