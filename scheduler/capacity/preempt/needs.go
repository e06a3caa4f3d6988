package preempt

// needs is queues in the order of their need: a binary heap.
//
// compat: which of several equal ones comes first follows from how java.util.PriorityQueue moves them.
type needs struct {
	list  []*Queue
	first func(a, b *Queue) int
}

func (h *needs) add(q *Queue) {
	h.list = append(h.list, q)
	i := len(h.list) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h.first(q, h.list[up]) >= 0 {
			break
		}
		h.list[i] = h.list[up]
		i = up
	}
	h.list[i] = q
}

func (h *needs) take() *Queue {
	n := len(h.list) - 1
	top, q := h.list[0], h.list[n]
	h.list[n] = nil
	h.list = h.list[:n]
	if n == 0 {
		return top
	}
	i := 0
	for i < n/2 {
		c := 2*i + 1
		if c+1 < n && h.first(h.list[c], h.list[c+1]) > 0 {
			c++
		}
		if h.first(q, h.list[c]) <= 0 {
			break
		}
		h.list[i] = h.list[c]
		i = c
	}
	h.list[i] = q
	return top
}
