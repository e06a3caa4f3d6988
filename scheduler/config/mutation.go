package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Setting is a property that is to be set; an empty value removes it.
type Setting struct{ Key, Value string }

// QueueChange is what is to be set for one queue. Keys are those behind the queue's path.
type QueueChange struct {
	Path     string
	Settings []Setting
}

// Mutation changes a configuration of the CapacityScheduler, in this order: queues are removed, added, updated, and then any properties are set.
type Mutation struct {
	Remove []string
	Add    []QueueChange
	Update []QueueChange
	Global []Setting
}

// Queues are the paths that the mutation names.
func (m *Mutation) Queues() []string {
	out := slices.Clone(m.Remove)
	for _, list := range [][]QueueChange{m.Add, m.Update} {
		for _, q := range list {
			out = append(out, q.Path)
		}
	}
	return out
}

// mutating is a mutation under way.
type mutating struct {
	values  map[string]string // as they are by now
	updates map[string]*string
}

// Updates are the properties that the mutation sets, or removes (nil), in a configuration. The error is the refusal of Apache's, which checks
// no more than that: a queue that is not there may be updated.
func (m *Mutation) Updates(values map[string]string) (map[string]*string, error) {
	w := &mutating{values: make(map[string]string, len(values)), updates: map[string]*string{}}
	for k, v := range values { //tidy:unordered it becomes a map again
		w.values[k] = v
	}
	for _, path := range m.Remove {
		if err := w.remove(strings.TrimSpace(path)); err != nil {
			return nil, err
		}
	}
	for _, q := range m.Add {
		if err := w.add(strings.TrimSpace(q.Path), q.Settings); err != nil {
			return nil, err
		}
	}
	for _, q := range m.Update {
		w.settings(strings.TrimSpace(q.Path), q.Settings)
	}
	for _, s := range m.Global {
		if s.Key == "" {
			return nil, errors.New("cannot set a property without a name")
		}
		w.set(s.Key, s.Value)
	}
	return w.updates, nil
}

func (w *mutating) set(key, value string) {
	if value == "" {
		w.updates[key] = nil
		delete(w.values, key)
		return
	}
	w.updates[key] = &value
	w.values[key] = value
}

func (w *mutating) settings(path string, list []Setting) {
	for _, s := range list {
		w.set(Prefix+path+"."+s.Key, s.Value)
	}
}

// siblings are the parent's path and the list of its queues; ok is false for the root and for what is no path.
func (w *mutating) siblings(path string) (key, parent string, names []string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", "", nil, false
	}
	parent = path[:i]
	key = Prefix + parent + ".queues"
	for name := range strings.SplitSeq(w.values[key], ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return key, parent, names, true
}

// remove takes a queue out of its parent's list, and everything that is set for it or below it.
func (w *mutating) remove(path string) error {
	key, parent, names, ok := w.siblings(path)
	if !ok {
		return fmt.Errorf("Can't remove queue %s", path)
	}
	i := slices.Index(names, path[len(parent)+1:])
	if i < 0 {
		return fmt.Errorf("Queue %s not found", path)
	}
	names = slices.Delete(names, i, i+1)
	w.set(key, strings.Join(names, ","))
	if len(names) == 0 { // a leaf has other orderings
		w.set(Prefix+parent+".ordering-policy", "")
	}
	for k := range w.values { //tidy:unordered each is removed, whichever comes first
		if strings.HasPrefix(k, Prefix+path+".") {
			w.set(k, "")
		}
	}
	return nil
}

func (w *mutating) add(path string, list []Setting) error {
	key, parent, names, ok := w.siblings(path)
	if !ok {
		return fmt.Errorf("Can't add invalid queue %s", path)
	}
	name := path[len(parent)+1:]
	if slices.Contains(names, name) {
		return fmt.Errorf("Can't add existing queue %s", path)
	}
	if len(names) == 0 { // the leaf's ordering is none of a parent's
		w.set(Prefix+parent+".ordering-policy", "")
	}
	w.set(key, strings.Join(append(names, name), ","))
	w.settings(path, list)
	return nil
}

// Apply is the configuration with updates, as Updates gives them.
func Apply(values map[string]string, updates map[string]*string) map[string]string {
	out := make(map[string]string, len(values)+len(updates))
	for k, v := range values { //tidy:unordered it becomes a map again
		out[k] = v
	}
	for k, v := range updates { //tidy:unordered each key once
		if v == nil {
			delete(out, k)
		} else {
			out[k] = *v
		}
	}
	return out
}
