package fairtwin

import (
	"slices"
)

// mayRun tells whether the limits on how many applications run let one more of the user run in the leaf. The application itself does not count.
func (w *World) mayRun(a *App, leaf *Queue) bool {
	if w.runningOf(a.User, a) >= w.Config.UserMaxApps(a.User) {
		return false
	}
	for q := leaf; q != nil; q = q.Parent {
		n := w.Runnable(q)
		if a.Running && a.Runnable && a.Queue.Below(q) {
			n--
		}
		if n >= q.Conf.MaxApps {
			return false
		}
	}
	return true
}

func (w *World) runningOf(user string, except *App) (n int32) {
	for _, a := range w.Apps {
		if a != except && a.User == user && a.Running && a.Runnable {
			n++
		}
	}
	return n
}

// left lets waiting applications run after a running one has left the leaf: as many as there are lists of those who wait. The lists are those of the
// leaves below the highest queue that was full until now, and that of the user, if that one had as many as it may.
func (w *World) left(leaf *Queue, user string) {
	var top *Queue
	for q := leaf; q != nil; q = q.Parent {
		if w.Runnable(q) == q.Conf.MaxApps-1 {
			top = q
		}
	}
	var lists [][]*App
	if top != nil {
		lists = w.waiting(top)
	}
	if w.runningOf(user, nil) == w.Config.UserMaxApps(user)-1 {
		lists = append(lists, w.held(func(a *App) bool { return a.User == user }))
	}
	w.promote(lists, len(lists))
}

// waiting are the applications that wait in the leaves below q that have room for one more, leaf by leaf.
func (w *World) waiting(q *Queue) (lists [][]*App) {
	if w.Runnable(q) >= q.Conf.MaxApps {
		return nil
	}
	if q.Leaf {
		return [][]*App{w.held(func(a *App) bool { return a.Queue == q })}
	}
	for _, c := range q.Children {
		lists = append(lists, w.waiting(c)...)
	}
	return lists
}

// held are the applications that wait, in the order in which they began to.
func (w *World) held(which func(*App) bool) (list []*App) {
	for _, a := range w.Apps {
		if a.Running && !a.Runnable && which(a) {
			list = append(list, a)
		}
	}
	slices.SortFunc(list, func(a, b *App) int { return a.entered - b.entered })
	return list
}

// promote has those of the applications run that may, at most so many. Of the first in each list the one that started first is next.
func (w *World) promote(lists [][]*App, most int) {
	for most > 0 {
		next := -1
		for i, list := range lists {
			if len(list) > 0 && (next < 0 || startedBefore(list[0], lists[next][0])) {
				next = i
			}
		}
		if next < 0 {
			return
		}
		a := lists[next][0]
		lists[next] = lists[next][1:]
		if !a.Runnable && w.mayRun(a, a.Queue) {
			a.Runnable = true
			w.enter(a)
			most--
		}
	}
}

func startedBefore(a, b *App) bool {
	if a.Start != b.Start {
		return a.Start < b.Start
	}
	return a.ID.Sequence < b.ID.Sequence
}

// MayMove tells whether the application can be moved to the leaf.
func (w *World) MayMove(a *App, path string) bool {
	to := w.Find(path)
	switch {
	case to == nil || !to.Leaf:
		return false
	case to == a.Queue || !a.Runnable:
		return true
	}
	usage := w.Usage(a)
	for q := to; !a.Queue.Below(q); q = q.Parent {
		if w.Runnable(q) == q.Conf.MaxApps || !w.Used(q).Add(usage).FitsIn(w.MaxShare(q)) {
			return false
		}
	}
	return w.mayRun(a, to)
}

// Move moves the application, if it can be moved.
func (w *World) Move(a *App, path string) bool {
	if !w.MayMove(a, path) {
		return false
	}
	from, to := a.Queue, w.Find(path)
	if from == to {
		return true
	}
	ran := a.Runnable
	a.Runnable = a.Running && w.mayRun(a, to)
	a.Queue = to
	w.enter(a)
	if ran {
		w.left(from, a.User)
	}
	return true
}
