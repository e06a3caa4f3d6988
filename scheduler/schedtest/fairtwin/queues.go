package fairtwin

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/allocation"
	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/javanum"
)

func (q *Queue) each(do func(*Queue)) {
	do(q)
	for _, c := range q.Children {
		c.each(do)
	}
}

// Queues are all queues, parents first.
func (w *World) Queues() []*Queue {
	var out []*Queue
	w.Root.each(func(q *Queue) { out = append(out, q) })
	return out
}

func (q *Queue) below(top *Queue) bool {
	for ; q != nil; q = q.Parent {
		if q == top {
			return true
		}
	}
	return false
}

// find is the queue with that path, or nil.
func (w *World) find(path string) *Queue {
	for _, q := range w.Queues() {
		if q.Path == path {
			return q
		}
	}
	return nil
}

func above(path string) string { return path[:max(strings.LastIndexByte(path, '.'), 0)] }

// conf are the settings of a queue: those of the file, or those of a queue that the file does not name.
func (w *World) conf(path string, parent *Queue) *allocation.Queue {
	if c := w.Config.Queue(path); c != nil {
		return c
	}
	return w.Config.Unnamed(path, parent.Conf)
}

// allows tells whether a queue with that policy may stand below another.
func allows(parent, child allocation.Policy, leaf bool) bool {
	switch {
	case child == fifo:
		return leaf
	case parent == fair:
		return child != drf
	}
	return parent == drf
}

// create makes the queue and those above it that are missing. It makes none, nil, if a leaf is in the way, or a policy does not allow one of them.
func (w *World) create(path string, leaf bool) *Queue {
	if q := w.find(path); q != nil {
		return q
	}
	top := w.nearest(path)
	if top.Leaf {
		return nil
	}
	parent := top
	var last *Queue
	for at := top.Path; at != path; {
		name, _, _ := strings.Cut(path[len(at)+1:], ".")
		at += "." + name
		conf := w.conf(at, parent)
		q := &Queue{Path: at, Parent: parent, Conf: conf, Policy: conf.Policy, Leaf: leaf && at == path, Dynamic: true, lastAtMin: w.Now}
		if !allows(parent.Policy, q.Policy, q.Leaf) {
			return nil
		}
		if parent != top {
			parent.Children = []*Queue{q}
		}
		if last == nil {
			last = q // the highest of the new ones
		}
		parent = q
	}
	top.Children = append(top.Children, last)
	return parent
}

// leaf is the leaf with that path, which is made if it can be.
func (w *World) leaf(path string) *Queue {
	before := len(w.Queues())
	q := w.create(path, true)
	if len(w.Queues()) != before {
		w.steady()
	}
	if q == nil || !q.Leaf {
		return nil
	}
	return q
}

// empty tells whether no application is in the queue or below.
func (w *World) empty(q *Queue) bool {
	return !slices.ContainsFunc(w.Apps, func(a *App) bool { return a.Queue.below(q) })
}

func (w *World) remove(q *Queue) {
	q.Parent.Children = slices.DeleteFunc(q.Parent.Children, func(o *Queue) bool { return o == q })
}

// converge makes the queues of the file in the place of empty ones that are in the way: first leaves, then parents, each in the order of a Java hash
// table that gets those below a queue before it. It is the order of siblings afterwards.
func (w *World) converge() {
	for _, leaves := range []bool{true, false} {
		var list []*allocation.Queue
		var names []string
		for _, c := range childrenFirst(w.Config.Root) {
			if (c.Kind == allocation.Leaf) == leaves && (c.Line > 0 || c.Path == "root") {
				list, names = append(list, c), append(names, c.Path)
			}
		}
		for _, i := range javanum.HashOrder(names) {
			w.ensure(list[i].Path, leaves)
		}
	}
}

func childrenFirst(q *allocation.Queue) (out []*allocation.Queue) {
	for _, c := range q.Children {
		out = append(out, childrenFirst(c)...)
	}
	return append(out, q)
}

// ensure makes one queue of the file, as far as others are not in the way.
func (w *World) ensure(path string, leaf bool) {
	if path == "root" {
		return
	}
	q := w.find(path)
	if q == nil {
		q = w.nearest(path) // which is in the way if it is a leaf
	}
	if wanted := leaf && q.Path == path; q.Leaf != wanted && w.empty(q) {
		w.remove(q)
	}
	if q := w.create(path, leaf); q != nil && q.Leaf == leaf {
		q.Dynamic = false
	}
}

// nearest is the lowest queue that there is above a path.
func (w *World) nearest(path string) *Queue {
	for {
		path = above(path)
		if q := w.find(path); q != nil {
			return q
		}
	}
}

// Sweep removes dynamic queues without applications, from leaves upwards, and makes queues of the file that were in conflict with others.
func (w *World) Sweep() {
	queues := w.Queues()
	slices.Reverse(queues) // children first
	for _, q := range queues {
		if q.Dynamic && len(q.Children) == 0 && w.empty(q) {
			w.remove(q)
		}
	}
	w.converge()
	w.steady()
}

// policies gives queues their new policies, those below first, up to the first one that may not have a child with what that has.
func (w *World) policies(q *Queue) bool {
	conf := w.Config.Root
	if q.Parent != nil {
		conf = w.conf(q.Path, q.Parent)
	}
	for _, c := range q.Children {
		if !allows(conf.Policy, w.conf(c.Path, q).Policy, true) || !w.policies(c) {
			return false
		}
	}
	q.Policy = conf.Policy
	return true
}

// Refresh takes over another configuration.
func (w *World) Refresh(cfg *config.Fair) {
	w.Config = cfg
	w.policies(w.Root)
	w.converge()
	w.Root.each(func(q *Queue) {
		if c := cfg.Queue(q.Path); c == nil {
			q.Dynamic = q != w.Root
		}
		if q.Parent == nil {
			q.Conf = cfg.Root
		} else {
			q.Conf = w.conf(q.Path, q.Parent)
		}
	})
	w.steady()
	w.promote(w.waiting(w.Root), len(w.Apps))
}
