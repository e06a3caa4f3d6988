package queue

import (
	"maps"
	"slices"
	"strings"
)

// Root is the path of the queue above all others.
const Root = "root"

// Names finds queues by full path, or by short name while only one has it.
// Queues are dense indexes here; -1 is none.
type Names struct {
	byPath  map[string]int32
	byShort map[string]sameName
	most    int // of byPath since it was made: a map never becomes smaller
}

// sameName are the queues of one short name; nearly always there is one.
type sameName struct {
	first  int32
	others []int32
}

// NewNames is empty, with room for so many queues.
func NewNames(room int) *Names {
	return &Names{byPath: make(map[string]int32, room), byShort: make(map[string]sameName, room)}
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

// PlanDefault is the name of the queue below a reservable one of that name where applications go that have no reservation.
func PlanDefault(plan string) string { return plan + "-default" }

// PlanDefaultPath is its path, of the path of the reservable one.
func PlanDefaultPath(plan string) string {
	return plan + "." + PlanDefault(plan[strings.LastIndexByte(plan, '.')+1:])
}

// Add enters a queue.
func (n *Names) Add(path string, q int32) {
	n.byPath[path] = q
	n.most = max(n.most, len(n.byPath))
	s := Short(path)
	if s == Root {
		return
	}
	b, shared := n.byShort[s]
	if shared {
		b.others = append(b.others, q)
	} else {
		b.first = q
	}
	n.byShort[s] = b
}

// Remove takes a queue out.
func (n *Names) Remove(path string) {
	q, ok := n.byPath[path]
	if !ok {
		return
	}
	delete(n.byPath, path)
	defer n.thin()
	s := Short(path)
	b, known := n.byShort[s]
	switch {
	case !known:
		return
	case b.first != q:
		b.others = slices.DeleteFunc(b.others, func(other int32) bool { return other == q })
	case len(b.others) == 0:
		delete(n.byShort, s)
		return
	default:
		b.first, b.others = b.others[0], b.others[1:]
	}
	n.byShort[s] = b
}

// thin makes the maps anew when they have become much too large.
func (n *Names) thin() {
	if n.most < 1000 || len(n.byPath) > n.most/8 {
		return
	}
	was := *n
	*n = Names{byPath: make(map[string]int32, len(was.byPath)), byShort: make(map[string]sameName, len(was.byShort)), most: len(was.byPath)}
	maps.Copy(n.byPath, was.byPath)
	maps.Copy(n.byShort, was.byShort)
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
	if b, ok := n.byShort[name]; ok && len(b.others) == 0 {
		return b.first
	}
	return -1
}

// Ambiguous tells whether several queues have that short name.
func (n *Names) Ambiguous(short string) bool { return len(n.byShort[short].others) > 0 }
