package capacity

func (s *Scheduler) updateVectors(q *Queue, limit resource) {}
