package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// split cuts a path into its parts. Empty parts at the end are dropped, as
// Java's String.split does.
func split(path string) []string {
	parts := strings.Split(path, ".")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// tidied is a path without spaces around its last dot, and whether none of its
// parts is empty.
func tidied(path string) (string, bool) {
	parent, leaf := "", path
	if dot := strings.LastIndexByte(path, '.'); dot >= 0 {
		parent, leaf = strings.TrimSpace(path[:dot]), strings.TrimSpace(path[dot+1:])
		path = parent + "." + leaf
	}
	return path, leaf != "" && !slices.Contains(strings.Split(path, "."), "")
}

// target is where a path leads.
type target struct {
	path   string // full
	queue  Queue  // if it exists
	exists bool   // otherwise it can be created
}

func no(code yarn.Code, subject, format string, args ...any) yarn.Reason {
	return yarn.Reason{Code: code, Subject: subject, Detail: fmt.Sprintf(format, args...)}
}

// resolve follows a path whose first part may be a short name. What it leads to
// exists or can be created. A queue can be created if its parent creates queues,
// or if its parent is missing and its grandparent creates both.
func resolve(path string, queues Queues) (target, yarn.Reason) {
	parts := strings.Split(path, ".")
	root, why := find(parts[0], queues)
	if !why.OK() {
		if len(parts) > 1 && why.Code == AbsentQueue {
			why = no(AbsentRoot, path, "there is no queue %q at which the path %q could begin", parts[0], path)
		}
		return target{}, why
	}
	if len(parts) == 1 {
		return target{root.Path, root, true}, yarn.Reason{}
	}
	full := root.Path + path[len(parts[0]):]
	queue, presence := queues.Lookup(full)
	if presence == Present {
		return target{full, queue, true}, yarn.Reason{}
	}
	if why := creatable(full, queues); !why.OK() {
		return target{}, why
	}
	return target{path: full}, yarn.Reason{}
}

// find looks up one name.
func find(name string, queues Queues) (Queue, yarn.Reason) {
	queue, presence := queues.Lookup(name)
	switch presence {
	case Absent:
		return Queue{}, no(AbsentQueue, name, "there is no queue %q", name)
	case Ambiguous:
		return Queue{}, no(AmbiguousName, name, "several queues have the name %q: use a full path", name)
	}
	return queue, yarn.Reason{}
}

// creatable tells why a queue that does not exist cannot be created.
func creatable(full string, queues Queues) yarn.Reason {
	parent := above(full)
	if queue, presence := queues.Lookup(parent); presence == Present {
		if !queue.Leaf && (queue.Managed || queue.Flexible) {
			return yarn.Reason{}
		}
		return no(NoDynamic, full, "there is no queue %q, and %q does not create queues", full, parent)
	}
	grandparent := above(parent)
	queue, presence := queues.Lookup(grandparent)
	if grandparent == "" || presence != Present {
		return no(AbsentQueue, full, "there is no queue %q, and neither its parent nor the parent of that exists", full)
	}
	// compat: of the two ways to create queues only the flexible one makes parents.
	if queue.Leaf || !queue.Flexible {
		return no(NoDynamic, full, "there is no queue %q, and %q does not create parents for it", full, grandparent)
	}
	return yarn.Reason{}
}

// shortName is the last part of a path.
func shortName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

// above is the path of the parent, "" for that of the root.
func above(path string) string { return path[:max(0, strings.LastIndexByte(path, '.'))] }
