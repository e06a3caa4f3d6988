package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/heddle-project/heddle/resourcemanager/engine"
	"github.com/heddle-project/heddle/sim/trace"
	"github.com/heddle-project/heddle/yarn"
)

// begin forgets the effects of the last event.
func (w *World) begin() {
	w.fx.Reset()
	w.saved = 0
	for _, a := range w.apps { //tidy:unordered each for itself
		a.before = a.state
	}
}

// observe says what containers came and went and which applications changed.
func (w *World) observe(saw trace.Saw, always bool) {
	w.follow()
	allocated, finished := w.containers()
	if always || len(allocated) > 0 {
		saw["allocated"] = allocated
	}
	if always || len(finished) > 0 {
		saw["finished"] = finished
	}
	states := map[string]string{}
	for _, a := range w.apps { //tidy:unordered into a map
		if a.before != "" && a.before != a.state {
			states[a.name] = a.state
		}
	}
	if len(states) > 0 {
		saw["apps"] = states
	}
}

// follow notes the states of applications and the newest attempts.
func (w *World) follow() {
	for _, t := range w.fx.Transitions {
		switch {
		case !t.Application.IsZero():
			w.byID[t.Application].state = t.To
		case !t.Attempt.IsZero() && t.From == yarn.AttemptNew.String():
			w.byID[t.Attempt.Application].attempt = t.Attempt
		}
	}
}

// containers enters those that came to be, in the order of their ids, and
// returns the names of those that came and of those that went. What came and
// went within one event is not seen.
func (w *World) containers() (allocated, finished []string) {
	allocated, finished = []string{}, []string{}
	var born []engine.ContainerEvent
	ended := map[yarn.ContainerID]bool{}
	for _, c := range w.fx.Containers {
		if c.Born {
			born = append(born, c)
		} else {
			ended[c.Container] = true
		}
	}
	slices.SortFunc(born, func(a, b engine.ContainerEvent) int { return a.Container.Compare(b.Container) })
	for _, c := range born {
		if !ended[c.Container] {
			allocated = append(allocated, w.enter(c).name)
		}
	}
	for id := range ended { //tidy:unordered sorted below
		if b := w.boxOf[id]; b != nil && b.live {
			b.live = false
			finished = append(finished, b.name)
		}
	}
	slices.Sort(allocated)
	slices.Sort(finished)
	return allocated, finished
}

// enter gives a container its name.
func (w *World) enter(c engine.ContainerEvent) *box {
	owner := w.byID[c.Container.Attempt.Application].name
	key := owner + "/am"
	if !c.Master {
		key = fmt.Sprintf("%s/%s/p%d/%s", owner, c.Node, c.Priority, w.size(c.Resource))
	}
	w.grants[key]++
	b := &box{name: key + "#" + strconv.Itoa(w.grants[key]), id: c.Container, acquired: c.Master, live: true}
	if c.Master && w.grants[key] == 1 {
		b.name = key
	}
	w.boxes[b.name], w.boxOf[b.id] = b, b
	node := c.Node.String()
	w.live[node] = append(w.live[node], b)
	return b
}

// size is memory x vcores, then the other types.
func (w *World) size(r yarn.Resource) string {
	parts := make([]string, len(w.naming))
	for i, t := range w.naming {
		parts[i] = strconv.FormatInt(r[t], 10)
	}
	return strings.Join(parts, "x")
}

// nameOf is the name of a container; one that nobody has seen has its number alone.
func (w *World) nameOf(id yarn.ContainerID) string {
	if b := w.boxOf[id]; b != nil {
		return b.name
	}
	return "?" + strconv.FormatInt(id.Number, 10)
}
