package capacity

import (
	"fmt"
	"slices"

	"github.com/heddle-project/heddle/scheduler/shortcut"
)

// lineup is the active applications of a leaf in the order in which they are served.
type lineup struct {
	apps  []*app
	awake shortcut.Bits // places of those that do not rest, see shortcuts
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
	a.rests = false
	l.awake.Insert(i)
}

// exit takes an application out.
func (l *lineup) exit(a *app, compare func(a, b *app) int) {
	i := l.find(a, compare)
	if i < 0 {
		return
	}
	l.apps = slices.Delete(l.apps, i, i+1)
	a.rests = false
	l.awake.Delete(i)
}

// sort puts all in order anew.
func (l *lineup) sort(compare func(a, b *app) int) {
	slices.SortStableFunc(l.apps, compare)
	l.wakeAll()
}

// wakeAll ends everybody's rest.
func (l *lineup) wakeAll() {
	for _, a := range l.apps {
		a.rests = false
	}
	l.awake.Fill(len(l.apps))
}

// after is the place after i, of all or of those that are awake; beyond the list or
// -1 if there is none.
func (l *lineup) after(i int, all bool) int {
	if all {
		return i + 1
	}
	return l.awake.Next(i + 1)
}

// rest lets the application at a place be passed by.
func (l *lineup) rest(i int) {
	l.apps[i].rests = true
	l.awake.Put(i, false)
}

// wake ends an application's rest.
func (l *lineup) wake(a *app, compare func(a, b *app) int) {
	a.rests = false
	if i := l.find(a, compare); i >= 0 {
		l.awake.Put(i, true)
	}
}

// check describes what is wrong with who rests; "" is nothing.
func (l *lineup) check() string {
	awake := 0
	for i, a := range l.apps {
		is := l.awake.Has(i)
		if is {
			awake++
		}
		if is == a.rests || a.rests && (len(a.Wants.Keys()) > 0 || a.Held > 0) {
			return fmt.Sprintf("%v rests: %v, awake in the list: %v, keys: %d, reservations: %d", a.ID, a.rests, is, len(a.Wants.Keys()), a.Held)
		}
	}
	if awake != l.awake.Count {
		return "places beyond the list are awake"
	}
	return ""
}
