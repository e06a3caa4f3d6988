package lint

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/placement"
	"github.com/heddle-project/heddle/scheduler/queue"
)

// node is one queue as the ".queues" lists name it, whatever else is wrong.
type node struct {
	path, name string
	parent     *node
	children   []*node
	managed    bool // auto-create-child-queue.enabled
	flexible   bool // auto-queue-creation-v2.enabled
}

// leaf tells whether applications can be submitted to the queue.
func (n *node) leaf() bool { return len(n.children) == 0 && !n.managed && !n.flexible }

// creates tells whether the queue, or one above it, makes queues on demand.
func (n *node) creates() bool {
	for ; n != nil; n = n.parent {
		if n.managed || n.flexible {
			return true
		}
	}
	return false
}

// tree is all queues that the lists reach from the root.
type tree struct {
	root    *node
	all     []*node // parents first
	byPath  map[string]*node
	byShort map[string][]*node
}

// Bounds of a tree; what is beyond is refused by config.Parse.
const (
	maxDepth  = 64
	maxQueues = 100_000
)

func key(path, suffix string) string { return config.Prefix + path + "." + suffix }

// treeOf makes the tree that the properties describe.
func treeOf(values map[string]config.Property) *tree {
	t := &tree{byPath: map[string]*node{}, byShort: map[string][]*node{}}
	var enter func(parent *node, name string, depth int) *node
	enter = func(parent *node, name string, depth int) *node {
		n := &node{path: name, name: name, parent: parent}
		if parent != nil {
			n.path = parent.path + "." + name
		}
		if depth > maxDepth || len(t.all) >= maxQueues || t.byPath[n.path] != nil {
			return nil
		}
		n.managed = isTrue(values[key(n.path, "auto-create-child-queue.enabled")].Value)
		n.flexible = isTrue(values[key(n.path, "auto-queue-creation-v2.enabled")].Value)
		t.all, t.byPath[n.path] = append(t.all, n), n
		if parent != nil {
			t.byShort[name] = append(t.byShort[name], n)
		}
		for _, child := range list(values[key(n.path, "queues")].Value) {
			if c := enter(n, child, depth+1); c != nil {
				n.children = append(n.children, c)
			}
		}
		return n
	}
	t.root = enter(nil, queue.Root, 1)
	return t
}

// Lookup implements placement.Queues.
func (t *tree) Lookup(name string) (placement.Queue, placement.Presence) {
	n := t.byPath[name]
	if n == nil {
		switch same := t.byShort[name]; len(same) {
		case 0:
			return placement.Queue{}, placement.Absent
		case 1:
			n = same[0]
		default:
			return placement.Queue{}, placement.Ambiguous
		}
	}
	return placement.Queue{Path: n.path, Leaf: n.leaf(), Managed: n.managed, Flexible: n.flexible && !n.managed}, placement.Present
}

// below are the queue's descendants that the rest of a property's name leads
// to, the deepest first, each with what is left of the name.
func (n *node) below(rest string) []owned {
	var out []owned
	for {
		out = append(out, owned{node: n, rest: rest})
		i := slices.IndexFunc(n.children, func(c *node) bool { return strings.HasPrefix(rest, c.name+".") })
		if i < 0 {
			slices.Reverse(out)
			return out
		}
		n = n.children[i]
		rest = rest[len(n.name)+1:]
	}
}

// owned is a property's name, split into a queue and what it is about.
type owned struct {
	node *node
	rest string
}

func list(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

func isTrue(text string) bool { return strings.EqualFold(strings.TrimSpace(text), "true") }
