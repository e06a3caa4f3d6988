package loop

import (
	"slices"
	"sync"

	"github.com/heddle-project/heddle/nodemanager/engine"
	"github.com/heddle-project/heddle/yarn"
)

// Application is an application as readers see it.
type Application struct {
	ID    yarn.ApplicationID
	User  string
	State string
	ACLs  map[string]string // access type → list
}

// views are what readers see: every container and application as it was when its records were durable.
type views struct {
	mu           sync.RWMutex
	containers   map[yarn.ContainerID]*engine.View
	applications map[yarn.ApplicationID]Application
}

func (v *views) init() {
	v.containers, v.applications = map[yarn.ContainerID]*engine.View{}, map[yarn.ApplicationID]Application{}
}

// apply takes the effects that are meant for readers.
func (v *views) apply(x engine.Effect) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch x := x.(type) {
	case engine.Show:
		v.containers[x.Container.ID] = x.Container
	case engine.Hide:
		delete(v.containers, x.ID)
	case engine.ShowApplication:
		v.applications[x.ID] = Application(x)
	case engine.HideApplication:
		delete(v.applications, x.ID)
	default:
		return false
	}
	return true
}

// Container is how a container is now; nil: there is none.
func (l *Loop) Container(id yarn.ContainerID) *engine.View {
	l.views.mu.RLock()
	defer l.views.mu.RUnlock()
	return l.views.containers[id]
}

// Containers lists all containers by their ids.
func (l *Loop) Containers() []*engine.View {
	l.views.mu.RLock()
	out := make([]*engine.View, 0, len(l.views.containers))
	for _, c := range l.views.containers {
		out = append(out, c)
	}
	l.views.mu.RUnlock()
	slices.SortFunc(out, func(a, b *engine.View) int { return a.ID.Compare(b.ID) })
	return out
}

// Application is how an application is now.
func (l *Loop) Application(id yarn.ApplicationID) (Application, bool) {
	l.views.mu.RLock()
	defer l.views.mu.RUnlock()
	a, ok := l.views.applications[id]
	return a, ok
}

// Applications lists all applications by their ids.
func (l *Loop) Applications() []Application {
	l.views.mu.RLock()
	out := make([]Application, 0, len(l.views.applications))
	for _, a := range l.views.applications {
		out = append(out, a)
	}
	l.views.mu.RUnlock()
	slices.SortFunc(out, func(a, b Application) int { return a.ID.Compare(b.ID) })
	return out
}
