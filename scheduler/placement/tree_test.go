package placement

import "strings"

// tree is a tree of queues by full path.
type tree map[string]Queue

// plant makes a tree of the leaves given by full path, and of their parents. A
// path that ends in "/managed" or "/flexible" is a parent that creates queues.
func plant(paths ...string) tree {
	t := make(tree)
	for _, p := range paths {
		path, kind, _ := strings.Cut(p, "/")
		t[path] = Queue{Path: path, Leaf: kind == "", Managed: kind == "managed", Flexible: kind == "flexible"}
		for up := above(path); up != ""; up = above(up) {
			if _, ok := t[up]; !ok {
				t[up] = Queue{Path: up}
			}
		}
	}
	return t
}

func (t tree) Lookup(name string) (Queue, Presence) {
	if q, ok := t[name]; ok {
		return q, Present
	}
	var found []Queue
	for path, q := range t {
		if shortName(path) == name && path != "root" {
			found = append(found, q)
		}
	}
	switch len(found) {
	case 0:
		return Queue{}, Absent
	case 1:
		return found[0], Present
	}
	return Queue{}, Ambiguous
}

// company is the tree of most tests: dev is the name of two queues.
func company() tree {
	return plant("root.default", "root.users.ann", "root.users.bob", "root.users.dev", "root.dev", "root.ops", "root.qa.team",
		"root.managed/managed", "root.managed.ann", "root.free/flexible", "root.free.team/flexible", "root.free.team.old")
}
