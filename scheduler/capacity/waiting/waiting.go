// Package waiting has the applications of a leaf that wait for admission.
package waiting

import (
	"container/heap"
	"fmt"

	"github.com/heddle-project/heddle/scheduler/capacity/order"
	"github.com/heddle-project/heddle/scheduler/cluster"
	"github.com/heddle-project/heddle/scheduler/core"
	"github.com/heddle-project/heddle/yarn"
)

// Apps are the applications of a leaf that wait for admission. Those whose
// masters have the same size in the same partition are a class, and those of one
// user within it a line. A limit on masters that refuses one application in a
// pass refuses all that come later in its class, or in its line; so a pass looks
// at one of each and not at everybody.
type Apps struct {
	Count   int
	classes firstHeap[*class]
	bySize  map[Master]*class

	// Of the last pass, or the present one.
	Passes         uint64
	Limits         []Limit  // by partition
	refusedClasses []*class // not among classes until the pass is over
	refusedLines   []*line  // not among the lines of their class until then

	// Miscounted: the number of a user's applications was wrong once, so that the
	// record of a user may be gone, or come back with less than nothing used.
	Miscounted bool
}

// Limit is the limit of one user's masters that a pass goes by.
type Limit struct {
	Known bool
	Value yarn.Resource
}

// Waiter is an application that waits, as a part of what a policy keeps of it.
type Waiter struct {
	*Master // which others may share
	App     *core.App
	line    *line // in which it waits; at is its place there
	at      int
}

// Master is what admission looks at, besides the user.
type Master struct {
	Part cluster.Part // of the master's container
	Size yarn.Resource
}

type class struct {
	Master
	lines  firstHeap[*line]
	byUser map[string]*line
	at     int
}

type line struct {
	class *class
	user  string
	apps  firstHeap[*Waiter]
	last  *Waiter // of apps, it comes after all others; nil once it has left: then it is not known
	at    int
}

// enter adds an application, quickly if it comes after all others, as most do.
func (l *line) enter(a *Waiter) {
	if l.last == nil || order.Pending(l.last.App, a.App) >= 0 {
		heap.Push(&l.apps, a)
		return
	}
	l.apps.Push(a) // it stays at the end of the heap: whoever is above it comes before it
	l.last = a
}

// exit removes an application.
func (l *line) exit(a *Waiter) {
	heap.Remove(&l.apps, a.at)
	if l.last == a {
		l.last = nil
	}
}

// firstHeap is a heap (container/heap) of lines, classes or applications, by the first application of each.
type firstHeap[T interface {
	comparable
	first() *core.App
	place() *int
}] []T

func (h firstHeap[T]) Len() int           { return len(h) }
func (h firstHeap[T]) Less(i, j int) bool { return order.Pending(h[i].first(), h[j].first()) < 0 }
func (h firstHeap[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	*h[i].place(), *h[j].place() = i, j
}

func (h *firstHeap[T]) Push(x any) {
	t := x.(T)
	*t.place() = len(*h)
	*h = append(*h, t)
}

func (h *firstHeap[T]) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	var none T
	(*h)[last] = none
	*h = (*h)[:last]
	return t
}

func (a *Waiter) first() *core.App { return a.App }
func (a *Waiter) place() *int      { return &a.at }
func (l *line) first() *core.App   { return l.apps[0].App }
func (l *line) place() *int        { return &l.at }
func (c *class) first() *core.App  { return c.lines[0].first() }
func (c *class) place() *int       { return &c.at }

// Enter lets an application wait.
func (w *Apps) Enter(a *Waiter) {
	k := *a.Master
	c := w.bySize[k]
	isNew := c == nil
	if isNew {
		if w.bySize == nil {
			w.bySize = map[Master]*class{}
		}
		c = &class{Master: k, byUser: map[string]*line{}}
		w.bySize[k] = c
	}
	w.Count++
	if l := c.byUser[a.App.User]; l != nil {
		a.line = l
		if l.enter(a); a.at > 0 {
			return // the first of the line is the same, so line and class stay where they are
		}
		heap.Fix(&c.lines, l.at)
	} else {
		l = &line{class: c, user: a.App.User, apps: firstHeap[*Waiter]{a}, last: a}
		a.line, a.at = l, 0
		c.byUser[a.App.User] = l
		heap.Push(&c.lines, l)
	}
	if isNew {
		heap.Push(&w.classes, c)
	} else {
		heap.Fix(&w.classes, c.at)
	}
}

// Exit ends the wait of an application.
func (w *Apps) Exit(a *Waiter) {
	l := a.line
	c := l.class
	a.line = nil
	w.Count--
	l.exit(a)
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
		w.refusedClasses = append(w.refusedClasses, c)
	default:
		heap.Remove(&w.classes, c.at)
		delete(w.bySize, c.Master)
	}
}

// Begin starts a pass over the applications of a leaf that has so many partitions.
func (w *Apps) Begin(parts int) {
	w.Passes++
	w.Limits = append(w.Limits[:0], make([]Limit, parts)...)
}

// First is the first application that the pass has not refused, or nil.
func (w *Apps) First() *core.App {
	if len(w.classes) == 0 {
		return nil
	}
	return w.classes[0].first()
}

// RefuseClass ends the pass for all of the first application's class.
func (w *Apps) RefuseClass() {
	w.refusedClasses = append(w.refusedClasses, heap.Pop(&w.classes).(*class))
}

// RefuseLine ends the pass for all of the first application's line.
func (w *Apps) RefuseLine() {
	c := w.classes[0]
	l := heap.Pop(&c.lines).(*line)
	w.refusedLines = append(w.refusedLines, l)
	if len(c.lines) > 0 {
		heap.Fix(&w.classes, 0)
	} else {
		w.RefuseClass()
	}
}

// End lets those wait on whom the pass has refused.
func (w *Apps) End() {
	for _, l := range w.refusedLines {
		heap.Push(&l.class.lines, l)
	}
	for _, c := range w.refusedClasses {
		heap.Push(&w.classes, c)
	}
	clear(w.refusedLines)
	clear(w.refusedClasses)
	w.refusedLines, w.refusedClasses = w.refusedLines[:0], w.refusedClasses[:0]
}

// Each visits everybody, in an order that is always the same.
func (w *Apps) Each(visit func(*core.App)) {
	for _, c := range w.classes {
		for _, l := range c.lines {
			for _, a := range l.apps {
				visit(a.App)
			}
		}
	}
}

// Check describes what is wrong with who waits; "" is nothing.
func (w *Apps) Check() string {
	seen, lines, known := 0, 0, 0
	for i, c := range w.classes {
		if c.at != i || w.bySize[c.Master] != c || i > 0 && w.classes.Less(i, (i-1)/2) {
			return fmt.Sprintf("masters of %v in partition %d are out of place", c.Size, c.Part)
		}
		lines, known = lines+len(c.lines), known+len(c.byUser)
		for i, l := range c.lines {
			if l.at != i || l.class != c || c.byUser[l.user] != l || i > 0 && c.lines.Less(i, (i-1)/2) {
				return fmt.Sprintf("the line of %s is out of place", l.user)
			}
			for i, a := range l.apps {
				if a.at != i || a.line != l || a.App.User != l.user || *a.Master != c.Master || i > 0 && l.apps.Less(i, (i-1)/2) || l.last != nil && order.Pending(l.last.App, a.App) < 0 {
					return fmt.Sprintf("%v is out of place in its line", a.App.ID)
				}
				seen++
			}
		}
	}
	if seen != w.Count || lines != known || len(w.bySize) != len(w.classes) {
		return fmt.Sprintf("%d wait in %d lines, %d in %d are kept", seen, lines, w.Count, known)
	}
	return ""
}
