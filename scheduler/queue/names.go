package queue

import "strings"

// Root is the path of the queue above all others.
const Root = "root"

// Names finds queues by full path, or by short name while only one has it.
// Queues are dense indexes here; -1 is none.
type Names struct {
	byPath  map[string]int32
	byShort map[string][]int32
}

// NewNames is empty.
func NewNames() *Names {
	return &Names{byPath: map[string]int32{}, byShort: map[string][]int32{}}
}

// Short is the last part of a path.
func Short(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// ParentPath is the path without its last part, "" for a path of one part.
func ParentPath(path string) string {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return ""
	}
	return path[:i]
}

// Add enters a queue.
func (n *Names) Add(path string, q int32) {
	n.byPath[path] = q
	if s := Short(path); s != Root {
		n.byShort[s] = append(n.byShort[s], q)
	}
}

// Remove takes a queue out.
func (n *Names) Remove(path string) {
	q, ok := n.byPath[path]
	if !ok {
		return
	}
	delete(n.byPath, path)
	s := Short(path)
	kept := n.byShort[s][:0]
	for _, other := range n.byShort[s] {
		if other != q {
			kept = append(kept, other)
		}
	}
	if len(kept) == 0 {
		delete(n.byShort, s)
		return
	}
	n.byShort[s] = kept
}

// ByPath is the queue with that full path, or -1.
func (n *Names) ByPath(path string) int32 {
	if q, ok := n.byPath[path]; ok {
		return q
	}
	return -1
}

// Find is the queue with that full path or unambiguous short name, or -1.
func (n *Names) Find(name string) int32 {
	if q, ok := n.byPath[name]; ok {
		return q
	}
	if qs := n.byShort[name]; len(qs) == 1 {
		return qs[0]
	}
	return -1
}

// Ambiguous tells whether several queues have that short name.
func (n *Names) Ambiguous(short string) bool { return len(n.byShort[short]) > 1 }
