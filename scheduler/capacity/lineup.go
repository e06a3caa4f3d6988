package capacity

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/shortcut"
)

// lineup is the active applications of a leaf in the order in which they are served.
type lineup struct {
	apps []*app
	busy shortcut.Bits // places of those that walks look at, see shortcuts
}

func (l *lineup) len() int { return len(l.apps) }

// find is the place of an application, or -1.
func (l *lineup) find(a *app, compare func(a, b *app) int) int {
	if i, ok := slices.BinarySearchFunc(l.apps, a, compare); ok && l.apps[i] == a {
		return i
	}
	return slices.Index(l.apps, a)
}

// enter puts an application into its place.
func (l *lineup) enter(a *app, compare func(a, b *app) int) {
	i, _ := slices.BinarySearchFunc(l.apps, a, compare)
	l.apps = slices.Insert(l.apps, i, a)
	a.idle, a.Apart = false, false
	a.Own()
	l.busy.Insert(i)
}

// exit takes an application out.
func (l *lineup) exit(a *app, compare func(a, b *app) int) {
	i := l.find(a, compare)
	if i < 0 {
		return
	}
	l.apps = slices.Delete(l.apps, i, i+1)
	a.idle = false
	l.busy.Delete(i)
}

// sort puts all in order anew.
func (l *lineup) sort(compare func(a, b *app) int) {
	slices.SortStableFunc(l.apps, compare)
	l.allBusy()
}

// allBusy has walks look at everybody.
func (l *lineup) allBusy() {
	for _, a := range l.apps {
		a.idle = false
	}
	l.busy.Fill(len(l.apps))
}

// after is the place after i, of all or of those that are busy; beyond the list or
// -1 if there is none.
func (l *lineup) after(i int, all bool) int {
	if all {
		return i + 1
	}
	return l.busy.Next(i + 1)
}

// passBy has walks pass by the application at a place.
func (l *lineup) passBy(i int) {
	l.apps[i].idle = true
	l.busy.Put(i, false)
}

// lookAt has walks look at an application again.
func (l *lineup) lookAt(a *app, compare func(a, b *app) int) {
	a.idle = false
	if i := l.find(a, compare); i >= 0 {
		l.busy.Put(i, true)
	}
}

// check describes what is wrong with who is idle; "" is nothing.
func (l *lineup) check() string {
	busy := 0
	for i, a := range l.apps {
		is := l.busy.Has(i)
		if is {
			busy++
		}
		if is == a.idle || a.idle && (len(a.Wants.Keys()) > 0 || a.Held > 0) {
			return fmt.Sprintf("%v idle: %v, busy in the list: %v, keys: %d, reservations: %d", a.ID, a.idle, is, len(a.Wants.Keys()), a.Held)
		}
	}
	if busy != l.busy.Count {
		return "places beyond the list are busy"
	}
	return ""
}
