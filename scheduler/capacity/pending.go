package capacity

import (
	"container/heap"
	"fmt"
)

// pendings is the applications of a leaf that wait for admission. Those whose
// masters have the same size in the same partition are a class, and those of one
// user within it a line. A limit on masters that refuses one application in a
// pass refuses all that come later in its class, or in its line; so a pass looks
// at one of each and not at everybody.
type pendings struct {
	count   int
	classes pile[*class]
	bySize  map[master]*class

	// Of the last pass, or the present one.
	passes uint64
	limits []passLimit // by partition
	closed []*class    // refused, and not among classes until the pass is over
	shut   []*line     // likewise, of the lines of a class

	// miscounted: the number of a user's applications was wrong once, so that the
	// record of a user may be gone, or come back with less than nothing used.
	miscounted bool
}

// passLimit is the limit of one user's masters that a pass goes by.
type passLimit struct {
	known bool
	value resource
}

// master is what admission looks at, besides the user.
type master struct {
	p    part
	size resource
}

type class struct {
	master
	lines  pile[*line]
	byUser map[string]*line
	at     int
}

type line struct {
	class *class
	user  string
	apps  pile[*app]
	at    int
}

// pile is a heap (container/heap) of what has a first application.
type pile[T interface {
	comparable
	first() *app
	place() *int
}] []T

func (h pile[T]) Len() int           { return len(h) }
func (h pile[T]) Less(i, j int) bool { return comparePending(h[i].first(), h[j].first()) < 0 }
func (h pile[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].place(), *h[j].place() = i, j
}

func (h *pile[T]) Push(x any) {
	t := x.(T)
	*t.place() = len(*h)
	*h = append(*h, t)
}

func (h *pile[T]) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	var none T
	(*h)[last] = none
	*h = (*h)[:last]
	return t
}

func (a *app) first() *app   { return a }
func (a *app) place() *int   { return &a.lineAt }
func (l *line) first() *app  { return l.apps[0] }
func (l *line) place() *int  { return &l.at }
func (c *class) first() *app { return c.lines[0].first() }
func (c *class) place() *int { return &c.at }

// enter lets an application wait.
func (w *pendings) enter(a *app) {
	k := master{a.amPart, a.amSize}
	c := w.bySize[k]
	isNew := c == nil
	if isNew {
		if w.bySize == nil {
			w.bySize = map[master]*class{}
		}
		c = &class{master: k, byUser: map[string]*line{}}
		w.bySize[k] = c
	}
	if l := c.byUser[a.User]; l != nil {
		a.line = l
		heap.Push(&l.apps, a)
		heap.Fix(&c.lines, l.at)
	} else {
		l = &line{class: c, user: a.User, apps: pile[*app]{a}}
		a.line, a.lineAt = l, 0
		c.byUser[a.User] = l
		heap.Push(&c.lines, l)
	}
	if isNew {
		heap.Push(&w.classes, c)
	} else {
		heap.Fix(&w.classes, c.at)
	}
	w.count++
}

// exit ends the wait of an application.
func (w *pendings) exit(a *app) {
	l := a.line
	c := l.class
	a.line = nil
	w.count--
	heap.Remove(&l.apps, a.lineAt)
	if len(l.apps) > 0 {
		heap.Fix(&c.lines, l.at)
		heap.Fix(&w.classes, c.at)
		return
	}
	heap.Remove(&c.lines, l.at)
	delete(c.byUser, l.user)
	switch {
	case len(c.lines) > 0:
		heap.Fix(&w.classes, c.at)
	case len(c.byUser) > 0: // the others were refused by the present pass
		heap.Remove(&w.classes, c.at)
		w.closed = append(w.closed, c)
	default:
		heap.Remove(&w.classes, c.at)
		delete(w.bySize, c.master)
	}
}

// begin starts a pass over the applications of a leaf that has so many partitions.
func (w *pendings) begin(parts int) {
	w.passes++
	w.limits = append(w.limits[:0], make([]passLimit, parts)...)
}

// next is the first application that the pass has not refused, or nil.
func (w *pendings) next() *app {
	if len(w.classes) == 0 {
		return nil
	}
	return w.classes[0].first()
}

// refuseClass ends the pass for all of the first application's class.
func (w *pendings) refuseClass() {
	w.closed = append(w.closed, heap.Pop(&w.classes).(*class))
}

// refuseLine ends the pass for all of the first application's line.
func (w *pendings) refuseLine() {
	c := w.classes[0]
	l := heap.Pop(&c.lines).(*line)
	w.shut = append(w.shut, l)
	if len(c.lines) > 0 {
		heap.Fix(&w.classes, 0)
	} else {
		w.refuseClass()
	}
}

// end lets those wait on whom the pass has refused.
func (w *pendings) end() {
	for _, l := range w.shut {
		heap.Push(&l.class.lines, l)
	}
	for _, c := range w.closed {
		heap.Push(&w.classes, c)
	}
	clear(w.shut)
	clear(w.closed)
	w.shut, w.closed = w.shut[:0], w.closed[:0]
}

// appendTo appends everybody, in an order that is always the same.
func (w *pendings) appendTo(list []*app) []*app {
	for _, c := range w.classes {
		for _, l := range c.lines {
			list = append(list, l.apps...)
		}
	}
	return list
}

// check describes what is wrong with who waits in the queue; "" is nothing.
func (w *pendings) check(q *Queue) string {
	seen, lines, known := 0, 0, 0
	for i, c := range w.classes {
		if c.at != i || w.bySize[c.master] != c || i > 0 && w.classes.Less(i, (i-1)/2) {
			return fmt.Sprintf("masters of %v in partition %d are out of place", c.size, c.p)
		}
		lines, known = lines+len(c.lines), known+len(c.byUser)
		for i, l := range c.lines {
			if l.at != i || l.class != c || c.byUser[l.user] != l || i > 0 && c.lines.Less(i, (i-1)/2) {
				return fmt.Sprintf("the line of %s is out of place", l.user)
			}
			for i, a := range l.apps {
				if a.lineAt != i || a.line != l || a.User != l.user || a.amPart != c.p || a.amSize != c.size || i > 0 && l.apps.Less(i, (i-1)/2) {
					return fmt.Sprintf("%v is out of place in its line", a.ID)
				}
				if !a.waits || a.active || a.queue != q {
					return fmt.Sprintf("%v does not wait here", a.ID)
				}
				seen++
			}
		}
	}
	if seen != w.count || lines != known || len(w.bySize) != len(w.classes) {
		return fmt.Sprintf("%d wait in %d lines, %d in %d are kept", seen, lines, w.count, known)
	}
	return ""
}
