package tree

import (
	"slices"
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// Create makes the leaf of that path, and parents above it that are missing,
// where queues may be created on demand.
func (l *Live) Create(path string) (*Queue, yarn.Reason) {
	unknown := yarn.Reason{Code: fit.UnknownQueue, Subject: path}
	up := queue.ParentPath(path)
	if up == "" || strings.Contains("."+path+".", "..") || l.Tree.Find(path) != nil {
		return nil, unknown
	}
	if parent := l.Tree.Find(up); parent != nil && parent.Conf.Kind == config.Managed {
		return l.createManaged(parent, queue.Short(path))
	}
	parent, missing, why := l.missingParents(path, up)
	if !why.OK() {
		return nil, why
	}
	for _, m := range missing {
		if parent, why = l.addDynamic(parent, queue.Short(m), config.Parent); !why.OK() {
			return nil, why
		}
	}
	return l.addDynamic(parent, queue.Short(path), config.Leaf)
}

// missingParents is the nearest parent that exists, and the paths of those that
// have to be created below it, the uppermost first.
func (l *Live) missingParents(path, up string) (*Queue, []string, yarn.Reason) {
	if l.Tree.Names.Ambiguous(up) {
		return nil, nil, yarn.Reason{Code: fit.AmbiguousQueue, Subject: up}
	}
	var missing []string
	depth := int32(1)
	existing := l.Tree.Find(up)
	for static := existing; (static == nil || static.Dynamic) && up != ""; static = l.Tree.Find(up) {
		depth++
		if existing == nil {
			missing = append([]string{up}, missing...)
		}
		if up = queue.ParentPath(up); existing == nil {
			existing = l.Tree.Find(up)
		}
	}
	static := l.Tree.Find(up)
	switch {
	case existing == nil || static == nil:
		return nil, nil, yarn.Reason{Code: fit.UnknownQueue, Subject: path}
	case depth > static.Conf.MaxDepth:
		return nil, nil, yarn.Reason{Code: fit.TooDeep, Subject: path, Count: int64(depth), Max: int64(static.Conf.MaxDepth)}
	case existing.Leaf:
		return nil, nil, yarn.Reason{Code: fit.NotADynamicParent, Subject: existing.Path}
	case !existing.Flexible():
		return nil, nil, yarn.Reason{Code: fit.NotADynamicParent, Subject: existing.Path}
	}
	return existing, missing, yarn.Reason{}
}

func (l *Live) addDynamic(parent *Queue, name string, kind config.Kind) (*Queue, yarn.Reason) {
	path := parent.Path + "." + name
	if q := l.Tree.ByPath(path); q != nil {
		return q, yarn.Reason{}
	}
	if n := len(parent.Children); n >= int(parent.Conf.MaxChildren) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Count: int64(n), Max: int64(parent.Conf.MaxChildren)}
	}
	if t, mixed := typeOf(parent, parent.Children); l.Config.Legacy && (t != byWeight || mixed) {
		return nil, yarn.Reason{Code: fit.NotADynamicParent, Subject: parent.Path, Detail: "its queues do not have weights"}
	}
	q, why := l.newDynamic(parent, name, kind)
	if !why.OK() {
		return nil, why
	}
	l.add(q)
	parent.LastSubmit = l.Now.Mono
	l.Entitle(parent)
	return q, yarn.Reason{}
}

func (l *Live) newDynamic(parent *Queue, name string, kind config.Kind) (*Queue, yarn.Reason) {
	conf, err := l.Config.Dynamic(parent.Conf, name, kind)
	if err != nil {
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: parent.Path + "." + name, Detail: err.Error()}
	}
	q := newQueue(conf, parent, l.Parts.Partitions())
	q.Dynamic = parent.Conf.Kind != config.Managed
	q.Creates = q.CreatesQueues()
	if err := l.setup(l.Config, q, nil); err != nil {
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: q.Path, Detail: err.Error()}
	}
	return q, yarn.Reason{}
}

// add enters a new queue as the last child of its parent.
func (l *Live) add(q *Queue) {
	q.Up.setChildren(append(q.Up.Children, q))
	l.Tree.add(q)
	l.Server.Added(q)
}

// remove takes a queue out of the tree.
func (l *Live) remove(q *Queue) {
	parent := q.Up
	parent.setChildren(slices.DeleteFunc(parent.Children, func(c *Queue) bool { return c == q }))
	l.Tree.remove(q)
}

// RemoveEmpty takes away those queues which were created on demand and were found empty by
// two calls.
func (l *Live) RemoveEmpty() {
	var due []*Queue
	for _, q := range l.Tree.Queues {
		if q == nil {
			continue
		}
		removable := q.removable()
		if removable && q.empty {
			due = append(due, q)
		}
		q.empty = removable && !q.empty
	}
	for _, q := range due {
		if q.removable() && (l.Now.Mono-q.LastSubmit)/1000 > l.Config.ExpirySeconds {
			l.remove(q)
			l.Entitle(q.Up)
		}
	}
}

// removable tells whether the queue was created on demand and is empty.
func (q *Queue) removable() bool {
	if !q.Dynamic || !q.Conf.AutoRemove {
		return false
	}
	if q.Leaf {
		return q.NumApps() == 0
	}
	return len(q.Children) == 0
}
