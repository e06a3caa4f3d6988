package engine

import "github.com/heddle-project/heddle/yarn"

// updates are changes of containers that somebody has yet to fetch, in the order in which they came, the last one of each container.
type updates struct {
	list  []UpdatedContainer
	index map[yarn.ContainerID]int // in list, and as many as were taken before
	taken int
}

func (s *updates) len() int { return len(s.list) }

func (s *updates) has(id yarn.ContainerID) bool {
	_, ok := s.index[id]
	return ok
}

// put enters a change, instead of an earlier one of the same container.
func (s *updates) put(u UpdatedContainer) {
	if i, ok := s.index[u.Grant.ID]; ok {
		s.list[i-s.taken] = u
		return
	}
	if s.index == nil {
		s.index = map[yarn.ContainerID]int{}
	}
	s.index[u.Grant.ID] = s.taken + len(s.list)
	s.list = append(s.list, u)
}

// take takes the first ones, so many at most.
func (s *updates) take(most int) []UpdatedContainer {
	if len(s.list) <= most {
		all := s.list
		*s = updates{}
		return all
	}
	first := s.list[:most:most]
	for i := range first {
		delete(s.index, first[i].Grant.ID)
	}
	s.list, s.taken = s.list[most:], s.taken+most
	return first
}
