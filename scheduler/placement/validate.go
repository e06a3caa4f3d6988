package placement

import (
	"strings"

	"github.com/heddle-project/heddle/yarn"
)

// Validate checks every rule's path against a tree of queues, as far as it does
// not depend on the application. A scheduler with a finding does not start, and
// refuses to refresh.
func (r *Rules) Validate(queues Queues) []Finding {
	var out []Finding
	for i := range r.list {
		rule := &r.list[i]
		if rule.action != actionPlace {
			continue
		}
		if why := checkPath(rule.target, queues); !why.OK() {
			out = append(out, Finding{Rule: i, Property: rule.property, Text: rule.text, Reason: why})
		}
	}
	return out
}

func checkPath(pattern string, queues Queues) yarn.Reason {
	parts := split(pattern)
	fixed := len(parts)
	for i, part := range parts {
		if part == "" {
			return no(EmptyPath, pattern, "the path %q has an empty part", pattern)
		}
		if _, ok := variableNamed(part); ok {
			fixed = i
			break
		}
	}
	if fixed == len(parts) {
		return checkFixed(strings.Join(parts, "."), queues)
	}
	if fixed == 0 {
		return yarn.Reason{} // nothing is known before an application comes
	}
	return checkStart(pattern, parts[:fixed], queues)
}

// checkFixed checks a path without variables: it must lead to a leaf, or to
// where one can be created.
func checkFixed(path string, queues Queues) yarn.Reason {
	path, ok := tidied(path)
	if !ok {
		return no(EmptyPath, path, "the path %q has an empty part", path)
	}
	to, why := resolve(path, queues)
	if why.OK() && to.exists && !to.queue.Leaf {
		return no(NotLeaf, to.path, "%q is a parent, not a leaf", to.path)
	}
	return why
}

// checkStart checks the parts before the first variable: they must lead to a
// parent, or to where one can be created.
func checkStart(pattern string, start []string, queues Queues) yarn.Reason {
	root, why := find(start[0], queues)
	if !why.OK() {
		return no(rootCode(why.Code), pattern, "the path %q: %s", pattern, why.Detail)
	}
	full := strings.Join(append([]string{root.Path}, start[1:]...), ".")
	if queue, presence := queues.Lookup(full); presence == Present {
		if queue.Leaf {
			return no(BelowLeaf, pattern, "the path %q goes on below %q, which is a leaf", pattern, full)
		}
		return yarn.Reason{}
	}
	if parent, presence := queues.Lookup(above(full)); presence == Present && !parent.Leaf && (parent.Managed || parent.Flexible) {
		return yarn.Reason{}
	}
	return no(NoDynamic, pattern, "the path %q: there is no queue %q, and its parent does not create it", pattern, full)
}

func rootCode(code yarn.Code) yarn.Code {
	if code == AbsentQueue {
		return AbsentRoot
	}
	return code
}
