package fair

// LikeApache has refused submissions leave the queue that was made for them, moves count the application that moves, and masters that move
// be charged to nobody; see the facade.
func (s *Scheduler) LikeApache() { s.AsApache = true }

// CountUsers counts nobody: limits of users are of applications that run.
func (s *Scheduler) CountUsers() {}
