package capacity

import (
	"strings"

	"github.com/heddle-project/heddle/scheduler/config"
	"github.com/heddle-project/heddle/scheduler/fit"
	"github.com/heddle-project/heddle/scheduler/queue"
	"github.com/heddle-project/heddle/yarn"
)

// create makes the leaf of that path, and parents above it that are missing,
// where queues may be created on demand.
func (s *Scheduler) create(path string) (*Queue, yarn.Reason) {
	unknown := yarn.Reason{Code: fit.UnknownQueue, Subject: path}
	up := queue.ParentPath(path)
	if up == "" || strings.Contains("."+path+".", "..") {
		return nil, unknown
	}
	if parent := s.tree.Find(up); parent != nil && parent.Conf.Kind == config.Managed {
		return s.createManaged(parent, queue.Short(path))
	}
	parent, missing, why := s.missingParents(path, up)
	if !why.OK() {
		return nil, why
	}
	for _, m := range missing {
		if parent, why = s.addDynamic(parent, queue.Short(m), config.Parent); !why.OK() {
			return nil, why
		}
	}
	return s.addDynamic(parent, queue.Short(path), config.Leaf)
}

// missingParents is the nearest parent that exists, and the paths of those that
// have to be created below it, the uppermost first.
func (s *Scheduler) missingParents(path, up string) (*Queue, []string, yarn.Reason) {
	if s.tree.Names.Ambiguous(up) {
		return nil, nil, yarn.Reason{Code: fit.AmbiguousQueue, Subject: up}
	}
	var missing []string
	depth := int32(1)
	existing := s.tree.Find(up)
	for static := existing; (static == nil || static.Dynamic) && up != ""; static = s.tree.Find(up) {
		depth++
		if existing == nil {
			missing = append([]string{up}, missing...)
		}
		if up = queue.ParentPath(up); existing == nil {
			existing = s.tree.Find(up)
		}
	}
	static := s.tree.Find(up)
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

// Flexible tells whether queues of any depth are created below on demand.
func (q *Queue) Flexible() bool { return !q.Leaf && (q.Dynamic || q.Conf.Flexible) }

func (q *Queue) createsQueues() bool { return q.Conf.Kind == config.Managed || q.Flexible() }

func (s *Scheduler) addDynamic(parent *Queue, name string, kind config.Kind) (*Queue, yarn.Reason) {
	path := parent.Path + "." + name
	if q := s.tree.ByPath(path); q != nil {
		return q, yarn.Reason{}
	}
	if n := len(parent.Children); n >= int(parent.Conf.MaxChildren) {
		return nil, yarn.Reason{Code: fit.TooManyQueues, Subject: parent.Path, Count: int64(n), Max: int64(parent.Conf.MaxChildren)}
	}
	if t, mixed := s.typeOf(parent, parent.Children); s.cfg.Legacy && (t != byWeight || mixed) {
		return nil, yarn.Reason{Code: fit.NotADynamicParent, Subject: parent.Path, Detail: "its queues do not have weights"}
	}
	q, why := s.newDynamic(parent, name, kind)
	if !why.OK() {
		return nil, why
	}
	s.hang(parent, q)
	parent.LastSubmit = s.Now.Mono
	s.recalculateFrom(parent, s.Books.Total)
	return q, yarn.Reason{}
}

func (s *Scheduler) newDynamic(parent *Queue, name string, kind config.Kind) (*Queue, yarn.Reason) {
	conf, err := s.cfg.Dynamic(parent.Conf, name, kind)
	if err != nil {
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: parent.Path + "." + name, Detail: err.Error()}
	}
	known := s.Books.Partitions()
	s.internLabels(conf)
	q := s.newQueue(conf, parent)
	q.Dynamic = parent.Conf.Kind != config.Managed
	q.Creates = q.createsQueues()
	if err := s.setup(s.cfg, q, nil); err != nil {
		s.ForgetParts(known)
		return nil, yarn.Reason{Code: fit.BadRequest, Subject: q.Path, Detail: err.Error()}
	}
	if q.Leaf {
		s.adopt(q)
	}
	return q, yarn.Reason{}
}

// hang enters a new queue as the last child of its parent.
func (s *Scheduler) hang(parent, q *Queue) {
	q.Place = int32(len(parent.Children))
	parent.Children = append(parent.Children, q)
	parent.reorder()
	s.tree.add(q)
}

// unhang takes a queue out of the tree.
func (s *Scheduler) unhang(q *Queue) {
	parent := q.Up
	kept := parent.Children[:0]
	for _, c := range parent.Children {
		if c != q {
			c.Place = int32(len(kept))
			kept = append(kept, c)
		}
	}
	parent.Children = kept
	parent.reorder()
	s.tree.remove(q)
	parent.Touch()
}

// RunDynamicQueues is one run of the care for dynamic queues; see the facade.
func (s *Scheduler) RunDynamicQueues(deleting bool, now yarn.Now) {
	s.Advance(now)
	if !deleting {
		s.manage()
		return
	}
	var due []*Queue
	for _, q := range s.tree.Queues {
		if q == nil {
			continue
		}
		if empty := q.removable(); !empty || q.marked {
			if empty {
				due = append(due, q)
			}
			q.marked = false
		} else {
			q.marked = true
		}
	}
	for _, q := range due {
		if q.removable() && (s.Now.Mono-q.LastSubmit)/1000 > s.cfg.ExpirySeconds {
			s.unhang(q)
			s.recalculateFrom(q.Up, s.Books.Total)
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
